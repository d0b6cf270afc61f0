"""Invalid designs: users' reasons, and features that refuse values outside their bounds."""

from __future__ import annotations

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numba import njit

import tesselite as tl
from tesselite.archive.archive import OTHER_REASONS
from tesselite.runs.plan import fingerprint
from tesselite.runs.run import resume, run

SETTINGS = {"grid": 8, "evaluations": 600, "initial": 100, "batch_size": 50, "seed": 2}


@tl.problem(solutions=tl.Box(2, 0, 1), features={"a": (0, 1), "b": (0, 1)})
def column(x):
    if x[0] > 0.8:
        raise tl.Invalid("buckles")
    if x[1] > 0.9:
        raise tl.Invalid("too slender\nfor any load")
    if x[1] < 0.05:
        raise ZeroDivisionError
    return x.sum(), x


def expected(rows):
    one = Counter()
    for a, b in rows.tolist():
        if a > 0.8:
            one["buckles"] += 1
        elif b > 0.9:
            one["too slender"] += 1
        elif b < 0.05:
            one["exception: ZeroDivisionError"] += 1
    return one


@pytest.mark.parametrize("batch", [False, True])
def test_reasons_are_counted(batch):
    rows = column.solutions.random(200, np.random.default_rng(0))

    @tl.problem(solutions=column.solutions, features=column.features, batch=batch)
    def same(x):
        if not batch:
            return column(x)
        found = [column(one) for one in x]  # raises for all if one is invalid
        return [f for f, _ in found], [b for _, b in found]

    found = same.evaluate(rows)
    assert found.count_reasons() == expected(rows)
    assert min(expected(rows).values()) > 5
    assert "ZeroDivisionError" in found.first_error  # an invalid design is not an error


def test_reasons_are_the_same_on_workers_in_files_and_after_resuming(tmp_path):
    def stop(going):
        if going.evaluations >= 300:
            raise RuntimeError("enough")

    alone = run(column, **SETTINGS).archive
    assert {"buckles", "too slender"} <= set(alone.invalid)
    with ThreadPoolExecutor(2) as threads:
        on_workers = run(column, workers=threads, retries=1, out=tmp_path / "run", **SETTINGS).archive
    assert on_workers.invalid == alone.invalid
    assert tl.Archive.load(tmp_path / "run").invalid == alone.invalid
    failures = [json.loads(line) for line in (tmp_path / "run" / "failures.jsonl").read_text().splitlines()]
    tries = {one["reason"]: (one["tries"], bool(one["error"])) for one in failures}
    # An answer is not retried; an exception is, and has a traceback.
    assert tries["buckles"] == (1, False)
    assert tries["exception: ZeroDivisionError"][0] in (1, 2)
    with pytest.raises(RuntimeError, match="enough"):
        run(column, out=tmp_path / "cut", progress=stop, **SETTINGS)
    assert resume(tmp_path / "cut", column).archive.invalid == alone.invalid


def test_invalid_without_a_reason_has_one():
    assert tl.Invalid().reason == "marked invalid without a reason"
    assert tl.Invalid("x" * 900).reason == "x" * 200


def test_very_many_reasons_are_not_all_kept():
    archive = tl.Archive(tl.GridTessellation(tl.FeatureSpace.unit(1), 2), 1)
    archive.count_invalid(Counter({str(number): 1 for number in range(1500)}))
    archive.count_invalid(Counter({"3": 2, "late": 4}))
    assert archive.invalid.total() == 1506
    assert archive.invalid["3"] == 3
    assert archive.invalid[OTHER_REASONS] == 504


# -- features outside their bounds -----------------------------------------------------------------------------------


def _pair(outside):
    """The same problem, plain and compiled; features reach far beyond their bounds."""

    def function(x):
        return -x[0] * x[0] - x[1], (3.0 * x[0] - 1.0, 2.0 * x[1])

    make = tl.problem(solutions=tl.Box(2, 0, 1), features={"a": (0, 1), "b": (0, 1)}, outside=outside, name="wide")
    return make(function), make(njit(function))


@pytest.mark.parametrize("outside", ["nearest", "refuse", {"b": "refuse"}, {"a": "refuse", "b": "nearest"}])
def test_features_refuse_what_lies_outside(outside):
    plain, compiled = (run(problem, **SETTINGS).archive for problem in _pair(outside))
    assert compiled.equals(plain)
    assert compiled.invalid == plain.invalid
    assert compiled.out_of_bounds == plain.out_of_bounds
    rules = dict.fromkeys("ab", outside) if isinstance(outside, str) else outside
    refusing = [name for name in "ab" if rules.get(name) == "refuse"]
    assert set(plain.invalid) == {f"out of bounds: {name}" for name in refusing}
    assert (plain.out_of_bounds == 0) == (len(refusing) == 2)
    features = dict(zip("ab", plain.elites().features.T, strict=True))
    for name in refusing:
        assert ((features[name] >= 0) & (features[name] <= 1)).all()


def test_the_rule_is_part_of_the_problem_and_of_files(tmp_path):
    strict, loose = _pair("refuse")[0], _pair("nearest")[0]
    assert fingerprint(strict) != fingerprint(loose)
    assert strict.features != loose.features
    archive = run(
        strict, n_niches=20, out=tmp_path / "run", **{k: v for k, v in SETTINGS.items() if k != "grid"}
    ).archive
    loaded = tl.Archive.load(tmp_path / "run")
    assert loaded.tessellation.space == strict.features
    assert loaded.equals(archive)
    assert archive.add([[0, 0]], [1.0], [[0.5, 7.0]]).status.tolist() == [tl.Status.INVALID]


@pytest.mark.parametrize("outside", ["reject", {"c": "refuse"}, {"a": "no"}, 3])
def test_wrong_rules_are_refused(outside):
    with pytest.raises(ValueError, match="outside: "):
        tl.FeatureSpace({"a": (0, 1)}, outside=outside)
    with pytest.raises(ValueError, match="outside: not valid together with a FeatureSpace"):
        tl.problem(solutions=tl.Box(1), features=tl.FeatureSpace.unit(1), outside="refuse")
