"""Construction for features with labels: a CVT over the other features for each combination of labels.

Niches are shared out evenly; in proportion to the samples where an array of samples is given; as the start has them
where that is given. Uniform spaces of equal size have the same centroids whatever their labels, so that niches of
different labels can be compared.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tesselite.base.arrays import Floats, Ints
from tesselite.spaces.features import FeatureSpace
from tesselite.tessellation.nearest.rings import count_groups, group_of_labels
from tesselite.tessellation.samplers import accepted, with_sampler
from tesselite.tessellation.voronoi import VoronoiTessellation

if TYPE_CHECKING:
    from tesselite.tessellation.cvt import ConstructionRecord, CvtJob
    from tesselite.tessellation.kind import OnIteration


@dataclass(frozen=True)
class _OfLabels:
    """The draws of a space's sampler that have one combination of labels, without the labels."""

    space: FeatureSpace
    group: int

    def __call__(self, n: int, rng: np.random.Generator) -> Floats:
        """n rows in feature units, shape (n, d)."""

        def draw(m: int) -> Floats:
            return self.space.sample(m, rng)

        def has_labels(rows: Floats) -> npt.NDArray[np.bool_]:
            return np.asarray(group_of_labels(self.space.to_unit(rows), self.space) == self.group)

        return accepted(n, draw, has_labels, "sampler")[:, ~self.space.labelled]


def shares(n: int, weights: Ints) -> Ints:
    """n niches shared out in proportion to the weights, at least one each; of equal remainders, to the first ones."""
    exact = n * weights / weights.sum()
    counts = np.maximum(np.floor(exact), 1.0).astype(np.int64)
    while counts.sum() != n:
        step = 1 if counts.sum() < n else -1
        need = np.where((counts > 1) | (step > 0), step * (exact - counts), -np.inf)
        counts[int(np.argmax(need.round(9)))] += step
    return counts


def construct_by_label(job: CvtJob, on_iteration: OnIteration | None) -> VoronoiTessellation:
    """Carry out a construction over a space with labels; ValueError if samples lack a combination of labels."""
    began = time.perf_counter()
    space, n_groups = job.space, count_groups(job.space)
    counts = _niches_of_groups(job, n_groups)
    made: dict[int, VoronoiTessellation] = {}
    parts: list[Floats] = []
    records = []
    done = 0

    def report(iteration: int, error: float) -> None:
        if on_iteration is not None:
            on_iteration(done + iteration, error)

    for group in range(n_groups):
        k = int(counts[group])
        own = _job_of(job, group, k)
        same = own.space.uniform and own.array is None and isinstance(own.start, str)
        found = made[k] if same and k in made else own.run(report)
        if found.record is not None and not (same and k in made):
            done += found.record.iterations
        made[k] = found
        records.append(found.record)
        rows = np.empty((k, space.n))
        rows[:, ~space.labelled] = found.centroids
        rows[:, space.labelled] = _labels_of(space, group)
        parts.append(rows)
    record = _joined_record([record for record in records if record is not None], counts)
    record = replace(record, seconds=time.perf_counter() - began, seed=job.seed, sampler=job.sampler_name())
    return VoronoiTessellation(space, np.concatenate(parts), job.p, record)


def _joined_record(records: list[ConstructionRecord], counts: Ints) -> ConstructionRecord:
    """The records of constructions of these numbers of niches as one; each keeps its last error while others
    continue."""
    most = max(record.iterations for record in records)
    errors = [np.pad(record.errors, (0, most - record.iterations), "edge") for record in records] if most else []
    return replace(
        records[0],
        iterations=most,
        converged=all(record.converged for record in records),
        errors=tuple(np.average(errors, axis=0, weights=counts).tolist()) if most else (),
        n_samples=sum(record.n_samples for record in records),
    )


def _niches_of_groups(job: CvtJob, n_groups: int) -> Ints:
    if not isinstance(job.start, str):
        return np.bincount(group_of_labels(job.space.to_unit(job.start), job.space), minlength=n_groups)
    if job.array is None:
        return shares(job.k, np.ones(n_groups, np.int64))
    weights = np.bincount(group_of_labels(job.array, job.space), minlength=n_groups)
    if not weights.all():
        missing = int((weights == 0).sum())
        raise ValueError(f"samples: expected some of all {n_groups} combinations of labels, got none of {missing}")
    return shares(job.k, weights)


def _labels_of(space: FeatureSpace, group: int) -> list[int]:
    """The numbers of the labels of a combination, in the order of the features."""
    numbers = []
    for labels in reversed(space.labels.values()):
        group, number = divmod(group, len(labels))
        numbers.append(number)
    return numbers[::-1]


def _job_of(job: CvtJob, group: int, k: int) -> CvtJob:
    """The construction of k niches over the features without labels, for one combination of labels."""
    space, kept = job.space, ~job.space.labelled
    rest = space.without_labels()
    if not space.uniform:
        rest = with_sampler(rest, _OfLabels(space, group))
    start, array = job.start, job.array
    if not isinstance(start, str):
        start = start[group_of_labels(space.to_unit(start), space) == group][:, kept]
    if array is not None:
        array = np.ascontiguousarray(array[group_of_labels(array, space) == group][:, kept])
    n_samples = max(k, round(job.n_samples * k / job.k)) if array is None else len(array)
    seed = job.seed if space.uniform else int(np.random.SeedSequence([job.seed, group]).generate_state(1, np.uint64)[0])
    return replace(job, space=rest, k=k, n_samples=n_samples, seed=seed, array=array, start=start)
