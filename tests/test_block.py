"""A user's compiled function comes from the disk in the second process, and never stale."""

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

    def expected(scale=2.0, weight=3.0, inside=1.0):
        return 0.5 * scale + inside + weight * np.sin(0.25)

    assert run() == (pytest.approx(expected(), abs=1e-12), 0)
    assert run() == (pytest.approx(expected(), abs=1e-12), 1)
    # A global of a callee and an array: neither is noticed by Numba's own cache.
    assert run(scale=5.0) == (pytest.approx(expected(scale=5.0), abs=1e-12), 0)
    assert run(weight=7.0, inside=2.0) == (pytest.approx(expected(weight=7.0, inside=2.0), abs=1e-12), 0)


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
    monkeypatch.setattr(block, "compile_source", lambda source, name, given, digest, _: digests.append(digest))
    for options in ({}, {"error_model": "numpy"}):
        block.block_of_function(dividing(**options), 2, 2, None)
    assert [digest.splitlines()[0] for digest in digests] == ["error_model python", "error_model numpy"]
