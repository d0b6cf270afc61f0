"""The readable twin of the library, fed with the library's own draws, fills the same archive."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tesselite as tl
from tesselite.base.seeds import Purpose, generator
from tesselite.compiled.fast_math import fill_normals
from tesselite.emitters.breeding import draw_parents

PAGE = Path(__file__).parent.parent / "examples" / "cvt_map_elites_in_one_page.py"
SEED, INITIAL, BATCH, EVALUATIONS, JOINTS = 7, 250, 100, 5030, 10


@pytest.fixture(scope="module")
def twin():
    spec = importlib.util.spec_from_file_location("one_page", PAGE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def draws():
    """What the library draws for a search with these settings: random solutions, parents and normals."""
    search = tl.MapElites(tl.Box(JOINTS), tl.GridTessellation(tl.FeatureSpace.unit(2), 1), seed=SEED)
    random = [
        search.solution_space.random(min(BATCH, INITIAL - first), generator(SEED, Purpose.INITIALISATION, first))
        for first in range(0, INITIAL, BATCH)
    ]

    def parents(first, n, k):
        rows = np.empty((2, n), np.int64)
        draw_parents(search.emitter.selection_key, first, k, rows)
        return rows

    def noise(first, n):
        words = (JOINTS + 2) // 2  # a word gives two normals; the last of an offspring's may stay unused
        normals = np.empty(2 * words * n)
        fill_normals(search.emitter.brood.key, np.uint64(first * words), normals)
        return normals.reshape(n, 2 * words)[:, : JOINTS + 1]

    return np.concatenate(random), parents, noise


def illuminate(twin, evaluate, niche_of):
    initial, parents, noise = draws()
    return twin.map_elites(
        evaluate,
        niche_of,
        initial,
        parents,
        lambda first, x, y: twin.iso_line(x, y, noise(first, len(x))),
        EVALUATIONS,
        BATCH,
    )


def library(tessellation):
    return tl.illuminate(
        tl.problems.arm(JOINTS),
        tessellation=tessellation,
        evaluations=EVALUATIONS,
        initial=INITIAL,
        batch_size=BATCH,
        variation=tl.variation.iso_line(0.01, 0.2),
        seed=SEED,
    )


@pytest.fixture(scope="module")
def niches(twin):
    rng = np.random.default_rng(3)
    samples = rng.random((3000, 2))
    return tl.VoronoiTessellation(tl.problems.arm(JOINTS).features, twin.cvt(samples, samples[:60], 15))


def same(archive, page, tolerance):
    """Same niches filled in the same order, by bitwise the same solutions."""
    elites = archive.in_order_of_filling()
    assert elites.niches.tolist() == list(page)
    np.testing.assert_array_equal(elites.solutions, np.array([x for _, _, x in page.values()]))
    np.testing.assert_allclose(elites.fitness, [p for p, _, _ in page.values()], rtol=0, atol=tolerance)
    np.testing.assert_allclose(elites.features, [b for _, b, _ in page.values()], rtol=0, atol=tolerance)


@pytest.mark.parametrize("kind", ["cvt", "grid"])
def test_the_same_archive_bit_by_bit(twin, niches, kind):
    # The objective is the library's, so everything else must agree to the last bit.
    problem = tl.problems.arm(JOINTS)
    if kind == "cvt":
        tessellation, niche_of = niches, lambda features: twin.nearest(features, niches.centroids)
    else:
        tessellation = tl.GridTessellation(problem.features, 12)
        niche_of = lambda features: (features * 12).astype(int).clip(0, 11) @ [12, 1]  # noqa: E731

    def evaluate(solutions):
        evaluated = problem.evaluate(solutions)
        return evaluated.fitness, evaluated.features

    archive = library(tessellation)
    assert len(archive) > 40
    same(archive, illuminate(twin, evaluate, niche_of), 0.0)


def test_the_same_archive_with_the_twins_own_arm(twin, niches):
    # NumPy sums and takes sines in another order of operations: fitness and features agree to 1e-12. The solutions
    # are still bitwise the same, since they depend on fitness only through comparisons, none of which is that close.
    page = illuminate(twin, twin.arm, lambda features: twin.nearest(features, niches.centroids))
    same(library(niches), page, 1e-12)


def test_the_librarys_cvt_is_a_fixed_point_of_the_twins():
    # Lloyd's algorithm run to its end: one more step of the twin, on the same samples, moves nothing.
    spec = importlib.util.spec_from_file_location("one_page", PAGE)
    twin = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(twin)
    samples = np.random.default_rng(5).random((2000, 2))
    niches = tl.cvt(tl.FeatureSpace.unit(2), 20, samples=samples, method="lloyd", iterations=1000, seed=1)
    assert niches.record.converged
    np.testing.assert_allclose(twin.cvt(samples, niches.centroids, 1), niches.centroids, rtol=0, atol=1e-12)
    moved = twin.cvt(samples, samples[:20], 5)
    assert np.abs(twin.cvt(samples, moved, 1) - moved).max() > 1e-6  # which is not so before the end


def test_the_page_runs_and_fits():
    assert len(PAGE.read_text().splitlines()) <= 60
    result = subprocess.run([sys.executable, PAGE], capture_output=True, text=True, check=True)
    assert "niches filled, best fitness 0.9" in result.stdout
