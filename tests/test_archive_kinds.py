"""Archives of other kinds of solutions and floors: everything accepted can be saved and loaded unchanged."""

from __future__ import annotations

import numpy as np
import pytest

import tesselite as tl

GRID = tl.GridTessellation(tl.FeatureSpace({"a": (0, 4), "b": (0, 2)}), (4, 2))


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint16, np.int64, np.float16, np.float32, ">f8", ">i4"])
def test_every_kind_of_solutions_survives_its_file(tmp_path, dtype):
    archive = tl.Archive(GRID, 3, dtype=dtype)
    rows = np.array([[1, 0, 1], [0, 1, 1]])
    archive.add(rows, [1.0, 2.0], [[0.5, 0.5], [1.5, 0.5]])
    again = tl.Archive.load(archive.save(tmp_path / "a.parquet"))
    assert again.equals(archive)
    assert again.solutions.dtype == np.dtype(dtype).newbyteorder("=")
    assert np.array_equal(again.elites().solutions, rows.astype(dtype))


@pytest.mark.parametrize("dtype", [object, complex, "U3", "datetime64[s]", np.longdouble])
def test_what_a_file_cannot_hold_is_refused_at_once(dtype):
    with pytest.raises(ValueError, match="dtype: expected booleans, whole numbers or floats"):
        tl.Archive(GRID, 3, dtype=dtype)


@pytest.mark.parametrize("floor", [np.int64(-1), np.float32(-1), -1])
def test_a_floor_of_any_kind_of_number_can_be_saved(tmp_path, floor):
    @tl.problem(solutions=tl.Box(2), features={"a": (0, 1), "b": (0, 1)}, floor=floor, batch=True)
    def sums(x):
        return x.sum(axis=1), x

    archive = tl.illuminate(sums, grid=3, evaluations=200, initial=100, seed=1, out=tmp_path / "run")
    assert tl.Archive.load(tmp_path / "run").equals(archive)  # the folder stands for its archive
    assert archive.qd_score == pytest.approx(sum(elite.fitness + 1 for elite in archive))


def test_only_parquet_is_written(tmp_path):
    with pytest.raises(ValueError, match=r"expected a file that ends in \.parquet, got 'a\.csv'"):
        tl.Archive(GRID, 3).save(tmp_path / "a.csv")
    assert not list(tmp_path.iterdir())


def test_nearest_is_nearest_in_scaled_features():
    archive = tl.Archive(GRID, 1)
    with pytest.raises(ValueError, match="empty"):
        archive.nearest([1, 1])
    archive.add([[0], [1], [2]], [1, 1, 1], [[0.5, 0.2], [3.9, 0.2], [0.5, 1.9]])
    assert archive.nearest([3.0, 0.2]).solution.tolist() == [1]
    # One unit of b is twice as far as one of a: 0.5 of b equals 1 of a.
    assert archive.nearest([2.0, 1.4]).solution.tolist() == [2]
    assert archive.nearest([2.4, 0.2]).solution.tolist() == [1]
    rng = np.random.default_rng(1)
    rows = rng.random((60, 2)) * [4, 2]
    archive.add(rows[:, :1], rng.random(60), rows)
    elites = archive.elites()
    for wanted in rng.random((50, 2)) * [4, 2]:
        distance = np.linalg.norm((elites.features - wanted) / [4, 2], axis=1)
        assert archive.nearest(wanted).niche == elites.niches[distance.argmin()]
    for wrong in ([1.0], [1.0, np.nan], [[1.0, 1.0]]):
        with pytest.raises(ValueError, match="features: expected 2 finite numbers"):
            archive.nearest(wrong)
