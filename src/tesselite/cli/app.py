"""The command line: the commands in the order in which `--help` lists them, and the handling of bad input.

Bad input ends with one line on standard error that says what was expected, and exit code 2; set TESSELITE_DEBUG=1 to
see the traceback as well. A run that a signal stopped exits with 130 (SIGINT) or 143 (SIGTERM).
"""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from tesselite.cli.commands import assessing, constructing, exchanging, looking, searching, studying

app = typer.Typer(
    name="tesselite",
    help="CVT-MAP-Elites: thousands of solutions, each the best of its kind.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for _made in (
    searching.problems,
    searching.run,
    searching.resume,
    searching.replay,
    looking.info,
    looking.export,
    exchanging.import_,
    looking.plot,
    looking.film,
    constructing.cvt,
    looking.report,
    looking.watch,
    assessing.assess,
    assessing.compare,
    studying.reproduce,
    studying.bench,
):
    app.command(_made.__name__.rstrip("_"), cls=assessing.SeveralAgainst if _made is assessing.compare else None)(_made)


def _version(wanted: bool) -> None:
    if wanted:
        from tesselite import __version__

        typer.echo(f"tesselite {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line; a user error ends in one clear line and exit code 2."""
    from tesselite.base.terminal import printable, printable_output

    try:
        with printable_output():
            app()
    except (ValueError, OSError, ImportError, RuntimeError, MemoryError) as error:
        if os.environ.get("TESSELITE_DEBUG"):
            raise
        if isinstance(error, BrokenPipeError):
            os._exit(141)  # the reader of our output has closed it
        if isinstance(error, OSError) and error.filename is None:
            said = error.strerror or str(error)  # our own words, without the number of the error
        else:
            said = str(error) if isinstance(error, ValueError | OSError) else f"{type(error).__name__}: {error}"
        said = printable(said).replace("\n", "\n  ")  # a line end in a name must not begin a line of our output
        sys.stderr.write(f"Error: {said}\n")
        sys.exit(2)
    except KeyboardInterrupt:
        sys.stderr.write("stopped\n")
        sys.exit(130)
