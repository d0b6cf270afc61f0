"""The run folder: its content, atomic writes, and which folders are refused."""

from __future__ import annotations

import errno
import json
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import tesselite as tl
from hill_runs import FEATURES, contents, make, refused
from tesselite.archive.file import load_archive, load_checkpoint
from tesselite.base.atomic import write_atomically
from tesselite.runs.folder import PROGRESS, RUN_FILES, RunFolder, progress_of
from tesselite.runs.run import resume, run

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
    assert about["emitter"] == "iso_line:0.01,0.2"
    assert about["niches"] == {"kind": "cvt", "n_niches": 30, "n_samples": None, "p": 2.0, "method": None}
    assert about["execution"] == {"kind": "in process"}
    assert about["version"] == tl.__version__
    assert set(about["versions"]) == {"python", "numpy", "numba", "scipy", "pyarrow"}
    assert about["versions"]["numpy"] == np.__version__


def test_progress_has_the_promised_columns_in_full_precision(grid_run):
    lines = (grid_run.folder / "progress.csv").read_text().splitlines()
    assert lines[0] == ",".join((*PROGRESS, "check"))
    assert PROGRESS[:3] == ("evaluations", "seconds", "filled")
    rows = [dict(zip((*PROGRESS, "check"), line.split(","), strict=True)) for line in lines[1:]]
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


def test_a_folder_named_like_an_address_of_the_network_is_a_folder(tmp_path, monkeypatch):
    """Arrow takes relative names with a colon for addresses."""
    monkeypatch.chdir(tmp_path)
    whole = run(make(), out="local:2", grid=4, evaluations=300, initial=100, seed=5)
    assert resume("local:2", make(), evaluations=400).evaluations == 400
    assert load_archive(Path("local:2/archive.parquet")).best_fitness >= whole.archive.best_fitness


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
        run(make(), out=folder, evaluations=2000, grid=[6, 7], batch_size=50, initial=200, seed=5, checkpoint_seconds=0)
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
            run(make(), out=disk / "run", evaluations=10**9, grid=100, batch_size=50, seed=5, checkpoint_seconds=0)
        archive, state = load_checkpoint(disk / "run" / "archive.parquet")
        assert state is not None
        assert 0 < len(archive) < state["evaluations"]
        RunFolder.open(disk / "run").read_progress()
        RunFolder.open(disk / "run").read()
    finally:
        subprocess.run(["umount", "--lazy", disk], check=True)


# -- folders that are refused ----------------------------------------------------------------------------------------


def test_a_folder_in_use_is_refused_by_run_and_resume(grid_folder):
    with RunFolder.open(grid_folder):
        refused(grid_folder, "another process is running here")
    refused(grid_folder, "at least the 2000", evaluations=1000)  # free again

    free = grid_folder.parent / "free"
    with RunFolder.create(free), pytest.raises(ValueError, match="another process is running here"):
        run(make(), out=free, evaluations=100, grid=3)


def test_another_process_cannot_run_in_a_folder_in_use(grid_folder):
    code = "import sys, tesselite.runs.folder as r, pathlib; r.RunFolder.open(pathlib.Path(sys.argv[1])).__enter__()"
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

        monkeypatch.setattr("tesselite.runs.folder.time.sleep", sleep)
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
    with pytest.raises(ValueError, match="already contains a run"), place:
        pass
    assert contents(place.path) == before
    with RunFolder.open(place.path):
        pass  # the lock is free again


def test_a_new_run_refuses_folders_that_hold_something(tmp_path, grid_folder):
    before = contents(grid_folder)
    with pytest.raises(ValueError, match="already contains a run; continue it with `tesselite resume"):
        run(make(), out=grid_folder, evaluations=100, grid=3)
    assert contents(grid_folder) == before
    foreign = tmp_path / "thesis"
    foreign.mkdir()
    (foreign / "chapter.txt").write_text("precious")
    with pytest.raises(ValueError, match="not empty, and not a run"):
        run(make(), out=foreign, evaluations=100, grid=3)
    with pytest.raises(ValueError, match="expected a folder for the run, found a file"):
        run(make(), out=foreign / "chapter.txt", evaluations=100, grid=3)
    assert [f.name for f in foreign.iterdir()] == ["chapter.txt"]
    with pytest.raises(ValueError, match="not a run"):
        resume(foreign)
    with pytest.raises(ValueError, match="not a run"):
        resume(tmp_path / "missing")


def test_what_a_run_killed_at_its_start_left_does_not_block_the_next(tmp_path, cvt_folder):
    folder = tmp_path / "again"
    folder.mkdir()
    (folder / ".lock").touch()
    (folder / ".settings.json.abcd_123.tesselite-part.json").write_text("{")
    (folder / ".centroids.parquet.abcd_123.tesselite-part.parquet").write_text("PAR1")
    shutil.copy(cvt_folder / "centroids.parquet", folder)
    run(make(), out=folder, evaluations=100, grid=3)
    (folder / ".archive.parquet.abcd_123.tesselite-part.parquet").write_text("PAR1")
    theirs = {
        ".settings.json.swp",
        ".archive.parquet.bak",
        ".progress.csv.abcd_123.part.csv",
        ".archive.parquet.old.parquet",
    }
    for name in theirs:
        (folder / name).write_text("of somebody else")
    resume(folder, make())
    assert {f.name for f in folder.iterdir()} - {".lock", *RUN_FILES} == theirs


def test_parts_that_a_killed_process_left_are_removed_and_those_in_use_stay(tmp_path):
    """Figures, too: a plot that was killed leaves a part that nothing else would remove."""
    file = tmp_path / "archive.png"
    left = tmp_path / ".archive.png.abcd_123.tesselite-part.png"
    others = [tmp_path / ".progress.png.abcd_123.tesselite-part.png", tmp_path / ".archive.png.swp"]
    for path in (left, *others):
        path.touch()
    seen = []

    def write(part):
        part.write_text("outer")
        seen.extend(sorted(tmp_path.iterdir()))
        write_atomically(file, lambda inner: inner.write_text("inner"))  # as another process could
        assert part.exists()

    write_atomically(file, write)
    assert left not in seen
    assert len(seen) == 3
    assert file.read_text() == "outer"
    assert sorted(tmp_path.iterdir()) == sorted([file, *others])


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
        run(make(), out=tmp_path / "run", **{"evaluations": 100, "grid": 3, **options})
    assert not (tmp_path / "run").exists() or not contents(tmp_path / "run")


def test_a_run_in_which_nothing_is_valid_shows_the_error_and_can_be_started_again(tmp_path):
    @tl.problem(solutions=tl.Box(3, 0, 1), features=FEATURES)
    def broken(x):
        raise KeyError("left leg")

    with pytest.raises(tl.NothingValid, match=r"(?s)none of the first 20 .*in broken.*KeyError: 'left leg'"):
        run(broken, out=tmp_path / "run", evaluations=100, grid=3, batch_size=20, checkpoint_seconds=0)
    run(make(), out=tmp_path / "run", evaluations=100, grid=3)


def test_a_variation_of_ones_own_is_called_as_often_as_without_a_folder(tmp_path):
    calls = []

    def keep(parents, space, rng):
        calls.append(len(parents))
        return parents

    settings = {"grid": 3, "evaluations": 90, "initial": 30, "batch_size": 30, "seed": 1, "variation": keep}
    tl.illuminate(tl.problems.sphere(2), out=tmp_path / "run", **settings)
    assert calls == [30, 30]
