"""Resuming and extending a run within one process, and the same from Python; killed processes are in `test_resume`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

import tesselite as tl
from hill_runs import contents, make, refused
from tesselite.archive.file import load_archive, load_checkpoint
from tesselite.runs.carry_on import Interrupted
from tesselite.runs.folder import RunFolder
from tesselite.runs.run import resume, run

# -- resuming --------------------------------------------------------------------------------------------------------


def test_resuming_a_finished_run_changes_nothing(grid_folder, grid_run):
    before = contents(grid_folder)
    summary = resume(grid_folder, make())
    assert contents(grid_folder) == before
    ours, theirs = summary.to_dict(), grid_run.to_dict()
    assert (ours.pop("was_finished"), theirs.pop("was_finished")) == (True, False)
    for name in set(ours) - {"seconds", "out"}:
        assert ours[name] == theirs[name], name


def test_extending_the_budget_continues_the_search(grid_folder, tmp_path):
    refused(grid_folder, "expected at least the 2000", evaluations=1999)
    old = (grid_folder / "progress.csv").read_text()
    summary = resume(grid_folder, make(), evaluations=3000)
    assert RunFolder.open(grid_folder).read().plan.evaluations == 3000
    longer = run(make(), out=tmp_path / "b", evaluations=3000, grid=[6, 7], batch_size=50, initial=200, seed=5)
    assert (grid_folder / "archive.parquet").read_bytes() == (longer.folder / "archive.parquet").read_bytes()
    assert (grid_folder / "progress.csv").read_text().startswith(old)
    rows = RunFolder.open(grid_folder).read_progress()
    assert rows[-1]["evaluations"] == 3000
    assert summary.seconds_search == rows[-1]["seconds"] > rows[-2]["seconds"]


class Crash(Exception):
    """Raised by a test during a run."""


@pytest.mark.parametrize("stop_at", [50, 150, 200, 250, 1000, 1950])
def test_progress_beyond_the_checkpoint_is_cut_and_written_again(tmp_path, grid_run, stop_at):
    folder = tmp_path / "run"

    def crash(search):
        if search.evaluations == stop_at:
            place.write_checkpoint(search.search)
        if search.evaluations == min(stop_at + 150, 2000):
            raise Crash

    place = RunFolder(folder)
    with pytest.raises(Crash):
        run(make(), out=folder, evaluations=2000, grid=[6, 7], batch_size=50, initial=200, seed=5, progress=crash)
    with (folder / "progress.csv").open("a") as file:
        file.write("2050,0.1")  # a truncated row
    resume(folder, make())
    assert (folder / "archive.parquet").read_bytes() == (grid_run.folder / "archive.parquet").read_bytes()
    ours, theirs = place.read_progress(), RunFolder(grid_run.folder).read_progress()
    for rows in (ours, theirs):
        for row in rows:
            del row["seconds"]
    assert ours == theirs


def test_a_run_that_crashed_before_its_first_checkpoint_starts_over(tmp_path, cvt_run):
    def crash(search):
        raise KeyboardInterrupt

    folder = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        run(make(), out=folder, evaluations=1000, n_niches=30, batch_size=50, initial=200, seed=5, progress=crash)
    assert not (folder / "archive.parquet").exists()
    resume(folder, make())
    assert (folder / "archive.parquet").read_bytes() == (cvt_run.folder / "archive.parquet").read_bytes()


def test_a_run_that_crashed_while_its_niches_were_constructed_can_be_resumed(tmp_path, cvt_run, monkeypatch):
    def crash(*_, **__):
        raise KeyboardInterrupt

    folder = tmp_path / "run"
    monkeypatch.setattr("tesselite.tessellation.niches.Cvt.tessellate", crash)
    with pytest.raises(KeyboardInterrupt):
        run(make(), out=folder, evaluations=1000, n_niches=30, batch_size=50, initial=200, seed=5)
    assert set(contents(folder)) == {"settings.json"}
    monkeypatch.undo()
    resume(folder, make())
    assert (folder / "archive.parquet").read_bytes() == (cvt_run.folder / "archive.parquet").read_bytes()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_finishes_the_batch_saves_and_says_how_to_resume(tmp_path, grid_run, number, capfd):
    folder = tmp_path / "run"
    handlers = [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)]

    def hit(search):
        if search.evaluations == 450:
            signal.raise_signal(number)  # in this thread: os.kill may choose another, and Python notices later

    advice = r"continue with: tesselite\.resume\(.*run', problem\)"
    with pytest.raises(Interrupted, match=rf"stopped by {number.name}; {advice}") as stop:
        run(make(), out=folder, evaluations=2000, grid=[6, 7], batch_size=50, initial=200, seed=5, progress=hit)
    assert stop.value.signal_number == number
    assert "press Ctrl-C again to stop immediately" in capfd.readouterr().err
    assert [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)] == handlers
    _, state = load_checkpoint(folder / "archive.parquet")
    assert state is not None
    assert state["evaluations"] == 500
    resume(folder, make())
    assert (folder / "archive.parquet").read_bytes() == (grid_run.folder / "archive.parquet").read_bytes()


def test_a_second_interrupt_stops_at_once(tmp_path):
    def hit(search):
        # In this thread, one after the other: by os.kill both could be pending at once, and SIGINT be handled first.
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        run(make(), out=tmp_path / "run", evaluations=2000, grid=[6, 7], batch_size=50, seed=5, progress=hit)


def test_a_run_with_a_variation_of_the_users_own_is_resumed_with_it(tmp_path):
    def shake(parents, space, rng):
        return np.clip(parents + rng.normal(0, 0.1, parents.shape), space.low, space.high)

    options = {"grid": [6, 7], "batch_size": 50, "initial": 100, "seed": 3, "variation": shake}
    whole = run(make(), out=tmp_path / "whole", evaluations=600, **options)
    part = run(make(), out=tmp_path / "part", evaluations=300, **options)
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
    assert RunFolder.open(tmp_path / "run").read().plan.problem == "importable_problem:walk"
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


KILLED = """
import sys, time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from tesselite.runs.folder import RunFolder

with RunFolder.open(Path(sys.argv[1])), ProcessPoolExecutor(2, get_context("fork")) as pool:
    pool.submit(time.sleep, 0).result()
    print(*pool._processes, flush=True)
    time.sleep(600)
"""


def test_a_lock_does_not_outlive_its_run_in_the_workers_that_it_has_forked(grid_folder):
    with subprocess.Popen([sys.executable, "-c", KILLED, str(grid_folder)], stdout=subprocess.PIPE, text=True) as run:
        workers = [int(pid) for pid in run.stdout.readline().split()]
        with pytest.raises(ValueError, match="another process is running here"), RunFolder.open(grid_folder):
            pass
        run.kill()
        run.wait()
    try:
        with RunFolder.open(grid_folder):
            pass
    finally:
        for pid in workers:
            os.kill(pid, signal.SIGKILL)
