"""The study of unknown spaces: it runs what is missing, and compares on common niches."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import numpy as np
import pytest

from tesselite.paper import unbounded
from tesselite.paper.unbounded import LABELS, TASKS, TRUE, algorithms, run_missing
from tesselite.paper.unbounded_report import read_trials, summary, write_report


def test_the_whole_chain_on_the_ring(tmp_path):
    said: list[str] = []
    options = {"tasks": ["ring"], "trials": 1, "evaluations": 1200}
    run_missing(tmp_path, **options, say=said.append)
    report, table, drawn = write_report(tmp_path)
    assert len(said) == 9
    assert drawn.stat().st_size > 0
    assert "| adaptive |" in report.read_text()
    with table.open() as file:
        found = {row["algorithm"]: row for row in csv.DictReader(file)}
    assert list(found) == [name for name in LABELS if name != "uniform"]  # the ring samples uniformly
    assert float(found[TRUE]["coverage / true"]) == 1.0
    run_missing(tmp_path, **options, say=said.append)
    assert len(said) == 9  # nothing was missing
    with pytest.raises(ValueError, match=r"of 1,200 evaluations, expected 900; remove it"):
        run_missing(tmp_path, **{**options, "evaluations": 900})
    for wrong in ("moon", "ring/uniform", "maze-1000d/grid"):
        with pytest.raises(ValueError, match="expected tasks among arm, ring"):
            run_missing(tmp_path, tasks=[wrong])
    with pytest.raises(ValueError, match="no trials of this study"):
        write_report(tmp_path / "nowhere")


def test_a_maze_is_also_assessed_in_its_environments(tmp_path):
    run_missing(tmp_path, tasks=["maze-20d/dns", "maze-20d/rts"], trials=1, evaluations=40)
    rows = read_trials(tmp_path)
    assert [row["algorithm"] for row in rows] == ["dns", "rts"]
    for row in rows:
        assert len(row["scenarios"]) == 16
        assert row["best_in_scenarios"] == np.median(list(row["scenarios"].values()))
        assert row["solved"] == sum(best < 10 for best in row["scenarios"].values())
    report = write_report(tmp_path)[0].read_text()
    assert "best in 16 scenarios" in report
    assert "| nan |" in report  # ratios to a CVT with true bounds that was not run
    (tmp_path / "trials" / "maze-20d" / "dns-000.json").write_text("{}")
    with pytest.raises(ValueError, match=r"dns-000.json: damaged \('scenarios'\); remove it"):
        write_report(tmp_path)


def test_the_stored_report_and_the_documentation_are_those_of_the_stored_trials(tmp_path):
    root = Path(__file__).parents[1]
    shutil.copytree(root / "results" / "unbounded" / "trials", tmp_path / "trials")
    report, table, _ = write_report(tmp_path)
    assert report.read_text() == (root / "results" / "unbounded" / "report.md").read_text()
    assert table.read_text() == (root / "results" / "unbounded" / "unbounded.csv").read_text()
    rows = [line for line in report.read_text().splitlines() if line.startswith("| ")]
    assert len(rows) > 50
    overview = [row for row in report.read_text().partition("\n## ")[0].splitlines() if row.startswith("|")]
    assert len(overview) == len(LABELS) + 2  # all but the CVT with true bounds, and three lines of heading
    assert "\n".join(overview) in (root / "docs" / "growing.md").read_text()


def test_summaries_are_medians_and_ratios():
    def row(algorithm, trial, coverage):
        counts = {"kept": 10, "changes": 0, "seconds": 1.0, "qd_score": None, "best_in_scenarios": None, "solved": None}
        return {"task": "t", "algorithm": algorithm, "trial": trial, "coverage": coverage, **counts}

    rows = [row("dns", 0, 0.1), row("dns", 1, 0.15), row(TRUE, 0, 0.4), row(TRUE, 1, 0.6)]
    true, dns = summary(rows)
    assert true["coverage"] == 0.5
    assert dns["coverage / true"] == pytest.approx(0.25)
    assert (dns["coverage, least"], dns["coverage, most"]) == (0.1, 0.15)
    assert np.isnan(dns["qd_score / true"])


def test_wide_bounds_and_moved_features():
    task = next(task for task in TASKS if task.name == "arm")
    found = algorithms(task, 1000)
    (true, _), (wide, _) = found[TRUE], found["too-wide"]
    np.testing.assert_allclose((wide.features.high - wide.features.low) / (true.features.high - true.features.low), 10)
    rows = true.solutions.random(5, np.random.default_rng(1))
    np.testing.assert_array_equal(true.evaluate(rows).features, wide.evaluate(rows).features)
    assert (true.evaluate(rows).features > 5000).all()
    ring = unbounded.Ring()
    radii = np.linalg.norm(ring.evaluate(ring.solutions.random(50, np.random.default_rng(1))).features, axis=1)
    assert (np.abs(radii - 1.0) <= 0.01).all()
