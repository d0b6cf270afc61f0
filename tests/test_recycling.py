"""Worker processes that are replaced after a number of evaluations or at a limit of memory; the result is the same."""

from __future__ import annotations

import json
import os
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from typer.testing import CliRunner

import worker_problems as problems
from hill_runs import command_of
from tesselite.base.checks import checked_bytes
from tesselite.cli.app import app
from tesselite.execution.batches import Batches
from tesselite.execution.choice import execution_from_dict, execution_of, resumed
from tesselite.execution.execution import WorkerChoice
from tesselite.execution.workers import WorkersLost
from tesselite.runs.folder import RunFolder
from tesselite.runs.run import resume, run

HOW = {"grid": [5, 5], "initial": 30, "batch_size": 30, "seed": 7}


@pytest.mark.parametrize("asynchronous", [False, True])
def test_no_process_evaluates_more_than_it_may(tmp_path, asynchronous):
    how = {"workers": 2, "recycle_after": 13, "asynchronous": asynchronous, "evaluations": 40, **HOW}
    ended = run(problems.telling_who, out=tmp_path / "run", history=True, **how)
    counts = Counter(ended.history(["pid"])["pid"].to_pylist())
    assert max(counts.values()) <= 13
    assert len(counts) >= 4
    assert sum(counts.values()) == 40
    assert os.getpid() not in counts
    if not asynchronous:
        alone = run(problems.telling_who, evaluations=40, **HOW).archive
        assert (alone.elites().solutions == ended.archive.elites().solutions).all()


def test_a_process_is_replaced_at_its_limit_of_memory_and_ends_in_order(tmp_path, monkeypatch):
    monkeypatch.setenv("TESSELITE_TEST_ENDS", str(tmp_path))
    how = {"workers": 1, "worker_memory": "600MB", **HOW, "evaluations": 10, "initial": 5, "batch_size": 5}
    ended = run(problems.leaking, out=tmp_path / "run", history=True, **how)
    pids = ended.history(["pid"])["pid"].to_pylist()
    assert max(Counter(pids).values()) <= 6  # 100 MB each
    assert len(set(pids)) >= 2
    assert any((tmp_path / str(pid)).exists() for pid in pids)  # what was registered for its end was called


def test_a_limit_that_the_problem_alone_reaches_is_refused():
    with pytest.raises(WorkersLost, match=r"worker_memory: a worker takes \d+ MB once the problem is loaded"):
        run(problems.good, workers=1, worker_memory="1MB", evaluations=30, **HOW)


def test_sizes():
    sizes = {"2GB": 2 * 10**9, "500 MiB": 500 * 2**20, "1.5g": 1_500_000_000, "1024": 1024, 4096: 4096, "1e9": 10**9}
    assert {text: checked_bytes("m", text) for text in sizes} == sizes
    for wrong in ("", "GB", "-1", "2 XB", "0", True, None, "nan", "1e99", [1]):
        with pytest.raises(ValueError, match="m: expected a number of bytes, such as 2GB or 500MiB, got"):
            checked_bytes("m", wrong)


def test_plans_files_and_commands_know_the_limits(tmp_path):
    how = execution_of(WorkerChoice(2, recycle_after=1e3, worker_memory="2GB"))
    assert how == Batches(2, recycle_after=1000, worker_memory=2 * 10**9)
    assert execution_from_dict(json.loads(json.dumps(how.to_dict()))) == how
    assert execution_from_dict({"kind": "batches", "workers": 2, "retries": 2, "timeout": None}) == Batches(2)
    assert ("Recycled", "after 1,000 evaluations or at 2,000 MB") in how.shown()
    assert resumed(how, WorkerChoice(retries=1)) == Batches(2, 1, recycle_after=1000, worker_memory=2 * 10**9)
    assert resumed(how, WorkerChoice("tcp://there:8786")) == Batches("tcp://there:8786")
    assert resumed(how, WorkerChoice(recycle_after=5)).recycle_after == 5
    options = ["--grid", "4", "--evaluations", "40", "--initial", "20", "--seed", "1", "-q", "-o", str(tmp_path / "a")]
    words = ["--workers", "1", "--recycle-after", "1e3", "--worker-memory", "2GB"]
    said = CliRunner().invoke(app, ["run", "worker_problems:good", *words, *options])
    assert said.exit_code == 0, said.output
    assert "--workers 1 --recycle-after 1000 --worker-memory 2000000000" in command_of(tmp_path / "a")
    resume(tmp_path / "a", evaluations=50, recycle_after=40)
    assert RunFolder.open(tmp_path / "a").read().plan.execution.recycle_after == 40


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"recycle_after": 5}, "recycle_after: needs workers"),
        ({"worker_memory": "2GB"}, "worker_memory: needs workers"),
        ({"recycle_after": 0, "workers": 2}, "recycle_after: expected a whole number of at least 1"),
        ({"worker_memory": "much", "workers": 2}, "worker_memory: expected a number of bytes"),
        ({"recycle_after": 5, "workers": "local:2"}, "recycle_after: only for worker processes.*--memory-limit"),
        (
            {"worker_memory": 10**9, "workers": lambda: ThreadPoolExecutor(1)},
            "worker_memory: only for worker processes",
        ),
        ({"recycle_after": 5, "islands": 2}, "recycle_after: not valid with islands"),
    ],
)
def test_limits_that_cannot_hold_are_refused(options, said):
    with pytest.raises(ValueError, match=said):
        run(problems.good, evaluations=100, **HOW, **options)
