"""How a run went: coverage, QD score, best and mean fitness over evaluations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tesselite.report.style import LINES

_PANELS = (
    ("coverage", "Coverage"),
    ("qd_score", "QD score"),
    ("best_fitness", "Best fitness"),
    ("mean_fitness", "Mean fitness of elites"),
)


def draw_progress(made: Any, rows: Sequence[Mapping[str, float | None]], title: str) -> None:
    """Draw the rows of progress.csv into an empty figure, a panel for each measure that has values."""
    panels = [(name, label) for name, label in _PANELS if any(row[name] is not None for row in rows)]
    axes = made.subplots(1, len(panels), squeeze=False)[0]
    evaluations = [row["evaluations"] for row in rows]
    for ax, (name, label), colour in zip(axes, panels, LINES, strict=False):
        ax.plot(evaluations, [row[name] if row[name] is not None else float("nan") for row in rows], color=colour)
        ax.set(title=label, xlabel="evaluations")
        ax.ticklabel_format(axis="x", style="sci", scilimits=(0, 5), useMathText=True)
        ax.ticklabel_format(axis="y", useOffset=False)
        ax.grid(alpha=0.25)
    made.suptitle(title, parse_math=False)
