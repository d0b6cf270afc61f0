"""The commands and their options, by subject. What they do is in the modules of `tesselite.cli`."""
