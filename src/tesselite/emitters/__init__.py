"""Which solutions next: operators and how they are compiled."""
