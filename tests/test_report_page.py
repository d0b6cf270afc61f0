"""The interactive page without a browser: its content, its packing, and that nothing can break out of it."""

from __future__ import annotations

import base64
import json
import re
import zlib
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import tesselite as tl
from hill_runs import command_of, edit_settings
from report_runs import EVIL, SCENARIOS, bowl, bowl_run, ends_of, walk, walk_run
from tesselite.archive.archive import Archive
from tesselite.assessment.scenarios import Assessment, assess_run
from tesselite.report.page import write_report
from tesselite.report.page.groups import group_names
from tesselite.report.page.html import document_of, page_of, run_names
from tesselite.report.page.packed_arrays import PackedArrays, document_text, plain, whole_numbers
from tesselite.report.page.places import describe_cells, from_row_above, niche_picture, principal_plane
from tesselite.report.page.run_data import locked, read_run
from tesselite.report.page.views import describe_view, describe_views
from tesselite.runs.folder import RunFolder
from tesselite.runs.run import resume

TESTS = Path(__file__).parent


@pytest.fixture(scope="module")
def walked(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(TESTS)
        yield walk_run(tmp_path_factory.mktemp("runs") / "walk")


class Parts(HTMLParser):
    """Elements of a page, and the text of those with an id."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.texts, self.at = [], {}, None
        self.attributes = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        self.at = dict(attrs).get("id")

    def handle_data(self, data):
        if self.at:
            self.texts[self.at] = self.texts.get(self.at, "") + data


def unpack(described, block):
    """Resolves references to arrays as the page's script does."""
    if isinstance(described, list):
        return [unpack(item, block) for item in described]
    if not isinstance(described, dict):
        return described
    if "$array" in described:
        count = int(np.prod(described["shape"]))
        values = np.frombuffer(block, described["$array"], count, described["at"])
        return values.reshape(described["shape"])
    return {name: unpack(item, block) for name, item in described.items()}


def read_page(file):
    parts = Parts(file.read_text())
    block = zlib.decompress(base64.b64decode(parts.texts["block"]))
    return parts, unpack(json.loads(parts.texts["document"]), block)


# -- packing -----------------------------------------------------------------------------------------------------------


@given(
    st.lists(
        st.sampled_from(["int8", "uint8", "int16", "int32", "float32", "float64"]).flatmap(
            lambda name: arrays.arrays(name, arrays.array_shapes(min_dims=1, max_dims=3, max_side=5))
        ),
        max_size=6,
    )
)
def test_arrays_come_back_as_they_were(values):
    arrays = PackedArrays()
    places = [arrays.add(array) for array in values]
    block = zlib.decompress(base64.b64decode(arrays.packed()))
    for array, place in zip(values, places, strict=True):
        assert place["at"] % array.dtype.itemsize == 0
        np.testing.assert_array_equal(unpack(place, block), array)


def test_equal_arrays_are_kept_once():
    arrays = PackedArrays()
    assert arrays.add(np.arange(5, dtype=np.int32)) == arrays.add(np.arange(5, dtype=np.int32))
    assert arrays.add(np.zeros(2, np.int32)) != arrays.add(np.zeros(2, np.float32))
    with pytest.raises(ValueError, match="int64"):
        arrays.add(np.arange(5))


@pytest.mark.parametrize(
    ("values", "kind"), [([], "int16"), ([5, -3], "int16"), ([40_000], "int32"), ([2**40], "float64")]
)
def test_whole_numbers_take_the_smallest_type(values, kind):
    packed = whole_numbers(np.array(values, dtype=np.int64))
    assert packed.dtype == kind
    assert packed.tolist() == values


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_documents_are_json_without_markup(document):
    text = document_text(document)
    assert not set("<>&") & set(text)
    assert text.isascii()
    assert json.loads(text) == plain(document)


# -- where things are on the screen ------------------------------------------------------------------------------------


def test_every_pixel_knows_its_niche():
    space = tl.FeatureSpace({"a": (-1.0, 3.0), "b": (1.0, 100.0)}, scales={"b": "log"})
    niches = tl.GridTessellation(space, [3, 2])
    picture = niche_picture(niches)
    side = len(picture)
    for row, column in [(0, 0), (0, side - 1), (side - 1, 0), (side // 3, side // 2), (side - 2, side // 4)]:
        unit = np.array([[(column + 0.5) / side, 1 - (row + 0.5) / side]])  # the first row is the top
        assert picture[row, column] == niches.niche_of(space.from_unit(unit))[0]
    np.testing.assert_array_equal(np.cumsum(from_row_above(picture), axis=0), picture)
    assert describe_cells(tl.GridTessellation(tl.FeatureSpace.unit(3), 2), PackedArrays()) is None
    assert describe_cells(tl.GridTessellation(space, 10**9), PackedArrays()) is None


def test_projection_finds_the_directions_of_largest_variance():
    rng = np.random.default_rng(1)
    hidden = rng.normal(size=(4000, 2)) * [0.2, 0.05]
    axes = np.array([[0.6, 0.8, 0.0], [-0.8, 0.6, 0.0]])
    features = 0.5 + hidden @ axes
    plane, shares = principal_plane(tl.FeatureSpace.unit(3), features)
    for j in range(2):
        assert abs(np.corrcoef(plane[:, j], hidden[:, j])[0, 1]) > 0.999
    np.testing.assert_allclose(shares, [16 / 17, 1 / 17], atol=0.01)
    # Independently: singular values of the centred rows.
    values = np.linalg.svd(features - features.mean(axis=0), compute_uv=False)
    np.testing.assert_allclose(shares, values[:2] ** 2 / (values**2).sum())
    np.testing.assert_allclose(plane.std(axis=0), values[:2] / np.sqrt(len(features)))


@pytest.mark.parametrize("n", [0, 1])
def test_projection_of_next_to_nothing(n):
    plane, shares = principal_plane(tl.FeatureSpace.unit(4), np.full((n, 4), 0.5))
    assert plane.shape == (n, 2)
    assert shares.tolist() == [0.0, 0.0]


# -- runs --------------------------------------------------------------------------------------------------------------


def test_the_page_holds_the_run(walked, tmp_path):
    file = write_report([walked], tmp_path / "out" / "report.html")
    parts, document = read_page(file)
    run = document["runs"][0]
    archive = Archive.load(walked / "archive.parquet")
    elites = archive.elites()
    assert run["state"] == "finished"
    assert run["figures"]["filled"] == len(elites)
    assert run["figures"]["best_fitness"] == archive.best_fitness
    held = run["archive"]
    for name, values in (("niches", elites.niches), ("fitness", elites.fitness), ("evaluations", elites.evaluations)):
        np.testing.assert_array_equal(held[name], values)
    np.testing.assert_array_equal(held["values"].T, elites.features)
    np.testing.assert_array_equal(held["solutions"], elites.solutions)
    assert [scenario["name"] for scenario in run["scenarios"]] == list(SCENARIOS)
    assert [scenario["phrase"] for scenario in run["scenarios"]] == [f"in {name}" for name in SCENARIOS]
    night = walk().evaluate(elites.solutions, "night").fitness
    np.testing.assert_array_equal(run["scenarios"][1]["fitness"], night.astype(np.float32))
    assert run["progress"]["evaluations"][-1] == 3000
    assert "plotly.js" in zlib.decompress(base64.b64decode(parts.texts["plotly"])).decode()[:200]


def test_the_page_asks_for_nothing_outside_itself(walked, tmp_path):
    text = write_report([walked], tmp_path / "report.html").read_text()
    parts = Parts(text)
    policy = dict(parts.attributes)["content"]
    contents = [value for name, value in parts.attributes if name == "content" and value and "default-src" in value]
    assert contents[0].startswith("default-src 'none'"), policy
    assert "connect-src" not in contents[0]
    assert not [value for name, value in parts.attributes if name == "src"]
    assert [value for name, value in parts.attributes if name == "href"] == ["data:,", "#archive"]


def test_views_hold_what_the_elites_did(walked):
    elites = Archive.load(walked / "archive.parquet").elites()
    arrays = PackedArrays()
    scenarios = {name: walk().evaluate(elites.solutions, name).fitness for name in SCENARIOS}
    views = describe_views(walk(), elites, arrays, scenarios)
    block = zlib.decompress(base64.b64decode(arrays.packed()))
    assert [view["scenario"] for view in views] == [None, *SCENARIOS]
    for described in views:
        view = unpack(described, block)
        offset, step = view["points"]["scale"]
        points = offset + step * np.cumsum(view["points"]["values"].astype(float), axis=1)
        ends = ends_of(elites.solutions[view["rows"]], view["scenario"])
        np.testing.assert_allclose(points[:, -1], ends, atol=0.51 * step)
        np.testing.assert_allclose(points[:, 0], 0.5, atol=0.51 * step)
        assert step <= 1 / 4000
    night = unpack(views[2], block)["rows"]
    assert np.isfinite(scenarios["night"][night]).all()


def test_a_scenario_that_defeats_all_elites_can_be_drawn(walked):
    elites = Archive.load(walked / "archive.parquet").elites()
    invalid = np.full(len(elites), np.nan)
    arrays = PackedArrays()
    views = describe_views(walk(), elites, arrays, {"ice": invalid}, n_bytes=20)
    block = zlib.decompress(base64.b64decode(arrays.packed()))
    assert [view["scenario"] for view in views] == [None, "ice"]
    assert unpack(views[1], block)["rows"].tolist() == [int(np.argmin(elites.fitness))]

    problem = walk()
    shown = problem.elite_view

    def view(solutions, scenario=None):
        if scenario:
            raise ZeroDivisionError
        return shown(solutions)

    problem.elite_view = view
    assert [view["scenario"] for view in describe_views(problem, elites, PackedArrays(), {"ice": invalid})] == [None]


def test_too_many_views_are_thinned_and_the_best_stays(walked, monkeypatch):
    elites = Archive.load(walked / "archive.parquet").elites()
    one = 21 * 2 * 2  # bytes
    views = describe_views(walk(), elites, PackedArrays(), {}, n_bytes=20 * one)
    assert views[0]["rows"]["shape"][0] <= 20
    arrays = PackedArrays()
    rows = unpack(
        describe_views(walk(), elites, arrays, {}, n_bytes=20 * one)[0]["rows"],
        zlib.decompress(base64.b64decode(arrays.packed())),
    )
    assert int(np.argmin(elites.fitness)) in rows
    assert rows[0] == 0
    assert rows[-1] == len(elites) - 1
    run = read_run(walked)
    monkeypatch.setattr("tesselite.report.page.html.VIEW_BYTES", 20 * one)
    notes = document_of([run])[0]["runs"][0]["notes"]
    assert any("of 150 elites" in note or "elites, evenly chosen" in note for note in notes)


def test_a_problem_without_a_view_has_none(tmp_path):
    folder = bowl_run(tmp_path / "run", 3)
    run = read_run(folder)
    assert run.problem is None
    assert "bowl" in run.problem_error
    elites = run.archive.elites()
    assert describe_views(bowl(3), elites, PackedArrays(), {}) == []
    assert describe_view(bowl(3), elites.solutions[0], None, PackedArrays()) is None
    described = document_of([run])[0]["runs"][0]
    assert "cells" not in described["archive"]
    assert described["archive"]["plane"]["shape"] == [2, len(elites)]


def test_a_view_that_fails_leaves_the_page_whole(walked):
    run = read_run(walked)

    def broken(solutions, scenario=None):
        raise ZeroDivisionError("in my view")

    run.problem.elite_view = broken
    described = document_of([run])[0]["runs"][0]
    assert "views" not in described
    assert any("ZeroDivisionError: in my view" in note for note in described["notes"])


def test_many_features_are_thinned_and_said(tmp_path):
    folder = bowl_run(tmp_path / "run", 100, n_niches=50)
    described = document_of([read_run(folder)])[0]["runs"][0]
    variances = Archive.load(folder / "archive.parquet").elites().features.var(axis=0)
    kept = [int(feature["name"][1:]) for feature in described["archive"]["features"]]
    assert kept == sorted(np.argsort(-variances, kind="stable")[:64].tolist())
    assert "The page holds 64 of 100 features, those that vary most." in described["notes"]


def test_large_solutions_are_rounded_and_said(tmp_path, monkeypatch):
    folder = bowl_run(tmp_path / "run", 3)
    monkeypatch.setattr("tesselite.report.page.run_data.EXACT_BYTES", 10)
    described = document_of([read_run(folder)])[0]["runs"][0]
    assert described["archive"]["solutions"]["$array"] == "float32"
    assert any(note.startswith("Solutions are rounded") for note in described["notes"])


def test_a_part_of_the_elites_may_be_assessed(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(TESTS)
    folder = walk_run(tmp_path / "run", n_niches=40)
    whole = Assessment.load(folder / "assessment.parquet")
    rows = [7, 2, 5]  # some, and not in order
    part = replace(whole, niches=whole.niches[rows], fitness={name: f[rows] for name, f in whole.fitness.items()})
    part.save(folder / "assessment.parquet")
    run = read_run(folder)
    assert run.assessed.nonzero()[0].tolist() == [2, 5, 7]
    ice = walk().evaluate(run.archive.elites().solutions, "ice").fitness
    np.testing.assert_array_equal(run.scenarios["ice"][run.assessed], ice[[2, 5, 7]])
    described = document_of([run])[0]["runs"][0]
    assert any(note.startswith("3 of ") for note in described["notes"])
    (folder / "assessment.parquet").write_bytes(b"nonsense")
    with pytest.raises(ValueError, match="remove it to assess again"):
        read_run(folder)


def test_an_assessment_of_elites_that_are_no_more_is_not_shown(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(TESTS)
    folder = walk_run(tmp_path / "run", n_niches=40, evaluations=600)
    assert set(read_run(folder).scenarios) == {"ice", "night"}
    resume(folder, walk(), evaluations=3000)
    run = read_run(folder)
    assert run.scenarios == {}
    described = document_of([run])[0]["runs"][0]
    assert any("continued after it was assessed" in note for note in described["notes"])
    assess_run(folder, walk())
    elites = read_run(folder).archive.elites()
    np.testing.assert_array_equal(read_run(folder).scenarios["ice"], walk().evaluate(elites.solutions, "ice").fitness)


# -- nothing breaks out ------------------------------------------------------------------------------------------------


def test_names_stay_text(tmp_path):
    names = (EVIL, "</script><img src=x onerror=alert(1)>", "{{ title }}")
    folder = bowl_run(tmp_path / "a & <b>", 3, spec=EVIL, names=names)
    file = write_report([folder], tmp_path / "report.html")
    parts, document = read_page(file)
    plain_page = Parts(write_report([bowl_run(tmp_path / "b", 3)], tmp_path / "plain.html").read_text())
    assert parts.tags == plain_page.tags
    assert document["runs"][0]["problem"] == EVIL
    assert [feature["name"] for feature in document["runs"][0]["archive"]["features"]] == list(names)
    assert EVIL not in file.read_text()


# -- commands, states, mistakes ----------------------------------------------------------------------------------------


def test_the_command_gives_the_run_again(walked, tmp_path):
    assert command_of(walked) == (
        "tesselite run report_runs:walk --niches 150 --evaluations 3000 --initial 500 --batch-size 200 "
        f"--variation iso_line:0.01,0.2 --seed 1 --out {walked}"
    )
    grid = bowl_run(tmp_path / "my run", 2, spec="my module:a", n_niches=None, grid=[3, 4])
    assert command_of(grid).startswith("tesselite run 'my module:a' --grid 3x4 --evaluations 2000")
    released = tl.GridTessellation(bowl(2).features, [3, 4], cells="released")
    other = bowl_run(tmp_path / "other", 2, spec="my module:a", n_niches=None, tessellation=released)
    assert " --grid 3x4 --cells released --evaluations 2000" in command_of(other)
    assert group_names([read_run(grid), read_run(other)]) == ["grid 3x4", "grid 3x4, released cells"]


def test_given_centroids_are_named_in_the_command(tmp_path):
    niches = tl.VoronoiTessellation(bowl(2).features, np.random.default_rng(1).random((20, 2)))
    folder = bowl_run(tmp_path / "run", 2, spec="mine:bowl", n_niches=None, tessellation=niches)
    assert f"--centroids {folder / 'centroids.parquet'} " in command_of(folder)
    folder = bowl_run(tmp_path / "other", 2, spec="mine:bowl", n_niches=20, p=1.0, n_samples=300, method="lloyd")
    assert "--niches 20 --samples 300 -p 1 --method lloyd " in command_of(folder)
    folder = bowl_run(tmp_path / "inf", 2, spec="mine:bowl", n_niches=20, p=np.inf, n_samples=300)
    assert "--niches 20 --samples 300 -p inf " in command_of(folder)
    assert "p = inf" in write_report([folder], tmp_path / "inf.html").read_text()


def test_states(tmp_path, walked):
    assert read_run(walked).state == "finished"
    folder = bowl_run(tmp_path / "run", 2)
    edit_settings(folder, evaluations=9999)
    assert read_run(folder).state == "stopped"
    before = sorted((file.name, file.stat().st_mtime_ns) for file in folder.iterdir())
    with RunFolder.open(folder):
        assert locked(folder)
        assert read_run(folder).state == "running"
    assert not locked(folder)
    with RunFolder.open(folder):
        pass  # looking left no lock behind
    assert sorted((file.name, file.stat().st_mtime_ns) for file in folder.iterdir()) == before
    assert not locked(tmp_path)


def test_what_is_no_run_is_refused(tmp_path, walked):
    with pytest.raises(ValueError, match="not a run"):
        write_report([tmp_path], tmp_path / "report.html")
    with pytest.raises(ValueError, match="at least one"):
        write_report([], tmp_path / "report.html")
    young = bowl_run(tmp_path / "young", 2)
    (young / "archive.parquet").unlink()
    with pytest.raises(ValueError, match="no archive yet"):
        write_report([young], tmp_path / "report.html")
    assert not (tmp_path / "report.html").exists()


def test_names_tell_runs_apart(tmp_path):
    assert run_names([tmp_path / "a" / "run", tmp_path / "b" / "run"]) == ["a/run", "b/run"]
    assert run_names([tmp_path / "a", tmp_path / "b"]) == ["a", "b"]


def test_the_same_run_gives_the_same_page(walked, tmp_path):
    first = write_report([walked], tmp_path / "1.html").read_bytes()
    assert write_report([walked], tmp_path / "2.html").read_bytes() == first


def test_scripts_use_no_markup_and_no_network(walked):
    text = page_of(*document_of([read_run(walked)]))
    scripts = "".join(re.findall(r"<script>\n(.*?)</script>", text, re.S))
    assert "Page.show" in scripts
    scripts = scripts.replace("http://www.w3.org/2000/svg", "")  # a name, which browsers do not request
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|https?://", scripts)
