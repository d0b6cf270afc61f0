"""The command that constructs niches: `cvt`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from tesselite.cli.options import JsonOption, QuietOption, SeedOption, ThreadsOption, command, whole


@dataclass(frozen=True, kw_only=True)
class CvtCommandOptions:
    """The options of `cvt`."""

    dims: Annotated[
        int | None,
        typer.Option("--dims", "-d", parser=whole, metavar="D", help="Number of features, each in [0, 1]."),
    ] = None
    problem: Annotated[
        str | None,
        typer.Option(metavar="SPEC", help="Use the features of this problem, sampled as in `tesselite run`."),
    ] = None
    niches: Annotated[
        int | None, typer.Option("--niches", "-k", parser=whole, metavar="K", help="Number of centroids.")
    ] = None
    samples: Annotated[
        int | None,
        typer.Option(
            "--samples",
            "-n",
            parser=whole,
            metavar="N",
            help="Number of samples: in total, or per iteration for fresh.",
        ),
    ] = None
    seed: SeedOption = None
    p: Annotated[float, typer.Option("-p", help="Order of the Minkowski distance (inf is allowed).")] = 2.0
    iterations: Annotated[int | None, typer.Option(parser=whole, metavar="I", help="Maximum number of iterations.")] = (
        None
    )
    tolerance: Annotated[
        float | None, typer.Option(help="Stop when the error falls by less than this fraction over ten iterations.")
    ] = None
    method: Annotated[
        str | None,
        typer.Option(help="exact, fresh, lloyd (the paper's Alg. 1), sobol or halton. Default: chosen automatically."),
    ] = None
    density: Annotated[
        str | None,
        typer.Option(
            metavar="RULE",
            help="Where niches lie: ball[:radius], shell[:inner,outer], outward[:power], along:name+name[,power] or "
            "hull:FILE.npy. Default: evenly in the box.",
        ),
    ] = None
    start: Annotated[str | None, typer.Option(help="Initial centroids: random or even.")] = None
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="File of the centroids: .parquet, or .npy, .dat, .txt, which store no bounds and hold centroids "
            "in the units of the features. Default: centroids_K_D.parquet.",
        ),
    ] = None
    plot: Annotated[Path | None, typer.Option("--plot", help="Draw the tessellation to this file.")] = None
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only estimate time and memory.")] = False
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Ignore the cache and do not update it.")] = False
    list_cache: Annotated[bool, typer.Option("--list-cache", help="List the cached tessellations and exit.")] = False
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
