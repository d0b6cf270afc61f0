"""How long a reproduction will take and how much disk it needs, measured on a small part of the work."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tesselite.assessment.trial import Trial
from tesselite.emitters.names import by_name as emitter_by_name
from tesselite.paper.reproduce import Job
from tesselite.paper.studies import CVT_ITERATIONS, Pair
from tesselite.problems import by_name
from tesselite.search.map_elites import batches, search_for
from tesselite.tessellation.forecast import as_duration
from tesselite.tessellation.forecast import forecast as forecast_cvt
from tesselite.tessellation.grid import GridTessellation
from tesselite.tessellation.samplers import with_sampler
from tesselite.tessellation.voronoi import VoronoiTessellation

_PILOT = 600  # evaluations, the second half of which is timed
_REPEATS = 3
_SUMMARY_BYTES = 25_000
_PROCESS_BYTES = 300_000_000
_FILLED = 0.6  # share of a CVT's niches, and of a grid's evaluations up to its niches, that we expect to be filled


@dataclass(frozen=True)
class StudyForecast:
    """Seconds of wall-clock time, bytes of memory and of disk at most while it works, and bytes kept at the end."""

    n_trials: int
    seconds: float
    memory_bytes: int
    working_bytes: int
    kept_bytes: int

    def __str__(self) -> str:
        return (
            f"{self.n_trials} trials to run: about {as_duration(self.seconds)}, up to {_size(self.memory_bytes)} of "
            f"memory and {_size(self.working_bytes)} of disk while it works, {_size(self.kept_bytes)} of summaries at "
            "the end"
        )


def _size(n: int) -> str:
    return f"{n / 1e9:.1f} GB" if n >= 1e9 else f"{max(n / 1e6, 0.1):.1f} MB"


def forecast(jobs: Sequence[Job], done: dict[str, list[Trial]], workers: int) -> StudyForecast:
    """The cost of these jobs, from trials that are `done`: of the same pair, otherwise of the same problem.

    If there are none, a small search is timed. Of several trials of the pair the shortest counts. From
    other pairs, totals of the stored studies are forecast within a factor of 1.5, single pairs within 2.5.
    """
    evaluation_seconds = _rates(done)
    trial_seconds: dict[str, float] = {}
    total, largest, centroids, memory = 0.0, 0, 0, 0
    for job in jobs:
        pair = job.pair
        if job.number is None:
            assert pair.n_niches is not None
            space = by_name(pair.problem).features
            found = forecast_cvt(
                with_sampler(space, None) if pair.cvt_sampler == "arena" else space,
                pair.n_niches,
                pair.n_samples,
                pair.p,
                min(CVT_ITERATIONS if pair.cvt_iterations is None else pair.cvt_iterations, 60),
                "lloyd",
                job.threads,
            )
            total += found.seconds
            memory = max(memory, found.memory)
            centroids += 8 * pair.n_niches * space.n
            continue
        if pair.name not in trial_seconds:
            earlier = [_seconds(trial) for trial in done.get(pair.name, []) if _seconds(trial) > 0.0]
            if earlier:
                trial_seconds[pair.name] = min(earlier)  # other work, and earlier versions, only made trials slower
            else:
                kind = _kind(pair.problem, pair.variation)
                if kind not in evaluation_seconds:
                    evaluation_seconds[kind] = _evaluation_seconds(pair, job.threads)
                trial_seconds[pair.name] = _trial_seconds(pair, evaluation_seconds[kind])
        total += trial_seconds[pair.name]
        largest = max(largest, _run_bytes(pair))
    n_trials = sum(job.number is not None for job in jobs)
    kept = n_trials * _SUMMARY_BYTES
    memory = max(workers, 1) * (_PROCESS_BYTES + max(memory, 2 * largest))  # rows grow by doubling
    return StudyForecast(n_trials, total / max(workers, 1), memory, centroids + largest * max(workers, 1) + kept, kept)


def _kind(problem: str, variation: str | None) -> tuple[str, str | None]:
    """A problem's name without its options, whose evaluations cost about the same, and the variation."""
    return problem.partition(":")[0], variation


def _seconds(trial: Trial) -> float:
    """Seconds of a trial in all sittings, where it was stopped and continued."""
    return sum(trial.seconds.get(part, 0.0) for part in ("search", "assessment"))


def _rates(done: dict[str, list[Trial]]) -> dict[tuple[str, str | None], float]:
    """Seconds of an evaluation by kind: the median over trials in the Euclidean norm, whose look-ups are cheap."""
    found: dict[tuple[str, str | None], list[float]] = {}
    for trial in (trial for trials in done.values() for trial in trials):
        settings, seconds = trial.settings, _seconds(trial)
        if settings.get("p", 2.0) == 2.0 and seconds > 0.0:
            rate = seconds / (settings["evaluations"] + trial.assessed * len(trial.best))
            found.setdefault(_kind(settings["problem"], settings.get("variation")), []).append(rate)
    return {kind: float(np.median(rates)) for kind, rates in found.items()}


def _elites(pair: Pair) -> int:
    if pair.n_niches is not None:
        return int(_FILLED * pair.n_niches)
    cells = float(pair.grid or 1) ** by_name(pair.problem).features.n
    return int(_FILLED * min(cells, pair.evaluations))


def _run_bytes(pair: Pair) -> int:
    """Twice (a file is replaced by a new one) the archive, and the centroids."""
    problem = by_name(pair.problem)
    row = problem.features.n * 8 + problem.solutions.width * problem.solutions.dtype.itemsize + 32
    return 2 * _elites(pair) * row + 8 * problem.features.n * (pair.n_niches or 0)


def _best_of(work: Callable[[], float]) -> float:
    """The shortest time of several, after a first one that compiles.

    A single time may include compilation or other processes, which millions of evaluations would multiply.
    """
    work()
    return min(work() for _ in range(_REPEATS))


def _evaluation_seconds(pair: Pair, threads: int) -> float:
    """Seconds of an evaluation and all that goes with it but the look-up of niches, measured on a small search."""
    problem = by_name(pair.problem)
    n = min(_PILOT, pair.evaluations)

    def pilot() -> float:
        niches = GridTessellation(problem.features, 1 if problem.features.n > 40 else 2)
        emitter = emitter_by_name(pair.variation) if pair.variation else None
        search = search_for(problem, niches, emitter, max(1, n // 2), 0)
        began, first = time.perf_counter(), 0
        for state in batches(search, problem, n, batch_size=min(100, pair.batch_size, max(1, n // 4)), threads=threads):
            if state.evaluations <= n // 2:
                began, first = time.perf_counter(), state.evaluations
        return (time.perf_counter() - began) / max(1, n - first)

    return _best_of(pilot)


def _look_up_seconds(pair: Pair) -> float:
    """Seconds to look one solution's niche up, where that takes a noticeable share of an evaluation."""
    problem = by_name(pair.problem)
    if pair.n_niches is None or problem.features.n < 6:
        return 0.0
    rng = np.random.default_rng(0)
    tessellation = VoronoiTessellation(problem.features, problem.features.sample(pair.n_niches, rng), p=pair.p)
    points = problem.features.sample(200, rng)

    def look_up() -> float:
        began = time.perf_counter()
        tessellation.niche_of(points, threads=1)
        return (time.perf_counter() - began) / len(points)

    return _best_of(look_up)


def _trial_seconds(pair: Pair, evaluation: float) -> float:
    assessed = min(_elites(pair), pair.at_most) * (1 + len(by_name(pair.problem).scenarios))
    return pair.evaluations * (evaluation + _look_up_seconds(pair)) + assessed * evaluation + 2.0
