"""A user's compiled function is loaded from the cache in a second process, and is never stale."""

from __future__ import annotations

import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import numba
import numpy as np
import pytest

import tesselite
from tesselite.compiled import blocks as block
from tesselite.compiled.digest import function_digest

MODULE = """
import numpy as np
from numba import njit
import tesselite as tl
from tesselite import sincos

SCALE = {scale}
WEIGHTS = np.array([1.0, {weight}])

@njit
def helper(x):
    return x * SCALE + {inside}

@tl.problem(solutions=tl.Box(2), features={{"a": (0, 1), "b": (0, 1)}})
@njit
def mine(x):
    return helper(x[0]) + WEIGHTS[1] * sincos(x[1])[0], (x[0], x[1])
"""

RUN = """
from mine import mine
value = mine.evaluate([[0.5, 0.25]]).fitness[0]
print(value, mine._blocks[None].cache_hits)
"""


def test_the_second_process_takes_it_from_the_disk_and_a_changed_one_is_compiled_anew(tmp_path):
    environment = {
        "PYTHONPATH": f"{tmp_path}:{Path(tesselite.__file__).parent.parent}",
        "TESSELITE_CACHE_DIR": str(tmp_path / "cache"),
        "PATH": "",
    }

    def run(**values):
        (tmp_path / "mine.py").write_text(MODULE.format(**({"scale": 2.0, "weight": 3.0, "inside": 1.0} | values)))
        command = [sys.executable, "-B", "-c", RUN]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        value, hits = done.stdout.split()
        return float(value), int(hits)

    def expected(scale=2.0):
        return 0.5 * scale + 1.0 + 3.0 * np.sin(0.25)

    assert run() == (pytest.approx(expected(), abs=1e-12), 0)
    assert run() == (pytest.approx(expected(), abs=1e-12), 1)
    # A global of a callee: Numba's own cache does not notice it. The digests of other changes are tested below.
    assert run(scale=5.0) == (pytest.approx(expected(scale=5.0), abs=1e-12), 0)


def made(constant=1.0, closed=2.0, default=3.0, table=(1.0, 2.0), **options):
    array = np.array(table)

    @numba.njit(**options)
    def callee(x):
        return x + constant

    @numba.njit
    def function(x, extra=default):
        return callee(x[0]) * closed + extra + array[0], (x[0],)

    return function


def test_equal_functions_have_equal_digests():
    assert function_digest(made()) == function_digest(made())
    assert function_digest(made()) is not None


@pytest.mark.parametrize(
    "change",
    [{"constant": 1.5}, {"closed": 2.5}, {"default": 3.5}, {"table": (1.5, 2.0)}, {"fastmath": True}],
    ids=lambda change: next(iter(change)),
)
def test_whatever_changes_the_machine_code_changes_the_digest(change):
    assert function_digest(made(**change)) != function_digest(made())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"signature_or_function": "int64(float64)"}, {"signature_or_function": "float64(float64)"}),
        ({"signature_or_function": "float64(float64)"}, {}),
        ({"locals": {"y": numba.int64}}, {}),
        ({"locals": {"y": numba.int64}}, {"locals": {"y": numba.float64}}),
        ({"fastmath": {"nnan"}}, {"fastmath": {"ninf"}}),
    ],
)
def test_signatures_and_types_of_locals_are_part_of_the_digest(one, other):
    def calling(options):
        @numba.njit(**options)
        def callee(x):
            y = x
            return y

        return numba.njit(lambda x: (callee(x[0]), (x[0], x[1])))

    assert function_digest(calling(one)) == function_digest(calling(one)) is not None
    assert function_digest(calling(one)) != function_digest(calling(other))


def test_signatures_that_came_with_use_are_not_part_of_the_digest():
    function = numba.njit(lambda x: x + 1.0)
    before = function_digest(function)
    assert function(1) == function(1.5) - 0.5
    assert function_digest(function) == before


def test_the_layout_of_an_array_is_part_of_the_digest():
    table = np.array([[1.0, 2.0], [3.0, 4.0]])

    def reading(array):
        return numba.njit(lambda x: array.ravel("A")[1] * x[0])

    assert function_digest(reading(table)) != function_digest(reading(np.asfortranarray(table)))


TAUGHT = """
import operator
import numpy as np
from numba import njit, stencil, types, vectorize
from numba.core.typing.templates import builtin_registry
from numba.extending import intrinsic, overload, overload_attribute, overload_method
from tesselite.compiled.digest import function_digest

@overload_method(types.Array, "shout")
def shout(a):
    return lambda a: 1.0

@overload_attribute(types.Array, "loud")
def loud(a):
    return lambda a: 1.0

@overload(np.linalg.tensorsolve)
def solve(a, b):
    return lambda a, b: 1.0

@intrinsic
def same(context, a):
    return a(a), lambda c, b, s, args: args[0]

kernel, ufunc, own = stencil(lambda a: a[0] + a[1]), vectorize(lambda a: a + 1), lambda a: a

for using in (
    lambda x: x.shout(),
    lambda x: x.loud,
    lambda x: getattr(x, "loud"),
    lambda x: np.linalg.tensorsolve(x, x),
    lambda x: same(x[0]),
    lambda x: kernel(x)[0],
    lambda x: ufunc(x)[0],
    lambda x: own(x[0]),
):
    assert function_digest(njit(using)) is None

other = njit(lambda x: np.sum(x) + x[0])
for unnamed in (operator.matmul, len):
    assert function_digest(other) is not None
    overload(unnamed)(lambda *arguments: None)
    assert function_digest(other) is None
    builtin_registry.functions.pop()
"""


def test_what_numba_was_taught_is_not_kept_where_it_is_used():
    done = subprocess.run([sys.executable, "-B", "-c", TAUGHT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_what_is_known_by_its_name_has_a_digest():
    known = (np.sin, np.linalg.norm, np.float64, numba.float64, numba.prange, len, np.add, ValueError)
    assert None not in {function_digest(numba.njit(lambda x, one=one: x)) for one in known}


Forward, Backward = namedtuple("Pair", "a b"), namedtuple("Pair", "b a")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (((1.0, 2.0), (3.0,)), ((1.0,), (2.0, 3.0))),
        (((1.0, 2.0), 3.0), (1.0, (2.0, 3.0))),
        ((frozenset({1.0}), frozenset()), (frozenset(), frozenset({1.0}))),
        ((1.0, 2.0), frozenset({1.0, 2.0})),
        (Forward(1.0, 2.0), Backward(1.0, 2.0)),
    ],
)
def test_the_structure_of_constants_is_part_of_the_digest(one, other):
    assert function_digest(made(closed=one)) != function_digest(made(closed=other))


def test_which_of_two_callees_is_called_again_is_part_of_the_digest():
    first, second = (numba.njit(lambda x, add=add: x + add) for add in (1.0, 2.0))

    def calling(a, b, c):
        return numba.njit(lambda x: a(b(c(x))))

    assert function_digest(calling(first, second, first)) != function_digest(calling(first, second, second))


def test_what_cannot_be_judged_is_not_kept():
    class Thing:
        value = 1.0

    thing = Thing()

    @numba.njit
    def function(x):
        return thing.value, (x[0],)

    assert function_digest(function) is None


def test_a_function_that_calls_itself_has_a_digest():
    @numba.njit
    def countdown(n):
        return 0 if n <= 0 else countdown(n - 1)

    assert function_digest(countdown) is not None


def dividing(**options):
    @numba.njit(**options)
    def tenths(x):
        return float(10 // int(x[0] * 3)), (x[0], x[1])

    return tenths


def as_problem(function):
    return tesselite.problem(solutions=tesselite.Box(2), features={"a": (0, 1), "b": (0, 1)})(function)


@pytest.mark.parametrize("called_before", [False, True])
def test_an_exception_is_one_whether_or_not_the_function_was_called_before(called_before):
    function = dividing()
    zero = np.array([0.1, 0.5])
    if called_before:
        with pytest.raises(ZeroDivisionError):
            function(zero)
    problem = as_problem(function)
    assert problem.evaluate([zero, [0.5, 0.5]]).valid.tolist() == [False, True]
    with pytest.raises(ZeroDivisionError):
        function(zero)
    settings = {"grid": 10, "evaluations": 600, "initial": 100, "batch_size": 100, "seed": 1}
    in_the_loop = tesselite.illuminate(problem, **settings)
    interpreted = tesselite.illuminate(as_problem(function.py_func), **settings)
    assert in_the_loop.invalid.total() == interpreted.invalid.total() > 20
    assert [elite.evaluation for elite in in_the_loop] == [elite.evaluation for elite in interpreted]


def test_a_function_that_asks_for_numpys_arithmetic_gets_it():
    function = dividing(error_model="numpy")
    assert as_problem(function).evaluate([[0.1, 0.5]]).fitness == function(np.array([0.1, 0.5]))[0]


def test_machine_code_is_kept_by_what_a_division_by_zero_does(monkeypatch):
    digests = []
    monkeypatch.setattr(block, "compile_block", lambda source, given, digest, *_: digests.append(digest))
    for options in ({}, {"error_model": "numpy"}):
        block.block_of_function(dividing(**options), 2, 2, None)
    assert [digest.splitlines()[0] for digest in digests] == ["error_model python", "error_model numpy"]
