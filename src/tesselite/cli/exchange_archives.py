"""The commands that exchange archives with other libraries: `import`, and `export` to their formats."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tesselite.base.terminal import say
from tesselite.cli.output import tell
from tesselite.interop.formats import FORMATS, read_table, write
from tesselite.runs.folder import check_output, not_linked
from tesselite.spaces.features import FeatureSpace

if TYPE_CHECKING:
    from tesselite.archive.archive import Archive
    from tesselite.cli.commands.exchanging import ImportOptions
    from tesselite.interop.foreign import ForeignElites
    from tesselite.tessellation.protocol import Tessellation


def export_to(
    archive: Archive, path: Path, to: str, out: Path | None, negate: bool, lossy: bool, as_json: bool
) -> None:
    """Write the archive of `path` in the format of another library."""
    file = out or not_linked((path if path.is_dir() else path.parent) / FORMATS[to])
    check_output("--out", file)
    write(archive, file, to, negate=negate, lossy=lossy)
    tell({"out": str(file), "format": to, "elites": len(archive)}, as_json, f"{len(archive):,} elites: {file}")


def import_archive(options: ImportOptions) -> None:
    """Read the archive of another library and save it as one of ours."""
    path = options.file
    file = options.out or path.with_name(f"{path.stem or path.name}.parquet")
    check_output("--out", file)
    if file.suffix != ".parquet":
        raise ValueError(f"--out: expected a file that ends in .parquet, got {file.name!r}")
    if not file.parent.is_dir():
        raise ValueError(f"--out: {file.parent} is not a folder; create it first")
    space = None if options.features is None else parsed_features(options.features)
    table, niches = _read(options, space)
    archive = table.to_archive(niches, space if niches is None else None, options.negate)
    archive.save(file)
    n, kept = len(table.fitness), len(archive)
    if archive.out_of_bounds:
        say(f"{archive.out_of_bounds:,} of {n:,} solutions are outside the bounds, and went to the nearest niche")
    if kept < n:
        say(
            f"{n - kept:,} of {n:,} solutions are not elites: another one of their niche is better, or they are invalid"
        )
    about = {"out": str(file), "format": options.of.value, "solutions": n, "elites": kept}
    tell(about, options.as_json, f"{kept:,} elites: {file}")


def _read(options: ImportOptions, space: FeatureSpace | None) -> tuple[ForeignElites, Tessellation | None]:
    """What the file holds, and the niches that the options ask for."""
    if sum(option is not None for option in (options.grid, options.niches, options.centroids)) > 1:
        raise ValueError("expected only one of --grid, --niches and --centroids, got several")
    niches: Tessellation | None = None
    if options.centroids is not None:
        from tesselite.tessellation.files import load_tessellation

        niches = load_tessellation(options.centroids, space)
    grid: list[int] | int | None = options.grid
    known = space.n if space else niches.space.n if niches else len(grid) if isinstance(grid, list) else None
    table = read_table(options.file, options.of.value, known)
    space = space or FeatureSpace.unit(table.features.shape[1])
    if grid is not None:
        from tesselite.tessellation.grid import GridTessellation

        niches = GridTessellation(space, grid)
    elif options.niches is not None:
        from tesselite.tessellation.cvt import cvt

        niches = cvt(space, options.niches, seed=options.seed, cache=options.seed is not None)
    return table, niches


def parsed_features(text: str) -> FeatureSpace:
    """The features of speed=0:2,height=-1:1."""
    bounds: dict[str, tuple[float, float]] = {}
    for part in text.split(","):
        name, _, limits = part.partition("=")
        try:
            low, high = map(float, limits.split(":"))
        except ValueError:
            raise ValueError(
                f"--features: expected NAME=LOW:HIGH,... as in speed=0:2,height=-1:1, got {part!r}"
            ) from None
        if name in bounds:
            raise ValueError(f"--features: expected different names, got {name!r} twice")
        bounds[name] = low, high
    return FeatureSpace(bounds)
