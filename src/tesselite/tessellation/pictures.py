"""Pictures of tessellations: the cells of two features, or pairs of features and the convergence of the construction.

Pictures of archives live in `tesselite.report`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tesselite.base.arrays import Floats
from tesselite.base.terminal import short
from tesselite.spaces.features import FeatureSpace
from tesselite.tessellation.raster import edges_of_pixels, niche_borders
from tesselite.tessellation.voronoi import VoronoiTessellation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_INK = "#22577a"
_DOT = "#d1495b"
_MOST_PAIRED = 5  # features in a pair plot
_MOST_DOTS = 20_000
_SHORTEST_IN_FULL, _LONGEST_IN_FULL = 1e-3, 1e15  # smaller and larger bounds have ticks with powers of ten


def check_ending(option: str, path: Path) -> None:
    """ValueError, with the option's name, unless the file's ending is one of a kind of picture that can be written."""
    from matplotlib.figure import Figure

    if path.suffix.lower().removeprefix(".") not in Figure().canvas.get_supported_filetypes():
        raise ValueError(f"{option}: expected a picture, as a name that ends in .png, .svg or .pdf, got {path.name!r}")


def cell_polygons(tessellation: VoronoiTessellation) -> list[Floats]:
    """The corners (m, 2), in feature units, of each niche of two linear or scaled features; p = 2."""
    from tesselite.tessellation.cells import cut_cell, new_corners
    from tesselite.tessellation.nearest.table import bucket_sort

    space, sites = tessellation.space, tessellation.unit_centroids
    space.check_plain("cells")
    if space.n != 2 or tessellation.p != 2.0:
        raise ValueError(f"cells: expected two features and p = 2, got {space.n} and p = {tessellation.p:g}")
    side = max(1, int((len(sites) / 2) ** 0.5))
    starts, ids = np.empty(side * side + 1, np.int64), np.empty(len(sites), np.int64)
    bucket_sort(sites, side, starts, ids)
    corners = new_corners()
    polygons = []
    for s in range(len(sites)):
        n = cut_cell(sites, s, side, starts, ids, corners)
        polygon = np.column_stack([corners.px[:n], corners.py[:n]]) + sites[s]
        polygons.append(space.from_unit(polygon.clip(0.0, 1.0)))
    return polygons


def plot_tessellation(tessellation: VoronoiTessellation, path: str | Path | None = None) -> Figure:
    """A figure of the niches, written to `path` if given: cells of two features, otherwise pairs of the first five.

    The construction's error by iteration is drawn as well where there is a record and more than two features.
    """
    from matplotlib.figure import Figure

    if tessellation.space.n == 2:
        figure = Figure(figsize=(7, 7), layout="constrained")
        axes = figure.add_subplot()
        draw_tessellation(axes, tessellation)
        axes.set_title(_title(tessellation))
    else:
        figure = _pairs(tessellation)
    if path is not None:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=150)
    return figure


def draw_tessellation(axes: Any, tessellation: Any, *, color: Any = _INK, centroids: bool = True) -> None:
    """Draw the niches into axes in feature units: borders of one or two features, and the centroids.

    Of more than two features the two are drawn along which the centroids vary most, or along which a grid has most
    cells.
    """
    space = tessellation.space
    places = getattr(tessellation, "centroids", None)
    drawing = tessellation.drawing() or {}
    if space.n == 1:
        _draw_intervals(axes, tessellation, places if centroids else None, color)
        shown = [0]
    elif space.n == 2:
        _draw_cells(axes, tessellation, color)
        shown = [0, 1]
    elif "grid" in drawing:
        shown = sorted(np.argsort(-np.array(drawing["grid"]), kind="stable")[:2].tolist())
        for axis, j in enumerate(shown):
            edges = space.from_unit(
                np.repeat(_edges_of(drawing["grid"][j], drawing["shift"])[:, None], space.n, axis=1)
            )[:, j]
            (axes.vlines, axes.hlines)[axis](
                edges, space.low[shown[1 - axis]], space.high[shown[1 - axis]], color=color, linewidth=0.6
            )
    elif places is not None:
        shown = sorted(np.argsort(-space.to_unit(places).var(axis=0), kind="stable")[:2].tolist())
    else:
        raise ValueError(f"source: expected at most two features of niches without centroids, got {space.n}")
    if space.n > 1 and centroids and places is not None:
        dots = places[:: -(-len(places) // _MOST_DOTS)]
        size = float(np.clip(4000.0 / len(dots), 0.1, 12.0))
        colour = _DOT if space.n == 2 else color
        axes.scatter(dots[:, shown[0]], dots[:, shown[1]], s=size, color=colour, linewidths=0, zorder=2)
    for which, feature in zip("xy", shown, strict=False):
        set_feature_axis(axes, which, space, feature)


def set_feature_axis(ax: Any, which: str, space: FeatureSpace, feature: int) -> None:
    """Give the axis "x" or "y" the scale, the bounds and the title of a feature."""
    name = space.names[feature]
    scale = space.scales.get(name)
    if name in space.labels:
        names = [short(label) for label in space.labels[name]]
        getattr(ax, f"set_{which}ticks")(range(len(names)), names, parse_math=False)
    elif scale is None:
        plain = _SHORTEST_IN_FULL <= max(abs(space.low[feature]), abs(space.high[feature])) < _LONGEST_IN_FULL
        ax.ticklabel_format(axis=which, style="plain" if plain else "sci", useOffset=False)
    elif scale.name == "log":
        ax.set(**{f"{which}scale": "log"})
    else:
        getattr(ax, f"set_{which}scale")("function", functions=(scale.forward, scale.inverse))
    ax.set(**{f"{which}lim": (space.low[feature], space.high[feature])})
    title = space.titles[feature]
    getattr(ax, f"set_{which}label")(title, parse_math=False)  # a dollar sign in a user's text begins no formula


def _edges_of(n: int, shift: float) -> Floats:
    """Where the n cells of a grid begin and end along a feature, in unit scale."""
    inner: Floats = (np.arange(1, n) - shift) / n
    return np.concatenate([[0.0], inner, [1.0]])


def _draw_intervals(axes: Any, tessellation: Any, centroids: Floats | None, color: Any) -> None:
    """The borders of niches of one feature, from the look-up itself, and their centroids as dots."""
    steps = 20_000
    niches = tessellation.niches_of_unit(((np.arange(steps) + 0.5) / steps)[:, None])
    edges = np.concatenate([[0], np.flatnonzero(np.diff(niches)) + 1, [steps]]) / steps
    axes.vlines(tessellation.space.from_unit(edges[:, None])[:, 0], 0.0, 1.0, color=color, linewidth=0.6)
    if centroids is not None:
        axes.plot(centroids[:, 0], np.full(len(centroids), 0.5), ".", color=_DOT, markersize=3)
    axes.set(yticks=[], ylim=(0.0, 1.0))


def _draw_cells(axes: Any, tessellation: Any, color: Any) -> None:
    """The borders of the niches of two features: lines of Voronoi niches and of grids, a raster of other norms."""
    from matplotlib.collections import LineCollection, PolyCollection

    space, k = tessellation.space, tessellation.n_niches
    width = float(np.clip(12.0 / k**0.5, 0.15, 1.2))
    drawing = tessellation.drawing() or {}
    if "grid" in drawing:
        for axis, n in enumerate(drawing["grid"]):
            ends = np.zeros((n + 1, 2, 2))
            ends[:, :, axis] = _edges_of(n, drawing["shift"])[:, None]
            ends[:, 1, 1 - axis] = 1.0
            lines = space.from_unit(ends.reshape(-1, 2)).reshape(-1, 2, 2)
            axes.add_collection(LineCollection(list(lines), colors=color, linewidths=width))
    elif not tessellation.unknown_borders:
        cells = tessellation.polygons(np.arange(k))
        axes.add_collection(PolyCollection(cells, facecolors="none", edgecolors=color, linewidths=width))
    else:
        _draw_borders(axes, tessellation)


def _draw_borders(axes: Any, tessellation: Any) -> None:
    """Borders between niches of any p, from a raster."""
    pixels = 900
    shown = np.ma.masked_equal(niche_borders(tessellation, pixels).astype(float), 0.0)
    axes.pcolormesh(
        *edges_of_pixels(tessellation.space, pixels), shown, cmap="Blues", vmin=0.0, vmax=1.2, rasterized=True
    )


def _pairs(tessellation: VoronoiTessellation) -> Figure:
    from matplotlib.figure import Figure

    space, record = tessellation.space, tessellation.record
    shown = min(space.n, _MOST_PAIRED)
    centroids = tessellation.centroids[:: -(-tessellation.n_niches // _MOST_DOTS)]
    curve = record is not None and len(record.errors) > 1
    if space.n == 1:
        figure = Figure(figsize=(7, 5), layout="constrained")
        grid = figure.add_gridspec(2 if curve else 1, 1)
        axes = figure.add_subplot(grid[0, 0])
        axes.vlines(centroids[:, 0], 0.0, 1.0, color=_INK, linewidth=0.6)
        axes.set_xlim(space.low[0], space.high[0])
        axes.set_yticks([])
        axes.set_xlabel(space.titles[0], parse_math=False)
    else:
        figure = Figure(figsize=(2.1 * shown + 0.6, 2.1 * shown + 0.6 + (2.2 if curve else 0)), layout="constrained")
        ratios = [1.0] * shown + ([1.1] if curve else [])
        grid = figure.add_gridspec(len(ratios), shown, height_ratios=ratios)
        size = float(np.clip(3000.0 / len(centroids), 0.2, 10.0))
        for row in range(shown):
            for column in range(row + 1):
                axes = figure.add_subplot(grid[row, column])
                if row == column:
                    axes.hist(centroids[:, row], bins=40, color=_INK)
                    axes.set_yticks([])
                else:
                    axes.scatter(centroids[:, column], centroids[:, row], s=size, color=_INK, linewidths=0)
                    axes.set_ylim(space.low[row], space.high[row])
                    if column > 0:
                        axes.set_yticklabels([])
                axes.set_xlim(space.low[column], space.high[column])
                if row == shown - 1:
                    axes.set_xlabel(space.titles[column], parse_math=False)
                else:
                    axes.set_xticklabels([])
                if column == 0 and row > 0:
                    axes.set_ylabel(space.titles[row], parse_math=False)
    if curve and record is not None:
        axes = figure.add_subplot(grid[-1, :])
        axes.plot(np.arange(1, len(record.errors) + 1), record.errors, color=_INK)
        axes.set_xlabel("iteration")
        axes.set_ylabel("mean squared distance")
    figure.suptitle(_title(tessellation))
    return figure


def _title(tessellation: VoronoiTessellation) -> str:
    norm = "" if tessellation.p == 2.0 else f", p = {tessellation.p:g}"
    several = "s" if tessellation.space.n > 1 else ""
    return f"{tessellation.n_niches:,} niches of {tessellation.space.n} feature{several}{norm}"
