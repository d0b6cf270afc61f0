"""The command line. Each command's module is imported when it runs, so that `tesselite --help` is quick."""

from tesselite.cli.app import main

__all__ = ["main"]
