"""The cost of keeping more: records with each elite, and the history of a run. python benchmarks/keeping.py [--write]

The compiled arm with ten joints on a grid of 64 x 64, in a folder, on one thread, in turn: plain, with two float
records, and with its history. Processor time of everything but compilation, files included; the least of all rounds
counts. The same with a plain Python function, whose evaluation takes some ten microseconds. About two minutes.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from numba import njit

import tesselite as tl
from measurement import keep_in_readme, machine, table

EVALUATIONS, ROUNDS = 500_000, 9
JOINTS = 10
BOX, FEATURES = tl.Box(JOINTS), {"x": (0.0, 1.0), "y": (0.0, 1.0)}


def arm(x):
    """A planar arm: fitness is the evenness of its joints."""
    total = mean = 0.0
    for j in range(JOINTS):
        mean += x[j] / JOINTS
    a = b = angle = 0.0
    for j in range(JOINTS):
        total += (x[j] - mean) ** 2
        angle += (x[j] - 0.5) * 6.0
        sine, cosine = tl.sincos(angle)
        a += cosine
        b += sine
    return 1.0 - total, (a / (2 * JOINTS) + 0.5, b / (2 * JOINTS) + 0.5)


compiled = njit(arm)


@njit
def recorded(x):
    """The same, with two records."""
    fitness, features = compiled(x)
    return fitness, features, (x[0], x[1])


def by_hand(x):
    """A plain function."""
    return -float(x.var()), (x[0], x[1])


def search(problem: tl.Problem, evaluations: int, history: bool) -> tuple[float, float]:
    """Microseconds of processor time and bytes of history for each evaluation."""
    how = {"grid": 64, "batch_size": 4096, "initial": 4096, "seed": 1, "threads": 1, "progress": False}
    with tempfile.TemporaryDirectory() as folder:
        began = time.process_time()
        tl.run(problem, evaluations=evaluations, out=Path(folder) / "run", history=history, **how)
        seconds = time.process_time() - began
        kept = sum(file.stat().st_size for file in (Path(folder) / "run").glob("history/*"))
    return 1e6 * seconds / evaluations, kept / evaluations


def main() -> None:
    """Print the table, and keep it in the README with --write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args()
    stated = tl.problem(solutions=BOX, features=FEATURES, name="arm")(compiled)
    with_records = tl.problem(solutions=BOX, features=FEATURES, records={"a": float, "b": float})(recorded)
    plain = tl.problem(solutions=BOX, features=FEATURES)(by_hand)
    few = EVALUATIONS // 10
    cases = {
        "compiled arm": (stated, EVALUATIONS, False),
        "with two float records": (with_records, EVALUATIONS, False),
        "with its history": (stated, EVALUATIONS, True),
        "Python function": (plain, few, False),
        "with its history, too": (plain, few, True),
    }
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in cases}
    for turn in range(options.rounds + 1):
        for name, case in cases.items():
            measured = search(*case)
            if turn:  # the first compiles
                found[name].append(measured)
    least = {name: min(measured) for name, measured in found.items()}
    rows = []
    for name, (each, kept) in least.items():
        base = least["compiled arm" if cases[name][1] == EVALUATIONS else "Python function"][0]
        rows.append([name, f"{each:.2f}", f"{each / base:.2f}", f"{kept:.0f}" if kept else "-"])
    text = table(["search", "us per evaluation", "of the first", "bytes per evaluation"], rows)
    text += f"\n\n{machine(('numpy', 'numba', 'pyarrow'))}; the least of {options.rounds} rounds, processor time.\n"
    print(text)
    if options.write:
        keep_in_readme("keeping", text)


if __name__ == "__main__":
    main()
