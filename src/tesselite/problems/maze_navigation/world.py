"""World: a bitmap of walls with a start and a goal, checked, and the distance maps the simulator reads.

The paper's own mazes come from `layout`; what moves in a world lives in `simulation`.
"""

from __future__ import annotations

import functools
import io
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tesselite.problems.maze_navigation import layout
from tesselite.problems.maze_navigation.robot import is_finite_number

Bitmap = npt.NDArray[np.bool_]

LONGEST_SIDE = 2**20
"""Pixels: in larger worlds rounding could decide where a ray is."""

SMALLEST_RADIUS = 2.0
"""A robot moves at most 2 units a step: with this radius it cannot jump over a wall of one pixel."""


class World:
    """Walls, start and goal of a maze, and the robot radius it is meant for.

    `walls` (height, width) is True where there is wall; one pixel is one unit, (0, 0) is the top left corner and y
    grows downwards. `start` is (x, y) or (x, y, heading), the heading in radians (0 to the right, growing clockwise
    on screen; up by default), `goal` is (x, y). Raises ValueError unless the start and the goal leave room for the
    robot, walls enclose the start, and the robot can reach the goal.
    """

    def __init__(self, walls: Any, start: Sequence[float], goal: Sequence[float], radius: float = 10.0) -> None:
        self.walls = _checked_walls(walls)
        self.start = _checked_point("start", start, self.walls.shape, (2, 3))
        if len(self.start) == 2:
            self.start = (*self.start, -np.pi / 2)
        self.goal = _checked_point("goal", goal, self.walls.shape, (2,))
        if not (is_finite_number(radius) and radius >= SMALLEST_RADIUS):
            raise ValueError(f"radius: expected at least {SMALLEST_RADIUS:g} units, got {radius!r}")
        self.radius = float(radius)
        self.walls.setflags(write=False)
        self._check_room()

    @classmethod
    def from_image(
        cls, path: str | PathLike[str], start: Sequence[float], goal: Sequence[float], radius: float = 10.0
    ) -> World:
        """The world of a picture, PNG or PBM (or what else Pillow reads): dark pixels are wall.

        Raises ValueError if the file is not a picture, and whatever the world's own checks find.
        """
        return cls(read_walls(path), start, goal, radius)

    @functools.cached_property
    def squared_distance(self) -> npt.NDArray[np.int64]:
        """Squared distance from each pixel to the nearest wall pixel, between pixel centres; exact integers."""
        from scipy.ndimage import distance_transform_edt

        distance = distance_transform_edt(~self.walls)
        return np.rint(distance * distance).astype(np.int64)

    @functools.cached_property
    def blocked(self) -> npt.NDArray[np.uint8]:
        """1 where the robot's centre cannot be: a wall pixel lies within its radius, in integer pixel offsets."""
        return np.ascontiguousarray(self.squared_distance <= self.radius**2, dtype=np.uint8)

    @functools.cached_property
    def leap(self) -> npt.NDArray[np.uint8]:
        """How far a ray may leap from anywhere in each pixel without meeting a wall, in half units; 0 in walls.

        Free pixels hold 1 + the half units, so that 1 means "free, but walk". Rounded down, at most 127 units.
        """
        # Any two points of two pixels are at most sqrt(2) closer than the pixels' centres are.
        safe = np.sqrt(self.squared_distance) - np.sqrt(2.0) - 1e-6
        leap = 1 + np.clip(np.floor(2 * safe), 0, 254)
        return np.ascontiguousarray(np.where(self.walls, 0, leap), dtype=np.uint8)

    def reachable(self, cells: int = 71) -> float:
        """The share of `cells` x `cells` equal cells that the robot's centre can reach: what 2D coverage cannot exceed.

        It counts a cell if any of its pixels can be reached, walls at the robot's radius considered, time not.
        """
        from scipy.ndimage import label

        rooms, _ = label(self.blocked == 0, structure=np.ones((3, 3)))
        y, x = np.nonzero(rooms == rooms[_pixel(self.start)])
        height, width = self.walls.shape
        reached = np.zeros((cells, cells), np.bool_)
        for right in (0, 1):  # a cell that begins within a pixel shares it with the one before
            for down in (0, 1):
                reached[((y + down) * cells - down) // height, ((x + right) * cells - right) // width] = True
        return float(reached.mean())

    def with_radius(self, radius: float) -> World:
        """This world for a robot of another radius, checked again."""
        return self if radius == self.radius else World(self.walls, self.start, self.goal, radius)

    def _check_room(self) -> None:
        from scipy.ndimage import label

        for name, point in (("start", self.start), ("goal", self.goal)):
            if self.blocked[_pixel(point)]:
                d = np.sqrt(self.squared_distance[_pixel(point)])
                raise ValueError(
                    f"{name}: expected more than {self.radius:g} units (the robot's radius) to the nearest wall, "
                    f"got {d:.1f} at ({point[0]:g}, {point[1]:g})"
                )
        # Four neighbours: the pixels that a ray can pass through, since it crosses pixel edges.
        regions, _ = label(~self.walls)
        region = regions == regions[_pixel(self.start)]
        edges = np.concatenate([region[0], region[-1], region[:, 0], region[:, -1]])
        if edges.any():
            raise ValueError(
                "walls: expected walls that enclose the start, but a free path leads to the picture's edge"
            )
        # Eight neighbours: the robot's moves are not bound to pixel edges.
        rooms, _ = label(self.blocked == 0, structure=np.ones((3, 3)))
        if rooms[_pixel(self.start)] != rooms[_pixel(self.goal)]:
            raise ValueError(
                f"goal: expected a path from the start that a robot of radius {self.radius:g} can drive, found none"
            )

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, World)
            and np.array_equal(self.walls, other.walls)
            and (self.start, self.goal, self.radius) == (other.start, other.goal, other.radius)
        )

    def __hash__(self) -> int:
        return hash((self.walls.shape, self.start, self.goal, self.radius))

    def __repr__(self) -> str:
        height, width = self.walls.shape
        return f"World({width} x {height}, start {self.start[:2]}, goal {self.goal}, radius {self.radius:g})"


@functools.lru_cache(maxsize=32)
def paper_world(
    environment: str | None = None,
    opening: float = layout.OPENING,
    radius: float = 10.0,
    outer_radius: float | None = None,
    wall: float = layout.WALL,
) -> World:
    """The paper's maze: open (None), or one of the environments "1" to "16"; `opening` is the width of the openings.

    `outer_radius` is that of a circular outermost wall (None: the arena's square border), `wall` the walls' thickness.
    Raises ValueError for an unknown environment, or for openings the robot cannot pass.
    """
    if not (is_finite_number(opening) and 0 < opening <= 100):
        raise ValueError(f"opening: expected a width of at most 100 units, got {opening!r}")
    if outer_radius is not None and not (is_finite_number(outer_radius) and 460 <= outer_radius <= 495):
        raise ValueError(f"outer_radius: expected 460 to 495 units, got {outer_radius!r}")
    if not (is_finite_number(wall) and 2 <= wall <= 40):
        raise ValueError(f"wall: expected a thickness of 2 to 40 units, got {wall!r}")
    walls = layout.rasterise(*layout.closures(environment), opening, outer_radius, wall)
    return World(walls, layout.START, layout.GOAL, radius)


def read_walls(path: str | PathLike[str]) -> Bitmap:
    """The walls in a picture: pixels darker than middle grey, shape (height, width); see-through ones are free.

    Raises FileNotFoundError, or ValueError if the file is not a picture or not a whole one.
    """
    from PIL import Image

    data = Path(path).read_bytes()
    try:
        with Image.open(io.BytesIO(data)) as picture:
            picture.load()
            # 16 bits of grey: Pillow would clip what is above 255 to white.
            deep = picture.mode.startswith("I")
            shallow = Image.fromarray((np.asarray(picture) >> 8).clip(0, 255).astype(np.uint8)) if deep else picture
            colours = shallow.convert("RGBA")
    except Exception as error:  # Pillow's errors about a broken picture are of many kinds
        raise ValueError(f"path: expected a whole PNG or PBM picture, got {str(path)!r}") from error
    on_white = Image.alpha_composite(Image.new("RGBA", colours.size, "white"), colours)
    return np.asarray(on_white.convert("L")) < 128


def _pixel(point: Sequence[float]) -> tuple[int, int]:
    return int(point[1]), int(point[0])


def _checked_walls(walls: Any) -> Bitmap:
    array = np.asarray(walls)
    if array.ndim != 2 or min(array.shape) < 3 or max(array.shape) > LONGEST_SIDE or array.dtype.kind not in "biuf":
        raise ValueError(
            f"walls: expected a bitmap of shape (height, width), 3 to {LONGEST_SIDE:,} pixels each, "
            f"got shape {array.shape}"
        )
    return np.array(array, dtype=np.bool_, order="C")


def _checked_point(
    name: str, point: Sequence[float], shape: tuple[int, ...], lengths: tuple[int, ...]
) -> tuple[float, ...]:
    try:
        values = tuple(float(value) for value in point)
    except (TypeError, ValueError):
        values = ()
    if len(values) not in lengths or not np.isfinite(values).all():
        expected = "(x, y)" if lengths == (2,) else "(x, y) or (x, y, heading)"
        raise ValueError(f"{name}: expected {expected} in units, got {point!r}")
    if not (0 <= values[0] < shape[1] and 0 <= values[1] < shape[0]):
        raise ValueError(f"{name}: expected a point inside the {shape[1]} x {shape[0]} picture, got {values[:2]}")
    if len(values) == 3:  # the simulator wraps headings into [-pi, pi)
        values = (*values[:2], float((values[2] + np.pi) % (2 * np.pi) - np.pi))
    return values
