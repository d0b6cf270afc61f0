"""Importing users' modules and calling their functions: no search starts twice, no output is mixed."""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tesselite as tl
from tesselite.cli import main
from tesselite.runs.run import run

README = (Path(__file__).parent.parent / "README.md").read_text()

# Ends the chain of processes if there is one.
SEARCHING = """
import pathlib
import tesselite as tl

imports = pathlib.Path("imports")
imports.write_text(imports.read_text() + "x" if imports.exists() else "x")
if len(imports.read_text()) > 4:
    raise RuntimeError("a chain of processes")

@tl.problem(solutions=tl.Box(2, 0, 1), features={"a": (0, 1), "b": (0, 1)})
def jump(x):
    return 0.0, x

def make():
    search()
    return jump

def search():
    tl.illuminate(jump, grid=3, evaluations=20, workers=WORKERS)

if SEARCHES:
    search()
"""
GUARD = 'Put the search under `if __name__ == "__main__":`'


def write_module(name: str, workers: int | None, searches: str) -> None:
    text = SEARCHING.replace("WORKERS", repr(workers)).replace("SEARCHES", searches)
    Path(f"{name}.py").write_text(text)
    importlib.invalidate_caches()


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.parametrize("workers", [None, 2])
def test_a_module_that_searches_when_it_is_imported_is_refused(workers):
    name = f"searching_{workers}"
    write_module(name, workers, "True")
    with pytest.raises(ValueError, match=re.escape(GUARD)) as refused:
        tl.problems.by_name(f"{name}:jump")
    assert f"importing {name} failed" in str(refused.value)
    line = Path(f"{name}.py").read_text().splitlines().index("def search():") + 2
    assert f"{name}.py, line {line})" in str(refused.value)
    assert Path("imports").read_text() == "x"


def test_a_function_that_searches_when_it_makes_a_problem_is_refused():
    write_module("making", None, "False")
    with pytest.raises(ValueError, match=re.escape(GUARD)):
        tl.problems.by_name("making:make")


def test_a_worker_that_imports_a_module_starts_no_search():
    write_module("imported_by_worker", 1, "True")
    done = subprocess.run(
        [sys.executable, "-c", "import imported_by_worker"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, [Path.cwd(), *sys.path]))},
    )
    assert GUARD in done.stderr
    assert Path("imports").read_text() == "xx"


@pytest.mark.parametrize("make", ["resume", "start", "assess"])
def test_whatever_evaluates_is_refused_while_a_module_is_imported(make, grid_folder):
    calls = {
        "resume": f"tl.resume({str(grid_folder)!r}, jump)",
        "start": "from tesselite.runs.run import run; run(jump, out='x', evaluations=9, grid=3)",
        "assess": "archive = tl.Archive(tl.GridTessellation(jump.features, 2), 2)\n"
        "archive.add([[0.1, 0.2]], [0.0], [[0.1, 0.2]])\ntl.assess(archive, jump)",
    }
    write_module(f"with_{make}", None, "False")
    with Path(f"with_{make}.py").open("a") as file:
        file.write(f"\n{calls[make]}\n")
    with pytest.raises(ValueError, match=re.escape(GUARD)):
        tl.problems.by_name(f"with_{make}:jump")


def test_the_examples_of_the_readme_are_modules_that_run_on_workers(tmp_path):
    snippets = [text for text in re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL) if "@tl.problem" in text]
    assert snippets
    for number, text in enumerate(snippets):
        Path(f"example_{number}.py").write_text(text)
        importlib.invalidate_caches()
        problem = tl.problems.by_name(f"example_{number}:jump")
        run(problem, out=tmp_path / f"run-{number}", evaluations=10, grid=3)


# -- output ------------------------------------------------------------------------------------------------------------

PRINTING = """
import ctypes, subprocess
import tesselite as tl

def say(what):
    print(f"said in {what}")
    ctypes.CDLL(None).puts(b"said in C")

say("import")
subprocess.run(["echo", "said by a child"])

def double(x):
    return 2.0 * x

def halve(x):
    return x / 2.0

scale = tl.Scale("doubled", double, halve)
space = tl.FeatureSpace({"a": (0, 1), "b": (0, 1)}, scales={"a": scale})

@tl.problem(solutions=tl.Box(2, 0, 1), features=space, scenarios=["storm"])
def printing(x, scenario):
    say("function")
    return 0.0, x
"""


def test_standard_output_holds_one_json_object_whatever_functions_print(capfd, monkeypatch):
    Path("printing.py").write_text(PRINTING)
    importlib.invalidate_caches()
    small = ["--grid", "3", "--evaluations", "20", "--initial", "10", "--batch-size", "10", "--seed", "1"]
    commands = [
        ["run", "printing:printing", "-o", "run", "--report", *small],
        ["resume", "run", "--evaluations", "40"],
        ["assess", "run"],
        ["info", "run"],
        ["plot", "run"],
        ["report", "run"],
        ["run", "printing:printing", "-o", "other", *small[:-1], "2"],
        ["compare", "run", "--against", "other"],
        ["cvt", "--problem", "printing:printing", "-k", "3"],
    ]
    for words in commands:
        monkeypatch.setattr(sys, "argv", ["tesselite", *words, "--json"])
        sys.modules.pop("printing", None)
        with pytest.raises(SystemExit, match="0"):
            main()
        said = capfd.readouterr()
        assert isinstance(json.loads(said.out), dict), words
        if words[0] in ("run", "assess"):
            assert "said in function" in said.err
            assert "said in C" in said.err
            assert "said by a child" in said.err
