"""Populations without niches against plain Python, for the same draws; across resumes, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tesselite as tl
from tesselite.base.seeds import Purpose, generator
from tesselite.cli import main
from tesselite.report import plots
from tesselite.report.run_figures import plot_run
from tesselite.tessellation.competition import _fronts, _selected, nearest_others
from tesselite.tessellation.niches import niches_from_dict
from tesselite.tessellation.population import population_by_name

ARM = tl.problems.arm(5)
KINDS = {"dns": tl.dns(60), "nslc": tl.nslc(60, k=5), "rts": tl.rts(60), "rts window": tl.rts(60, window=8)}
SETTINGS = {"evaluations": 1500, "initial": 200, "batch_size": 70, "seed": 4}


class Plain:
    """A population in plain Python: a list of (fitness, features, evaluation); equal features have one, the best."""

    def __init__(self, how, seed):
        self.how, self.seed, self.members, self.memory = how, seed, [], []

    def tell(self, fitness, features, first):
        before = len(self.members)
        for i, (f, b) in enumerate(zip(fitness.tolist(), features.tolist(), strict=True)):
            same = [n for n, member in enumerate(self.members) if member[1] == b]
            if not same:
                self.members.append((f, b, first + i))
            elif f > self.members[same[0]][0]:
                self.members[same[0]] = (f, b, first + i)
        getattr(self, self.how.kind)(before)

    def dns(self, before):
        def novelty(one):
            better = [other for other in self.members if (other[0], -other[2]) > (one[0], -one[2])]
            nearest = sorted(distance(one, other) for other in better)[: self.how.k]
            return sum(nearest) / len(nearest) if nearest else float("inf")

        ranked = sorted(self.members, key=lambda one: (-novelty(one), -one[0], one[2]))
        kept = ranked[: self.how.size]
        self.members = [one for one in self.members if one in kept]

    def nslc(self, before):
        self.memory += [one for one in self.members[before:] if one[2] % 20 == 0]
        self.memory = self.memory[-self.how.size :]
        if len(self.members) <= self.how.size:
            return
        scored = []
        for one in self.members:
            others = [other for other in self.members + self.memory if other[2] != one[2]]
            nearest = sorted(others, key=lambda other: distance(one, other))[: self.how.k]
            novelty = sum(distance(one, other) for other in nearest) / len(nearest)
            scored.append((novelty, sum(other[0] < one[0] for other in nearest), one))
        kept = []
        while len(kept) < self.how.size:
            front = [s for s in scored if not any(o[0] >= s[0] and o[1] >= s[1] and o[:2] != s[:2] for o in scored)]
            scored = [s for s in scored if s not in front]
            crowded = {s[2][2]: crowding(s, front) for s in front}
            front.sort(key=lambda s: (-crowded[s[2][2]], -s[2][0], s[2][2]))
            kept += [s[2] for s in front]
        kept = kept[: self.how.size]
        self.members = [one for one in self.members if one in kept]

    def rts(self, before):
        members, new = self.members[: self.how.size], self.members[self.how.size :]
        for child in new:
            drawn = range(len(members))
            if self.how.window is not None:
                rng = generator(self.seed, Purpose.TESSELLATION, child[2])
                drawn = rng.integers(0, len(members), self.how.window).tolist()
            nearest = min(drawn, key=lambda n: distance(child, members[n]))
            if child[0] > members[nearest][0]:
                members[nearest] = child
        self.members = members


def distance(one, other):
    return sum((a - b) ** 2 for a, b in zip(one[1], other[1], strict=True)) ** 0.5


def crowding(one, front):
    total = 0.0
    for objective in (0, 1):
        ordered = sorted(front, key=lambda s: (s[objective], -s[2][0], s[2][2]))
        at = ordered.index(one)
        if at in (0, len(ordered) - 1):
            return float("inf")
        span = ordered[-1][objective] - ordered[0][objective]
        if span > 0:
            total += (ordered[at + 1][objective] - ordered[at - 1][objective]) / span
    return total


def search_with(how, seed=4, **options):
    niches = how.tessellate(ARM.features, seed)
    return tl.MapElites(ARM.solutions, niches, revision=how.revision, initial=200, seed=seed, **options)


@pytest.mark.parametrize("kind", KINDS)
def test_populations_agree_with_plain_python(kind):
    how = KINDS[kind]
    search, plain = search_with(how), Plain(how, 4)
    while search.evaluations < 900:
        first, rows = search.evaluations, search.ask(70)
        evaluated = ARM.evaluate(rows)
        evaluated.fitness[:] = evaluated.fitness.round(2)  # ties
        evaluated.features[::9] = evaluated.features[0]  # equal features, of other fitness
        search.tell_evaluation(evaluated)
        plain.tell(evaluated.fitness, evaluated.features, first)
        found = search.archive.in_order_of_filling()
        assert found.evaluations.tolist() == [member[2] for member in plain.members]
        assert found.fitness.tolist() == [member[0] for member in plain.members]
    assert len(search.archive) == 60


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=40))
@settings(max_examples=100)
def test_fronts_agree_with_their_definition(pairs):
    novelty, worse = np.array(pairs, float)[:, 0], np.array(pairs)[:, 1]
    left, front = dict(enumerate(pairs)), 0
    expected = {}
    while left:
        first = [i for i, a in left.items() if not any(b[0] >= a[0] and b[1] >= a[1] and b != a for b in left.values())]
        for i in first:
            expected[i] = front
            del left[i]
        front += 1
    assert _fronts(novelty, worse).tolist() == [expected[i] for i in range(len(pairs))]
    kept = _selected(novelty, worse, np.arange(len(pairs)), 5)
    assert len(set(kept.tolist())) == min(5, len(pairs))


@pytest.mark.parametrize(("d", "k"), [(1, 3), (2, 15), (5, 4)])
def test_nearest_others_agree_with_sorting_everybody(d, k):
    """On a lattice, where most distances are tied; some points are there twice, under one number or two."""
    rng = np.random.default_rng(d)
    points = rng.integers(0, 5, (90, d)) / 4.0
    numbers = np.concatenate([np.arange(60), rng.integers(0, 60, 30)])
    squares, who = nearest_others(60, points, numbers, k)
    for i in range(60):
        away = ((points - points[i]) ** 2).sum(axis=1)
        expected = [j for j in np.lexsort((np.arange(90), away)) if numbers[j] != numbers[i]][:k]
        assert who[i].tolist() == expected
        np.testing.assert_array_equal(squares[i], away[expected])


def test_of_two_equal_solutions_one_stays_in_dominated_novelty_search():
    """If equals dominated each other, each would have the other at a distance near 0, and both would be dropped."""
    search = search_with(tl.dns(3, k=1))
    rows = search.ask(5)
    search.tell([1.0, 1.0, 0.5, 0.4, 0.3], [[0, 0], [0, 1e-9], [1, 1], [0.5, 0.52], [0.5, 0.5]])
    assert search.archive.in_order_of_filling().evaluations.tolist() == [0, 2, 3]
    assert len(rows) == 5


@pytest.mark.parametrize("direction", ["max", "min"])
def test_both_directions(direction):
    search = search_with(tl.dns(20), direction=direction)
    for _ in range(6):
        rows = search.ask(50)
        evaluated = ARM.evaluate(rows)
        search.tell(evaluated.fitness if direction == "max" else -evaluated.fitness, evaluated.features)
    assert len(search.archive) == 20
    assert search.archive.best_fitness * (1 if direction == "max" else -1) > 0.9


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_resumes_to_the_same_bytes_and_workers_give_the_same(tmp_path, kind):
    straight = tl.run(ARM, tessellation=KINDS[kind], out=tmp_path / "straight", **SETTINGS)
    tl.run(ARM, tessellation=KINDS[kind], out=tmp_path / "cut", **{**SETTINGS, "evaluations": 200 + 7 * 70})
    resumed = tl.resume(tmp_path / "cut", evaluations=1500)
    assert resumed.archive.equals(straight.archive)
    assert (tmp_path / "cut" / "archive.parquet").read_bytes() == (
        tmp_path / "straight" / "archive.parquet"
    ).read_bytes()
    assert tl.Archive.load(tmp_path / "straight").equals(straight.archive)
    common = tl.project(straight.archive, tl.GridTessellation(ARM.features, 6))
    assert 10 < len(common) <= 36
    if kind == "dns":
        run = tl.run(ARM, tessellation=KINDS[kind], workers=1, **SETTINGS)
        assert run.archive.equals(straight.archive)


@pytest.mark.parametrize("emitter", [tl.emitters.curiosity(), tl.emitters.cma_mae(emitters=2, batch=20)])
def test_emitters_forget_who_is_gone(emitter):
    settings = {**SETTINGS, "batch_size": 40}
    search = tl.run(ARM, tessellation=tl.dns(20), emitter=emitter, **settings).search
    remembered = search.emitter.state()["niches"]
    assert len(remembered)
    assert set(remembered.tolist()) <= set(search.archive.elites().niches.tolist())


@pytest.mark.parametrize("kind", KINDS)
def test_files_and_commands_hold_all_of_it(kind):
    how = KINDS[kind]
    assert niches_from_dict(json.loads(json.dumps(how.to_dict()))) == how
    assert population_by_name(how.command(Path())[1]) == how
    assert "without niches" in how.label


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tl.dns(0), "size: expected a whole number of at least 1, got 0"),
        (lambda: tl.dns(9, k=0), "k: expected"),
        (lambda: tl.nslc(9, k=1.5), "k: expected"),
        (lambda: tl.rts(9, window=0), "window: expected"),
        (lambda: population_by_name("crowd"), "population: expected one of dns, nslc, rts, got 'crowd'"),
        (lambda: tl.run(ARM, tessellation=KINDS["dns"], islands=2, **SETTINGS), "islands: expected fixed niches"),
        (lambda: tl.run(ARM, tessellation=KINDS["rts"], patience=500, **SETTINGS), "patience: needs coverage or a QD"),
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
    start = ["run", "arm:5", "--population", "dns:size=60", "--seed", "4", "--evaluations", "1500"]
    assert call(*start, "--initial", "200", "--batch-size", "70", "--out", out) == 0
    told = capsys.readouterr()
    assert "60 solutions kept, without niches" in told.out
    assert "60 solutions  best" in told.err
    assert "coverage" not in told.err
    assert tl.Archive.load(out).equals(tl.illuminate(ARM, tessellation=KINDS["dns"], **SETTINGS))
    assert call("info", out) == 0
    shown = capsys.readouterr().out
    assert "population of 60 without niches (dns:size=60)" in shown
    assert "60 solutions, without niches" in shown
    assert call("info", out, "--json") == 0
    figures = json.loads(capsys.readouterr().out)
    assert (figures["n_niches"], figures["coverage"], figures["qd_score"]) == (None, None, None)
    assert call("resume", out, "--json") == 0
    assert json.loads(capsys.readouterr().out)["n_niches"] is None
    assert call("assess", out) == 0
    shown = capsys.readouterr().out
    assert "without niches, spread" in shown
    assert "niche  " not in shown
    assert call("assess", out, "--json") == 0
    (figures,) = json.loads(capsys.readouterr().out)["runs"]
    assert (figures["n_niches"], figures["qd_score"], figures["settings"]["training"]["niche"]) == (None, None, None)
    assert "<th>kept</th><td>60 solutions, without niches</td>" in tl.Archive.load(out)._repr_html_()
    assert call("plot", out) == 0
    assert call("report", out) == 0
    assert "in a CVT of 60 niches" in (tmp_path / "run" / "report.html").read_text()
    assert call("run", "arm:5", "--population", "dns", "--grid", "4", "--out", str(tmp_path / "none")) == 2
    assert "--population: has no niches" in capsys.readouterr().err


def test_pictures_of_three_features_show_all_solutions(tmp_path, monkeypatch):
    @tl.problem(solutions=tl.Box(3), features={"a": (0, 1), "b": (0, 1), "c": (0, 1)})
    def corner(x):
        return -float(x @ x), x

    run = tl.run(
        corner, tessellation=tl.dns(20), evaluations=300, initial=50, seed=1, out=tmp_path / "run", progress=False
    )
    drawn, said = [], []
    monkeypatch.setattr(plots, "archive", lambda archive, ax, **_: drawn.append(len(archive)))
    monkeypatch.setattr(plots, "pairs", lambda archive, ax, **_: drawn.append(len(archive)))
    plot_run(run.folder, say=said.append)
    assert drawn == [20, 20]
    assert not any("CVT" in line for line in said)
