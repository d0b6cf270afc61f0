"""Niches that grow with the search: against plain Python, across resumes and workers, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import tesselite as tl
from tesselite.base.seeds import Purpose, generator
from tesselite.cli import main
from tesselite.report.niche_changes import BORDER, EMPTY, OUTSIDE, picture_pixels
from tesselite.runs.folder import RunFolder
from tesselite.search.snapshots import kept_changes
from tesselite.tessellation.growing import growing_by_name
from tesselite.tessellation.growth import adapted, along_axes, grown_bounds, spanning_axes, unit_centroids
from tesselite.tessellation.niches import niches_from_dict
from tesselite.tessellation.provisional import Provisional

ARM = tl.problems.arm(5)
OPEN = tl.FeatureSpace({"x": None, "y": (0, None)})
SETTINGS = {"evaluations": 3000, "initial": 300, "batch_size": 130, "seed": 4}
KINDS = {
    "expanding": tl.expanding(60, every=400, ignore_bounds=True),
    "axes": tl.expanding(60, every=400, ignore_bounds=True, axes=1),
    "grid": tl.expanding(grid=[8, 7], every=400, ignore_bounds=True),
    "adaptive": tl.adaptive(60, every=400, ignore_bounds=True),
    "clusters": tl.cluster_elites(60, first=10, add=3, every=130, ignore_bounds=True),
}


def search_with(niches, problem=ARM, seed=4):
    return tl.MapElites(
        problem.solutions,
        niches.tessellate(problem.features, seed),
        revision=niches.revision,
        initial=300,
        seed=seed,
        floor=0.0,
    )


def test_hand_solved_bounds():
    given = np.array([[-np.inf, 0.0], [np.inf, np.inf]])
    seen = np.array([1.0, 2.0]), np.array([3.0, 10.0])
    low, high = grown_bounds(given, seen, None, 0.1, 0.0)
    np.testing.assert_allclose([low, high], [[0.8, 0.0], [3.2, 11.0]])  # a margin beyond what was seen, none beyond 0
    assert grown_bounds(given, seen, (low, high), 0.1, 0.0) is None
    wider = np.array([0.9, -5.0]), np.array([3.3, 10.0])
    np.testing.assert_allclose(grown_bounds(given, wider, (low, high), 0.1, 0.0), [[0.8, 0], [3.54, 11]])
    assert grown_bounds(given, wider, (low, high), 0.1, 0.1) is None  # 0.1 beyond 3.2 is less than a tenth of 2.4


def test_niches_stay_where_little_more_was_seen():
    space = tl.FeatureSpace({"x": None, "y": None})
    how = tl.expanding(10, outliers=0, margin=0.0)
    growth, niches = how.revision, how.tessellate(space, 1)
    growth.begin(1)
    growth.tell(np.array([[0.0, 0.0], [10.0, 10.0]]))
    niches = growth.revise(niches, np.empty((0, 2)), 1000)
    growth.tell(np.array([[10.19, 5.0]]))
    assert growth.revise(niches, np.empty((0, 2)), 2000) is None
    growth.tell(np.array([[10.21, 10.1]]))
    moved = growth.revise(niches, np.empty((0, 2)), 3000)
    assert moved.space.high.tolist() == [10.21, 10.0]


class PlainGrowth:
    """Expanding niches in plain Python, given the batches of a search: bounds, axes, nearest centroids, elites."""

    def __init__(self, unit, how):
        self.cube = self.unit = unit.tolist()
        self.how, self.learned, self.axes = how, 0, None
        self.seen, self.elites, self.low, self.high = [], {}, None, None

    def niche(self, features):
        if self.low is None:
            return tuple(features)
        scaled = [(x - a) / (b - a) for x, a, b in zip(features, self.low, self.high, strict=True)]
        squares = [sum((x - c) ** 2 for x, c in zip(scaled, row, strict=True)) for row in self.unit]
        return squares.index(min(squares))

    def insert(self, fitness, features, evaluation):
        niche = self.niche(features)
        if niche not in self.elites or fitness > self.elites[niche][0]:
            self.elites[niche] = (fitness, features, evaluation)

    def tell(self, fitness, features, first):
        for i, (f, b) in enumerate(zip(fitness.tolist(), features.tolist(), strict=True)):
            self.insert(f, b, first + i)
            self.seen.append(b)
        done = first + len(fitness)
        if done // self.how.every > first // self.how.every:
            self.revise(done)

    def revise(self, done):
        changed = False
        low, high = [], []
        for j in range(len(self.seen[0])):
            ordered = sorted(row[j] for row in self.seen)
            least, most = ordered[self.how.outliers], ordered[-1 - self.how.outliers]
            slack = self.how.margin * (most - least)
            allowed = 0.0 if self.low is None else self.how.growth * (self.high[j] - self.low[j])
            lower = self.low is None or least < self.low[j] - allowed
            higher = self.low is None or most > self.high[j] + allowed
            low.append(least - slack if lower else self.low[j])
            high.append(most + slack if higher else self.high[j])
            changed |= lower or higher
        if changed:
            self.low, self.high = low, high
            if len(low) > self.how.axes:
                self.lay_along_axes(done)
            old, self.elites = list(self.elites.values()), {}
            for elite in old:  # in the order in which niches were first filled
                self.insert(*elite)

    def lay_along_axes(self, done):
        scaled = [self.unit_of(elite[1]) for elite in self.elites.values()]
        if done >= 2 * self.learned:
            mean = [sum(column) / len(scaled) for column in zip(*scaled, strict=True)]
            left = [[x - m for x, m in zip(row, mean, strict=True)] for row in scaled]
            self.axes, self.learned, longest = [], done, None
            while len(self.axes) < self.how.axes:
                farthest = max(left, key=lambda row: sum(x * x for x in row))
                length = sum(x * x for x in farthest) ** 0.5
                axis = [x / length for x in farthest]
                parts = [sum(x * a for x, a in zip(row, axis, strict=True)) for row in left]
                left = [
                    [x - part * a for x, a in zip(row, axis, strict=True)]
                    for row, part in zip(left, parts, strict=True)
                ]
                longest = longest or length
                self.axes.append([(length / longest) ** 0.5 * a for a in axis])
        lengths = [sum(a * a for a in column) ** 0.5 for column in zip(*self.axes, strict=True)]
        self.unit = [
            [
                min(max(0.5 + sum((u - 0.5) * axis[j] for u, axis in zip(row, self.axes, strict=True)) / length, 0), 1)
                for j, length in enumerate(lengths)
            ]
            for row in self.cube
        ]

    def unit_of(self, features):
        scaled = [(x - a) / (b - a) for x, a, b in zip(features, self.low, self.high, strict=True)]
        return [min(max(x, 0.0), 1.0) for x in scaled]


@tl.problem(solutions=ARM.solutions, features=dict.fromkeys("abcdefg"))
def many(x):
    """Seven features of an arm's joints, of different sizes."""
    x = np.asarray(x)
    return 1.0 - x.var(), (*np.cos(3.0 * x), 40.0 * x.sum(), x[0] * x[1])


@pytest.mark.parametrize(
    ("problem", "how"), [(ARM, KINDS["expanding"]), (many, tl.expanding(60, every=400, axes=3))], ids=["arm", "axes"]
)
def test_expanding_agrees_with_plain_python(problem, how):
    cube = unit_centroids(min(problem.features.n, how.axes), how, 4)
    search, plain = search_with(how, problem), PlainGrowth(cube, how)
    while search.evaluations < 3000:
        first, rows = search.evaluations, search.ask(130)
        evaluated = problem.evaluate(rows)
        search.tell_evaluation(evaluated)
        plain.tell(evaluated.fitness, evaluated.features, first)
        assert len(plain.elites) == len(search.archive)
    assert len(search.changes) >= 3
    np.testing.assert_array_equal([plain.low, plain.high], [search.changes[-1].low, search.changes[-1].high])
    found = [(elite.fitness, elite.evaluation) for elite in search.archive]
    assert found == [(plain.elites[niche][0], plain.elites[niche][2]) for niche in sorted(plain.elites)]


def test_axes_by_hand():
    points = np.array(
        [[0.5, 0.5, 0.5], [0.5, 0.5, 0.5], [0.9, 0.5, 0.5], [0.1, 0.5, 0.5], [0.5, 0.7, 0.5], [0.5, 0.3, 0.5]]
    )
    np.testing.assert_allclose(
        np.abs(spanning_axes(points, 3)), [[1, 0, 0], [0, 0.5**0.5, 0]], atol=1e-12
    )  # the third never varies
    np.testing.assert_allclose(np.abs(spanning_axes(points, 1)), [[1, 0, 0]], atol=1e-12)
    assert spanning_axes(np.ones((4, 3)), 2).shape == (0, 3)
    np.testing.assert_allclose(along_axes(np.array([[0.25], [1.0]]), np.array([[0.6, -0.8, 0.0]])),
                               [[0.25, 0.75, 0.5], [1.0, 0.0, 0.5]])  # fmt: skip
    axes = spanning_axes(np.random.default_rng(1).random((50, 30)), 12)
    squares = axes @ axes.T
    np.testing.assert_allclose(squares - np.diag(squares.diagonal()), 0.0, atol=1e-12)
    assert squares[0, 0] == pytest.approx(1.0)
    assert (np.diff(squares.diagonal()) < 0.0).all()


def test_no_more_features_than_axes_change_nothing():
    assert search_of(tl.expanding(30, every=300, axes=7)).equals(search_of(tl.expanding(30, every=300)))
    assert not search_of(tl.expanding(30, every=300, axes=6)).equals(search_of(tl.expanding(30, every=300)))


def search_of(how):
    return tl.illuminate(many, tessellation=how, evaluations=900, initial=300, seed=1)


def test_features_in_a_few_dimensions_of_many_are_told_apart():
    """Forty features that are smooth curves: in a CVT of the cube nearly all share a few niches."""

    @tl.problem(solutions=tl.Box(3, -1, 1), features={f"t{i}": None for i in range(40)})
    def curve(x):
        t = np.linspace(0.1, 1.0, 40)
        return 1.0, tuple(x[0] * t + x[1] * np.sin(3.0 * t) + x[2] * t**2 + 1e-3 * np.sin(40.0 * t * x[0]))

    options = {"evaluations": 3000, "initial": 500, "seed": 1}
    cube = tl.illuminate(curve, tessellation=tl.expanding(100, every=500, axes=40, n_samples=1000), **options)
    found = tl.illuminate(curve, tessellation=tl.expanding(100, every=500), **options)
    assert len(found) > 2 * len(cube)


class PlainClusters:
    """Cluster-Elites in plain Python, given the batches of a search."""

    def __init__(self, how):
        self.how, self.elites, self.seen, self.fresh = how, [], [], []
        self.centroids, self.low, self.high, self.generation = None, None, None, 0

    def unit(self, row):
        return [(x - a) / (b - a) for x, a, b in zip(row, self.low, self.high, strict=True)]

    def nearest(self, row):
        if self.centroids is None:
            return tuple(row)
        scaled = self.unit(row)
        squares = [sum((x - c) ** 2 for x, c in zip(scaled, self.unit(c), strict=True)) for c in self.centroids]
        return squares.index(min(squares))

    def inserted(self, rows):
        best = {}
        for row in rows:
            niche = self.nearest(row[1])
            if niche not in best or row[0] > best[niche][0]:
                best[niche] = row
        return list(best.values())

    def tell(self, fitness, features, first, done):
        batch = list(zip(fitness.tolist(), features.tolist(), range(first, done), strict=True))
        self.seen += features.tolist()
        self.fresh += features.tolist()
        if done // self.how.every > first // self.how.every:
            self.cluster()
        self.elites = self.inserted(self.elites + batch)

    def cluster(self):
        old = None if self.centroids is None else (self.low, self.high)
        seen = np.sort(np.array(self.seen), axis=0)
        bounds = grown_bounds(np.array([[-np.inf] * 2, [np.inf] * 2]), (seen[2], seen[-3]), old, 0.01, 0.0)
        self.low, self.high = old if bounds is None else bounds
        points = dict.fromkeys(map(tuple, [elite[1] for elite in self.elites] + self.fresh))
        points = [p for p in points if all(a <= x <= b for x, a, b in zip(p, self.low, self.high, strict=True))]
        n_clusters = min(self.how.first + self.how.add * self.generation, self.how.n_niches)
        self.generation, self.fresh = self.generation + 1, []
        start = None
        if self.centroids is not None:

            def away(point):
                centre = self.unit(self.centroids[self.nearest(point)])
                return sum((x - c) ** 2 for x, c in zip(self.unit(point), centre, strict=True))

            self.centroids = np.array(self.centroids).clip(self.low, self.high).tolist()
            far = sorted(points, key=away, reverse=True)[: n_clusters - len(self.centroids)]
            start = np.array([*self.centroids, *map(list, far)])
        space = ARM.features.within(np.array(self.low), np.array(self.high))
        rng = generator(4, Purpose.TESSELLATION, len(self.seen))
        made = tl.cvt(space, n_clusters, samples=np.array(points), iterations=5, seed=int(rng.integers(2**32)),
                      start="random" if start is None else start)  # fmt: skip
        self.centroids = made.centroids.tolist()
        self.elites = self.inserted(self.elites)


def test_cluster_elites_agree_with_plain_python():
    how = KINDS["clusters"]
    search, plain = search_with(how), PlainClusters(how)
    while search.evaluations < 1400:
        first, rows = search.evaluations, search.ask(130)
        evaluated = ARM.evaluate(rows)
        search.tell_evaluation(evaluated)
        plain.tell(evaluated.fitness, evaluated.features, first, search.evaluations)
        found = search.archive.in_order_of_filling()
        assert found.evaluations.tolist() == [elite[2] for elite in plain.elites]
    assert [change.n_niches for change in search.changes][:4] == [10, 13, 16, 19]
    assert len(search.archive) > 20


@pytest.mark.parametrize("kind", KINDS)
def test_no_elite_is_lost_except_to_a_better_one_of_its_new_niche(kind):
    search = search_with(KINDS[kind])
    before, n_changes = None, 0
    while search.evaluations < 2600:
        rows = search.ask(130)
        evaluated = ARM.evaluate(rows)
        before = search.archive.copy()
        if kind != "clusters":  # which change before a batch is inserted
            before.add_evaluated(rows, evaluated, search.evaluations)
        search.tell_evaluation(evaluated)
        if len(search.changes) > n_changes:
            n_changes = len(search.changes)
            if kind != "clusters":
                assert search.changes[-1].lost == len(before) - len(search.archive)
            for elite in before:
                now = search.archive.get(search.archive.tessellation.niche_of(elite.features))
                assert now is not None
                assert now.evaluation == elite.evaluation or now.fitness >= elite.fitness
    assert n_changes >= 2


def test_adaptive_niches_are_where_solutions_are():
    """On a thin ring, the uniform CVT has a few niches that can be filled; most of the adaptive ones can."""

    @tl.problem(solutions=tl.Box(2, 0, 1), features={"x": (-1, 1), "y": (-1, 1)})
    def ring(x):
        angle, radius = 2 * np.pi * x[0], 0.9 + 0.01 * x[1]
        return 1.0, (radius * np.cos(angle), radius * np.sin(angle))

    options = {"evaluations": 3000, "initial": 300, "seed": 1}
    uniform = tl.illuminate(ring, n_niches=200, **options)
    run = tl.run(ring, tessellation=tl.adaptive(200, every=500), **options)
    assert len(run.archive) > 2 * len(uniform)
    assert (run.archive.tessellation.space.low == -1).all()  # bounds that are given stay
    radius = np.linalg.norm(run.archive.tessellation.centroids, axis=1)
    assert (np.abs(radius - 0.905) < 0.05).mean() > 0.6


def test_adapted_niches_keep_a_share_of_uniform_samples():
    space, how = tl.FeatureSpace.unit(2), tl.adaptive(50, uniform=0.5)
    seen = np.random.default_rng(1).random((400, 2)) * 0.1
    made = adapted(space, how, seen, None, np.random.default_rng(2))
    in_corner = (made.centroids < 0.1).all(axis=1).sum()
    assert 10 < in_corner < 40
    again = adapted(space, how, seen, None, np.random.default_rng(2))
    assert made == again


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_resumes_to_the_same_bytes(tmp_path, kind):
    straight = tl.run(ARM, tessellation=KINDS[kind], out=tmp_path / "straight", **SETTINGS)
    assert len(straight.search.changes) >= 3
    for name, budget in (("before", 260), ("between", 1210)):  # before there are niches, and between two changes
        cut = tmp_path / name
        tl.run(ARM, tessellation=KINDS[kind], out=cut, **{**SETTINGS, "evaluations": budget})
        resumed = tl.resume(cut, evaluations=SETTINGS["evaluations"])
        assert (cut / "archive.parquet").read_bytes() == (tmp_path / "straight" / "archive.parquet").read_bytes()
        assert resumed.search.changes == straight.search.changes
    assert tl.Archive.load(tmp_path / "straight").equals(straight.archive)


class Killed(BaseException):
    """Raised where a process might be killed: nothing is saved after it."""


@pytest.mark.parametrize("kind", ["expanding", "adaptive"])
@pytest.mark.parametrize("where", ["moved_to", "add_evaluated"])
def test_a_run_that_is_killed_in_the_middle_of_a_change(tmp_path, monkeypatch, kind, where):
    straight = tl.run(ARM, tessellation=KINDS[kind], out=tmp_path / "straight", **SETTINGS)
    done = getattr(tl.Archive, where)

    def die(self, *args, **options):
        fingerprint = (args[0] if where == "moved_to" else self.tessellation).fingerprint()
        if fingerprint == straight.search.changes[2].fingerprint:
            raise Killed
        return done(self, *args, **options)

    with monkeypatch.context() as patched:
        patched.setattr(tl.Archive, where, die)
        with pytest.raises(Killed):
            tl.run(ARM, tessellation=KINDS[kind], out=tmp_path / "cut", checkpoint_seconds=0, **SETTINGS)
    assert tl.resume(tmp_path / "cut").search.changes == straight.search.changes
    for name in ("archive.parquet", "events.jsonl"):
        assert (tmp_path / "cut" / name).read_bytes() == (tmp_path / "straight" / name).read_bytes()


def test_niches_that_are_not_there_yet_can_be_read(tmp_path):
    run = tl.run(ARM, tessellation=KINDS["adaptive"], out=tmp_path / "run", **{**SETTINGS, "evaluations": 260})
    archive = tl.Archive.load(tmp_path / "run")
    assert isinstance(archive.tessellation, Provisional)
    assert len(archive) == len(run.archive) == 260
    assert archive.out_of_bounds == 0


@pytest.mark.parametrize("asynchronous", [False, True])
def test_workers_give_the_same(tmp_path, asynchronous):
    how = KINDS["adaptive"]
    settings = {**SETTINGS, "evaluations": 900}
    run = tl.run(ARM, tessellation=how, out=tmp_path / "run", workers=1, asynchronous=asynchronous, **settings)
    if asynchronous:
        from tesselite.runs.run import replay

        assert replay(tmp_path / "run").archive.equals(run.archive)
    else:
        assert tl.illuminate(ARM, tessellation=how, **settings).equals(run.archive)
    assert len(run.search.changes) >= 2


@pytest.mark.parametrize("kind", KINDS)
def test_files_and_commands_hold_all_of_it(kind):
    how = KINDS[kind]
    assert niches_from_dict(json.loads(json.dumps(how.to_dict()))) == how
    words = how.command(Path("run"))
    shape = (8, 7) if kind == "grid" else None
    assert growing_by_name(words[words.index("--grow") + 1], 60, shape, 2.0) == how
    assert str(how.n_niches) in how.label or "8x7" in how.label
    assert "ignore_bounds" in how.construction


def test_archives_of_other_bounds_are_projected_on_a_common_tessellation():
    archive = tl.illuminate(ARM, tessellation=KINDS["expanding"], **SETTINGS)
    common = tl.project(archive, tl.GridTessellation(ARM.features, 5))
    assert 15 < len(common) <= 25
    assert common.best_fitness == archive.best_fitness


def test_open_bounds_and_bounds_that_are_given():
    @tl.problem(solutions=tl.Box(2, -1, 1), features=OPEN)
    def far(x):
        return 1.0, (1000 + 30 * x[0], x[1] ** 2)

    archive = tl.illuminate(far, tessellation=tl.expanding(40, every=300), evaluations=1500, initial=300, seed=1)
    space = archive.tessellation.space
    assert 965 < space.low[0] < 975
    assert 1025 < space.high[0] < 1035
    assert space.low[1] == 0.0
    assert len(archive) > 30


def test_what_is_not_finite_or_as_good_as_infinite_does_not_stretch_the_bounds():
    @tl.problem(solutions=tl.Box(2, 0, 1), features=OPEN)
    def wild(x):
        if x[0] < 0.05:
            return 1.0, (float("nan"), 1.0)
        if x[0] < 0.1:
            return 1.0, (float("inf"), 1.0)
        if x[0] < 0.15:
            return 1.0, (-1e200, 1.0)
        return 1.0, (x[0], x[1])

    archive = tl.illuminate(wild, tessellation=tl.expanding(40, every=300), evaluations=1500, initial=300, seed=1)
    assert archive.tessellation.space.low[0] > 0.0
    assert archive.invalid["a feature is NaN or infinite"] > 0
    assert archive.out_of_bounds > 0


@pytest.mark.parametrize(
    ("features", "how", "message"),
    [
        (OPEN, tl.expanding(9), "features: 'y' is 1 in all valid evaluations so far"),
        ({"x": (0, 1), "y": (0, 2)}, tl.expanding(9), "expanding: all bounds of the features are given"),
        (OPEN, tl.expanding(grid=[2, 2, 2]), "grid: expected one number for each of 2 features, got 3"),
        (
            tl.FeatureSpace({"x": (0.1, None), "y": (0, 2)}, scales={"x": "log"}),
            tl.expanding(9, ignore_bounds=True),
            "ignore_bounds: only valid for linear",
        ),
    ],
)
def test_searches_that_cannot_be(features, how, message):
    problem = tl.problem(solutions=tl.Box(2, 0, 1), features=features)(lambda x: (1.0, (x[0], 1.0)))
    with pytest.raises(ValueError, match=message):
        tl.illuminate(problem, tessellation=how, evaluations=2000, seed=1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tl.expanding(), "expanding: expected either n_niches"),
        (lambda: tl.expanding(5, grid=[2]), "n_niches: the grid has 2, got 5; leave it out"),
        (lambda: tl.expanding(grid=5), "grid: expected a whole number of cells for each feature, .*, got 5"),
        (lambda: tl.expanding(grid=()), "grid: expected a whole number of cells for each feature"),
        (lambda: tl.expanding(grid=[2.0, 2]), "grid: expected a whole number of cells for each feature"),
        (lambda: tl.expanding(0), "n_niches: expected a whole number of at least 1, got 0"),
        (lambda: tl.expanding(5, every=0), "every: expected"),
        (lambda: tl.expanding(5, margin=-1), "margin: expected a number of at least 0"),
        (lambda: tl.expanding(5, growth=float("nan")), "growth: expected a number of at least 0"),
        (lambda: tl.expanding(5, outliers=-1), "outliers: expected"),
        (lambda: tl.expanding(5, axes=0), "axes: expected a whole number of at least 1, got 0"),
        (lambda: growing_by_name("expanding:axes=2.5", 5, None, 2.0), "axes: expected a whole number"),
        (lambda: tl.adaptive(5, uniform=1.0), "uniform: expected a number of at least 0 and below 1"),
        (lambda: tl.cluster_elites(5), "first: expected at most n_niches, 5, got 50"),
        (lambda: growing_by_name("shrinking", 5, None, 2.0), "grow: expected one of expanding, adaptive, clusters"),
        (lambda: growing_by_name("adaptive", 5, (2, 2), 2.0), "grow: adaptive has no grid"),
        (lambda: growing_by_name("expanding:colour=2", 5, None, 2.0), "grow: expected options of expanding"),
        (lambda: growing_by_name("expanding:every=x", 5, None, 2.0), "every: expected a number"),
        (lambda: tl.run(ARM, tessellation=KINDS["grid"], islands=2, **SETTINGS), "islands: expected fixed niches"),
    ],
)
def test_wrong_options_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_the_command_line(tmp_path, monkeypatch, capsys):
    def call(*words):
        monkeypatch.setattr("sys.argv", ["tesselite", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code or 0

    out = str(tmp_path / "run")
    start = ["run", "arm:5", "--niches", "60", "--grow", "expanding:every=400,ignore_bounds", "--seed", "4"]
    start += ["--evaluations", "3000", "--initial", "300", "--batch-size", "130"]
    assert call(*start, "--out", out, "--json") == 0
    told = json.loads(capsys.readouterr().out)["changes"]
    assert tl.Archive.load(out).equals(tl.illuminate(ARM, tessellation=KINDS["expanding"], **SETTINGS))
    assert call("info", out) == 0
    shown = capsys.readouterr().out
    assert "expanding CVT of 60 niches" in shown
    assert "changes of niches, the last after" in shown
    assert call("info", out, "--json") == 0
    changes = json.loads(capsys.readouterr().out)["changes"]
    assert [len(changes[0]["low"]), changes[0]["at"]] == [2, 430]
    assert told == changes
    assert call("plot", out) == 0
    assert (tmp_path / "run" / "figures" / "growth.png").exists()
    assert (tmp_path / "run" / "figures" / "niches-at-changes.png").exists()
    for options, message in (
        (["--grow", "shrinking"], "grow: expected one of expanding"),
        (["--grow", "expanding"], "expanding: all bounds of the features are given"),
        (["--grow", "expanding:ignore_bounds", "--samples", "9"], "--samples: not valid together with --grow"),
    ):
        assert call("run", "arm:5", *options, "--out", str(tmp_path / "none")) == 2
        assert message in capsys.readouterr().err


def test_pictures_of_at_most_twelve_changes_are_kept():
    assert [list(kept_changes(n)) for n in (0, 1, 3)] == [[], [0], [0, 1, 2]]
    assert list(kept_changes(12)) == list(range(12))
    assert list(kept_changes(13)) == [0, 2, 4, 6, 8, 10, 12]
    for n in range(1, 200):  # what is kept later was kept before, whenever it was looked at
        assert len(kept_changes(n)) <= 12
        assert set(kept_changes(n + 1)) <= {*kept_changes(n), n}


@pytest.mark.parametrize("kind", ["clusters", "grid"])
def test_pictures_are_the_niches_right_after_changes(tmp_path, kind):
    seen = {}

    def look(run):
        n = len(run.search.changes)
        if n and n - 1 not in seen:
            seen[n - 1] = run.search.archive.tessellation

    straight = tl.run(ARM, tessellation=KINDS[kind], out=tmp_path / "straight", progress=look, **SETTINGS)
    n = len(straight.search.changes)
    pictures = RunFolder.open(tmp_path / "straight").read_pictures(n)
    assert list(pictures) == list(kept_changes(n))
    for number, picture in pictures.items():
        assert picture.tessellation == seen[number]
        assert picture.tessellation.fingerprint() == straight.search.changes[number].fingerprint
    tl.run(ARM, tessellation=KINDS[kind], out=tmp_path / "cut", **{**SETTINGS, "evaluations": 1210})
    tl.resume(tmp_path / "cut", evaluations=SETTINGS["evaluations"])
    whole, cut = (
        {file.name: file.read_bytes() for file in (tmp_path / name / "niches-at-changes").iterdir()}
        for name in ("straight", "cut")
    )
    assert whole == cut


def test_pixels_of_a_picture_by_hand():
    space = tl.FeatureSpace({"a": (0, 1), "b": (0, 1)})
    picture = tl.Archive(tl.GridTessellation(space, [2, 1]), 1)
    picture.add([[0.0], [0.0]], [1.0, 3.0], [[0.1, 0.5], [0.9, 0.5]])
    box = space.within(np.array([0.0, 0.0]), np.array([1.0, 2.0]))
    pixels = picture_pixels(picture, box, 1.0, 5.0)
    assert (pixels[:119] == OUTSIDE).all()  # above: the upper half of the box
    assert set(pixels[125:, :119].ravel()) == {3}  # the lowest fitness
    assert set(pixels[125:, 121:].ravel()) == {3 + 126}  # the middle of the range
    assert set(pixels[125:, 120]) == {BORDER}
    empty = tl.Archive(tl.GridTessellation(space, [2, 1]), 1)
    assert set(picture_pixels(empty, space, 0.0, 1.0).ravel()) == {EMPTY, BORDER}


def test_a_cvt_of_few_samples():
    few = tl.expanding(20, n_samples=40, ignore_bounds=True)
    assert niches_from_dict(json.loads(json.dumps(few.to_dict()))) == few
    assert growing_by_name(few.text(), 20, None, 2.0) == few
    older = {name: value for name, value in few.to_dict().items() if name != "n_samples"}
    assert niches_from_dict(older) == tl.expanding(20, ignore_bounds=True)
    older = {name: value for name, value in few.to_dict().items() if name != "axes"}
    assert niches_from_dict(older) == tl.expanding(20, n_samples=40, ignore_bounds=True, axes=10**9)  # learns none
    assert not np.array_equal(unit_centroids(3, few, 1), unit_centroids(3, tl.expanding(20), 1))
    with pytest.raises(ValueError, match="n_samples: the exact method draws none"):
        few.tessellate(ARM.features, 1)
    for wrong, message in (
        ({"n_niches": 20, "n_samples": 5}, "n_samples: expected"),
        ({"grid": [2], "n_samples": 9}, "CVT"),
    ):
        with pytest.raises(ValueError, match=message):
            tl.expanding(**wrong)


def test_before_there_are_bounds_nothing_is_outside():
    far = tl.problem(solutions=tl.Box(2, 0, 1), features=OPEN)(lambda x: (1.0, (5000 * x[0], 1 + 70 * x[1])))
    run = tl.run(far, tessellation=tl.expanding(9, every=600), evaluations=500, seed=1)
    assert run.archive.out_of_bounds == 0
    assert tl.illuminate(far, tessellation=tl.dns(50), evaluations=500, seed=1).out_of_bounds == 0
    with pytest.raises(ValueError, match="outside: 'y' has an open bound, so that nothing is outside"):
        tl.FeatureSpace({"x": (0, 1), "y": (0, None)}, outside="refuse")
    assert tl.spread([[0.0], [1e100], [-1e100]]) == 1.0
    assert tl.spread([[0.0, 0.0], [1e200, 1e200]]) is None  # the distance is infinite


def test_a_grid_of_numpy_numbers_is_stored_as_plain_ones():
    assert tl.expanding(grid=np.array([4, 3])) == tl.expanding(grid=(4, 3)) == tl.expanding(12, grid=[4, 3])
    assert json.dumps(tl.expanding(grid=np.array([4, 3])).to_dict())


def test_titles_survive_changes_of_bounds_and_resuming(tmp_path):
    features = tl.FeatureSpace({"a": None, "b": (0, 1)}, titles={"a": "cost in $\\x$"})

    @tl.problem(solutions=tl.Box(3, 0, 1), features=features)
    def walk(x):
        return -x[2], (x[0] * 7, x[1])

    hidden = tl.FeatureSpace({"a": (0, 1), "b": (0, 1)}, titles={"b": "B"})
    assert tl.expanding(5, ignore_bounds=True).tessellate(hidden, seed=1).space.titles == ("a", "B")
    tl.run(walk, tessellation=tl.expanding(50), evaluations=2500, seed=1, out=tmp_path / "run", progress=False)
    resumed = tl.resume(tmp_path / "run", problem=walk, evaluations=4000, progress=False)
    assert resumed.archive.tessellation.space.titles == features.titles
    from tesselite.report.niche_changes import draw_growth
    from tesselite.report.style import figure

    with figure(9, 3) as made:  # a title is not mathematics
        draw_growth(made, resumed.search.changes, features.titles, "growth")
        made.savefig(tmp_path / "growth.png")
