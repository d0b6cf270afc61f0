"""The example of a user's solution space: it works in a search, is checked, and is imported by name."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

import tesselite as tl

EXAMPLES = Path(__file__).parent.parent / "examples"


@pytest.fixture
def example(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    yield importlib.import_module("own_solutions")
    sys.modules.pop("own_solutions")


def test_solutions_stay_in_their_space_and_tours_get_shorter(example, tmp_path):
    tours = tl.problems.by_name("own_solutions:tours")
    options = {"grid": 6, "initial": 50, "batch_size": 50, "seed": 1}
    run = tl.run(tours, evaluations=400, out=tmp_path / "run", **options)
    before = run.archive.best.fitness
    run = tl.resume(tmp_path / "run", evaluations=1500)
    assert run.archive.best.fitness < before
    elites = run.archive.elites()
    tours.solutions.validate(elites.solutions)
    again = tours.evaluate(elites.solutions)
    np.testing.assert_array_equal(again.fitness, elites.fitness)
    assert run.archive.equals(tl.illuminate(tours, evaluations=1500, **options))


def test_wrong_rows_are_refused(example):
    orders = example.Orders(3)
    for wrong in ([[0, 1, 1]], [[0, 1, 3]], [0, 1, 2], [[0, 1]]):
        with pytest.raises(ValueError):
            orders.validate(wrong)
