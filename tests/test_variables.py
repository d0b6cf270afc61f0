"""Names of solution values: in the function, in tables, files, plans and on the page."""

from __future__ import annotations

import json

import numpy as np
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import tesselite as tl
from tesselite.archive.file import load_archive
from tesselite.report.page.packed_arrays import PackedArrays
from tesselite.report.page.run_data import describe_run, read_run
from tesselite.runs.known_designs import Start
from tesselite.runs.plan import fingerprint
from tesselite.runs.run import resume, run

BOUNDS = {"span_mm": (100, 500), "fitness": (1, 20), "load": (0, 1)}
SETTINGS = {"grid": 5, "evaluations": 300, "initial": 100, "batch_size": 50, "seed": 3}


def made(solutions=None, **options):
    @tl.problem(solutions=solutions or tl.Box(BOUNDS), features={"load": (0, 1), "span": (100, 500)}, **options)
    def plate(x):
        return -x["fitness"] * x[2], (x["load"], x["span_mm"])

    return plate


def test_a_box_of_names_is_the_box_of_its_bounds():
    box, plain = tl.Box(BOUNDS), tl.Box(3, [100, 1, 0], [500, 20, 1])
    assert box.names == ("span_mm", "fitness", "load")
    assert np.array_equal(box.low, plain.low)
    assert np.array_equal(box.high, plain.high)
    assert plain.names == plain.variables == ()
    rows = [box.random(4, np.random.default_rng(1)), plain.random(4, np.random.default_rng(1))]
    assert np.array_equal(*rows)


@pytest.mark.parametrize("bad", [{}, {"a": 1}, {"a": (1, 2, 3)}, {"a": "xy"}, {1: (0, 1)}, {"": (0, 1)}])
def test_names_without_bounds_are_refused(bad):
    with pytest.raises(ValueError, match="n: expected a \\(low, high\\) pair"):
        tl.Box(bad)


def test_errors_say_the_name():
    with pytest.raises(ValueError, match=r"low < high, got 2\.0 and 1\.0 on 'b'"):
        tl.Box({"a": (0, 1), "b": (2, 1)})
    with pytest.raises(ValueError, match="low, high: not valid together with bounds by name"):
        tl.Box(BOUNDS, 0, 1)
    with pytest.raises(ValueError, match=r"expected values in \[1, 20\] on 'fitness', got 21.0 in row 1"):
        tl.Box(BOUNDS).validate([[100, 1, 0], [100, 21, 0]])


def test_a_solution_may_be_a_mapping():
    box = tl.Box(BOUNDS)
    one = {"load": 0.5, "span_mm": 200, "fitness": 3}
    assert box.validate(one).tolist() == [[200, 3, 0.5]]
    assert box.validate([one, one]).tolist() == [[200, 3, 0.5]] * 2
    with pytest.raises(ValueError, match="expected values for span_mm, fitness, load, got span_mm"):
        box.validate({"span_mm": 200})


@pytest.mark.parametrize("batch", [False, True])
def test_functions_read_by_position_and_by_name(batch):
    seen = []

    @tl.problem(solutions=tl.Box(BOUNDS), features={"a": (0, 1)}, batch=batch)
    def function(x):
        assert np.array_equal(x["span_mm"], x[..., 0])
        assert np.array_equal(x["load"], x[..., 2])
        assert type(x["load"]) in (np.ndarray, np.float64)
        assert list(dict(x)) == list(BOUNDS)
        seen.append(x.shape)
        with pytest.raises(KeyError, match="'height' is not a value of the solution; its values are span_mm"):
            x["height"]
        assert (x * 2).names == x[::-1].names == ()
        return x.copy()["fitness"], np.stack([x["load"]], axis=-1)

    rows = function.solutions.random(5, np.random.default_rng(0))
    found = function.evaluate(rows)
    assert found.valid.all(), found.first_error
    assert np.array_equal(found.fitness, rows[:, 1])
    assert seen == ([(5, 3)] if batch else [(3,)] * 5)


def test_tables_and_files_have_the_names(tmp_path):
    archive = tl.illuminate(made(), **SETTINGS)
    columns = archive.elites().columns()
    # Names in use get a prefix: fitness is a column of ours, load a feature.
    assert list(columns) == [
        "niche", "fitness", "evaluation", "load", "span", "span_mm", "solution fitness", "solution load",
    ]  # fmt: skip
    assert np.array_equal(columns["span_mm"], archive.elites().solutions[:, 0])
    file = archive.save(tmp_path / "plates.parquet")
    table = pq.read_table(file)
    assert "solution" not in table.column_names
    assert table["span_mm"].to_pylist() == columns["span_mm"].tolist()
    loaded = load_archive(file)
    assert loaded.equals(archive)
    assert loaded.variables == archive.variables == made().solutions.variables
    assert np.array_equal(Start.of(file, made().solutions).rows, archive.elites().solutions)
    assert (archive | loaded).variables == archive.variables


def test_a_plain_box_writes_what_it_always_wrote(tmp_path):
    archive = tl.illuminate(tl.problems.sphere(3), **SETTINGS)
    about = json.loads(pq.read_metadata(archive.save(tmp_path / "a.parquet")).metadata[b"tesselite"])
    assert about["format"] == 2
    assert "variables" not in about


def test_other_names_are_another_problem():
    def renamed(names):
        return fingerprint(made(tl.Box(dict.fromkeys(names, (0, 1)))))

    assert renamed("abc") == renamed("abc") != renamed("abd")


def test_runs_exports_and_the_page_show_the_names(tmp_path, monkeypatch):
    from tesselite.cli.app import app

    monkeypatch.chdir(tmp_path)
    run(made(), out="run", **SETTINGS)
    assert resume("run", made(), evaluations=350).archive.variables
    assert CliRunner().invoke(app, ["export", "run", "--to", "csv"]).exit_code == 0
    header = (tmp_path / "run" / "elites.csv").read_text().splitlines()[0]
    assert header.endswith("span_mm,solution fitness,solution load")
    assert len(Start.of(tmp_path / "run" / "elites.csv", made().solutions).rows) == len(tl.Archive.load("run"))
    described = describe_run(read_run(tmp_path / "run"), PackedArrays())["archive"]
    assert described["named"]
    assert [(v["name"], v["low"], v["high"]) for v in described["variables"]] == [
        (name, *bounds) for name, bounds in BOUNDS.items()
    ]


def test_bars_of_a_plain_box_have_its_bounds(tmp_path):
    run(tl.problems.sphere(3), out=tmp_path / "run", **SETTINGS)
    box, described = (
        tl.problems.sphere(3).solutions,
        describe_run(read_run(tmp_path / "run"), PackedArrays())["archive"],
    )
    assert not described["named"]
    assert [(v["low"], v["high"]) for v in described["variables"]] == [(box.low[0], box.high[0])] * 3
