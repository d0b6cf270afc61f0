"""Speed of the hexapod's engines: complete evaluations per second, threads, DART, and a profile.

    python benchmarks/hexapod_speed.py [--rows 600] [--repeats 15]

One process, best of several repeats, taken in turns, so that a busy machine disturbs all alike; for one thread also
by the processor time it took, which a busy machine disturbs less. A search meets the offspring of its elites, in
batches of 200, which are measured as well. DART is measured where dartpy is installed.
"""

from __future__ import annotations

import argparse
import importlib.util
import time
from collections.abc import Callable

import numba
import numpy as np

import tesselite as tl
from tesselite.base.threads import available_threads
from tesselite.compiled.lanes import LANES
from tesselite.problems.hexapod_locomotion import body, contact, hexapod, kinematic, legs, solver
from tesselite.problems.hexapod_locomotion.controller import LEVELS, STEP, targets
from tesselite.problems.hexapod_locomotion.episode import run_episodes, settled
from tesselite.problems.hexapod_locomotion.lockstep import new_fleet

BATCH = 200  # of the paper's searches


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def processor_seconds(work: Callable[[], object], repeats: int) -> float:
    """Shortest processor time of this thread, independent of other load."""
    best = float("inf")
    for _ in range(repeats):
        began = time.thread_time()
        work()
        best = min(best, time.thread_time() - began)
    return best


def best_of(works: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Shortest time of each, taken in turns."""
    times = dict.fromkeys(works, float("inf"))
    for _ in range(repeats):
        for name, work in works.items():
            times[name] = min(times[name], seconds(work))
    return times


def offspring(rows: int) -> np.ndarray:
    """Offspring of a short search's elites, by the paper's mutation."""
    elites = tl.illuminate(hexapod(), n_niches=2_000, evaluations=100_000, seed=0).elites().solutions
    rng = np.random.default_rng(0)
    found = elites[rng.integers(len(elites), size=rows)].copy()
    drawn = rng.random(found.shape) < 0.05
    found[drawn] = rng.choice(LEVELS, drawn.sum())
    return found


@numba.njit(nogil=True)
def repeat_legs(n, g, t, present, dt):
    for _ in range(n):
        legs.move_legs(g, t, present, dt)


@numba.njit(nogil=True)
def repeat_base(n, g, t, p, sums):
    for _ in range(n):
        kinematic.free_velocity(g, t, p, sums, 1e-9)
        kinematic.advance(g, p, 1e-9)


@numba.njit(nogil=True)
def repeat_contacts(n, g, t, feet, p, s, present, sums, dt):
    for _ in range(n):
        kinematic.find_contacts(g, t, feet, p, s, present, sums, dt)


@numba.njit(nogil=True)
def repeat_passes(n, p, s, contacts):
    for _ in range(n):
        contact.normal_pass(p, s, contacts, 0)
        contact.friction_pass(p, s, contacts, 0)


def parts(repeats: int) -> dict[str, float]:
    """Nanoseconds per robot and step of the parts of a step, on the state of robots that walk."""
    shape = body()
    fleet = new_fleet(LANES)
    g, feet, t, p, s = fleet.robots[0], fleet.feet[0], fleet.work, fleet.problems[0], fleet.states[0]
    g[kinematic.OX : kinematic.OX + 13 * LANES] = np.repeat(settled(), LANES)
    feet[kinematic.STATES :] = contact.ALL << contact.ON1
    joints = g[: legs.ROBOT].reshape(6, -1, LANES)
    joints[:, legs.SCALE1 // LANES : legs.SCALE2 // LANES + 1] = 1.0
    signals = t[: 6 * legs.LEG].reshape(6, -1, LANES)[:, legs.SIGNAL1 // LANES : legs.SIGNAL2 // LANES + 1]
    goals = targets(np.random.default_rng(0).choice(LEVELS, (LANES, 36)), 100)
    contacts = 0
    for step in range(100):
        signals[:] = goals[:, step].reshape(LANES, 6, 2).transpose(1, 2, 0)
        legs.move_legs(g, t, shape.present, STEP)
        kinematic.free_velocity(g, t, p, shape.sums, STEP)
        contacts = kinematic.find_contacts(g, t, feet, p, s, shape.present, shape.sums, STEP)
        fleet.n_contacts[0] = contacts
        solver.begin(fleet.problems, fleet.states, 0, 1, fleet.n_contacts, fleet.missed, fleet.line, fleet.book)
        solver.finish(fleet.problems, fleet.states, fleet.line, fleet.book)
        contact.refine_friction(p, s, contacts)
        kinematic.keep_states(feet, s, contacts)
        kinematic.advance(g, p, STEP)
    other = new_fleet(LANES)  # moves on, while the contacts are looked at where they are
    other.robots[:], other.work[:] = fleet.robots, fleet.work
    works = {
        "legs": lambda n: repeat_legs(n, other.robots[0], other.work, shape.present, STEP),
        "base": lambda n: repeat_base(n, other.robots[0], other.work, other.problems[0], shape.sums),
        "finding contacts": lambda n: repeat_contacts(n, g, t, feet, p, s, shape.present, shape.sums, STEP),
        f"a pass of each stage ({contacts} contacts)": lambda n: repeat_passes(n, p, s, contacts),
    }
    n = 2000
    for work in works.values():
        work(1)
    times = best_of({name: (lambda work=work: work(n)) for name, work in works.items()}, repeats)
    return {name: value / n / LANES * 1e9 for name, value in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=600)
    parser.add_argument("--repeats", type=int, default=15)
    arguments = parser.parse_args()
    solutions = np.random.default_rng(0).choice(LEVELS, (arguments.rows, 36))
    problem = hexapod()
    problem.evaluate(solutions[:8])  # compiles
    works = {"kinematic, 1 thread": lambda: problem.evaluate(solutions, threads=1)}
    if available_threads() > 1:
        works["kinematic, 2 threads"] = lambda: problem.evaluate(solutions, threads=2)
    times = best_of(works, arguments.repeats)
    cpu = processor_seconds(works["kinematic, 1 thread"], arguments.repeats)
    one = arguments.rows / cpu
    steps = run_episodes(solutions, body()).ends[:, 1].mean()
    print(f"{'engine':24s} {'evaluations/s':>14s}")
    for name, value in times.items():
        print(f"{name:24s} {arguments.rows / value:14,.0f}")
    print(f"{'kinematic, processor time':25s} {one:13,.0f}")
    evolved = offspring(arguments.rows)
    batches = [evolved[i : i + BATCH] for i in range(0, len(evolved), BATCH)]
    cpu = processor_seconds(lambda: [problem.evaluate(rows, threads=1) for rows in batches], arguments.repeats)
    print(f"{'  offspring of elites':25s} {arguments.rows / cpu:13,.0f}")
    if importlib.util.find_spec("dartpy") is not None:
        rows = solutions[:6]
        settled((), "dart")
        dart = len(rows) / processor_seconds(lambda: run_episodes(rows, body(), "dart"), 3)
        print(f"{'dart, processor time':24s} {dart:14.1f}")
        print(f"\nkinematic over dart, both by processor time: {one / dart:.0f} times")
    else:
        print("dart: the package dartpy is not installed")
    if "kinematic, 2 threads" in times:
        print(f"two threads over one: {times['kinematic, 1 thread'] / times['kinematic, 2 threads']:.2f} times")
    step = 1e9 / one / steps
    print(f"\none step of one robot: {step:.0f} ns ({steps:.0f} steps an evaluation), of which")
    for name, value in parts(arguments.repeats).items():
        print(f"  {name:36s} {value:5.0f} ns")
    print("  the rest: further passes, the line search, signals, rules and counting")


if __name__ == "__main__":
    main()
