"""The shape of the source: functions and files are short, and values travel in records, not in lists of arguments.

Exceptions are listed here with a reason, so that nothing grows unnoticed. Kernels may take many arrays, and what
generates machine code takes the arguments of the code that it generates: neither counts as a long list of arguments.
"""

from __future__ import annotations

import ast
import functools
from collections import Counter
from pathlib import Path

import tesselite

PACKAGE = Path(tesselite.__file__).parent
FUNCTION_LINES, PARAMETERS, FILE_LINES = 60, 8, 620

LONG_FUNCTIONS = {
    "runs/run.py:run",  # two thirds of it are the reference of its arguments
    # Kernels, which are one calculation each.
    "problems/hexapod_locomotion/contact.py:_normal_pass",
    "problems/hexapod_locomotion/line_search.py:_solve_states",
}
MANY_PARAMETERS = {  # all public: users type these keywords
    "assessment/scenarios.py:assess",
    "interop/pyribs.py:__init__",
    "problems/maze_navigation/problem.py:maze",
    "problems/user_function.py:problem",
    "runs/run.py:resume",
    "runs/run.py:run",
    "search/map_elites.py:__init__",
    "tessellation/cvt.py:cvt",
}


def decorators(function: ast.FunctionDef) -> set[str]:
    return {ast.unparse(decorator).partition("(")[0].rpartition(".")[2] for decorator in function.decorator_list}


def parameters(function: ast.FunctionDef) -> list[str]:
    given = function.args.posonlyargs + function.args.args + function.args.kwonlyargs
    return [one.arg for one in given if one.arg not in ("self", "cls")]


def is_machine_code(function: ast.FunctionDef) -> bool:
    """A kernel or a block, or a generator of machine code, whose first argument is Numba's typing context."""
    compiled = any(name in ("kernel", "part", "njit") or name.endswith("_block") for name in decorators(function))
    return compiled or parameters(function)[:1] == ["typing"]


@functools.cache
def functions() -> list[tuple[str, ast.FunctionDef]]:
    return [
        (f"{file.relative_to(PACKAGE).as_posix()}:{node.name}", node)
        for file in sorted(PACKAGE.rglob("*.py"))
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
    ]


def test_functions_are_short():
    long = {
        name
        for name, node in functions()
        if node.end_lineno is not None and node.end_lineno - node.lineno >= FUNCTION_LINES
    }
    assert long - LONG_FUNCTIONS == set(), f"tell these in steps of at most {FUNCTION_LINES} lines"
    assert LONG_FUNCTIONS - long == set(), "these are short now: take them off the list"


def test_functions_take_few_arguments():
    many = {name for name, node in functions() if len(parameters(node)) > PARAMETERS and not is_machine_code(node)}
    assert many - MANY_PARAMETERS == set(), "give these a record (a frozen dataclass, or a NamedTuple)"
    assert MANY_PARAMETERS - many == set(), "these take few arguments now: take them off the list"


def test_files_have_one_subject():
    lines = {file: len(file.read_text(encoding="utf-8").splitlines()) for file in PACKAGE.rglob("*.py")}
    long = {file.relative_to(PACKAGE).as_posix(): n for file, n in lines.items() if n > FILE_LINES}
    assert long == {}, "split these by subject"


def test_the_checks_see_what_they_should():
    source = """
@kernel(forceinline=True)
def compiled(a, b): ...
@blocks.variation_block
def block(a): ...
@vector_operation
def generated(typing, a): ...
class A:
    def plain(self, a, /, b, *, c): ...
"""
    made = {node.name: node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)}
    assert [name for name, node in made.items() if is_machine_code(node)] == ["compiled", "block", "generated"]
    assert parameters(made["plain"]) == ["a", "b", "c"]


def test_no_two_modules_share_a_name():
    """A name says which file is meant; the maze and the hexapod alone are built alike."""
    alike = {"problem.py", "robot.py", "lockstep.py", "page_view.py", "__init__.py"}
    names = Counter(file.name for file in PACKAGE.rglob("*.py") if file.name not in alike)
    assert [name for name, times in names.items() if times > 1] == []
