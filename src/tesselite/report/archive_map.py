"""The niches of one or two features, coloured by what their elites have; the axes are in feature units.

More features are drawn in `parallel_axes` and `pair_plots`. The cells of grids and of Voronoi niches are polygons, so
that they are sharp in every file. Where there are very many, or for another norm, they are painted pixel by pixel
through the tessellation's own exact look-up, which takes a moment for a million niches.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tesselite.archive.archive import Archive
from tesselite.report.colouring import Colouring
from tesselite.report.labels import unit_of, with_unit
from tesselite.report.style import EMPTY_NICHE
from tesselite.tessellation.pictures import set_feature_axis
from tesselite.tessellation.protocol import Tessellation
from tesselite.tessellation.raster import edges_of_pixels, niches_of_pixels

_PIXELS = 900
_MOST_POLYGONS = 20_000


def values_in(archive: Archive, niches: Any, values: Any) -> Any:
    """Of `values`, one per elite in niche order, those of these niches, in their shape; NaN where one is empty."""
    filled = archive.elites().niches
    found = np.full(niches.shape, np.nan)
    if len(filled):
        at = np.searchsorted(filled, niches).clip(0, len(filled) - 1)
        hit = filled[at] == niches
        found[hit] = np.asarray(values, dtype=np.float64)[at[hit]]
    return found


def draw_niches(ax: Any, archive: Archive, colouring: Colouring, *, y_down: bool = False) -> Any:
    """Draw the niches of one or two features into the axes; returns what a colour bar needs.

    `y_down` lets the second of two features grow downwards.
    """
    space = archive.tessellation.space
    shown = _draw_bars(ax, archive, colouring) if space.n == 1 else _draw_cells(ax, archive, colouring)
    set_feature_axis(ax, "x", space, 0)
    if space.n == 2:
        ax.set_facecolor(EMPTY_NICHE)
        set_feature_axis(ax, "y", space, 1)
        if y_down:
            ax.invert_yaxis()
    return shown


def _draw_cells(ax: Any, archive: Archive, colouring: Colouring) -> Any:
    from matplotlib.collections import PolyCollection

    niches = archive.elites().niches
    if painted(archive.tessellation, len(niches)):
        edges = edges_of_pixels(archive.tessellation.space, _PIXELS)
        image = values_in(archive, niches_of_pixels(archive.tessellation, _PIXELS), colouring.values)
        return ax.pcolormesh(*edges, np.ma.masked_invalid(image), rasterized=True, **colouring.look)
    polygons = archive.tessellation.polygons(niches)
    # Edges of the same colour close the seams that smoothing would leave between neighbours.
    look: dict[str, Any] = {"edgecolors": "face", "linewidths": 0.3}
    return ax.add_collection(PolyCollection(polygons, array=colouring.values, **colouring.look, **look))


def painted(tessellation: Tessellation, filled: int) -> str:
    """Why the niches of two features are painted pixel by pixel, even in SVG and PDF; empty if they are polygons."""
    if why := tessellation.unknown_borders:
        return why
    drawn = filled if tessellation.block is None else tessellation.n_niches  # Voronoi cells are cut all at once
    return f"there are more than {_MOST_POLYGONS:,}" if drawn > _MOST_POLYGONS else ""


def _draw_bars(ax: Any, archive: Archive, colouring: Colouring) -> Any:
    """Niches of one feature: a bar as wide as the niche at its elite's fitness; empty niches are grey."""
    from matplotlib.collections import LineCollection

    elites = archive.elites()
    steps = 50 * _PIXELS
    places = ((np.arange(steps) + 0.5) / steps)[:, None]
    rows = values_in(archive, archive.tessellation.niches_of_unit(places), np.arange(len(elites)))
    borders = np.flatnonzero(~((rows[1:] == rows[:-1]) | (np.isnan(rows[1:]) & np.isnan(rows[:-1])))) + 1
    units = archive.tessellation.space.from_unit(np.concatenate([[0], borders, [steps]])[:, None] / steps)[:, 0]
    starts, ends = units[:-1], units[1:]
    first = np.append(0, borders)
    empty = np.isnan(rows[first])
    ax.broken_barh(
        list(zip(starts[empty], ends[empty] - starts[empty], strict=True)),
        (0.0, 1.0),
        transform=ax.get_xaxis_transform(),
        facecolors=EMPTY_NICHE,
    )
    held = rows[first[~empty]].astype(int)
    unit = unit_of(elites.fitness)
    fitness = elites.fitness[held] / unit
    bars = np.column_stack([starts[~empty], fitness, ends[~empty], fitness]).reshape(-1, 2, 2)
    shown = LineCollection(list(bars), linewidths=3.0, array=colouring.values[held], **colouring.look)
    ax.add_collection(shown)
    ax.autoscale_view(scalex=False)
    ax.set_ylabel(with_unit("fitness", unit))
    ax.ticklabel_format(axis="y", useOffset=False)
    return shown
