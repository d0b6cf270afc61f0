"""The compiled loop of CMA-MAE gives what ask and tell give, whatever the threads, niches and ends of stretches."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

import tesselite as tl
from tesselite.search import generations
from tesselite.search.map_elites import batches

N, K, BATCH = 6, 5, 12
ROWS = K * BATCH


@njit
def rough(x):
    """Invalid in four ways: NaN, an exception, a feature that is infinite, and one that refuses its outside."""
    if x[0] > 1.2:
        return np.nan, (x[0], x[1])
    if x[1] > 1.2:
        raise ValueError("too far")
    wide = np.inf if x[2] > 1.5 else x[0] + x[3]
    return 10.0 - np.sum((x - 0.3) ** 2), (wide, x[1] + x[4])


FEATURES = tl.FeatureSpace({"a": (-1.5, 1.5), "b": (-1.5, 1.5)}, outside={"a": "nearest", "b": "refuse"})


def problem(solutions=None, direction="max", features=FEATURES):
    floor = 0.0 if direction == "max" else 20.0
    return tl.problem(solutions=solutions or tl.Reals(N), features=features, direction=direction, floor=floor)(rough)


def search_of(made, niches, **options):
    emitter = tl.emitters.cma_mae(0.1, emitters=K, batch=BATCH, **options)
    settings = {"initial": 40, "direction": made.direction, "floor": made.floor, "seed": 3}
    return tl.MapElites(made.solutions, niches, emitter=emitter, **settings)


def plainly(search, made, evaluations):
    """Ask and tell."""
    search.emitter.threads = 1
    while search.evaluations < evaluations:
        rows = search.ask(min(ROWS, evaluations - search.evaluations))
        search.tell_evaluation(made.evaluate_rows(rows, None, 1))


def compiled(search, made, evaluations, threads):
    for _ in batches(search, made, evaluations, batch_size=ROWS, threads=threads, milestone=7 * ROWS):
        pass


def everything(search):
    """The whole state of a search: elites in order of filling, counts, and the state of its emitter."""
    elites, state = search.archive.in_order_of_filling(), search.emitter.state()
    arrays = [elites.niches, elites.fitness, elites.features, elites.solutions, elites.evaluations]
    return (
        [array.tobytes() for array in arrays],
        dict(search.archive.invalid),
        search.archive.out_of_bounds,
        search.evaluations,
        {name: values.tobytes() for name, values in state.items()},
    )


AROUND = tl.FeatureSpace({"a": tl.Periodic(-1.5, 1.5), "b": (-1.5, 1.5)})
GRID = tl.GridTessellation(FEATURES, [9, 8])
CASES = {
    "grid": (problem(), GRID, {}),
    "centroids": (problem(), tl.cvt(FEATURES, 40, seed=1), {"covariance": "separable"}),
    "index of hashes": (problem(), tl.GridTessellation(FEATURES, [3000, 3000]), {"covariance": "limited"}),
    "box, minimised": (problem(tl.Box(N, -2, 2), "min"), GRID, {"mirrored": False, "anti": False, "cm": 1.0}),
    "restarts": (problem(tl.Box(N, -2, 2)), GRID, {"sigma": 1e-12}),
    "periodic": (problem(features=AROUND), tl.GridTessellation(AROUND, [9, 8]), {}),
    "a threshold given": (problem(), GRID, {"threshold_min": 5.0}),
}


@pytest.mark.parametrize("case", CASES)
def test_the_compiled_loop_gives_what_ask_and_tell_give(case, monkeypatch):
    """In three parts, the second of which ends within a generation, so that the third continues by ask and tell."""
    made, niches, options = CASES[case]
    stretches = []
    stretch = generations.CompiledGenerations._stretch

    def counted(self, evaluations, least):
        stretches.append(stretch(self, evaluations, least))
        return stretches[-1]

    monkeypatch.setattr(generations.CompiledGenerations, "_stretch", counted)
    searches = [search_of(made, niches, **options) for _ in range(3)]
    for budget in (40 + 30 * ROWS, 40 + 72 * ROWS + 17, 40 + 80 * ROWS):
        plainly(searches[0], made, budget)
        compiled(searches[1], made, budget, 1)
        compiled(searches[2], made, budget, 3)
        assert everything(searches[1]) == everything(searches[0])
        assert everything(searches[2]) == everything(searches[0])
    assert sum(stretches) == 2 * 72 * ROWS
    assert len(searches[0].archive.invalid) > 1
    if case == "restarts":
        stack = searches[1].emitter.in_whole().stack
        assert (stack.age < stack.generation).all()


def test_the_room_for_elites_and_thresholds_grows():
    """Niches enough for every row, so that stretches end where the arrays are full."""
    fine = tl.GridTessellation(FEATURES, [3000, 3000])
    made, one, other = problem(), *(search_of(problem(), fine, sigma=0.3) for _ in range(2))
    plainly(one, made, 40 + 100 * ROWS)
    compiled(other, made, 40 + 100 * ROWS, 2)
    assert everything(other) == everything(one)
    assert len(one.archive) > 1500  # several times the first room


def test_only_whole_generations_from_settled_thresholds_are_compiled():
    made = problem()
    search = search_of(made, GRID)
    assert generations.runs(search)
    plainly(search, made, 40)
    loop = generations.CompiledGenerations(search, made, 1)
    assert loop.can_run(ROWS)
    assert not loop.can_run(ROWS - 1)
    plainly(search, made, 41)
    assert not loop.can_run(ROWS)  # within a generation

    emitter = tl.emitters.cma_mae(emitters=K, batch=BATCH)
    without = tl.MapElites(made.solutions, GRID, emitter=emitter, initial=40, direction="min")  # and without a floor
    plainly(without, made, 40)
    assert not generations.CompiledGenerations(without, made, 1).can_run(ROWS)  # they follow the worst elites
    improving = tl.MapElites(made.solutions, GRID, emitter=tl.emitters.cma_me(emitters=K, batch=BATCH))
    assert not generations.runs(improving)


def test_a_niche_that_is_none_is_refused():
    @njit
    def beyond(points, floats, ints, niches):
        niches[:] = 10**12

    class Lying(tl.Tessellation):
        space = FEATURES
        n_niches = 5
        lookup = tl.lookup(beyond)

        def niches_of_unit(self, unit):
            return np.zeros(len(unit), np.int64)

        def to_dict(self):
            return {}

    made = problem()
    search = search_of(made, Lying())
    with pytest.raises(ValueError, match="expected niches from 0 to 4"):
        compiled(search, made, 40 + 3 * ROWS, 2)
