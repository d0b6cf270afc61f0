"""The maze as a problem: networks drive a robot towards the centre of a maze, and where they pass are the features.

The parts live in `world`, `robot`, `networks` and `simulation`. Paper: Vassiliades et al. 2018, section IV.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tesselite.archive.evaluation import Evaluation
from tesselite.base.threads import checked_threads
from tesselite.problems.maze_navigation import layout as geometry
from tesselite.problems.maze_navigation.networks import Networks, vars_of
from tesselite.problems.maze_navigation.robot import SPEED, Robot, is_finite_number
from tesselite.problems.maze_navigation.world import World, paper_world
from tesselite.problems.problem import TRAINING, Problem
from tesselite.spaces.features import FeatureSpace
from tesselite.spaces.solutions import Rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tesselite.archive.archive import Archive
    from tesselite.problems.maze_navigation.simulation import Course, Outcome

DESCRIPTORS = {"2d": 1, "10d": 5, "20d": 10, "50d": 25, "250d": 125, "1000d": 500}
"""The paper's descriptors, and on how many points of the trajectory each rests (section IV-A.3)."""

STEPS = 3000
"""A lifetime, in simulation steps (section IV-A.1)."""

_AT_ONCE = 1024  # rollouts, which take half a second: compiled code is not interrupted


@dataclass(frozen=True)
class TrajectorySampler:
    """Draws drivable trajectories in feature units, for a CVT: x, y at each of `times`, from `start`, in an arena."""

    times: tuple[int, ...]
    start: tuple[float, float]
    arena: tuple[float, float]

    def __call__(self, n: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
        """Draw n trajectories, shape (n, 2 * times)."""
        from tesselite.problems.maze_navigation.trajectories import sample_trajectories

        return sample_trajectories(n, rng, np.array(self.times, dtype=np.int64), self.start, self.arena)

    @property
    def cache_key(self) -> str:
        """What identifies it in the cache of tessellations: all that its samples depend on."""
        return f"trajectories {self.times} from {self.start} in {self.arena}"


class Maze(Problem):
    """A maze to drive to the goal of; made by `maze`. Fitness is the smallest distance to the goal, minimised.

    `world` is the maze of the search; `world_of(scenario)` gives those of the scenarios. `times` are the steps at which
    the features x and y are taken.
    """

    direction = "min"
    deterministic = True
    y_down = True

    def __init__(
        self,
        name: str,
        n_points: int,
        world: World,
        worlds: Mapping[str, Callable[[], World]],
        robot: Robot,
        networks: Networks,
        steps: int,
    ) -> None:
        self.name = name
        self.world = world
        self._worlds = dict(worlds)
        self.scenarios = tuple(self._worlds)
        self.robot = robot
        self.solutions: Networks = networks
        self.steps = steps
        self.times = np.arange(1, n_points + 1, dtype=np.int64) * steps // n_points
        height, width = world.walls.shape
        bounds, titles = {}, {}
        for time in self.times.tolist():
            for axis, size in (("x", width), ("y", height)):
                bounds[f"{axis}{time}"] = (0.0, float(size))
                titles[f"{axis}{time}"] = f"{axis} at step {time}"
        # A single, sufficiently late point can be anywhere: then drivable samples are uniform.
        farthest = max(world.start[0], width - world.start[0], world.start[1], height - world.start[1])
        anywhere = n_points == 1 and SPEED * steps >= farthest
        x, y, _ = world.start
        sampler = TrajectorySampler(tuple(self.times.tolist()), (x, y), (float(width), float(height)))
        self.features = FeatureSpace(bounds, sampler=None if anywhere else sampler, titles=titles)
        # A robot that only stands still has this fitness: no elite is worse.
        self.floor = float(np.hypot(world.start[0] - world.goal[0], world.start[1] - world.goal[1]))

    def evaluate_rows(self, rows: Rows, scenario: str | None, threads: int | None) -> Evaluation:
        """Evaluate rows that are known to be networks of `self.solutions`."""
        return Evaluation.of(*self._roll_out(rows, scenario, self.times, threads))

    def paths(self, rows: Rows, every: int, scenario: str | None = None) -> npt.NDArray[np.float64]:
        """Where networks drive: x, y at the start and after each `every` steps, shape (n, 1 + steps // every, 2).

        The rows are known to be networks of `self.solutions`.
        """
        times = np.arange(every, self.steps + 1, every, dtype=np.int64)
        n = len(times)
        driven = self._roll_out(rows, scenario, np.union1d(times, self.steps), None).features[:, : 2 * n]
        start = np.broadcast_to(self.world_of(scenario).start[:2], (len(rows), 1, 2))
        return np.concatenate([start, driven.reshape(len(rows), n, 2)], axis=1)

    def _roll_out(self, rows: Rows, scenario: str | None, times: npt.NDArray[np.int64], threads: int | None) -> Outcome:
        """Roll out networks, and note where they are at each of `times`, the last of which is the end."""
        from tesselite.problems.maze_navigation.lockstep import roll_out
        from tesselite.problems.maze_navigation.simulation import Outcome

        networks, course = np.ascontiguousarray(rows), self._course(scenario, times)
        outcome = Outcome(np.empty(len(rows)), np.empty((len(rows), 2 * len(times))))
        for first in range(0, len(rows), _AT_ONCE):
            part = slice(first, first + _AT_ONCE)
            of_part = Outcome(outcome.fitness[part], outcome.features[part])
            roll_out(networks[part], self.solutions.room, course, of_part, checked_threads(threads))
        return outcome

    def trajectory(self, solution: Any, scenario: str | None = None) -> npt.NDArray[np.float64]:
        """The poses of one network's robot, shape (steps + 1, 3): x, y, heading, from the start on.

        Raises ValueError if it is not one solution of this problem, or the scenario is unknown.
        """
        return np.ascontiguousarray(self.record(solution, scenario)[:, :3])

    def record(self, solution: Any, scenario: str | None = None) -> npt.NDArray[np.float64]:
        """Everything that happens in one rollout, shape (steps + 1, 5 + most hidden neurons).

        Columns: x, y, heading, displacement of the left and of the right wheel, and the outputs of the hidden neurons
        (0 for those without influence on a wheel, by weights other than 0: they are not computed). Row 0 is the start.
        """
        rows = self.solutions.validate(solution)
        if len(rows) != 1:
            raise ValueError(f"solution: expected one, got {len(rows)}")
        from tesselite.problems.maze_navigation.simulation import drive_one

        record = np.empty((self.steps + 1, 5 + self.solutions.max_hidden))
        drive_one(rows[0], self.solutions.room, self._course(scenario, self.times), record)
        return record

    def scenario_phrase(self, scenario: str) -> str:
        """The environment by its number; users' worlds by their names."""
        return f"in environment {scenario}" if scenario.isdigit() else f"in {scenario}"

    def elite_view(self, solutions: Rows, scenario: str | None = None) -> dict[str, Any]:
        """Paths and networks for the interactive page; see `page_view`."""
        from tesselite.problems.maze_navigation.page_view import describe

        return describe(self, solutions, scenario)

    def world_of(self, scenario: str | None) -> World:
        """The world of a scenario, or of the search for None; ValueError if there is no such scenario."""
        if scenario is None:
            return self.world
        self.check_scenario(scenario)
        return self._worlds[scenario]()

    def draw_scenario(self, ax: Axes, scenario: str | None) -> None:
        """Draw the walls, start and goal of an environment."""
        from tesselite.problems.maze_navigation.maze_pictures import draw_small

        draw_small(ax, self.world_of(scenario))

    def draw(self, archive: Archive, folder: Path, kind: str) -> list[Path]:
        """Draw the elites in the maze, the niches (2D), the best path in each environment and the best network."""
        from tesselite.problems.maze_navigation.maze_pictures import draw_run

        return draw_run(self, archive, folder, kind)

    def _course(self, scenario: str | None, times: npt.NDArray[np.int64]) -> Course:
        """What the compiled rollouts need to know of a scenario's world."""
        from tesselite.problems.maze_navigation.simulation import AROUND, STICK, Course

        world = self.world_of(scenario)
        flags = 0
        if self.robot.after_hit == "stick":
            flags |= STICK
        if self.robot.slices == "around_heading":
            flags |= AROUND
        return Course(
            width=world.walls.shape[1],
            leap=world.leap.ravel(),
            blocked=world.blocked.ravel(),
            start=np.array(world.start),
            goal=np.array(world.goal),
            axle=float(self.robot.axle),
            laser_range=float(self.robot.laser_range),
            flags=flags,
            n_steps=self.steps,
            times=times,
        )


def maze(
    descriptor: str = "10d",
    *,
    world: World | None = None,
    scenarios: Mapping[str, World] | None = None,
    robot: Robot | None = None,
    networks: Networks | None = None,
    layout: str = "square",
    opening: float = geometry.OPENING,
    outer_radius: float = geometry.OUTER_RADIUS,
    wall: float = geometry.WALL,
    steps: int = STEPS,
) -> Maze:
    """The maze navigation task of the paper: illuminate it, then assess the archive in 16 environments.

    `descriptor` is "2d", "10d", "20d", "50d", "250d" or "1000d": x and y at 1, 5, 10, 25, 125 or 500 evenly spaced
    times. The scenarios "1" to "16" are the environments with one route each. `layout` is the paper maze's outline,
    "square" or "round"; `outer_radius` that of the round one, `opening` the width of doors and gates, `wall` the
    thickness of walls. Bring your own maze as `world` (see `World.from_image`), and your own `scenarios` with it. The
    usual `robot` has the radius that the world is meant for; another one is checked to fit. Raises ValueError for
    invalid settings.
    """
    n_points = DESCRIPTORS.get(descriptor)
    if n_points is None:
        raise ValueError(f"descriptor: expected one of {', '.join(DESCRIPTORS)}, got {descriptor!r}")
    if not is_finite_number(steps) or isinstance(steps, bool) or steps % 1 != 0 or steps < n_points:
        raise ValueError(
            f"steps: expected a whole number of at least {n_points}, one for each point of {descriptor}, got {steps!r}"
        )
    _check_kind("world", world, World)
    _check_kind("robot", robot, Robot)
    _check_kind("networks", networks, Networks)
    if robot is None:
        robot = Robot() if world is None else Robot(radius=world.radius)
    if layout not in geometry.LAYOUTS:
        raise ValueError(f"layout: expected one of {', '.join(geometry.LAYOUTS)}, got {layout!r}")
    if layout == "square" and outer_radius != geometry.OUTER_RADIUS:
        raise ValueError("outer_radius: only valid together with layout='round'")
    looks = (opening, robot.radius, outer_radius if layout == "round" else None, wall)
    plain = (geometry.OPENING, Robot().radius, None, geometry.WALL)
    usual = world is None and (looks, robot, steps) == (plain, Robot(), STEPS) and networks is None
    if world is None:
        if scenarios is not None:
            raise ValueError("scenarios: expected together with a world of your own")
        world = paper_world(None, *looks)
        # Made when first used: a world takes a fifth of a second, and a search needs none of these.
        worlds = {name: partial(paper_world, name, *looks) for name in geometry.ENVIRONMENTS}
    else:
        world = world.with_radius(robot.radius)
        worlds = {}
        for name, other in (scenarios or {}).items():
            _check_like(name, other, world)
            worlds[str(name)] = partial(_same, other.with_radius(robot.radius))
    made = Maze(f"maze:{descriptor}", n_points, world, worlds, robot, networks or Networks(), int(steps))
    if not usual:
        digest = hashlib.sha256(np.packbits(world.walls).tobytes())
        digest.update(repr((world.start, world.goal, robot, vars_of(made.solutions), made.steps)).encode())
        made.variant = digest.hexdigest()
    return made


def _check_kind(name: str, value: object, kind: type) -> None:
    if value is not None and not isinstance(value, kind):
        raise ValueError(f"{name}: expected a {kind.__name__}, got {value!r}")


def _same(world: World) -> World:
    return world


def _check_like(name: str, scenario: World, world: World) -> None:
    """A scenario may differ in its walls, its start and its goal, but not in its size: the features' bounds."""
    if str(name) in ("", TRAINING):
        raise ValueError(f"scenarios: expected names other than {TRAINING!r}, got {name!r}")
    if not isinstance(scenario, World):
        raise ValueError(f"scenarios: expected worlds, got {scenario!r} for {name!r}")
    if scenario.walls.shape != world.walls.shape:
        raise ValueError(
            f"scenarios: expected worlds of the size of `world`, {world.walls.shape}, "
            f"got {scenario.walls.shape} for {name!r}"
        )
