"""Several runs in one page: groups, figures, shares of elites, and tests, against numbers worked out here."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

from report_runs import bowl_run, walk_run
from tesselite.assessment.common_niches import common_niches
from tesselite.assessment.metrics import project
from tesselite.execution.islands import Islands
from tesselite.report.page.groups import compare, group_names
from tesselite.report.page.html import document_of, write_report
from tesselite.report.page.packed_arrays import plain
from tesselite.report.page.run_data import read_run
from tesselite.tessellation.niches import Cvt, Given


@pytest.fixture(scope="module")
def bowls(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bowls")
    small = [bowl_run(folder / f"small-{seed}", 2, seed=seed, grid=6, n_niches=None) for seed in range(3)]
    large = [bowl_run(folder / f"large-{seed}", 2, seed=seed, grid=30, n_niches=None) for seed in range(3)]
    return [read_run(run) for run in (*small, *large)]


def test_runs_that_differ_only_in_the_seed_are_a_group(bowls):
    assert group_names(bowls) == ["grid 6x6"] * 3 + ["grid 30x30"] * 3
    assert group_names(bowls[:3]) == ["bowl"] * 3


def test_groups_are_told_apart_by_how_their_niches_were_made_and_by_how_they_searched(bowls):
    def planned(run, **parts):
        return replace(run, stored=replace(run.stored, planned=replace(run.stored.planned, **parts)))

    islands = [planned(run, execution=Islands(n=4, exchange=1000)) for run in bowls[:3]]
    assert group_names([*bowls[:3], *islands]) == ["one search"] * 3 + ["4 islands, exchange every 1,000"] * 3
    few = planned(bowls[0], niches=Cvt(36, n_samples=1000, method="lloyd"))
    default = planned(bowls[1], niches=Cvt(36))
    assert group_names([few, default]) == ["lloyd, 1,000 samples", "default method, default samples"]
    assert group_names([bowls[0], default]) == ["grid 6x6", "CVT of 36 niches"]
    others = [planned(bowls[0], niches=Given(36, name)) for name in ("1234567", "7654321")]
    assert group_names(others) == ["centroids 123456", "centroids 765432"]


def test_a_reader_is_told_of_unfinished_runs_and_of_pairs_that_were_left_out(bowls):
    killed = replace(bowls[0], state="stopped", evaluations=500)
    found = compare([killed, *bowls[1:]], group_names(bowls))
    assert any("small-0 is not finished: 500 of 2,000 evaluations" in note for note in found["notes"])
    many = [run for run in bowls for _ in range(3)]
    found = compare(many, [f"g{i // 2}" for i in range(18)])
    assert any("first 30 of 36 pairs" in note for note in found["notes"])


def test_a_run_counts_once(tmp_path):
    folder = bowl_run(tmp_path / "run", 2)
    with pytest.raises(ValueError, match="the same run folder is given twice"):
        write_report([folder, folder / ".." / "run"], tmp_path / "page.html")


def test_measures_and_tests(bowls):
    found = compare(bowls, group_names(bowls))
    assert found["groups"] == ["grid 6x6", "grid 30x30"]
    measures = {measure["label"]: measure for measure in found["measures"]}
    common = common_niches([run.plan.niches for run in bowls], [run.archive for run in bowls]).niches
    filled = [float(len(project(run.archive, common))) for run in bowls]
    label, tested = "Filled niches, common niches", "Coverage, common niches"
    assert measures[label]["values"] == filled
    n, median, lower, upper, low, high = measures[label]["summaries"][1]
    assert n == 3
    assert median == np.median(filled[3:])
    assert (lower, upper) == tuple(np.quantile(filled[3:], [0.25, 0.75]))
    assert low == min(filled[3:])  # of three values the interval is all of them
    assert high == max(filled[3:])
    tests = {test["measure"]: test for test in found["tests"]}
    assert set(tests) == set(measures) - {label}  # on common niches it is the test of coverage once more
    p = mannwhitneyu(filled[:3], filled[3:]).pvalue
    assert tests[tested]["p"] == pytest.approx(p)
    assert p <= tests[tested]["p_holm"] <= min(1.0, p * len(tests)) + 1e-12


def test_shares_count_elites(bowls):
    quality = compare(bowls, group_names(bowls))["quality"]
    assert [q["setting"] for q in quality] == ["training"]
    for run, shares in zip(bowls, quality[0]["shares"], strict=True):
        fitness = run.archive.elites().fitness
        for level, share in list(zip(quality[0]["levels"], shares, strict=True))[::20]:
            assert share == pytest.approx((fitness > level).mean(), abs=1e-5)


def test_scenarios_are_compared_where_all_were_assessed(tmp_path, bowls):
    runs = [read_run(walk_run(tmp_path / f"walk-{seed}", seed=seed, n_niches=60)) for seed in (1, 2)]
    found = compare(runs, group_names(runs))
    assert [q["setting"] for q in found["quality"]] == ["training", "all 2 scenarios"]
    # At the highest level all valid elites count (lower is better); at night only some are valid.
    for run, shares in zip(runs, found["quality"][1]["shares"], strict=True):
        valid = [np.isfinite(fitness).mean() for fitness in run.scenarios.values()]
        assert shares[-1] == pytest.approx(np.median(valid), abs=1e-5)
    label = "Best fitness, median of 2 scenarios"
    values = next(measure["values"] for measure in found["measures"] if measure["label"] == label)
    assert values == pytest.approx([np.median([np.nanmin(f) for f in run.scenarios.values()]) for run in runs])
    assert found["tests"] == []
    mixed = compare([*runs, *bowls], group_names([*runs, *bowls]))
    assert "quality" not in mixed
    assert any("different problems" in note for note in mixed["notes"])
    assert any("some minimise" in note for note in mixed["notes"])


def test_runs_that_fail_in_the_scenarios_are_ranked_last(tmp_path):
    """As in `tesselite compare`: an archive without a valid elite is infinitely bad, not missing."""
    folders = [walk_run(tmp_path / f"{n}-{seed}", seed=seed, n_niches=n) for n in (40, 60) for seed in (1, 2, 3)]
    runs = [read_run(folder) for folder in folders]
    for run in runs[:2]:
        for fitness in run.scenarios.values():
            fitness[:] = np.nan
    found = compare(runs, group_names(runs))
    test = next(test for test in found["tests"] if test["measure"] == "Best fitness, median of 2 scenarios")
    assert test["runs"] == [3, 3]
    assert test["medians"][0] == np.inf  # lower is better
    assert test["a12"] >= 2 / 3
    document, _ = document_of(runs)
    measure = next(m for m in document["comparison"]["measures"] if "scenarios" in m["label"])
    assert plain(measure)["values"][:2] == [None, None]


def test_a_page_of_one_run_compares_nothing(bowls):
    assert "comparison" not in document_of(bowls[:1])[0]
    document, _ = document_of(bowls)
    assert [run["group"] for run in document["runs"]] == group_names(bowls)
