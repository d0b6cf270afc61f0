"""Evaluations in this process, batch by batch or by the compiled loop."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace

import numpy as np

from tesselite.archive.evaluation import Evaluation
from tesselite.base.threads import checked_threads
from tesselite.execution.batches import known_results, take_known
from tesselite.execution.execution import Execution, Job
from tesselite.execution.workers import Workers
from tesselite.execution.workers.farm import evaluation_of, result_of
from tesselite.search.map_elites import MapElites, batches
from tesselite.spaces.solutions import Rows


@dataclass(frozen=True)
class InProcess(Execution):
    """Batches that this process evaluates itself."""

    kind = "in process"

    def open(self) -> AbstractContextManager[Workers | None]:
        """No workers."""
        return nullcontext()

    def steps(self, job: Job, workers: Workers | None) -> Iterator[MapElites]:
        """Batches evaluated here. Results that workers left in the log come first."""
        known = known_results(job)
        n_threads = checked_threads(job.threads)

        def evaluate(rows: Rows, first: int) -> Evaluation:
            results = take_known(known, rows, first)
            missing = [number for number in range(first, first + len(rows)) if number not in results]
            seeds = job.problem.seeds_in(job.search.seed, np.array(missing, np.int64))
            here = job.problem.evaluate_checked(rows[[number - first for number in missing]], None, n_threads, seeds)
            for i, number in enumerate(missing):
                results[number] = result_of(here, i, number)
            joined = evaluation_of([results[number] for number in sorted(results)], job.problem.records)
            return replace(joined, first_error=here.first_error)

        search, problem = job.search, job.problem
        if known:
            for state in batches(search, problem, job.evaluations, batch_size=job.batch_size, evaluate=evaluate):
                yield state
                if not known:
                    break
        yield from batches(
            search,
            problem,
            job.evaluations,
            batch_size=job.batch_size,
            threads=job.threads,
            milestone=job.milestone,
        )


IN_PROCESS = InProcess()
