"""The commands and their options, by subject. Their implementations are in the modules of `tesselite.cli`."""
