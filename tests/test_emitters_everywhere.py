"""Emitters that learn in every kind of run: processes, clusters, kills, records, scenarios and all kinds of niches."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import tesselite as tl
import worker_problems as problems
from tesselite.assessment.scenarios import assess_run
from tesselite.cli import main
from tesselite.emitters.names import by_name
from tesselite.runs.run import resume, run

HERE = Path(__file__).parent
SETTINGS = {"evaluations": 700, "grid": [8, 8], "initial": 100, "seed": 3}
EMITTERS = {
    "cma_me": "cma_me:random_direction,emitters=3,batch=12",
    "cma_mae": "cma_mae:emitters=3,batch=12",
    "mixture": "mixture:0.75@cma_mae:alpha=0.1,emitters=3,batch=12+0.25@gaussian:0.1",
    "bandit": "bandit:cma_me:improvement,emitters=2,batch=10+cma_mae:emitters=2,batch=10+curiosity:gaussian:0.1",
}
each_emitter = pytest.mark.parametrize("text", EMITTERS.values(), ids=EMITTERS)


def archive_bytes(folder):
    return (folder / "archive.parquet").read_bytes()


# -- on workers --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@each_emitter
def test_processes_executors_and_clusters_give_the_same_bytes(tmp_path, text):
    """Rows that raise, that are not numbers and that have the wrong shape are among them."""
    run(problems.faulty, emitter=by_name(text), out=tmp_path / "here", **SETTINGS)
    ways = {"processes": 2, "executor": lambda: ProcessPoolExecutor(2), "dask": "local:2"}
    for name, workers in ways.items():
        run(problems.faulty, emitter=by_name(text), out=tmp_path / name, workers=workers, **SETTINGS)
        assert archive_bytes(tmp_path / name) == archive_bytes(tmp_path / "here"), name


@pytest.mark.slow
@each_emitter
@pytest.mark.parametrize("where", [(), ("--workers", "2"), ("--dask", "local:2")], ids=["here", "processes", "dask"])
def test_a_run_that_was_killed_ends_with_the_same_bytes(tmp_path, text, where):
    settings = ("--grid", "8", "--evaluations", "700", "--initial", "100", "--seed", "3", "--emitter", text, "-q")
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    run(problems.slow, emitter=by_name(text), out=whole, **SETTINGS)
    command = [sys.executable, "-m", "tesselite", "run", "worker_problems:slow", "-o", str(killed), *settings, *where]
    process = subprocess.Popen([*command, "--checkpoint", "0.1"], cwd=HERE, start_new_session=True)
    progress, until = killed / "progress.csv", time.monotonic() + 120
    while time.monotonic() < until and not (progress.exists() and len(progress.read_text().splitlines()) > 3):
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    with suppress(FileNotFoundError):
        assert archive_bytes(killed) != archive_bytes(whole)
    on = {"workers": "local:2" if "--dask" in where else 2} if where else {}
    done = resume(killed, problems.slow, **on)
    assert done.evaluations == 700
    assert archive_bytes(killed) == archive_bytes(whole)


@each_emitter
def test_without_batches_emitters_that_learn_are_refused_with_a_reason(tmp_path, text, monkeypatch, capsys):
    for options, reason in (
        (("--workers", "2", "--asynchronous"), "does not work with asynchronous, which asks for more before"),
        (("--islands", "2"), "does not work with islands, where each island would learn on its own; use batches"),
    ):
        out = tmp_path / "run"
        words = ["run", "sphere", "-o", str(out), "--grid", "5", "--emitter", text, *options]
        monkeypatch.setattr("sys.argv", ["tesselite", *words])
        with pytest.raises(SystemExit, match="2"):
            main()
        said = capsys.readouterr().err
        assert reason in said
        assert said.startswith(f"Error: emitter: {text.partition(':')[0]}:")
        assert len(said.splitlines()) == 1
        assert not out.exists()


# -- problems and niches -----------------------------------------------------------------------------------------------


def gear_records(x):
    return {"mass": 7.0 * x[0], "label": f"{x[1]:.3f}"}


@tl.problem(
    solutions=tl.Box(4),
    features={"a": (0.0, 1.0), "b": (0.0, 1.0)},
    direction="min",
    scenarios=["wind"],
    records={"mass": float, "label": str},
    name="gear",
)
def gear(x, scenario):
    """Minimised, with records and a scenario, features out of bounds, and solutions that are invalid."""
    if x[3] > 0.95:
        raise tl.Invalid("broken")
    return float((x * x).sum()) + (scenario == "wind"), (1.2 * x[0], 1.2 * x[1]), gear_records(x)


NICHES = {
    "grid": {"grid": [6, 6]},
    "CVT": {"n_niches": 30},
    "sparse": {"grid": [2_000_000, 2_000_000]},
    "adaptive": {"tessellation": tl.adaptive(30, every=200)},
    "clusters": {"tessellation": tl.cluster_elites(30, first=10)},
    "population": {"tessellation": tl.dns(40)},
}


@each_emitter
@pytest.mark.parametrize("niches", NICHES)
def test_records_and_scenarios_on_all_kinds_of_niches(tmp_path, text, niches):
    settings = {"evaluations": 600, "initial": 100, "seed": 3} | NICHES[niches]
    done = run(gear, emitter=by_name(text), out=tmp_path / "run", **settings)
    elites = done.archive.elites()
    assert len(elites) >= 15
    assert done.archive.invalid
    for elite in elites:
        assert {name: elite.records[name] for name in ("mass", "label")} == gear_records(elite.solution)
        assert elite.fitness == pytest.approx((elite.solution**2).sum(), abs=1e-12)
    early = run(gear, emitter=by_name(text), **settings | {"evaluations": 100}).archive
    assert done.archive.best_fitness < early.best_fitness
    assessed = assess_run(tmp_path / "run", gear)
    np.testing.assert_allclose(assessed.fitness["wind"], assessed.fitness["training"] + 1.0)
