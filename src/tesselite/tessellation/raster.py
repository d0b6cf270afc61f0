"""The niches of two features as pixels, by the exact look-up of the tessellation: right for cells of any norm."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tesselite.base.arrays import Floats
from tesselite.spaces.features import FeatureSpace
from tesselite.tessellation.protocol import Tessellation


def pixel_centres(pixels: int) -> Floats:
    """The centres of the pixels of the unit square, (pixels * pixels, 2), row by row from the bottom."""
    centres = (np.arange(pixels) + 0.5) / pixels
    x, y = np.meshgrid(centres, centres)
    return np.column_stack([x.ravel(), y.ravel()])


def edges_of_pixels(space: FeatureSpace, pixels: int) -> list[Floats]:
    """Where pixels begin and end along each feature, (pixels + 1,) in feature units."""
    edges = np.linspace(0.0, 1.0, pixels + 1)
    return list(space.from_unit(np.repeat(edges[:, None], space.n, axis=1)).T)


def niches_of_pixels(tessellation: Tessellation, pixels: int) -> npt.NDArray[np.int64]:
    """The niche at the centre of every pixel, (pixels, pixels); row 0 is at the bottom, the least second feature."""
    return tessellation.niches_of_unit(pixel_centres(pixels)).reshape(pixels, pixels)


def niche_borders(tessellation: Tessellation, pixels: int) -> npt.NDArray[np.bool_]:
    """An image (pixels, pixels), row 0 at the bottom, True where a niche ends."""
    return borders_in(niches_of_pixels(tessellation, pixels))


def borders_in(niches: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Where the niche of a pixel (rows, columns) is not that of the pixel to its left, or of the row before."""
    edge = np.zeros(niches.shape, np.bool_)
    edge[:, 1:] |= niches[:, 1:] != niches[:, :-1]
    edge[1:] |= niches[1:] != niches[:-1]
    return edge
