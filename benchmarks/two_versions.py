"""The search loop of two versions of the source in turn: processor time of the same searches, on one thread.

    python benchmarks/two_versions.py BEFORE/src AFTER/src [rounds] [word in the names of cases]

Each version has a process of its own, which stays warm; of every case the best of all rounds counts, since disturbances
only make a measurement longer. The two are measured directly after each other, so that both meet the same machine.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time

EVALUATIONS, BATCH = 400_000, 4096


def cases():
    """Searches by name, each a function without arguments; the first call compiles."""
    import numpy as np
    from numba import njit

    import tesselite as tl

    rng = np.random.default_rng(1)
    arm = tl.problems.arm(10)
    wide = tl.FeatureSpace.unit(6)

    @tl.problem(solutions=tl.Box(10), features=wide)
    @njit
    def six(x):
        return -x[6] * x[7], (x[0], x[1], x[2], x[3], x[4], x[5])

    def loop(problem, tessellation, evaluations=EVALUATIONS):
        options = {"initial": BATCH, "batch_size": BATCH, "seed": 1, "threads": 1}
        return lambda: tl.illuminate(problem, tessellation=tessellation, evaluations=evaluations, **options)

    def centroids(space, n, **options):
        return tl.VoronoiTessellation(space, space.low + rng.random((n, space.n)) * (space.high - space.low), **options)

    flat = centroids(arm.features, 10_000)

    def ask_tell(batch, times):
        search = tl.MapElites(arm.solutions, flat, initial=BATCH, seed=1)
        draw = np.random.default_rng(2)
        fitness, features = draw.random((times, batch)), draw.random((times, batch, 2))
        for i in range(times):
            search.ask(batch)
            search.tell(fitness[i], features[i])

    return {
        "arm, grid 64 x 64": loop(arm, tl.GridTessellation(arm.features, [64, 64])),
        "arm, 10,000 centroids in 2D": loop(arm, flat),
        "arm, 10,000 centroids, p = 3": loop(arm, centroids(arm.features, 10_000, p=3.0), EVALUATIONS // 4),
        "six features, 10,000 centroids": loop(six, centroids(wide, 10_000), EVALUATIONS // 2),
        "ask and tell, 4096 at a time": lambda: ask_tell(BATCH, 50),
        "ask and tell, 128 at a time": lambda: ask_tell(128, 500),
    }


def serve():
    """Run the case that each line of standard input names, and print the seconds of processor time it took."""
    known = {name: run for name, run in cases().items() if sys.argv[-1] in name}
    for run in known.values():
        run()
    print("\n".join(known) + "\n", flush=True)
    for line in sys.stdin:
        began = time.process_time()
        known[line.rstrip("\n")]()
        print(time.process_time() - began, flush=True)


def main():
    sources, rounds = sys.argv[1:3], int(sys.argv[3]) if len(sys.argv) > 3 else 30
    word = sys.argv[4] if len(sys.argv) > 4 else ""
    versions = [
        subprocess.Popen(
            [sys.executable, __file__, "--serve", word],
            env={**os.environ, "PYTHONPATH": source},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        for source in sources
    ]
    names, _ = (list(iter(lambda v=version: v.stdout.readline().strip(), "")) for version in versions)
    took = {name: ([], []) for name in names}
    for i in range(rounds):
        for name in names:
            for j in (0, 1) if i % 2 else (1, 0):
                versions[j].stdin.write(f"{name}\n")
                took[name][j].append(float(versions[j].stdout.readline()))
    print("| case | before, s | after, s | after / before | of medians |\n|---|---|---|---|---|")
    for name, (before, after) in took.items():
        middle = sorted(after)[rounds // 2] / sorted(before)[rounds // 2]
        print(f"| {name} | {min(before):.4f} | {min(after):.4f} | {min(after) / min(before):.3f} | {middle:.3f} |")
    for version in versions:
        version.stdin.close()
        version.wait()


if __name__ == "__main__":
    serve() if "--serve" in sys.argv else main()
