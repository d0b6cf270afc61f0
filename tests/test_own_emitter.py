"""The example of an emitter: its state determines its solutions and is stored in checkpoints."""

from __future__ import annotations

import importlib
import signal
from pathlib import Path

import pytest

import tesselite as tl

EXAMPLES = Path(__file__).parent.parent / "examples"
SETTINGS = {"grid": 10, "initial": 100, "batch_size": 50, "seed": 3}


@pytest.fixture
def example(monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES)
    return importlib.import_module("own_emitter")


def elites(archive):
    found = archive.elites()
    return found.niches.tobytes(), found.fitness.tobytes(), found.solutions.tobytes()


def test_its_steps_follow_success(example):
    made = tl.run(tl.problems.arm(4), evaluations=3000, emitter=example.OneFifth(), **SETTINGS)
    assert len(made.archive) > 50
    assert 1e-3 <= made.search.emitter.sigma < 0.1  # most of the archive is found: steps shrank


def test_a_run_that_was_stopped_goes_on_with_the_same_steps(example, tmp_path):
    arm = tl.problems.arm(4)
    whole = tl.run(arm, evaluations=1000, emitter=example.OneFifth(), **SETTINGS)

    def stop(run):
        if run.evaluations == 500:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        tl.run(arm, evaluations=1000, emitter=example.OneFifth(), out=tmp_path / "a", progress=stop, **SETTINGS)
    ended = tl.resume(tmp_path / "a", arm, emitter=example.OneFifth(), progress=False)
    assert elites(ended.archive) == elites(whole.archive)
    assert ended.search.emitter.sigma == whole.search.emitter.sigma
