"""Imports go one way, and importing the package is cheap."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import tesselite

PACKAGE = Path(tesselite.__file__).parent

# From the bottom to the top: a package imports from itself and from packages above it in this list, never from below,
# not even inside a function. Imports for type checkers are exempt. A new package needs a place here.
LAYERS = """
    base
    compiled
    spaces
    tessellation
    archive
    problems
    emitters
    search
    interop
    execution
    runs
    assessment
    report
    paper
    bench
    cli __main__
"""
RANK = {name: rank for rank, line in enumerate(LAYERS.strip().splitlines()) for name in line.split()}


def modules() -> list[Path]:
    return sorted(file for file in PACKAGE.rglob("*.py") if file != PACKAGE / "__init__.py")


def home(dotted: str) -> str:
    """tesselite.problems.functions -> problems"""
    return dotted.split(".")[1]


# Pictures that a problem draws of itself have the style of all other pictures; archives and runs show themselves.
EXCEPTIONS = {
    ("archive/archive.py", "tesselite.report.notebook"),
    ("runs/carry_on.py", "tesselite.report.notebook"),
    ("problems/hexapod_locomotion/gait_pictures.py", "tesselite.report.style"),
    ("problems/maze_navigation/maze_pictures.py", "tesselite.report.archive_map"),
    ("problems/maze_navigation/maze_pictures.py", "tesselite.report.colouring"),
    ("problems/maze_navigation/maze_pictures.py", "tesselite.report.style"),
}


def imported(tree: ast.Module) -> set[str]:
    """Modules of this package that a module imports, at its top level or in a function, as dotted names."""
    found: set[str] = set()
    todo: list[ast.AST] = list(tree.body)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            todo += node.orelse
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.startswith("tesselite.")}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative import"
            if node.module == "tesselite":
                found |= {f"tesselite.{alias.name}" for alias in node.names if alias.name != "__version__"}
            elif node.module and node.module.startswith("tesselite."):
                found.add(node.module)
        todo += list(ast.iter_child_nodes(node))
    return found


@pytest.mark.parametrize("file", modules(), ids=lambda file: file.relative_to(PACKAGE).as_posix())
def test_imports_go_one_way(file):
    own = file.relative_to(PACKAGE).with_suffix("").parts[0]
    assert own in RANK, f"give {own} a place in LAYERS"
    place = file.relative_to(PACKAGE).as_posix()
    for name in imported(ast.parse(file.read_text())):
        other = home(name)
        assert other in RANK, f"give {other} a place in LAYERS"
        if (place, name) not in EXCEPTIONS:
            assert RANK[other] <= RANK[own], f"{place} imports {name}, which is above it"


def test_every_exception_is_still_one():
    for place, name in EXCEPTIONS:
        assert name in imported(ast.parse((PACKAGE / place).read_text()))


def test_the_check_sees_what_it_should():
    source = """
from tesselite import __version__
from tesselite.archive import elitism
import tesselite.search.map_elites
if TYPE_CHECKING:
    from tesselite.cli import app
try:
    from tesselite.search.loop import runs
except ImportError:
    pass
class A:
    from tesselite.runs.run import resume
    def late(self):
        from tesselite.report import page
"""
    expected = {
        "tesselite.archive",
        "tesselite.search.map_elites",
        "tesselite.search.loop",
        "tesselite.runs.run",
        "tesselite.report",
    }
    assert imported(ast.parse(source)) == expected


LIGHT = """
import sys
import tesselite
tesselite.__version__, dir(tesselite)
heavy = {"numba", "llvmlite", "numpy", "pyarrow", "scipy", "matplotlib", "typer", "rich", "pandas"} & set(sys.modules)
assert not heavy, f"import tesselite imports {heavy}"
tesselite.Box(2), tesselite.FeatureSpace.unit(2)
heavy = {"numba", "pyarrow", "scipy", "matplotlib", "typer", "pandas"} & set(sys.modules)
assert not heavy, f"spaces import {heavy}"
"""


def test_importing_is_light():
    result = subprocess.run([sys.executable, "-c", LIGHT], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def test_every_public_name_is_there():
    for name in tesselite.__all__:
        assert getattr(tesselite, name) is not None
    assert set(tesselite.__all__) == set(tesselite._HOME)
    assert tesselite.__all__ == sorted(tesselite.__all__)
    assert "illuminate" in dir(tesselite)
    with pytest.raises(AttributeError, match="module 'tesselite' has no attribute 'nothing'"):
        _ = tesselite.nothing
