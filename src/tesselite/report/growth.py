"""How niches grew: their bounds over evaluations, and what each change cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tesselite.report.style import LINES
from tesselite.search.map_elites import Change

_SHOWN = 6  # features whose bounds are drawn one above the other
_BOXES = 40  # of two features, drawn into one another


def draw_growth(made: Any, changes: Sequence[Change], names: Sequence[str], title: str) -> None:
    """Draw the bounds after each change and the elites lost into an empty figure; of two features, also the boxes.

    Of many features, those whose range grew most are shown.
    """
    at = [change.at for change in changes]
    low, high = (np.array([getattr(change, side) for change in changes]) for side in ("low", "high"))
    grown = (high[-1] - low[-1]) / (high[0] - low[0])
    shown = np.sort(np.argsort(-grown, kind="stable")[:_SHOWN])
    bounds, *others = made.subplots(1, 3 if len(names) == 2 else 2)
    for j, colour in zip(shown, LINES * _SHOWN, strict=False):
        bounds.step(at, low[:, j], where="post", color=colour, label=str(names[j]))
        bounds.step(at, high[:, j], where="post", color=colour)
    bounds.set(title="Bounds", xlabel="evaluations")
    bounds.legend(frameon=False, fontsize=8)
    if len(names) == 2:
        boxes = others.pop(0)
        for i in np.unique(np.linspace(0, len(changes) - 1, _BOXES).astype(int)):
            x, y = (low[i, 0], high[i, 0]), (low[i, 1], high[i, 1])
            share = 0.15 + 0.85 * (i + 1) / len(changes)
            boxes.plot([x[0], x[1], x[1], x[0], x[0]], [y[0], y[0], y[1], y[1], y[0]], color=LINES[0], alpha=share)
        boxes.set(title="The box of the niches, first to last", xlabel=names[0], ylabel=names[1])
    others[0].vlines(at, 0, [change.lost for change in changes], color=LINES[1])
    others[0].set(title="Elites lost at each change", xlabel="evaluations", ylim=(0, None))
    for ax in made.axes:
        ax.grid(alpha=0.25)
    made.suptitle(title, parse_math=False)
