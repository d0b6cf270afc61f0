"""The command that constructs niches: `cvt`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tesselite.cli.options import JsonOption, QuietOption, SeedOption, ThreadsOption, command, option, whole


@dataclass(frozen=True, kw_only=True)
class CvtCommandOptions:
    """The options of `cvt`."""

    dims: int | None = option("Number of features, each in [0, 1].", "--dims", "-d", metavar="D", parser=whole)
    problem: str | None = option("Use the features of this problem, sampled as in `tesselite run`.", metavar="SPEC")
    niches: int | None = option("Number of centroids.", "--niches", "-k", metavar="K", parser=whole)
    samples: int | None = option(
        "Number of samples: in total, or per iteration for fresh.", "--samples", "-n", metavar="N", parser=whole
    )
    seed: SeedOption = None
    p: float = option("Order of the Minkowski distance (inf is allowed).", "-p", default=2.0)
    iterations: int | None = option("Maximum number of iterations.", metavar="I", parser=whole)
    tolerance: float | None = option("Stop when the error falls by less than this fraction over ten iterations.")
    method: str | None = option(
        "exact, fresh, lloyd (the paper's Alg. 1), sobol or halton. Default: chosen automatically."
    )
    density: str | None = option(
        "Where niches lie: ball[:radius], shell[:inner,outer], outward[:power], along:name+name[,power] or "
        "hull:FILE.npy. Default: evenly in the box.",
        metavar="RULE",
    )
    start: str | None = option("Initial centroids: random or even.")
    out: Path | None = option(
        "File of the centroids: .parquet, or .npy, .dat, .txt, which store no bounds and hold centroids "
        "in the units of the features. Default: centroids_K_D.parquet.",
        "--out",
        "-o",
    )
    plot: Path | None = option("Draw the tessellation to this file.")
    dry_run: bool = option("Only estimate time and memory.", "--dry-run", default=False)
    no_cache: bool = option("Ignore the cache and do not update it.", "--no-cache", default=False)
    list_cache: bool = option("List the cached tessellations and exit.", "--list-cache", default=False)
    threads: ThreadsOption = None
    quiet: QuietOption = False
    as_json: JsonOption = False


@command
def cvt(options: CvtCommandOptions) -> None:
    """Construct a centroidal Voronoi tessellation of a problem's features or of a unit cube, and report its quality."""
    from tesselite.cli.tessellating import make_cvt, show_cache

    if options.list_cache:
        show_cache(options.as_json)
    elif (options.dims is None and options.problem is None) or options.niches is None:
        raise ValueError(
            "expected --problem SPEC or --dims D, and --niches K, as in: tesselite cvt --problem arm -k 10000 --seed 1"
        )
    else:
        make_cvt(options, options.niches)
