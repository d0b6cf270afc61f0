"""A search that changes its niches: the elites move by the rule, and a resumed run changes them in the same places."""

from __future__ import annotations

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import tesselite as tl
from tesselite.execution.asynchronous import SteadyState, replay
from tesselite.execution.log import Logged, _checksum
from tesselite.execution.workers.farm import Result
from tesselite.runs.folder import RunFolder
from tesselite.search.map_elites import batches
from tesselite.tessellation.niches import Cvt, Grid
from tesselite.tessellation.revision import Revision

ARM = tl.problems.arm(5)
SETTINGS = {"evaluations": 4000, "initial": 300, "batch_size": 130, "seed": 4}


class Finer(Revision):
    """A grid with one cell more per axis, within twice the bounds of the elites, up to nine; it counts its rows."""

    every = 700

    def __init__(self, sees_all):
        self.sees_all = sees_all
        self.seen = 0

    def tell(self, features):
        self.seen += len(features)

    def revise(self, tessellation, features, evaluations):
        low, high = features.min(axis=0), features.max(axis=0)
        names = tessellation.space.names
        space = tl.FeatureSpace({n: (2 * a - 0.1, 2 * b) for n, a, b in zip(names, low, high, strict=True)})
        n = 5 + evaluations // self.every
        return tl.GridTessellation(space, n) if n < 10 else None

    def state(self):
        return {"seen": np.array([self.seen])}

    def restore(self, state):
        self.seen = int(state["seen"][0])


def new_search(sees_all=False, **options):
    start = tl.GridTessellation(ARM.features, 5)
    return tl.MapElites(
        ARM.solutions, start, revision=Finer(sees_all), initial=300, seed=4, direction="max", floor=0.0, **options
    )


def spend(search, evaluations, **options):
    for _ in batches(search, ARM, evaluations, batch_size=130, **options):
        pass
    return search


def test_elites_move_by_the_rule_and_keep_their_evaluations():
    search = spend(new_search(), 600)
    before = search.archive
    other = tl.GridTessellation(ARM.features, [3, 7])
    change = search.change_tessellation(other)
    best: dict[int, tl.Elite] = {}
    for i in range(len(before)):  # in order of filling: the first of equals stays
        elite = before.in_order_of_filling()[i]
        niche = other.niche_of(elite.features)
        if niche not in best or elite.fitness > best[niche].fitness:
            best[niche] = elite
    assert len(search.archive) == len(best) == len(before) - change.lost
    for found in search.archive:
        assert found.evaluation == best[found.niche].evaluation
        assert found.solution.tobytes() == best[found.niche].solution.tobytes()
    assert (change.at, change.n_niches, change.fingerprint) == (600, 21, other.fingerprint())
    assert search.archive.invalid == before.invalid
    assert search.archive.out_of_bounds == before.out_of_bounds
    spend(search, 1500)


def test_niches_change_only_when_nothing_is_out_and_only_to_those_of_the_same_features():
    search = new_search()
    search.ask(10)
    with pytest.raises(RuntimeError, match="tell the results"):
        search.change_tessellation(tl.GridTessellation(ARM.features, 2))
    search.take_back()
    with pytest.raises(ValueError, match=r"expected one of the features .*, got f0, f1"):
        search.change_tessellation(tl.GridTessellation(tl.FeatureSpace.unit(2), 2))


def test_the_compiled_loop_changes_niches_where_ask_and_tell_do():
    compiled, seen = spend(new_search(), 4000, threads=2), spend(new_search(sees_all=True), 4000)
    search = new_search()
    while search.evaluations < 4000:
        rows = search.ask(min(130, 4000 - search.evaluations))
        search.tell_evaluation(ARM.evaluate(rows))
    assert compiled.archive.equals(search.archive)
    assert seen.archive.equals(search.archive)
    assert compiled.changes == search.changes == seen.changes
    assert [change.at for change in search.changes] == [820, 1470, 2120, 2900]
    assert search.archive.n_niches == 81
    assert (search.revision.seen, seen.revision.seen) == (0, 4000)
    assert len({change.low for change in search.changes}) > 1


@pytest.mark.parametrize("at", [560, 820, 2510])
def test_a_saved_search_goes_on_with_the_niches_it_had(tmp_path, at):
    straight = spend(new_search(sees_all=True), 3500)
    spend(new_search(sees_all=True), at).save(tmp_path / "saved.parquet", embed=False)
    search = new_search(sees_all=True)
    search.restore(tmp_path / "saved.parquet")
    assert tl.Archive.load(tmp_path / "saved.parquet").equals(search.archive)
    spend(search, 3500)
    search.save(tmp_path / "resumed.parquet")
    straight.save(tmp_path / "straight.parquet")
    assert (tmp_path / "resumed.parquet").read_bytes() == (tmp_path / "straight.parquet").read_bytes()
    plain = tl.MapElites(ARM.solutions, tl.GridTessellation(ARM.features, 5), initial=300, seed=4, floor=0.0)
    with pytest.raises(ValueError, match="saved by a search with a revision"):
        plain.restore(tmp_path / "saved.parquet")


def test_centroids_and_scales_of_a_changed_tessellation_are_in_the_checkpoint(tmp_path):
    cube = tl.Scale("cube", lambda x: x**3, np.cbrt)
    bounds = {"a": (-1.0, 1.0), "b": (-1.0, 1.0)}
    spaces = [tl.FeatureSpace({n: (a * s, b * s) for n, (a, b) in bounds.items()}, scales={"a": cube}) for s in (1, 2)]
    first, second = (tl.VoronoiTessellation(s, s.sample(9, np.random.default_rng(1))) for s in spaces)
    search = tl.MapElites(tl.Box(2), first, initial=20, seed=1)
    rows = search.ask(20)
    search.tell(rows[:, 0], rows)
    search.change_tessellation(second)
    search.save(tmp_path / "a.parquet", embed=False)
    again = tl.MapElites(tl.Box(2), first, initial=20, seed=1)
    again.restore(tmp_path / "a.parquet")
    assert again.archive.tessellation == second
    assert again.archive.equals(search.archive)
    with pytest.raises(ValueError, match="cube"):
        tl.Archive.load(tmp_path / "a.parquet")


class Stop(Exception):
    """Raised by a callback."""


class Killed(BaseException):
    """Raised where a process might be killed: nothing is saved after it."""


@pytest.mark.parametrize("sees_all", [True, False])
def test_a_run_in_a_folder_resumes_across_changes(tmp_path, monkeypatch, sees_all):
    monkeypatch.setattr(Grid, "revision", Finer(sees_all))
    straight = tl.run(ARM, grid=5, out=tmp_path / "straight", **SETTINGS)
    assert len(straight.search.changes) == 4

    def stop(run):
        if run.evaluations >= 2300:
            raise Stop

    with pytest.raises(Stop):
        tl.run(ARM, grid=5, out=tmp_path / "cut", progress=stop, **SETTINGS)
    cut = tl.resume(tmp_path / "cut")
    names = ["archive.parquet", "events.jsonl"]
    assert [(tmp_path / "cut" / n).read_bytes() for n in names] == [
        (tmp_path / "straight" / n).read_bytes() for n in names
    ]
    events = [json.loads(line) for line in (tmp_path / "cut" / "events.jsonl").read_text().splitlines()]
    assert Counter(event["event"] for event in events) == {"niches": 1, "change of niches": 4}
    assert [event["at"] for event in events[1:]] == [change.at for change in cut.search.changes]
    assert tl.Archive.load(tmp_path / "cut").equals(straight.archive)


def test_a_run_that_is_killed_between_event_and_checkpoint_says_each_change_once(tmp_path, monkeypatch):
    monkeypatch.setattr(Cvt, "revision", Finer(False))
    options = {**SETTINGS, "n_niches": 12}
    straight = tl.run(ARM, out=tmp_path / "straight", **options)

    write = RunFolder.write_checkpoint

    def die(self, search):
        if len(search.changes) == 2:
            raise Killed
        write(self, search)

    with monkeypatch.context() as patched:
        patched.setattr(RunFolder, "write_checkpoint", die)
        with pytest.raises(Killed):
            tl.run(ARM, out=tmp_path / "cut", checkpoint_seconds=0, **options)
    assert tl.Archive.load(tmp_path / "cut").n_niches == 36
    resumed = tl.resume(tmp_path / "cut")
    for name in ("archive.parquet", "events.jsonl"):
        assert (tmp_path / "cut" / name).read_bytes() == (tmp_path / "straight" / name).read_bytes()
    assert resumed.archive.equals(straight.archive)


def test_a_callback_changes_niches_at_the_same_evaluations_after_a_resume(tmp_path):
    def change(run):
        if run.evaluations >= 2000 and not run.search.changes:
            run.search.change_tessellation(tl.GridTessellation(ARM.features, 4))

    straight = tl.run(ARM, grid=6, out=tmp_path / "straight", progress=change, **SETTINGS)
    tl.run(ARM, grid=6, out=tmp_path / "cut", progress=change, **{**SETTINGS, "evaluations": 1600})
    cut = tl.resume(tmp_path / "cut", evaluations=4000, progress=change)
    assert [change.at for change in cut.search.changes] == [2120]
    assert cut.archive.equals(straight.archive)
    assert cut.archive.n_niches == 16


def test_a_log_of_single_results_leads_to_the_same_changes():
    def evaluated(number, row):
        found = ARM.evaluate(row[None])
        return Result(number, float(found.fitness[0]), found.features[0], "")

    state = SteadyState(new_search(sees_all=True))
    log = []
    rng = np.random.default_rng(3)
    while state.search.evaluations < 1500:
        state.ask_up_to(4, 1500)
        number = int(rng.choice(list(state.out)))
        result = evaluated(number, state.out[number])
        log.append(Logged(result, _checksum(state.out[number])))
        state.tell(result)
    assert [change.at for change in state.search.changes] == [700, 1400]
    again = new_search(sees_all=True)
    replay(again, log, [[0, 1500]], [[0, 4]])
    assert again.archive.equals(state.search.archive)
    assert again.changes == state.search.changes


def test_curiosity_takes_its_scores_along():
    search = spend(new_search(emitter=tl.emitters.curiosity()), 600)
    before = dict(zip(*(values.tolist() for values in search.emitter.state().values()), strict=True))
    elites = {elite.evaluation: elite.niche for elite in search.archive}
    search.change_tessellation(tl.GridTessellation(ARM.features, 3))
    after = dict(zip(*(values.tolist() for values in search.emitter.state().values()), strict=True))
    assert len(after) == len(search.archive)
    assert after == {elite.niche: before[elites[elite.evaluation]] for elite in search.archive}


def test_islands_need_niches_that_stay(tmp_path, monkeypatch):
    def change(run):
        run.search.change_tessellation(tl.GridTessellation(ARM.features, 3))

    with (
        ThreadPoolExecutor(1) as workers,
        pytest.raises(ValueError, match="islands need fixed niches"),
    ):
        tl.run(ARM, grid=5, islands=2, workers=workers, progress=change, **SETTINGS)
    monkeypatch.setattr(Grid, "revision", Finer(False))
    with pytest.raises(ValueError, match="islands: expected fixed niches"):
        tl.run(ARM, grid=5, islands=2, workers=1, **SETTINGS)
