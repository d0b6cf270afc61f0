"""Tessellations on disk, the cache, figures of quality, forecasts and pictures."""

from __future__ import annotations

import dataclasses
import json
from itertools import product

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tesselite.spaces.features import FeatureSpace
from tesselite.tessellation import VoronoiTessellation, cvt, samplers
from tesselite.tessellation.cache import clear_cache, list_cache
from tesselite.tessellation.files import load_tessellation
from tesselite.tessellation.forecast import forecast
from tesselite.tessellation.pictures import cell_polygons, plot_tessellation
from tesselite.tessellation.quality import best_mean_squared_distance, describe

SPACE = FeatureSpace({"speed": (0.1, 10), "height": (-1, 1)}, scales={"speed": "log"})
UNIT = FeatureSpace.unit(2)


@pytest.fixture(scope="module")
def niches():
    return cvt(SPACE, 40, seed=2, iterations=10)


def test_parquet_keeps_everything(niches, tmp_path):
    niches.save(tmp_path / "a.parquet")
    back = load_tessellation(tmp_path / "a.parquet")
    assert back == niches
    assert back.record == niches.record
    assert back.space.scales == SPACE.scales
    assert load_tessellation(tmp_path / "a.parquet", SPACE) == niches
    assert [file.name for file in tmp_path.iterdir()] == ["a.parquet"]  # no temporary file stays
    with pytest.raises(ValueError, match="differs from the one given"):
        load_tessellation(tmp_path / "a.parquet", UNIT)
    with pytest.raises(ValueError, match="p: the file has 2, not 1"):
        load_tessellation(tmp_path / "a.parquet", p=1.0)


def test_a_file_of_the_unit_cube_serves_every_space_that_is_linear_and_uniform(tmp_path):
    wide = FeatureSpace({"speed": (0, 10), "height": (-1, 1)})
    cvt(UNIT, 30, seed=2, iterations=5).save(tmp_path / "unit.parquet")
    assert load_tessellation(tmp_path / "unit.parquet", wide) == cvt(wide, 30, seed=2, iterations=5)
    uneven = samplers.with_sampler(wide, samplers.Ball(wide))
    for other in (SPACE, uneven, FeatureSpace.unit(3)):
        with pytest.raises(
            ValueError, match=r"differs from the one given; .* make it with tesselite cvt --problem SPEC"
        ):
            load_tessellation(tmp_path / "unit.parquet", other)


def test_infinite_p_survives(tmp_path):
    niches = VoronoiTessellation(UNIT, [[0.5, 0.5]], p=np.inf)
    niches.save(tmp_path / "a.parquet")
    assert load_tessellation(tmp_path / "a.parquet") == niches


@pytest.mark.parametrize("name", ["centroids_40_2.dat", "c.txt", "c.npy"])
def test_plain_formats_keep_the_centroids_exactly(niches, tmp_path, name):
    niches.save(tmp_path / name)
    assert load_tessellation(tmp_path / name, SPACE) == niches


def test_the_authors_format(tmp_path):
    (tmp_path / "centroids_2_3.dat").write_text("0.1 0.2 0.3 \n0.5 0.5 0.25 \n")
    niches = load_tessellation(tmp_path / "centroids_2_3.dat", p=0.5)
    np.testing.assert_array_equal(niches.centroids, [[0.1, 0.2, 0.3], [0.5, 0.5, 0.25]])
    assert niches.p == 0.5


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("centroids_3_2.dat", "0.1 0.2\n0.3 0.4\n", "the name says 3 centroids of 2 dimensions"),
        ("generated_points_3_2.dat", "0.1 0.2\n0.3 0.4\n", "the name says 3 centroids of 2 dimensions"),
        ("c.dat", "0.1 0.2\n0.3\n", "c.dat"),
        ("c.dat", "0.1 hello\n", "c.dat"),
        ("c.dat", "0.1 nan\n", "finite"),
        ("c.dat", "0.1 1.5\n", "give the feature space"),
        ("c.npy", "nonsense", "c.npy"),
        ("c.parquet", "nonsense", "not a readable Parquet file"),
        ("c.csv", "0.1,0.2\n", "expected a name that ends in"),
    ],
)
def test_refused_files(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=message):
        load_tessellation(tmp_path / name)


def test_refused_parquet_and_missing(niches, tmp_path):
    pq.write_table(pa.table({"a": [1.0]}), tmp_path / "other.parquet")
    with pytest.raises(ValueError, match="not one of tesselite"):
        load_tessellation(tmp_path / "other.parquet")
    with pytest.raises(FileNotFoundError):
        load_tessellation(tmp_path / "none.parquet")
    niches.save(tmp_path / "a.parquet")
    table = pq.read_table(tmp_path / "a.parquet")
    changed = table.set_column(0, "speed", pa.array(np.full(40, 1.0)))
    pq.write_table(changed.replace_schema_metadata(table.schema.metadata), tmp_path / "b.parquet")
    with pytest.raises(ValueError, match="fingerprint does not match"):
        load_tessellation(tmp_path / "b.parquet")
    np.save(tmp_path / "c.npy", np.array([[0.5, 7.0]]))
    with pytest.raises(ValueError, match="expected 'f1' in"):
        load_tessellation(tmp_path / "c.npy", UNIT)
    with pytest.raises(ValueError, match="ends in"):
        niches.save(tmp_path / "a.xyz")


def with_metadata(file, change, as_if_written_so=False):
    """The Parquet file with its description changed in place, as damage could do it, or an older version."""
    table = pq.read_table(file)
    about = json.loads(table.schema.metadata[b"tesselite"])
    change(about)
    if as_if_written_so:
        del about["digest"]
        about["format_version"] = 1  # which had none
    pq.write_table(table.replace_schema_metadata({b"tesselite": json.dumps(about).encode()}), file)


@pytest.mark.parametrize("key", ["format_version", "names", "low", "high", "scales", "p", "fingerprint", "record"])
@pytest.mark.parametrize("space", [None, SPACE])
def test_damaged_parquet_is_named(niches, tmp_path, key, space):
    changes = (lambda about: about.pop(key), lambda about: about.update({key: 7}))
    for change, older in product(changes, (False, key != "format_version")):
        niches.save(tmp_path / "a.parquet")
        with_metadata(tmp_path / "a.parquet", change, older)
        with pytest.raises(ValueError, match=r"a\.parquet: "):
            load_tessellation(tmp_path / "a.parquet", space)


def test_damaged_records_columns_and_arrays_are_named(niches, tmp_path):
    file = tmp_path / "a.parquet"
    niches.save(file)
    with_metadata(file, lambda about: about["record"].pop("seed"), as_if_written_so=True)
    with pytest.raises(ValueError, match=r"a\.parquet: damaged \(TypeError: .*seed"):
        load_tessellation(file)
    niches.save(file)
    with_metadata(file, lambda about: about["record"].update(seed=8))
    with pytest.raises(ValueError, match=r"a\.parquet: damaged \(its description of the centroids is not what was"):
        load_tessellation(file)
    niches.save(file)
    with_metadata(file, lambda about: about["names"].__setitem__(0, "spead"))
    with pytest.raises(ValueError, match=r"a\.parquet: "):
        load_tessellation(file)
    array = tmp_path / "a.npy"
    np.save(array, niches.centroids)
    array.write_bytes(array.read_bytes().replace(b"}", b"]"))  # NumPy's reader raises TokenError
    with pytest.raises(ValueError, match=r"a\.npy: not readable"):
        load_tessellation(array, SPACE)


def test_a_file_of_the_format_without_a_digest_is_read(niches, tmp_path):
    file = tmp_path / "a.parquet"
    niches.save(file)
    with_metadata(file, lambda about: None, as_if_written_so=True)
    assert load_tessellation(file) == niches
    assert load_tessellation(file).record == niches.record


def test_a_damaged_cache_entry_is_built_again(tmp_path, monkeypatch):
    monkeypatch.setenv("TESSELITE_CACHE_DIR", str(tmp_path))
    first = cvt(UNIT, 12, seed=3, iterations=2, cache=True)
    with_metadata(list_cache()[0].path, lambda about: about["record"].pop("seed"))
    assert list_cache() == []
    assert cvt(UNIT, 12, seed=3, iterations=2, cache=True) == first
    assert len(list_cache()) == 1


def test_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TESSELITE_CACHE_DIR", str(tmp_path))
    arguments = {
        "space": UNIT,
        "n_niches": 12,
        "n_samples": 500,
        "seed": 3,
        "method": "lloyd",
        "iterations": 4,
    }
    first = cvt(**arguments, cache=True)
    assert [(e.n_niches, e.dims, e.seed, e.method) for e in list_cache()] == [(12, 2, 3, "lloyd")]
    calls = []
    again = cvt(**arguments, cache=True, on_iteration=lambda *now: calls.append(now))
    assert not calls  # nothing was built
    assert again == first
    assert again.record == first.record
    # Everything that matters makes another entry.
    for change in (
        {"n_niches": 13},
        {"n_samples": 501},
        {"seed": 4},
        {"p": 1.0},
        {"iterations": 5},
        {"tolerance": 0.5},
        {"method": "fresh"},
        {"space": FeatureSpace({"f0": (0, 1), "f1": (0, 2)})},
        {"samples": samplers.Ball(UNIT)},
    ):
        cvt(**{**arguments, **change}, cache=True)
    assert len(list_cache()) == 10
    # A function cannot be identified, so it is not cached; a damaged entry is built again.
    cvt(**{**arguments, "samples": lambda n, rng: rng.random((n, 2))}, cache=True)
    assert len(list_cache()) == 10
    for entry in list_cache():
        entry.path.write_bytes(b"nonsense")
    assert cvt(**arguments, cache=True) == first
    assert clear_cache() == 10
    assert list_cache() == []


def test_quality_of_a_known_grid():
    ticks = (np.arange(10) + 0.5) / 10
    grid = VoronoiTessellation(UNIT, [[x, y] for x in ticks for y in ticks])
    quality = grid.quality(n_samples=40_000)
    assert quality.mean_squared_distance == pytest.approx(0.01 / 6, rel=0.02)  # squares: h^2 / 6
    assert quality.mean_distance == pytest.approx(0.0382598, rel=0.01)  # h (sqrt 2 + asinh 1) / 6
    assert quality.ratio_to_best == pytest.approx((1 / 6) / (2 * 0.0801875), rel=0.02)
    assert quality.volume_spread == pytest.approx(0.0, abs=1e-6)
    assert quality.neighbour_least == pytest.approx(0.1)
    assert quality.empty_niches == 0
    assert 0.3 < quality.ratio_to_random < 0.7
    assert quality.largest_distance <= 0.1 / 2**0.5 + 1e-12


def test_best_quantisers():
    assert best_mean_squared_distance(10_000, 2) == pytest.approx(2 * 0.0801875 / 10_000)
    assert best_mean_squared_distance(10, 1) == pytest.approx(1 / 1200, rel=1e-5)
    values = [best_mean_squared_distance(1, d) / d for d in range(1, 40)]
    assert (np.diff(values) <= 0.002).all()  # more dimensions need not be much worse


def test_description_is_json(niches):
    text = json.loads(json.dumps(describe(niches)))
    asked = {"n_niches", "dims", "n_samples", "p", "iterations", "converged", "mean_squared_distance"}
    assert asked | {"mean_distance", "ratio_to_random", "seconds"} <= set(text)
    assert text["n_niches"] == 40
    assert describe(VoronoiTessellation(UNIT, [[0.5, 0.5]], p=np.inf))["p"] == "inf"


def test_quality_of_samples_and_refusals(niches):
    rows = niches.centroids.copy()
    assert niches.quality(n_samples=500, samples=rows).mean_squared_distance == pytest.approx(0.0, abs=1e-20)
    with pytest.raises(ValueError, match="n_samples"):
        niches.quality(n_samples=0)


def test_forecast_says_what_will_not_fit():
    small = forecast(UNIT, 100)
    assert small.method == "exact"
    assert small.warnings == ()
    assert small.seconds < 60
    huge = forecast(FeatureSpace.unit(3), 100, n_samples=10**13, method="lloyd", iterations=10)
    assert huge.memory > 10**13
    assert len(huge.warnings) >= 1
    few = forecast(FeatureSpace.unit(3), 100, n_samples=500, method="lloyd")
    assert any("only 5.0 samples per niche" in warning for warning in few.warnings)
    assert dataclasses.asdict(few)["n_samples"] == 500


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"method": "foo"}, "method: expected one of exact, fresh, lloyd"),
        ({"n_niches": 0}, "n_niches: expected a whole number of at least 1"),
        ({"n_samples": -5}, "n_samples: expected"),
        ({"iterations": -5}, "iterations: expected"),
        ({"n_samples": 50, "method": "lloyd"}, "at most as many niches as samples"),
        ({"n_samples": 5000, "method": "exact"}, "the exact method draws none"),
    ],
)
def test_forecast_refuses_what_the_construction_would(options, told):
    with pytest.raises(ValueError, match=told):
        forecast(UNIT, **{"n_niches": 100, **options})
    with pytest.raises(ValueError, match=told):
        cvt(UNIT, **{"n_niches": 100, **options})


def test_pictures(niches, tmp_path):
    polygons = cell_polygons(niches)
    assert len(polygons) == 40
    cases = {
        "cells.png": niches,
        "norm.png": VoronoiTessellation(UNIT, [[0.2, 0.2], [0.7, 0.6]], p=0.5),
        "pairs.png": cvt(FeatureSpace.unit(3), 20, n_samples=500, seed=1, iterations=3),
        "line.png": cvt(FeatureSpace.unit(1), 5, n_samples=500, seed=1, iterations=3),
    }
    for name, tessellation in cases.items():
        plot_tessellation(tessellation, tmp_path / name)
        assert (tmp_path / name).stat().st_size > 5000
    with pytest.raises(ValueError, match="cells"):
        cell_polygons(cases["pairs.png"])
