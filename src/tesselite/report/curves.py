"""Curves over evaluations and over levels of fitness: medians of runs with a band between the quartiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tesselite.archive.evaluation import Direction

Columns = Mapping[str, Sequence[float | None]]

MEASURES = {
    "coverage": "coverage",
    "qd_score": "QD score",
    "best_fitness": "best fitness",
    "mean_fitness": "mean fitness of elites",
}


def draw_curve(ax: Any, x: Any, quartiles: Any, **look: Any) -> None:
    """Draw the middle of quartiles (3, m) over x (m,) as a line, with a band where the others differ from it."""
    low, middle, high = quartiles
    (line,) = ax.plot(x, middle, **{"linewidth": 1.6, **look})
    if not np.array_equal(low, high):
        ax.fill_between(x, low, high, color=line.get_color(), alpha=0.18, linewidth=0)


def over_evaluations(runs: Sequence[Columns], measure: str) -> tuple[Any, Any]:
    """Evaluations (m,) and the quartiles (3, m) over runs of a measure.

    Each run is taken at the numbers of evaluations of the first, with its last known value; there is no point where one
    has none yet.
    """
    grid = np.array(runs[0]["evaluations"], dtype=np.float64)
    rows = []
    for run in runs:
        at = np.array(run["evaluations"], dtype=np.float64)
        values = np.array([np.nan if v is None else v for v in run[measure]], dtype=np.float64)
        place = np.searchsorted(at, grid, side="right") - 1
        rows.append(np.where(place >= 0, values[np.maximum(place, 0)], np.nan))
    table = np.array(rows)
    known = ~np.isnan(table).any(axis=0)
    return grid[known], np.quantile(table[:, known], [0.25, 0.5, 0.75], axis=0)


def label_evaluations(ax: Any) -> None:
    """Label the horizontal axis; thousands are written as 20k, millions as 1.5M."""
    from matplotlib.ticker import EngFormatter

    ax.set_xlabel("evaluations")
    ax.xaxis.set_major_formatter(EngFormatter(sep=""))


def from_zero(ax: Any, values: Any) -> None:
    """Begin the vertical axis at zero if no value is below it; logarithmic if most would lie on zero otherwise.

    If some still lie on zero, the axis begins slightly below, so that they can be seen. Below zero the axis is plain:
    numbers in full, without an offset beside the axis.
    """
    if ax.get_yscale() == "linear":
        ax.ticklabel_format(axis="y", useOffset=False)
    if not len(values) or values.min() < 0.0:
        return
    positive, largest = values[values > 0.0], float(values.max())
    if len(positive) and largest > 50.0 * np.median(values):
        smallest = max(float(np.quantile(positive, 0.05)), 1e-5 * largest)
        ax.set_yscale("symlog", linthresh=10.0 ** np.floor(np.log10(smallest)))
    scale = ax.yaxis.get_transform()
    lowest, highest, top = scale.transform([float(values.min()), largest, ax.get_ylim()[1] if largest else 1.0])
    height = max(top, 1.03 * highest)  # dots on top are not cut
    ax.set_ylim(*scale.inverted().transform([-0.02 * height if lowest < 0.01 * height else 0.0, height]))


def share_label(direction: Direction) -> str:
    """The label of the vertical axis of expected quality."""
    return "P(X ≤ x)" if direction == "min" else "P(X > x)"
