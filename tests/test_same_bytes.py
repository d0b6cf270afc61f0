"""The same seed gives the same archive in every version: checksums of small runs, kept in data/same_bytes.json.

Niches are given, so that the construction of CVTs does not matter. After an intended change of results, rewrite the
file with `python tests/test_same_bytes.py`, and say in CHANGELOG.md what differs. (Powers of the C library, in
polynomial mutation and crossover, may differ in their last bit on other systems; everything else is IEEE arithmetic.)
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import njit

import tesselite as tl
from tesselite.tessellation.nearest import build_index

KEPT = Path(__file__).parent / "data" / "same_bytes.json"
EVALUATIONS, INITIAL, SEED = 3000, 300, 11
FEWER = {"maze": 1000}  # a rollout takes half a millisecond
BATCHES = (37, 64, 1000)  # less than a chunk, a chunk, more than one

FEATURES_2D = {"a": (0.0, 1.0), "b": (-0.5, 1.25)}
UNIT_6D, UNIT_36D = tl.FeatureSpace.unit(6), tl.FeatureSpace.unit(36)


@tl.problem(solutions=tl.Box(5, -1, 2), features=FEATURES_2D, direction="min")
@njit
def valley(x):
    """Features out of bounds, a fitness that is not a number, and a division by zero where two values are clipped."""
    fitness = (x[0] - x[1]) ** 2 + np.sqrt(x[4] + 0.9)
    return fitness + (1 / (x[2] + 1.0) if x[0] == 2.0 else 0.0), (x[2] * x[3], x[4])


@tl.problem(solutions=tl.Box(7, 0, 1), features=UNIT_6D)
@njit
def six(x):
    return x[6] - x[0] * x[1], x[:6]


@tl.problem(solutions=tl.Box(36, 0, 1), features=UNIT_36D)
@njit
def thirty_six(x):
    return -((x - 0.3) ** 2).sum(), x


@tl.problem(solutions=tl.Levels(12, np.linspace(0, 1, 21)), features={"a": (0.0, 1.0), "b": (0.0, 1.0)})
@njit
def steps(x):
    return x[0] + x[5] * x[7], ((x[1] + x[2]) / 2, (x[3] + x[4] + x[8]) / 3)


def voronoi(space: tl.FeatureSpace, k: int, p: float = 2.0, kind: str | None = None, rank: int = 0) -> Any:
    """Random centroids; of this rank, all but a little noise. `kind` is the index to use."""
    rng = np.random.default_rng(k)
    unit = rng.random((k, space.n))
    if rank:
        unit = np.clip(0.5 + rng.normal(0, 0.3, (k, rank)) @ rng.normal(0, 0.4, (rank, space.n)) + 0.01 * unit, 0, 1)
    made = tl.VoronoiTessellation(space, space.low + unit * (space.high - space.low), p)
    if kind:
        index = build_index(made.unit_centroids, p, kind)
        assert index.kind == kind
        made.__dict__["index"] = index
    return made


NICHES: dict[str, Callable[[tl.FeatureSpace], Any]] = {
    "grid": lambda space: tl.GridTessellation(space, 12 if space.n == 2 else 3),
    "large grid": lambda space: tl.GridTessellation(space, 1500),  # more than 2^20 niches: a hash table
    "table": lambda space: voronoi(space, 400, kind="table"),
    "large table": lambda space: voronoi(space, 5000, kind="table"),
    "tree": lambda space: voronoi(space, 700, kind="tree"),
    "panels": lambda space: voronoi(space, 500, kind="panels"),
    "principal": lambda space: voronoi(space, 500, kind="principal", rank=5),
    "brute": lambda space: voronoi(space, 300, kind="brute"),
    "tree p=1": lambda space: voronoi(space, 700, 1.0, "tree"),
    "tree p=inf": lambda space: voronoi(space, 700, np.inf, "tree"),
    "tree p=0.5": lambda space: voronoi(space, 700, 0.5, "tree"),
    "tree p=3": lambda space: voronoi(space, 700, 3.0, "tree"),
    "brute p=3": lambda space: voronoi(space, 300, 3.0, "brute"),
}

PROBLEMS: dict[str, Callable[[], tl.Problem]] = {
    "arm": lambda: tl.problems.arm(10),
    "arm 3": lambda: tl.problems.arm(3),  # too narrow for vectors of four
    "rastrigin": lambda: tl.problems.rastrigin(6),
    "sphere": lambda: tl.problems.sphere(4),
    "valley": lambda: valley,
    "six": lambda: six,
    "thirty-six": lambda: thirty_six,
    "steps": lambda: steps,
    "maze": lambda: tl.problems.maze("2d"),
    "hexapod": lambda: tl.problems.hexapod("duty"),
}

CASES = [
    ("arm", "grid", "iso_line"),
    ("arm", "grid", "gaussian:0.1"),
    ("arm", "grid", "polynomial:15,0.3"),
    ("arm", "grid", "sbx:10,0.5"),
    ("arm", "large grid", "iso_line:0.05,0.3,reflect"),
    ("arm", "table", "iso_line"),
    ("arm", "large table", "gaussian:0.2,reflect"),
    ("arm", "tree", "iso_line"),
    ("arm", "tree p=3", "iso_line"),
    ("arm 3", "grid", "iso_line"),
    ("arm 3", "table", "gaussian:0.3"),
    ("rastrigin", "grid", "iso_line"),
    ("rastrigin", "table", "sbx:2,1,reflect"),
    ("sphere", "panels", "polynomial:2,1,reflect"),
    ("sphere", "tree p=1", "gaussian:0.05"),
    ("valley", "grid", "gaussian:0.5"),
    ("valley", "table", "iso_line:0.1,0.5"),
    ("six", "grid", "iso_line"),
    ("six", "panels", "iso_line"),
    ("six", "tree", "sbx"),
    ("six", "brute", "polynomial"),
    ("six", "tree p=inf", "iso_line"),
    ("six", "tree p=0.5", "gaussian:0.1"),
    ("thirty-six", "panels", "iso_line"),
    ("thirty-six", "principal", "gaussian:0.1"),
    ("thirty-six", "brute p=3", "iso_line"),
    ("steps", "grid", "resample"),
    ("steps", "table", "resample:0.3"),
    ("maze", "grid", "default"),
    ("hexapod", "grid", "default"),
    ("hexapod", "brute", "default"),
]


def digest(archive: tl.Archive) -> str:
    """A checksum of an archive's content and counts, to the last bit."""
    elites, taken = archive.elites(), hashlib.sha256()
    for values in (elites.niches, elites.fitness, elites.features, elites.solutions, elites.evaluations):
        taken.update(np.ascontiguousarray(values).tobytes())
    taken.update(f"{archive.out_of_bounds} {sorted(archive.invalid.items())}".encode())
    return taken.hexdigest()[:16]


def label(case: tuple[str, str, str]) -> str:
    return ", ".join(case)


def digests(problem_name: str, niches_name: str, operator: str, threads: int) -> dict[str, str]:
    """The checksum for each batch size."""
    problem = PROBLEMS[problem_name]()
    niches = NICHES[niches_name](problem.features)
    variation = None if operator == "default" else tl.variation.by_name(operator)
    made = {}
    for batch_size in BATCHES:
        archive = tl.illuminate(
            problem,
            tessellation=niches,
            evaluations=FEWER.get(problem_name, EVALUATIONS),
            variation=variation,
            initial=INITIAL,
            batch_size=batch_size,
            seed=SEED,
            threads=threads,
        )
        made[str(batch_size)] = digest(archive)
    return made


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("case", CASES, ids=label)
def test_the_archive_is_that_of_before(case, threads):
    assert digests(*case, threads) == json.loads(KEPT.read_text())[label(case)]


@pytest.mark.parametrize("case", [("arm", "grid", "iso_line"), ("arm", "tree", "iso_line")], ids=label)
def test_workers_and_interruptions_change_no_byte(case, tmp_path):
    problem, batch_size = PROBLEMS[case[0]](), 64
    kept = json.loads(KEPT.read_text())[label(case)][str(batch_size)]
    how: dict[str, Any] = {
        "tessellation": NICHES[case[1]](problem.features),
        "variation": tl.variation.by_name(case[2]),
    }
    how |= {"initial": INITIAL, "batch_size": batch_size, "seed": SEED}
    assert digest(tl.illuminate(problem, evaluations=EVALUATIONS, workers=1, **how)) == kept
    tl.run(problem, evaluations=INITIAL + 10 * batch_size, out=tmp_path / "run", **how)
    assert digest(tl.resume(tmp_path / "run", evaluations=EVALUATIONS).archive) == kept


def test_every_configuration_kept_is_tested():
    assert set(json.loads(KEPT.read_text())) == {label(case) for case in CASES}


if __name__ == "__main__":
    KEPT.write_text(json.dumps({label(case): digests(*case, 1) for case in CASES}, indent=1) + "\n")
