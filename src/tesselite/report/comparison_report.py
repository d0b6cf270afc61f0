"""The output of `tesselite compare`: tables, figures and a page with all of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tesselite.assessment.comparison import Comparison, Measure
from tesselite.base.text_files import write_text
from tesselite.problems import by_name
from tesselite.problems.problem import DrawScenario
from tesselite.report.comparison_figures import comparison_figures


def write_comparison(
    comparison: Comparison, out: Path, measures: Sequence[Measure], kind: str = "png", notes: Sequence[str] = ()
) -> list[Path]:
    """Write tables, figures and comparison.md, which begins with the notes; returns the files, that page first."""
    names = [group.name for group in comparison.groups]
    contrasts = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    shares = [measure for measure in measures if measure.kind == "share"]
    tables = {
        "metrics": comparison.metrics_table(shares),
        "best_performance": comparison.best_table(),
        "tests": comparison.tests_table(contrasts, measures),
        "expected_quality": comparison.quality_table(),
        "trials": comparison.data_table(shares),
    }
    files = [file for name, table in tables.items() for file in table.save(out / "tables", name)]
    figures = comparison_figures(comparison, out / "figures", kind, draw_scenario=_drawing(comparison))
    notes = [*notes, *([comparison.note] if comparison.note else [])]
    lines = ["# Comparison", "", *(f"Note: {note}\n" for note in notes), "Median [quartiles] over runs.", ""]
    lines += [tables["metrics"].to_markdown(), tables["best_performance"].to_markdown()]
    lines += [
        "Two-sided Mann-Whitney tests over runs, p corrected by Holm over the table; A12 is the chance that a run of "
        "the first exceeds one of the second.",
        "",
        tables["tests"].to_markdown(),
    ]
    lines += [f"![{file.stem}](figures/{file.name})\n" for file in figures]
    page = out / "comparison.md"
    write_text(page, "\n".join(lines) + "\n")
    return [page, *files, *figures]


def _drawing(comparison: Comparison) -> DrawScenario | None:
    """The problem's function that draws scenarios, if it can be imported and has one."""
    spec = comparison.groups[0].trials[0].settings["problem"]
    try:
        return by_name(spec).draw_scenario
    except (ValueError, ImportError):
        return None
