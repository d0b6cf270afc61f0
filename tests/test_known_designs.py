"""Known designs: evaluated first and counted, from Python, an archive or a file, and kept with the run."""

from __future__ import annotations

import json
import shutil
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import tesselite as tl
import worker_problems as problems
from hill_runs import command_of, make
from tesselite.runs.folder import RunFolder
from tesselite.runs.known_designs import START_FILE, Start
from tesselite.runs.run import replay, resume, run

DESIGNS = np.linspace(-0.9, 0.9, 21).reshape(7, 3)
SETTINGS = {"grid": [6, 7], "evaluations": 300, "initial": 40, "batch_size": 20, "seed": 5}


def recorded(rows):
    """A problem that records its calls."""

    @tl.problem(solutions=tl.Box(3, -1, 1), features={"a": (-1, 1), "b": (-1, 1)}, name="hill")
    def hill(x):
        rows.append(x.tolist())
        return -float((x**2).sum()), x[:2]

    return hill


def test_known_designs_are_evaluated_first_in_order_and_count():
    seen = []
    done = run(recorded(seen), start=DESIGNS, **SETTINGS)
    assert seen[:7] == DESIGNS.tolist()
    assert len(seen) == done.evaluations == 300
    other = []
    run(recorded(other), **SETTINGS)
    assert seen[7:40] != other[:33]
    assert done.archive.get(int(done.archive.tessellation.niche_of(DESIGNS[:1, :2])[0])) is not None


def test_more_designs_than_initial_ones_are_all_evaluated_and_no_random_one():
    seen, many = [], np.random.default_rng(1).uniform(-1, 1, (90, 3))
    run(recorded(seen), start=many, **{**SETTINGS, "evaluations": 90})
    assert seen == many.tolist()


def test_ask_ends_a_batch_where_the_designs_end():
    niches = tl.GridTessellation(tl.FeatureSpace.unit(2), 4)
    search = tl.MapElites(tl.Box(3, -1, 1), niches, start=DESIGNS, initial=10, seed=1)
    sizes = []
    for _ in range(4):
        rows = search.ask(5)
        sizes.append(len(rows))
        search.tell(np.zeros(len(rows)), np.abs(rows[:, :2]))
    assert sizes == [5, 2, 3, 5]


def test_an_archive_of_another_tessellation_or_a_run_can_be_the_start(cvt_run, grid_run):
    of_archive = run(make(), start=cvt_run.archive, **SETTINGS)
    assert of_archive.plan.start.n == len(cvt_run.archive)
    assert of_archive.archive.equals(run(make(), start=cvt_run.folder, **SETTINGS).archive)
    assert of_archive.archive.best_fitness >= cvt_run.archive.best_fitness


def _files(folder):
    np.save(folder / "rows.npy", DESIGNS)
    np.savez(folder / "rows.npz", solutions=DESIGNS)
    text = "\n".join(["fitness,x0,x1,x2", *(f"1,{a!r},{b!r},{c!r}" for a, b, c in DESIGNS.tolist())])
    (folder / "rows.csv").write_text(text + "\n")
    pq.write_table(pa.table({f"x{j}": DESIGNS[:, j] for j in range(3)}), folder / "columns.parquet")
    pq.write_table(pa.table({"solution": DESIGNS.tolist()}), folder / "lists.parquet")
    return sorted(folder.iterdir())


def test_every_kind_of_file_says_the_same(tmp_path):
    space, digests = make().solutions, set()
    for file in _files(tmp_path):
        digests.add(Start.of(file, space).digest)
        assert np.array_equal(Start.of(str(file), space).rows, DESIGNS), file
    assert digests == {Start.of(DESIGNS, space).digest}


def test_a_csv_export_is_a_start(grid_folder, tmp_path):
    from tesselite.cli.app import app

    assert CliRunner().invoke(app, ["export", str(grid_folder), "-o", str(tmp_path / "e.csv")]).exit_code == 0
    archive = tl.Archive.load(grid_folder)
    assert np.array_equal(Start.of(tmp_path / "e.csv", make().solutions).rows, archive.elites().solutions)


@pytest.mark.parametrize(
    ("start", "said"),
    [
        (DESIGNS[:, :2], "start: .*expected shape"),
        (2 * DESIGNS, r"start: .*expected values in \[-1, 1\] on axis 0, got -1.8 in row 0"),
        (DESIGNS[:0], "at least one solution"),
        (np.zeros((301, 3)), "at most 300 solutions, the whole budget, got 301"),
        ("designs.txt", "ends in .parquet, .csv, .npy, .npz"),
        ("two.csv", "a column for each value of a solution, found no 'x2'"),
        ("words.csv", "could not convert"),
        ("empty.csv", "empty.csv: "),
        ("damaged.parquet", "not a readable Parquet file"),
    ],
)
def test_what_is_not_of_the_space_is_refused(start, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    files = {"designs.txt": "1", "two.csv": "x0,x1\n1,2\n", "words.csv": "x0,x1,x2\na,b,c\n", "empty.csv": ""}
    for name, text in {**files, "damaged.parquet": "PAR1"}.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=said):
        run(make(), start=start, **SETTINGS)


def test_an_archive_whose_bytes_changed_is_refused(grid_folder, tmp_path):
    table = pq.read_table(grid_folder / "archive.parquet")
    about = table.schema.metadata
    fitness = pa.array(np.zeros(len(table)))
    changed = table.set_column(1, "fitness", fitness).replace_schema_metadata(about)
    pq.write_table(changed, tmp_path / "changed.parquet")
    with pytest.raises(ValueError, match="damaged"):
        run(make(), start=tmp_path / "changed.parquet", **SETTINGS)


def test_a_run_keeps_its_designs_and_goes_on_exactly(tmp_path):
    whole = run(make(), start=DESIGNS, out=tmp_path / "whole", **SETTINGS)
    assert json.loads((tmp_path / "whole" / "settings.json").read_text())["start"]["n"] == 7
    assert len(pq.read_table(tmp_path / "whole" / START_FILE)) == 7

    def stop(going):
        if going.evaluations >= stop.at:
            raise RuntimeError("enough")

    for stop.at in (5, 60):
        folder = tmp_path / f"cut {stop.at}"
        with pytest.raises(RuntimeError, match="enough"):
            run(make(), start=DESIGNS, out=folder, progress=stop, **SETTINGS)
        assert resume(folder, make()).archive.equals(whole.archive)
        assert (folder / "archive.parquet").read_bytes() == (whole.folder / "archive.parquet").read_bytes()
    (folder / START_FILE).unlink()
    with pytest.raises(OSError, match=START_FILE):
        resume(folder, make(), evaluations=400)
    shutil.copy(_other(tmp_path), folder / START_FILE)
    with pytest.raises(ValueError, match="not the solutions that the run was started with"):
        resume(folder, make(), evaluations=400)


def _other(folder):
    run(make(), start=-DESIGNS, out=folder / "other", **SETTINGS)
    return folder / "other" / START_FILE


def test_workers_islands_and_replay_evaluate_the_same_designs(tmp_path):
    alone = run(problems.good, start=DESIGNS, **SETTINGS)
    folder = tmp_path / "asynchronous"
    with ThreadPoolExecutor(2) as threads:
        assert run(problems.good, start=DESIGNS, workers=threads, **SETTINGS).archive.equals(alone.archive)
        best = run(problems.good, start=np.zeros((1, 3)), workers=threads, islands=2, **SETTINGS).archive.best
        assert (best.fitness, best.evaluation) == (0.0, 0)
        live = run(problems.good, start=DESIGNS, workers=threads, asynchronous=True, out=folder, **SETTINGS)
    assert replay(folder, problems.good).archive.equals(live.archive)


def test_a_compiled_problem_begins_with_its_designs():
    done = run(problems.compiled, start=np.zeros((1, 3)), **SETTINGS)
    assert (done.archive.best.fitness, done.archive.best.evaluation) == (0.0, 0)


def test_the_command_line_takes_a_start_and_says_it_again(tmp_path, monkeypatch):
    from tesselite.cli.app import app

    monkeypatch.chdir(tmp_path)
    np.save("designs.npy", np.zeros((2, 4)))
    options = ["--grid", "5", "--evaluations", "200", "--initial", "50", "--seed", "1", "--quiet"]
    done = CliRunner().invoke(app, ["run", "sphere:4", "--start", "designs.npy", "-o", "run", *options])
    assert done.exit_code == 0, done.output
    assert "--start run/start.parquet" in command_of(tmp_path / "run").replace(str(tmp_path) + "/", "")
    assert RunFolder.open(tmp_path / "run").read().plan.beginning.startswith("2 known designs")
    again = CliRunner().invoke(app, ["run", "sphere:4", "--start", "run", "-o", "next", *options])
    assert again.exit_code == 0, again.output
    assert "known designs" in CliRunner().invoke(app, ["info", "next"]).output
    for wrong in ("none.npy", "run/settings.json"):
        refused = CliRunner().invoke(app, ["run", "sphere:4", "--start", wrong, "-o", "never", *options])
        assert refused.exit_code != 0
        assert not (tmp_path / "never").exists()


def test_odd_tables_say_what_is_wrong_with_them(tmp_path):
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "words.csv").write_text("x0,x1,x2\n0.1,0.2,0.3\n0.1,tall,0.3\n")
    for name, said in {"empty.csv": "found no 'x0'", "words.csv": "the column 'x1': could not convert"}.items():
        with pytest.raises(ValueError, match=rf"{name}: .*{said}"):
            tl.run(make(), grid=[3, 3], evaluations=100, start=tmp_path / name)


def test_texts_that_look_like_formulas_survive_an_export_to_csv(tmp_path):
    """Spreadsheets would run them, so they have an apostrophe there, which is not part of the solution."""

    @tl.problem(
        solutions=tl.Product(x=tl.Box(2), m=tl.Categorical(["steel", "=oak"])),
        features={"a": (0, 1)},
    )
    def beam(s):
        return float(s.m == "=oak"), (s.x[0],)

    run(beam, grid=5, evaluations=100, initial=50, seed=1, out=tmp_path / "run")
    from tesselite.cli.app import app

    said = CliRunner().invoke(app, ["export", str(tmp_path / "run"), "-o", str(tmp_path / "beams.csv")])
    assert said.exit_code == 0, said.output
    assert "'=oak" in (tmp_path / "beams.csv").read_text()
    elites = tl.Archive.load(tmp_path / "run").elites().solutions
    assert (Start.of(tmp_path / "beams.csv", beam.solutions).rows == elites).all()
