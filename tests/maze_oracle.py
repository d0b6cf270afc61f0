"""A slow, plain-Python twin of the maze, written from the rules in docs/maze.md, to test the compiled code against.

It shares only the row encoding with the library. Networks are dictionaries of lists, rays are walked through
the pixels one by one, collisions look at every pixel of the disc.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field


@dataclass
class OracleNetwork:
    """Neurons: "in0".."in6", "out0", "out1", "h0", ...; incoming maps each to its list of (source, weight)."""

    bias: dict[str, float]
    incoming: dict[str, list[tuple[str, float]]]
    output: dict[str, float] = field(default_factory=dict)

    @classmethod
    def from_row(cls, row, max_hidden: int, max_connections: int) -> OracleNetwork:
        row = [int(v) for v in row]
        n_hidden, n_connections = row[0], row[1]

        def name(neuron: int) -> str:
            if neuron < 7:
                return f"in{neuron}"
            return f"out{neuron - 7}" if neuron < 9 else f"h{neuron - 9}"

        bias = {name(7 + i): row[2 + i] / 2 for i in range(2 + n_hidden)}
        incoming = {neuron: [] for neuron in bias}
        at = 4 + max_hidden
        for c in range(n_connections):
            source, target, weight = (
                row[at + c],
                row[at + max_connections + c],
                row[at + 2 * max_connections + c],
            )
            incoming[name(target)].append((name(source), weight / 2))
        return cls(bias, incoming, dict.fromkeys(bias, 0.0))

    def live(self, zeros: bool = True) -> set[str]:
        """Neurons from which a path leads to an output, found by depth-first search against the connections, with or
        without those of weight 0.
        """
        found, to_do = set(), ["out0", "out1"]
        while to_do:
            neuron = to_do.pop()
            if neuron not in found:
                found.add(neuron)
                to_do += [source for source, weight in self.incoming.get(neuron, []) if zeros or weight]
        return found

    def step(self, inputs: list[float]) -> tuple[float, float]:
        """All neurons compute from the previous outputs and the current inputs."""
        before = {**self.output, **{f"in{i}": v for i, v in enumerate(inputs)}}
        self.output = {
            neuron: math.tanh(5 * sum(w * before[s] for s, w in self.incoming[neuron]) + self.bias[neuron])
            for neuron in self.bias
        }
        return self.output["out0"], self.output["out1"]


def hits(walls, x: float, y: float, radius: float) -> bool:
    """Whether any wall pixel lies within the radius of the robot's pixel, in integer offsets."""
    px, py, r = math.floor(x), math.floor(y), math.ceil(radius)
    if not walls[max(0, py - r) : py + r + 1, max(0, px - r) : px + r + 1].any():
        return False
    for dy in range(-r, r + 1):
        for dx in range(-r, r + 1):
            inside = 0 <= py + dy < walls.shape[0] and 0 <= px + dx < walls.shape[1]
            if dx * dx + dy * dy <= radius * radius and inside and walls[py + dy, px + dx]:
                return True
    return False


def laser(walls, x: float, y: float, angle: float, longest: float) -> float:
    """Distance to the first wall pixel: the smallest, over wall pixels near by, of where the ray enters its square."""
    dx, dy = math.cos(angle), math.sin(angle)
    best = longest
    px, py, r = math.floor(x), math.floor(y), math.ceil(longest) + 1
    # March along the longer axis, and look at the two or three pixels the ray can touch at each column or row.
    for k in range(r + 1):
        if abs(dx) >= abs(dy):
            column = px + (k if dx > 0 else -k)
            near, far = (column - x) / dx, (column + 1 - x) / dx
            rows = sorted((y + near * dy, y + far * dy))
            pixels = [(column, row) for row in range(math.floor(rows[0]) - 1, math.floor(rows[1]) + 2)]
        else:
            row = py + (k if dy > 0 else -k)
            near, far = (row - y) / dy, (row + 1 - y) / dy
            columns = sorted((x + near * dx, x + far * dx))
            pixels = [(column, row) for column in range(math.floor(columns[0]) - 1, math.floor(columns[1]) + 2)]
        for i, j in pixels:
            if 0 <= i < walls.shape[1] and 0 <= j < walls.shape[0] and walls[j, i]:
                entry = _enters(x, y, dx, dy, i, j)
                if entry is not None:
                    best = min(best, entry)
    return best


def _enters(x, y, dx, dy, i, j):
    """Where the ray enters the square of pixel (i, j), or None."""
    start, end = 0.0, math.inf
    for position, direction, low in ((x, dx, i), (y, dy, j)):
        if direction == 0:
            if not low <= position <= low + 1:
                return None
            continue
        near, far = sorted(((low - position) / direction, (low + 1 - position) / direction))
        start, end = max(start, near), min(end, far)
    return start if start <= end else None


def slices(x, y, heading, goal, around: bool) -> list[float]:
    """Four inputs, one of them 1: floor(angle of the goal from the heading / 90 degrees), edges slightly early."""
    angle = math.atan2(goal[1] - y, goal[0] - x) - heading + (math.pi / 4 if around else 0) + 1e-12
    active = math.floor((angle % (2 * math.pi)) / (math.pi / 2)) % 4
    return [1.0 if i == active else 0.0 for i in range(4)]


@dataclass
class OracleRobot:
    walls: object
    goal: tuple[float, float]
    pose: tuple[float, float, float]
    radius: float = 10.0
    axle: float = 20.0
    laser_range: float = 100.0
    stick: bool = False
    around: bool = False

    def sense(self) -> list[float]:
        x, y, heading = self.pose
        angles = (heading - math.pi / 4, heading, heading + math.pi / 4)
        return [laser(self.walls, x, y, a, self.laser_range) / self.laser_range for a in angles] + slices(
            x, y, heading, self.goal, self.around
        )

    def move(self, left: float, right: float) -> None:
        x, y, heading = self.pose
        alpha = (right - left) / self.axle
        half = alpha / 2
        length = (left + right) / 2 * (math.sin(half) / half if half else 1.0)
        new_x = x + length * math.cos(heading + half)
        new_y = y + length * math.sin(heading + half)
        turned = (heading + alpha + math.pi) % (2 * math.pi) - math.pi
        if hits(self.walls, new_x, new_y, self.radius):
            new_x, new_y = x, y
            if self.stick:
                turned = heading
        self.pose = (new_x, new_y, turned)
