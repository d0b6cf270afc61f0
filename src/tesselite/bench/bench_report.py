"""The tables, curves and report.md of `tesselite bench`, made from the trials in its folder only.

OUT/pyribs/*.json   runs of another library on the same benchmarks, where there are any (see benchmarks/emitters.py)
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tesselite import __version__
from tesselite.assessment.tables import Table
from tesselite.assessment.trial import Trial
from tesselite.base.atomic import regular_bytes
from tesselite.base.text_files import write_text
from tesselite.bench.benchmarks import ALGORITHMS, BENCHMARKS, SHORT, Benchmark
from tesselite.bench.published import PUBLISHED, PUBLISHED_EVALUATIONS, PUBLISHED_RUNS, SOURCES, Published
from tesselite.paper.reproduce import read_trials
from tesselite.paper.studies import Study
from tesselite.report.style import LINES, figure, save

_COLUMNS = ("coverage", "qd_score")


@dataclass(frozen=True)
class Runs:
    """Runs of one algorithm on one benchmark: for each its evaluations, coverage and QD score as columns over time."""

    label: str
    emitter: str
    progress: tuple[dict[str, Any], ...]
    theirs: bool = False

    def after(self, evaluations: int, column: str) -> Any:
        """A column after this many evaluations, for each run, interpolated."""
        return np.array([np.interp(evaluations, run["evaluations"], run[column]) for run in self.progress])

    @property
    def evaluations(self) -> int:
        """The budget of each run."""
        return int(self.progress[0]["evaluations"][-1])


def write_report(study: Study, out: Path, kind: str = "png") -> list[Path]:
    """Write tables, curves and report.md from the trials in `out`; returns the files. ValueError without trials."""
    found = _runs(study, out)
    if not any(not runs.theirs for several in found.values() for runs in several):
        raise ValueError(f"{out}: no trial is finished yet")
    table = out / "tables" / "benchmarks.csv"
    write_text(table, _table(found).to_csv())
    figures = {
        name: _curves(BENCHMARKS[name], runs, out / "figures" / f"{name}.{kind}") for name, runs in found.items()
    }
    report = out / "report.md"
    write_text(report, _text(found, figures))
    return [report, table, *figures.values()]


def results(study: Study, out: Path) -> list[dict[str, Any]]:
    """The output of `--json`: a row for each algorithm on each benchmark, with all values of all runs."""
    return [
        {
            "benchmark": name,
            "algorithm": runs.label,
            "emitter": runs.emitter,
            "evaluations": runs.evaluations,
            **{column: runs.after(runs.evaluations, column).tolist() for column in _COLUMNS},
        }
        for name, several in _runs(study, out).items()
        for runs in several
    ]


def _runs(study: Study, out: Path) -> dict[str, list[Runs]]:
    """The runs by benchmark: ours, and another library's."""
    trials = read_trials(study, out)
    found: dict[str, list[Runs]] = {}
    for pair in study.pairs:
        if of_pair := trials[pair.name]:
            rows = tuple(_progress(trial) for trial in of_pair)
            found.setdefault(pair.descriptor, []).append(Runs(pair.label, pair.variation or "", rows))
    for name, several in found.items():
        files = sorted((out / "pyribs").glob(f"{name}-[0-9]*.json"))
        if theirs := [json.loads(regular_bytes(file)) for file in files]:
            about = theirs[0]
            rows = tuple(run["progress"] for run in theirs)
            several.append(Runs(f"CMA-MAE, {about['library']}", about["algorithm"], rows, theirs=True))
    return found


def _progress(trial: Trial) -> dict[str, Any]:
    """The columns of a trial that are drawn, with the archive's own figures at the end."""
    rows = {name: list(trial.progress[name]) for name in ("evaluations", *_COLUMNS)}
    last = trial.settings["evaluations"], trial.metrics.coverage, trial.metrics.qd_score
    return {name: [*column[:-1], value] for (name, column), value in zip(rows.items(), last, strict=True)}


_HEAD = ("benchmark", "algorithm", "by", "evaluations", "runs")
_FIGURES = ("coverage %", "coverage % sd", "QD score", "QD score sd")


def _table(found: dict[str, list[Runs]]) -> Table:
    """Every figure as a number: means, and standard deviations (n - 1) where there are several runs."""
    rows: list[Sequence[Any]] = []
    for name, several in found.items():
        label = BENCHMARKS[name].label
        for runs in several:
            by = "run here" if runs.theirs else "tesselite"
            for at in sorted({min(SHORT, runs.evaluations), runs.evaluations}):
                coverage, score = 100.0 * runs.after(at, "coverage"), runs.after(at, "qd_score")
                spread = (*_mean_and_sd(coverage), *_mean_and_sd(score))
                rows.append((label, runs.label, by, at, len(runs.progress), *spread))
        for row in PUBLISHED.get(name, ()):
            coverage_sd = None if row.coverage_sd is None else 100.0 * row.coverage_sd
            figures = 100.0 * row.coverage, coverage_sd, row.qd_score, row.qd_score_sd
            rows.append((label, row.algorithm, row.source, PUBLISHED_EVALUATIONS, PUBLISHED_RUNS, *figures))
    return Table((*_HEAD, *_FIGURES), rows)


def _mean_and_sd(values: Any) -> tuple[float, float | None]:
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else None


def _for_people(table: Table) -> Table:
    """The rows of one benchmark, means and standard deviations in one column."""

    def joined(mean: float, sd: float | None, digits: int) -> str:
        return f"{mean:,.{digits}f}" + ("" if sd is None else f" ± {sd:,.{digits}f}")

    rows = [(*row[1:5], joined(row[5], row[6], 2), joined(row[7], row[8], 0)) for row in table.rows]
    return Table((*_HEAD[1:], "coverage %", "QD score"), rows)


_MARKS = {
    "MAP-Elites (iso+line)": "s",
    "CMA-MAE": "D",
    "discount model search": "^",
}  # published figures that are drawn


def _curves(benchmark: Benchmark, several: Sequence[Runs], path: Path) -> Path:
    """Coverage and QD score over evaluations: mean of the runs, a band from the lowest to the highest."""
    labels = [label for label, _ in ALGORITHMS.values()]
    known = [*labels, *dict.fromkeys(runs.label for runs in several if runs.label not in labels)]
    with figure(10.0, 4.2) as made:
        for ax, column, label, unit in zip(
            made.subplots(1, 2), _COLUMNS, ("coverage %", "QD score"), (100.0, 1.0), strict=True
        ):
            for runs in several:
                at = np.array(runs.progress[0]["evaluations"], dtype=np.float64)
                values = unit * np.array([np.interp(at, run["evaluations"], run[column]) for run in runs.progress])
                colour = LINES[known.index(runs.label) % len(LINES)]
                style = "--" if runs.theirs else "-"
                ax.plot(at, values.mean(axis=0), label=runs.label, linewidth=1.6, color=colour, linestyle=style)
                ax.fill_between(at, values.min(axis=0), values.max(axis=0), color=colour, alpha=0.18, linewidth=0)
            if max(runs.evaluations for runs in several) >= PUBLISHED_EVALUATIONS:
                _mark_published(ax, PUBLISHED.get(benchmark.name, ()), column, unit)
            ax.set(xlabel="evaluations", ylabel=label, ylim=(0, None))
            ax.ticklabel_format(axis="both", style="sci", scilimits=(0, 5), useMathText=True)
            ax.grid(alpha=0.25)
        made.suptitle(benchmark.label, fontsize=11)
        handles, labels = made.axes[0].get_legend_handles_labels()
        made.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=8, frameon=False)
        return save(made, path)


def _mark_published(ax: Any, rows: Sequence[Published], column: str, unit: float) -> None:
    """A mark at the end of the published budget for each published figure that is drawn."""
    for row in rows:
        if row.algorithm in _MARKS:
            look = {"marker": _MARKS[row.algorithm], "markersize": 6, "color": "0.25", "linestyle": ""}
            said = f"{row.algorithm}, published ({row.source})"
            ax.plot([PUBLISHED_EVALUATIONS], [unit * getattr(row, column)], label=said, clip_on=False, zorder=5, **look)


_ABOUT = (
    "Mean ± standard deviation over runs; curves show the mean and the range of all runs. *tesselite*: run by this "
    "library, with the emitters below; *run here*: another library, run on the same benchmark by us; all others are "
    "published figures, after 5,400,000 evaluations. Compare rows of the same number of evaluations only."
)


def _text(found: dict[str, list[Runs]], figures: dict[str, Path]) -> str:
    lines = ["# Public benchmarks", "", f"{_ABOUT} Written by tesselite {__version__}.", ""]
    for name, several in found.items():
        benchmark = BENCHMARKS[name]
        niches = f"grid of {benchmark.grid} x {benchmark.grid}" if benchmark.grid else "CVT of 10,000 niches"
        lines += [f"## {benchmark.label}", "", f"`{benchmark.problem}`, {niches}.", ""]
        lines += [_for_people(_table({name: several})).to_markdown()]
        lines += [f"![{benchmark.label}](figures/{figures[name].name})", ""]
        lines += [f"- {runs.label}: `{runs.emitter}`" for runs in several if runs.emitter and not runs.theirs]
        lines += [""]
    used = {row.source for name in found for row in PUBLISHED.get(name, ())}
    lines += ["## Sources", "", *(f"- *{name}*: {text}" for name, text in SOURCES.items() if name in used), ""]
    lines += ["Every number in full precision: `tables/benchmarks.csv`, `trials/`.", ""]
    return "\n".join(lines)
