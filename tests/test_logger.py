"""The logger `tesselite`: silent by default, complete when configured; callbacks at fixed evaluations."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time

import pytest

import tesselite as tl
from tesselite.base.logger import log


def test_nothing_is_shown_unless_logging_is_configured():
    code = "from tesselite.base.logger import log; log.error('lost'); print(log.handlers, log.propagate, log.level)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ)
    assert (done.stdout, done.stderr) == ("[<NullHandler (NOTSET)>] True 0\n", "")


def test_a_run_logs_its_start_checkpoints_stop_and_resume(tmp_path, caplog):
    caplog.set_level(logging.DEBUG, "tesselite")
    folder = tmp_path / "a\nb"
    tl.run(tl.problems.sphere(3), out=folder, grid=5, evaluations=2_000, seed=7, progress=lambda run: True)
    first = [record.getMessage() for record in caplog.records if "compiling" not in record.getMessage()]
    assert first[0].startswith("started sphere:3 in ")
    assert first[0].endswith(": 0 of 2000 evaluations, seed 7")
    assert any(text.startswith("stopped at ") and text.endswith(": the callback said so") for text in first)
    assert any(text.startswith("checkpoint at ") for text in first)
    assert first[-1].startswith("ended sphere:3 in ")
    assert not any("\n" in text for text in first)
    caplog.clear()
    tl.resume(folder, evaluations=3_000)
    assert caplog.records[0].getMessage().startswith("resumed sphere:3 in ")


def test_changes_of_niches_and_signals_are_logged(caplog):
    caplog.set_level(logging.INFO, "tesselite")
    calls: list[int] = []

    @tl.problem(solutions=tl.Box(2, 0, 1), features={"a": (0, 1), "b": (0, 1)})
    def hill(x):
        calls.append(1)
        if len(calls) == 60:
            os.kill(os.getpid(), signal.SIGINT)
        return x[0], (x[0], x[1])

    run = tl.run(hill, grid=3, evaluations=10_000, batch_size=50, initial=50, seed=1)
    assert run.was_interrupted
    assert f"stopped by signal 2 at {run.evaluations} evaluations" in caplog.messages
    run.search.change_tessellation(tl.GridTessellation(hill.features, 2))
    assert caplog.messages[-1].startswith(f"niches changed at {run.evaluations} evaluations: 4 niches, ")


@pytest.mark.parametrize("threads", [1, 2])
def test_a_compiled_problem_calls_back_at_the_same_evaluations_whatever_the_clock(threads):
    def called(seconds, threads=1):
        seen = []

        def note(run):
            seen.append(run.evaluations)
            time.sleep(seconds if len(seen) < 5 else 0)

        tl.run(tl.problems.sphere(3), grid=5, evaluations=50_000, seed=1, progress=note, threads=threads)
        return seen

    seen = called(0.0)
    assert len(seen) > 50
    assert seen[-1] == 50_000
    assert called(0.02, threads) == seen


def test_the_logger_is_the_one_of_the_package():
    assert log is logging.getLogger("tesselite")
