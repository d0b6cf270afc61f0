"""The demonstration behind `make demo`: illuminate the maze, draw the results, and print where they are."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import tesselite as tl

OUT = Path("demo")
EVALUATIONS = 20_000


def main(out: Path = OUT, evaluations: int = EVALUATIONS) -> None:
    """Run, draw, and print where the files are."""
    shutil.rmtree(out, ignore_errors=True)
    print("Evolved networks drive a robot through a maze: the best one for each of 1,000 kinds of trajectories.")
    print("(The very first run compiles for half a minute.)", flush=True)
    initial = min(2000, evaluations)
    maze = tl.problems.maze("10d")
    run = tl.run(maze, n_niches=1000, evaluations=evaluations, initial=initial, seed=1, out=out, progress=True)
    archive = run.archive
    print(
        f"{len(archive):,} of {archive.n_niches:,} niches filled by {run.evaluations:,} evaluations in "
        f"{run.seconds_search:.0f} s; the best robot comes within {archive.best_fitness:.2f} of the goal."
    )
    for file in [out / "archive.parquet", *tl.plot_run(out)]:
        print(f"  {file}")
    print(f"  {tl.write_report([out], out / 'report.html')}  <- open this one in a browser")


if __name__ == "__main__":
    main(*([OUT, int(sys.argv[1])] if len(sys.argv) > 1 else []))
