"""Speed of the hexapod's engines: complete evaluations per second, threads, DART, and where the time goes.

    python benchmarks/hexapod_speed.py [--rows 1024] [--repeats 7]

One process, best of several repeats, taken in turns, so that a busy machine disturbs all alike; for one thread also
by the processor time it took, which a busy machine disturbs less. DART is measured where dartpy is installed.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import time
from collections.abc import Callable

import numba
import numpy as np

from tesselite.base.threads import available_threads
from tesselite.problems.hexapod_locomotion import body, contact, hexapod, kinematic, legs
from tesselite.problems.hexapod_locomotion.controller import LEVELS, STEP, targets
from tesselite.problems.hexapod_locomotion.episode import run_episodes, settled
from tesselite.problems.hexapod_locomotion.legs import LANES


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def processor_seconds(work: Callable[[], object], repeats: int) -> float:
    """Shortest processor time of this thread, whatever else the machine does."""
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


@numba.njit(nogil=True)
def repeat_legs(n, g, present, dt):
    for _ in range(n):
        kinematic.move_legs(g, present, dt)


@numba.njit(nogil=True)
def repeat_base(n, g, sums):
    for _ in range(n):
        kinematic.free_velocity(g, sums, 1e-9)
        kinematic.advance(g, 1e-9)


@numba.njit(nogil=True)
def repeat_contacts(n, g, present, sums, dt):
    for _ in range(n):
        kinematic.find_contacts(g, present, sums, dt)


@numba.njit(nogil=True)
def repeat_passes(n, g):
    for _ in range(n):
        contact.normal_pass(g, False)
        contact.friction_pass(g, False)


def parts(repeats: int) -> dict[str, float]:
    """Nanoseconds per robot and step of the parts of a step, on a walking robot's state."""
    shape = body()
    g = np.zeros(kinematic.ARRAY)
    g[kinematic.OX : kinematic.OX + 13 * LANES] = np.repeat(settled(), LANES)
    goal = targets(np.random.default_rng(0).choice(LEVELS, (1, 36)), 1)[0, 0]
    for joint in range(12):
        at = (joint // 2) * contact.LEG + contact.TARGET1 + (joint % 2) * LANES
        g[at : at + LANES] = goal[joint]
    works = {
        "legs": lambda n: repeat_legs(n, g, shape.present, STEP),
        "base": lambda n: repeat_base(n, g, shape.sums),
        "finding contacts": lambda n: repeat_contacts(n, g, shape.present, shape.sums, STEP),
        "one pass of each stage": lambda n: repeat_passes(n, g),
    }
    n = 2000
    for work in works.values():
        work(1)
    times = best_of({name: (lambda work=work: work(n)) for name, work in works.items()}, repeats)
    return {name: value / n / LANES * 1e9 for name, value in times.items()}


def vector_shares() -> dict[str, float]:
    """Share of the arithmetic of each part that the compiler turned into vector instructions (x86 only)."""
    array, number = numba.float64[::1], numba.float64
    given = (
        numba.types.Array(numba.float64, 1, "C", readonly=True),
        numba.types.Array(numba.int64, 1, "C", readonly=True),
    )
    parts = {
        legs.add_leg: (array, numba.int64, number),
        kinematic.free_velocity: (array, given[0], number),
        kinematic.find_contacts: (array, given[1], given[0], number),
        kinematic.advance: (array, number),
        contact.normal_pass: (array, numba.boolean),
        contact.friction_pass: (array, numba.boolean),
    }
    shares = {}
    for part, types in parts.items():
        compiled = numba.njit(numba.void(*types), error_model="numpy")(part.py_func)
        text = compiled.inspect_asm(compiled.signatures[0])
        packed, single = (len(re.findall(rf"v(?:add|sub|mul|div){kind}\b", text)) for kind in ("pd", "sd"))
        shares[part.__name__] = packed / max(1, packed + single)
    return shares


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=512)
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
        print(f"  {name:24s} {value:5.0f} ns")
    shares = ", ".join(f"{name} {share:.0%}" for name, share in vector_shares().items())
    print(f"  arithmetic in vector instructions: {shares}")
    print("  the rest: further passes of the contact problem (2.6 on average, as many as the slowest of")
    print(f"  {LANES} robots needs), the line search, targets, rules and counting")


if __name__ == "__main__":
    main()
