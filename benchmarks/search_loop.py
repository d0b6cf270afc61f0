"""The search loop against pyribs and QDax on the planar arm: python benchmarks/search_loop.py [--write]

Every figure of a table comes from this one invocation, the libraries taking turns; the least time of several runs
counts. How each library is used is described in `drive_tesselite`, `drive_pyribs` and `drive_qdax`. Times are
microseconds per evaluation: the whole search, but neither compilation nor building the archive and its look-up index.
"""

from __future__ import annotations

import argparse
import functools
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import drive_pyribs
import drive_qdax
import drive_tesselite
import start_up
import tesselite as tl
from arm_objectives import JOINTS, first_values_batch, first_values_problem, njit_arm, numpy_arm
from measurement import Result, interleaved, keep_in_readme, machine, table

BATCHES = (128, 4096)
MILLION = 1_000_000
QDAX_TIMED = 40_000  # QDax is slow enough on a CPU for fewer evaluations to give its time

# The intended speed-up over pyribs, by niches and batch size.
WANTED_BUILT_IN = {("grid", 128): 40, ("grid", 4096): 12, ("cvt", 128): 30, ("cvt", 4096): 12}
WANTED_NJIT = {128: 12, 4096: 5}
WANTED_ASK_TELL = 5
WANTED_QDAX = 300

Runs = dict[str, list[Result]]


SAID: list[str] = []


def say(text: str) -> None:
    """Print, and keep for the README."""
    print(text, flush=True)
    SAID.append(text)


def least(results: Sequence[Result]) -> float:
    return min(result.each for result in results)


def least_ask_tell(results: Sequence[Result]) -> float:
    return min(result.ask_tell_each for result in results)


def ratio(theirs: float, ours: float, wanted: float) -> str:
    digits = 1 if theirs < 10 * ours else 0
    return f"{theirs / ours:.{digits}f}x ({'' if theirs >= wanted * ours else 'MISSED '}{wanted:g}x)"


@functools.cache
def centroids(n_niches: int) -> Any:
    """The same centroids for every library."""
    space = tl.FeatureSpace({"x": (0.0, 1.0), "y": (0.0, 1.0)})
    n_samples = None if space.n == 2 else 10 * n_niches  # in two dimensions none are drawn
    return tl.cvt(space, n_niches, n_samples=n_samples, iterations=20, seed=1).centroids


def measure_speed(kind: str, niches: Any, batch_size: int, rounds: int) -> Runs:
    """All searches on these niches with this batch size; each library sees each seed once."""
    arm = tl.problems.arm(JOINTS)
    cut = drive_tesselite.tessellation(niches, arm.features)

    runs: dict[str, Callable[[int], Result]] = {
        "built-in": lambda seed: drive_tesselite.run(cut, arm, MILLION, batch_size, seed),
        "njit": lambda seed: drive_tesselite.run(cut, njit_arm, MILLION, batch_size, seed),
        "ask_tell": lambda seed: drive_tesselite.ask_and_tell(cut, numpy_arm, JOINTS, MILLION, batch_size, seed),
        "pyribs": lambda seed: drive_pyribs.run(niches, numpy_arm, JOINTS, MILLION, batch_size, seed),
    }
    drive_tesselite.run(cut, arm, 10_000, batch_size, 0)  # compiles
    drive_tesselite.run(cut, njit_arm, 10_000, batch_size, 0)
    drive_tesselite.ask_and_tell(cut, numpy_arm, JOINTS, 10_000, batch_size, 0)
    measured = interleaved(rounds, runs)
    qdax = interleaved(min(rounds, 3), {"qdax": lambda seed: drive_qdax.run(niches, QDAX_TIMED, batch_size, seed)})
    return measured | qdax


def speed_rows(kind: str, label: str, batch_size: int, runs: Runs) -> list[list[str]]:
    pyribs, qdax = least(runs["pyribs"]), least(runs["qdax"])
    rows = []
    for objective, name, wanted in (
        ("built-in arm", "built-in", WANTED_BUILT_IN[kind, batch_size]),
        ("a user's @njit arm", "njit", WANTED_NJIT[batch_size]),
    ):
        ours = least(runs[name])
        faster = ratio(qdax, ours, WANTED_QDAX) if name == "built-in" else f"{qdax / ours:.0f}x"
        versus = ratio(pyribs, ours, wanted)
        rows.append([label, str(batch_size), objective, f"{ours:.3f}", f"{pyribs:.2f}", f"{qdax:.0f}", versus, faster])
    ours, theirs = least_ask_tell(runs["ask_tell"]), least_ask_tell(runs["pyribs"])
    versus = ratio(theirs, ours, WANTED_ASK_TELL)
    rows.append(
        [label, str(batch_size), "NumPy arm: ask and tell only", f"{ours:.3f}", f"{theirs:.2f}", "", versus, ""]
    )
    return rows


def standard_error(values: Any, reference: Any) -> float:
    """Of the difference of two means."""
    return float(np.hypot(*(sample.std(ddof=1) / np.sqrt(len(sample)) for sample in (values, reference))))


def results_row(label: str, batch_size: int, name: str, results: Sequence[Result], ours: Sequence[Result]) -> list[str]:
    """Mean and standard deviation over seeds of what was found, and how far from ours in standard errors."""
    row = [label, str(batch_size), name, f"{results[0].evaluations:,}", str(len(results))]
    for measure in ("coverage", "qd_score"):
        values = np.array([getattr(result, measure) for result in results])
        reference = np.array([getattr(result, measure) for result in ours])
        digits = 4 if measure == "coverage" else 0
        spread = f" ± {values.std(ddof=1):.{digits}f}" if len(values) > 1 else ""
        row.append(f"{values.mean():.{digits}f}{spread}")
        comparable = results is not ours and min(len(values), len(reference)) > 1
        row.append(
            f"{(reference.mean() - values.mean()) / standard_error(values, reference):+.1f}" if comparable else ""
        )
    return row


def report_speed(rounds: int, qdax_seeds: int) -> None:
    """The comparison of time, and of what was found in it."""
    speed: list[list[str]] = []
    found: list[list[str]] = []
    for kind, label, niches in (
        ("grid", "grid 64 x 64", (64, 64)),
        ("cvt", "10,000 centroids", centroids(10_000)),
    ):
        for batch_size in BATCHES:
            runs = measure_speed(kind, niches, batch_size, rounds)
            speed += speed_rows(kind, label, batch_size, runs)
            found.append(results_row(label, batch_size, "tesselite", runs["built-in"], runs["built-in"]))
            found.append(results_row(label, batch_size, "pyribs", runs["pyribs"], runs["built-in"]))
            if kind == "cvt" and batch_size == max(BATCHES) and qdax_seeds:
                qdax = [drive_qdax.run(niches, MILLION, batch_size, seed) for seed in range(1, qdax_seeds + 1)]
                found.append(results_row(label, batch_size, "QDax", qdax, runs["built-in"]))
    say("Microseconds per evaluation (in brackets: what was aimed at)\n")
    head = ("niches", "batch", "objective", "tesselite", "pyribs", "QDax", "faster than pyribs", "faster than QDax")
    say(table(head, speed))
    say("\nWhat is found: mean ± standard deviation over seeds (in brackets: ours minus theirs, in standard errors)\n")
    head = ("niches", "batch", "library", "evaluations", "seeds", "coverage", "(diff.)", "QD score", "(diff.)")
    say(table(head, found))


def report_growth(rounds: int) -> None:
    """How the time per evaluation grows with the number of niches in two dimensions."""
    arm = tl.problems.arm(JOINTS)
    rows, base = [], 0.0
    for n_niches in (1_000, 10_000, 100_000, 1_000_000):
        points = np.random.default_rng(1).random((n_niches, 2))
        drive_tesselite.tessellation(points[:500], arm.features)  # compiles
        build = []
        for _ in range(3):
            started = time.perf_counter()
            cut = drive_tesselite.tessellation(points, arm.features)
            build.append(time.perf_counter() - started)
        drive_tesselite.run(cut, arm, 10_000, 4096, 0)
        runs = interleaved(
            rounds,
            {
                "ours": lambda seed, cut=cut: drive_tesselite.run(cut, arm, MILLION, 4096, seed),
                "pyribs": lambda seed, points=points: drive_pyribs.run(points, numpy_arm, JOINTS, 200_000, 4096, seed),
            },
        )
        each = least(runs["ours"])
        base = base or each
        grown = f"{each / base:.1f}x" + (" (MISSED 3x)" if each > 3 * base else "")
        rows.append([f"{n_niches:,}", f"{min(build):.3f}", f"{each:.3f}", grown, f"{least(runs['pyribs']):.2f}"])
    say("\nGrowth with the number of niches: uniformly random centroids in 2D, built-in arm, batch 4096\n")
    say(table(("niches", "table built in (s)", "tesselite (us)", "against 1,000", "pyribs (us)"), rows))


def report_features(rounds: int) -> None:
    """The time per evaluation for 2, 6 and 36 features."""
    width, rows = 36, []
    for d, evaluations, theirs in ((2, 500_000, 200_000), (6, 500_000, 100_000), (36, 50_000, 20_000)):
        points = np.random.default_rng(1).random((10_000, d))
        problem = first_values_problem(d, width)
        cut = drive_tesselite.tessellation(points, problem.features)
        drive_tesselite.run(cut, problem, 5_000, 4096, 0)
        objective = first_values_batch(d)
        runs: dict[str, Callable[[int], Result]] = {
            "ours": lambda seed, cut=cut, problem=problem, n=evaluations: drive_tesselite.run(
                cut, problem, n, 4096, seed
            )
        }
        for nearest in ("scipy_kd_tree", "sklearn_nn"):
            runs[nearest] = lambda seed, points=points, objective=objective, n=theirs, nearest=nearest: (
                drive_pyribs.run(points, objective, width, n, 4096, seed, nearest)
            )
        measured = interleaved(rounds, runs)
        ours = least(measured["ours"])
        tree, brute = least(measured["scipy_kd_tree"]), least(measured["sklearn_nn"])
        rows.append([str(d), f"{ours:.2f}", f"{tree:.2f}", f"{brute:.2f}", f"{min(tree, brute) / ours:.1f}x"])
    say("\nNumber of features: 10,000 uniformly random centroids, 36 variables, batch 4096, microseconds\n")
    head = ("features", "tesselite", "pyribs, k-d tree (default)", "pyribs, brute force", "faster than the better")
    say(table(head, rows))


def report_start_up(rounds: int) -> None:
    """The cost of a fresh process."""
    say("\nA fresh process until the first 2,000 evaluations on a 64 x 64 grid are done, seconds\n")
    say(table(("", "first time on this machine", "afterwards"), start_up.measure(rounds)))


def main() -> None:
    """Measure the parts asked for and print them as Markdown."""
    parser = argparse.ArgumentParser(description="The search loop against pyribs and QDax")
    parser.add_argument("--parts", default="speed,growth,features,start-up")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each library, of which the least time counts")
    parser.add_argument("--qdax-seeds", type=int, default=2, help="QDax runs of a million evaluations, minutes each")
    parser.add_argument("--write", action="store_true", help="keep the tables in benchmarks/README.md")
    options = parser.parse_args()
    parts = options.parts.split(",")
    print(f"{machine()} at the start\n", flush=True)
    if "speed" in parts:
        report_speed(options.rounds, options.qdax_seeds)
    if "growth" in parts:
        report_growth(min(options.rounds, 3))
    if "features" in parts:
        report_features(min(options.rounds, 3))
    if "start-up" in parts:
        report_start_up(options.rounds)
    say(f"\nMeasured on {machine()} at the end.")
    if options.write:
        keep_in_readme("search loop", "\n".join(SAID))


if __name__ == "__main__":
    main()
