"""Users' mistakes must not cost results, files of a run, or the run itself."""

from __future__ import annotations

import os
import sys

import numpy as np
import pytest

import tesselite as tl
from hill_runs import contents, make
from tesselite.base.atomic import write_atomically
from tesselite.cli import main
from tesselite.runs.folder import RunFolder
from tesselite.runs.run import resume, run

SETTINGS = {"evaluations": 600, "grid": [5, 5], "initial": 200, "batch_size": 100, "seed": 1}


@pytest.fixture
def run_main(capsys, monkeypatch):
    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["tesselite", *(str(argument) for argument in arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code, capsys.readouterr()

    return call


# -- errors in the user's own code -----------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [None, 1])
def test_what_was_found_before_an_error_in_a_callback_is_saved(tmp_path, workers):
    def tired(search):
        if search.evaluations >= 300:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        tl.illuminate(make(), **SETTINGS, out=tmp_path / "run", progress=tired, workers=workers)
    resume(tmp_path / "run", make())
    run(make(), out=tmp_path / "whole", **SETTINGS)
    ours, theirs = (tl.Archive.load(tmp_path / name / "archive.parquet") for name in ("run", "whole"))
    assert ours.equals(theirs)


def test_what_was_found_before_an_error_in_a_variation_is_saved(tmp_path):
    def tired(parents, space, rng):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(make(), out=tmp_path / "run", variation=tired, **SETTINGS)
    assert len(tl.Archive.load(tmp_path / "run" / "archive.parquet")) > 0


def test_a_variation_that_is_none_is_refused_before_anything_is_done(tmp_path):
    for wrong in ("gaussian:0.1", 5):
        with pytest.raises(ValueError, match="variation: expected an operator or a function"):
            run(make(), out=tmp_path / "run", variation=wrong, **SETTINGS)
    assert not (tmp_path / "run").exists()


def test_a_function_that_exits_is_invalid_there(tmp_path):
    @tl.problem(solutions=tl.Box(2), features={"a": (0, 1), "b": (0, 1)})
    def leaving(x):
        if x[0] > 0.9:
            sys.exit(0)
        return float(x.sum()), x

    archive = tl.illuminate(leaving, **SETTINGS)
    assert set(archive.invalid) == {"exception: SystemExit"}


def test_a_module_that_exits_is_told(tmp_path, run_main, monkeypatch):
    (tmp_path / "leaving_module.py").write_text("import sys\nsys.exit(0)\n")
    monkeypatch.chdir(tmp_path)
    code, said = run_main("run", "leaving_module:f", "-o", tmp_path / "run")
    assert code == 2
    assert "importing leaving_module failed: SystemExit" in said.err


def test_results_of_the_wrong_kind_are_one_reason():
    @tl.problem(solutions=tl.Box(2), features={"a": (0, 1), "b": (0, 1)})
    def bare(x):
        return float(x.sum()) if x[0] > 0.5 else (float(x.sum()), x)

    (reason,) = tl.illuminate(bare, **SETTINGS).invalid
    assert reason.endswith("got float")


# -- resuming with something else --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("made", "other"),
    [
        (lambda: tl.problems.hexapod("duty", missing=(1, 4)), lambda: tl.problems.hexapod("duty", missing=4)),
        (lambda: tl.problems.maze("2d", opening=70.0), lambda: tl.problems.maze("2d")),
        (lambda: tl.problems.maze("2d", steps=500), lambda: tl.problems.maze("2d", steps=600)),
    ],
)
def test_a_run_is_not_continued_with_another_variant_of_its_problem(tmp_path, made, other):
    folder = tmp_path / "run"
    tl.illuminate(made(), grid=3, evaluations=40, initial=20, batch_size=20, seed=1, out=folder)
    before = contents(folder)
    for problem in (None, other()):
        with pytest.raises(ValueError, match="are not those that the run was started with"):
            resume(folder, problem, evaluations=60)
    from tesselite.assessment.scenarios import assess_run

    with pytest.raises(ValueError, match="are not those that the run was started with"):
        assess_run(folder)
    assert contents(folder) == before
    assert resume(folder, made(), evaluations=60).search.evaluations == 60


def test_the_usual_problems_are_found_by_name(tmp_path):
    for problem in (tl.problems.maze("2d"), tl.problems.hexapod("duty")):
        assert problem.variant == ""


@pytest.mark.parametrize("evaluations", [6e2, np.int64(600)])
def test_a_budget_may_be_any_whole_number(tmp_path, evaluations):
    run(make(), out=tmp_path / "run", **{**SETTINGS, "evaluations": 300})
    resume(tmp_path / "run", make(), evaluations=evaluations)
    assert RunFolder.open(tmp_path / "run").read().plan.evaluations == 600


@pytest.mark.parametrize("evaluations", [700.5, np.nan, np.inf, "many"])
def test_a_budget_that_is_no_number_leaves_the_run_alone(tmp_path, evaluations):
    run(make(), out=tmp_path / "run", **SETTINGS)
    before = contents(tmp_path / "run")
    with pytest.raises(ValueError, match="evaluations: expected a whole number"):
        resume(tmp_path / "run", make(), evaluations=evaluations)
    assert contents(tmp_path / "run") == before


@pytest.mark.parametrize("workers", [-1, "local:0", "nonsense"])
def test_workers_that_are_not_there_do_not_change_the_budget(tmp_path, workers):
    run(make(), out=tmp_path / "run", **SETTINGS)
    before = contents(tmp_path / "run")
    with pytest.raises(ValueError, match="expected"):
        resume(tmp_path / "run", make(), evaluations=5000, workers=workers)
    assert contents(tmp_path / "run") == before


def test_a_variation_of_ones_own_is_asked_for_again(tmp_path):
    def shake(parents, space, rng):
        return np.clip(parents + 0.1 * rng.standard_normal(parents.shape), space.low, space.high)

    run(make(), out=tmp_path / "run", variation=shake, **SETTINGS)
    for file in ("archive.parquet", "progress.csv"):  # as if it had been killed before it saved itself
        (tmp_path / "run" / file).unlink()
    with pytest.raises(ValueError, match="started with your own variation; pass it again"):
        resume(tmp_path / "run", make())
    assert resume(tmp_path / "run", make(), variation=shake).search.evaluations == 600
    run(make(), out=tmp_path / "plain", **SETTINGS)
    with pytest.raises(ValueError, match="variation: expected none"):
        resume(tmp_path / "plain", make(), variation=shake)


# -- files that are in the way -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["archive.parquet", "settings.json", "progress.csv", "assessment.parquet"])
def test_no_command_overwrites_the_files_of_a_run(tmp_path, run_main, name):
    folder = tmp_path / "run"
    run(tl.problems.sphere(3), out=folder, **SETTINGS)
    tl.assess(tl.Archive.load(folder / "archive.parquet"), tl.problems.sphere(3), out=folder / "assessment.parquet")
    before = contents(folder)
    for arguments in (
        ["report", folder, "-o", folder / name],
        ["export", folder, "-o", folder / name, "--to", "csv"],
        ["cvt", "-d", "2", "-k", "20", "-o", folder / name],
    ):
        code, said = run_main(*arguments)
        assert code == 2
        assert "belongs to the run" in said.err
    assert contents(folder) == before


def test_an_archive_is_not_exported_onto_itself(tmp_path, run_main):
    file = tl.illuminate(make(), **SETTINGS).save(tmp_path / "archive.parquet")
    before = file.read_bytes()
    code, said = run_main("export", file, "-o", file, "--to", "csv")
    assert code == 2
    assert "choose another file" in said.err
    assert file.read_bytes() == before


def test_only_files_are_replaced_and_links_stay_links(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "to_pipe").symlink_to(tmp_path / "pipe")
    for name in ("pipe", "to_pipe"):
        with pytest.raises(OSError, match="not a regular file"):
            write_atomically(tmp_path / name, lambda part: part.write_text("new"))
    assert (tmp_path / "pipe").is_fifo()
    (tmp_path / "link").symlink_to(tmp_path / "file")
    for text in ("old", "new"):
        write_atomically(tmp_path / "link", lambda part, text=text: part.write_text(text))
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "file").read_text() == text


# -- options that contradict each other --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("maze:2d", "--paper", "--evaluations", "0"), "evaluations: expected a whole number of at least 1, got 0"),
        (("maze:2d", "--paper", "--niches", "0"), "n_niches: expected a whole number of at least 1, got 0"),
        (("maze:2d", "--paper", "--batch-size", "0"), "batch_size: expected"),
        (("arm", "--grid", "10", "-p", "1"), "only valid for a CVT that is to be built"),
        (("arm", "--grid", "10", "--samples", "500"), "only valid for a CVT that is to be built"),
        (("arm", "--niches", "20", "--method", "foo"), "method: expected one of"),
        (("arm", "--niches", "20", "-p", "0"), "p: expected a number"),
    ],
)
def test_options_are_never_ignored(tmp_path, run_main, options, told):
    code, said = run_main("run", *options, "-o", tmp_path / "run")
    assert code == 2
    assert told in said.err
    assert not (tmp_path / "run").exists()


def an_archive():
    return tl.Archive(tl.GridTessellation(tl.FeatureSpace.unit(2), 3), 2)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: tl.illuminate(lambda x: x, evaluations=10, grid=3), "problem: expected a problem"),
        (lambda: tl.illuminate("arm", evaluations=10, grid=3), "problem: expected a problem"),
        (lambda: tl.assess(an_archive(), "maze"), "problem: expected a problem"),
        (lambda: an_archive().show("maze"), "problem: expected a problem"),
        (lambda: tl.cvt({"a": (0, 1)}, 5), "space: expected a FeatureSpace"),
        (lambda: tl.MapElites(tl.Box(2), tl.FeatureSpace.unit(2)), "tessellation: expected a grid or a CVT"),
        (
            lambda: tl.MapElites(3, tl.GridTessellation(tl.FeatureSpace.unit(2), 3)),
            "solution_space: expected a space",
        ),
        (lambda: tl.FeatureSpace({"a": (1, 2)}, scales="log"), "scales: expected one for each name"),
        (lambda: tl.Box(2, -1e308, 1e308), "difference is a finite number"),
        (lambda: tl.problem(solutions=3, features={"a": (0, 1)})(abs), "solutions: expected a space"),
        (lambda: decorated(floor="x"), "floor: expected a finite number"),
        (lambda: decorated(floor=np.nan), "floor: expected a finite number"),
        (lambda: decorated(scenarios=[1, 2]), "scenarios: expected names"),
        (lambda: decorated(scenarios=["training"]), "scenarios: expected names other than 'training'"),
        (lambda: tl.illuminate(make(), evaluations=10, grid=3, threads="1"), "threads: expected at least 1"),
        (lambda: tl.cvt(tl.FeatureSpace.unit(2), 5, tolerance="x"), "tolerance: expected a number"),
        (lambda: tl.cvt(tl.FeatureSpace.unit(3), 5, samples=lambda n, rng: np.full((n, 3), 7.0)), "within the bounds"),
    ],
)
def test_common_mistakes_say_what_was_expected(call, told):
    with pytest.raises(ValueError, match=told):
        call()


def decorated(**options):
    return tl.problem(solutions=tl.Box(2), features={"a": (0, 1)}, **options)(abs)


def test_whole_numbers_may_be_floats():
    assert tl.cvt(tl.FeatureSpace.unit(2), 1e1, seed=1).n_niches == 10
