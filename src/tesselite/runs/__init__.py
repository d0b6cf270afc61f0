"""A run: a search that lives in a folder."""
