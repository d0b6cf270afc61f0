"""Messages for mistakes that users make first: each names the argument, what came, and what to do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numba import njit

import tesselite as tl
from tesselite.problems import by_name

BOX = tl.Box(3, -1, 1)
FEATURES = {"a": (-1, 1), "b": (-1, 1)}


def made(function, **options):
    return tl.problem(solutions=BOX, features=FEATURES, **options)(function)


def refused(problem, **options) -> str:
    with pytest.raises((ValueError, tl.NothingValid)) as error:
        tl.illuminate(problem, **{"grid": 3, "evaluations": 20, "seed": 1, **options})
    return str(error.value)


GOOD = made(lambda x: (1.0, x[:2]), name="good")


@pytest.mark.parametrize(
    ("result", "got"),
    [
        (lambda x: ("good", x[:2]), "str and an array (2,)"),
        (lambda x: ("1.5", x[:2]), "str and an array (2,)"),  # NumPy would convert it to a number
        (lambda x: (None, x[:2]), "NoneType and an array (2,)"),
        (lambda x: (1.0, ("a", "b")), "float and tuple of 2 str"),
        (lambda x: (1.0, 2.0, 3.0), "tuple of 3 float"),
        (lambda x: None, "NoneType"),
    ],
)
def test_what_a_function_returned_is_told_by_its_parts(result, got):
    said = refused(made(result, name="odd"))
    assert f"wrong result: expected (fitness, features) of shapes () and (2,), got {got})" in said
    assert "Traceback" not in said  # it raised nothing, so there is no traceback


def test_what_is_missing_of_a_space_of_solutions_is_named():
    class Space:
        width = 3

        def validate(self, solutions):
            return solutions

    expected = "Space lacks dtype and random(n, rng); a space of solutions has width, dtype, random(n, rng)"
    with pytest.raises(ValueError, match="solutions: Space lacks") as error:
        tl.problem(solutions=Space(), features=FEATURES)(lambda x: (0.0, x))
    assert expected in str(error.value)
    with pytest.raises(ValueError, match="solution_space: Space lacks") as error:
        tl.MapElites(Space(), tl.GridTessellation(GOOD.features, 3))
    assert expected in str(error.value)


@pytest.mark.parametrize(
    ("text", "instead"),
    [
        ("./mod.py:ok", "expected a module, got './mod.py'; say mod:ok"),
        ("mod.py:ok", "expected a module, got 'mod.py'; say mod:ok"),
        ("inner/mod.py:ok", "say inner.mod:ok"),
        ("/elsewhere/mod.py:ok", "say mod:ok in the folder /elsewhere"),
        (".mod:ok", "say MODULE:ok, for a module that `import` finds"),
        (":ok", "say MODULE:ok"),
        ("mod.py", "there is no problem 'mod.py'; built in are"),
        ("mod.py", "say mod:NAME"),
    ],
)
def test_the_name_of_a_file_is_answered_by_that_of_the_module(tmp_path, monkeypatch, text, instead):
    monkeypatch.chdir(tmp_path)
    Path("mod.py").write_text("")
    with pytest.raises(ValueError, match="problem: ") as error:
        by_name(text)
    assert instead in str(error.value)


@pytest.mark.parametrize(
    ("value", "shown"), [(np.zeros((50, 3)), "an array of shape (50, 3)"), ([[0.1] * 3] * 50, "a list of 50")]
)
def test_rows_in_place_of_a_number_are_not_dumped(value, shown):
    assert refused(GOOD, initial=value) == f"initial: expected a whole number of at least 1, got {shown}"


def test_too_few_features_of_a_compiled_function_are_told_without_generated_code():
    few = made(njit(lambda x: (x[0], (x[1],))), name="few")
    assert refused(few) == "few: wrong shape: expected 2 features, got 1"


def test_workers_as_text():
    assert refused(GOOD, workers="2") == "workers: expected a number, got the text '2'; pass workers=2"


@pytest.mark.parametrize("result", [lambda x: (x[:, 0], x[:, :2]), lambda x: (x.sum(axis=1), x)], ids=["index", "axis"])
def test_a_forgotten_batch_is_hinted_at(result):
    hint = "It was called with one solution (3,); if it takes a whole batch, (n, 3), add batch=True."
    assert hint in refused(made(result, name="forgetful"))
    assert hint not in refused(made(result, name="wrong", batch=True, scenarios=["a"]))


def test_without_niches_the_message_says_what_to_give():
    said = refused(GOOD, grid=None)
    assert "expected exactly one of n_niches (for a CVT), grid (cells for each feature) and tessellation" in said
    assert "n_niches=5000 is a good start" in said
