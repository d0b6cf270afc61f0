"""Inspecting somebody else's run executes nothing that it names unless the user agrees; one's own runs need no
agreement."""

from __future__ import annotations

import importlib
import os
import shutil
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import pytest

import tesselite as tl
from hill_runs import contents, edit_settings
from tesselite.base import trust
from tesselite.base.importing import file_of
from tesselite.base.terminal import printable, printable_output
from tesselite.cli import assess_runs, main
from tesselite.execution.asynchronous import Asynchronous
from tesselite.problems import by_name
from tesselite.report.page.run_data import read_run
from tesselite.runs import display
from tesselite.runs.folder import RunFolder
from tesselite.runs.loading import run_archive, unagreed_file
from tesselite.runs.run import resume, run
from tesselite.tessellation.files import load_tessellation

MODULE = """
import pathlib
import tesselite as tl

pathlib.Path("imported").touch()

@tl.problem(solutions=tl.Box(2, 0, 1), features={"a": (0, 1), "b": (0, 1)}, scenarios=["ice"])
def jump(x, scenario=None):
    return float(x[0]), x

def make():
    pathlib.Path("called").touch()
    return jump
"""
SMALL = {"grid": [4, 4], "evaluations": 60, "initial": 20, "batch_size": 20, "seed": 1}


@pytest.fixture
def theirs(tmp_path, monkeypatch):
    """A folder with a run and the module that it names, as somebody else could send it; it is the current folder."""
    monkeypatch.chdir(tmp_path)
    Path("sent_module.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    run(by_name("sent_module:jump"), out=tmp_path / "run", **SMALL)
    forget(monkeypatch, tmp_path)
    return tmp_path / "run"


def forget(monkeypatch, home):
    """Simulate another user, in another process."""
    monkeypatch.setenv("TESSELITE_DATA_DIR", str(home / "data"))
    monkeypatch.setattr(trust, "_agreed", set())
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry != str(home)])
    sys.modules.pop("sent_module", None)
    importlib.invalidate_caches()
    Path("imported").unlink(missing_ok=True)


@pytest.fixture
def command(monkeypatch, capsys):
    def call(*words):
        monkeypatch.setattr(sys, "argv", ["tesselite", *(str(word) for word in words)])
        code = 0
        try:
            main()
        except SystemExit as ended:
            code = ended.code
        said = capsys.readouterr()
        return code, said.out + said.err

    return call


LOOKING = [
    ("info",),
    ("export", "-o", "elites.csv"),
    ("plot", "-o", "figures"),
    ("report", "-o", "report.html"),
]
NEEDING = [("assess",), ("film",), ("compare", "--against", "run2")]


@pytest.mark.parametrize("words", [*LOOKING, *NEEDING], ids=lambda words: words[0])
@pytest.mark.parametrize("spec", ["sent_module:make", "os:abort"])
def test_looking_at_a_run_of_somebody_else_runs_nothing(theirs, command, words, spec):
    edit_settings(theirs, problem=spec)
    shutil.copytree(theirs, "run2")
    before = contents(theirs)
    code, said = command(words[0], "run", *words[1:])
    assert code == (0 if words in LOOKING else 2), said
    assert not Path("imported").exists()
    assert str(Path.cwd()) not in sys.path  # nor may anything else come from there
    assert contents(theirs) == before
    if words[0] not in ("info", "export"):
        file = Path("sent_module.py").resolve() if "sent" in spec else Path(spec.partition(":")[0])
        assert f"its problem is {spec}, its emitter iso_line:0.01,0.2; importing them would run" in said
        assert file.stem in said
        assert "add --trust" in said


@pytest.mark.parametrize("words", [("plot", "-o", "figures"), ("report", "-o", "report.html"), ("assess", "-q")])
def test_the_user_can_agree_and_is_not_asked_again(theirs, command, words, monkeypatch):
    code, said = command(words[0], "run", *words[1:], "--trust")
    assert code == 0
    assert f"run: importing the run's problem from {theirs.parent / 'sent_module.py'}" in said
    assert Path("imported").exists()
    for modules in (["sent_module"], []):
        for module in modules:
            sys.modules.pop(module)
        monkeypatch.setattr(trust, "_agreed", set())  # another process
        code, said = command(words[0], "run", *words[1:])
        assert code == 0
        assert "trust" not in said
    assert read_run(theirs).problem is not None


def test_a_file_of_the_same_name_elsewhere_is_another_one(theirs, command, tmp_path, monkeypatch):
    assert command("assess", "run", "-q", "--trust")[0] == 0
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "sent_module.py").write_text("raise SystemExit('foreign')")
    forget_module(monkeypatch, tmp_path)
    monkeypatch.chdir(elsewhere)
    code, said = command("assess", theirs, "-q")
    assert code == 2
    assert f"would run {elsewhere / 'sent_module.py'}" in said


def forget_module(monkeypatch, home):
    sys.modules.pop("sent_module", None)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry != str(home)])
    importlib.invalidate_caches()


def test_runs_of_ones_own_need_no_word(theirs, command, monkeypatch):
    """Whether they were started by a command, from Python, or resumed."""
    words = [f"--{name.replace('_', '-')}={value}" for name, value in SMALL.items() if name != "grid"]
    assert command("run", "sent_module:make", "--grid", "4x4", *words, "-q", "-o", "own")[0] == 0
    assert command("resume", "run", "-q")[0] == 0
    tl.illuminate(by_name("sent_module:jump"), **SMALL, out="python")
    forget_module(monkeypatch, theirs.parent)
    monkeypatch.setattr(trust, "_agreed", set())  # another process
    for folder in ("own", "run", "python"):
        code, said = command("assess", folder, "-q")
        assert code == 0, said


def test_built_in_problems_are_always_fine(theirs, command, tmp_path):
    run(tl.problems.sphere(3), out=tmp_path / "sphere", **SMALL)
    assert command("assess", "sphere", "-q")[0] == 0
    assert not (tmp_path / "data").exists()


def test_a_home_that_cannot_be_written_to_stops_nobody(theirs, command, monkeypatch):
    Path("data").touch()  # in the place of the folder
    assert command("assess", "run", "-q", "--trust")[0] == 0
    assert command("assess", "run", "-q")[0] == 0  # in the same process


def test_only_what_may_make_a_problem_is_called(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for spec in ("os:abort", "os:getpid", "time:time"):
        with pytest.raises(ValueError, match=f"{spec} is not a problem but of type builtin_function_or_method"):
            by_name(spec)


def test_where_a_module_is_is_found_without_importing_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("single.py").write_text("raise SystemExit")
    Path("package/inner").mkdir(parents=True)
    Path("package/__init__.py").write_text("raise SystemExit")
    Path("spread").mkdir()
    assert file_of("single:x") == str(tmp_path / "single.py")
    assert file_of("package.inner:x") == str(tmp_path / "package" / "__init__.py")
    assert file_of("spread:x") == str(tmp_path / "spread")
    assert file_of("sys:x") == "built-in"
    assert file_of("json:x").endswith("json/__init__.py")
    for nothing in ("no_such_module:x", ":x", "../up:x", "a b:x", "", "..:x"):
        assert file_of(nothing) is None


def test_a_scheduler_that_a_foreign_run_names_is_not_connected_to(theirs, command, monkeypatch):
    """Dask unpickles what a scheduler sends: whoever runs it can run anything here."""
    kept = {"kind": "batches", "workers": "tcp://203.0.113.9:8786", "timeout": None, "retries": 2}
    edit_settings(theirs, problem="sent_module:jump", evaluations=100, execution=kept)
    opened = []
    monkeypatch.setattr("tesselite.execution.workers.dask_cluster.DaskWorkers", lambda *given: opened.append(given))
    before = contents(theirs)
    code, said = command("resume", "run", "-q")
    assert code == 2
    assert "names the Dask scheduler tcp://203.0.113.9:8786, which you have not used before" in said
    assert opened == []
    assert contents(theirs) == before
    assert resume(theirs, workers=0).search.evaluations == 100


def test_archives_with_scales_of_ones_own_obey_the_rule(theirs, monkeypatch):
    assert len(run_archive(theirs)[0]) > 0
    monkeypatch.setattr("tesselite.runs.loading.own_scales", lambda file: ["mine"])
    with pytest.raises(ValueError, match="If you trust that file, add --trust"):
        run_archive(theirs)


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("report",), "report.html"),
        (("plot",), "figures"),
        (("plot",), "figures/archive.png"),
        (("export",), "elites.csv"),
        (("assess", "--trust"), "assessment.parquet"),
    ],
)
def test_nothing_is_written_through_a_link_that_came_with_a_run(theirs, command, words, name):
    """It could lead to any file of the user's."""
    mine = Path("mine")
    if name == "figures":
        mine.mkdir()
    else:
        mine.write_text("precious")
    (theirs / name).parent.mkdir(exist_ok=True)
    (theirs / name).symlink_to(mine.resolve())
    code, said = command(*words, "run")
    assert code == 2
    assert f"run/{name}: a symbolic link, which may lead anywhere" in said
    assert mine.is_dir() or mine.read_text() == "precious"
    assert not list(mine.glob("*"))


def test_pipes_in_the_place_of_files_are_refused(theirs, command):
    """A reader of a pipe would wait forever."""
    for name in ("archive.parquet", "assessment.parquet", "progress.csv", "settings.json"):
        (theirs / name).unlink(missing_ok=True)
        os.mkfifo(theirs / name)
        words = ["info"] if name != "assessment.parquet" else ["assess", "--trust"]
        code, said = command(*words, "run")
        assert code == 2, name
        assert f"run/{name}: not a regular file" in said
        (theirs / name).unlink()
        if name != "settings.json":
            run(by_name("sent_module:jump"), out=theirs.parent / f"again {name}", **SMALL)
            if (theirs.parent / f"again {name}" / name).exists():
                shutil.copy(theirs.parent / f"again {name}" / name, theirs)
    os.mkfifo("pipe.parquet")
    assert "pipe.parquet: not a regular file" in command("info", "pipe.parquet")[1]
    with pytest.raises(OSError, match="not a regular file"):
        load_tessellation("pipe.parquet")


def test_no_name_reaches_a_terminal_with_codes_that_it_obeys(theirs, command):
    """They could set a title, a clipboard or a forged line."""
    edit_settings(theirs, problem="evil\x1b]0;title\x07\x9b31m\u202e:x")
    Path("run").rename("run\x1b[31m")
    for words in (("info",), ("assess",), ("export", "-o", "elites\x1b[2J.csv")):
        code, said = command(words[0], "run\x1b[31m", *words[1:])
        assert code == (2 if words[0] == "assess" else 0), said
        assert "\x1b" not in said.replace("\\x1b", "")
        assert not {"\x07", "\x9b", "\u202e"} & set(said)
    assert printable("a\x1b[31m\x9b\u202e\tb\n") == "a\\x1b[31m\\x9b\\u202e\tb\n"


RUDE = """
import tesselite as tl

@tl.problem(solutions=tl.Box(2), features={"a\\x1b[31m\\nFORGED": (0, 1)}, scenarios=["ice\\x1b[2J\\nFORGED"])
def jump(x, scenario=None):
    if x[0] > 0.7:
        raise ValueError("steep\\x1b]0;title\\x07\\nFORGED")
    return x[0], x[1:]
"""
FOLDERS = "one\x1b[31m\nFORGED", "[/two]\x1b[2J\nFORGED"


@pytest.mark.parametrize("terminal", [False, True], ids=["a file", "a terminal"])
def test_no_line_of_a_command_holds_codes_or_looks_like_two(tmp_path, monkeypatch, command, terminal):
    """Whether names are of folders, features, scenarios or reasons, and whether they are reported, noted or counted."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "rude_module", raising=False)
    Path("rude_module.py").write_text(RUDE)
    monkeypatch.setattr(assess_runs, "_PLAIN_SECONDS", 0.0)
    monkeypatch.setattr(display, "_PLAIN_SECONDS", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    monkeypatch.setattr("tesselite.report.comparison_report.write_comparison", lambda of, out, *args: [out / "page"])
    monkeypatch.setenv("TERM", "dumb")  # Rich would send codes of its own
    for folder, evaluations in zip(FOLDERS, ("60", "80"), strict=True):
        words = ["run", "rude_module:jump", "-o", folder, "--grid", "5", "--initial", "20", "--batch-size", "20"]
        code, said = command(*words, "--evaluations", evaluations, "--seed", "1")
        assert code == 0, said
        check_lines(said)
    one, two = FOLDERS
    for words in (
        ("info", two),
        ("assess", two),
        ("compare", one, "--against", two, "-o", "out\nFORGED"),
        ("resume", one),
        ("export", one),
        ("info", f"no {one}"),
        ("run", "rude_module:jump", "-o", one, "--grid", "5"),
    ):
        code, said = command(*words)
        assert code == (2 if words[1].startswith("no") or words[0] == "run" else 0), said
        check_lines(said)
        assert "FORGED" in said


def test_warnings_of_a_command_are_printable():
    """Those of Matplotlib hold the characters that a font is without."""
    before = warnings.formatwarning
    with printable_output():
        assert "x\\x1by" in warnings.formatwarning(UserWarning("x\x1by"), UserWarning, "file.py", 3, "")
    assert warnings.formatwarning is before


def check_lines(said):
    assert all(c.isprintable() or c == "\n" for c in said), said
    assert not any(line.startswith("FORGED") for line in said.split("\n")), said


def test_an_operator_that_a_foreign_run_names_is_not_imported_to_look_at_it(theirs, command):
    """Even with a built-in problem: the operator is user code, too."""
    stored = RunFolder.open(theirs).read().planned
    for text in ("sent_module:jump", "curiosity:sent_module:jump"):
        plan = replace(stored, problem="sphere:3", emitter=text, execution=Asynchronous(2))
        assert unagreed_file(plan) is not None
    edit_settings(theirs, emitter="sent_module:jump", execution=Asynchronous(2).to_dict())
    before = contents(theirs)
    code, said = command("replay", "run")
    assert code == 2
    assert "which you have not run before" in said
    assert contents(theirs) == before
