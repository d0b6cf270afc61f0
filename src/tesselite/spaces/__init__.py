"""Feature spaces and solution spaces."""
