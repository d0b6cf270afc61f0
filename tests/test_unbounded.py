"""The study of unknown spaces: it runs what is missing, and compares on common niches."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from tesselite.paper import unbounded
from tesselite.paper.unbounded import TASKS, TRUE, algorithms, carry_out, summary


def test_the_whole_chain_on_the_ring(tmp_path):
    said: list[str] = []
    options = {"tasks": ["ring"], "trials": 1, "evaluations": 1200}
    report, table, drawn = carry_out(tmp_path, **options, say=said.append)
    assert len(said) == 9
    assert drawn.stat().st_size > 0
    assert "| adaptive |" in report.read_text()
    with table.open() as file:
        found = {row["algorithm"]: row for row in csv.DictReader(file)}
    assert len(found) == 9
    assert float(found[TRUE]["coverage / true"]) == 1.0
    carry_out(tmp_path, **options, say=said.append)
    assert len(said) == 9  # nothing was missing
    with pytest.raises(ValueError, match=r"of 1,200 evaluations, expected 900; remove it"):
        carry_out(tmp_path, **{**options, "evaluations": 900})
    with pytest.raises(ValueError, match="expected tasks among arm, ring"):
        carry_out(tmp_path, tasks=["moon"])


def test_summaries_are_medians_and_ratios():
    def row(algorithm, trial, coverage):
        counts = {"kept": 10, "changes": 0, "seconds": 1.0, "qd_score": None}
        return {"task": "t", "algorithm": algorithm, "trial": trial, "coverage": coverage, **counts}

    rows = [row(TRUE, 0, 0.4), row(TRUE, 1, 0.6), row("dns", 0, 0.1), row("dns", 1, 0.15)]
    true, dns = summary(rows)
    assert true["coverage"] == 0.5
    assert dns["coverage / true"] == pytest.approx(0.25)
    assert np.isnan(dns["qd_score / true"])


def test_wide_bounds_and_moved_features():
    task = next(task for task in TASKS if task.name == "arm")
    found = algorithms(task, 1000)
    (true, _), (wide, _) = found[TRUE], found["bounds 10 times too wide"]
    np.testing.assert_allclose((wide.features.high - wide.features.low) / (true.features.high - true.features.low), 10)
    rows = true.solutions.random(5, np.random.default_rng(1))
    np.testing.assert_array_equal(true.evaluate(rows).features, wide.evaluate(rows).features)
    assert (true.evaluate(rows).features > 5000).all()
    ring = unbounded.Ring()
    radii = np.linalg.norm(ring.evaluate(ring.solutions.random(50, np.random.default_rng(1))).features, axis=1)
    assert (np.abs(radii - 1.0) <= 0.01).all()
