"""The archive as a picture: niches coloured by fitness in one and two dimensions, parallel axes beyond.

Pair plots of principal components, which go beside the parallel axes, are in `tesselite.report.pair_plots`.
Cells are painted pixel by pixel through the tessellation's own exact look-up, which draws grids, Voronoi cells and
any norm alike and takes a moment for a million niches.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np

from tesselite.archive.archive import Archive
from tesselite.report.principal import most_varied
from tesselite.report.style import EMPTY_NICHE, FITNESS_COLOURS
from tesselite.report.texts import apart, short
from tesselite.tessellation.protocol import Tessellation

_PIXELS = 900
_AXES_SHOWN = 24
_LINES_SHOWN = 2000
_NAMES_SAID = 30
_NAMES_LISTED = 8  # in an error


def paint_niches(archive: Archive, values: Any, pixels: int = _PIXELS) -> Any:
    """An image (pixels, pixels), row 0 at the top, of `values`, one per elite in niche order; NaN in empty niches."""
    space = archive.tessellation.space
    centres = (np.arange(pixels) + 0.5) / pixels
    x, y = np.meshgrid(centres, centres[::-1])
    assert space.n == 2
    return _values_at(archive, np.column_stack([x.ravel(), y.ravel()]), values).reshape(pixels, pixels)


def niche_borders(tessellation: Tessellation, pixels: int) -> Any:
    """An image (pixels, pixels), row 0 at the bottom, True where a niche of two features ends."""
    centres = (np.arange(pixels) + 0.5) / pixels
    x, y = np.meshgrid(centres, centres)
    niches = tessellation.niches_of_unit(np.column_stack([x.ravel(), y.ravel()])).reshape(pixels, pixels)
    edge = np.zeros((pixels, pixels), np.bool_)
    edge[:, 1:] |= niches[:, 1:] != niches[:, :-1]
    edge[1:] |= niches[1:] != niches[:-1]
    return edge


def _values_at(archive: Archive, unit: Any, values: Any) -> Any:
    """The value of the elite of each unit-scaled row's niche; NaN where the niche is empty."""
    niches = archive.tessellation.niches_of_unit(unit)
    filled = archive.elites().niches
    found = np.full(len(unit), np.nan)
    if len(filled):
        at = np.searchsorted(filled, niches).clip(0, len(filled) - 1)
        hit = filled[at] == niches
        found[hit] = np.asarray(values, dtype=np.float64)[at[hit]]
    return found


def draw_archive(
    made: Any, archive: Archive, title: str, *, y_down: bool = False, features: Sequence[str] | None = None
) -> None:
    """Draw an archive into an empty figure: niches of one or two features, parallel axes of more.

    `y_down` lets the second of two features grow downwards. `features` are the parallel axes, in this order; by
    default all features, or the 24 that vary most. ValueError for a name that is not a feature.
    """
    space = archive.tessellation.space
    for name in features or ():
        if name not in space.names:
            known = ", ".join(space.names[:_NAMES_LISTED]) + (", ..." if space.n > _NAMES_LISTED else "")
            raise ValueError(f"features: expected names of features ({known}), got {name!r}")
    ax = made.subplots()
    ax.set_title(title, parse_math=False)
    if features is not None or space.n > 2:
        _draw_parallel(made, ax, archive, features)
    elif space.n == 2:
        draw_cells(made, ax, archive, y_down=y_down)
    else:
        _draw_line(made, ax, archive)


def draw_cells(made: Any, ax: Any, archive: Archive, *, y_down: bool = False) -> None:
    """Draw the niches of a two-dimensional archive into the axes, coloured by fitness, with a colour bar."""
    space = archive.tessellation.space
    image = paint_niches(archive, archive.elites().fitness)
    ax.set_facecolor(EMPTY_NICHE)
    shown = ax.imshow(
        image, extent=(0.0, 1.0, 0.0, 1.0), cmap=_colours(archive), interpolation="nearest", aspect="auto"
    )
    _unit_ticks(ax, archive)
    ax.set(box_aspect=1.0)
    # Names are the user's: a dollar sign in them begins no formula.
    ax.set_xlabel(space.names[0], parse_math=False)
    ax.set_ylabel(space.names[1], parse_math=False)
    if y_down:
        ax.invert_yaxis()
    _colour_bar(made, ax, shown, shrink=0.85)


def _draw_line(made: Any, ax: Any, archive: Archive) -> None:
    """Niches of one feature: a bar as wide as the niche at its elite's fitness; empty niches are grey."""
    from matplotlib.collections import LineCollection

    elites = archive.elites()
    steps = 50 * _PIXELS
    places = ((np.arange(steps) + 0.5) / steps)[:, None]
    rows = _values_at(archive, places, np.arange(len(elites)))
    borders = np.flatnonzero(~((rows[1:] == rows[:-1]) | (np.isnan(rows[1:]) & np.isnan(rows[:-1])))) + 1
    starts, ends = np.append(0, borders), np.append(borders, steps)
    empty = np.isnan(rows[starts])
    ax.broken_barh(
        [(a / steps, (b - a) / steps) for a, b in zip(starts[empty], ends[empty], strict=True)],
        (0.0, 1.0),
        transform=ax.get_xaxis_transform(),
        facecolors=EMPTY_NICHE,
    )
    held = rows[starts[~empty]].astype(int)
    fitness = elites.fitness[held]
    bars = np.column_stack([starts[~empty] / steps, fitness, ends[~empty] / steps, fitness]).reshape(-1, 2, 2)
    shown = LineCollection(list(bars), cmap=_colours(archive), linewidths=3.0, array=fitness)
    ax.add_collection(shown)
    ax.autoscale_view()
    ax.set(xlim=(0.0, 1.0), ylabel="fitness")
    ax.ticklabel_format(axis="y", useOffset=False)
    ax.set_xlabel(archive.tessellation.space.names[0], parse_math=False)
    _unit_ticks(ax, archive)
    if len(elites):
        _colour_bar(made, ax, shown)


def _colours(archive: Archive) -> str:
    """Bright is good, whatever the direction."""
    return FITNESS_COLOURS if archive.direction == "max" else f"{FITNESS_COLOURS}_r"


def _colour_bar(made: Any, ax: Any, shown: Any, shrink: float = 1.0) -> None:
    bar = made.colorbar(shown, ax=ax, label="fitness", shrink=shrink)
    bar.ax.ticklabel_format(axis="y", useOffset=False)


def _unit_ticks(ax: Any, archive: Archive) -> None:
    """Label the unit-scaled axes with feature units (they differ where an axis is logarithmic)."""
    space = archive.tessellation.space
    ticks = np.linspace(0.0, 1.0, 6)
    units = space.from_unit(np.repeat(ticks[:, None], space.n, axis=1))
    ax.set_xticks(ticks, apart(units[:, 0].tolist()))
    if space.n == 2:
        ax.set_yticks(ticks, apart(units[:, 1].tolist()))


def _draw_parallel(made: Any, ax: Any, archive: Archive, features: Sequence[str] | None) -> None:
    """A line for each elite across the features (at most 2,000 lines, evenly taken from best to worst), best on top."""
    from matplotlib.collections import LineCollection

    elites, names = archive.elites(), archive.tessellation.space.names
    unit = archive.tessellation.space.to_unit(elites.features)
    chosen = most_varied(unit, _AXES_SHOWN) if features is None else [names.index(name) for name in features]
    order = np.argsort(archive.sign * elites.fitness)
    if len(order) > _LINES_SHOWN:
        order = order[np.linspace(0, len(order) - 1, _LINES_SHOWN).round().astype(int)]
    unit = unit[order][:, chosen]
    x = np.broadcast_to(np.arange(len(chosen), dtype=float), unit.shape)
    lines = LineCollection(
        list(np.stack([x, unit], axis=2)), cmap=_colours(archive), linewidths=0.5, alpha=0.5, rasterized=True
    )
    lines.set_array(elites.fitness[order])
    ax.add_collection(lines)
    ax.set(
        xlim=(-0.05, max(len(chosen) - 0.95, 0.05)),
        ylim=(-0.02, 1.02),
        ylabel="feature, scaled to [0, 1]",
    )
    shown = [short(names[j], 28) for j in chosen]
    turn = 90 if max(map(len, shown)) * len(shown) > 70 else 0
    ax.set_xticks(range(len(shown)), shown, rotation=turn, parse_math=False)
    missing = [name for j, name in enumerate(names) if j not in set(chosen)]
    if missing:
        text = f"{len(chosen)} of {len(names)} features are shown"
        text += f", those that vary most; missing: {_listed(missing)}" if features is None else ""
        made.supxlabel(textwrap.fill(text, 110), fontsize=8, parse_math=False)
    if len(order):
        _colour_bar(made, ax, lines)


def _listed(names: Sequence[str]) -> str:
    said = [short(name, 28) for name in names[:_NAMES_SAID]]
    return ", ".join(said) + (f" and {len(names) - _NAMES_SAID:,} more" if len(names) > _NAMES_SAID else "")
