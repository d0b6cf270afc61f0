"""Episodes: settle a body, run its controllers for five seconds, let it come to rest, by either engine.

What an episode's end means for fitness and features is decided in `problem`. Episode: the paper's section V-A and its
released experiment; docs/hexapod.md lists every rule.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from tesselite.base.arrays import Floats
from tesselite.base.threads import checked_threads, in_chunks
from tesselite.problems.hexapod_locomotion.controller import N_STEPS, N_VALUES, STEP, signal_table
from tesselite.problems.hexapod_locomotion.robot import DROP_HEIGHT, N_LEGS, Body, body

Engine = Literal["kinematic", "dart"]
ENGINES: tuple[str, ...] = get_args(Engine)

SETTLE_STEP = 0.001  # s
MAX_REST_STEPS = 1000  # to settle before, and to come to rest after the episode

# How an episode ends, by the number that the engines give; None for a valid one.
REASONS: tuple[str | None, ...] = (
    "simulation diverged",
    None,
    "the body touched the floor",
    "jumped too high",
    "the body tilted over",
    "did not come to rest",
    "simulation diverged",
)


@dataclass(frozen=True)
class Episodes:
    """The outcome of n episodes.

    `start` (13,): the base's position, quaternion (w, x, y, z), velocity and angular velocity in the world at the
    start; `finals` (n, 13): at the end. `ends` (n, 3): how it ended (index of `REASONS`), steps simulated, steps held.
    `touches` (n, 2, 6): in how many of the first 334 steps, even and odd ones, each foot touched the floor. `tape`
    (n, steps, 26): states, contacts (as bits) and J1, J2 of each leg at the start of each step, if recorded.
    """

    start: Floats
    ends: npt.NDArray[np.int64]
    finals: Floats
    touches: npt.NDArray[np.int64]
    tape: Floats

    @property
    def distances(self) -> Floats:
        """Forward distance of each episode in metres, (n,).

        As the released experiment computes it: the displacement along x, plus R02 z0, because it turns the start
        position by the final attitude.
        """
        w, x, y, z = self.finals[:, 3:7].T
        r02 = 2.0 * (x * z + w * y)
        distances: Floats = self.finals[:, 0] - self.start[0] + r02 * self.start[2]
        return distances

    @property
    def duty_factors(self) -> Floats:
        """Share of the first 334 steps in which each foot touched the floor, (n, 6)."""
        return self.touches.sum(axis=1) / N_STEPS

    @property
    def released_duty_factors(self) -> Floats:
        """The same of every second step, from the first on, to two digits: what the released experiment keeps."""
        return np.round(self.touches[:, 0] / (N_STEPS // 2), 2)

    def reasons(self) -> dict[int, str]:
        """Why each invalid episode is invalid, by row."""
        ends = self.ends[:, 0]
        return {i: REASONS[ends[i]] or "" for i in np.flatnonzero(ends != 1).tolist()}


def _run(
    rows: Floats, shape: Body, start: Floats, dt: float, n_steps: int, engine: str, threads: int, n_tape: int
) -> Episodes:
    from tesselite.problems.hexapod_locomotion import lockstep

    n = len(rows)
    ends = np.zeros((n, 3), dtype=np.int64)
    finals = np.full((n, 13), np.nan)
    touches = np.zeros((n, 2, N_LEGS), dtype=np.int64)
    tape = np.zeros((n if n_tape else 0, n_tape, lockstep.TAPE))
    episodes = Episodes(start, ends, finals, touches, tape)
    if engine == "dart":
        from tesselite.problems.hexapod_locomotion import dart

        dart.simulate(rows, shape, dt, n_steps, MAX_REST_STEPS, episodes)
    else:
        table = signal_table().ravel()

        def work(first: int, last: int) -> None:
            lockstep.simulate(
                lockstep.new_fleet(last - first), rows, first, last, table, shape.present, shape.sums, start, dt,
                n_steps, MAX_REST_STEPS, ends, finals, touches, tape,
            )  # fmt: skip

        # A lane idles when its chunk runs out, so chunks are long; no result depends on them.
        in_chunks(work, n, max(1, min(512, -(-n // threads))), threads)
    return episodes


@functools.cache
def settled(missing: tuple[int, ...] = (), engine: Engine = "kinematic") -> Floats:
    """The state (13,) in which a body without the given legs has settled after a drop from 0.2 m, joints at 0.

    The velocity is part of it: a settled robot is still being pushed out of the floor, by 0.65 mm/s.
    """
    drop = np.zeros(13)
    drop[2] = DROP_HEIGHT
    drop[3] = 1.0
    drop.flags.writeable = False  # one signature for the compiled engine
    idle = np.zeros((1, N_VALUES))
    idle.flags.writeable = False
    dropped = _run(idle, body(missing), drop, SETTLE_STEP, 0, engine, 1, 0)
    state = dropped.finals[0]
    state.flags.writeable = False
    return state


def run_episodes(
    rows: Floats, shape: Body, engine: Engine = "kinematic", threads: int | None = 1, record: bool = False
) -> Episodes:
    """Run the episode of each of the (n, 36) controllers on a body; with `record`, keep every step on the tape.

    The result does not depend on threads, batch or order, bit for bit.
    """
    if engine not in ENGINES:
        raise ValueError(f"engine: expected one of {', '.join(ENGINES)}, got {engine!r}")
    n_tape = N_STEPS + MAX_REST_STEPS if record else 0
    rows = np.ascontiguousarray(rows, dtype=np.float64).view()
    rows.flags.writeable = False  # one signature for the compiled engine
    start = settled(shape.missing, engine)
    return _run(rows, shape, start, STEP, N_STEPS, engine, checked_threads(threads), n_tape)
