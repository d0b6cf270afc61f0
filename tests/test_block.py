"""A user's compiled function comes from the disk in the second process, and never stale."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

import tesselite
from tesselite.function_digest import function_digest

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
