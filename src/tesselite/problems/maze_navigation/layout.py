"""The geometry of the paper's maze, as a table of numbers: two rings with doors and gates, and 16 sets of closures.

How a world is checked and searched for distances lives in `world`. The paper shows the maze only as a picture
(Vassiliades et al. 2018, Fig. 3b and 4): it says that 16 environments with one realisable trajectory each are made by
blocking openings, that the 8th and the 14th are symmetrical and hardest, and that they need "an almost full clockwise
turn followed by an almost full counterclockwise turn and vice versa". This layout is our interpretation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

SIZE = 1000
"""Side of the square arena, in units and in pixels (Fig. 3b)."""

START = (500.0, 940.0, -np.pi / 2)
"""Where the robot begins: x, y and heading (up: y grows downwards, so -pi/2)."""

GOAL = (500.0, 500.0)
"""The point whose distance is the fitness: the centre."""

ENVIRONMENTS = tuple(str(number) for number in range(1, 17))
"""Names of the 16 environments; number = 4 * outer route + inner route + 1."""

# What each of the four routes through a stage closes: (left door, right door, left gate, right gate) of its stage.
_CLOSED = (
    (False, True, False, True),  # short left: through the left door, in by the left gate
    (False, True, True, False),  # long clockwise: left door, around the ring, right gate
    (True, False, True, False),  # short right
    (True, False, False, True),  # long counterclockwise
)


@dataclass(frozen=True)
class Stage:
    """One ring and the two radial walls outside it; angles in degrees from 6 o'clock, + to the right.

    `radius` is the ring's middle radius. The doors stand at +-`door_angle`, from `door_from` to `door_to`, and leave
    the radii from `gap_from` to `gap_from + opening` free. The gates are openings in the ring at +-`gate_angle`.
    """

    radius: float
    door_angle: float
    door_from: float
    door_to: float
    gap_from: float
    gate_angle: float


OUTER = Stage(radius=350, door_angle=10, door_from=350, door_to=800, gap_from=383.8, gate_angle=20)
INNER = Stage(radius=180, door_angle=33, door_from=180, door_to=350, gap_from=220, gate_angle=52)
BORDER = 5
WALL = 10
OPENING = 90.0
"""Default width of doors and gates [choice: the paper does not give it]."""

LAYOUTS = ("square", "round")
"""The arena's own border as the outermost wall, or a circular wall inside it [choice]."""

OUTER_RADIUS = 495.0
"""Default inner radius of the circular outermost wall."""


def closures(environment: str | None) -> tuple[tuple[bool, ...], tuple[bool, ...]]:
    """What an environment closes, in the outer and the inner stage: (left door, right door, left gate, right gate).

    None is the open maze, in which nothing is closed. Raises ValueError for an unknown name.
    """
    if environment is None:
        return (False,) * 4, (False,) * 4
    if environment not in ENVIRONMENTS:
        raise ValueError(f"environment: expected None (the open maze) or '1' to '16', got {environment!r}")
    outer, inner = divmod(int(environment) - 1, 4)
    return _CLOSED[outer], _CLOSED[inner]


def rasterise(
    outer: tuple[bool, ...],
    inner: tuple[bool, ...],
    opening: float = OPENING,
    outer_radius: float | None = None,
    wall: float = WALL,
) -> npt.NDArray[np.bool_]:
    """The maze as a bitmap, shape (1000, 1000), True where there is wall; row 0 is the top.

    `outer` and `inner` say what is closed, in the order of `closures`. `outer_radius` is that of the round layout, None
    for the square one; the outer doors' gaps are then in the middle of the corridor. `wall` is the walls' thickness. A
    pixel is wall if its centre is; this makes mirrored geometry mirrored pixels. Gaps of another width than 90 keep
    their middle.
    """
    middle = np.arange(SIZE) + 0.5 - SIZE / 2
    x, y = np.meshgrid(middle, middle)
    walls = np.maximum(np.abs(x), np.abs(y)) > SIZE / 2 - BORDER
    radius = np.hypot(x, y)
    if outer_radius is not None:
        walls |= (radius >= outer_radius) & (radius <= outer_radius + wall)
    for stage, closed in ((OUTER, outer), (INNER, inner)):
        ring = np.abs(radius - stage.radius) <= wall / 2
        gap = stage.gap_from + (OPENING - opening) / 2
        if stage is OUTER and outer_radius is not None:
            gap = (stage.radius + wall / 2 + outer_radius - opening) / 2
        for sign, door_closed, gate_closed in ((-1, closed[0], closed[2]), (1, closed[1], closed[3])):
            along, across = _axes(x, y, sign * stage.gate_angle)
            if not gate_closed:
                ring &= ~((along > 0) & (np.abs(across) <= opening / 2))
            along, across = _axes(x, y, sign * stage.door_angle)
            door = (np.abs(across) <= wall / 2) & (along >= stage.door_from) & (along <= stage.door_to)
            if outer_radius is not None:
                door &= radius <= outer_radius
            if not door_closed:
                door &= (along <= gap) | (along >= gap + opening)
            walls |= door
        walls |= ring
    return walls


def _axes(
    x: npt.NDArray[np.float64], y: npt.NDArray[np.float64], degrees: float
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Coordinates along and across the ray that leaves the centre at this angle from 6 o'clock, + to the right."""
    sine, cosine = np.sin(np.deg2rad(degrees)), np.cos(np.deg2rad(degrees))
    return x * sine + y * cosine, x * cosine - y * sine
