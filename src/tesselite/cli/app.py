"""The commands and their options; what they do is in the modules beside this one.

Bad input ends with one line on standard error that says what was expected, and exit code 2; set TESSELITE_DEBUG=1 to
see the traceback as well. A run that a signal stopped exits with 130 (SIGINT) or 143 (SIGTERM).
"""

from __future__ import annotations

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

app = typer.Typer(
    name="tesselite",
    help="CVT-MAP-Elites: thousands of solutions, each the best of its kind.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")]
QuietOption = Annotated[
    bool, typer.Option("--quiet", "-q", help="Show no progress and no summary; what was asked for is printed.")
]
ThreadsOption = Annotated[
    int | None,
    typer.Option(help="Threads for compiled work; all cores by default. Results do not depend on it."),
]


TrustOption = Annotated[
    bool,
    typer.Option("--trust", help="Import the problem that a run names, which runs its file. It is remembered."),
]


def _trust(given: bool, *folders: Path) -> None:
    """Agree to import the problems that these runs name, if so given."""
    from tesselite.cli.look import trust_problem

    for folder in folders if given else ():
        trust_problem(folder)


def _whole(text: str | int) -> int:
    """A whole number, written as 1000000, 1_000_000 or 1e6."""
    text = str(text)  # a default comes as the number itself
    try:
        value = float(text)
        if value.is_integer() and abs(value) < 2**63:
            return int(text) if text.lstrip("+-").isdigit() else int(value)
    except (ValueError, OverflowError):
        pass
    raise typer.BadParameter(f"expected a whole number such as 1000000 or 1e6, got {text!r}")


TrialWorkersOption = Annotated[
    int | None, typer.Option(parser=_whole, metavar="N", help="Trials at a time; as many as cores by default.")
]
TrialDaskOption = Annotated[
    str | None, typer.Option("--dask", metavar="ADDRESS", help="Trials on a Dask cluster that sees the same folders.")
]
KeepRunsOption = Annotated[bool, typer.Option("--keep-runs", help="Keep archives; else only summaries stay.")]
ForecastOption = Annotated[bool, typer.Option("--forecast", help="Only say how long it will take.")]
ReportOnlyOption = Annotated[bool, typer.Option("--report", help="Only write the report from the trials there are.")]
WorkersOption = Annotated[
    int | None,
    typer.Option(metavar="N", help="Evaluate in N processes; for Python functions. Results do not depend on it."),
]
DaskOption = Annotated[
    str | None,
    typer.Option("--dask", metavar="ADDRESS", help="Evaluate on a Dask cluster: tcp://HOST:PORT, or local:N."),
]
TimeoutOption = Annotated[
    float | None,
    typer.Option(metavar="SECONDS", help="Abort an evaluation after SECONDS (workers only). Default: no limit."),
]
RetriesOption = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Retries for an evaluation that fails or whose worker dies (workers only). Default: 2.",
    ),
]


SeedOption = Annotated[
    int | None, typer.Option(parser=_whole, metavar="N", help="Same seed, same result; drawn if not given.")
]


def _one_of(workers: int | None, dask: str | None) -> int | str | None:
    """The workers that one of --workers and --dask names."""
    if workers is not None and dask is not None:
        raise ValueError("expected only one of --workers and --dask, got both")
    return workers if dask is None else dask


def _execution(workers: int | None, dask: str | None, retries: int | None, timeout: float | None, **how: Any) -> Any:
    from tesselite.execution.choice import execution_of

    return execution_of(_one_of(workers, dask), retries, timeout, **how)


def _grid(text: str) -> list[int] | int:
    """Cells per feature: 64, or 64x32x8."""
    cells = [_whole(part) for part in text.lower().split("x")]
    return cells[0] if len(cells) == 1 else cells


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


@app.command("problems")
def problems(json_: JsonOption = False) -> None:
    """List the built-in problems, and say how to use your own."""
    from tesselite.cli.look import show_problems

    show_problems(json_)


@app.command("run")
def run(
    problem: Annotated[str, typer.Argument(help="A built-in problem (see `tesselite problems`) or module:name.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder of the run; runs/PROBLEM-SEED by default.")
    ] = None,
    niches: Annotated[int | None, typer.Option(parser=_whole, metavar="K", help="A CVT with K niches.")] = None,
    grid: Annotated[
        str | None,
        typer.Option(metavar="N[xN...]", help="A grid instead: cells per feature, as 64 or 64x32."),
    ] = None,
    cells: Annotated[
        str | None,
        typer.Option(help="equal, or released: the grid of the code that the paper's authors released. Default: equal"),
    ] = None,
    grow: Annotated[
        str | None,
        typer.Option(
            metavar="RULE",
            help="Niches that grow with the search, for unknown bounds or sparse spaces: expanding (also a grid), "
            "adaptive or clusters; options as in expanding:every=2000,margin=0.02,ignore_bounds.",
        ),
    ] = None,
    population: Annotated[
        str | None,
        typer.Option(
            metavar="RULE",
            help="A population without niches: dns, nslc or rts; options as in dns:size=1024,k=3.",
        ),
    ] = None,
    centroids: Annotated[
        Path | None,
        typer.Option(
            help="A file of centroids instead, as `tesselite cvt --problem` makes it; .npy, .dat and .txt hold them in "
            "the units of the features."
        ),
    ] = None,
    tessellation: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE:CLASS[:NAME=VALUE,...]",
            help="A tessellation of yours instead, a subclass of tesselite.Tessellation, and its arguments.",
        ),
    ] = None,
    samples: Annotated[
        int | None,
        typer.Option(parser=_whole, metavar="N", help="Samples for the CVT. Default: 10 per niche, at least 25,000."),
    ] = None,
    p: Annotated[float, typer.Option("-p", help="Order of the Minkowski distance of the CVT.")] = 2.0,
    method: Annotated[
        str | None, typer.Option(help="How the CVT is made: exact, fresh or lloyd. Default: chosen automatically.")
    ] = None,
    paper: Annotated[
        bool, typer.Option("--paper", help="The paper's settings; options given beside it take precedence.")
    ] = False,
    evaluations: Annotated[
        int | None, typer.Option(parser=_whole, metavar="N", help="The budget; accepts 1e6. 100000 by default.")
    ] = None,
    initial: Annotated[
        int | None,
        typer.Option(parser=_whole, metavar="N", help="Random solutions before the first offspring; 1000 by default."),
    ] = None,
    batch_size: Annotated[
        int | None,
        typer.Option(parser=_whole, metavar="N", help="Offspring per batch. Default: 200, or what suits the emitter."),
    ] = None,
    variation: Annotated[
        str | None,
        typer.Option(
            help="gaussian:S, iso_line:ISO,LINE, polynomial:ETA,P, sbx:ETA,P (append ,reflect) or resample:P."
        ),
    ] = None,
    emitter: Annotated[
        str | None,
        typer.Option(
            help="Which solutions come next. uniform or curiosity, with an operator as in --variation "
            "(curiosity:gaussian:0.1): robust, for any solutions. cma_mae (alpha=0.01,emitters=15,batch=36): real "
            "vectors and 50 or more evaluations per niche. cma_me: likewise, for comparison. Default: uniform."
        ),
    ] = None,
    start: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Known designs to evaluate first: a run, an archive of any tessellation, or a .parquet, .csv, .npy or "
            ".npz file of solutions.",
        ),
    ] = None,
    patience: Annotated[
        int | None,
        typer.Option(
            parser=_whole,
            metavar="N",
            help="Stop if neither coverage nor QD score has risen in N evaluations. Default: spend the budget.",
        ),
    ] = None,
    rise: Annotated[
        float | None, typer.Option(help="With --patience: the share by which one of them has to rise. Default: 0.01.")
    ] = None,
    seed: SeedOption = None,
    threads: ThreadsOption = None,
    workers: WorkersOption = None,
    dask: DaskOption = None,
    asynchronous: Annotated[
        bool, typer.Option("--asynchronous", help="On workers: insert each result at once, wait for no batch.")
    ] = False,
    islands: Annotated[
        int | None,
        typer.Option(metavar="N", help="N searches side by side that exchange elites; for very quick problems."),
    ] = None,
    exchange: Annotated[
        int | None,
        typer.Option(
            parser=_whole, metavar="N", help="Evaluations of an island between exchanges; 20 in all by default."
        ),
    ] = None,
    timeout: TimeoutOption = None,
    retries: RetriesOption = None,
    checkpoint: Annotated[float, typer.Option(metavar="SECONDS", help="Save at least this often.")] = 30.0,
    report: Annotated[
        bool, typer.Option("--report", help="Also write the interactive page, DIR/report.html (see `report`).")
    ] = False,
    quiet: QuietOption = False,
    json_: JsonOption = False,
) -> None:
    """Illuminate a problem: fill an archive with the best solution of every kind."""
    from tesselite.cli.running import Wanted, run_problem

    wanted = Wanted(
        niches=niches,
        grid=_grid(grid) if grid is not None else None,
        cells=cells,
        grow=grow,
        population=population,
        centroids=centroids,
        tessellation=tessellation,
        samples=samples,
        p=p,
        method=method,
        paper=paper,
        evaluations=evaluations,
        initial=initial,
        batch_size=batch_size,
        variation=variation,
        emitter=emitter,
        seed=seed,
        start=start,
        patience=patience,
        rise=rise,
    )
    execution = _execution(
        workers, dask, retries, timeout, asynchronous=asynchronous, islands=islands, exchange=exchange
    )
    run_problem(
        problem,
        wanted,
        execution,
        out=out,
        threads=threads,
        checkpoint_seconds=checkpoint,
        report=report,
        quiet=quiet,
        as_json=json_,
    )


@app.command("resume")
def resume(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the run.")],
    evaluations: Annotated[
        int | None,
        typer.Option(parser=_whole, metavar="N", help="Extend the budget to this many evaluations."),
    ] = None,
    threads: ThreadsOption = None,
    workers: WorkersOption = None,
    dask: DaskOption = None,
    timeout: TimeoutOption = None,
    retries: RetriesOption = None,
    checkpoint: Annotated[float, typer.Option(metavar="SECONDS", help="Save at least this often.")] = 30.0,
    other_version: Annotated[
        bool,
        typer.Option("--other-version", help="Continue a run that another version of tesselite started."),
    ] = False,
    quiet: QuietOption = False,
    json_: JsonOption = False,
) -> None:
    """Continue a run that was interrupted, or extend a finished one.

    It has the same workers, timeout and retries as before, unless you give others. --workers 0 evaluates in this
    process, --timeout inf sets no limit.
    """
    from tesselite.cli.running import resume_run

    resume_run(
        folder,
        evaluations=evaluations,
        threads=threads,
        workers=_one_of(workers, dask),
        timeout=timeout,
        retries=retries,
        checkpoint_seconds=checkpoint,
        other_version=other_version,
        quiet=quiet,
        as_json=json_,
    )


@app.command("replay")
def replay(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of an asynchronous run.")],
    trust: TrustOption = False,
    json_: JsonOption = False,
) -> None:
    """Repeat an asynchronous run from its log, without evaluating, and compare the archive with the one it left."""
    from tesselite.cli.running import replay_run

    _trust(trust, folder)
    replay_run(folder, json_)


@app.command("info")
def info(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a run, or an archive file.")],
    trust: TrustOption = False,
    json_: JsonOption = False,
) -> None:
    """Say what a run is and how far it came."""
    from tesselite.cli.look import show_info

    _trust(trust, folder)
    show_info(folder, json_)


class ExportFormat(StrEnum):
    """What an archive can be exported to."""

    CSV = "csv"
    NPZ = "npz"
    PARQUET = "parquet"


@app.command("export")
def export(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a run, or an archive file.")],
    to: Annotated[
        ExportFormat | None, typer.Option(help="Format of the file; what its ending says, or csv, by default.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The file; DIR/elites.FORMAT by default.")] = None,
    trust: TrustOption = False,
    json_: JsonOption = False,
) -> None:
    """Write a run's elites in another format."""
    from tesselite.cli.look import export_archive

    _trust(trust, folder)
    export_archive(folder, None if to is None else to.value, out, json_)


class FigureFormat(StrEnum):
    """What a figure can be written as."""

    PNG = "png"
    SVG = "svg"
    PDF = "pdf"


FigureOption = Annotated[FigureFormat, typer.Option("--format", help="Kind of picture.")]


@app.command("plot")
def plot(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a run, or an archive file.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder of the pictures. Default: DIR/figures, or FILE-figures.")
    ] = None,
    kind: FigureOption = FigureFormat.PNG,
    feature: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A parallel axis; can be repeated. Default: the 24 that vary most."),
    ] = None,
    trust: TrustOption = False,
    json_: JsonOption = False,
) -> None:
    """Draw a run (progress, archive, and the problem's own pictures) or a saved archive."""
    from tesselite.cli.picturing import plot as draw

    if folder.is_dir():
        _trust(trust, folder)
    draw(folder, out, kind.value, feature, json_)


@app.command("film")
def film(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder of a run of the hexapod, or of a problem with a film.")
    ],
    elite: Annotated[str, typer.Option(help="best, or the number of a niche.")] = "best",
    scenario: Annotated[str | None, typer.Option(help="A damage, as 'leg 2'; none by default.")] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="A .gif, or a .mp4 where ffmpeg is installed.")] = Path(
        "gait.gif"
    ),
    trust: TrustOption = False,
    json_: JsonOption = False,
) -> None:
    """Film an elite, such as a hexapod walking."""
    from tesselite.cli.picturing import make_film

    _trust(trust, folder)
    make_film(folder, elite, scenario, out, json_)


@app.command("cvt")
def cvt(
    dims: Annotated[
        int | None,
        typer.Option("--dims", "-d", parser=_whole, metavar="D", help="Number of features, each in [0, 1]."),
    ] = None,
    problem: Annotated[
        str | None,
        typer.Option(metavar="SPEC", help="The features of this problem instead, sampled as `tesselite run` does it."),
    ] = None,
    niches: Annotated[
        int | None, typer.Option("--niches", "-k", parser=_whole, metavar="K", help="Number of centroids.")
    ] = None,
    samples: Annotated[
        int | None,
        typer.Option("--samples", "-n", parser=_whole, metavar="N", help="Samples in all, or for each iteration."),
    ] = None,
    seed: SeedOption = None,
    p: Annotated[float, typer.Option("-p", help="Order of the Minkowski distance (inf is allowed).")] = 2.0,
    iterations: Annotated[
        int | None, typer.Option(parser=_whole, metavar="I", help="Maximum number of iterations.")
    ] = None,
    tolerance: Annotated[
        float | None, typer.Option(help="Stop when the error falls by less than this share over ten iterations.")
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(help="exact, fresh, lloyd (the paper's Alg. 1), sobol or halton. Default: chosen automatically."),
    ] = None,
    density: Annotated[
        str | None,
        typer.Option(
            metavar="RULE",
            help="Where niches lie: ball[:radius], shell[:inner,outer], outward[:power], along:name+name[,power] or "
            "hull:FILE.npy. Default: evenly in the box.",
        ),
    ] = None,
    start: Annotated[str | None, typer.Option(help="random or even.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="File of the centroids: .parquet, or .npy, .dat, .txt, which know no bounds and hold them in the "
            "units of the features; centroids_K_D.parquet by default.",
        ),
    ] = None,
    plot_: Annotated[Path | None, typer.Option("--plot", help="Draw the tessellation into this picture.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only forecast seconds and memory.")] = False,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Ignore the cache and do not update it.")] = False,
    list_cache: Annotated[bool, typer.Option("--list-cache", help="List the cached tessellations and exit.")] = False,
    threads: ThreadsOption = None,
    quiet: QuietOption = False,
    json_: JsonOption = False,
) -> None:
    """Construct a centroidal Voronoi tessellation of a problem's features or of a cube, and say how good it is."""
    from tesselite.cli.tessellating import make_cvt, show_cache

    if list_cache:
        show_cache(json_)
        return
    if (dims is None and problem is None) or niches is None:
        raise ValueError(
            "expected --problem SPEC or --dims D, and --niches K, as in: tesselite cvt --problem arm -k 10000 --seed 1"
        )
    make_cvt(
        dims,
        problem,
        niches,
        n_samples=samples,
        seed=seed,
        p=p,
        iterations=iterations,
        tolerance=tolerance,
        method=method,
        density=density,
        start=start,
        out=out,
        plot=plot_,
        dry_run=dry_run,
        cache=not no_cache,
        threads=threads,
        quiet=quiet,
        as_json=json_,
    )


@app.command("report")
def report_(
    folders: Annotated[
        list[Path],
        typer.Argument(metavar="DIR...", help="Folders of runs, which are compared if several; or an archive file."),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="The HTML file. Default: DIR/report.html for one run, FILE.html for an archive, else report.html.",
        ),
    ] = None,
    trust: TrustOption = False,
    json_: JsonOption = False,
) -> None:
    """Write an interactive page of runs into one HTML file that needs no network."""
    from tesselite.cli.reporting import make_report

    _trust(trust, *(folder for folder in folders if folder.is_dir()))
    make_report(folders, out, json_)


@app.command("watch")
def watch(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a run, which may not exist yet.")],
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes a free one.")] = 8137,
    host: Annotated[str, typer.Option(help="Address to listen on; only this machine by default.")] = "127.0.0.1",
    seconds: Annotated[float, typer.Option(help="Refresh interval in seconds.")] = 2.0,
    trust: TrustOption = False,
) -> None:
    """Show a run in a browser while it goes on; reads its folder and writes nothing."""
    from tesselite.cli.reporting import watch_run

    _trust(trust, folder)
    watch_run(folder, host, port, seconds)


@app.command("assess")
def assess(
    folders: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of runs.")],
    at_most: Annotated[
        int | None,
        typer.Option(parser=_whole, metavar="N", help="Draw N elites where there are more; 10,000 by default."),
    ] = None,
    seed: Annotated[int, typer.Option(parser=_whole, metavar="N", help="Seed of that draw.")] = 0,
    share: Annotated[
        list[float] | None,
        typer.Option(metavar="X", help="Tell the share of elites that reach fitness X; can be repeated."),
    ] = None,
    threads: ThreadsOption = None,
    workers: WorkersOption = None,
    dask: DaskOption = None,
    timeout: TimeoutOption = None,
    retries: RetriesOption = None,
    quiet: QuietOption = False,
    trust: TrustOption = False,
    json_: JsonOption = False,
) -> None:
    """Evaluate a run's elites again, in the training setting and in every scenario of its problem."""
    from tesselite.cli.assessing import assess_runs

    _trust(trust, *folders)
    assess_runs(
        folders,
        at_most=at_most,
        seed=seed,
        share=share or [],
        threads=threads,
        workers=_one_of(workers, dask),
        timeout=timeout,
        retries=retries,
        quiet=quiet,
        as_json=json_,
    )


class _Compare(TyperCommand):
    """Lets --against take several folders, as the shell makes of `--against runs/grid-*`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        spread: list[str] = []
        within = False
        for word in args:
            if within and not word.startswith("-"):
                spread += [word] if spread[-1] == "--against" else ["--against", word]
                continue
            within = word == "--against"
            spread.append(word)
        return super().parse_args(ctx, spread)


@app.command("compare", cls=_Compare)
def compare(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of the first set of runs.")],
    against: Annotated[
        list[Path], typer.Option("--against", metavar="RUN...", help="Folders of the second set of runs.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the tables and figures.")] = Path("comparison"),
    names: Annotated[str, typer.Option(metavar="A,B", help="Names of the two sets.")] = "",
    share: Annotated[
        list[float] | None,
        typer.Option(metavar="X", help="Compare the share of elites that reach fitness X; can be repeated."),
    ] = None,
    kind: FigureOption = FigureFormat.PNG,
    threads: ThreadsOption = None,
    workers: WorkersOption = None,
    dask: DaskOption = None,
    timeout: TimeoutOption = None,
    retries: RetriesOption = None,
    quiet: QuietOption = False,
    trust: TrustOption = False,
    json_: JsonOption = False,
) -> None:
    """Compare two sets of runs: metrics, scenarios, tests and effect sizes, as tables and figures."""
    from tesselite.cli.assessing import compare_runs

    _trust(trust, *runs, *against)
    compare_runs(
        runs,
        against,
        out,
        names=[name.strip() for name in names.split(",")] if names else [],
        share=share or [],
        kind=kind.value,
        threads=threads,
        workers=_one_of(workers, dask),
        timeout=timeout,
        retries=retries,
        quiet=quiet,
        as_json=json_,
    )


@app.command("reproduce")
def reproduce(
    study: Annotated[
        str,
        typer.Argument(
            help="maze, hexapod, niches, norms, iterations (or niches-maze, ...), sampler-maze, "
            "rounding-hexapod, concept, unbounded or all."
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the results.")],
    trials: Annotated[
        int | None,
        typer.Option(parser=_whole, metavar="N", help="Trials of each pair; the paper's 30 or 20 by default."),
    ] = None,
    evaluations: Annotated[
        int | None, typer.Option(parser=_whole, metavar="E", help="Evaluations of each trial; the paper's by default.")
    ] = None,
    descriptors: Annotated[
        str,
        typer.Option(
            "--descriptors",
            "--pairs",
            metavar="D,D",
            help="Only these descriptors or pairs, as 2d,20d or cvt-6d,grid-6d-released.",
        ),
    ] = "",
    cvt_samples: Annotated[
        int | None, typer.Option(parser=_whole, metavar="K", help="Samples of each CVT; the paper's where they fit.")
    ] = None,
    centroids: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Also run CVTs whose centroids are in this folder, as *_K_D.dat."),
    ] = None,
    workers: TrialWorkersOption = None,
    dask: TrialDaskOption = None,
    reuse: Annotated[
        list[Path] | None,
        typer.Option(metavar="DIR", help="Take over trials of the same settings from another reproduction."),
    ] = None,
    keep_runs: KeepRunsOption = False,
    forecast: ForecastOption = False,
    report: ReportOnlyOption = False,
    quick: Annotated[bool, typer.Option("--quick", help="The whole chain at a tiny scale, in a few minutes.")] = False,
    kind: FigureOption = FigureFormat.PNG,
    quiet: QuietOption = False,
    json_: JsonOption = False,
) -> None:
    """Reproduce the paper: run what is missing of a study and set its numbers beside ours. Stop and continue freely."""
    from tesselite.cli.assessing import reproduce_study

    reproduce_study(
        study,
        out,
        trials=trials,
        evaluations=evaluations,
        descriptors=[name.strip() for name in descriptors.split(",")] if descriptors else None,
        cvt_samples=cvt_samples,
        centroids=centroids,
        workers=_one_of(workers, dask),
        reuse=reuse or [],
        keep_runs=keep_runs,
        forecast_only=forecast,
        report_only=report,
        quick=quick,
        kind=kind.value,
        quiet=quiet,
        as_json=json_,
    )


@app.command("bench")
def bench(
    benchmarks: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[BENCHMARK]...",
            help="lp-sphere, lp-rastrigin, lp-plateau, lp-flat, lp-sphere-10 (features; also -20, -50), "
            "lp-rastrigin-10, lp-flat-10, arm, spiral, hexapod, maze. Default: all.",
        ),
    ] = None,
    *,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the results.")],
    algorithm: Annotated[
        list[str] | None,
        typer.Option(
            "--algorithm",
            "-a",
            metavar="NAME",
            help="gaussian, iso_line, cma_me, cma_mae, cma_mae_published, paper (the paper's operator, where there is "
            "one), or an emitter as `tesselite run --emitter` takes it. May be given several times. Default: all.",
        ),
    ] = None,
    trials: Annotated[int, typer.Option(parser=_whole, metavar="N", help="Trials of each, with different seeds.")] = 5,
    evaluations: Annotated[
        int | None,
        typer.Option(parser=_whole, metavar="E", help="Evaluations of each trial. Default: the benchmark's."),
    ] = None,
    workers: TrialWorkersOption = None,
    dask: TrialDaskOption = None,
    keep_runs: KeepRunsOption = False,
    forecast: ForecastOption = False,
    report: ReportOnlyOption = False,
    kind: FigureOption = FigureFormat.PNG,
    quiet: QuietOption = False,
    json_: JsonOption = False,
) -> None:
    """Compare algorithms on the field's public benchmarks, beside published figures. Stop and continue freely."""
    from tesselite.cli.benchmarking import run_benchmarks

    run_benchmarks(
        benchmarks or [],
        out,
        algorithms=algorithm or [],
        trials=trials,
        evaluations=evaluations,
        workers=_one_of(workers, dask),
        keep_runs=keep_runs,
        forecast_only=forecast,
        report_only=report,
        kind=kind.value,
        quiet=quiet,
        as_json=json_,
    )


def main() -> None:
    """Run the command line; what a user can mend ends in one clear line and exit code 2."""
    from tesselite.base.terminal import printable, printable_output

    try:
        with printable_output():
            app()
    except (ValueError, OSError, ImportError, RuntimeError, MemoryError) as error:
        if os.environ.get("TESSELITE_DEBUG"):
            raise
        if isinstance(error, BrokenPipeError):
            os._exit(141)  # the reader of our output went away; nothing more can be said to it
        if isinstance(error, OSError) and error.filename is None:
            said = error.strerror or str(error)  # our own words, without the number of the error
        else:
            said = str(error) if isinstance(error, ValueError | OSError) else f"{type(error).__name__}: {error}"
        said = printable(said).replace("\n", "\n  ")  # what is behind a line end in a name is no line of ours
        sys.stderr.write(f"Error: {said}\n")
        sys.exit(2)
    except KeyboardInterrupt:
        sys.stderr.write("stopped\n")
        sys.exit(130)
