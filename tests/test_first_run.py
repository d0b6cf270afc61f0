"""The first run on a machine compiles in two processes, and also works where that fails."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import tesselite as tl
from tesselite.compiled import kernels
from tesselite.runs import first_run
from tesselite.tessellation.niches import Cvt

ARM = tl.problems.arm(4)
SMALL = {"n_niches": 9, "evaluations": 300, "initial": 100, "batch_size": 100, "seed": 1}


class Other:
    """A process that is never started."""

    started: list = []  # noqa: RUF012

    def __init__(self, words, **options):
        self.words, self.ended = words, ""
        Other.started.append(self)

    def poll(self):
        return 0 if self.ended else None

    def wait(self):
        self.ended = self.ended or "waited for"

    def kill(self):
        self.ended = "killed"


@pytest.fixture
def started(monkeypatch):
    monkeypatch.setattr(kernels, "has_machine_code", lambda module: False)
    monkeypatch.setattr(first_run, "available_threads", lambda: 2)
    monkeypatch.setattr(subprocess, "Popen", Other)
    monkeypatch.setattr(Other, "started", [])
    return Other.started


def test_the_loop_is_compiled_beside_the_niches(started, tmp_path):
    tl.illuminate(ARM, **SMALL)
    tl.run(ARM, out=tmp_path / "run", variation=tl.variation.gaussian(0.1), **SMALL)
    assert [other.words[3:] for other in started] == [["arm:4", "iso_line:0.01,0.2"], ["arm:4", "gaussian:0.1"]]
    assert {other.ended for other in started} == {"waited for"}


def test_it_is_killed_when_the_niches_fail(started, monkeypatch):
    def fail(*args, **options):
        raise MemoryError

    monkeypatch.setattr(Cvt, "tessellate", fail)
    with pytest.raises(MemoryError):
        tl.illuminate(ARM, **SMALL)
    assert [other.ended for other in started] == ["killed"]


@pytest.mark.parametrize(
    "options", [{"grid": 3}, {"n_niches": 9, "variation": lambda p, space, rng: p}], ids=["grid", "own variation"]
)
def test_nothing_is_compiled_beside_where_that_gains_nothing(started, monkeypatch, options):
    tl.illuminate(ARM, **{**{name: value for name, value in SMALL.items() if name != "n_niches"}, **options})
    monkeypatch.setattr(first_run, "available_threads", lambda: 1)
    tl.illuminate(ARM, **SMALL)
    assert not started


def test_a_process_that_cannot_be_started_is_no_error(started, monkeypatch):
    def fail(*args, **options):
        raise OSError("no")

    monkeypatch.setattr(subprocess, "Popen", fail)
    assert len(tl.illuminate(ARM, **SMALL)) > 3


@pytest.mark.slow
def test_what_the_other_process_compiles_is_all_that_the_loop_needs(tmp_path):
    env = {**os.environ, "TESSELITE_CACHE_DIR": str(tmp_path)}
    words = [sys.executable, "-c", first_run._SEARCH, "arm:4", "iso_line:0.01,0.2"]
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=True)
    assert "compiling" in done.stderr
    again = subprocess.run(words, env=env, capture_output=True, text=True, check=True)
    assert "compiling" not in again.stderr
