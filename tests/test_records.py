"""Records: what a problem returns besides fitness and features stays with the elite everywhere."""

from __future__ import annotations

import csv
import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow.parquet as pq
import pytest
from numba import njit
from typer.testing import CliRunner

import tesselite as tl
from tesselite.problems.user_function import FunctionProblem, Statement
from tesselite.report.page.packed_arrays import PackedArrays
from tesselite.report.page.run_data import describe_run, read_run
from tesselite.runs.plan import fingerprint
from tesselite.runs.run import replay, resume, run
from tesselite.spaces.records import Records

KINDS = {"mass": float, "teeth": int, "sound": bool, "label": str, "path": (3, 2), "fitness": float}
SETTINGS = {"grid": 6, "evaluations": 500, "initial": 100, "batch_size": 50, "seed": 4}


def recorded(x):
    """The records of a solution."""
    return {
        "mass": 7.0 * x[0],
        "teeth": int(100 * x[1]),
        "sound": bool(x[0] > x[1]),
        "label": f"gear {x[0]:.2f} \u00e9",
        "path": np.outer([1, 2, 3], x[:2]),
        "fitness": -x[2],
    }


def gear_function(x):
    if x[2] > 0.97:
        raise tl.Invalid("broken")
    return x[2] - x[0] * x[1], x[:2], recorded(x)


def gear(records=KINDS):
    return FunctionProblem(
        gear_function, Statement(tl.Box(3), tl.FeatureSpace.unit(2), records=Records(records)), name="gear"
    )


def check(archive, n=5):
    """Every elite has the records of its own solution."""
    elites = archive.elites()
    assert len(elites) >= n
    for elite in elites:
        expected = recorded(elite.solution)
        for name, value in expected.items():
            assert np.array_equal(elite.records[name], value), name
    assert [type(elites[0].records[name]) for name in ("mass", "teeth", "sound", "label")] == [
        np.float64, np.int64, np.bool_, str,
    ]  # fmt: skip
    assert np.array_equal(elites.records["mass"], 7.0 * elites.solutions[:, 0])


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    return run(gear(), out=tmp_path_factory.mktemp("gear") / "run", **SETTINGS)


def test_elites_keep_their_records(done):
    check(done.archive)
    check(done.archive.copy())
    best = done.archive.best
    assert best.records["label"] == recorded(best.solution)["label"]
    assert done.archive.get(best.niche).records["mass"] == best.records["mass"]
    assert done.archive.invalid["broken"]


def test_records_change_nothing_else(done):
    @tl.problem(solutions=tl.Box(3), features=tl.FeatureSpace.unit(2))
    def plain(x):
        return gear_function(x)[:2]

    without = run(plain, **SETTINGS).archive.elites()
    assert without.records == {}
    for name in ("niches", "fitness", "features", "solutions", "evaluations"):
        assert np.array_equal(getattr(without, name), getattr(done.archive.elites(), name))


@pytest.mark.parametrize("kind", ["batch", "tuple"])
def test_a_batch_and_a_tuple_give_the_same(done, kind):
    @tl.problem(solutions=tl.Box(3), features=tl.FeatureSpace.unit(2), records=KINDS, batch=kind == "batch")
    def other(x):
        if kind == "tuple":
            fitness, features, records = gear_function(x)
            return fitness, features, tuple(records.values())
        found = [gear_function(row) for row in x]
        records = {name: [one[2][name] for one in found] for name in KINDS}
        return [one[0] for one in found], [one[1] for one in found], records

    assert run(other, **SETTINGS).archive.equals(done.archive)


def test_files_hold_them(done, tmp_path):
    archive = tl.Archive.load(done.folder)
    assert archive.equals(done.archive)
    assert archive.records == Records(KINDS)
    check(archive)
    table = pq.read_table(done.folder / "archive.parquet")
    elites = done.archive.elites()
    assert table["label"].to_pylist() == elites.records["label"].tolist()
    assert table["mass"].to_pylist() == elites.records["mass"].tolist()
    assert table["record fitness"].to_pylist() == elites.records["fitness"].tolist()
    assert np.array_equal(np.array(table["path"].to_pylist()).reshape(-1, 3, 2), elites.records["path"])
    frame = elites.to_pandas()
    assert {"mass", "teeth", "sound", "label", "path", "record fitness"} <= set(frame.columns)
    assert frame["path"][0] == elites.records["path"][0].tolist()


def test_exports_hold_them(done, tmp_path):
    from tesselite.cli.app import app

    for to in ("csv", "npz"):
        asked = ["export", str(done.folder), "--to", to, "-o", str(tmp_path / f"e.{to}")]
        assert CliRunner().invoke(app, asked).exit_code == 0
    elites = done.archive.elites()
    with (tmp_path / "e.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["mass"]) for row in rows] == elites.records["mass"].tolist()
    assert [row["label"] for row in rows] == elites.records["label"].tolist()
    with np.load(tmp_path / "e.npz") as arrays:
        assert np.array_equal(arrays["record path"], elites.records["path"])
        assert arrays["record label"].tolist() == elites.records["label"].tolist()


def test_an_interrupted_run_and_workers_give_the_same(done, tmp_path):
    def stop(going):
        if going.evaluations >= 260:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        run(gear(), out=tmp_path / "cut", progress=stop, **SETTINGS)
    assert resume(tmp_path / "cut", gear()).archive.equals(done.archive)
    same = (done.folder / "archive.parquet").read_bytes()
    assert (tmp_path / "cut" / "archive.parquet").read_bytes() == same
    with ThreadPoolExecutor(2) as threads:
        assert run(gear(), workers=threads, **SETTINGS).archive.equals(done.archive)
        check(run(gear(), workers=threads, islands=2, **SETTINGS).archive)
        folder = tmp_path / "asynchronous"
        live = run(gear(), workers=threads, asynchronous=True, out=folder, **SETTINGS)
    check(live.archive)
    assert replay(folder, gear()).archive.equals(live.archive)
    assert read_run(folder).evaluations == 500


def test_the_log_of_a_batch_is_used(done, tmp_path):
    """Results of workers before a crash are not lost."""
    from tesselite.execution.log import EvaluationLog
    from tesselite.execution.workers.farm import result_of

    log = EvaluationLog(tmp_path, 2, Records(KINDS))
    rows = gear().solutions.random(6, np.random.default_rng(3))
    rows[2, 2] = 0.99  # invalid
    found = gear().evaluate(rows)
    for i in range(6):
        log.append(result_of(found, i, i), rows[i])
    log.close()
    for logged, row in zip(EvaluationLog(tmp_path, 2, Records(KINDS)).read(), rows, strict=True):
        if not logged.result.reason:
            for name, value in recorded(row).items():
                assert np.array_equal(logged.result.records[name], value), name


def test_merging_takes_records_along(done):
    other = run(gear(), **{**SETTINGS, "seed": 9}).archive
    both, swapped = done.archive | other, other | done.archive
    check(both)
    key = np.argsort(both.in_order_of_filling().niches), np.argsort(swapped.in_order_of_filling().niches)
    for name, values in both.in_order_of_filling().records.items():
        assert np.array_equal(values[key[0]], swapped.in_order_of_filling().records[name][key[1]]), name
    with pytest.raises(ValueError, match="merge: expected an archive of the same direction, dtype and records"):
        both.merge(tl.Archive(both.tessellation, 3))


def test_other_niches_keep_them(done):
    space = done.archive.tessellation.space
    check(tl.project(done.archive, tl.GridTessellation(space, 4)))
    moved, _ = done.archive.moved_to(tl.GridTessellation(space, 5))
    check(moved)


@pytest.mark.parametrize("threads", [1, 2])
def test_compiled_functions_record_numbers(threads):
    kinds = {"mass": float, "teeth": int}

    def function(x):
        if x[2] > 0.97:
            raise ValueError
        return x[2] - x[0] * x[1], (x[0], x[1]), (7.0 * x[0], int(100 * x[1]))

    make = tl.problem(solutions=tl.Box(3), features=tl.FeatureSpace.unit(2), records=kinds, name="gear")
    settings = {**SETTINGS, "evaluations": 3000}
    plain, compiled = (
        run(make(function), **settings).archive,
        run(make(njit(function)), threads=threads, **settings).archive,
    )
    assert compiled.equals(plain)
    elites = compiled.elites()
    assert np.array_equal(elites.records["mass"], 7.0 * elites.solutions[:, 0])
    assert elites.records["teeth"].dtype == np.int64


def test_compiled_functions_that_record_otherwise_are_refused():
    box = {"solutions": tl.Box(2), "features": tl.FeatureSpace.unit(1)}
    with pytest.raises(ValueError, match="single numbers"):
        tl.problem(**box, records={"label": str})(njit(lambda x: (0.0, (x[0],), ("a",))))
    wrong = tl.problem(**box, records={"mass": float})(njit(lambda x: (0.0, (x[0],), (x[0], x[1]))))
    found = wrong.evaluate([[0.5, 0.5]])
    assert not found.valid.any()
    assert "expected records of mass" in found.first_error
    none = tl.problem(**box, records={"mass": float})(njit(lambda x: (0.0, (x[0],))))
    with pytest.raises(ValueError, match="wrong shape: expected records of mass"):
        none.evaluate([[0.5, 0.5]])


@pytest.mark.parametrize(
    ("third", "said"),
    [
        ({"mass": 1.0}, "wrong records: expected mass, label, got mass"),
        ({"mass": "heavy", "label": "a"}, "wrong records: expected mass \\(1,\\) of float, got \\(1,\\) of <U5"),
        ({"mass": 1.0, "label": 3}, "wrong records: expected label \\(1,\\) of str"),
        ({"mass": [1.0, 2.0], "label": "a"}, "wrong records: expected mass \\(1,\\) of float, got \\(1, 2\\)"),
        ((1.0,), "wrong records: expected mass, label, got tuple of 1 float"),
        (None, "wrong result: expected \\(fitness, features, records\\), got float and tuple"),
    ],
)
def test_wrong_records_are_invalid_and_say_so(third, said):
    @tl.problem(solutions=tl.Box(2), features=tl.FeatureSpace.unit(1), records={"mass": float, "label": str})
    def wrong(x):
        return (0.0, (x[0],)) if third is None else (0.0, (x[0],), third)

    found = wrong.evaluate([[0.5, 0.5]])
    with pytest.raises(ValueError, match=said):
        raise ValueError(found.reasons[0])


@pytest.mark.parametrize(
    "bad", [{"a": "float"}, {"a": list}, {"a": ()}, {"a": (0,)}, {1: float}, {"": float}, ["a"], 3]
)
def test_what_cannot_be_recorded_is_refused(bad):
    with pytest.raises(ValueError, match="records: expected"):
        Records(bad)


def test_shapes_may_be_numbers_of_numpy():
    records = Records({"path": tuple(np.array([3, 2]))})
    assert Records.from_list(json.loads(json.dumps(records.to_list()))) == records


def test_asking_and_telling_with_records():
    niches = tl.GridTessellation(tl.FeatureSpace.unit(2), 4)
    search = tl.MapElites(tl.Box(3), niches, records=KINDS, initial=50, seed=1)
    for _ in range(4):
        rows = search.ask(50)
        search.tell(rows[:, 2], rows[:, :2], {name: [recorded(row)[name] for row in rows] for name in KINDS})
    check(search.archive)
    search.ask(1)
    with pytest.raises(ValueError, match="records: expected mass, teeth, sound, label, path, fitness, got weight"):
        search.tell([0.0], [[0.5, 0.5]], {"weight": [1]})


def test_other_records_are_another_problem():
    assert fingerprint(gear()) != fingerprint(gear({**KINDS, "mass": int}))


def test_the_page_shows_single_records(done):
    arrays = PackedArrays()
    described = describe_run(read_run(done.folder), arrays)
    shown = {record["name"]: record for record in described["archive"]["records"]}
    assert list(shown) == ["mass", "teeth", "sound", "label", "fitness"]
    assert any("path is an array" in note for note in described["notes"])
    assert shown["sound"]["labels"] == ["no", "yes"]
    assert set(shown["label"]["labels"]) == set(done.archive.elites().records["label"])


def test_texts_that_no_file_can_hold_are_refused_before_they_are_kept(tmp_path):
    """Half a character (a lone surrogate), in a record or in a reason, must not make the run's files fail."""

    @tl.problem(solutions=tl.Box(2, 0, 1), features={"a": (0, 1)}, records={"label": str})
    def half(x):
        if x[0] > 0.7:
            raise tl.Invalid("broken \ud800")
        return x[0], (x[1],), {"label": "\udc00" if x[0] > 0.4 else "é"}

    ended = tl.run(half, grid=4, evaluations=300, initial=50, seed=1, out=tmp_path / "run", history=True)
    reasons = set(tl.Archive.load(tmp_path / "run").invalid)
    assert reasons == {
        "broken ?",
        "wrong records: expected label to be Unicode, got half a character (a surrogate)",
    }
    assert set(ended.history(["reason"])["reason"].to_pylist()) == {"", *reasons}


@pytest.mark.parametrize("kind", [tl.dns(40), tl.nslc(40, k=5), tl.rts(40)], ids=["dns", "nslc", "rts"])
def test_members_of_a_population_keep_their_records(kind):
    """Also when others are dropped and they move up."""
    options = {name: value for name, value in SETTINGS.items() if name != "grid"}
    check(run(gear(), tessellation=kind, **options).archive, 40)


def test_records_are_a_mapping():
    kinds = {"mass": float, "n": int, "good": bool, "label": str, "path": (3, 2)}
    found = tl.Archive(tl.GridTessellation(tl.FeatureSpace.unit(1), 3), 2, records=kinds).records
    assert dict(found) == kinds
    assert list(found) == list(kinds)
    assert "mass" in found
    assert "stress" not in found


@pytest.mark.parametrize("number", [2**53 + 1, -(2**53) - 1, -(2**63)])
def test_whole_numbers_that_would_be_rounded_are_refused(number):
    with pytest.raises(ValueError, match="expected n up to 2\\^53, got a larger number"):
        Records({"n": int}).checked({"n": [number]}, 1)
    kept = Records({"n": int}).checked({"n": [-(2**53)]}, 1)
    assert kept["n"].tolist() == [-(2**53)]
