"""Places of niches and elites on the screen: axes, cells of two features, and a projection of more to a plane.

Colours are chosen in the browser; the static pictures are in `tesselite.report.archive_map`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tesselite.base.arrays import Floats
from tesselite.report.page.packed_arrays import PackedArrays
from tesselite.report.principal_axes import principal_components
from tesselite.spaces.features import LOG, FeatureSpace
from tesselite.tessellation.protocol import Tessellation
from tesselite.tessellation.raster import niches_of_pixels

_FEW_NICHES = 20_000
_PIXELS = (720, 1100)  # a side, for few niches and for many
_PLACES = 101


def describe_features(space: FeatureSpace, kept: list[int]) -> list[dict[str, Any]]:
    """Names, titles, bounds and labels of features; unless the scale is linear, also a table of values at even places.

    The page reads its axes off the tables, since it cannot call a user's scale.
    """
    tables = space.from_unit(np.repeat(np.linspace(0.0, 1.0, _PLACES)[:, None], space.n, axis=1))
    tables[0], tables[-1] = space.low, space.high  # without rounding
    described = []
    for j in kept:
        feature = {"name": space.names[j], "title": space.titles[j], "low": space.low[j], "high": space.high[j]}
        feature |= {"labels": list(space.labels.get(space.names[j], ())), "periodic": bool(space.periodic[j])}
        if space.names[j] in space.scales:
            feature |= {"table": tables[:, j], "is_log": space.scales[space.names[j]] == LOG}
        described.append(feature)
    return described


def niche_picture(tessellation: Tessellation) -> npt.NDArray[np.int32]:
    """The niche of every pixel of a square picture of a two-dimensional space, row 0 at the top.

    Niches are those of the pixels' centres by the tessellation's own exact look-up, so what a pointer shows is right
    for grids, Voronoi cells and any norm.
    """
    pixels = _PIXELS[tessellation.n_niches > _FEW_NICHES]
    return niches_of_pixels(tessellation, pixels)[::-1].astype(np.int32)


def describe_cells(tessellation: Tessellation, arrays: PackedArrays) -> dict[str, Any] | None:
    """The data with which the page finds the niche of a place at any zoom; None unless there are two features. If the
    tessellation provides none, a picture.
    """
    if tessellation.space.n != 2 or tessellation.n_niches > 2**53:  # whole numbers that a browser can count
        return None
    drawing = tessellation.drawing() or {"picture": from_row_above(niche_picture(tessellation))}
    return {name: arrays.add(value) if isinstance(value, np.ndarray) else value for name, value in drawing.items()}


def from_row_above(picture: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """Each row as its difference to the row above: nearly all zeros, which compress to a tenth of the picture."""
    return np.diff(picture, axis=0, prepend=np.zeros((1, picture.shape[1]), np.int32)).astype(np.int32)


def principal_plane(space: FeatureSpace, features: Floats) -> tuple[Floats, Floats]:
    """The first two principal components of unit-scaled features, shape (m, 2), and their shares of the variance (2,).

    Signs are fixed: the largest weight of a component is positive. Fewer features give columns of zeros.
    """
    components = principal_components(space.to_unit(features), 2)
    return components.places, components.shares
