"""CVT construction against faiss and scikit-learn: same samples, same start, same threads, one process.

Run it where tesselite, faiss-cpu and scikit-learn are installed:

    python benchmarks/cvt_construction.py                     # fixed samples, all dimensions, and quality
    python benchmarks/cvt_construction.py --dims 2,6 --repeats 3
    python benchmarks/cvt_construction.py --only trajectories   # 1000 dimensions; needs 6 GiB and minutes

`--cpu` reports processor time instead of time on the clock: fair on a busy machine, with one thread.
"""

from __future__ import annotations

import argparse
import os
import resource
import time
from collections.abc import Callable
from typing import Any

ARGUMENTS = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
ARGUMENTS.add_argument("--dims", default="2,3,4,6,12,24,36")
ARGUMENTS.add_argument("--niches", type=int, default=10_000)
ARGUMENTS.add_argument("--samples", type=int, default=100_000)
ARGUMENTS.add_argument("--iterations", type=int, default=20)
ARGUMENTS.add_argument("--repeats", type=int, default=2)
ARGUMENTS.add_argument("--threads", type=int, default=1)
ARGUMENTS.add_argument("--scikit-learn", default="2", help="dimensions to run scikit-learn in (it takes minutes)")
ARGUMENTS.add_argument("--only", choices=("fixed", "quality", "trajectories"))
ARGUMENTS.add_argument("--cpu", action="store_true")
ARGUMENTS.add_argument("--trajectory-samples", type=int, default=1_000_000)
OPTIONS = ARGUMENTS.parse_args()
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = str(OPTIONS.threads)  # before the libraries start their threads

import numpy as np  # noqa: E402

from tesselite.spaces.features import FeatureSpace  # noqa: E402
from tesselite.tessellation import cvt  # noqa: E402
from tesselite.tessellation.quality import best_mean_squared_distance, measure_quality  # noqa: E402

CLOCK = time.process_time if OPTIONS.cpu else time.perf_counter


def best_time(work: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    best, result = float("inf"), None
    for _ in range(repeats):
        began = CLOCK()
        result = work()
        best = min(best, CLOCK() - began)
    return best, result


def fresh_error(unit_centroids: Any) -> float:
    from tesselite.tessellation.nearest import build_index

    points = np.random.default_rng(12345).random((20_000, unit_centroids.shape[1]))
    unit_centroids = np.ascontiguousarray(unit_centroids, dtype=np.float64)
    gaps = points - unit_centroids[build_index(unit_centroids).query(points)]
    return float((gaps**2).sum(axis=1).mean())


def fixed_samples() -> None:
    import faiss

    faiss.omp_set_num_threads(OPTIONS.threads)
    k, n = OPTIONS.niches, OPTIONS.samples
    print(f"\nFixed samples: {k} niches, {n} samples, {OPTIONS.iterations} iterations, {OPTIONS.threads} thread(s)")
    print("| dimensions | tesselite s | faiss s | times faster | scikit-learn s | times faster | error: ours / faiss |")
    print("|---|---|---|---|---|---|---|")
    for d in (int(text) for text in OPTIONS.dims.split(",")):
        rng = np.random.default_rng(d)
        samples = rng.random((n, d)).astype(np.float32).astype(np.float64)
        start = samples[rng.permutation(n)[:k]]
        space = FeatureSpace.unit(d)

        def ours(k: int = k, space: FeatureSpace = space, samples: Any = samples, start: Any = start) -> Any:
            return cvt(
                space, k, samples=samples, start=start, iterations=OPTIONS.iterations, seed=0, threads=OPTIONS.threads
            )

        ours(50, start=start[:50], samples=samples[:500])  # compiles
        our_time, niches = best_time(ours, OPTIONS.repeats)

        def theirs(d: int = d, samples: Any = samples, start: Any = start) -> Any:
            means = faiss.Kmeans(
                d, k, niter=OPTIONS.iterations, seed=1, max_points_per_centroid=n, min_points_per_centroid=1
            )
            means.train(samples.astype(np.float32), init_centroids=start.astype(np.float32))
            return means.centroids

        faiss_time, faiss_centroids = best_time(theirs, OPTIONS.repeats)
        learn, learn_ratio = "", ""
        if str(d) in OPTIONS.scikit_learn.split(","):
            from sklearn.cluster import KMeans

            def learned(samples: Any = samples, start: Any = start) -> Any:
                return KMeans(k, init=start, n_init=1, max_iter=OPTIONS.iterations, tol=0, algorithm="lloyd").fit(
                    samples
                )

            learn_time, _ = best_time(learned, 1)
            learn, learn_ratio = f"{learn_time:.1f}", f"{learn_time / our_time:.0f}"
        errors = f"{fresh_error(niches.unit_centroids):.5g} / {fresh_error(faiss_centroids):.5g}"
        ratio = faiss_time / our_time
        print(
            f"| {d} | {our_time:.3f} | {faiss_time:.2f} | {ratio:.1f} | {learn} | {learn_ratio} | {errors} |",
            flush=True,
        )


def quality() -> None:
    n_niches = OPTIONS.niches
    print(f"\nQuality: {n_niches} niches of a uniform box, {OPTIONS.threads} thread(s)")
    print("| dimensions | how | seconds | mean squared distance | over the best known lattice |")
    print("|---|---|---|---|---|")
    cases: list[tuple[str, int, dict[str, Any]]] = [
        ("the default", 2, {}),
        ("exact, random start", 2, {"start": "random"}),
        ("fresh", 2, {"method": "fresh"}),
        ("the paper's Algorithm 1", 2, {"method": "lloyd", "n_samples": 100_000}),
        ("the default", 6, {}),
        ("the paper's Algorithm 1", 6, {"method": "lloyd", "n_samples": 100_000}),
    ]
    for name, d, arguments in cases:
        space = FeatureSpace.unit(d)
        cvt(space, 50, seed=0, **{**arguments, "iterations": 2})  # compiles
        seconds, niches = best_time(
            lambda a=arguments, s=space: cvt(s, n_niches, seed=1, threads=OPTIONS.threads, **a), 1
        )
        error = measure_quality(niches, 200_000).mean_squared_distance
        ratio = error / best_mean_squared_distance(n_niches, d)
        print(
            f"| {d} | {name}, {niches.record.iterations} iterations | {seconds:.2f} | {error:.5g} | {ratio:.4f} |",
            flush=True,
        )


def walks(n: int, rng: np.random.Generator) -> Any:
    """n trajectories of 500 points of a 1000 x 1000 arena, drivable as the maze's: up to 2 units a step on each axis.

    As in the paper, a point is drawn within reach of the neighbours drawn before, and so on by halves.
    """
    steps = 500
    path = np.empty((steps + 1, 2, n))
    path[0] = 500.0
    path[steps] = _within(path[0], steps, None, 0, rng)
    pending = [(0, steps)]
    while pending:
        first, last = pending.pop()
        if last - first < 2:
            continue
        middle = (first + last) // 2
        path[middle] = _within(path[first], middle - first, path[last], last - middle, rng)
        pending += [(first, middle), (middle, last)]
    return path[1:].reshape(2 * steps, n).T


def _within(before: Any, steps: int, after: Any, steps_after: int, rng: np.random.Generator) -> Any:
    low, high = np.maximum(before - 2.0 * steps, 0.0), np.minimum(before + 2.0 * steps, 1000.0)
    if after is not None:
        low, high = np.maximum(low, after - 2.0 * steps_after), np.minimum(high, after + 2.0 * steps_after)
    return low + rng.random(before.shape) * np.maximum(high - low, 0.0)


def trajectories() -> None:
    n, k = OPTIONS.trajectory_samples, 5000
    space = FeatureSpace({f"t{i}": (0, 1000) for i in range(1000)}, sampler=walks)
    print(f"\n1000 dimensions: {k} niches, {n} trajectories, at most 50 iterations, {OPTIONS.threads} thread(s)")
    began, marks = CLOCK(), []

    def show(iteration: int, error: float) -> None:
        marks.append(CLOCK() - began)
        print(f"  iteration {iteration}: {error:.6g} after {marks[-1]:.0f} s", flush=True)

    niches = cvt(
        space, k, n_samples=n, seed=1, method="lloyd", iterations=50, threads=OPTIONS.threads, on_iteration=show
    )
    steps = np.diff(marks)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"{marks[-1]:.0f} s, {niches.record.iterations} iterations ({niches.record.stopped}); drawing and the "
        f"first iteration {marks[0]:.0f} s, then {steps.mean():.1f} s an iteration; {peak:.1f} GiB at most"
    )


if __name__ == "__main__":
    if OPTIONS.only in (None, "fixed"):
        fixed_samples()
    if OPTIONS.only in (None, "quality"):
        quality()
    if OPTIONS.only == "trajectories":
        trajectories()
