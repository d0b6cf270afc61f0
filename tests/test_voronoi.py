"""VoronoiTessellation: which niche a feature vector belongs to, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from tesselite.spaces.features import FeatureSpace
from tesselite.tessellation import VoronoiTessellation

SPACE = FeatureSpace({"speed": (0, 10), "height": (-1, 1)})
CENTROIDS = [[1.0, -0.5], [9.0, -0.5], [5.0, 0.5]]


def test_niches_of_rows_and_of_one():
    niches = VoronoiTessellation(SPACE, CENTROIDS)
    assert niches.n_niches == 3
    assert niches.niche_of([0.0, -1.0]) == 0
    assert isinstance(niches.niche_of([0.0, -1.0]), int)
    np.testing.assert_array_equal(niches.niche_of([[0.0, -1.0], [9.5, 0.0], [5.0, 2.0], [400.0, -1.0]]), [0, 1, 2, 1])
    assert niches.niche_of(np.empty((0, 2))).shape == (0,)


def test_distances_are_measured_in_the_unit_square():
    # In feature units the point is nearer to the first centroid, in the unit square to the second.
    niches = VoronoiTessellation(SPACE, [[2.0, 0.0], [6.0, -0.9]])
    assert niches.niche_of([5.0, -0.8]) == 1


def test_p_matters():
    space = FeatureSpace.unit(2)
    centroids = [[0.35, 0.35], [0.5, 0.0]]  # from the origin: squares .245 and .25, sums .7 and .5
    assert VoronoiTessellation(space, centroids, p=2).niche_of([0.0, 0.0]) == 0
    assert VoronoiTessellation(space, centroids, p=1).niche_of([0.0, 0.0]) == 1
    assert VoronoiTessellation(space, centroids, p=0.5).niche_of([0.0, 0.0]) == 1
    assert VoronoiTessellation(space, centroids, p=np.inf).niche_of([0.0, 0.0]) == 0


def test_equality_and_fingerprint_follow_the_content():
    one = VoronoiTessellation(SPACE, CENTROIDS)
    same = VoronoiTessellation(FeatureSpace({"speed": (0, 10), "height": (-1, 1)}), np.array(CENTROIDS))
    others = [
        VoronoiTessellation(SPACE, CENTROIDS, p=1),
        VoronoiTessellation(SPACE, CENTROIDS[::-1]),
        VoronoiTessellation(FeatureSpace({"speed": (0, 10), "width": (-1, 1)}), CENTROIDS),
        VoronoiTessellation(FeatureSpace({"speed": (0, 11), "height": (-1, 1)}), CENTROIDS),
        VoronoiTessellation(FeatureSpace({"speed": (0.5, 10), "height": (-1, 1)}, scales={"speed": "log"}), CENTROIDS),
    ]
    assert one == same
    assert hash(one) == hash(same)
    assert one.fingerprint() == same.fingerprint()
    assert len(one.fingerprint()) == 64
    for other in others:
        assert one != other
        assert one.fingerprint() != other.fingerprint()
    assert "3 niches" in repr(one)
    assert "p=1" in repr(others[0])


def test_centroids_are_copied_and_read_only():
    given = np.array(CENTROIDS)
    niches = VoronoiTessellation(SPACE, given)
    given[0, 0] = 7.0
    assert niches.centroids[0, 0] == 1.0
    with pytest.raises(ValueError):
        niches.centroids[0, 0] = 2.0


@pytest.mark.parametrize(
    ("centroids", "message"),
    [
        ([1.0, 2.0], r"shape \(n_niches, 2\)"),
        ([[1.0, 0.0, 3.0]], r"shape \(n_niches, 2\)"),
        (np.empty((0, 2)), "at least one row"),
        ([[1.0, np.nan]], "finite values, got nan for 'height' in row 0"),
        ([[1.0, 0.0], [np.inf, 0.0]], "finite"),
        ([[1.0, 0.0], [11.0, 0.0]], r"'speed' in \[0, 10\], got 11 in row 1"),
        ([["a", "b"]], "numbers"),
    ],
)
def test_refused_centroids(centroids, message):
    with pytest.raises(ValueError, match=message):
        VoronoiTessellation(SPACE, centroids)


@pytest.mark.parametrize("p", [0, -1, np.nan, "two", None])
def test_refused_p(p):
    with pytest.raises(ValueError, match=r"p: expected a number of at least 0\.05"):
        VoronoiTessellation(SPACE, CENTROIDS, p=p)


def test_refused_space():
    with pytest.raises(ValueError, match="space: expected a FeatureSpace"):
        VoronoiTessellation({"speed": (0, 1)}, [[0.5]])


@pytest.mark.parametrize(
    ("features", "message"),
    [([1.0], "shape"), ([[1.0, 2.0, 3.0]], "shape"), (3.0, "shape"), ([[0.0, 0.0], [np.nan, 0.0]], "row 1")],
)
def test_refused_features(features, message):
    with pytest.raises(ValueError, match=message):
        VoronoiTessellation(SPACE, CENTROIDS).niche_of(features)
