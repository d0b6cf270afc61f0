"""Files of a run that are damaged, foreign or changed: each is refused, and nothing is overwritten."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tesselite as tl
import worker_problems
from hill_runs import contents, edit_settings, make, refused
from tesselite.archive.file import load_archive
from tesselite.base.checksum import sealed
from tesselite.runs.folder import RunFolder
from tesselite.runs.run import resume, run


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "3", '{"format": 1}', '{"format": 1, "version": "0.1.0", "seed": 1}', "\0" * 100],
)
def test_damaged_settings_are_refused(grid_folder, text):
    (grid_folder / "settings.json").write_text(text)
    refused(grid_folder, r"settings\.json: damaged, or not settings of a tesselite run")


def test_settings_of_wrong_kinds_are_refused(grid_folder):
    original = (grid_folder / "settings.json").read_text()
    for change in (
        *({"evaluations": "many"}, {"seed": None}, {"batch_size": True}, {"niches": {}}, {"niches": 3}),
        *(
            {"execution": wrong}
            for wrong in ([], {}, {"kind": "batches"}, {"kind": "batches", "workers": 0}, {"kind": []})
        ),
        {"execution": {"kind": "batches", "workers": 2, "retries": "two", "timeout": None}},
        {"execution": {"kind": "batches", "workers": 2, "retries": 2, "timeout": -1.0}},
    ):
        (grid_folder / "settings.json").write_text(original)
        edit_settings(grid_folder, **change)
        refused(grid_folder, r"settings\.json: damaged")
    (grid_folder / "settings.json").write_bytes(b"\xff\xfe\x00")
    refused(grid_folder, r"settings\.json: damaged")


def test_another_format_is_refused_and_another_version_only_on_request(grid_folder, grid_run):
    edit_settings(grid_folder, format=99, version="9.0")
    refused(grid_folder, r"written in format 99 by tesselite 9\.0; this is .* reads formats 1 to 2")
    edit_settings(grid_folder, format=2)
    refused(grid_folder, r"started by tesselite 9\.0, this is .*--other-version")
    summary = resume(grid_folder, make(), other_version=True, evaluations=2500)
    assert summary.search.evaluations == 2500
    assert RunFolder.open(grid_folder).read().version == tl.__version__


def test_settings_that_are_not_as_they_were_written_are_refused(grid_folder):
    """A flipped bit gives another batch size, which would lead to another result."""
    file = grid_folder / "settings.json"
    text = file.read_text()
    file.write_text(text.replace('"batch_size": 50', '"batch_size": 51'))
    refused(grid_folder, r"settings\.json: damaged or edited")
    file.write_text(text.replace('"digest"', '"digesu"'))
    refused(grid_folder, r"settings\.json: damaged or edited")
    file.write_text(text.replace('"format": 2', '"format": 1'))
    refused(grid_folder, r"settings\.json: damaged or edited")
    file.write_text("  " + text)  # says the same
    assert resume(grid_folder, make()).search.evaluations == 2000


def old_run(name: str, tmp_path: Path) -> Path:
    """A run of the first format, as version 0.1.0 left it in November 2026; all but the grid's were stopped."""
    return Path(shutil.copytree(Path(__file__).parent / "data" / "format-1" / name, tmp_path / name))


@pytest.mark.parametrize("name", ["grid", "cvt", "given", "asynchronous", "islands"])
def test_runs_of_the_first_format_are_read_and_go_on(name, tmp_path):
    folder = old_run(name, tmp_path)
    before = contents(folder)
    stored = RunFolder.open(folder).read()
    assert (stored.plan.evaluations, stored.plan.seed) == (120, 3)
    kinds = {"asynchronous": "asynchronous", "islands": "islands"}
    assert stored.plan.execution.kind == kinds.get(name, "in process")
    assert stored.plan.niches.to_dict()["kind"] == {"cvt": "cvt", "given": "given"}.get(name, "grid")
    assert contents(folder) == before
    ended = resume(folder, getattr(worker_problems, stored.plan.problem.partition(":")[2]), evaluations=160)
    assert (ended.evaluations, ended.archive.tessellation.fingerprint()) == (160, stored.niches_fingerprint)
    again = RunFolder.open(folder).read()
    assert again.planned == stored.planned
    assert again.plan.evaluations == 160
    assert json.loads((folder / "settings.json").read_text())["format"] == 2


def test_a_plan_that_calls_its_emitter_variation_is_read_and_goes_on(grid_folder):
    """As the second format did at first."""
    file = grid_folder / "settings.json"
    planned = RunFolder.open(grid_folder).read().planned
    about = json.loads(file.read_text())
    about["variation"] = about.pop("emitter")
    del about["digest"]
    file.write_text(json.dumps(sealed(about)))
    assert RunFolder.open(grid_folder).read().planned == planned
    assert resume(grid_folder, make()).search.evaluations == 2000


def test_windows_and_budgets_of_the_first_format_are_checked(tmp_path):
    folder = old_run("asynchronous", tmp_path)
    file = folder / "settings.json"
    about = json.loads(file.read_text())
    for name, wrong in (
        *(("windows", wrong) for wrong in ([], [[0]], [[0, "4"]], [[5, 4]], [[0, 4], 3], None)),
        *(("budgets", wrong) for wrong in ({}, [[0, 0]], [[0, 9], [-1, 9]])),
    ):
        file.write_text(json.dumps({**about, "options": {**about["options"], name: wrong}}))
        refused(folder, r"settings\.json: damaged", problem=worker_problems.good)


def test_damaged_events_are_refused_and_one_that_was_cut_off_has_not_happened(grid_folder):
    file = grid_folder / "events.jsonl"
    resume(grid_folder, make(), evaluations=2100)
    text = file.read_text()
    assert [json.loads(line)["event"] for line in text.splitlines()] == ["niches", "budget"]
    for wrong in (
        text.replace("2100", "2101"),
        text.replace('"at": 2000', '"at": 1999'),
        "3\n",
        '{"event": "budget"}\n',
    ):
        file.write_text(wrong)
        refused(grid_folder, r"events\.jsonl: damaged in line")
    file.write_text(text.splitlines(keepends=True)[1])
    refused(grid_folder, r"events\.jsonl: damaged in line 1 .*a line before it is missing")
    file.write_text(text + text.splitlines()[1][:40])
    assert resume(grid_folder, make(), evaluations=2200).evaluations == 2200
    assert [json.loads(line)["event"] for line in file.read_text().splitlines()] == ["niches", "budget", "budget"]


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
    refused(grid_folder, r"archive\.parquet: a Parquet file, but not one of tesselite")
    table = pq.read_table(pa.BufferReader(original))
    about = json.loads(table.schema.metadata[b"tesselite"])
    pq.write_table(table.replace_schema_metadata({b"tesselite": json.dumps(about | {"format": 7})}), file)
    refused(grid_folder, r"archive\.parquet: written in format 7 by tesselite")
    pq.write_table(table.replace_schema_metadata({b"tesselite": json.dumps(about | {"out_of_bounds": 7})}), file)
    refused(grid_folder, r"archive\.parquet: damaged")
    pq.write_table(table.slice(1), file)
    refused(grid_folder, r"archive\.parquet: damaged")
    tl.Archive.load(cvt_folder / "archive.parquet").save(file)
    refused(grid_folder, r"archive\.parquet: this archive was made on a different tessellation")
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
        # Some bytes (such as statistics) do not affect the content.
        for name in ("niches", "fitness", "features", "solutions", "evaluations"):
            assert np.array_equal(getattr(loaded.in_order_of_filling(), name), getattr(right, name)), position
    assert noticed > 150


def test_the_archive_of_another_run_is_refused(grid_folder, tmp_path):
    other = run(make(), out=tmp_path / "b", evaluations=500, grid=[6, 7], batch_size=50, initial=200, seed=6)
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
        (lambda text: text.replace("\n100,", "\n101,"), r"progress\.csv: damaged in line 3 \('101"),
        (lambda text: "".join(text.splitlines(keepends=True)[:1] + text.splitlines(keepends=True)[2:]), "in line 2"),
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


def test_progress_of_the_format_without_checksums_is_read(grid_folder):
    file, place = grid_folder / "progress.csv", RunFolder.open(grid_folder)
    rows, text = place.read_progress(), file.read_text()
    file.write_text("".join(line.rpartition(",")[0] + "\n" for line in text.splitlines()))
    assert place.read_progress() == rows
    resume(grid_folder, make())
    assert file.read_text() == text


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
    match = "the solutions, features, direction, floor or settings of hill are not those that the run was started with"
    refused(grid_folder, match, problem=make(low=-1.5))
    refused(grid_folder, match, problem=make(width=4))
    refused(grid_folder, match, problem=make(direction="min"))
    refused(grid_folder, match, problem=make(floor=-1.0))
    refused(grid_folder, match, problem=make(features={"a": (0.0, 1.0), "b": (-1.0, 2.5)}))
    refused(grid_folder, match, problem=make(features={"a": (0.0, 1.0), "c": (-1.0, 2.0)}))
    refused(grid_folder, "started from Python on 'hill'; the problem cannot be imported by name", problem=None)
