"""`tesselite bench`: algorithms on public benchmarks, stopped and continued, beside published figures."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from tesselite.bench.bench_report import write_report
from tesselite.bench.benchmarks import ALGORITHMS, BENCHMARKS, study_of
from tesselite.bench.published import PUBLISHED, SOURCES
from tesselite.cli.app import app
from tesselite.problems import by_name

EMITTER = "cma_mae:emitters=2,batch=10"


def bench(*words):
    return CliRunner().invoke(app, ["bench", *map(str, words), "--workers", "1", "-q"])


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bench")
    options = ("spiral", "lp-sphere", "-a", "iso_line", "-a", EMITTER, "--evaluations", 2000, "-o", folder)
    assert bench(*options, "--trials", 1).exit_code == 0
    first = (folder / "trials/lp-sphere.iso_line/000.json").read_bytes()
    told = bench(*options, "--trials", 2, "--json")
    assert told.exit_code == 0, told.output
    assert (folder / "trials/lp-sphere.iso_line/000.json").read_bytes() == first  # only missing trials are run
    return folder, json.loads(told.stdout)


def test_every_algorithm_runs_on_every_benchmark(out):
    folder, told = out
    names = {(row["benchmark"], row["algorithm"]) for row in told["results"]}
    assert names == {(b, a) for b in ("spiral", "lp-sphere") for a in ("MAP-Elites (iso+line)", EMITTER)}
    for row in told["results"]:
        assert row["evaluations"] == 2000
        assert len(row["coverage"]) == len(row["qd_score"]) == 2
        assert len(set(row["qd_score"])) == 2  # the trials differ in their seeds
    assert not list((folder / "work").glob("*-0*"))  # archives are not kept


def test_the_report_shows_ours_beside_published_figures_and_other_libraries(out, tmp_path):
    folder, _ = out
    study = study_of(["lp-sphere"], ["iso_line"], 2000)
    theirs = {"evaluations": [1000, 2000], "coverage": [0.25, 0.5], "qd_score": [10.0, 1234.0]}
    about = {"library": "pyribs 0.12.0", "algorithm": "cma_mae", "progress": theirs}
    (folder / "pyribs").mkdir()
    (folder / "pyribs/lp-sphere-1.json").write_text(json.dumps(about))
    report, table, figure = write_report(study, folder, "svg")
    text = report.read_text()
    assert "| CMA-MAE | pyribs | 5,400,000 | 20 | 81.02 ± 0.27 | 633,369 ± 1,504 |" in text
    assert "| CMA-MAE, pyribs 0.12.0 | run here | 2000 | 1 | 50.00 | 1,234 |" in text
    assert "`iso_line:0.5,0.2`" in text
    assert SOURCES["pyribs"] in text
    assert SOURCES["DMS"] not in text
    rows = list(csv.DictReader(table.read_text().splitlines()))
    assert float(rows[0]["coverage % sd"]) > 0
    assert figure.read_text().startswith("<?xml")


def test_published_figures_are_of_known_benchmarks():
    assert set(PUBLISHED) <= set(BENCHMARKS)
    for rows in PUBLISHED.values():
        for row in rows:
            assert 0 < row.coverage <= 1
            assert row.qd_score <= 100 * 10_000 * row.coverage
            assert row.source in SOURCES
    for benchmark in BENCHMARKS.values():
        assert by_name(benchmark.problem).features.n == 2 or benchmark.grid is None


def test_what_is_unknown_is_refused(tmp_path):
    for words, said in (
        (["lp-ackley"], "benchmark: expected some of lp-sphere, .*, got lp-ackley"),
        (["-a", "sgd"], "algorithm: expected one of .*iso_line.*, got 'sgd'"),
        (["--trials", 0], "--trials: expected at least 1, got 0"),
        (["--forecast", "--report"], "--forecast: not valid together with --report"),
        (["spiral", "--report"], "no trial is finished yet"),
    ):
        with pytest.raises(ValueError, match=said):
            raise bench(*words, "-o", tmp_path / "none").exception


STORED = Path(__file__).parents[1] / "results" / "benchmarks"


@pytest.mark.skipif(not STORED.exists(), reason="a source distribution has no results")
def test_the_stored_table_follows_from_the_stored_trials():
    """Recomputed by plain code: json, csv and NumPy alone."""
    labels = {benchmark.label: name for name, benchmark in BENCHMARKS.items()}
    names = {label: name for name, (label, _) in ALGORITHMS.items()}
    checked = 0
    for row in csv.DictReader((STORED / "tables/benchmarks.csv").read_text().splitlines()):
        if row["by"] != "tesselite":
            continue
        files = sorted(STORED.glob(f"trials/{labels[row['benchmark']]}.{names[row['algorithm']]}/*.json"))
        trials = [json.loads(file.read_text()) for file in files]
        assert int(row["runs"]) == len({trial["seed"] for trial in trials}) == len(trials) >= 2
        if int(row["evaluations"]) != trials[0]["settings"]["evaluations"]:
            continue  # between two records
        for name, unit, column in (("coverage", 100, "coverage %"), ("qd_score", 1, "QD score")):
            values = [unit * trial["metrics"][name] for trial in trials]
            assert float(row[column]) == pytest.approx(np.mean(values))
            assert float(row[f"{column} sd"]) == pytest.approx(np.std(values, ddof=1))
        checked += 1
    assert checked >= 5


def test_a_forecast_runs_nothing(tmp_path):
    told = bench("spiral", "-a", "iso_line", "--evaluations", 2000, "-o", tmp_path, "--forecast", "--json")
    assert json.loads(told.stdout)["n_trials"] == 5
    assert not list(tmp_path.iterdir())
