"""Runs with different niches, or without, are compared on common ones, and this is reported."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest

import tesselite as tl
from tesselite.assessment.common_niches import common_niches
from tesselite.assessment.folder_comparison import compare_folders
from tesselite.assessment.scenarios import assess_run
from tesselite.cli.app import main
from tesselite.report.page.groups import compare, group_names
from tesselite.report.page.run_data import read_run
from tesselite.tessellation.niches import Cvt, Grid
from tesselite.tessellation.provisional import Provisional

SPACE = tl.FeatureSpace({"a": (0, 1), "b": (0, 1)})
OPEN = tl.FeatureSpace({"a": None, "b": (0, 1)})


def archive_on(niches, features):
    found = tl.Archive(niches, 1)
    rows = np.asarray(features, float)
    found.add(np.zeros((len(rows), 1)), np.ones(len(rows)), rows)
    return found


def test_runs_that_asked_for_the_same_are_compared_as_they_are():
    one, other = (archive_on(tl.cvt(SPACE, 9, seed=seed), [[0.1, 0.1]]) for seed in (1, 2))
    assert common_niches([Cvt(9), Cvt(9)], [one, other]).niches is None
    assert common_niches([Cvt(9), Cvt(9)], [one, other], 5).niches.n_niches == 5
    rough = archive_on(tl.GridTessellation(SPACE, 2), [[0.1, 0.1]])
    found = common_niches([Cvt(9), Grid((2, 2))], [one, rough])
    assert found.niches.n_niches == 4  # as many as the run with the fewest has
    assert found.niches.space == SPACE
    assert "the runs have different niches" in found.note
    # Grids of one shape within other bounds are not the same niches.
    wider = archive_on(tl.GridTessellation(SPACE.within(np.zeros(2), np.full(2, 10.0)), 2), [[0.1, 0.1], [7, 3]])
    found = common_niches([Grid((2, 2))] * 2, [rough, wider])
    np.testing.assert_array_equal([found.niches.space.low, found.niches.space.high], [[0.1, 0.1], [7, 3]])


def test_open_bounds_are_those_of_all_elites():
    one = archive_on(Provisional(OPEN), [[-3.0, 0.2], [1.0, 0.9]])
    other = archive_on(Provisional(OPEN), [[5.0, 0.2]])
    found = common_niches([tl.dns(7), tl.rts(30)], [one, other])
    np.testing.assert_array_equal([found.niches.space.low, found.niches.space.high], [[-3, 0], [5, 1]])
    assert found.niches.n_niches == 7
    assert "some runs have no niches" in found.note


def test_other_features_cannot_be_projected():
    one = archive_on(Provisional(OPEN), [[0.0, 0.0]])
    other = archive_on(tl.GridTessellation(tl.FeatureSpace({"c": (0, 1)}), 3), [[0.5]])
    with pytest.raises(ValueError, match=r"same features in all.*2 features \(a, b\) and 1 \(c\).*tesselite.project"):
        common_niches([tl.dns(7), Grid((3,))], [one, other])
    fixed = archive_on(tl.GridTessellation(SPACE, 3), [[0.5, 0.5]])
    found = common_niches([Grid((3, 3)), Grid((3,))], [fixed, other])
    assert found.niches is None
    assert "cannot be compared" in found.note
    with pytest.raises(ValueError, match="n_niches: expected"):
        common_niches([Grid((3,))], [other], 0)


WALK = """import tesselite as tl

@tl.problem(solutions=tl.Box(2), features={"a": (0, 1), "b": (0, 1)}, scenarios=["half"], batch=True)
def walk(x, scenario=None):
    return x.sum(axis=1) * (0.5 if scenario else 1.0), x
"""


@pytest.fixture
def runs(tmp_path, monkeypatch):
    from tesselite.problems import by_name

    monkeypatch.chdir(tmp_path)
    (tmp_path / "toy_common.py").write_text(WALK)
    problem = by_name("toy_common:walk")
    kinds = {"cvt": {"n_niches": 16}, "dns": {"tessellation": tl.dns(20)}}
    kinds["grown"] = {"tessellation": tl.expanding(12, every=100, ignore_bounds=True)}
    for name, niches in kinds.items():
        for seed in (1, 2):
            tl.run(problem, out=tmp_path / f"{name}-{seed}", evaluations=400, initial=100, seed=seed, **niches)
    return tmp_path


def test_folders_are_compared_on_common_niches(runs):
    groups = {name: [runs / f"{name}-{seed}" for seed in (1, 2)] for name in ("cvt", "dns", "grown")}
    comparison, measures = compare_folders(groups)
    assert "common CVT of 12 niches (some runs have no niches)" in comparison.note
    assert "coverage, common niches" in [measure.label for measure in measures]
    for name, folders in groups.items():
        for trial, folder in zip(comparison.group(name).trials, folders, strict=True):
            archive = tl.Archive.load(folder)
            assert trial.metrics.n_niches == 12
            assert trial.metrics.filled <= min(12, len(archive))
            assert trial.metrics.best_fitness == archive.best_fitness
            assert trial.assessed == len(archive)  # all solutions, not only those in common niches


def test_the_command_line_and_the_page_say_so(runs, monkeypatch, capsys):
    def call(*words):
        monkeypatch.setattr("sys.argv", ["tesselite", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code or 0

    sets = ["dns-1", "dns-2", "--against", "cvt-1", "cvt-2"]
    assert call("compare", *sets, "-o", "c", "--json") == 0
    said = capsys.readouterr()
    found = json.loads(said.out)
    assert "Note: coverage, filled niches and QD score are those after projection on a common CVT of 16" in said.err
    assert len(found["notes"]) == 1
    assert "coverage, common niches" in [row["measure"] for row in found["tests"]]
    assert "projection on a common CVT of 16 niches" in (runs / "c" / "comparison.md").read_text()
    assert not (runs / "c" / "figures" / "progress_coverage.png").exists()
    assert call("compare", "cvt-1", "--against", "cvt-2", "--niches", "0", "-o", "d") == 2
    assert "n_niches: expected a whole number of at least 1" in capsys.readouterr().err

    shown = [read_run(runs / name) for name in ("dns-1", "dns-2", "cvt-1", "cvt-2")]
    described = compare(shown, group_names(shown))
    assert "Coverage, common niches" in [measure["label"] for measure in described["measures"]]
    assert "on a common CVT of 16 niches" in described["notes"][0]


def test_a_population_that_was_assessed_shows_its_scenarios(runs):
    assess_run(runs / "dns-1")
    run = read_run(runs / "dns-1")
    assert not any("continued after it was assessed" in note for note in run.notes)
    elites = run.archive.elites()
    np.testing.assert_allclose(run.scenarios["half"], elites.fitness / 2)
    assert len(run.population) > len(elites)
    assert all(one != other for one, other in pairwise(elites.evaluations))
