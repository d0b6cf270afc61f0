"""The archive as a picture: niches coloured by fitness in two dimensions, parallel axes beyond.

Pair plots of principal components, which go beside the parallel axes, are in `tesselite.report.pair_plots`.
Cells are painted pixel by pixel through the tessellation's own exact look-up, which draws grids, Voronoi cells and
any norm alike and takes a moment for a million niches.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tesselite.archive.archive import Archive
from tesselite.report.style import EMPTY_NICHE, FITNESS_COLOURS

_PIXELS = 900
_AXES_SHOWN = 24
_LINES_SHOWN = 2000


def paint_niches(archive: Archive, values: Any, pixels: int = _PIXELS) -> Any:
    """An image (pixels, pixels), row 0 at the top, of `values`, one per elite in niche order; NaN in empty niches."""
    space = archive.tessellation.space
    centres = (np.arange(pixels) + 0.5) / pixels
    x, y = np.meshgrid(centres, centres[::-1])
    niches = archive.tessellation.niches_of_unit(np.column_stack([x.ravel(), y.ravel()]))
    filled = archive.elites().niches
    image = np.full(pixels * pixels, np.nan)
    if len(filled):
        at = np.searchsorted(filled, niches).clip(0, len(filled) - 1)
        hit = filled[at] == niches
        image[hit] = np.asarray(values, dtype=np.float64)[at[hit]]
    assert space.n == 2
    return image.reshape(pixels, pixels)


def draw_archive(made: Any, archive: Archive, title: str) -> None:
    """Draw an archive into an empty figure: cells for two features, parallel axes for any other number."""
    if archive.tessellation.space.n == 2:
        ax = made.subplots()
        draw_cells(made, ax, archive)
        ax.set_title(title, parse_math=False)
    else:
        _draw_parallel(made, archive, title)


def draw_cells(made: Any, ax: Any, archive: Archive, *, flip_y: bool = False) -> None:
    """Draw the niches of a two-dimensional archive into the axes, coloured by fitness, with a colour bar."""
    space = archive.tessellation.space
    image = paint_niches(archive, archive.elites().fitness)
    ax.set_facecolor(EMPTY_NICHE)
    shown = ax.imshow(
        image,
        extent=(0.0, 1.0, 0.0, 1.0),
        cmap=FITNESS_COLOURS if archive.direction == "max" else f"{FITNESS_COLOURS}_r",
        interpolation="nearest",
        aspect="auto",
    )
    _unit_ticks(ax, archive)
    ax.set(box_aspect=1.0)
    # Names are the user's: a dollar sign in them begins no formula.
    ax.set_xlabel(space.names[0], parse_math=False)
    ax.set_ylabel(space.names[1], parse_math=False)
    if flip_y:
        ax.invert_yaxis()
    made.colorbar(shown, ax=ax, label="fitness", shrink=0.85)


def _unit_ticks(ax: Any, archive: Archive) -> None:
    """Label the unit-scaled axes with feature units (they differ where an axis is logarithmic)."""
    ticks = np.linspace(0.0, 1.0, 6)
    units = archive.tessellation.space.from_unit(np.column_stack([ticks, ticks]))
    ax.set_xticks(ticks, [f"{value:.4g}" for value in units[:, 0]])
    ax.set_yticks(ticks, [f"{value:.4g}" for value in units[:, 1]])


def _draw_parallel(made: Any, archive: Archive, title: str) -> None:
    """A line for each elite across the features (at most 24 of them and 2,000 lines, evenly taken), best on top."""
    from matplotlib.collections import LineCollection

    elites = archive.elites()
    n = archive.tessellation.space.n
    axes_shown = np.unique(np.linspace(0, n - 1, min(n, _AXES_SHOWN)).round().astype(int))
    order = np.argsort(archive.sign * elites.fitness)
    if len(order) > _LINES_SHOWN:
        order = order[np.linspace(0, len(order) - 1, _LINES_SHOWN).round().astype(int)]
    unit = archive.tessellation.space.to_unit(elites.features[order])[:, axes_shown]
    ax = made.subplots()
    x = np.broadcast_to(np.arange(len(axes_shown), dtype=float), unit.shape)
    lines = LineCollection(
        list(np.stack([x, unit], axis=2)),
        cmap=FITNESS_COLOURS if archive.direction == "max" else f"{FITNESS_COLOURS}_r",
        linewidths=0.5,
        alpha=0.5,
        rasterized=True,
    )
    lines.set_array(elites.fitness[order])
    ax.add_collection(lines)
    ax.set(
        xlim=(-0.05, max(len(axes_shown) - 0.95, 0.05)),
        ylim=(-0.02, 1.02),
        ylabel="feature, scaled to [0, 1]",
        title=title,
    )
    names = [archive.tessellation.space.names[i] for i in axes_shown]
    turn = 90 if max(map(len, names)) * len(names) > 70 else 0
    ax.set_xticks(range(len(names)), names, rotation=turn, parse_math=False)
    if len(order):
        made.colorbar(lines, ax=ax, label="fitness")
