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
from public_objectives import PUBLIC

WIDTH, BATCH = 100, 540
FULL = 5_400_000


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
    asked = commands.add_parser("quality")
    asked.add_argument("problem", choices=PUBLIC)
    asked.add_argument("--seeds", default="1")
    asked.add_argument("--evaluations", type=int, default=FULL)
    asked.add_argument("-o", "--out", type=Path, required=True)
    options = parser.parse_args()
    for seed in map(int, options.seeds.split(",")):
        quality(options.problem, seed, options.evaluations, options.out)


if __name__ == "__main__":
    main()
