"""Runs and the names of their problems: the advice in messages works, and files are read with any scales of
features."""

from __future__ import annotations

import signal

import pytest

import tesselite as tl
from hill_runs import command_of
from tesselite.runs.carry_on import Interrupted
from tesselite.runs.folder import RunFolder
from tesselite.runs.run import resume, run

SCALED = """
import numpy as np
import tesselite as tl

root = tl.Scale("root", np.sqrt, np.square)
space = tl.FeatureSpace({"a": (0, 1), "b": (0, 1)}, scales={"a": root})

@tl.problem(solutions=tl.Box(2), features=space, scenarios=["half"], batch=True)
def sums(x, scenario):
    return x.sum(axis=1) * (0.5 if scenario else 1.0), x
"""


def interrupted_at(evaluations):
    def observe(search):
        if search.evaluations == evaluations:  # once: a second one stops at once
            signal.raise_signal(signal.SIGINT)  # in this thread: os.kill may choose another

    return observe


def nameless():
    @tl.problem(solutions=tl.Box(2), features={"a": (0, 1), "b": (0, 1)}, batch=True, name="slow")
    def slow(x):
        return x.sum(axis=1), x

    return slow


def test_the_advice_after_ctrl_c_fits_the_problem(tmp_path):
    with pytest.raises(Interrupted, match=r"continue with: tesselite\.resume\('.*run', problem\)$"):
        run(nameless(), out=tmp_path / "run", evaluations=2000, grid=4, seed=1, progress=interrupted_at(400))
    with pytest.raises(ValueError, match=r"started from Python on 'slow'; .* tesselite\.resume\('.*run', problem\)"):
        resume(tmp_path / "run")
    assert resume(tmp_path / "run", nameless()).archive.coverage == 1.0
    assert command_of(tmp_path / "run").startswith("No command gives this run again")
    with pytest.raises(Interrupted, match=r"problem, variation=\.\.\.\)$"):
        run(nameless(), out=tmp_path / "own", evaluations=2000, grid=4, seed=1, progress=interrupted_at(400),
            variation=lambda parents, space, rng: parents,
        )  # fmt: skip
    assert "with a variation of its own" in command_of(tmp_path / "own")


def test_ctrl_c_is_no_error_that_a_sweep_would_pass_over():
    assert issubclass(Interrupted, KeyboardInterrupt)
    assert not issubclass(Interrupted, Exception)


def test_a_built_in_problem_from_python_goes_on_in_the_shell(tmp_path):
    for problem, name in (
        (tl.problems.arm(7), "arm:7"),
        (tl.problems.rastrigin(3), "rastrigin:3"),
        (tl.problems.sphere(4), "sphere:4"),
    ):
        folder = tmp_path / name.replace(":", "-")
        tl.illuminate(problem, grid=4, evaluations=300, initial=100, seed=1, out=folder)
        assert RunFolder.open(folder).read().plan.problem == name
        assert resume(folder, evaluations=400).search.evaluations == 400


@pytest.mark.parametrize("niches", [{"grid": 4}, {"n_niches": 12}], ids=["grid", "cvt"])
def test_scales_of_the_users_own_keep_no_command_from_reading_a_run(tmp_path, monkeypatch, niches):
    from typer.testing import CliRunner

    from tesselite.cli.app import app
    from tesselite.problems import by_name

    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_scales.py").write_text(SCALED)
    monkeypatch.syspath_prepend(str(tmp_path))
    run(by_name("own_scales:sums"), out=tmp_path / "run", evaluations=400, seed=1, **niches)
    for words in (["info"], ["export"], ["assess"], ["plot"], ["report"]):
        found = CliRunner().invoke(app, [*words, "run"])
        assert found.exit_code == 0, (words, found.output, found.exception)
    with pytest.raises(ValueError, match="scale"):
        tl.Archive.load(tmp_path / "run")  # without its tessellation


def test_the_command_of_islands_and_of_an_asynchronous_run_names_them(tmp_path):

    arm = tl.problems.arm(3)
    options = {"evaluations": 400, "grid": 4, "initial": 100, "batch_size": 50, "seed": 1}
    run(arm, out=tmp_path / "islands", **options, workers=1, islands=2, exchange=100)
    assert " --islands 2 --exchange 100 " in command_of(tmp_path / "islands")
    run(arm, out=tmp_path / "steady", **options, workers=1, asynchronous=True)
    assert " --asynchronous --workers 1 " in command_of(tmp_path / "steady")
