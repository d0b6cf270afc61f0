"""The demonstration behind `make demo`: illuminate the maze, draw what was found, and say where it is."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import tesselite as tl
from tesselite.report.page import write_report
from tesselite.report.run_figures import plot_run
from tesselite.runs.display import shown_run
from tesselite.runs.plan import Plan
from tesselite.runs.run import start_run
from tesselite.tessellation.niches import Cvt

OUT = Path("demo")
EVALUATIONS = 20_000


def main(out: Path = OUT, evaluations: int = EVALUATIONS) -> None:
    """Run, draw, and say where things are."""
    shutil.rmtree(out, ignore_errors=True)
    print("A robot in a maze, driven by networks that evolve: the best way to each of 1,000 kinds of trajectories.")
    print("(The very first run compiles for half a minute.)", flush=True)
    problem = tl.problems.maze("10d")
    plan = Plan.of(problem, Cvt(1000), evaluations=evaluations, initial=min(2000, evaluations), seed=1)
    with shown_run(quiet=False) as display:
        figures = start_run(plan, problem, out, display=display).to_dict()
    print(
        f"{figures['filled']:,} of {figures['n_niches']:,} niches filled by {figures['evaluations']:,} evaluations in "
        f"{figures['seconds_search']:.0f} s; the best robot comes within {figures['best_fitness']:.2f} of the goal."
    )
    for file in [out / "archive.parquet", *plot_run(out, out / "figures")]:
        print(f"  {file}")
    print(f"  {write_report([out], out / 'report.html')}  <- open this one in a browser")


if __name__ == "__main__":
    main(*([OUT, int(sys.argv[1])] if len(sys.argv) > 1 else []))
