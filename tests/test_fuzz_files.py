"""Every file that we write, changed at random: it is refused by name, or read unchanged; never misread."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hill_runs import make
from tesselite.archive import history
from tesselite.archive.file import load_checkpoint
from tesselite.assessment.scenarios import Assessment, assess_run
from tesselite.assessment.trial import Trial, summarise_run
from tesselite.execution.batches import Batches
from tesselite.execution.events import BUDGET, EVENTS_FILE, EXECUTION, Events
from tesselite.execution.log import EvaluationLog
from tesselite.execution.workers.farm import Result
from tesselite.runs.folder import RUN_FILES, RunFolder
from tesselite.runs.known_designs import START_FILE, Start
from tesselite.runs.run import run
from tesselite.tessellation.files import load_tessellation

START = Start.of(np.linspace(-1.0, 1.0, 30).reshape(10, 3), make().solutions)


@pytest.fixture(scope="module")
def folder(cvt_run, tmp_path_factory):
    """A run with all kinds of files."""
    path = Path(shutil.copytree(cvt_run.folder, tmp_path_factory.mktemp("fuzz") / "run"))
    assessment = assess_run(path, make())
    summarise_run(path, assessment, [0.0, 5.0], group="a").save(path / "trial.json")
    log = EvaluationLog(path, 2)
    rng = np.random.default_rng(1)
    for i in range(40):
        reason = "" if i % 3 else f"reason {i % 4}"
        log.append(Result(i, rng.random(), rng.random(2), reason), np.ones(3))
    log.close()
    events = RunFolder.open(path).read().events
    events.record(BUDGET, 1000, value=1200)
    events.record(EXECUTION, 1100, execution=Batches(2).to_dict())
    events.record(BUDGET, 1200, value=1300)
    START.save(path)
    load_checkpoint(path / "archive.parquet")[0].save(path / "embedded.parquet")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(history, "_PART_ROWS", 128)
        run(make(), out=path / "kept", history=True, evaluations=200, initial=50, batch_size=50, grid=[3, 3], seed=1)
    return path


def told(*arrays):
    return [(array.dtype.str, array.shape, np.ascontiguousarray(array).tobytes()) for array in arrays]


def of_archive(path):
    archive, search = load_checkpoint(path)
    elites = archive.in_order_of_filling()
    arrays = told(elites.niches, elites.fitness, elites.features, elites.solutions, elites.evaluations)
    counts = (archive.invalid, archive.out_of_bounds, archive.direction, archive.floor)
    return arrays, archive.tessellation.fingerprint(), json.dumps(search), counts


def of_tessellation(path):
    found = load_tessellation(path)
    return found.fingerprint(), found.record


def of_assessment(path):
    found = Assessment.load(path)
    return told(*found.columns().values()), repr(replace(found, niches=None, fitness=dict.fromkeys(found.fitness)))


def of_log(path):
    read = [(logged.result, logged.solution) for logged in EvaluationLog(path.parent, 2).read()]
    return [(r.number, r.reason, told(np.float64(r.fitness), r.features), solution) for r, solution in read]


READERS = {
    EVENTS_FILE: lambda path: Events(path)._events,
    START_FILE: lambda path: told(START.load(path.parent, make().solutions)),
    "settings.json": lambda path: repr(RunFolder.open(path.parent).read().planned),
    "progress.csv": lambda path: RunFolder.open(path.parent).read_progress(),
    "archive.parquet": of_archive,
    "embedded.parquet": of_archive,
    "centroids.parquet": of_tessellation,
    "assessment.parquet": of_assessment,
    "trial.json": lambda path: repr(Trial.load(path)),
    "evaluations.log": of_log,
    "evaluations.reasons": of_log,
    "kept/history/part-000000.parquet": lambda path: repr(history.load_history(path.parents[1]).to_pydict()),
    "kept/history/part-000001.parquet": lambda path: repr(history.load_history(path.parents[1]).to_pydict()),
}
# Files that grow: a crash leaves a truncated end, and everything before it counts.
GROWING = ("progress.csv", "evaluations.log", EVENTS_FILE)
UNREAD = ("failures.jsonl",)  # for people alone


def mutated(data: bytes, rng: np.random.Generator) -> bytes:
    """The bytes with one to three changes: bits, bytes, and blocks that are lost, doubled, moved, zeroed or foreign."""
    out = bytearray(data)
    for _ in range(rng.integers(1, 4)):
        at = int(rng.integers(len(out) + 1))
        end = min(len(out), at + int(rng.integers(1, 64)))
        kind = rng.integers(8)
        if kind == 0 and at < len(out):
            out[at] ^= 1 << int(rng.integers(8))
        elif kind == 1 and at < len(out):
            out[at] = int(rng.integers(256))
        elif kind == 2:
            del out[at:end]
        elif kind == 3:
            out[at:at] = out[at:end]
        elif kind == 4:
            out[at:at] = rng.bytes(end - at)
        elif kind == 5:
            out[at:end] = bytes(end - at)
        elif kind == 6:
            block = out[at:end]
            del out[at:end]
            to = int(rng.integers(len(out) + 1))
            out[to:to] = block
        else:
            del out[at:]
    return bytes(out)


def test_every_file_of_a_run_is_here():
    assert {*READERS} | {*UNREAD} >= {*RUN_FILES} - {".lock"}


@pytest.mark.parametrize("n", [100, pytest.param(4000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", READERS)
def test_a_file_that_was_changed_is_refused_or_says_the_same(folder, name, n):
    path: Path = folder / name
    original, read = path.read_bytes(), READERS[name]
    right = read(path)
    rng = np.random.default_rng(len(original) + n)
    refused = 0
    try:
        for i in range(n):
            path.write_bytes(mutated(original, rng))
            try:
                found = read(path)
            except (ValueError, OSError) as error:
                assert "evaluations." in str(error) or str(path) in str(error), (i, error)  # noqa: PT017
                refused += 1
                continue
            same = found == right or (name in GROWING and found == right[: len(found)])
            same = same or (name == "evaluations.reasons" and found == right[: len(found)])
            assert same, f"mutation {i} of {name} reads as something else"
    finally:
        path.write_bytes(original)
    assert refused > n / 4 or name in GROWING
