"""Batches on workers: the archive is the same, to the last byte, as that of a search in one process."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from tesselite.archive.evaluation import Evaluation
from tesselite.execution.execution import Job, OnWorkers
from tesselite.execution.log import Logged
from tesselite.execution.workers import Workers
from tesselite.execution.workers.farm import Result
from tesselite.search.map_elites import MapElites, batches
from tesselite.spaces.solutions import Rows


@dataclass(frozen=True)
class Batches(OnWorkers):
    """Batches whose rows are evaluated on workers."""

    kind = "batches"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.workers is None:
            raise ValueError("workers: expected some for batches on workers, got None")

    def steps(self, job: Job, workers: Workers | None) -> Iterator[MapElites]:
        """Spend the job's evaluations in batches; results go to the log as they come."""
        assert workers is not None
        farm, log, known = self.farm(job, workers), job.log, known_results(job)

        def evaluate(rows: Rows, first: int) -> Evaluation:
            ours = take_known(known, rows, first).values()
            finished = itertools.count(first + len(ours))
            tell = job.evaluated or (lambda n: None)

            def note(result: Result) -> None:
                if log:
                    log.append(result, rows[result.number - first])
                tell(next(finished))

            tell(next(finished))
            return farm.evaluate(rows, first=first, known=ours, done=note)

        return batches(job.search, job.problem, job.evaluations, batch_size=job.batch_size, evaluate=evaluate)


def known_results(job: Job) -> dict[int, Logged]:
    """Results in the log that are not in the search yet, by number."""
    read = job.log.read() if job.log else []
    return {logged.result.number: logged for logged in read if logged.result.number >= job.search.evaluations}


def take_known(known: dict[int, Logged], rows: Rows, first: int) -> dict[int, Result]:
    """Take the results of these rows, the first of which has this number, out of the known ones."""
    taken = {number: known.pop(number, None) for number in range(first, first + len(rows))}
    return {n: logged.result for n, logged in taken.items() if logged is not None and logged.is_of(rows[n - first])}
