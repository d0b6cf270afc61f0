"""Construction of CVTs: quality, convergence, determinism, and every refused input."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tesselite.base.seeds import Purpose, generator
from tesselite.spaces.features import FeatureSpace
from tesselite.tessellation import VoronoiTessellation, cvt, samplers
from tesselite.tessellation.cells import ExactCells, hexagonal_rows, measure_cells
from tesselite.tessellation.fresh import nested_rows
from tesselite.tessellation.nearest import build_index
from tesselite.tessellation.staircase import StaircaseLloyd

SQUARE = FeatureSpace({"speed": (0, 10), "height": (-1, 1)})
CUBE = FeatureSpace.unit(3)
HEXAGONAL = 2 * 0.0801875


def unit_error(tessellation, n=20_000):
    points = np.random.default_rng(99).random((n, tessellation.space.n))
    gaps = points - tessellation.unit_centroids[tessellation.niches_of_unit(points)]
    return float((gaps**2).sum(axis=1).mean())


def test_the_default_is_near_the_hexagonal_limit():
    niches = cvt(SQUARE, 400, seed=1)
    assert niches.record.method == "exact"
    assert niches.record.converged
    assert niches.record.errors[-1] < 1.015 * HEXAGONAL / 400
    assert not SQUARE.outside(niches.centroids).any()
    # Fresh points agree with the exact integral: their mean has a standard error of 0.5 %, so five of them hold.
    assert unit_error(niches) == pytest.approx(niches.record.errors[-1], rel=0.025)


def test_exact_cells_of_hand_solved_sites():
    areas, means, error = measure_cells(np.array([[0.25, 0.5], [0.75, 0.5]]))
    np.testing.assert_allclose(areas, [0.5, 0.5])
    np.testing.assert_allclose(means, [[0.25, 0.5], [0.75, 0.5]])
    assert error == pytest.approx((0.5**2 + 1.0) / 12)  # of a half: (a^2 + b^2) / 12
    areas, means, error = measure_cells(np.array([[0.0, 0.0]]))
    assert areas == pytest.approx([1.0])
    np.testing.assert_allclose(means, [[0.5, 0.5]])
    assert error == pytest.approx(2 / 3)
    areas, _, _ = measure_cells(np.array([[0.5, 0.5], [0.5, 0.5], [0.1, 0.1]]))
    assert areas[1] == 0.0  # the lowest of two on one place has the cell
    assert areas.sum() == pytest.approx(1.0)


def test_exact_cells_agree_with_samples():
    rng = np.random.default_rng(0)
    sites = rng.random((50, 2))
    areas, means, error = measure_cells(sites, threads=2)
    points = rng.random((200_000, 2))
    niches = build_index(sites).query(points)
    shares = np.bincount(niches, minlength=50) / len(points)
    # Fifty shares, each off by less than six standard errors: a false alarm in ten million.
    assert (np.abs(shares - areas) < 6 * np.sqrt(areas / len(points))).all()
    assert ((points - sites[niches]) ** 2).sum(axis=1).mean() == pytest.approx(error, rel=0.03)
    largest = int(areas.argmax())
    np.testing.assert_allclose(points[niches == largest].mean(axis=0), means[largest], atol=0.01)


def test_sites_on_one_place_are_scattered():
    state = ExactCells(np.full((5, 2), 0.3), 1, np.random.default_rng(0))
    for _ in range(60):
        error = state.step()
    assert error < 1.3 * HEXAGONAL / 5


@pytest.mark.parametrize("k", [1, 2, 3, 7, 50])
def test_even_starts_have_the_right_number_inside(k):
    rng = np.random.default_rng(0)
    for rows in (hexagonal_rows(k, rng, 0.1), nested_rows(k, 3, rng, 0.1), nested_rows(k, 1, rng, 0.0)):
        assert len(rows) == k
        assert ((rows >= 0) & (rows <= 1)).all()
        assert len(np.unique(rows, axis=0)) == k


def test_one_niche_sits_in_the_middle():
    np.testing.assert_allclose(cvt(SQUARE, 1, seed=1).centroids, [[5.0, 0.0]], atol=1e-6)
    np.testing.assert_allclose(cvt(CUBE, 1, seed=1).centroids, [[0.5] * 3], atol=0.01)


@pytest.mark.slow
def test_fresh_samples_beat_fixed_ones_and_random_points():
    fresh = cvt(CUBE, 300, seed=1, n_samples=6000, iterations=40, method="fresh")
    fixed = cvt(CUBE, 300, seed=1, n_samples=3000, method="lloyd")
    start = VoronoiTessellation(CUBE, np.random.default_rng(0).random((300, 3)))
    assert fixed.record.converged
    assert unit_error(fresh) < unit_error(fixed) < unit_error(start)


def test_the_error_never_rises_on_fixed_samples():
    for d, k in ((1, 20), (2, 100), (3, 100), (12, 60)):
        record = cvt(FeatureSpace.unit(d), k, n_samples=2000, seed=3, method="lloyd").record
        assert record.converged
        assert record.stopped == "no sample changed its niche"
        assert (np.diff(record.errors) <= 1e-12).all()
        assert len(record.errors) == record.iterations


@pytest.mark.parametrize(("n", "rank"), [(500, 5), (20, 19)])
def test_samples_that_vary_in_few_directions(n, rank):
    """There are fewer principal components than the search for the nearest asks for."""
    rng = np.random.default_rng(n)
    points = rng.random((n, rank)) @ rng.normal(size=(rank, 60))
    points = (points - points.min(axis=0)) / np.ptp(points, axis=0)
    made = cvt(FeatureSpace.unit(60), 5, samples=points, seed=1, method="lloyd")
    labels = np.argmin(((points[:, None] - made.centroids) ** 2).sum(axis=2), axis=1)
    for niche in range(5):
        np.testing.assert_allclose(made.centroids[niche], points[labels == niche].mean(axis=0), atol=1e-5)


@pytest.mark.parametrize("principal", [False, True])
def test_many_dimensions_agree_with_brute_force(principal):
    rng = np.random.default_rng(5)
    d = 60 if principal else 17
    points = rng.random((3000, d))
    if principal:  # trajectories: nearly all variance in a few directions
        points = 0.5 + 0.3 * (rng.random((3000, 4)) - 0.5) @ rng.standard_normal((4, d)) / 3
        points = (points + 0.001 * rng.standard_normal((3000, d))).clip(0, 1)
    points = points.astype(np.float32)
    lloyd = StaircaseLloyd(points.copy(), points[:200].astype(np.float64), 1)
    assert (lloyd.principal is not None) == principal
    last = np.inf
    for _ in range(12):
        centroids = lloyd.centroids
        error, _ = lloyd.step()
        expected = build_index(centroids).query(lloyd.points.astype(np.float64) + 0.5)
        np.testing.assert_array_equal(lloyd.labels, expected)
        assert error <= last * (1 + 1e-12)
        last = error


@pytest.mark.parametrize(
    "arguments",
    [
        {"space": SQUARE, "n_samples": None},
        {"space": SQUARE, "method": "lloyd"},
        {"space": CUBE},
        {"space": FeatureSpace.unit(14), "method": "lloyd", "n_samples": 5000, "iterations": 8},
        {"space": CUBE, "p": 0.5, "iterations": 3},
    ],
)
def test_same_seed_same_niches_whatever_the_threads(arguments):
    one = cvt(n_niches=150, seed=4, threads=1, **{"n_samples": 30_000, "iterations": 6, **arguments})
    two = cvt(n_niches=150, seed=4, threads=2, **{"n_samples": 30_000, "iterations": 6, **arguments})
    other = cvt(n_niches=150, seed=5, threads=2, **{"n_samples": 30_000, "iterations": 6, **arguments})
    np.testing.assert_array_equal(one.centroids, two.centroids)
    assert one.record.errors == two.record.errors
    assert one != other


def test_draws_come_from_the_named_child_of_the_seed():
    drawn = cvt(CUBE, 10, seed=4, start="random", method="fresh", iterations=0).centroids
    np.testing.assert_array_equal(drawn, generator(4, Purpose.TESSELLATION).random((10, 3)))


def test_without_a_seed_the_record_tells_it():
    one = cvt(CUBE, 10, n_samples=100, iterations=2)
    again = cvt(CUBE, 10, n_samples=100, iterations=2, seed=one.record.seed)
    assert one == again


@pytest.mark.parametrize("p", [0.5, 1.0, np.inf, 3.0])
def test_other_norms(p):
    for method in ("fresh", "lloyd"):
        niches = cvt(SQUARE, 60, n_samples=3000, seed=1, p=p, iterations=25, method=method)
        assert niches.p == p
        assert niches.record.errors[-1] < niches.record.errors[0]


def test_samples_progress_and_start():
    rows = np.random.default_rng(0).random((500, 2)) * [10, 2] - [0, 1]
    seen = []
    niches = cvt(SQUARE, 20, samples=rows, seed=0, on_iteration=lambda i, error: seen.append((i, error)))
    assert niches.record.method == "lloyd"
    assert niches.record.n_samples == 500
    assert seen == list(enumerate(niches.record.errors, start=1))
    # Converged: every centroid is the mean of its samples.
    labels = niches.niche_of(rows)
    for c in range(20):
        np.testing.assert_allclose(niches.centroids[c], rows[labels == c].mean(axis=0), rtol=1e-9, atol=1e-9)
    again = cvt(SQUARE, 20, samples=rows, seed=0, start=niches.centroids)
    np.testing.assert_allclose(np.sort(again.centroids, axis=0), np.sort(niches.centroids, axis=0), atol=1e-9)
    drawn = cvt(SQUARE, 20, samples=lambda n, rng: SQUARE.from_unit(rng.random((n, 2)) * 0.5), seed=0, n_samples=500)
    assert drawn.unit_centroids.max() < 0.5


@pytest.mark.parametrize("d", [2, 3, 12])
@pytest.mark.parametrize("iterations", [1, 2])
def test_niches_that_the_last_iteration_left_empty_are_filled(d, iterations):
    rng = np.random.default_rng(0)
    space, rows, far_off = FeatureSpace.unit(d), rng.random((200, d)) * 0.3, 0.5 + 0.5 * rng.random((20, d))
    niches = cvt(space, 20, samples=rows, start=far_off, iterations=iterations, seed=1, threads=1)
    assert niches.record.iterations == iterations
    assert (np.bincount(niches.niche_of(rows), minlength=20) > 0).all()


@pytest.mark.parametrize("d", [2, 3, 12])
@pytest.mark.parametrize("iterations", [1, 200])
def test_there_can_be_as_many_niches_as_different_samples(d, iterations):
    places = np.random.default_rng(1).random((10, d)).astype(np.float32)
    rows = np.repeat(places, 8, axis=0)
    arguments = {"space": FeatureSpace.unit(d), "samples": rows, "seed": 2, "iterations": iterations, "threads": 1}
    assert sorted(cvt(n_niches=10, **arguments).niche_of(places)) == list(range(10))
    with pytest.raises(ValueError, match="1 of 11 niches stay empty; there are fewer different samples than niches"):
        cvt(n_niches=11, **arguments)


def test_samplers_draw_what_they_say():
    rng = np.random.default_rng(0)
    unit = SQUARE.to_unit(samplers.Ball(SQUARE)(5000, rng))
    radii = np.linalg.norm(unit - 0.5, axis=1)
    assert radii.max() <= 0.5
    # Uniform in a disc: half of the points within 0.5 / sqrt(2); five standard deviations.
    assert abs((radii < 0.5 / 2**0.5).mean() - 0.5) < 5 * 0.5 / 5000**0.5
    corner = samplers.Ball(SQUARE, center=(0.0, -1.0), radius=0.3)(500, rng)
    assert not SQUARE.outside(corner).any()
    half = samplers.Inside(SQUARE, lambda f: f[:, 0] > 5.0)(1000, rng)
    assert half[:, 0].min() > 5.0
    ramp = samplers.Density(SQUARE, lambda f: f[:, 0])(5000, rng)
    assert ramp[:, 0].mean() == pytest.approx(20 / 3, abs=5 * 2.36 / 5000**0.5)
    rows = samplers.Rows(np.array([[1.0, 0.0], [2.0, 0.5]]))(100, rng)
    assert set(rows[:, 0]) == {1.0, 2.0}


def test_samplers_never_hang():
    with pytest.raises(ValueError, match="test: only 0 of"):
        samplers.Inside(SQUARE, lambda f: np.zeros(len(f), bool))(10, np.random.default_rng(0))
    with pytest.raises(ValueError, match="0 everywhere"):
        samplers.Density(SQUARE, lambda f: np.zeros(len(f)))(10, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda rng: samplers.Inside(SQUARE, lambda f: True)(5, rng), "test: expected one value for each"),
        (
            lambda rng: samplers.Density(SQUARE, lambda f: -f[:, 0])(5, rng),
            "weight: expected numbers of at least 0",
        ),
        (lambda rng: samplers.Density(SQUARE, lambda f: f[:, 0], highest=1.0)(5, rng), "above highest"),
        (lambda rng: samplers.Ball(SQUARE, center=(1.0,)), "center: expected 2 values"),
        (lambda rng: samplers.Ball(SQUARE, radius=0.0), "radius"),
    ],
)
def test_refused_samplers(make, message):
    with pytest.raises(ValueError, match=message):
        make(np.random.default_rng(0))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_niches": 0}, "n_niches: expected a whole number of at least 1"),
        ({"n_niches": 2.5}, "n_niches"),
        ({"n_samples": 0}, "n_samples"),
        ({"n_samples": 100}, "n_samples: the exact method draws none"),
        ({"n_samples": 5, "method": "lloyd"}, "at most as many niches as samples"),
        ({"n_samples": 5, "method": "fresh"}, "at most as many niches as samples"),
        ({"seed": -1}, "seed"),
        ({"p": 0}, "p: expected a number of at least 0.05"),
        ({"iterations": -1}, "iterations"),
        ({"tolerance": -0.1}, "tolerance"),
        ({"threads": 0}, "threads"),
        ({"method": "magic"}, "method: expected one of"),
        ({"method": "exact", "p": 1}, "'exact' needs two features"),
        ({"start": "magic"}, "start: expected one of"),
        ({"start": [[1.0, 0.0]]}, "start: expected 10 centroids"),
        ({"start": "even", "samples": samplers.Ball(SQUARE)}, "'even' needs"),
        ({"samples": np.zeros((20, 3))}, r"samples: expected shape \(n, 2\)"),
        ({"samples": np.full((20, 2), np.nan)}, "samples: expected finite"),
        ({"samples": np.full((20, 2), 100.0)}, "samples: row 0 lies outside"),
        ({"samples": np.zeros((20, 2)), "n_samples": 7}, "n_samples: 7 given"),
        ({"samples": np.zeros((20, 2)), "method": "fresh"}, "an array of samples needs 'lloyd'"),
        ({"samples": np.zeros((20, 2))}, "fewer different samples than niches"),
        ({"samples": "all of them"}, "samples: expected numbers"),
    ],
)
def test_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        cvt(SQUARE, **{"n_niches": 10, "seed": 1, **arguments})


# -- volumes, densities and sequences by name --------------------------------------------------------------------------


def test_a_shell_is_hollow_and_even():
    rng = np.random.default_rng(1)
    space = FeatureSpace({"a": (0, 2), "b": (-1, 1), "c": (0, 10)})
    radii = np.linalg.norm(space.to_unit(samplers.Shell(space, 0.3, 0.5)(4000, rng)) - 0.5, axis=1)
    share = (radii**3 - 0.3**3) / (0.5**3 - 0.3**3)  # of the volume within: uniform
    assert stats.kstest(share, "uniform").pvalue > 1e-6  # false alarms: 1e-6


def test_outward_means_more_towards_the_outside():
    rng = np.random.default_rng(1)
    points = SQUARE.to_unit(samplers.Outward(SQUARE, 3.0)(4000, rng)) * 2 - 1
    assert stats.kstest(np.abs(points).max(axis=1) ** 5, "uniform").pvalue > 1e-6  # r^(d - 1 + power)
    name = SQUARE.names[1]
    points = SQUARE.to_unit(samplers.Outward(SQUARE, 1.0, (name,))(4000, rng)) * 2 - 1
    assert stats.kstest(np.abs(points[:, 1]) ** 2, "uniform").pvalue > 1e-6
    assert stats.kstest((points[:, 0] + 1) / 2, "uniform").pvalue > 1e-6
    made = cvt(SQUARE, 100, seed=1, samples=samplers.Outward(SQUARE, 6.0), iterations=20)
    plain = cvt(SQUARE, 100, seed=1)
    outer = [(np.abs(t.unit_centroids - 0.5).max(axis=1) > 0.35).sum() for t in (made, plain)]
    assert outer[0] > 1.3 * outer[1]


def test_the_hull_of_points():
    rng = np.random.default_rng(1)
    corners = SQUARE.from_unit(np.array([[0.1, 0.1], [0.9, 0.1], [0.1, 0.9], [0.2, 0.2]]))
    unit = SQUARE.to_unit(samplers.Hull(SQUARE, corners)(4000, rng)) - 0.1
    assert (unit >= -1e-12).all()
    assert (unit.sum(axis=1) <= 0.8 + 1e-12).all()
    assert stats.kstest((unit.sum(axis=1) / 0.8) ** 2, "uniform").pvalue > 1e-6


def test_samplers_by_name(tmp_path):
    np.save(tmp_path / "points.npy", SQUARE.sample(20, np.random.default_rng(1)))
    name = SQUARE.names[0]
    assert samplers.by_name("ball:0.3", SQUARE) == samplers.Ball(SQUARE, None, 0.3)
    assert samplers.by_name("shell", SQUARE) == samplers.Shell(SQUARE)
    assert samplers.by_name("shell:0.1,0.2", SQUARE) == samplers.Shell(SQUARE, 0.1, 0.2)
    assert samplers.by_name("outward:3", SQUARE) == samplers.Outward(SQUARE, 3.0)
    assert samplers.by_name(f"along:{name},3", SQUARE) == samplers.Outward(SQUARE, 3.0, (name,))
    assert samplers.by_name(f"hull:{tmp_path / 'points.npy'}", SQUARE)(5, np.random.default_rng(1)).shape == (5, 2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cloud", r"density: expected ball\[:radius\]"),
        ("ball:x", "density: expected numbers"),
        ("shell:0.5,0.3", "shell: expected radii"),
        ("shell:0.5", "density: expected ball"),
        ("outward:-1", "power: expected"),
        ("along:colour", "axes: 'colour' is not a feature"),
        ("hull:nowhere.npy", "density: cannot read nowhere.npy"),
        ("hull", "density: expected ball"),
    ],
)
def test_names_that_are_no_samplers(text, message):
    with pytest.raises(ValueError, match=message):
        samplers.by_name(text, SQUARE)


def test_points_without_a_hull():
    with pytest.raises(ValueError, match="not all in a plane"):
        samplers.Hull(SQUARE, SQUARE.from_unit(np.array([[0.1, 0.1], [0.2, 0.2], [0.3, 0.3]])))
    with pytest.raises(ValueError, match="within the bounds"):
        samplers.Hull(SQUARE, SQUARE.high + np.random.default_rng(1).random((9, 2)))


@pytest.mark.parametrize("method", ["sobol", "halton"])
def test_sequences_take_the_place_of_a_cvt(method):
    from scipy.stats import qmc

    made = cvt(SQUARE, 64, seed=1, method=method)
    assert made == cvt(SQUARE, 64, seed=1, method=method)
    assert made != cvt(SQUARE, 64, seed=2, method=method)
    assert (made.record.method, made.record.iterations, made.record.n_samples) == (method, 0, 0)
    random = np.random.default_rng(1).random((64, 2))
    assert qmc.discrepancy(made.unit_centroids) < 0.5 * qmc.discrepancy(random)
    for wrong in ({"n_samples": 9}, {"iterations": 3}, {"start": "random"}, {"samples": samplers.Ball(SQUARE)}):
        with pytest.raises(ValueError, match=r"leave|uniform"):
            cvt(SQUARE, 64, method=method, **wrong)
