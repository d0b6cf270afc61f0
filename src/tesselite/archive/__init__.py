"""The archive, the rule that lets a candidate in, and its file."""
