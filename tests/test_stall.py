"""Early stop: by patience or by the callback, at the same evaluations every time, recorded and resumable."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from typer.testing import CliRunner

import tesselite as tl
import worker_problems as problems
from hill_runs import command_of, make
from tesselite.report.page.packed_arrays import PackedArrays
from tesselite.report.page.run_data import describe_run, read_run
from tesselite.runs.folder import RunFolder
from tesselite.runs.run import resume, run
from tesselite.runs.stall import Stall

SETTINGS = {"grid": [4, 4], "evaluations": 20_000, "initial": 100, "batch_size": 50, "seed": 8}


def rows(coverage, qd_score):
    pairs = zip(coverage, qd_score, strict=True)
    return [{"evaluations": 100.0 * (i + 1), "coverage": c, "qd_score": q} for i, (c, q) in enumerate(pairs)]


def test_the_rule_by_hand():
    stall = Stall(200, 0.1)
    assert stall.reason(rows([0.5, 0.5], [1, 1])) == ""  # too early to tell
    assert "risen by 0.1 of itself in 200 evaluations" in stall.reason(rows([0.5, 0.5, 0.5], [1, 1, 1.1]))
    assert stall.reason(rows([0.5, 0.5, 0.56], [1, 1, 1])) == ""
    assert stall.reason(rows([0.5, 0.5, 0.5], [1, 1, 1.2])) == ""
    for nothing in (None, 0):  # without a QD score, coverage decides
        why = stall.reason(rows([0.1, 0.5, 0.5, 0.5], [nothing] * 4))
        assert why.startswith("coverage has not risen by 0.1")
        assert "set the problem's floor" in why
    assert stall.reason(rows([0.0, 0.0, 0.01], [0, 0, 0])) == ""
    assert stall.reason(rows([0.0, 0.0, 0.0], [None] * 3)) == ""  # the niches are yet to be made


def test_a_run_that_stalls_stops_and_equals_one_of_that_budget():
    stopped = run(make(), patience=2000, rise=0.05, **SETTINGS)
    assert 2000 < stopped.evaluations < 20_000
    assert "neither coverage nor QD score" in stopped.stopped
    same = run(make(), **{**SETTINGS, "evaluations": stopped.evaluations})
    assert same.archive.equals(stopped.archive)
    assert same.stopped == ""


def test_compiled_runs_stop_at_the_same_evaluations_whatever_the_speed():
    ends = {run(problems.compiled, patience=1000, threads=n, **SETTINGS).evaluations for n in (1, 2, 1)}
    assert len(ends) == 1
    assert ends.pop() < 20_000


def test_a_stop_is_recorded_and_the_run_can_go_on(tmp_path):
    folder = tmp_path / "run"
    stopped = run(make(), patience=2000, rise=0.05, out=folder, **SETTINGS)
    at = stopped.evaluations
    stored = RunFolder.open(folder).read()
    assert stored.plan.evaluations == at
    assert stored.planned.evaluations == 20_000
    assert stored.stopped(at) == stopped.stopped
    assert any("stopped early" in note for note in describe_run(read_run(folder), PackedArrays())["notes"])
    assert read_run(folder).state == "finished"
    assert resume(folder, make()).was_finished
    more = resume(folder, make(), evaluations=at + 1000)  # less than its patience
    assert more.evaluations == at + 1000
    assert more.archive.equals(run(make(), **{**SETTINGS, "evaluations": at + 1000}).archive)


def test_an_interrupted_run_stops_where_an_uninterrupted_one_does(tmp_path):
    whole = run(make(), patience=2000, rise=0.05, out=tmp_path / "whole", **SETTINGS)

    def fail(going):
        if going.evaluations >= 1500:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        run(make(), patience=2000, rise=0.05, out=tmp_path / "cut", progress=fail, **SETTINGS)
    again = resume(tmp_path / "cut", make())
    assert (again.evaluations, again.stopped) == (whole.evaluations, whole.stopped)
    assert again.archive.equals(whole.archive)


def test_a_run_that_is_killed_between_its_last_checkpoint_and_its_stop_stops_there(tmp_path):
    def copy(now):  # what a kill would leave behind
        if now.stopped:
            shutil.copytree(tmp_path / "run", tmp_path / "killed")

    stopped = run(
        make(), patience=2000, rise=0.05, out=tmp_path / "run", checkpoint_seconds=0, progress=copy, **SETTINGS
    )
    again = resume(tmp_path / "killed", make())
    assert (again.evaluations, again.stopped) == (stopped.evaluations, stopped.stopped)
    assert again.archive.equals(stopped.archive)
    assert RunFolder.open(tmp_path / "killed").read().stopped(again.evaluations) == stopped.stopped
    assert resume(tmp_path / "killed", make(), evaluations=20_000).evaluations > stopped.evaluations


def test_the_callback_may_stop_a_run(tmp_path):
    done = run(make(), progress=lambda going: going.evaluations >= 500, out=tmp_path / "run", **SETTINGS)
    assert done.evaluations == 500
    assert done.stopped == "the callback said so"
    numbers = []
    run(make(), progress=lambda going: numbers.append(going.evaluations) or 1, **{**SETTINGS, "evaluations": 300})
    assert numbers[-1] == 300  # only True stops


def test_the_command_line(tmp_path, monkeypatch):
    from tesselite.cli.app import app

    monkeypatch.chdir(tmp_path)
    options = ["--grid", "4", "--evaluations", "30000", "--patience", "2e3", "--rise", "0.05", "--seed", "1"]
    done = CliRunner().invoke(app, ["run", "sphere:3", "-o", "run", *options])
    assert done.exit_code == 0, done.output
    assert "stopped early" in done.output
    assert "stopped early" in CliRunner().invoke(app, ["info", "run"]).output
    assert "--patience 2000 --rise 0.05" in command_of(tmp_path / "run")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"rise": 0.1}, "rise: only valid"),
        ({"patience": 0}, "patience: exp"),
        ({"patience": 10, "rise": -1}, "rise: expected a share"),
        ({"patience": 10, "rise": np.nan}, "rise: expected a share"),
    ],
)
def test_wrong_options_are_refused(options, said):
    with pytest.raises(ValueError, match=said):
        tl.illuminate(make(), **options, **SETTINGS)


@pytest.mark.parametrize("said", [True, np.True_])
def test_true_stops_and_other_values_do_not(said):
    how = {**SETTINGS, "evaluations": 400}
    assert run(make(), progress=lambda here: said, **how).evaluations == 50
    for other in (1, "yes", None, np.False_):
        assert run(make(), progress=lambda here, other=other: other, **how).evaluations == 400
