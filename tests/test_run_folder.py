"""The run folder: what is in it, that a write fails as a whole, and that whatever is wrong is refused untouched."""

from __future__ import annotations

import errno
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tesselite as tl
from tesselite.archive_file import load_archive, load_checkpoint
from tesselite.atomic import write_atomically
from tesselite.run import Interrupted, resume, start
from tesselite.run_folder import PROGRESS, RUN_FILES, RunFolder, progress_of

FEATURES = {"a": (0.0, 1.0), "b": (-1.0, 2.0)}


def make(low=-1.0, width=3, direction="max", features=None, floor=None):
    """A problem with all kinds of rows: good, out of bounds, NaN, and an exception."""

    @tl.problem(
        solutions=tl.Box(width, low, 1.0),
        features=features or FEATURES,
        direction=direction,
        floor=floor,
        name="hill",
    )
    def hill(x):
        if x[0] > 0.97:
            raise ZeroDivisionError("too steep")
        fitness = np.nan if x[1] > 0.95 else 10.0 - float((x**2).sum()) / 3
        return fitness, (abs(x[0]) * 1.1, 2 * x[1] + x[2] / 7)

    return hill


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Bytes and time of every file; .lock may be made by anyone who looks."""
    return {f.name: (f.read_bytes(), f.stat().st_mtime_ns) for f in sorted(folder.iterdir()) if f.name != ".lock"}


def refused(folder: Path, match: str, **options) -> None:
    before = contents(folder)
    with pytest.raises((ValueError, OSError), match=match):
        resume(folder, options.pop("problem", make()), **options)
    assert contents(folder) == before


@pytest.fixture(scope="module")
def grid_run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("grid") / "run"
    return start(make(), folder, evaluations=2000, grid=[6, 7], batch_size=50, initial=200, seed=5)


@pytest.fixture(scope="module")
def cvt_run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cvt") / "run"
    return start(make(), folder, evaluations=1000, n_niches=30, batch_size=50, initial=200, seed=5)


@pytest.fixture
def grid_folder(grid_run, tmp_path):
    return Path(shutil.copytree(grid_run.folder, tmp_path / "run"))


@pytest.fixture
def cvt_folder(cvt_run, tmp_path):
    return Path(shutil.copytree(cvt_run.folder, tmp_path / "cvt"))


# -- what is in it ---------------------------------------------------------------------------------------------------


def test_settings_say_everything_that_is_needed_to_run_again(cvt_run):
    about = json.loads((cvt_run.folder / "settings.json").read_text())
    assert {name: about[name] for name in ("problem", "evaluations", "initial", "batch_size", "seed")} == {
        "problem": "hill",
        "evaluations": 1000,
        "initial": 200,
        "batch_size": 50,
        "seed": 5,
    }
    assert about["variation"] == "iso_line:0.01,0.2"
    assert about["niches"]["kind"] == "voronoi"
    assert about["niches"]["n_niches"] == 30
    assert about["version"] == tl.__version__
    assert set(about["versions"]) == {"python", "numpy", "numba", "scipy", "pyarrow"}
    assert about["versions"]["numpy"] == np.__version__


def test_progress_has_the_promised_columns_in_full_precision(grid_run):
    lines = (grid_run.folder / "progress.csv").read_text().splitlines()
    assert lines[0] == "evaluations,seconds,filled,coverage,best_fitness,mean_fitness,qd_score,invalid,out_of_bounds"
    rows = [dict(zip(PROGRESS, line.split(","), strict=True)) for line in lines[1:]]
    assert [int(row["evaluations"]) for row in rows] == list(range(50, 2001, 50))
    seconds = [float(row["seconds"]) for row in rows]
    assert seconds == sorted(seconds)
    filled = [int(row["filled"]) for row in rows]
    assert filled == sorted(filled)
    state = progress_of(grid_run.search)
    assert state["invalid"] > 0
    assert state["out_of_bounds"] > 0
    for name, value in state.items():
        assert float(rows[-1][name]) == value, name


def test_the_archive_file_holds_every_elite_exactly(grid_run):
    table = pq.read_table(grid_run.folder / "archive.parquet")
    elites = grid_run.search.archive.elites()
    assert np.array_equal(table["niche"].to_numpy(), elites.niches)
    assert (np.diff(elites.niches) > 0).all()
    assert np.array_equal(table["fitness"].to_numpy(), elites.fitness)
    assert np.array_equal(table["a"].to_numpy(), elites.features[:, 0])
    assert np.array_equal(table["b"].to_numpy(), elites.features[:, 1])
    assert np.array_equal(np.array(table["solution"].to_pylist()), elites.solutions)
    assert np.array_equal(table["evaluation"].to_numpy(), elites.evaluations)


def test_loading_an_archive_gives_back_what_was_saved(cvt_run, tmp_path):
    archive = cvt_run.search.archive
    for file in (cvt_run.folder / "archive.parquet", archive.save(tmp_path / "alone.parquet")):
        loaded = load_archive(file)
        assert loaded.tessellation == archive.tessellation
        assert loaded.invalid == archive.invalid
        assert loaded.out_of_bounds == archive.out_of_bounds
        ours, theirs = archive.in_order_of_filling(), loaded.in_order_of_filling()
        for name in ("niches", "fitness", "features", "solutions", "evaluations"):
            assert np.array_equal(getattr(ours, name), getattr(theirs, name)), name


def test_an_empty_archive_and_features_with_awkward_names_are_kept(tmp_path):
    space = tl.FeatureSpace({"niche": (0, 1), "solution": (0, 1), "größe, m": (0, 1)})
    archive = tl.Archive(tl.GridTessellation(space, 2), 2, direction="min")
    assert len(load_archive(archive.save(tmp_path / "empty.parquet"))) == 0
    archive.add([[1, 2]], [0.1 + 0.2], [[0.3, 0.4, 0.5]])
    loaded = load_archive(archive.save(tmp_path / "one.parquet"))
    assert loaded.best.fitness == 0.1 + 0.2
    assert loaded.best.features.tolist() == [0.3, 0.4, 0.5]
    assert loaded.direction == "min"


# -- a write fails as a whole ----------------------------------------------------------------------------------------


def test_a_failing_writer_leaves_the_old_file_and_nothing_else(tmp_path):
    file = tmp_path / "x.txt"
    file.write_text("old")

    def write(part: Path) -> None:
        part.write_text("half of the n")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_atomically(file, write)
    assert [f.name for f in tmp_path.iterdir()] == ["x.txt"]
    assert file.read_text() == "old"


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(OSError, match=r"cannot write .*nowhere.x\.txt: No such file"):
        write_atomically(tmp_path / "nowhere" / "x.txt", lambda part: part.write_text("new"))
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match=r"cannot write .*folder: "):
        write_atomically(tmp_path / "folder", lambda part: part.write_text("new"))
    assert [f.name for f in tmp_path.iterdir()] == ["folder"]


def test_a_disk_that_fills_up_during_a_run_leaves_the_last_checkpoint(tmp_path, monkeypatch):
    folder, fsync, room = tmp_path / "run", os.fsync, [6]

    def full(handle: int) -> None:
        room[0] -= 1
        if room[0] < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        fsync(handle)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"cannot write .*: No space left on device") as caught:
        start(make(), folder, evaluations=2000, grid=[6, 7], batch_size=50, initial=200, seed=5, checkpoint_seconds=0)
    assert caught.value.errno == errno.ENOSPC
    monkeypatch.undo()
    assert {f.name for f in folder.iterdir()} <= {".lock", *RUN_FILES}
    _, state = load_checkpoint(folder / "archive.parquet")
    assert state is not None
    assert 0 < state["evaluations"] < 2000
    resume(folder, make())


def test_a_write_that_the_system_cuts_short_leaves_the_old_file(grid_folder):
    place = RunFolder.open(grid_folder)
    search = tl.MapElites(
        tl.Box(200, 0, 1), tl.GridTessellation(tl.FeatureSpace(FEATURES), 20), tl.variation.gaussian(), seed=1
    )
    search.ask(200)
    search.tell(np.ones(200), np.random.default_rng(1).random((200, 2)))
    before = contents(grid_folder)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, hard))
    try:
        with pytest.raises(OSError, match=r"cannot write .*archive\.parquet: .*too large"):
            place.write_checkpoint(search)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert contents(grid_folder) == before


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="mounting a small disk needs root")
def test_a_disk_that_is_really_full(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=48k", "none", disk], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip("cannot mount a small disk here")
    try:
        with pytest.raises(OSError, match=r"cannot write .*: No space left on device"):
            start(make(), disk / "run", evaluations=10**9, grid=100, batch_size=50, seed=5, checkpoint_seconds=0)
        archive, state = load_checkpoint(disk / "run" / "archive.parquet")
        assert state is not None
        assert 0 < len(archive) < state["evaluations"]
        RunFolder.open(disk / "run").read_progress()
        RunFolder.open(disk / "run").read_settings()
    finally:
        subprocess.run(["umount", "--lazy", disk], check=True)


# -- folders that are refused ----------------------------------------------------------------------------------------


def test_a_folder_in_use_is_refused_by_run_and_resume(grid_folder):
    with RunFolder.open(grid_folder):
        refused(grid_folder, "another process is running here")
    refused(grid_folder, "at least the 2000", evaluations=1000)  # free again

    free = grid_folder.parent / "free"
    with RunFolder.create(free), pytest.raises(ValueError, match="another process is running here"):
        start(make(), free, evaluations=100, grid=3)


def test_another_process_cannot_run_in_a_folder_in_use(grid_folder):
    code = "import sys, tesselite.run_folder as r, pathlib; r.RunFolder.open(pathlib.Path(sys.argv[1])).__enter__()"
    with RunFolder.open(grid_folder):
        done = subprocess.run([sys.executable, "-c", code, grid_folder], capture_output=True, text=True, check=False)
    assert "another process is running here" in done.stderr
    assert done.returncode != 0


def test_a_run_that_starts_while_another_process_looks_waits_for_it(grid_folder, monkeypatch):
    fcntl = pytest.importorskip("fcntl")
    with (grid_folder / ".lock").open("rb") as looking:
        fcntl.flock(looking, fcntl.LOCK_SH | fcntl.LOCK_NB)
        pauses = []

        def sleep(seconds):
            pauses.append(seconds)
            if len(pauses) == 3:
                fcntl.flock(looking, fcntl.LOCK_UN)

        monkeypatch.setattr("tesselite.run_folder.time.sleep", sleep)
        with RunFolder.open(grid_folder):
            assert len(pauses) == 3
            with pytest.raises(BlockingIOError):  # the lock is the run's own now
                fcntl.flock(looking, fcntl.LOCK_SH | fcntl.LOCK_NB)
        pauses.clear()
        with RunFolder.open(grid_folder):
            assert pauses == []  # a free folder is entered at once
        with RunFolder.open(grid_folder), pytest.raises(ValueError, match="running here"), RunFolder.open(grid_folder):
            pass
        assert 0.2 < sum(pauses) < 1.0  # a run in use is refused soon


def test_a_process_that_came_and_went_before_the_lock_is_noticed(tmp_path, grid_run):
    place = RunFolder.create(tmp_path / "run")
    shutil.copytree(grid_run.folder, place.path, dirs_exist_ok=True)
    before = contents(place.path)
    with pytest.raises(ValueError, match="holds a run already"), place:
        pass
    assert contents(place.path) == before
    with RunFolder.open(place.path):
        pass  # the lock is free again


def test_a_new_run_refuses_folders_that_hold_something(tmp_path, grid_folder):
    before = contents(grid_folder)
    with pytest.raises(ValueError, match="holds a run already; continue it with `tesselite resume"):
        start(make(), grid_folder, evaluations=100, grid=3)
    assert contents(grid_folder) == before
    foreign = tmp_path / "thesis"
    foreign.mkdir()
    (foreign / "chapter.txt").write_text("precious")
    with pytest.raises(ValueError, match="is not empty and holds no run"):
        start(make(), foreign, evaluations=100, grid=3)
    with pytest.raises(ValueError, match="expected a folder for the run, found a file"):
        start(make(), foreign / "chapter.txt", evaluations=100, grid=3)
    assert [f.name for f in foreign.iterdir()] == ["chapter.txt"]
    with pytest.raises(ValueError, match="no run is here"):
        resume(foreign)
    with pytest.raises(ValueError, match="no run is here"):
        resume(tmp_path / "missing")


def test_what_a_run_killed_at_its_start_left_does_not_block_the_next(tmp_path, cvt_folder):
    folder = tmp_path / "again"
    folder.mkdir()
    (folder / ".lock").touch()
    (folder / ".settings.json.abc.part.json").write_text("{")
    (folder / "..centroids.parquet.abc.part.parquet.def").write_text("PAR1")
    shutil.copy(cvt_folder / "centroids.parquet", folder)
    start(make(), folder, evaluations=100, grid=3)
    (folder / ".archive.parquet.abc.part.parquet").write_text("PAR1")
    resume(folder, make())
    assert {f.name for f in folder.iterdir()} <= {".lock", *RUN_FILES}


@pytest.mark.parametrize(
    "options",
    [
        {"evaluations": 0},
        {"batch_size": 0},
        {"initial": 0},
        {"seed": -1},
        {"threads": 0},
        {"checkpoint_seconds": -1.0},
        {"checkpoint_seconds": float("nan")},
        {"grid": 0},
        {"grid": [3, 3, 3]},
        {"grid": 2**40},
        {"grid": None, "n_niches": 0},
        {"grid": None},
        {"n_niches": 10},
        {"variation": tl.variation.resample(0.1)},
    ],
)
def test_wrong_options_are_refused_before_anything_is_kept(tmp_path, options):
    with pytest.raises(ValueError, match=r"expected|needs|niches"):
        start(make(), tmp_path / "run", **{"evaluations": 100, "grid": 3, **options})
    assert not (tmp_path / "run").exists() or not contents(tmp_path / "run")


def test_a_run_in_which_nothing_is_valid_shows_the_error_and_can_be_started_again(tmp_path):
    @tl.problem(solutions=tl.Box(3, 0, 1), features=FEATURES)
    def broken(x):
        raise KeyError("left leg")

    with pytest.raises(tl.NothingValid, match=r"(?s)none of the first 100 .*in broken.*KeyError: 'left leg'"):
        start(broken, tmp_path / "run", evaluations=100, grid=3)
    start(make(), tmp_path / "run", evaluations=100, grid=3)


# -- files that are refused ------------------------------------------------------------------------------------------


def edit_settings(folder: Path, **changes) -> None:
    about = json.loads((folder / "settings.json").read_text())
    (folder / "settings.json").write_text(json.dumps({**about, **changes}))


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "3", '{"format": 1}', '{"format": 1, "version": "0.1.0", "seed": 1}', "\0" * 100],
)
def test_damaged_settings_are_refused(grid_folder, text):
    (grid_folder / "settings.json").write_text(text)
    refused(grid_folder, r"settings\.json: damaged, or not settings of a tesselite run")


def test_settings_of_wrong_kinds_are_refused(grid_folder):
    original = (grid_folder / "settings.json").read_text()
    for change in ({"evaluations": "many"}, {"seed": None}, {"batch_size": True}, {"niches": {}}, {"niches": 3}):
        (grid_folder / "settings.json").write_text(original)
        edit_settings(grid_folder, **change)
        refused(grid_folder, r"settings\.json: damaged")
    (grid_folder / "settings.json").write_bytes(b"\xff\xfe\x00")
    refused(grid_folder, r"settings\.json: damaged")


def test_another_format_is_refused_and_another_version_only_on_request(grid_folder, grid_run):
    edit_settings(grid_folder, format=99, version="9.0")
    refused(grid_folder, r"written in format 99 by tesselite 9\.0; this is .* reads format 1")
    edit_settings(grid_folder, format=1)
    refused(grid_folder, r"started by tesselite 9\.0, this is .*--other-version")
    edit_settings(grid_folder, evaluations=2500)
    summary = resume(grid_folder, make(), other_version=True)
    assert summary.search.evaluations == 2500
    assert RunFolder.open(grid_folder).read_settings()[1] == tl.__version__


def truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def test_a_damaged_or_foreign_archive_is_refused(grid_folder, cvt_folder):
    file = grid_folder / "archive.parquet"
    original = file.read_bytes()
    truncate(file)
    refused(grid_folder, r"archive\.parquet: not a readable Parquet file, or damaged")
    file.write_bytes(b"")
    refused(grid_folder, r"archive\.parquet: not a readable Parquet file, or damaged")
    pq.write_table(pa.table({"niche": [1, 2]}), file)
    refused(grid_folder, r"archive\.parquet: a Parquet file, but not an archive of tesselite")
    table = pq.read_table(pa.BufferReader(original))
    about = json.loads(table.schema.metadata[b"tesselite"])
    pq.write_table(table.replace_schema_metadata({b"tesselite": json.dumps(about | {"format": 7})}), file)
    refused(grid_folder, r"archive\.parquet: written in format 7 by tesselite")
    pq.write_table(table.replace_schema_metadata({b"tesselite": json.dumps(about | {"out_of_bounds": 7})}), file)
    refused(grid_folder, r"archive\.parquet: damaged")
    pq.write_table(table.slice(1), file)
    refused(grid_folder, r"archive\.parquet: damaged")
    tl.Archive.load(cvt_folder / "archive.parquet").save(file)
    refused(grid_folder, r"archive\.parquet: this archive was made on another tessellation")
    file.write_bytes(original)
    tl.Archive.load(file).save(file)
    refused(grid_folder, r"archive\.parquet: an archive, but not the checkpoint of a search")


def test_no_flipped_byte_of_an_archive_goes_unnoticed(grid_run, tmp_path):
    original = (grid_run.folder / "archive.parquet").read_bytes()
    right = load_archive(grid_run.folder / "archive.parquet").in_order_of_filling()
    file, rng = tmp_path / "archive.parquet", np.random.default_rng(3)
    noticed = 0
    for position in rng.choice(len(original), 300, replace=False):
        damaged = bytearray(original)
        damaged[position] ^= 1 << rng.integers(8)
        file.write_bytes(damaged)
        try:
            loaded = load_archive(file)
        except ValueError as error:
            assert str(file) in str(error)  # noqa: PT017
            noticed += 1
            continue
        # Some bytes (statistics, say) tell nothing about the content.
        for name in ("niches", "fitness", "features", "solutions", "evaluations"):
            assert np.array_equal(getattr(loaded.in_order_of_filling(), name), getattr(right, name)), position
    assert noticed > 150


def test_the_archive_of_another_run_is_refused(grid_folder, tmp_path):
    other = start(make(), tmp_path / "b", evaluations=500, grid=[6, 7], batch_size=50, initial=200, seed=6)
    shutil.copy(other.folder / "archive.parquet", grid_folder)
    refused(grid_folder, r"archive\.parquet: saved by a search with seed 6, this has 5")


@pytest.mark.parametrize(
    ("damage", "match"),
    [
        (lambda text: "", r"progress\.csv: damaged or foreign"),
        (lambda text: "date,money\n1,2\n", r"progress\.csv: damaged or foreign; expected the columns evaluations, "),
        (lambda text: text.replace("\n100,", "\nhundred,"), r"progress\.csv: damaged in line 3 \('hundred"),
        (lambda text: text.replace("\n100,", "\n100,1,"), r"progress\.csv: damaged in line 3"),
        (lambda text: text + "\0\0\0\0\n", r"progress\.csv: damaged in line 42"),
    ],
)
def test_damaged_progress_is_refused(grid_folder, damage, match):
    file = grid_folder / "progress.csv"
    text = damage(file.read_text())
    file.write_text(text)
    refused(grid_folder, match)
    edit_settings(grid_folder, evaluations=2100)
    refused(grid_folder, match)
    file.unlink()
    assert resume(grid_folder, make()).search.evaluations == 2100  # as the message says, it works without


def test_damaged_centroids_are_refused(cvt_folder, tmp_path):
    file = cvt_folder / "centroids.parquet"
    original = file.read_bytes()
    truncate(file)
    refused(cvt_folder, r"centroids\.parquet: not a readable Parquet file")
    file.unlink()
    refused(cvt_folder, r"centroids\.parquet")
    file.write_bytes(original)
    niches = tl.Archive.load(cvt_folder / "archive.parquet").tessellation
    moved = niches.centroids.copy()
    moved[3, 1] = np.nextafter(moved[3, 1], 0)
    tl.VoronoiTessellation(niches.space, moved).save(file)
    refused(cvt_folder, "the niches or the problem's features are not those")


def test_a_problem_that_changed_is_refused(grid_folder):
    match = "the solutions, features, direction or floor of hill are not those that the run was started with"
    refused(grid_folder, match, problem=make(low=-1.5))
    refused(grid_folder, match, problem=make(width=4))
    refused(grid_folder, match, problem=make(direction="min"))
    refused(grid_folder, match, problem=make(floor=-1.0))
    refused(grid_folder, match, problem=make(features={"a": (0.0, 1.0), "b": (-1.0, 2.5)}))
    refused(grid_folder, match, problem=make(features={"a": (0.0, 1.0), "c": (-1.0, 2.0)}))
    refused(grid_folder, "there is no problem 'hill'", problem=None)


# -- resuming --------------------------------------------------------------------------------------------------------


def test_resuming_a_finished_run_changes_nothing(grid_folder, grid_run):
    before = contents(grid_folder)
    summary = resume(grid_folder, make())
    assert contents(grid_folder) == before
    ours, theirs = summary.to_dict(), grid_run.to_dict()
    for name in set(ours) - {"seconds", "out"}:
        assert ours[name] == theirs[name], name


def test_extending_the_budget_continues_the_search(grid_folder, tmp_path):
    refused(grid_folder, "expected at least the 2000", evaluations=1999)
    old = (grid_folder / "progress.csv").read_text()
    summary = resume(grid_folder, make(), evaluations=3000)
    assert RunFolder.open(grid_folder).read_settings()[0].evaluations == 3000
    longer = start(make(), tmp_path / "b", evaluations=3000, grid=[6, 7], batch_size=50, initial=200, seed=5)
    assert (grid_folder / "archive.parquet").read_bytes() == (longer.folder / "archive.parquet").read_bytes()
    assert (grid_folder / "progress.csv").read_text().startswith(old)
    rows = RunFolder.open(grid_folder).read_progress()
    assert rows[-1]["evaluations"] == 3000
    assert summary.seconds_search == rows[-1]["seconds"] > rows[-2]["seconds"]


class Crash(Exception):
    """What a test throws into a run."""


@pytest.mark.parametrize("stop_at", [50, 150, 200, 250, 1000, 1950])
def test_progress_beyond_the_checkpoint_is_cut_and_written_again(tmp_path, grid_run, stop_at):
    folder = tmp_path / "run"

    def crash(search, budget):
        if search.evaluations == stop_at:
            place.write_checkpoint(search)
        if search.evaluations == min(stop_at + 150, 2000):
            raise Crash

    place = RunFolder(folder)
    with pytest.raises(Crash):
        start(make(), folder, evaluations=2000, grid=[6, 7], batch_size=50, initial=200, seed=5, observer=crash)
    with (folder / "progress.csv").open("a") as file:
        file.write("2050,0.1")  # a row that was cut off
    resume(folder, make())
    assert (folder / "archive.parquet").read_bytes() == (grid_run.folder / "archive.parquet").read_bytes()
    ours, theirs = place.read_progress(), RunFolder(grid_run.folder).read_progress()
    for rows in (ours, theirs):
        for row in rows:
            del row["seconds"]
    assert ours == theirs


def test_a_run_that_crashed_before_its_first_checkpoint_starts_over(tmp_path, cvt_run):
    def crash(search, budget):
        raise KeyboardInterrupt

    folder = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        start(make(), folder, evaluations=1000, n_niches=30, batch_size=50, initial=200, seed=5, observer=crash)
    assert not (folder / "archive.parquet").exists()
    resume(folder, make())
    assert (folder / "archive.parquet").read_bytes() == (cvt_run.folder / "archive.parquet").read_bytes()


def test_a_run_that_crashed_while_its_niches_were_constructed_can_be_resumed(tmp_path, cvt_run, monkeypatch):
    from tesselite import run

    def crash(*_, **__):
        raise KeyboardInterrupt

    folder = tmp_path / "run"
    monkeypatch.setattr(run, "tessellate", crash)
    with pytest.raises(KeyboardInterrupt):
        start(make(), folder, evaluations=1000, n_niches=30, batch_size=50, initial=200, seed=5)
    assert set(contents(folder)) == {"settings.json"}
    monkeypatch.undo()
    resume(folder, make())
    assert (folder / "archive.parquet").read_bytes() == (cvt_run.folder / "archive.parquet").read_bytes()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_finishes_the_batch_saves_and_says_how_to_resume(tmp_path, grid_run, number, capfd):
    folder = tmp_path / "run"
    handlers = [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)]

    def hit(search, budget):
        if search.evaluations == 450:
            signal.raise_signal(number)  # in this thread: os.kill may choose another, and Python notices later

    with pytest.raises(Interrupted, match=rf"stopped by {number.name}; continue with: tesselite resume .*run") as stop:
        start(make(), folder, evaluations=2000, grid=[6, 7], batch_size=50, initial=200, seed=5, observer=hit)
    assert stop.value.signal_number == number
    assert "once more to stop at once" in capfd.readouterr().err
    assert [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)] == handlers
    _, state = load_checkpoint(folder / "archive.parquet")
    assert state is not None
    assert state["evaluations"] == 500
    resume(folder, make())
    assert (folder / "archive.parquet").read_bytes() == (grid_run.folder / "archive.parquet").read_bytes()


def test_a_second_interrupt_stops_at_once(tmp_path):
    def hit(search, budget):
        # In this thread, one after the other: by os.kill both could be pending at once, and SIGINT be handled first.
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        start(make(), tmp_path / "run", evaluations=2000, grid=[6, 7], batch_size=50, seed=5, observer=hit)


def test_a_run_with_a_variation_of_the_users_own_is_resumed_with_it(tmp_path):
    def shake(parents, space, rng):
        return np.clip(parents + rng.normal(0, 0.1, parents.shape), space.low, space.high)

    options = {"grid": [6, 7], "batch_size": 50, "initial": 100, "seed": 3, "variation": shake}
    whole = start(make(), tmp_path / "whole", evaluations=600, **options)
    part = start(make(), tmp_path / "part", evaluations=300, **options)
    resume(part.folder, make(), evaluations=600, variation=shake)
    assert (part.folder / "archive.parquet").read_bytes() == (whole.folder / "archive.parquet").read_bytes()


# -- from Python -----------------------------------------------------------------------------------------------------


def test_illuminate_in_a_folder_gives_the_same_archive_as_without(tmp_path):
    seen = []
    options = {"evaluations": 600, "grid": [6, 7], "batch_size": 50, "initial": 100, "seed": 3}
    kept = tl.illuminate(make(), **options, out=tmp_path / "run", progress=lambda search: seen.append(search))
    free = tl.illuminate(make(), **options)
    for one in (kept, load_archive(tmp_path / "run" / "archive.parquet")):
        ours, theirs = one.elites(), free.elites()
        assert np.array_equal(ours.solutions, theirs.solutions)
        assert np.array_equal(ours.fitness, theirs.fitness)
        assert one.invalid == free.invalid
    assert len(seen) == 12
    assert tl.resume(tmp_path / "run", make()).search.evaluations == 600


def test_a_run_of_an_importable_problem_can_be_resumed_by_its_name(tmp_path, monkeypatch):
    (tmp_path / "importable_problem.py").write_text(
        "import tesselite as tl\n\n"
        "@tl.problem(solutions=tl.Box(2, 0, 1), features={'a': (0, 1)})\n"
        "def walk(x):\n    return x[1], x[:1]\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    from importable_problem import walk

    tl.illuminate(walk, evaluations=100, grid=5, seed=1, out=tmp_path / "run")
    assert RunFolder.open(tmp_path / "run").read_settings()[0].problem == "importable_problem:walk"
    assert resume(tmp_path / "run", evaluations=200).search.evaluations == 200


ASK_TELL = """
import sys
import numpy as np
import tesselite as tl

def simulate(solutions):
    return -(solutions**2).sum(axis=1), solutions[:, :2] * 1.3

def more(search, n_batches):
    for _ in range(n_batches):
        fitness, features = simulate(search.ask(40))
        search.tell(fitness, features)

def new(seed=4, variation=None):
    niches = tl.GridTessellation(tl.FeatureSpace({"u": (-1, 1), "v": (-1, 1)}), [9, 8])
    return tl.MapElites(tl.Box(5, -1, 1), niches, variation, initial=100, seed=seed)
"""


def test_a_saved_ask_tell_search_continues_bit_for_bit_in_a_new_process(tmp_path):
    names: dict = {}
    exec(ASK_TELL, names)
    search = names["new"]()
    names["more"](search, 7)
    search.ask(40)  # asked and never told: not part of the saved state
    search.save(tmp_path / "search.parquet")
    code = f"{ASK_TELL}\ns = new(); s.restore(sys.argv[1]); more(s, 9); s.save(sys.argv[2])"
    subprocess.run(
        [sys.executable, "-c", code, tmp_path / "search.parquet", tmp_path / "later.parquet"],
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    whole = names["new"]()
    names["more"](whole, 16)
    whole.save(tmp_path / "whole.parquet")
    assert (tmp_path / "later.parquet").read_bytes() == (tmp_path / "whole.parquet").read_bytes()
    assert len(tl.Archive.load(tmp_path / "later.parquet")) == len(whole.archive)


def test_restore_refuses_another_search(tmp_path):
    names: dict = {}
    exec(ASK_TELL, names)
    search = names["new"]()
    names["more"](search, 3)
    search.save(tmp_path / "s.parquet")
    with pytest.raises(ValueError, match=r"s\.parquet: saved by a search with seed 4, this has 5"):
        names["new"](5).restore(tmp_path / "s.parquet")
    with pytest.raises(ValueError, match=r"saved by a search with variation iso_line:0\.01,0\.2, this has gaussian"):
        names["new"](4, tl.variation.gaussian(0.1)).restore(tmp_path / "s.parquet")
    with pytest.raises(FileNotFoundError, match="there is no such file"):
        names["new"]().restore(tmp_path / "missing.parquet")
    search.archive.save(tmp_path / "a.parquet")
    with pytest.raises(ValueError, match="not the checkpoint of a search"):
        names["new"]().restore(tmp_path / "a.parquet")
