"""The demonstration behind `make demo`: illuminate a planar arm, then draw it and make the interactive page."""

from __future__ import annotations

import shutil
from pathlib import Path

import tesselite as tl
from tesselite.cli.display import shown_progress
from tesselite.report.page import write_report
from tesselite.report.plots import plot_run
from tesselite.run import start

OUT = Path("demo")


def main() -> None:
    """Run, draw, and say where things are."""
    shutil.rmtree(OUT, ignore_errors=True)
    print(
        "A planar arm with 10 joints: the best posture for each of 5,000 places. (The first run compiles; wait a bit.)"
    )
    with shown_progress(quiet=False) as observer:
        summary = start(
            tl.problems.arm(10), OUT, spec="arm", n_niches=5000, evaluations=2_000_000, seed=1, observer=observer
        )
    figures = summary.to_dict()
    print(
        f"{figures['filled']:,} of {figures['n_niches']:,} niches filled by {figures['evaluations']:,} evaluations "
        f"in {figures['seconds_search']:.1f} s of search."
    )
    for file in [OUT / "archive.parquet", *plot_run(OUT, OUT / "figures")]:
        print(f"  {file}")
    print(f"  {write_report([OUT], OUT / 'report.html')}  <- open this one in a browser")


if __name__ == "__main__":
    main()
