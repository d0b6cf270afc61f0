"""The command that reads the archives of other libraries: `import`."""

from __future__ import annotations

from dataclasses import MISSING, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from tesselite.cli.options import JsonOption, SeedOption, argument, command, grid_cells, option, whole


class ImportFormat(StrEnum):
    """The libraries whose archives can be imported."""

    PYRIBS = "pyribs"
    QDAX = "qdax"
    PYMAP_ELITES = "pymap_elites"
    SFERES2 = "sferes2"


@dataclass(frozen=True, kw_only=True)
class ImportOptions:
    """The options of `import`."""

    file: Path = argument("A data frame as CSV, the folder of a repertoire, or a .dat file.", metavar="FILE")
    of: ImportFormat = option("The library that wrote it.", "--from", default=MISSING)
    out: Path | None = option("The archive to write. Default: FILE.parquet.", "--out", "-o")
    features: str | None = option(
        "The features, such as speed=0:2,height=-1:1. Default: all in [0, 1].", metavar="NAME=LOW:HIGH,..."
    )
    grid: Any = option("Use a grid: cells per feature, such as 64 or 64x32.", metavar="N[xN...]", parser=grid_cells)
    niches: int | None = option("Use a new CVT with K niches.", metavar="K", parser=whole)
    centroids: Path | None = option("Use the niches of this file of centroids.")
    negate: bool = option(
        "Negate the fitness and minimise it: it was negated for a library that maximises.", "--negate", default=False
    )
    seed: SeedOption = None
    as_json: JsonOption = False


@command
def import_(options: ImportOptions) -> None:
    """Read an archive of pyribs, QDax, pymap_elites or sferes2.

    QDax's files hold their niches; for the others give --grid, --centroids or --niches.
    """
    from tesselite.cli.exchange_archives import import_archive

    import_archive(options)
