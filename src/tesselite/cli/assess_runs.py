"""The implementation of `assess` and `compare`."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tesselite.base.terminal import bar_label, one_line, say
from tesselite.cli.options import split_names
from tesselite.cli.output import print_json, user_prints_to_stderr

if TYPE_CHECKING:
    from tesselite.assessment.scenarios import Assessment, Evaluating, OnAssessed
    from tesselite.cli.commands.assessing import AssessOptions, CompareOptions
    from tesselite.cli.options import WorkerOptions

_PLAIN_SECONDS = 5.0


# -- assess ------------------------------------------------------------------------------------------------------------


def assess_runs(options: AssessOptions) -> None:
    """Assess runs in the scenarios of their problems and report the results."""
    from tesselite.archive.figures import OF_NICHES
    from tesselite.assessment.metrics import measure
    from tesselite.assessment.scenarios import AT_MOST, assess_run
    from tesselite.runs.loading import run_archive

    share = options.share or []
    if not all(math.isfinite(x) for x in share):
        raise ValueError(f"--share: expected finite fitness values, got {', '.join(map(str, share))}")
    results = []
    for folder in options.folders:
        with user_prints_to_stderr(), _counted(f"{folder}", options.quiet) as on_assessed:
            found = assess_run(
                folder,
                at_most=AT_MOST if options.at_most is None else options.at_most,
                seed=options.seed,
                how=_evaluating(options.on, on_assessed),
            )
            archive = run_archive(folder)[0]
            metrics = measure(archive, threads=options.on.threads)
        about = metrics.to_dict() | ({} if archive.has_niches else dict.fromkeys(OF_NICHES))
        results.append({"run": str(folder), **about, **_figures(found, share, archive.has_niches)})
        if not options.as_json:
            typer.echo(one_line(f"{folder}: {len(found):,} of {found.elites:,} elites assessed"))
            filled = f"coverage {metrics.coverage:.4g}" if archive.has_niches else "without niches"
            score = f", QD score {_or_dash(metrics.qd_score)}" * archive.has_niches
            typer.echo(f"{filled}, spread {_or_dash(metrics.spread)}{score}")
            _tell_settings(found, share, archive.has_niches)
    if options.as_json:
        print_json({"runs": results})


def _evaluating(on: WorkerOptions, on_assessed: OnAssessed | None) -> Evaluating:
    from tesselite.assessment.scenarios import Evaluating
    from tesselite.execution.choice import execution_of

    return Evaluating(execution_of(on.choice()), on.threads, on_assessed)


def _tell_settings(found: Assessment, share: Sequence[float], has_niches: bool) -> None:
    """A row for each setting: the best, its niche if there are niches, how many are valid, and shares of elites."""
    from tesselite.assessment.tables import Table

    niche = [found.best_niche] * has_niches
    rows = [
        [name, *(of(name) for of in (found.best, *niche, found.valid)), *_shares(found, name, share)]
        for name in found.settings
    ]
    sign = "<=" if found.direction == "min" else ">"
    columns = ["setting", "best", *["niche"] * has_niches, "valid", *(f"share {sign} {x:g}" for x in share)]
    typer.echo(_aligned(Table(columns, rows)))
    if found.changed:
        typer.echo(f"{found.changed:,} elites: fitness changed on re-evaluation; is the problem noisy?")


def _or_dash(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def _shares(found: Assessment, setting: str, levels: Sequence[float]) -> list[float]:
    from tesselite.assessment.expected_quality import share

    return [float(share(found.fitness[setting], x, found.direction)) for x in levels]


def _figures(found: Assessment, levels: Sequence[float], has_niches: bool) -> dict[str, Any]:
    return {
        "problem": found.problem,
        "assessed": len(found),
        "changed": found.changed,
        "settings": {
            name: {
                "best": found.best(name),
                "niche": found.best_niche(name) if has_niches else None,
                "valid": found.valid(name),
                "shares": dict(zip((f"{x:g}" for x in levels), _shares(found, name, levels), strict=True)),
            }
            for name in found.settings
        },
    }


def _aligned(table: Any) -> str:
    """A table for a terminal: columns of equal width."""
    from tesselite.assessment.tables import shown

    rows = [list(map(one_line, table.columns)), *([one_line(shown(cell)) for cell in row] for row in table.rows)]
    widths = [max(len(row[j]) for row in rows) for j in range(len(rows[0]))]
    return "\n".join(
        "  ".join([row[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True))])
        for row in rows
    )


@contextmanager
def _counted(name: str, quiet: bool) -> Iterator[OnAssessed | None]:
    """A callback for evaluations done and in all: a bar on a terminal, occasional lines elsewhere."""
    if quiet:
        yield None
        return
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import Progress

        with Progress(console=Console(stderr=True), transient=True) as bars:
            task = bars.add_task(bar_label(name), total=None)
            yield lambda done, total: bars.update(task, completed=done, total=total)
        return
    last = [time.perf_counter()]

    def line(done: int, total: int) -> None:
        if time.perf_counter() - last[0] >= _PLAIN_SECONDS:
            last[0] = time.perf_counter()
            say(f"{name}: {done:,} of {total:,} evaluations")

    yield line


# -- compare -----------------------------------------------------------------------------------------------------------


def check_folder(out: Path) -> None:
    """ValueError if results cannot be written there."""
    if out.exists() and not out.is_dir():
        raise ValueError(f"--out: expected a folder, {out} is a file")


def compare_runs(options: CompareOptions) -> None:
    """Compare two sets of runs of one problem: tables, tests and figures in a folder."""
    from tesselite.assessment.folder_comparison import check_comparable, compare_folders

    names = split_names(options.names)
    if names and (len(names) != 2 or names[0] == names[1] or not all(names)):
        raise ValueError(f"--names: expected two that differ, one for each set of runs, got {', '.join(names)}")
    check_folder(options.out)
    first, second = names or ("first", "second")
    groups = {first: options.runs, second: options.against}
    notes = check_comparable(groups)
    for note in notes:
        say(f"Note: {note}")
    with user_prints_to_stderr(), _counted("assessing", options.quiet) as on_assessed:
        how = _evaluating(options.on, on_assessed)
        comparison, queries = compare_folders(groups, options.share or [], how, options.n_niches)
    if comparison.note:
        say(f"Note: {comparison.note}")
    from tesselite.report.comparison_report import write_comparison

    files = write_comparison(comparison, options.out, queries, options.kind, notes)
    tests = comparison.tests_table([(first, second)], queries)
    if options.as_json:
        rows = [dict(zip(tests.columns, row, strict=True)) for row in tests.rows]
        notes += [comparison.note] if comparison.note else []
        print_json({"tests": rows, "notes": notes, "files": [str(file) for file in files]})
        return
    typer.echo(_aligned(tests))
    typer.echo(one_line(files[0]))
