"""The command that reads the archives of other libraries: `import`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from tesselite.cli.options import JsonOption, SeedOption, command, grid_cells, whole


class ImportFormat(StrEnum):
    """The libraries whose archives can be imported."""

    PYRIBS = "pyribs"
    QDAX = "qdax"
    PYMAP_ELITES = "pymap_elites"
    SFERES2 = "sferes2"


@dataclass(frozen=True, kw_only=True)
class ImportOptions:
    """The options of `import`."""

    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A data frame as CSV, the folder of a repertoire, or a .dat file.")
    ]
    of: Annotated[ImportFormat, typer.Option("--from", help="The library that wrote it.")]
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The archive to write. Default: FILE.parquet.")] = None
    features: Annotated[
        str | None,
        typer.Option(
            metavar="NAME=LOW:HIGH,...", help="The features, such as speed=0:2,height=-1:1. Default: all in [0, 1]."
        ),
    ] = None
    grid: Annotated[
        Any,
        typer.Option(parser=grid_cells, metavar="N[xN...]", help="Use a grid: cells per feature, such as 64 or 64x32."),
    ] = None
    niches: Annotated[int | None, typer.Option(parser=whole, metavar="K", help="Use a new CVT with K niches.")] = None
    centroids: Annotated[Path | None, typer.Option(help="Use the niches of this file of centroids.")] = None
    negate: Annotated[
        bool,
        typer.Option(
            "--negate", help="Negate the fitness and minimise it: it was negated for a library that maximises."
        ),
    ] = False
    seed: SeedOption = None
    as_json: JsonOption = False


@command
def import_(options: ImportOptions) -> None:
    """Read an archive of pyribs, QDax, pymap_elites or sferes2.

    QDax's files hold their niches; for the others give --grid, --centroids or --niches.
    """
    from tesselite.cli.exchanging import import_archive

    import_archive(options)
