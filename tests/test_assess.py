"""Assessment in scenarios, expected best performance and expected quality: solved by hand, resumed, damaged."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest

import tesselite as tl
from tesselite.assessment.expected_quality import (
    expected_best,
    expected_quality,
    expected_share,
    histogram,
    share,
    shares_of_histogram,
)
from tesselite.assessment.scenarios import Assessment, assess, assess_run
from tesselite.base.arrow import read_parquet, write_parquet


class Calls:
    """Counts evaluations by scenario, so that a test can see what was recomputed."""

    def __init__(self):
        self.rows: dict[str | None, int] = {}
        self.fail_in: str | None = None


def toy(calls=None, scenarios=("windy", "dark"), direction="max"):
    @tl.problem(
        solutions=tl.Box(2, 0, 1),
        features={"a": (0, 1), "b": (0, 1)},
        scenarios=scenarios,
        direction=direction,
        batch=True,
    )
    def walk(x, scenario):
        if calls is not None:
            if calls.fail_in is not None and scenario == calls.fail_in:
                raise KeyboardInterrupt
            calls.rows[scenario] = calls.rows.get(scenario, 0) + len(x)
        fitness = x.sum(axis=1)
        if scenario == "windy":
            fitness = fitness - 2 * x[:, 0]
        if scenario == "dark":
            fitness = np.where(x[:, 1] > 0.5, np.nan, fitness)
        if scenario == "niche":
            fitness = fitness + 7
        return fitness, x

    return walk


def archive_of(problem, solutions, grid=10):
    archive = tl.Archive(tl.GridTessellation(problem.features, grid), 2, direction=problem.direction)
    solutions = np.array(solutions, dtype=float)
    archive.add_evaluated(solutions, problem.evaluate(solutions), 0)
    return archive


SOLUTIONS = [[0.05, 0.05], [0.25, 0.95], [0.95, 0.15]]


def test_by_hand():
    problem = toy()
    found = assess(archive_of(problem, SOLUTIONS), problem)
    assert found.settings == ("training", "windy", "dark")
    assert found.scenarios == ("windy", "dark")
    assert found.niches.tolist() == sorted(found.niches.tolist())
    rows = dict(zip(found.niches.tolist(), range(3), strict=True))
    order = [rows[n] for n in archive_of(problem, SOLUTIONS).tessellation.niche_of(np.array(SOLUTIONS)).tolist()]
    np.testing.assert_allclose(found.fitness["training"][order], [0.1, 1.2, 1.1])
    np.testing.assert_allclose(found.fitness["windy"][order], [0.0, 0.7, -0.8])
    np.testing.assert_allclose(found.fitness["dark"][order], [0.1, np.nan, 1.1])
    assert found.best("training") == pytest.approx(1.2)
    assert found.best("windy") == pytest.approx(0.7)
    assert found.best("dark") == pytest.approx(1.1)
    assert found.valid("dark") == 2
    assert found.best_niche("windy") == found.niches[order[1]]
    assert (found.elites, len(found), found.changed) == (3, 3, 0)


def test_minimised_best_and_nothing_valid():
    problem = toy(direction="min")
    found = assess(archive_of(problem, SOLUTIONS[1:2]), problem)
    assert found.best("training") == pytest.approx(1.2)
    assert found.best("dark") is None
    assert found.best_niche("dark") is None
    found = assess(archive_of(problem, SOLUTIONS), problem)
    assert found.best("windy") == pytest.approx(-0.8)
    with pytest.raises(ValueError, match="setting: expected"):
        found.best("rainy")


def test_at_most_draws_without_replacement_and_by_seed():
    problem = toy()
    archive = tl.illuminate(problem, evaluations=600, grid=20, seed=1)
    one, same, other = (assess(archive, problem, at_most=50, seed=s) for s in (1, 1, 2))
    assert len(one) == 50 == len(set(one.niches.tolist()))
    assert one.elites == len(archive) > 50
    np.testing.assert_array_equal(one.niches, same.niches)
    assert one.niches.tolist() != other.niches.tolist()
    everyone = assess(archive, problem)
    assert len(everyone) == len(archive)


def test_every_elite_is_drawn_equally_often():
    # 30 of 60 elites, 200 draws: each elite is drawn 100 +- 7.1 times; 5 sigma for 60 of them: chance below 1e-4.
    problem = toy()
    rng = np.random.default_rng(0)
    archive = archive_of(problem, rng.random((400, 2)), grid=8)
    counts = dict.fromkeys(archive.elites().niches.tolist(), 0)
    n = len(archive)
    for seed in range(200):
        for niche in assess(archive, problem, scenarios=[], at_most=n // 2, seed=seed).niches.tolist():
            counts[niche] += 1
    expected = 200 * (n // 2) / n
    assert max(abs(c - expected) for c in counts.values()) < 5 * (200 * 0.25) ** 0.5


def test_file(tmp_path):
    problem = toy()
    file = tmp_path / "assessment.parquet"
    found = assess(archive_of(problem, SOLUTIONS), problem, out=file, seed=3, spec="my:walk")
    table = pq.read_table(file)
    assert table.column_names == ["niche", "training", "windy", "dark"]
    assert table["dark"].null_count == 1
    assert table["windy"].null_count == 0
    about = json.loads(table.schema.metadata[b"tesselite"])
    assert about["format"] == 2
    assert about["problem"] == "my:walk"
    assert about["seed"] == 3
    assert about["elites"] == about["assessed"] == 3
    assert about["valid"] == {"training": 3, "windy": 3, "dark": 2}
    again = Assessment.load(file)
    np.testing.assert_array_equal(again.niches, found.niches)
    for name in found.settings:
        np.testing.assert_array_equal(again.fitness[name], found.fitness[name])
    assert again.save(tmp_path / "copy.parquet").read_bytes() == file.read_bytes()


def test_no_flipped_byte_of_an_assessment_goes_unnoticed(tmp_path):
    problem = toy()
    file = tmp_path / "assessment.parquet"
    right = assess(archive_of(problem, SOLUTIONS), problem, out=file)
    original = file.read_bytes()
    noticed = 0
    for position in range(len(original)):
        damaged = bytearray(original)
        damaged[position] ^= 1 << position % 8
        file.write_bytes(damaged)
        try:
            found = Assessment.load(file)
        except ValueError as error:
            assert str(file) in str(error)  # noqa: PT017
            noticed += 1
            continue
        assert same(found, right), position
    assert noticed > len(original) / 2


def same(one, other):
    """Whether two assessments are equal."""
    return (
        one.columns().keys() == other.columns().keys()
        and all(np.array_equal(values, other.columns()[name], equal_nan=True) for name, values in one.columns().items())
        and replace(one, niches=None, fitness={}) == replace(other, niches=None, fitness={})
    )


def test_assessments_of_the_format_without_a_digest_are_read(tmp_path):
    problem = toy()
    file = tmp_path / "assessment.parquet"
    right = assess(archive_of(problem, SOLUTIONS), problem, out=file)
    table, about = read_parquet(file)
    del about["digest"]
    write_parquet(table, about | {"format": 1}, file)
    assert same(Assessment.load(file), right)
    for wrong in ({"settings": "training"}, {"settings": None}, {"settings": ["rain"]}, {"kind": "?"}, {"format": "x"}):
        write_parquet(table, about | {"format": 1} | wrong, file)
        with pytest.raises(ValueError, match=r"assessment\.parquet: .*remove it to assess again"):
            Assessment.load(file)


MANY = [[x / 10 + 0.05, y / 10 + 0.05] for x in range(10) for y in range(2)]


def test_stopped_and_continued_computes_nothing_twice(tmp_path):
    """Except for three elites, which detect a changed problem."""
    calls = Calls()
    problem = toy(calls)
    archive = archive_of(problem, MANY)
    calls.rows.clear()
    calls.fail_in = "dark"
    file = tmp_path / "a.parquet"
    with pytest.raises(KeyboardInterrupt):
        assess(archive, problem, out=file)
    assert Assessment.load(file).settings == ("training", "windy")
    calls.fail_in = None
    seen = []
    found = assess(archive, problem, out=file, on_assessed=lambda done, total: seen.append((done, total)))
    assert calls.rows == {None: 20 + 3, "windy": 20 + 3, "dark": 20}
    assert seen[-1] == (60, 60)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    plain = assess(archive, toy())
    for name in plain.settings:
        np.testing.assert_array_equal(found.fitness[name], plain.fitness[name])
    calls.rows.clear()
    assess(archive, problem, out=file)
    assert calls.rows == {None: 3, "windy": 3, "dark": 3}


@pytest.mark.parametrize("changed", [None, "windy"])
def test_a_setting_that_was_changed_is_assessed_anew(tmp_path, changed):
    worse = [0.0]

    def problem_of(calls):
        @tl.problem(solutions=tl.Box(2), features={"a": (0, 1), "b": (0, 1)}, scenarios=["windy"], batch=True)
        def walk(x, scenario):
            calls.rows[scenario] = calls.rows.get(scenario, 0) + len(x)
            return x.sum(axis=1) - (worse[0] if scenario == changed else 0.0), x

        return walk

    calls = Calls()
    problem = problem_of(calls)
    archive = archive_of(problem, MANY)
    before = assess(archive, problem, out=tmp_path / "a.parquet")
    worse[0] = 0.5
    calls.rows.clear()
    after = assess(archive, problem, out=tmp_path / "a.parquet")
    for setting, name in ((None, "training"), ("windy", "windy")):
        less = 0.5 if setting == changed else 0.0
        np.testing.assert_allclose(after.fitness[name], before.fitness[name] - less)
        assert calls.rows[setting] == 3 + 20 * (setting == changed)
        np.testing.assert_array_equal(Assessment.load(tmp_path / "a.parquet").fitness[name], after.fitness[name])
    assert after.changed == (20 if changed is None else 0)


def test_an_elite_that_failed_is_not_tried_again_to_see_if_the_problem_changed(tmp_path):
    """It may have hung, or killed its worker."""
    seen = []

    @tl.problem(solutions=tl.Box(2), features={"a": (0, 1), "b": (0, 1)}, scenarios=["dark"])
    def walk(x, scenario):
        if scenario:
            seen.append(float(x[0]))
        return (np.nan if scenario and x[0] < 0.5 else x.sum()), x

    archive = archive_of(walk, MANY)
    assess(archive, walk, out=tmp_path / "a.parquet")
    seen.clear()
    assess(archive, walk, out=tmp_path / "a.parquet")
    assert len(seen) == 3
    assert min(seen) > 0.5


def test_one_scenario_first_the_others_later(tmp_path):
    calls = Calls()
    problem = toy(calls)
    archive = archive_of(problem, MANY)
    file = tmp_path / "a.parquet"
    assert assess(archive, problem, scenarios=["dark"], out=file).settings == ("training", "dark")
    calls.rows.clear()
    assert assess(archive, problem, out=file).settings == ("training", "windy", "dark")
    assert calls.rows == {None: 3, "windy": 20, "dark": 3}


def test_an_archive_that_went_on_is_assessed_anew(tmp_path):
    problem = toy()
    file = tmp_path / "a.parquet"
    assess(archive_of(problem, SOLUTIONS), problem, out=file)
    found = assess(archive_of(problem, [*SOLUTIONS, [0.5, 0.5]]), problem, out=file)
    assert len(found) == len(Assessment.load(file)) == 4


def test_foreign_files_are_not_overwritten(tmp_path):
    problem = toy()
    archive = archive_of(problem, SOLUTIONS)
    file = archive.save(tmp_path / "archive.parquet")
    before = file.read_bytes()
    with pytest.raises(ValueError, match="not an assessment"):
        assess(archive, problem, out=file)
    assert file.read_bytes() == before
    (tmp_path / "text.parquet").write_text("hello")
    with pytest.raises(ValueError, match="not a readable"):
        Assessment.load(tmp_path / "text.parquet")
    with pytest.raises(FileNotFoundError):
        Assessment.load(tmp_path / "none.parquet")


def test_refusals():
    problem = toy()
    archive = archive_of(problem, SOLUTIONS)
    with pytest.raises(ValueError, match="no scenario 'rainy'; it has 'windy', 'dark'"):
        assess(archive, problem, scenarios=["rainy"])
    with pytest.raises(ValueError, match="at_most"):
        assess(archive, problem, at_most=0)
    with pytest.raises(ValueError, match="empty"):
        assess(archive.empty_copy(), problem)
    with pytest.raises(ValueError, match="archive: expected one of"):
        assess(archive, toy(direction="min"))


def test_a_scenario_may_be_called_niche(tmp_path):
    problem = toy(scenarios=["scenario niche", "niche"])
    found = assess(archive_of(problem, SOLUTIONS), problem, out=tmp_path / "a.parquet")
    again = Assessment.load(tmp_path / "a.parquet")
    np.testing.assert_array_equal(again.fitness["niche"], found.fitness["niche"])
    np.testing.assert_allclose(again.fitness["scenario niche"] + 7, found.fitness["niche"])
    np.testing.assert_array_equal(again.niches, found.niches)


def test_noise_is_noticed():
    noise = np.random.default_rng(0)

    @tl.problem(solutions=tl.Box(1), features={"a": (0, 1)})
    def noisy(x):
        return noise.normal(), x

    found = assess(tl.illuminate(noisy, evaluations=50, grid=10, seed=1), noisy)
    assert found.changed == len(found)
    assert found.settings == ("training",)


def test_run_folder(tmp_path):
    from tesselite.runs.run import run

    problem = toy()
    run(problem, out=tmp_path / "run", evaluations=300, grid=5, seed=1)
    found = assess_run(tmp_path / "run", problem)
    assert Assessment.load(tmp_path / "run" / "assessment.parquet").niches.tolist() == found.niches.tolist()
    with pytest.raises(ValueError, match="not a run"):
        assess_run(tmp_path)


def test_another_draw_never_replaces_what_was_found(tmp_path):
    from tesselite.runs.run import run

    calls = Calls()
    problem = toy(calls)
    run(problem, out=tmp_path / "run", evaluations=300, grid=5, seed=1)
    everything = assess_run(tmp_path / "run", problem)
    calls.rows.clear()
    assert len(assess_run(tmp_path / "run", problem, seed=7)) == len(everything)  # all are taken, whatever the seed
    assert set(calls.rows.values()) == {3}
    few = assess_run(tmp_path / "run", problem, at_most=4, seed=3)
    assert len(few) == 4
    assert len(Assessment.load(tmp_path / "run" / "assessment.parquet")) == len(everything)
    assert len(Assessment.load(tmp_path / "run" / "assessment-4-3.parquet")) == 4
    with pytest.raises(ValueError, match="another draw of this archive's elites"):
        assess(
            tl.Archive.load(tmp_path / "run" / "archive.parquet"), problem, out=tmp_path / "run/assessment-4-3.parquet"
        )


def test_threads_do_not_matter():
    import numba

    @tl.problem(solutions=tl.Box(2), features={"a": (0, 1), "b": (0, 1)}, scenarios=["half"])
    @numba.njit
    def compiled(x, scenario):
        return (x[0] if scenario < 0 else 0.5 * x[0]), x

    archive = archive_of(compiled, np.random.default_rng(0).random((500, 2)))
    one, two = (assess(archive, compiled, threads=t) for t in (1, 2))
    for name in one.settings:
        np.testing.assert_array_equal(one.fitness[name], two.fitness[name])
    np.testing.assert_array_equal(one.fitness["half"], 0.5 * one.fitness["training"])


# -- expected best performance and expected quality ----------------------------------------------------------------


def assessed(direction="max", **fitness):
    fitness = {name: np.array(values, dtype=float) for name, values in fitness.items()}
    n = len(next(iter(fitness.values())))
    return Assessment("toy", direction, np.arange(n), fitness, n, 0, 10_000, 0, "")


def test_share_is_up_to_x_for_min_and_strictly_above_x_for_max():
    values = [1.0, 2.0, 2.0, 5.0]
    assert share(values, 2.0, "min") == 0.75  # P(X <= 2)
    assert share(values, 2.0, "max") == 0.25  # P(X > 2)
    np.testing.assert_array_equal(share(values, [0, 1, 4.9, 5], "min"), [0, 0.25, 0.75, 1])
    np.testing.assert_array_equal(share(values, [0, 1, 4.9, 5], "max"), [1, 0.75, 0.25, 0])


def test_invalid_solutions_count_and_never_reach_anything():
    values = [1.0, np.nan, 3.0, np.nan]
    assert share(values, 100.0, "min") == 0.5
    assert share(values, -100.0, "max") == 0.5
    assert share([np.nan], 0.0, "max") == 0.0


@pytest.mark.parametrize("direction", ["min", "max"])
def test_histogram_holds_the_same_shares_exactly(direction):
    rng = np.random.default_rng(2)
    values = np.round(rng.normal(size=300), 1)
    values[::7] = np.nan
    levels = np.round(np.linspace(-2, 2, 41), 1)
    counts = histogram(values, levels)
    assert counts.sum() == np.isfinite(values).sum()
    np.testing.assert_array_equal(shares_of_histogram(counts, 300, direction), share(values, levels, direction))


def test_histogram_by_hand():
    assert histogram([1, 2, 2, 3, 9], [1, 2, 4]).tolist() == [1, 2, 1, 1]
    with pytest.raises(ValueError, match="increasing"):
        histogram([1], [2, 1])


def test_expected_best_is_the_median_over_runs():
    runs = [
        assessed("min", training=[3, 1], e=[9, 8]),
        assessed("min", training=[5, 2], e=[np.nan, 7]),
        assessed("min", training=[9, 4], e=[np.nan, np.nan]),
    ]
    assert expected_best(runs) == {"training": 2.0, "e": 8.0}  # bests: 1, 2, 4 and 8, 7, infinitely bad
    assert expected_best(runs, ["e"]) == {"e": 8.0}
    assert expected_best([runs[2]]) == {"training": 4.0, "e": None}


def test_expected_quality_is_the_median_over_runs_times_scenarios():
    # Shares above 1 in the six pairs: 0, 1/2, 1, 1/2, 1/2, 1, median 1/2; above 2: 0, 0, 1/2, 1/2, 0, 1, median 1/4.
    runs = [
        assessed(training=[9, 9], e1=[0, 1], e2=[2, 0], e3=[3, 2]),
        assessed(training=[9, 9], e1=[3, 1], e2=[2, 1], e3=[4, 3]),
    ]
    quality = expected_quality(runs, [1, 2])
    assert quality.shares.shape == (6, 2)
    np.testing.assert_array_equal(quality.median, [0.5, 0.25])
    assert quality.at(1) == 0.5
    assert quality.at(2.0) == 0.25
    np.testing.assert_array_equal(quality.column(2), [0, 0, 0.5, 0.5, 0, 1])
    np.testing.assert_array_equal(quality.lower, [0.5, 0.0])
    np.testing.assert_array_equal(quality.upper, [0.875, 0.5])
    assert expected_share(runs, 1.5) == 0.5
    assert expected_share(runs, 1.5, ["training"]) == 1.0
    with pytest.raises(ValueError, match="nearest is 2"):
        quality.at(2.2)


def test_the_papers_example_counts_200_numbers():
    runs = [assessed(training=[1], **{f"e{i}": [i] for i in range(10)}) for _ in range(20)]
    assert expected_quality(runs, [0.0]).shares.shape == (200, 1)


def test_without_scenarios_the_training_setting_is_meant():
    assert expected_share([assessed(training=[1, 2])], 1) == 0.5


def test_mixtures_are_refused():
    with pytest.raises(ValueError, match="same direction"):
        expected_best([assessed("min", training=[1]), assessed("max", training=[1])])
    with pytest.raises(ValueError, match="same scenarios"):
        expected_quality([assessed(training=[1], a=[1]), assessed(training=[1], b=[1])], [0])
    with pytest.raises(ValueError, match="at least one"):
        expected_best([])
    with pytest.raises(ValueError, match="settings: expected"):
        expected_quality([assessed(training=[1])], [0], ["x"])
