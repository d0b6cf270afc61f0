"""A long asynchronous run with all kinds of failures: workers are killed, evaluations fail and hang."""

from __future__ import annotations

import json
import os
import random
import signal
import threading
import time
from collections import Counter
from contextlib import suppress

import pytest

import tesselite as tl
import worker_problems as problems
from tesselite.execution.log import EvaluationLog
from tesselite.execution.workers.processes import Processes
from tesselite.runs.run import replay, resume, run

SECONDS = float(os.environ.get("TESSELITE_SOAK_SECONDS", "600"))


@pytest.mark.slow
def test_a_long_run_with_every_kind_of_fault(tmp_path):
    folder, stop, killed = tmp_path / "run", threading.Event(), []
    current: list[Processes] = []

    def kill_at_random():
        rng = random.Random(1)
        while not stop.wait(rng.expovariate(1 / 3.0)):
            ready = [worker.process.pid for workers in current[-1:] for worker in workers._workers if worker.ready]
            if ready:
                killed.append(rng.choice(ready))
                with suppress(ProcessLookupError):  # it may just have died by itself
                    os.kill(killed[-1], signal.SIGKILL)

    def workers() -> Processes:
        current.append(Processes(2))
        return current[-1]

    killer = threading.Thread(target=kill_at_random)
    killer.start()
    until, evaluations = time.monotonic() + SECONDS, 1000
    try:
        how = {"workers": workers(), "timeout": 2.0, "asynchronous": True}
        summary = run(problems.troubled, out=folder, evaluations=evaluations, grid=[10, 10], initial=200, seed=1, **how)
        while time.monotonic() < until:
            evaluations += 2000
            summary = resume(folder, problems.troubled, evaluations=evaluations, workers=workers(), timeout=2.0)
    finally:
        stop.set()
        killer.join()
    results = [logged.result for logged in EvaluationLog(folder, 2).read()]
    assert sorted(result.number for result in results) == list(range(evaluations))  # none lost, none twice
    assert summary.search.evaluations == evaluations
    invalid = summary.search.archive.invalid
    assert Counter(result.reason for result in results if result.reason) == invalid
    assert replay(folder, problems.troubled).archive.equals(summary.search.archive)
    assert summary.search.archive.equals(tl.Archive.load(folder / "archive.parquet"))
    failures = [json.loads(line) for line in (folder / "failures.jsonl").read_text().splitlines()]
    assert len(failures) == min(1000, invalid.total())
    assert len(killed) >= SECONDS / 10
    print(f"{evaluations} evaluations, {len(killed)} workers killed from outside, invalid: {dict(invalid)}")
