"""The command line, as a user types it; bad input ends in one clear line and exit code 2."""

from __future__ import annotations

import csv
import importlib
import json
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import tesselite as tl
from hill_runs import edit_settings
from tesselite.cli import main
from tesselite.cli.running import tell_run
from tesselite.runs.carry_on import Run
from tesselite.runs.plan import Budget, Plan
from tesselite.tessellation.niches import Grid

COMMANDS = ("problems", "run", "resume", "info", "export", "cvt")
RUN_KEYS = {
    *("problem", "evaluations", "n_niches", "filled", "coverage", "best_fitness", "mean_fitness", "qd_score"),
    *("invalid", "out_of_bounds", "seconds", "seconds_search", "out"),
}

USER_MODULE = """
import numpy as np
import tesselite as tl

options = dict(solutions=tl.Box(3, -1, 1), features={"speed": (0, 1), "height": (-1, 1)})

@tl.problem(**options)
def jump(x):
    return 1 - (x**2).sum(), (abs(x[0]), x[1])

@tl.problem(**options, batch=True, direction="min")
def leap(xs):
    return (xs**2).sum(axis=1), np.abs(xs[:, :2])

@tl.problem(**options)
def limp(x):
    if x[2] > 0:
        raise KeyError("left leg")
    return 1.0, (3 * abs(x[0]), np.nan if x[1] > 0.5 else x[1])

@tl.problem(**options)
def fall(x):
    raise KeyError("left leg")

@tl.problem(**options)
def three(x):
    return 1.0, x

@tl.problem(**options)
def nan(x):
    return np.nan, x[:2]

@tl.problem(**options)
def nothing(x):
    return None

def made():
    return jump

def unmade():
    return {}["no such problem"]

def undecorated(x):
    return 1.0, x

class body:
    jump = jump

number = 3
"""


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str

    @property
    def json(self) -> dict:
        assert self.code == 0, self.err
        assert self.out.count("\n") == 1
        return json.loads(self.out)

    @property
    def error(self) -> str:
        """The one line of a refusal."""
        assert self.code == 2, self
        assert self.out == ""
        assert "Traceback" not in self.err
        lines = self.err.strip().splitlines()
        assert lines[-1].startswith("Error: "), self.err
        assert len(lines) == 1 or lines[0].startswith("Usage: "), self.err
        return lines[-1].removeprefix("Error: ")


@pytest.fixture
def cli(tmp_path, monkeypatch, capfd):
    """Call the command line in this process, in an empty folder with a user's module."""
    (tmp_path / "my_module.py").write_text(USER_MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])

    def call(*args: object) -> Result:
        monkeypatch.setattr(sys, "argv", ["tesselite", *(str(arg) for arg in args)])
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capfd.readouterr()
        return Result(ended.value.code or 0, out, err)

    yield call
    for name in ("my_module", "raising", "unparsable"):
        sys.modules.pop(name, None)


SMALL = ("--grid", "6x5", "--evaluations", "1e3", "--initial", "200", "--batch-size", "100", "--seed", "3")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run to look at, made from Python."""
    folder = tmp_path_factory.mktemp("finished") / "run"
    tl.illuminate(tl.problems.sphere(4), evaluations=1000, n_niches=40, initial=200, batch_size=100, seed=3, out=folder)
    return folder


# -- help ------------------------------------------------------------------------------------------------------------


def test_help_names_every_command_and_what_it_does(cli):
    shown = cli("--help")
    assert shown.code == 0
    for command in COMMANDS:
        assert command in shown.out
        page = cli(command, "--help")
        assert page.code == 0
        assert "Usage" in page.out
        assert "--json" in page.out
    assert cli("--version").out == f"tesselite {tl.__version__}\n"
    for option in (
        *("--niches", "--grid", "--centroids", "--evaluations", "--initial", "--batch-size", "--variation"),
        *("--seed", "--out", "-o", "--threads", "--quiet", "--json"),
    ):
        assert option in cli("run", "--help").out


def test_a_grid_of_released_cells_is_kept_and_resumed(cli):
    small = [word for word in SMALL if word not in ("1e3", "--evaluations")]
    made = cli("run", "my_module:jump", *small, "--cells", "released", "--evaluations", "600", "-o", "run", "--json")
    assert made.code == 0
    settings = json.loads(Path("run/settings.json").read_text())
    assert settings["niches"]["cells"] == "released"
    assert cli("resume", "run", "--evaluations", "1000", "--json").code == 0
    whole = cli("run", "my_module:jump", *SMALL, "--cells", "released", "-o", "whole", "--json")
    assert whole.code == 0
    assert tl.Archive.load("run").equals(tl.Archive.load("whole"))
    cli("run", "my_module:jump", *SMALL, "--cells", "equal", "-o", "equal", "--json")
    assert "cells" not in json.loads(Path("equal/settings.json").read_text())["niches"]
    assert not tl.Archive.load("run").equals(tl.Archive.load("equal"))


def test_unknown_commands_and_options_are_refused(cli):
    assert "No such command 'ran'" in cli("ran").error
    assert "--colour" in cli("run", "arm", "--colour", "red").error
    assert "Missing argument" in cli("run").error


# -- problems, run, resume -------------------------------------------------------------------------------------------


def test_problems_are_listed(cli):
    assert "arm" in cli("problems").out
    assert "my_module:function_name" in cli("problems").out
    listed = {problem["name"] for problem in cli("problems", "--json").json["problems"]}
    assert {"arm", "rastrigin", "sphere"} <= listed


def test_a_run_of_a_users_problem_reports_and_can_be_resumed(cli, tmp_path):
    shown = cli("run", "my_module:jump", *SMALL, "-o", "runs/a")
    assert shown.code == 0, shown.err
    assert "30 of 30 niches filled (100.0%)" in shown.out
    assert "archive: runs/a/archive.parquet" in shown.out
    assert "1,000 of 1,000 evaluations" in shown.err  # plain lines, since this is no terminal
    assert "\x1b" not in shown.err
    assert "\r" not in shown.err
    about = cli("run", "my_module:jump", *SMALL, "-o", "runs/b", "--json").json
    assert about.keys() >= RUN_KEYS
    assert {name: about[name] for name in ("problem", "evaluations", "n_niches", "filled", "coverage", "out")} == {
        "problem": "my_module:jump",
        "evaluations": 1000,
        "n_niches": 30,
        "filled": 30,
        "coverage": 1.0,
        "out": "runs/b",
    }
    assert 0 < about["seconds_search"] < about["seconds"]
    assert (tmp_path / "runs/a/archive.parquet").read_bytes() == (tmp_path / "runs/b/archive.parquet").read_bytes()
    archive = tl.Archive.load("runs/b/archive.parquet")
    assert about["best_fitness"] == archive.best_fitness
    assert about["mean_fitness"] == archive.mean_fitness
    assert about["qd_score"] == archive.qd_score
    again = cli("resume", "runs/b", "--json").json
    assert (again["qd_score"], again["seconds_search"]) == (about["qd_score"], about["seconds_search"])
    assert (about["was_finished"], again["was_finished"]) == (False, True)
    shown = cli("resume", "runs/b").out
    assert "the run was already finished" in shown
    assert f"1,000 evaluations in {about['seconds_search']:.1f} s of search\n" in shown
    more = cli("resume", "runs/b", "--evaluations", "1500", "--json", "--quiet")
    assert more.json["evaluations"] == 1500
    assert more.err == ""


def test_quiet_says_nothing(cli):
    shown = cli("run", "my_module:made", *SMALL, "-o", "a", "--quiet")
    assert shown == Result(0, "", "")
    assert cli("run", "my_module:body.jump", *SMALL, "-o", "b", "-q") == shown
    assert cli("run", "my_module:leap", *SMALL, "-q") == shown  # in a folder named after problem and seed
    assert Path("runs/my_module-leap-3/archive.parquet").exists()


def test_invalid_and_out_of_bounds_rows_are_counted_and_told(cli):
    shown = cli("run", "my_module:limp", *SMALL, "-o", "a")
    assert shown.code == 0
    assert "evaluations were invalid: " in shown.out
    assert "exception: KeyError" in shown.out
    assert "a feature is NaN or infinite" in shown.out
    assert "were outside the feature bounds" in shown.out
    about = cli("info", "a", "--json").json
    assert about["invalid"] == sum(about["invalid_reasons"].values()) > 100
    assert about["out_of_bounds"] > 100


def test_numbers_and_operators_are_read_in_all_their_forms(cli):
    options = ("--evaluations", "1_000", "--initial", "2e2", "--batch-size", "100", "--seed", "3")
    for number, operator in enumerate(("gaussian:0.1", "sbx:10,0.5,reflect", "polynomial:20,1", "iso-line:0.01,0.2")):
        out = f"{number}"
        about = cli("run", "my_module:jump", "--grid", "5", *options, "--variation", operator, "-o", out, "--json").json
        assert about["n_niches"] == 25
    assert cli("run", "my_module:jump", "--niches", "1e1", *options, "-o", "k", "--json").json["n_niches"] == 10
    # The centroids of one run serve another.
    shown = cli("run", "my_module:leap", "--centroids", "k/centroids.parquet", *options, "-o", "c", "--json")
    assert shown.json["n_niches"] == 10
    assert tl.Archive.load("c/archive.parquet").tessellation == tl.Archive.load("k/archive.parquet").tessellation


def test_a_minimised_problem_without_a_floor_has_no_qd_score(cli):
    about = cli("run", "my_module:leap", *SMALL, "-o", "a", "--json").json
    assert about["qd_score"] is None
    assert cli("run", "my_module:leap", *SMALL, "-o", "b").code == 0
    assert cli("info", "b").code == 0


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("nothing_like_it",), "there is no problem 'nothing_like_it'; built in are arm, rastrigin, sphere"),
        (("arm:ten",), "expected a whole number after arm:, got 'ten'"),
        (("arm:1",), "expected at least 2, got 1"),
        (("no_module:jump",), "there is no module 'no_module', neither installed nor in"),
        (("my_module:hop",), "my_module has no 'hop'; problems in it: jump, leap, limp"),
        (("my_module:number",), "my_module:number is not a problem but of type int; decorate the function"),
        (
            ("my_module:undecorated",),
            "is not a problem but of type function; decorate the function with @tesselite.problem",
        ),
        (("my_module:unmade",), "calling my_module:unmade() failed: KeyError: 'no such problem'"),
        (("raising:jump",), "importing raising failed: ZeroDivisionError: division by zero"),
        (("unparsable:jump",), "importing unparsable failed: SyntaxError: "),
        (("my_module:jump", "--niches", "many"), "expected a whole number such as 1000000 or 1e6, got 'many'"),
        (("my_module:jump", "--evaluations", "1.5"), "expected a whole number such as 1000000 or 1e6, got '1.5'"),
        (("my_module:jump", "--evaluations", "nan"), "expected a whole number"),
        (("my_module:jump", "--evaluations", "1e400"), "expected a whole number"),
        (("my_module:jump", "--evaluations", "0"), "evaluations: expected a whole number of at least 1, got 0"),
        (("my_module:jump", "--evaluations", "-5"), "evaluations: expected a whole number of at least 1, got -5"),
        (("my_module:jump", "--batch-size", "0"), "batch_size: expected a whole number of at least 1, got 0"),
        (("my_module:jump", "--initial", "0"), "initial: expected a whole number of at least 1, got 0"),
        (("my_module:jump", "--niches", "0"), "n_niches: expected"),
        (("my_module:jump", "--niches", "-3"), "n_niches: expected"),
        (("my_module:jump", "--seed", "-1"), "seed: expected a whole number of at least 0, got -1"),
        (("my_module:jump", "--threads", "0"), "threads: expected at least 1"),
        (("my_module:jump", "--threads", "two"), "--threads"),
        (
            ("my_module:jump", "--checkpoint", "-1"),
            "checkpoint_seconds: expected seconds of at least 0, at most 1e9, got -1",
        ),
        (("my_module:jump", "--checkpoint", "soon"), "--checkpoint"),
        (("my_module:jump", "--grid", "0"), "expected whole numbers of at least 1"),
        (("my_module:jump", "--grid", "3x-2"), "expected whole numbers of at least 1"),
        (("my_module:jump", "--grid", "3x"), "expected a whole number"),
        (("my_module:jump", "--grid", "3x3x3"), "one for each of 2 features, got 3"),
        (("my_module:jump", "--grid", "1e10"), "at most 2^63 - 1 can be numbered"),
        (("my_module:jump", "--retries", "5"), "retries: only valid together with"),
        (
            ("my_module:jump", "--grid", "3", "--niches", "9"),
            "only one of --niches, --grid, --centroids, --tessellation",
        ),
        (("my_module:jump", "--grid", "3", "--centroids", "x"), "got --grid and --centroids"),
        (("my_module:jump", "--grid", "3", "--cells", "round"), "cells: expected one of equal, released, got 'round'"),
        (("my_module:jump", "--niches", "9", "--cells", "released"), "--cells: only valid together with --grid"),
        (("my_module:jump", "--centroids", "missing.parquet"), "missing.parquet"),
        (("my_module:jump", "--centroids", "my_module.py"), "my_module.py"),
        (("my_module:jump", "--variation", "magic"), "variation: expected one of gaussian, iso_line"),
        (("my_module:jump", "--variation", "gaussian:x"), "variation: cannot read 'gaussian:x'"),
        (("my_module:jump", "--variation", "gaussian:-1"), "variation: cannot read"),
        (("my_module:jump", "--variation", "sbx:1,2,3"), "variation: cannot read"),
        (("my_module:jump", "--variation", "resample:0.1"), "needs a Levels space"),
        (("my_module:jump", "-o", "my_module.py"), "expected a folder for the run, found a file"),
        (("my_module:jump", "-o", "my_module.py/run"), "my_module.py"),
        (("my_module:jump", "-o", "."), "not empty, and not a run"),
    ],
)
def test_bad_input_to_run_is_refused_in_one_line(cli, tmp_path, args, message):
    Path("raising.py").write_text("x = 1 / 0\n")
    Path("unparsable.py").write_text("def (:\n")
    before = set(tmp_path.iterdir())
    where = () if "-o" in args else ("-o", "run")
    niches = () if {"--niches", "--grid", "--centroids"} & set(args) else ("--grid", "3")
    assert message in cli("run", *args, *niches, *where).error
    made = {file for file in set(tmp_path.iterdir()) - before if file.name != "__pycache__"}
    assert not [file for folder in made for file in folder.iterdir() if file.name != ".lock"]


def test_an_error_in_a_users_module_is_told_with_its_place(cli):
    Path("raising.py").write_text("a = 1\nx = 1 / 0\n")
    assert cli("run", "raising:x").error.endswith("raising.py, line 2)")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("fall", ["200 x exception: KeyError", 'raise KeyError("left leg")', "in fall", "KeyError: 'left leg'"]),
        ("three", ["wrong shape: expected (fitness, features) of shapes () and (2,), got () and (3,)"]),
        ("nothing", ["wrong result: expected (fitness, features)", "got None"]),
        ("nan", ["200 x fitness is NaN or infinite", "check what it returns"]),
    ],
)
def test_a_run_in_which_everything_fails_shows_the_first_error_in_full(cli, name, told):
    shown = cli("run", f"my_module:{name}", "--grid", "3", "-o", "run")
    assert shown.code == 2
    for text in (f"{name}: none of the first 200 evaluations is valid", *told):
        assert text in shown.err


def test_an_archive_without_elites_has_no_best_fitness_to_tell(capsys, tmp_path):
    problem = tl.problems.sphere(2)
    search = tl.MapElites(problem.solutions, tl.GridTessellation(problem.features, 3), seed=1)
    plan = Plan.of(problem, Grid((3, 3)), Budget(10))
    tell_run(Run(plan, problem, search, tmp_path), quiet=False, as_json=False)
    assert "best fitness -, 0 evaluations" in capsys.readouterr().out


def test_resume_refuses_what_is_no_run_or_has_changed(cli):
    assert "missing: not a run" in cli("resume", "missing").error
    assert "not a run" in cli("resume", ".").error
    cli("run", "my_module:jump", *SMALL, "-o", "a")
    assert "expected at least the 1000" in cli("resume", "a", "--evaluations", "10").error
    assert "threads: expected at least 1" in cli("resume", "a", "--threads", "0").error
    assert "already contains a run" in cli("run", "my_module:jump", *SMALL, "-o", "a").error
    edit_settings(Path("a"), version="0.0.1")
    assert "started by tesselite 0.0.1" in cli("resume", "a").error
    assert cli("resume", "a", "--other-version", "-q").code == 0
    edit_settings(Path("a"), problem="my_module:leap")
    refused = cli("resume", "a")
    assert refused.code == 2
    assert "of my_module:leap are not those that the run was started with" in refused.err
    Path("a/settings.json").write_text(Path("a/settings.json").read_text()[:50])
    assert "a/settings.json: damaged" in cli("resume", "a").error


# -- info, export, cvt -----------------------------------------------------------------------------------------------


def test_info_tells_what_a_run_is(cli, finished):
    about = cli("info", finished, "--json").json
    assert about["problem"] == "sphere:4"
    assert about["finished"] is True
    assert (about["evaluations"], about["budget"], about["n_niches"], about["seed"]) == (1000, 1000, 40, 3)
    assert about["direction"] == "min"
    shown = cli("info", finished).out
    assert shown.startswith(f"{finished}: finished\n  problem      sphere:4\n  evaluations  1,000 of 1,000")
    assert "  niches       CVT of 40 niches\n" in shown
    assert "{" not in shown  # a summary for people; the rest is JSON
    assert "0.000" not in shown
    alone = cli("info", finished / "archive.parquet", "--json").json
    assert alone["qd_score"] == about["qd_score"]


def test_info_of_an_unfinished_run_says_how_to_continue(cli):
    cli("run", "my_module:jump", *SMALL, "-o", "a")
    edit_settings(Path("a"), evaluations=2000)
    assert "continue     tesselite resume a" in cli("info", "a").out
    assert cli("info", "a", "--json").json["finished"] is False
    Path("a/archive.parquet").unlink()
    assert cli("info", "a", "--json").json["evaluations"] == 0
    assert "saved no archive yet" in cli("export", "a").error


def test_exports_read_back_exactly(cli, finished):
    archive = tl.Archive.load(finished / "archive.parquet")
    elites = archive.elites()
    assert cli("export", finished, "--to", "csv", "-o", "e.csv").out == "40 elites: e.csv\n"
    with Path("e.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    values = np.array(rows, dtype=np.float64)
    names = archive.tessellation.space.names
    assert header[:5] == ["niche", "fitness", "evaluation", *names]
    assert len(set(header)) == 9
    assert np.array_equal(values[:, 0], elites.niches)
    assert np.array_equal(values[:, 1], elites.fitness)
    assert np.array_equal(values[:, 3:5], elites.features)
    assert np.array_equal(values[:, 5:], elites.solutions)

    assert cli("export", finished, "--to", "npz", "-o", "e.npz", "--json").json == {
        "out": "e.npz",
        "format": "npz",
        "elites": 40,
    }
    with np.load("e.npz", allow_pickle=False) as arrays:
        for name in ("niches", "fitness", "features", "solutions", "evaluations"):
            assert np.array_equal(arrays[name], getattr(elites, name)), name
        assert arrays["feature_names"].tolist() == list(names)

    assert cli("export", finished, "--to", "parquet", "-o", "e.parquet").code == 0
    loaded = tl.Archive.load("e.parquet")  # alone, without the folder
    assert loaded.tessellation == archive.tessellation
    assert np.array_equal(loaded.elites().solutions, elites.solutions)


def test_no_exported_name_is_a_formula(cli):
    names = ("=1+1", "-x", "+cmd|' /C calc'!A0", "@SUM(1)", "-3", "a=b", "niche", "'quoted")
    space = tl.FeatureSpace(dict.fromkeys(names, (0, 1)))
    archive = tl.Archive(tl.GridTessellation(space, 2), 1)
    archive.add([[-1.5]], [-2.0], np.full((1, len(names)), 0.25))
    archive.save("a.parquet")
    assert cli("export", "a.parquet", "-o", "a.csv").code == 0
    with Path("a.csv").open(newline="") as file:
        header, row = csv.reader(file)
    expected = ["'=1+1", "'-x", "'+cmd|' /C calc'!A0", "'@SUM(1)", "-3", "a=b", "feature niche", "'quoted"]
    assert header == ["niche", "fitness", "evaluation", *expected, "x0"]
    assert (row[1], row[-1]) == ("-2.0", "-1.5")  # numbers stay numbers
    assert cli("export", "a.parquet", "--to", "npz", "-o", "a.npz").code == 0
    with np.load("a.npz") as arrays:
        assert tuple(arrays["feature_names"]) == names


def test_export_spares_the_files_of_the_run_and_names_what_it_cannot_write(cli):
    cli("run", "my_module:jump", *SMALL, "-o", "a")
    before = Path("a/archive.parquet").read_bytes()
    assert "belongs to the run" in cli("export", "a", "--to", "parquet", "-o", "a/archive.parquet").error
    assert "belongs to the run" in cli("export", "a", "--to", "csv", "-o", "a/progress.csv").error
    assert Path("a/archive.parquet").read_bytes() == before
    assert cli("export", "a").out == "30 elites: a/elites.csv\n"
    assert cli("export", "a", "-o", "no/where.csv").error == "cannot write no/where.csv: No such file or directory"
    assert "'xlsx'" in cli("export", "a", "--to", "xlsx").error
    assert "expected a file that ends in .csv" in cli("export", "a", "--to", "csv", "-o", "a.npz").error
    assert cli("export", "a", "-o", "b.npz").code == 0
    assert len(np.load("b.npz")["fitness"]) == 30  # the ending says the format
    assert cli("export", "a", "-o", "b.parquet").code == 0
    assert len(tl.Archive.load("b.parquet")) == 30
    assert cli("export", "a", "--to", "csv", "-o", "elites.txt").code == 0
    assert Path("elites.txt").read_text().startswith("niche,")
    for name in ("x.npy", "out.json", "elites"):
        Path(name).write_text("mine")
        assert (
            f"expected a file that ends in .csv, .npz or .parquet, or --to, got {name}"
            in cli("export", "a", "-o", name).error
        )
        assert Path(name).read_text() == "mine"
    assert "missing: there is no such file" in cli("export", "missing").error
    assert "missing: there is no such file" in cli("info", "missing").error
    assert "my_module.py: not a readable Parquet file" in cli("info", "my_module.py").error
    assert "not a run" in cli("info", ".").error
    assert cli("resume", "a", "-q").code == 0


def test_cvt_writes_centroids_that_run_takes(cli):
    about = cli("cvt", "-d", "2", "-k", "12", "--seed", "1", "-o", "c.parquet", "--json").json
    assert (about["n_niches"], about["dims"], about["out"]) == (12, 2, "c.parquet")
    shown = cli("cvt", "-d", "2", "-k", "12", "--seed", "1", "--quiet", "-o", "d.parquet")
    assert shown == Result(0, "", "")
    space = tl.FeatureSpace.unit(2)
    from tesselite.tessellation.files import load_tessellation

    assert load_tessellation("c.parquet", space) == load_tessellation("d.parquet", space)
    # Of the unit cube, and of the problem: `run` takes both, and they are the same.
    options = ("-k", "12", "--seed", "1", "--quiet")
    assert cli("cvt", "--problem", "my_module:jump", *options, "-o", "p.parquet") == Result(0, "", "")
    assert cli("cvt", "-d", "2", *options, "-o", "u.parquet") == Result(0, "", "")
    features = load_tessellation("p.parquet").space
    assert (features.names, features.low.tolist(), features.high.tolist()) == (("speed", "height"), [0, -1], [1, 1])
    for file in ("p", "u"):
        run = ("run", "my_module:jump", "--evaluations", "500", "--initial", "200", "--seed", "3", "-q")
        assert cli(*run, "--centroids", f"{file}.parquet", "-o", file) == Result(0, "", "")
    assert Path("p/archive.parquet").read_bytes() == Path("u/archive.parquet").read_bytes()
    assert "make it with tesselite cvt --problem SPEC" in cli("run", "arm", "--centroids", "p.parquet").error


def test_cvt_of_a_problem_samples_as_the_problem_does(cli):
    about = cli("cvt", "--problem", "maze:10d", "-k", "4", "-n", "50", "--iterations", "2", "--json").json
    assert (about["dims"], about["sampler"], about["out"]) == (10, "TrajectorySampler", "centroids_4_10.parquet")


def test_run_notes_centroids_that_look_like_a_unit_cube(cli):
    options = ("--evaluations", "200", "--initial", "100", "--seed", "3", "-q")
    for file, rows in {"unit.dat": [[0.1, 0.2], [0.8, 0.7]], "own.dat": [[0.1, -0.2], [0.8, 0.7]]}.items():
        np.savetxt(file, rows)
        shown = cli("run", "my_module:jump", "--centroids", file, *options, "-o", f"of-{file}")
        assert shown.code == 0
        assert ("unit.dat lie in [0, 1] of height, which reaches from -1 to 1" in shown.err) == (file == "unit.dat")
        assert ("tesselite cvt --problem my_module:jump" in shown.err) == (file == "unit.dat")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("-o", "x.csv"), "--out: expected a name that ends in .parquet, .npy, .dat or .txt, got 'x.csv'"),
        (("--plot", "x.xyz"), "--plot: expected a picture"),
        (("--plot", "x"), "--plot: expected a picture"),
        (("-o", "my_module.py/x.npy"), "cannot write my_module.py/x.npy: Not a directory"),
        (("--plot", "my_module.py/new/x.png"), "cannot write my_module.py/new/x.png: Not a directory"),
        (("-o", "folder.npy"), "cannot write folder.npy: Is a directory"),
    ],
)
def test_files_that_cvt_cannot_write_are_refused_before_the_construction(cli, monkeypatch, args, message):
    Path("folder.npy").mkdir()
    construction = importlib.import_module("tesselite.tessellation.cvt")
    monkeypatch.setattr(construction, "cvt", lambda *_, **__: pytest.fail("was constructed"))
    assert message in cli("cvt", "-d", "2", "-k", "5", *args).error


def test_infinite_p_is_valid_json_and_old_files_are_read(cli, monkeypatch):
    def read(text: str | bytes) -> dict:
        return json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))

    options = ("--niches", "5", "-p", "inf", "--samples", "200", "--evaluations", "200", "--initial", "100")
    assert cli("run", "my_module:jump", *options, "--seed", "3", "-q", "-o", "a").code == 0
    niches = read(Path("a/settings.json").read_text())["niches"]
    assert niches["p"] == "inf"
    about = pq.read_metadata("a/archive.parquet").metadata[b"tesselite"]
    assert read(about)["tessellation"]["p"] == "inf"
    assert cli("info", "a", "--json").json["niches"]["p"] == "inf"
    archive = tl.Archive.load("a/archive.parquet")
    assert archive.tessellation.p == np.inf
    # As versions before wrote it: with a word that JSON does not know.
    monkeypatch.setattr("tesselite.tessellation.voronoi.p_to_json", lambda p: p)
    archive.save("old.parquet")
    assert b"Infinity" in pq.read_metadata("old.parquet").metadata[b"tesselite"]
    assert tl.Archive.load("old.parquet").tessellation == archive.tessellation
    edit_settings(Path("a"), niches={**niches, "p": np.inf})
    assert cli("resume", "a", "--evaluations", "300", "-q").code == 0


@pytest.mark.parametrize(
    "args",
    [
        ("-d", "0", "-k", "5"),
        ("-d", "2", "-k", "0"),
        ("-d", "two", "-k", "5"),
        ("-d", "2", "-k", "5", "-p", "0"),
        ("-d", "2", "-k", "5", "--seed", "-1"),
        ("-d", "2"),
        ("-k", "5"),
        ("-d", "3", "-k", "5", "--problem", "my_module:jump"),
        ("-k", "5", "--problem", "my_module:hop"),
    ],
)
def test_bad_input_to_cvt_is_refused_in_one_line(cli, tmp_path, args):
    assert cli("cvt", *args).error
    assert not list(tmp_path.glob("*.parquet"))


def test_a_run_with_an_emitter_is_started_again_and_resumed_by_its_name(cli):
    """Its batches are what suits it: 36 samples are three quarters of 48."""
    text = "mixture:0.75@cma_mae:alpha=0.1,emitters=3,batch=12+0.25@gaussian:0.1"
    settings = ("--grid", "6", "--evaluations", "400", "--initial", "100", "--seed", "1")
    assert cli("run", "sphere:3", *settings, "--emitter", text, "-o", "run").code == 0
    about = json.loads(cli("info", "run", "--json").out)
    assert about["batch_size"] == 48
    assert cli("run", "sphere:3", *settings, "--emitter", about["emitter"], "-o", "again").code == 0
    assert Path("again/archive.parquet").read_bytes() == Path("run/archive.parquet").read_bytes()
    assert cli("resume", "run", "--evaluations", "500").code == 0
    refused = cli("run", "sphere:3", *settings, "--emitter", "cma_mae:size=3", "-o", "bad").error
    assert refused.startswith("emitter: expected options of cma_mae as NAME=VALUE (alpha, emitters, batch, ")
    assert "at most 540" in cli("run", "sphere:3", "--emitter", "cma_mae", "--batch-size", "600").error
    assert not Path("bad").exists()
