"""History: every evaluation of a run, once, the same bytes for every execution, and damage is refused."""

from __future__ import annotations

import json
import shutil
import signal
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow.parquet as pq
import pytest
from numba import njit
from typer.testing import CliRunner

import tesselite as tl
import worker_problems
from hill_runs import command_of, contents, make
from tesselite.archive import history
from tesselite.archive.history import HISTORY, EvaluatedRows, HistoryFolder, RowKind, load_history
from tesselite.cli.app import app
from tesselite.execution.islands import Islands
from tesselite.runs.plan import Budget, Plan
from tesselite.runs.run import resume, run
from tesselite.search.map_elites import MapElites, batches
from tesselite.tessellation.niches import niches_of

HOW = {"grid": [6, 6], "evaluations": 1000, "initial": 150, "batch_size": 60, "seed": 4}


@tl.problem(
    solutions=tl.Box(3, -1.0, 2.0),
    features=tl.FeatureSpace({"a": (0.0, 1.0), "b": (-0.5, 1.25)}, outside={"b": "refuse"}),
    records={"mass": float, "count": int, "heavy": bool},
)
@njit
def valley(x):
    """All kinds of rows: out of bounds, refused, NaN fitness, infinite feature, an exception."""
    if x[0] > 1.9:
        raise ValueError("too far")
    fitness = np.sqrt(x[1] + 0.9)
    a = np.inf if x[0] < -0.95 else x[0] * x[2]
    return fitness, (a, x[2]), (x[0] + x[1], np.floor(10 * x[1]), x[0] > 0.0)


@pytest.fixture
def small_parts(monkeypatch):
    """Parts of 128 rows, so that a small run has several."""
    monkeypatch.setattr(history, "_PART_ROWS", 128)


def parts_of(folder):
    return {file.name: file.read_bytes() for file in sorted((folder / HISTORY).iterdir())}


def check(folder, archive, n):
    """Properties of the history of any run: every evaluation once, the elites among them, reasons as counted."""
    table = load_history(folder)
    rows = table.to_pydict()
    assert sorted(rows["evaluation"]) == list(range(n))
    at = {number: i for i, number in enumerate(rows["evaluation"])}
    fitness, valid = np.array(rows["fitness"]), np.array(rows["valid"])
    elites = archive.elites()
    found = np.array([at[number] for number in elites.evaluations.tolist()])
    assert valid[found].all()
    assert np.array_equal(fitness[found], elites.fitness)
    for name, values in archive.elites().columns().items():
        if name in rows and values.dtype.kind == "f":
            assert np.array_equal(np.array(rows[name])[found], values, equal_nan=True), name
    if "solution" in rows:
        assert np.array_equal(np.array(rows["solution"])[found], elites.solutions)
    assert Counter(reason for reason in rows["reason"] if reason) == archive.invalid
    assert [not reason for reason in rows["reason"]] == rows["valid"]
    best = fitness[valid].max() if archive.direction == "max" else fitness[valid].min()
    assert best == archive.best_fitness
    return table


@pytest.mark.parametrize("threads", [1, 2])
def test_the_compiled_loop_keeps_what_ask_and_tell_keep(threads):
    def kept(evaluate):
        niches = tl.GridTessellation(valley.features, 8)
        search = MapElites(valley.solutions, niches, initial=100, seed=2, records=valley.records)
        search.history = EvaluatedRows(RowKind.of(search.archive), 400)
        for _ in batches(search, valley, 3000, batch_size=70, threads=threads, evaluate=evaluate):
            assert search.history.n == search.evaluations
        return search.history.table(3000), search.archive

    ours, archive = kept(None)
    theirs, same = kept(lambda rows, first: valley.evaluate_rows(rows, None, 1))
    assert archive.equals(same)
    reasons = Counter(ours["reason"].to_pylist())
    assert len(reasons) == 5
    assert reasons - Counter({"": reasons[""]}) == archive.invalid
    for name in ours.column_names:
        assert list(map(repr, ours[name].to_pylist())) == list(map(repr, theirs[name].to_pylist())), name
    refused = [row for row in ours.to_pylist() if row["reason"].startswith("out of bounds")]
    assert all(not -0.5 <= row["b"] <= 1.25 and np.isfinite(row["fitness"]) for row in refused)


def test_bytes_depend_on_the_evaluations_alone(tmp_path, small_parts):
    """Threads, workers, checkpoints and a resumed run; the last part is not full, and a batch crosses their borders."""
    whole = run(valley, out=tmp_path / "whole", history=True, threads=1, **HOW)
    right = parts_of(tmp_path / "whole")
    assert [pq.read_metadata(tmp_path / "whole" / HISTORY / name).num_rows for name in right] == [128] * 7 + [104]
    check(tmp_path / "whole", whole.archive, 1000)
    run(valley, out=tmp_path / "often", history=True, threads=2, checkpoint_seconds=0.0, **HOW)
    run(valley, out=tmp_path / "workers", history=True, workers=lambda: ThreadPoolExecutor(2), **HOW)
    run(valley, out=tmp_path / "extended", history=True, **{**HOW, "evaluations": 390})
    resume(tmp_path / "extended", valley, evaluations=1000)
    for name in ("often", "workers"):
        assert parts_of(tmp_path / name) == right, name
    first, same = (load_history(tmp_path / name).slice(0, 390).to_pylist() for name in ("extended", "whole"))
    assert repr(first) == repr(same)
    check(tmp_path / "extended", tl.Archive.load(tmp_path / "extended"), 1000)


def test_a_run_that_stops_anywhere_goes_on_with_the_same_bytes(tmp_path, small_parts):
    run(make(), out=tmp_path / "whole", history=True, **HOW)

    def stop(at):
        return lambda here: signal.raise_signal(signal.SIGINT) if here.evaluations >= at else None

    with pytest.raises(KeyboardInterrupt):
        run(make(), out=tmp_path / "cut", history=True, progress=stop(200), **HOW)
    for at in (450, 700):
        with pytest.raises(KeyboardInterrupt):
            resume(tmp_path / "cut", make(), progress=stop(at))
    resume(tmp_path / "cut", make())
    assert parts_of(tmp_path / "cut") == parts_of(tmp_path / "whole")


def test_parts_beyond_the_checkpoint_are_made_again(tmp_path, small_parts):
    """As after a kill between the parts and the checkpoint: the archive of an earlier state beside later parts."""
    run(make(), out=tmp_path / "a", history=True, **HOW)
    states = []

    def keep(here):
        if (tmp_path / "b" / "archive.parquet").exists():
            states.append((here.evaluations, (tmp_path / "b" / "archive.parquet").read_bytes()))

    run(make(), out=tmp_path / "b", history=True, checkpoint_seconds=0.0, progress=keep, **HOW)
    assert len(states) > 10
    for _, state in (states[0], states[3], states[-3]):
        shutil.copytree(tmp_path / "b", tmp_path / "c")
        (tmp_path / "c" / "archive.parquet").write_bytes(state)
        resume(tmp_path / "c", make())
        assert parts_of(tmp_path / "c") == parts_of(tmp_path / "a")
        shutil.rmtree(tmp_path / "c")


@pytest.mark.parametrize(("evaluations", "parts"), [(0, 0), (256, 2), (300, 3), (999, 8)])
def test_parts_beyond_the_checkpoint_are_removed(tmp_path, small_parts, evaluations, parts):
    done = run(make(), out=tmp_path / "run", history=True, **HOW)
    before = parts_of(tmp_path / "run")
    assert len(before) == 8
    folder = HistoryFolder(tmp_path / "run", RowKind.of(done.archive), evaluations)
    assert parts_of(tmp_path / "run") == before
    folder.cut()
    assert parts_of(tmp_path / "run") == dict(list(before.items())[:parts])


@pytest.mark.parametrize(
    "options",
    [
        {"islands": 2, "exchange": 100, "workers": lambda: ThreadPoolExecutor(2)},
        {"asynchronous": True, "workers": lambda: ThreadPoolExecutor(2), "batch_size": 1},
        {"grid": None, "tessellation": tl.expanding(n_niches=20, every=300, ignore_bounds=True)},
        {"emitter": tl.emitters.cma_mae(emitters=2, batch=20), "batch_size": None},
        {"grid": None, "tessellation": tl.dns(30)},
        {"start": np.linspace(-1, 1, 90).reshape(30, 3)},
    ],
    ids=["islands", "asynchronous", "growing", "cma_mae", "population", "start"],
)
def test_every_way_of_running_keeps_all(tmp_path, small_parts, options):
    ended = run(make(), out=tmp_path / "run", history=True, **{**HOW, "evaluations": 700, **options})
    if "tessellation" in options:  # elites move on, and some are gone
        assert sorted(ended.history(["evaluation"])["evaluation"].to_pylist()) == list(range(700))
        return
    check(tmp_path / "run", ended.archive, 700)


def test_islands_give_the_same_bytes_on_any_workers(tmp_path):
    how = {**HOW, "islands": 2, "exchange": 100, "history": True}
    for n in (1, 2):
        run(valley, out=tmp_path / str(n), workers=lambda n=n: ThreadPoolExecutor(n), **how)
    assert parts_of(tmp_path / "1") == parts_of(tmp_path / "2")
    with pytest.raises(ValueError, match=r"history: islands hold .* in memory, 44.0 GB here; expected at most 1 GB"):
        Plan.of(
            valley,
            niches_of(grid=[6, 6], space=valley.features),
            Budget(10**10),
            execution=Islands(n=2),
            history=True,
        )


def test_mixed_solutions_texts_and_records(tmp_path, small_parts):
    space = tl.Product(x=tl.Box(2, 0, 1), material=tl.Categorical(["steel", "oak"]))

    @tl.problem(
        solutions=space,
        features={"valid": (0, 1)},  # called like a column of the history
        records={"label": str, "path": (2, 2), "reason": float},
    )
    def beam(x):
        if x["x"][0] > 0.9:
            raise tl.Invalid("buckles\nand more")
        label = "größe\n" if x["x"][0] > 0.5 else ""
        return x["x"][0], (x["x"][1],), {"label": label, "path": np.outer(x["x"], x["x"]), "reason": 2.0}

    ended = run(beam, out=tmp_path / "run", history=True, **{**HOW, "grid": [9]})
    table = ended.history()
    assert set(table["material"].to_pylist()) == {"steel", "oak"}
    assert set(table["reason"].to_pylist()) == {"", "buckles"}
    assert table.column_names[:4] == ["evaluation", "fitness", "valid", "reason"]
    assert {"feature valid", "record reason", "label", "path"} <= {*table.column_names}
    for elite in ended.archive:
        row = table.slice(elite.evaluation, 1).to_pylist()[0]
        assert (row["label"], row["feature valid"]) == (elite.records["label"], elite.features[0])
        assert row["path"] == elite.records["path"].ravel().tolist()


def test_other_readers(tmp_path, small_parts):
    run(make(), out=tmp_path / "run", history=True, **HOW)
    table, folder = load_history(tmp_path / "run"), str(tmp_path / "run" / HISTORY)
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_parquet(folder)
    assert frame[frame.valid].fitness.max() == np.nanmax(table["fitness"].to_numpy())
    assert len(frame) == 1000
    polars = pytest.importorskip("polars")
    assert polars.read_parquet(folder)["evaluation"].to_list() == list(range(1000))
    duckdb = pytest.importorskip("duckdb")
    reasons = duckdb.sql(
        f"select reason, count(*) from '{folder}/*.parquet' where not valid group by reason"
    ).fetchall()
    assert dict(reasons) == tl.Archive.load(tmp_path / "run").invalid


# -- damage ------------------------------------------------------------------------------------------------------------


def test_what_is_missing_or_of_another_place_is_refused_untouched(tmp_path, small_parts):
    run(make(), out=tmp_path / "other", history=True, **{**HOW, "seed": 5, "evaluations": 500})
    run(make(), out=tmp_path / "run", history=True, **{**HOW, "evaluations": 500})
    folder = tmp_path / "run" / HISTORY
    parts = sorted(folder.iterdir())
    for file, replaced, for_resume in [
        (parts[-1], None, True),
        (parts[1], None, False),
        (parts[0], None, True),
        (parts[-1], b"", True),
        (parts[1], parts[2].read_bytes(), False),
        (parts[-1], (tmp_path / "other" / HISTORY / parts[-1].name).read_bytes(), True),
        (parts[1], (tmp_path / "other" / HISTORY / parts[1].name).read_bytes(), False),
    ]:
        before = file.read_bytes()
        if replaced is None:
            file.unlink()
        else:
            file.write_bytes(replaced)
        with pytest.raises(ValueError, match=r"history.*restore"):
            load_history(tmp_path / "run")
        if for_resume:
            left = contents(folder)
            with pytest.raises(ValueError, match=r"history.*restore"):
                resume(tmp_path / "run", make(), evaluations=1000)
            assert contents(folder) == left
        file.write_bytes(before)
    resume(tmp_path / "run", make(), evaluations=1000)
    assert len(load_history(tmp_path / "run")) == 1000


def test_a_linked_folder_is_refused(tmp_path, small_parts):
    run(make(), out=tmp_path / "run", history=True, **{**HOW, "evaluations": 500})
    (tmp_path / "run" / HISTORY).rename(tmp_path / "elsewhere")
    (tmp_path / "run" / HISTORY).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ValueError, match="symbolic link"):
        resume(tmp_path / "run", make(), evaluations=1000)


def test_a_full_disk_loses_nothing(tmp_path, small_parts, monkeypatch):
    run(make(), out=tmp_path / "whole", history=True, **HOW)
    write, fails = history.write_parquet, []

    def full(table, about, part, *rest):
        if about["history"] == 3 and len(fails) < 2:
            fails.append(part)
            raise OSError(28, "No space left on device")
        write(table, about, part, *rest)

    monkeypatch.setattr(history, "write_parquet", full)
    with pytest.raises(OSError, match=r"cannot write .*part-000003.parquet: No space left"):
        run(make(), out=tmp_path / "run", history=True, checkpoint_seconds=0.0, **HOW)
    resume(tmp_path / "run", make())
    assert parts_of(tmp_path / "run") == parts_of(tmp_path / "whole")


# -- options -----------------------------------------------------------------------------------------------------------


def test_the_command_line(tmp_path, small_parts):
    folder = tmp_path / "run"
    options = ["--grid", "5", "--evaluations", "600", "--initial", "100", "--seed", "1", "-q", "-o", str(folder)]
    said = CliRunner().invoke(app, ["run", "sphere:3", "--history", *options])
    assert said.exit_code == 0, said.output
    assert "--history" in command_of(folder)
    assert "600 evaluations" in CliRunner().invoke(app, ["info", str(folder)]).output
    about = json.loads(CliRunner().invoke(app, ["info", str(folder), "--json"]).output)["history"]
    assert about == {"evaluations": 600, "parts": 5, "bytes": sum(map(len, parts_of(folder).values()))}
    said = CliRunner().invoke(app, ["resume", str(folder), "--evaluations", "700", "-q"])
    assert said.exit_code == 0, said.output
    assert len(load_history(folder)) == 700
    target = str(folder / HISTORY / "part-000000.parquet")
    said = CliRunner().invoke(app, ["export", str(folder), "--out", target])
    assert said.exit_code != 0
    assert "belongs to the run" in str(said.exception)


def test_clear_errors(tmp_path):
    with pytest.raises(ValueError, match="history: needs a folder"):
        run(make(), history=True, **HOW)
    without = run(make(), out=tmp_path / "run", **HOW)
    assert "history" not in json.loads((tmp_path / "run" / "settings.json").read_text())
    with pytest.raises(ValueError, match="no history here"):
        without.history()
    with pytest.raises(ValueError, match="the run has no folder"):
        run(make(), **HOW).history()
    run(make(), out=tmp_path / "kept", history=True, **HOW)
    with pytest.raises(ValueError, match=r"columns: expected some of evaluation, fitness, .*, got 'fitnes'"):
        load_history(tmp_path / "kept", ["fitnes"])


def test_a_run_of_which_nothing_is_valid_leaves_nothing(tmp_path):
    @tl.problem(solutions=tl.Box(2, 0, 1), features={"a": (0, 1)})
    def broken(x):
        raise ValueError("no")

    with pytest.raises(tl.NothingValid):
        run(broken, out=tmp_path / "run", history=True, **{**HOW, "grid": [3]})
    assert not (tmp_path / "run" / HISTORY).exists()
    assert not (tmp_path / "run" / "settings.json").exists()
    run(worker_problems.good, out=tmp_path / "run", history=True, **HOW)
