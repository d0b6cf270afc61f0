"""CMA-MAE against pyribs: python benchmarks/emitters.py speed [--write] | quality PROBLEM --seeds 1,2 -o DIR

speed: microseconds per evaluation of LP sphere with 100 variables, 15 emitters of 36; both libraries take turns in
short windows, of which the best counts, so that other work on the machine slows both alike. Some three minutes.
quality: pyribs' CMA-MAE on a public benchmark at the literature's 5.4 million evaluations, a small JSON file for each
seed, which `tesselite bench --report` puts beside ours. About two minutes of a core for each.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import drive_pyribs
import tesselite as tl
from measurement import keep_in_readme, machine, table
from public_objectives import PUBLIC
from tesselite.search.map_elites import batches

WIDTH, BATCH = 100, 540
FULL = 5_400_000
WARM = 200  # batches before the clock starts: as many as the thresholds of the centre need to settle


class Pyribs:
    """CMA-MAE of pyribs on LP sphere, a window of batches at a time."""

    def __init__(self) -> None:
        self.objective, bound, sigma = PUBLIC["lp-sphere"]
        self.scheduler = drive_pyribs.cma_mae(WIDTH, bound, sigma, seed=1)

    def advance(self, n: int) -> None:
        """Do n batches."""
        for _ in range(n):
            self.scheduler.tell(*self.objective(self.scheduler.ask()))


class Tesselite:
    """CMA-MAE of this library on LP sphere, compiled objective included."""

    def __init__(self, threads: int, width: int = WIDTH, **settings: Any) -> None:
        self.problem, self.threads = tl.problems.lp("sphere", n=width), threads
        niches = tl.GridTessellation(self.problem.features, 100)
        emitter = tl.emitters.cma_mae(**settings)
        self.search = tl.MapElites(self.problem.solutions, niches, emitter=emitter, initial=BATCH, floor=0.0, seed=1)

    def advance(self, n: int) -> None:
        """Do n batches."""
        budget = self.search.evaluations + n * BATCH
        for _ in batches(self.search, self.problem, budget, batch_size=BATCH, threads=self.threads):
            pass


def speed(rounds: int, write: bool) -> None:
    """Print, and keep in the README, what an evaluation takes: the least wall-clock and processor time of rounds."""
    cases: dict[str, tuple[Any, int]] = {
        "pyribs 0.12.0, n = 100": (Pyribs(), 40),
        "tesselite, n = 100, 1 thread": (Tesselite(1), 400),
        "tesselite, n = 100, 2 threads": (Tesselite(2), 400),
        "tesselite, n = 1000, separable, 1 thread": (Tesselite(1, 1000, covariance="separable"), 60),
        "tesselite, n = 1000, limited memory, 1 thread": (Tesselite(1, 1000, covariance="limited"), 60),
    }
    for case, n in cases.values():
        case.advance(WARM if n > 100 else n)
    wall = dict.fromkeys(cases, float("inf"))
    busy = dict.fromkeys(cases, float("inf"))
    for _ in range(rounds):
        for name, (case, n) in cases.items():
            began, used = time.perf_counter(), time.process_time()
            case.advance(n)
            each = 1e6 / (n * BATCH)
            wall[name] = min(wall[name], each * (time.perf_counter() - began))
            busy[name] = min(busy[name], each * (time.process_time() - used))
    first = next(iter(cases))
    rows = [
        (
            name,
            *(f"{taken[name]:.2f}" for taken in (wall, busy)),
            *(f"{taken[first] / taken[name]:.1f}x" if "100," in name else "" for taken in (wall, busy)),
        )
        for name in cases
    ]
    head = ("CMA-MAE, 15 emitters of 36, LP sphere", "wall, us", "processor, us", "faster, wall", "faster, processor")
    text = table(head, rows)
    two = wall["tesselite, n = 100, 1 thread"] / wall["tesselite, n = 100, 2 threads"]
    about = machine(("ribs", "numpy", "numba"))
    text += f"\n\nTwo threads against one: {two:.2f}x. {rounds} rounds. {about}."
    print(text)
    if write:
        keep_in_readme("emitters", text)


def quality(name: str, seed: int, evaluations: int, out: Path) -> Path:
    """Run pyribs' CMA-MAE once and keep its progress."""
    objective, bound, sigma = PUBLIC[name]
    scheduler = drive_pyribs.cma_mae(WIDTH, bound, sigma, seed)
    every = max(1, evaluations // BATCH // 100)
    progress: dict[str, list[float]] = {"evaluations": [], "coverage": [], "qd_score": []}
    began = time.process_time()
    for batch in range(1, evaluations // BATCH + 1):
        scheduler.tell(*objective(scheduler.ask()))
        if batch % every == 0 or batch * BATCH == evaluations:
            stats = scheduler.result_archive.stats
            for column, value in zip(progress, (batch * BATCH, stats.coverage, stats.qd_score), strict=True):
                progress[column].append(round(float(value), 4))
    about: dict[str, Any] = {
        "problem": name,
        "algorithm": "cma_mae",
        "library": "pyribs 0.12.0",
        "seed": seed,
        "processor_seconds": round(time.process_time() - began, 1),
        "progress": progress,
    }
    out.mkdir(parents=True, exist_ok=True)
    file = out / f"{name}-{seed}.json"
    file.write_text(json.dumps(about, separators=(",", ":")) + "\n", encoding="utf-8")
    print(f"{file}: coverage {progress['coverage'][-1]:.4f}, QD score {progress['qd_score'][-1]:,.0f}", flush=True)
    return file


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    timed = commands.add_parser("speed")
    timed.add_argument("--rounds", type=int, default=30)
    timed.add_argument("--write", action="store_true", help="keep the table in README.md")
    asked = commands.add_parser("quality")
    asked.add_argument("problem", choices=PUBLIC)
    asked.add_argument("--seeds", default="1")
    asked.add_argument("--evaluations", type=int, default=FULL)
    asked.add_argument("-o", "--out", type=Path, required=True)
    options = parser.parse_args()
    if options.command == "speed":
        speed(options.rounds, options.write)
        return
    for seed in map(int, options.seeds.split(",")):
        quality(options.problem, seed, options.evaluations, options.out)


if __name__ == "__main__":
    main()
