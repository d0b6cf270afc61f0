"""Every block of Python in the README, the pages, the tutorials and the docstrings runs; every command is valid."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import inspect
import re
import shlex
import sys
from dataclasses import replace
from pathlib import Path

import matplotlib
import pytest
import typer

import tesselite as tl
from tesselite.cli.app import app
from tesselite.execution.workers.processes import Processes
from tesselite.runs.plan import Plan

MOST = 3_000  # evaluations of a run
ROOT = Path(__file__).parent.parent
STAND_INS = ROOT / "tests" / "stand_ins"  # for packages that only readers of one block have; real ones come first
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
SLOW = {"comparing", "dask", "gymnasium", "hexapod-recovery"}  # tutorials, which `make docs` executes as well
# A comment before a block prepares what it takes for granted.
BLOCK = re.compile(
    r"^(?:<!-- first:\n([^`]*?)-->\n)?```(?:python|\{code-cell\})\n(.*?)^```", flags=re.DOTALL | re.MULTILINE
)


def blocks(page: Path) -> list[tuple[str, str]]:
    """What prepares each block, and the block."""
    return BLOCK.findall(page.read_text())


def with_blocks() -> list[object]:
    marks = dict.fromkeys(SLOW, pytest.mark.slow)
    found = [page for page in PAGES if blocks(page)]
    return [pytest.param(page, id=page.stem, marks=marks.get(page.stem, ())) for page in found]


@pytest.fixture
def small(tmp_path, monkeypatch):
    """In an empty folder, without windows, and with budgets and workers that a test can afford."""
    monkeypatch.chdir(tmp_path)
    matplotlib.use("agg")
    of = Plan.of.__func__
    capped = classmethod(
        lambda cls, problem, niches, budget, **named: of(
            cls, problem, niches, replace(budget, evaluations=min(budget.evaluations, MOST)), **named
        )
    )
    monkeypatch.setattr(Plan, "of", capped)
    start = Processes.__init__
    monkeypatch.setattr(Processes, "__init__", lambda self, n, **named: start(self, min(n, 2), **named))
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path, str(STAND_INS)])
    known = set(sys.modules)
    yield
    for name in set(sys.modules) - known:
        home = getattr(sys.modules[name], "__file__", None) or ""
        if home.startswith((str(STAND_INS), str(tmp_path))):
            del sys.modules[name]


@pytest.mark.parametrize("page", with_blocks())
@pytest.mark.usefixtures("small")
def test_blocks_run(page):
    import matplotlib.pyplot as plt

    names: dict[str, object] = {"__name__": "__main__"}
    missing = set()
    for number, (first, code) in enumerate(blocks(page)):
        exec(first, names)
        modules = re.findall(r"^(?:import|from) (\w+)", code, flags=re.MULTILINE)
        absent = {module for module in modules if importlib.util.find_spec(module) is None}
        missing |= absent
        try:
            if not absent:
                exec(compile(code, f"{page.name}, block {number}", "exec"), names)
        except NameError:
            if not missing:  # otherwise it may need an earlier block
                raise
    plt.close("all")
    if missing:
        assert page.parent.name == "tutorials", f"{missing}: only tutorials are executed elsewhere; add it to [dev]"
        pytest.skip(f"{', '.join(missing)} not installed; `make docs` and `make test-peers` execute the whole page")


@pytest.mark.parametrize("tracker", ["tensorboardX", "wandb", "mlflow"])
@pytest.mark.usefixtures("small")
def test_trackers_receive_the_coverage_at_increasing_evaluations(tracker, monkeypatch):
    monkeypatch.setattr(sys, "path", [str(STAND_INS), *sys.path])
    (code,) = (code for _, code in blocks(ROOT / "docs" / "how-do-i.md") if tracker in code)
    exec(code, {"tl": tl, "problem": tl.problems.sphere(5)})
    names, coverages, evaluations = zip(*sys.modules[tracker].logged, strict=True)
    assert set(names) == {"coverage"}
    assert 0 < coverages[0] < coverages[-1] <= 1
    assert list(evaluations) == sorted(set(evaluations))
    assert evaluations[-1] == MOST


HOMES = sorted({f"tesselite.{home}" for home in tl._HOME.values()} | {"tesselite.emitters.curious_parents"})


MORE = ["tesselite.interop.formats", "tesselite.interop.pyribs", "tesselite.problems.planar_arm"]


@pytest.mark.parametrize("home", [*HOMES, *MORE])
@pytest.mark.usefixtures("small")
def test_examples_in_docstrings(home):
    import matplotlib.pyplot as plt

    failed, _ = doctest.testmod(importlib.import_module(home), optionflags=doctest.NORMALIZE_WHITESPACE)
    plt.close("all")
    assert failed == 0


def most_used():
    used = [tl.run, tl.illuminate, tl.resume, tl.Archive, tl.Box, tl.Levels, tl.FeatureSpace, tl.cvt, tl.MapElites]
    used += [tl.GridTessellation, tl.VoronoiTessellation, tl.problem, tl.assess, tl.measure, tl.project, tl.expanding]
    used += [tl.Archive.nearest, tl.Archive.save, tl.variation.gaussian, tl.variation.iso_line, tl.plots.archive]
    return [pytest.param(one, id=one.__qualname__) for one in used]


@pytest.mark.parametrize("one", most_used())
def test_the_most_used_names_have_examples_and_name_their_arguments(one):
    text = inspect.getdoc(one) or ""
    assert ">>>" in text
    prose = text.partition(">>>")[0]
    missing = {name for name in inspect.signature(one).parameters if not re.search(rf"\b{name}\b", prose)}
    assert missing <= {"self"}


def commands(page: Path) -> list[str]:
    """The lines of indented and fenced blocks that begin with tesselite."""
    found, fenced = [], False
    for line in page.read_text().splitlines():
        fenced ^= line.startswith("```")
        if line.lstrip().startswith("tesselite ") and (fenced or line.startswith("    ")):
            found.append(line)
    return found


@pytest.mark.parametrize("page", [pytest.param(page, id=page.stem) for page in PAGES if commands(page)])
def test_commands_are_valid(page):
    known = typer.main.get_command(app)
    for line in commands(page):
        _, name, *words = shlex.split(line.replace("$seed", "1"), comments=True)
        given = known.get_command(None, name).make_context(name, words).params  # raises where it is not valid
        problem = given.get("problem") or ""
        if problem.partition(":")[0] in {one.name for one in tl.problems.BUILT_IN}:
            tl.problems.by_name(problem)
