"""Parallel axes: a line for each elite across the features, for archives of any number of features."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np

from tesselite.archive.archive import Archive
from tesselite.assessment.metrics import bounded_space
from tesselite.report.colouring import Colouring, best_on_top
from tesselite.report.labels import short
from tesselite.report.principal_axes import most_varied

_AXES_SHOWN = 24
_LINES_SHOWN = 2000
_FEW_LINES = 100  # they are drawn thicker
_LETTER_POINTS = 4.4  # the mean width of a letter of 8 points
_CORNERS_AS_VECTORS = 10_000  # of lines in SVG and PDF; more are an image, which programs open faster
_NAMES_SAID = 30
_LABELS_SHOWN = 20
_NAMES_LISTED = 8  # in an error


def draw_parallel(ax: Any, archive: Archive, colouring: Colouring, features: Sequence[str] | None = None) -> Any:
    """Draw at most 2,000 elites, evenly sampled from worst to best, the best on top; returns what a colour bar needs.

    `features` are the axes, in this order; by default all, or the 24 that vary most. ValueError for a name that is not
    a feature. Missing features are listed below the axes.
    """
    from matplotlib.collections import LineCollection

    space, names = bounded_space(archive), archive.tessellation.space.names
    for name in features or ():
        if name not in names:
            known = ", ".join(names[:_NAMES_LISTED]) + (", ..." if space.n > _NAMES_LISTED else "")
            raise ValueError(f"features: expected names of features ({known}), got {name!r}")
    unit = space.to_unit(archive.elites().features)
    chosen = most_varied(unit, _AXES_SHOWN) if features is None else [names.index(name) for name in features]
    order = best_on_top(archive, _LINES_SHOWN)
    unit = unit[order][:, chosen]
    x = np.arange(len(chosen), dtype=float) if len(chosen) > 1 else np.array([-0.03, 0.03])  # of one axis, a dash each
    few = len(order) <= _FEW_LINES
    lines = LineCollection(
        list(np.stack(np.broadcast_arrays(x, unit), axis=2)),
        array=colouring.values[order],
        linewidths=1.0 if few else 0.5,
        alpha=0.8 if few else 0.5,
        rasterized=unit.size > _CORNERS_AS_VECTORS,
        **colouring.look,
    )
    ax.add_collection(lines)
    ax.set(xlim=(-0.05, max(len(chosen) - 0.95, 0.05)), ylim=(-0.02, 1.02), ylabel="feature, scaled to [0, 1]")
    shown = [short(space.titles[j], 28) for j in chosen]
    turn = 90 if max(map(len, shown)) * len(shown) > 70 else 0
    ax.set_xticks(range(len(shown)), shown, rotation=turn, parse_math=False)
    for place, j in enumerate(chosen):
        labels = space.labels.get(names[j], ())
        for k, label in enumerate(labels[:_LABELS_SHOWN]):
            at = (place, (k + 0.5) / len(labels))
            ax.annotate(short(label, 16), at, (3, 0), textcoords="offset points", fontsize=7, parse_math=False)
    missing = [title for j, title in enumerate(space.titles) if j not in set(chosen)]
    if missing:
        text = f"{len(chosen)} of {len(names)} features are shown"
        text += f", those that vary most; missing: {_listed(missing)}" if features is None else ""
        points = ax.get_window_extent().width / ax.figure.dpi * 72.0
        ax.set_xlabel(textwrap.fill(text, max(20, int(points / _LETTER_POINTS))), fontsize=8, parse_math=False)
    return lines


def _listed(titles: Sequence[str]) -> str:
    said = [short(title, 28) for title in titles[:_NAMES_SAID]]
    return ", ".join(said) + (f" and {len(titles) - _NAMES_SAID:,} more" if len(titles) > _NAMES_SAID else "")
