"""Exact nearest-centroid look-up against SciPy's cKDTree, faiss' flat index and scikit-learn, in one process.

With 100,000 centroids in 1000 dimensions it needs 4 GiB. Run it where tesselite, scipy, faiss-cpu and scikit-learn are
installed:

    python benchmarks/lookup.py
    python benchmarks/lookup.py --dims 2,6 --centroids 5000 --batches 200,10000

`--cpu` reports processor time instead of time on the clock: fair on a busy machine, with one thread.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

ARGUMENTS = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
ARGUMENTS.add_argument("--dims", default="2,6,12,36,250,1000")
ARGUMENTS.add_argument("--centroids", default="5000,100000")
ARGUMENTS.add_argument("--batches", default="1,200,10000")
ARGUMENTS.add_argument("--threads", type=int, default=1)
ARGUMENTS.add_argument("--seconds", type=float, default=0.5, help="how long to measure each point")
ARGUMENTS.add_argument("--cpu", action="store_true")
ARGUMENTS.add_argument("--data", default="uniform,maze", help="maze: 250 and 1000 dimensions, centroids are paths too")
ARGUMENTS.add_argument("--rings", action="store_true", help="periodic features against cKDTree with a boxsize instead")
ARGUMENTS.add_argument("--norms", action="store_true", help="other norms against SciPy's cdist instead")
OPTIONS = ARGUMENTS.parse_args()
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = str(OPTIONS.threads)

import numpy as np  # noqa: E402

from tesselite.tessellation.nearest import build_index  # noqa: E402

CLOCK = time.process_time if OPTIONS.cpu else time.perf_counter


def per_query(look_up: Callable[[Any], Any], points: Any) -> float:
    """Microseconds a query, the best of as many runs as fit the time; at least two."""
    look_up(points[:1])  # compiles
    best, spent, runs = float("inf"), 0.0, 0
    while runs < 2 or (spent < OPTIONS.seconds and runs < 1000):
        began = CLOCK()
        look_up(points)
        took = CLOCK() - began
        best, spent, runs = min(best, took), spent + took, runs + 1
        if took > 4 * OPTIONS.seconds:
            break
    return best / len(points) * 1e6


def drawing(data: str, d: int) -> Callable[[int, Any], Any]:
    """A function of (n, rng) that draws n unit-scaled rows: uniform, or paths that a maze's robot could drive."""
    if data == "uniform":
        return lambda n, rng: rng.random((n, d))
    import tesselite as tl

    space = tl.problems.maze(f"{d}d").features
    return lambda n, rng: space.to_unit(space.sample(n, rng))


def indexes() -> None:
    import faiss
    from scipy.spatial import cKDTree
    from sklearn.neighbors import NearestNeighbors

    faiss.omp_set_num_threads(OPTIONS.threads)
    faiss.cvar.distance_compute_blas_threshold = 20  # its best: otherwise small batches take a slow path
    print(f"Microseconds a query, {OPTIONS.threads} thread(s); faiss in single precision, not exact")
    print(
        "| data | dimensions | centroids | batch | tesselite | (index) | cKDTree | faiss flat | scikit-learn "
        "| best / ours |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    for data, d in ((data, int(d)) for data in OPTIONS.data.split(",") for d in OPTIONS.dims.split(",")):
        if data == "maze" and d not in (250, 1000):
            continue
        for k in (int(text) for text in OPTIONS.centroids.split(",")):
            rng = np.random.default_rng(d + k)
            draw = drawing(data, d)
            centroids = draw(k, rng)
            ours = build_index(centroids)
            tree = cKDTree(centroids) if d <= 12 else None
            flat = faiss.IndexFlatL2(d)
            flat.add(centroids.astype(np.float32))
            algorithm = "kd_tree" if d <= 12 else "brute"
            learn = NearestNeighbors(n_neighbors=1, algorithm=algorithm, n_jobs=1).fit(centroids)
            for batch in (int(text) for text in OPTIONS.batches.split(",")):
                points = draw(batch, rng)
                singles = points.astype(np.float32)
                times = [per_query(lambda x, i=ours: i.query(x, OPTIONS.threads), points)]
                slow = d * k * batch > 2e9  # half an hour for the k-d tree: measure a part
                part = points[:: max(1, batch // 50)] if slow else points
                times.append(per_query(lambda x, t=tree: t.query(x), part) if tree is not None else np.nan)
                times.append(per_query(lambda x, f=flat: f.search(x, 1), singles))
                times.append(per_query(lambda x, s=learn: s.kneighbors(x, return_distance=False), part))
                best = np.nanmin(times[1:]) / times[0]
                shown = [f"{value:.3g}" for value in times]
                shown.insert(1, ours.kind)
                shown = ["" if value == "nan" else value for value in shown]
                print(f"| {data} | {d} | {k} | {batch} | {' | '.join(shown)} | {best:.2f} |", flush=True)


def norms() -> None:
    from scipy.spatial.distance import cdist

    print("| dimensions | centroids | p | tesselite, microseconds a query | cdist | times faster |")
    print("|---|---|---|---|---|---|")
    for d, k in ((50, 5000), (1000, 1000)):
        for p in (0.5, 1.0, np.inf, 3.0, 0.3):
            rng = np.random.default_rng(0)
            centroids, points = rng.random((k, d)), rng.random((64, d))
            index = build_index(centroids, p)
            metric = {"metric": "minkowski", "p": p} if p != np.inf else {"metric": "chebyshev"}
            ours = per_query(lambda x, i=index: i.query(x, 1), points)
            theirs = per_query(lambda x, c=centroids, m=metric: cdist(x, c, **m).argmin(axis=1), points)
            print(f"| {d} | {k} | {p:g} | {ours:.4g} | {theirs:.4g} | {theirs / ours:.1f} |", flush=True)


def rings() -> None:
    from scipy.spatial import cKDTree

    import tesselite as tl
    from tesselite.tessellation.nearest.rings import build_index_for

    print("| dimensions | periodic | centroids | tesselite, µs a query | none periodic | cKDTree | times faster |")
    print("|---|---|---|---|---|---|---|")
    for d, n_rings in ((2, 1), (2, 2), (3, 1), (3, 3), (6, 1), (6, 4), (6, 6), (8, 8)):
        axes = {f"f{j}": tl.Periodic(0, 1) if j < n_rings else (0, 1) for j in range(d)}
        for k in (5000, 100_000):
            rng = np.random.default_rng(0)
            centroids, points = rng.random((k, d)), rng.random((10_000 if n_rings < 5 else 200, d))
            index, plain = build_index_for(tl.FeatureSpace(axes), centroids), build_index(centroids)
            tree = cKDTree(centroids, boxsize=[1.0] * n_rings + [0.0] * (d - n_rings))
            ours, flat = (per_query(lambda x, i=found: i.query(x, 1), points) for found in (index, plain))
            theirs = per_query(lambda x, t=tree: t.query(x), points[:1000])
            print(
                f"| {d} | {n_rings} | {k} | {ours:.3g} | {flat:.3g} | {theirs:.3g} | {theirs / ours:.1f} |", flush=True
            )


if __name__ == "__main__":
    if OPTIONS.norms:
        norms()
    elif OPTIONS.rings:
        rings()
    else:
        indexes()
