"""How niches grew: their bounds over evaluations, what each change cost, and the niches right after changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tesselite.archive.archive import Archive
from tesselite.base.arrays import Floats, Ints
from tesselite.report.archive_map import draw_niches, values_in
from tesselite.report.colouring import Colouring
from tesselite.report.style import EMPTY_NICHE, LINES
from tesselite.search.map_elites import Change
from tesselite.spaces.features import FeatureSpace
from tesselite.tessellation.protocol import Tessellation
from tesselite.tessellation.raster import borders_in, niche_borders, pixel_centres

_SHOWN = 6  # features whose bounds are shown over time
_BOXES = 40  # of two features, drawn into one another
_COLUMNS = 4  # of pictures
_PIXELS = 240  # a side, of a picture in the page
_OUTLINED = 900  # niches at most whose borders are seen in such a picture

OUTSIDE, EMPTY, BORDER, LEVELS = 0, 1, 2, 253
"""Pixels of a picture in the page: outside the bounds, an empty niche, a border of niches; from 3 on the fitness."""


def bounds_of(changes: Sequence[Change]) -> tuple[Floats, Floats, Ints]:
    """The low and the high bounds (m, d) after each change, and the features whose range grew most."""
    low, high = (np.array([getattr(change, side) for change in changes]) for side in ("low", "high"))
    grown = (high[-1] - low[-1]) / (high[0] - low[0])
    return low, high, np.sort(np.argsort(-grown, kind="stable")[:_SHOWN])


def draw_growth(made: Any, changes: Sequence[Change], titles: Sequence[str], title: str) -> None:
    """Draw the bounds after each change and the elites lost into an empty figure; of two features, also the boxes.

    Of many features, those whose range grew most are shown.
    """
    at = [change.at for change in changes]
    low, high, shown = bounds_of(changes)
    bounds, *others = made.subplots(1, 3 if len(titles) == 2 else 2)
    for j, colour in zip(shown, LINES * _SHOWN, strict=False):
        bounds.step(at, low[:, j], where="post", color=colour, label=str(titles[j]))
        bounds.step(at, high[:, j], where="post", color=colour)
    bounds.set(title="Bounds", xlabel="evaluations")
    for text in bounds.legend(frameon=False, fontsize=8).get_texts():
        text.set_parse_math(False)
    if len(titles) == 2:
        boxes = others.pop(0)
        for i in np.unique(np.linspace(0, len(changes) - 1, _BOXES).astype(int)):
            x, y = (low[i, 0], high[i, 0]), (low[i, 1], high[i, 1])
            share = 0.15 + 0.85 * (i + 1) / len(changes)
            boxes.plot([x[0], x[1], x[1], x[0], x[0]], [y[0], y[0], y[1], y[1], y[0]], color=LINES[0], alpha=share)
        boxes.set_title("The box of the niches, first to last")
        boxes.set_xlabel(titles[0], parse_math=False)
        boxes.set_ylabel(titles[1], parse_math=False)
    others[0].vlines(at, 0, [change.lost for change in changes], color=LINES[1])
    others[0].set(title="Elites lost at each change", xlabel="evaluations", ylim=(0, None))
    for ax in made.axes:
        ax.grid(alpha=0.25)
    made.suptitle(title, parse_math=False)


def common_range(pictures: Sequence[Archive]) -> tuple[float, float]:
    """The lowest and the highest fitness in these pictures; (0, 1) if there is none."""
    fitness = np.concatenate([picture.elites().fitness for picture in pictures])
    return (float(fitness.min()), float(fitness.max())) if len(fitness) else (0.0, 1.0)


def common_box(pictures: Sequence[Archive]) -> FeatureSpace:
    """The two features within bounds that hold those of all pictures."""
    spaces = [picture.tessellation.space for picture in pictures]
    return spaces[0].within(np.min([s.low for s in spaces], axis=0), np.max([s.high for s in spaces], axis=0))


def pictures_size(pictures: Mapping[int, Archive]) -> tuple[float, float]:
    """Width and height of the figure that `draw_pictures` fills."""
    return 3.3 * min(_COLUMNS, len(pictures)) + 0.8, 3.3 * -(-len(pictures) // _COLUMNS) + 0.5


def draw_pictures(
    made: Any, pictures: Mapping[int, Archive], changes: Sequence[Change], title: str, *, y_down: bool = False
) -> None:
    """Draw the niches right after changes, by their numbers, side by side in one frame and in the same colours."""
    shown = list(pictures.values())
    low, high = common_range(shown)
    box, columns = common_box(shown), min(_COLUMNS, len(shown))
    axes = made.subplots(-(-len(shown) // columns), columns, squeeze=False, sharex=True, sharey=True)
    for i, (ax, (number, picture)) in enumerate(zip(axes.ravel(), pictures.items(), strict=False)):
        colouring = Colouring.of(picture, vmin=low, vmax=high)
        drawn = draw_niches(ax, picture, colouring)
        _draw_borders(ax, picture.tessellation)
        ax.set_title(f"{changes[number].at:,} evaluations\n{len(picture):,} of {picture.n_niches:,} niches", fontsize=9)
        ax.set(xlabel=ax.get_xlabel() if i >= len(shown) - columns else "")
        ax.set(ylabel="" if i % columns else ax.get_ylabel())
        ax.set_box_aspect(1.0)
    axes[0, 0].set_xlim(box.low[0], box.high[0])
    axes[0, 0].set_ylim(*(box.low[1], box.high[1])[:: -1 if y_down else 1])
    for ax in axes.ravel()[len(shown) :]:
        ax.axis("off")
    colouring.add_bar(axes[0, 0], drawn, ax=axes, shrink=0.6)
    made.suptitle(title, parse_math=False)


def _draw_borders(ax: Any, niches: Tessellation) -> None:
    """Paint the background white outside the bounds, and the borders of niches, where they can be seen."""
    from matplotlib.colors import ListedColormap

    (x0, y0), (x1, y1) = niches.space.low, niches.space.high
    ax.set_facecolor("white")
    ax.fill([x0, x1, x1, x0], [y0, y0, y1, y1], facecolor=EMPTY_NICHE, edgecolor="0.6", lw=0.8, zorder=0)
    if niches.n_niches <= _OUTLINED and niches.space.linear:
        edges = np.where(niche_borders(niches, 3 * _PIXELS), 1.0, np.nan)
        grey = ListedColormap(["0.75"])
        ax.imshow(edges, extent=(x0, x1, y0, y1), origin="lower", aspect="auto", cmap=grey, zorder=0.5,
                  interpolation="nearest")  # fmt: skip


def picture_pixels(picture: Archive, box: FeatureSpace, low: float, high: float) -> npt.NDArray[np.uint8]:
    """A picture in the common box as numbers for the page, (240, 240), row 0 at the top; see `OUTSIDE`."""
    niches = picture.tessellation
    from_the_top = pixel_centres(_PIXELS).reshape(_PIXELS, _PIXELS, 2)[::-1].reshape(-1, 2)
    places = box.from_unit(from_the_top)
    found = niches.niches_of_unit(niches.space.to_unit(places).clip(0.0, 1.0)).reshape(_PIXELS, _PIXELS)
    levels = 3 + np.round((picture.elites().fitness - low) / (high - low or 1.0) * (LEVELS - 1)).astype(np.uint8)
    pixels = np.nan_to_num(values_in(picture, found, levels), nan=EMPTY).astype(np.uint8)
    if niches.n_niches <= _OUTLINED:
        pixels[borders_in(found)] = BORDER
    pixels[niches.space.outside(places).reshape(found.shape)] = OUTSIDE
    return pixels
