"""Discrete and mixed solutions: what is drawn, how it varies, how it is decoded and what files hold."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy import stats

import tesselite as tl
from tesselite.report.page.packed_arrays import PackedArrays
from tesselite.report.page.run_data import describe_run, read_run
from tesselite.runs.known_designs import Start
from tesselite.runs.plan import fingerprint
from tesselite.runs.run import resume, run

FALSE_ALARM = 1e-6  # of each statistical test
WOODS = ["steel", "oak", "pine"]
SETTINGS = {"grid": 5, "evaluations": 400, "initial": 100, "batch_size": 50, "seed": 6}


def product():
    return tl.Product(
        x=tl.Box(2, -1, 1),
        plate=tl.Box({"span_mm": (100, 500)}),
        wall=tl.Levels(1, [1, 2, 4]),
        teeth=tl.Integers(1, 8, 40),
        pair=tl.Integers(2, 0, 9),
        material=tl.Categorical(WOODS),
        order=tl.Permutation(4),
        jobs=tl.Permutation(["cut", "drill", "paint"]),
        free=tl.Reals(1),
    )


SPACES = [
    tl.Integers(3, [0, 0, -5], [1, 30, 5]),
    tl.Categorical(WOODS),
    tl.Categorical(list("abcd"), 4),
    tl.Permutation(5),
    tl.Permutation(list("xyz")),
    product(),
]


@pytest.mark.parametrize("space", SPACES, ids=lambda space: type(space).__name__)
def test_what_is_drawn_and_varied_is_of_the_space_and_decodes_and_encodes(space):
    rng = np.random.default_rng(1)
    rows = space.random(300, rng)
    assert rows.shape == (300, space.width)
    assert rows.dtype == space.dtype == np.float64
    assert np.array_equal(space.validate(rows), rows)
    parents = rows.copy()
    pairs = np.stack([parents, parents[::-1]]) if isinstance(space, tl.Product) else parents
    children = space.vary(pairs, rng)
    assert np.array_equal(space.validate(children), children)
    assert np.array_equal(parents, rows)  # the parents stay as they are
    assert (children != rows).any(axis=1).all()  # no child is its parent
    for row in children[:20]:
        assert np.array_equal(space.encode(space.decode(row)), row)
    assert len(space.variables) == space.width
    shown = [variable.read(variable.shown(rows[:, j])) for j, variable in enumerate(space.variables)]
    assert np.array_equal(np.column_stack(shown), rows)


def uniform(counts):
    """Whether these counts are those of equally likely things."""
    return stats.chisquare(counts).pvalue > FALSE_ALARM


def test_random_ones_are_uniform():
    rng = np.random.default_rng(2)
    assert uniform(np.bincount(tl.Categorical(WOODS).random(9000, rng)[:, 0].astype(int)))
    assert uniform(np.bincount(tl.Integers(1, 0, 9).random(9000, rng)[:, 0].astype(int), minlength=10))
    orders = tl.Permutation(3).random(9000, rng) @ [9, 3, 1]
    assert uniform(np.unique(orders, return_counts=True)[1])
    assert len(np.unique(orders)) == 6


def test_labels_change_to_any_other():
    space, rng = tl.Categorical(list("abcd")), np.random.default_rng(3)
    children = space.vary(np.full((9000, 1), 2.0), rng)[:, 0].astype(int)
    counts = np.bincount(children, minlength=4)
    assert counts[2] == 0
    assert uniform(counts[[0, 1, 3]])


def test_whole_numbers_take_geometric_steps_to_either_side():
    space, rng = tl.Integers(1, 0, 200), np.random.default_rng(4)
    steps = space.vary(np.full((20_000, 1), 100.0), rng)[:, 0] - 100
    assert stats.binomtest(int((steps > 0).sum()), len(steps)).pvalue > FALSE_ALARM
    short = np.abs(steps[np.abs(steps) <= 40]).astype(int)
    expected = stats.geom(1 / 20).pmf(np.arange(1, 41))
    counts = np.bincount(short, minlength=41)[1:]
    assert stats.chisquare(counts, expected / expected.sum() * counts.sum()).pvalue > FALSE_ALARM
    edge = space.vary(np.zeros((2000, 1)), rng)[:, 0]
    assert (edge >= 1).all()  # a step out of bounds goes in the other direction


def test_orders_have_any_two_places_swapped():
    space, rng = tl.Permutation(5), np.random.default_rng(5)
    parent = np.array([3.0, 1, 4, 0, 2])
    children = space.vary(np.tile(parent, (12_000, 1)), rng)
    changed = children != parent
    assert (changed.sum(axis=1) == 2).all()
    pairs = np.unique(changed, axis=0, return_counts=True)[1]
    assert len(pairs) == 10
    assert uniform(pairs)


def test_genes_change_independently_and_one_at_least():
    space, rng = tl.Integers(4, 0, 9), np.random.default_rng(6)
    n = 20_000
    changed = space.vary(np.full((n, 4), 5.0), rng) != 5.0
    # Each with probability 1/4, and if none, one of the four.
    rate = 0.25 + 0.75**4 / 4
    for j in range(4):
        assert stats.binomtest(int(changed[:, j].sum()), n, rate).pvalue > FALSE_ALARM
    only_one = (changed.sum(axis=1) == 1).mean()
    assert abs(only_one - (4 * 0.25 * 0.75**3 + 0.75**4)) < 5 * np.sqrt(0.25 / n)


def test_real_parts_vary_by_iso_line():
    space, rng = tl.Product(x=tl.Box(2, 0, 100), m=tl.Categorical(WOODS)), np.random.default_rng(7)
    mother, father = np.array([50.0, 50, 0]), np.array([60.0, 50, 1])
    pairs = np.stack([np.tile(mother, (20_000, 1)), np.tile(father, (20_000, 1))])
    children = space.vary(pairs, rng)
    iso = children[:, 1] - 50
    assert stats.kstest(iso / 1.0, "norm").pvalue > FALSE_ALARM  # 0.01 of the side
    both = (children[:, 0] - 50) / np.hypot(1.0, 0.2 * 10)
    assert stats.kstest(both, "norm").pvalue > FALSE_ALARM


# -- what a function gets ----------------------------------------------------------------------------------------------


def machine(batch=False):
    @tl.problem(solutions=product(), features={"a": (0, 1), "b": (0, 1)}, batch=batch, name="machine")
    def function(s):
        cost = s.teeth + 10.0 * (s["material"] == "oak") + s.wall
        first = s.jobs[..., 0] == "cut"
        return -cost - 1.0 * first, np.stack([s.x[..., 0] / 2 + 0.5, s.order[..., 0] / 3], axis=-1)

    return function


def test_functions_get_decoded_values():
    row = {
        "x": [0.5, -0.5], "plate": {"span_mm": 200}, "wall": 2, "teeth": 12, "pair": [3, 4], "material": "oak",
        "order": [2, 0, 1, 3], "jobs": ["paint", "cut", "drill"], "free": 7.5,
    }  # fmt: skip
    problem = machine()
    one = problem.solutions.decode(problem.solutions.validate(row)[0])
    assert (one.wall, one.teeth, one.material, one.free) == (2.0, 12, "oak", 7.5)
    assert isinstance(one.teeth, np.int64)
    assert one.pair.tolist() == [3, 4]
    assert one.order.tolist() == [2, 0, 1, 3]
    assert one.jobs.tolist() == ["paint", "cut", "drill"]
    assert one["x"].tolist() == [0.5, -0.5]
    with pytest.raises(AttributeError, match="the solution has no 'colour'; it has x, plate"):
        one.colour  # noqa: B018
    found = problem.evaluate(row)
    assert found.valid.all(), found.first_error
    assert found.fitness[0] == -(12 + 10 + 2)


def test_a_batch_gives_the_same():
    one, many = run(machine(), **SETTINGS).archive, run(machine(batch=True), **SETTINGS).archive
    assert one.equals(many)


def test_runs_resume_and_workers_agree(tmp_path):
    def stop(going):
        if going.evaluations >= 200:
            raise RuntimeError("enough")

    whole = run(machine(), **SETTINGS).archive
    with pytest.raises(RuntimeError, match="enough"):
        run(machine(), out=tmp_path / "run", progress=stop, **SETTINGS)
    assert resume(tmp_path / "run", machine()).archive.equals(whole)
    with ThreadPoolExecutor(2) as threads:
        assert run(machine(), workers=threads, **SETTINGS).archive.equals(whole)
        assert len(run(machine(), workers=threads, islands=2, **SETTINGS).archive)
    table = pq.read_table(tmp_path / "run" / "archive.parquet")
    assert set(table["material"].to_pylist()) <= set(WOODS)
    assert table["teeth"].type == "int64"
    assert {"x0", "x1", "plate.span_mm", "wall", "pair0", "order3", "jobs0", "free"} <= set(table.column_names)
    assert table["jobs0"].to_pylist()[0] in ("cut", "drill", "paint")
    assert tl.Archive.load(tmp_path / "run").equals(whole)
    again = Start.of(tmp_path / "run", machine().solutions)
    assert np.array_equal(again.rows, whole.elites().solutions)
    described = describe_run(read_run(tmp_path / "run"), PackedArrays())["archive"]
    assert next(v for v in described["variables"] if v["name"] == "material")["labels"] == WOODS


def test_other_labels_are_another_problem():
    def of(labels):
        return fingerprint(
            tl.problem(solutions=tl.Categorical(labels), features={"a": (0, 1)})(lambda label: (0, (0,)))
        )

    assert of(["a", "b"]) == of(["a", "b"]) != of(["a", "c"])


@pytest.mark.parametrize(
    ("solution", "said"),
    [
        ({"x": 0}, "expected values for x, m, got x"),
        ({"x": 5, "m": "oak"}, r"x: solutions: expected values in \[0, 1\]"),
        ({"x": 0.5, "m": "gold"}, "m: solutions: expected 1 of steel, oak, pine, got 'gold'"),
        ({"x": 0.5, "m": 1}, "m: solutions: expected 1 of steel, oak, pine, got 1"),
        ({"x": 0.5, "m": None}, "m: solutions: expected 1 of steel, oak, pine, got None"),
        ([[0.5, 7.0]], r"m: solutions: expected whole numbers in \[0, 2\] on axis 0, got 7.0"),
        ([[0.5, 0.5]], "m: solutions: expected whole numbers"),
        ([[0.5]], "expected shape"),
    ],
)
def test_what_is_not_of_the_product_is_refused(solution, said):
    with pytest.raises(ValueError, match=said):
        tl.Product(x=tl.Box(1), m=tl.Categorical(WOODS)).validate(solution)


@pytest.mark.parametrize(
    "make",
    [
        lambda: tl.Integers(2, 0, 0),
        lambda: tl.Integers(2, 0.5, 3),
        lambda: tl.Integers(0, 0, 3),
        lambda: tl.Categorical(["a"]),
        lambda: tl.Categorical(["a", "a"]),
        lambda: tl.Categorical("ab"),
        lambda: tl.Categorical([1, 2]),
        lambda: tl.Permutation(1),
        lambda: tl.Permutation(["a", "a"]),
        lambda: tl.Product(),
        lambda: tl.Product(x=3),
        lambda: tl.Permutation(3).validate([[0, 0, 1]]),
        lambda: tl.Permutation(["a", "b"]).encode(1),
        lambda: tl.variation.gaussian(0.1).check(product()),
    ],
)
def test_what_makes_no_sense_is_refused(make):
    with pytest.raises(ValueError, match=r"expected|needs"):
        make()
