"""Comparison of groups of runs: numbers solved by hand, tables, the structure of figures, the command."""

from __future__ import annotations

import csv
import io
import json
import math
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from tesselite.assessment.comparison import Comparison, Group, Measure
from tesselite.assessment.expected_quality import even_levels, histogram
from tesselite.assessment.folder_comparison import check_comparable, compare_folders
from tesselite.assessment.metrics import Metrics
from tesselite.assessment.trial import Trial
from tesselite.report.comparison_figures import (
    Mark,
    colours,
    comparison_figures,
    draw_best,
    draw_niches_and_spread,
    draw_progress,
    draw_quality,
)
from tesselite.report.style import figure

LEVELS = (0.0, 1.0, 2.0, 3.0)


def trial(group, number, fitness, *, direction="max", coverage=0.5, spread=0.4, progress=None):
    """A trial from the fitness of its elites in each setting, the first of which is training."""
    fitness = {name: np.array(values, dtype=float) for name, values in fitness.items()}
    choose = np.nanmax if direction == "max" else np.nanmin
    best = {name: None if np.isnan(v).all() else float(choose(v)) for name, v in fitness.items()}
    n = len(next(iter(fitness.values())))
    return Trial(
        group=group,
        number=number,
        seed=number,
        direction=direction,
        settings={"problem": "toy", "evaluations": 100},
        metrics=Metrics(n, 10, coverage, 1.0, 0.0, best["training"], 0.0, spread),
        assessed=n,
        changed=0,
        levels=LEVELS,
        best=best,
        valid={name: int(np.isfinite(v).sum()) for name, v in fitness.items()},
        histograms={name: tuple(histogram(v, LEVELS).tolist()) for name, v in fitness.items()},
        progress=progress
        or {"evaluations": [10, 100], "coverage": [0.1, coverage], "best_fitness": [1, 2], "qd_score": [None, 1]},
    )


def groups():
    a = [
        trial("a", 0, {"training": [1, 3], "e1": [0.5, 1.5], "e2": [2.5, 3.5]}, coverage=0.2),
        trial("a", 1, {"training": [2, 5], "e1": [1.5, 2.5], "e2": [np.nan, 0.5]}, coverage=0.4),
        trial("a", 2, {"training": [2, 4], "e1": [1.5, 0.5], "e2": [np.nan, np.nan]}, coverage=0.3),
    ]
    b = [trial("b", i, {"training": [1, i], "e1": [i, i], "e2": [0, 0]}, spread=None) for i in range(2)]
    return Group("a", "A", tuple(a), "x"), Group("b", "B", tuple(b), "y", ours=True)


def test_expected_best_by_hand():
    comparison = Comparison(groups())
    a, _ = comparison.groups
    assert comparison.settings == ("training", "e1", "e2")
    assert comparison.bests(a, "training").tolist() == [3, 5, 4]
    assert comparison.expected_best(a, "training") == 4
    assert comparison.bests(a, "e2").tolist() == [3.5, 0.5, -math.inf]  # no valid solution is infinitely bad
    assert comparison.expected_best(a, "e2") == 0.5
    assert comparison.estimate(a, Measure("best", "", average=True)).value == (1.5 + 0.5) / 2


def test_boxes_say_how_many_runs_failed():
    trials = tuple(trial("a", i, {"training": [1.0], "e": [v]}) for i, v in enumerate((3.0, 3.5, *[np.nan] * 3)))
    comparison = Comparison((Group("a", "A", trials),))
    assert comparison.expected_best(comparison.groups[0], "e") == -math.inf
    with figure() as made:
        draw_best(made, comparison)
        assert [text.get_text() for ax in made.axes for text in ax.texts] == ["3 of 5 failed"]


@pytest.mark.parametrize("runs", [1, 5, 6])
def test_few_runs_are_dots(runs):
    trials = tuple(trial("a", i, {"training": [1.0 + i]}) for i in range(runs))
    with figure() as made:
        draw_best(made, Comparison((Group("a", "A", trials),)))
        dots = [line.get_ydata().tolist() for ax in made.axes for line in ax.lines if line.get_marker() == "o"]
    assert dots == ([] if runs == 6 else [[1.0 + i for i in range(runs)]])


def test_quality_is_over_runs_times_scenarios():
    comparison = Comparison(groups())
    a, _ = comparison.groups
    quality = comparison.quality(a)
    assert quality.shares.shape == (6, 4)
    # Share above 1 in e1, e2 of each run: 1/2, 1; 1, 0; 1/2, 0.
    assert quality.column(1.0).tolist() == [0.5, 1, 1, 0, 0.5, 0]
    assert quality.at(1.0) == 0.5
    assert comparison.quality(a, ["training"]).column(2.0).tolist() == [0.5, 0.5, 0.5]


def test_measures():
    comparison = Comparison(groups())
    a, b = comparison.groups
    assert comparison.values(a, Measure("coverage", "")).tolist() == [0.2, 0.4, 0.3]
    assert comparison.values(b, Measure("spread", "")).tolist() == []
    # The median over the scenarios of each run.
    assert comparison.values(a, Measure("best", "")).tolist() == [2.5, 1.5, -math.inf]
    assert comparison.values(a, Measure("share", "", x=1.0)).tolist() == [0.75, 0.5, 0.25]
    assert len(comparison.values(a, Measure("share", "", x=1.0, pooled=True))) == 6
    with pytest.raises(ValueError, match="kind: expected"):
        comparison.values(a, Measure("luck", ""))
    with pytest.raises(ValueError, match="group: expected one of a, b"):
        comparison.group("c")


def test_scale_turns_fitness_and_levels_into_shown_units():
    plain, scaled = Comparison(groups()), Comparison(groups(), "speed", 0.2)
    a = plain.groups[0]
    assert scaled.expected_best(a, "training") == pytest.approx(0.8)
    assert scaled.quality(a).at(0.2) == plain.quality(a).at(1.0)


def test_tables():
    comparison = Comparison(groups(), training_name="open")
    metrics = comparison.metrics_table([Measure("share", "share > 1", x=1.0)])
    assert list(metrics.columns) == [
        "pair", "runs", "filled niches", "coverage", "spread", "QD score", "best found, open",
        "best assessed, open", "best assessed, median scenario", "share > 1",
    ]  # fmt: skip
    assert metrics.rows[0][:2] == ["A", 3]
    assert metrics.rows[0][3] == "0.3 [0.25, 0.35]"
    assert metrics.rows[1][4] is None
    best = comparison.best_table()
    assert [row[0] for row in best.rows] == ["open", "e1", "e2"]
    assert best.rows[0][1] == "4 [3.5, 4.5]"
    tests = comparison.tests_table([("a", "b")], [Measure("coverage", "coverage"), Measure("spread", "spread")])
    assert len(tests.rows) == 1  # b has no spread
    row = dict(zip(tests.columns, tests.rows[0], strict=True))
    assert row["A12"] == 0.0
    assert row["U"] == 0.0
    assert row["p"] == row["p (Holm)"] == pytest.approx(0.1386, abs=1e-4)  # b's two are tied: the normal approximation
    both = comparison.tests_table([("a", "b")], [Measure("coverage", "coverage"), Measure("best", "best", "e1")])
    rows = [dict(zip(both.columns, row, strict=True)) for row in both.rows]
    assert len(rows) == 2
    for row in rows:  # two tests with the same p: each is doubled
        assert row["p (Holm)"] == pytest.approx(2 * row["p"]) == pytest.approx(0.2773, abs=1e-4)
    data = comparison.data_table([Measure("share", "share > 1", x=1.0)])
    assert len(data.rows) == 5
    assert data.rows[2][-1] == 0.25
    read = list(csv.DictReader(io.StringIO(data.to_csv())))
    assert [float(row["share > 1"]) for row in read] == [row[-1] for row in data.rows]
    quality = comparison.quality_table()
    assert [row[0] for row in quality.rows] == list(LEVELS)
    assert len(quality.columns) == 5


def test_observations_that_are_not_runs_do_not_count_for_the_correction():
    comparison = Comparison(groups())
    alone = comparison.tests_table([("a", "b")], [Measure("coverage", "coverage")]).rows
    pooled = Measure("share", "pooled", x=1.0, pooled=True)
    both = comparison.tests_table([("a", "b")], [pooled, Measure("coverage", "coverage")]).rows
    assert both[1:] == alone
    assert both[0][-1] is None
    assert both[0][3:5] == [6, 4]  # three runs and two, in two scenarios


def test_the_best_assessed_is_tested_only_where_it_is_not_the_best_found():
    def with_found(trial, best):
        return replace(trial, metrics=replace(trial.metrics, best_fitness=best))

    found, best = Measure("found", "found"), Measure("best", "best", "training")
    same = [
        replace(group, trials=tuple(with_found(trial, trial.best["training"]) for trial in group.trials))
        for group in groups()
    ]
    rows = Comparison(tuple(same)).tests_table([("a", "b")], [found, best]).rows
    assert [row[0] for row in rows] == ["found"]
    first, *rest = same[0].trials
    same[0] = replace(same[0], trials=(with_found(first, 100.0), *rest))
    rows = Comparison(tuple(same)).tests_table([("a", "b")], [found, best]).rows
    assert [row[0] for row in rows] == ["found", "best"]


def test_what_does_not_fit_together_is_refused():
    a, b = groups()
    with pytest.raises(ValueError, match="at least one trial"):
        Comparison((replace(a, trials=()),))
    with pytest.raises(ValueError, match="in each"):
        Comparison((a, replace(b, trials=())))
    other = replace(b.trials[0], direction="min")
    with pytest.raises(ValueError, match="b trial 0 differs from a trial 0"):
        Comparison((a, replace(b, trials=(other,))))


def test_trials_survive_their_file(tmp_path):
    one = groups()[0].trials[2]
    again = Trial.load(one.save(tmp_path / "deep" / "000.json"))
    assert again == one
    assert max(len(line) for line in (tmp_path / "deep" / "000.json").read_text().splitlines()) < 200
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(ValueError, match="not the summary of a trial"):
        Trial.load(tmp_path / "bad.json")
    file = tmp_path / "deep" / "000.json"
    text = file.read_text()
    file.write_text(text.replace('"assessed": ', '"assessed": 1', 1))
    with pytest.raises(ValueError, match=r"000\.json: damaged.*its content is not what was written"):
        Trial.load(file)
    older = {name: value for name, value in json.loads(text).items() if name != "digest"} | {"format": 1}
    file.write_text(json.dumps(older))  # format 1 had no digest
    assert Trial.load(file) == one


# -- figures -------------------------------------------------------------------------------------------------------


def test_families_share_a_hue_and_no_two_groups_a_colour():
    a, b = groups()
    many = [replace(a, name=f"a{i}") for i in range(6)] + [replace(b, name=f"b{i}") for i in range(4)]
    chosen = colours(many)
    assert len({tuple(np.round(c, 3)) for c in chosen.values()}) == 10
    families = colours([replace(a, name=f"a{i}", family=f"f{i}") for i in range(12)])
    assert len({tuple(np.round(c, 3)) for c in families.values()}) == 12


def test_names_are_no_formulas(tmp_path):
    """A dollar sign begins mathematics in matplotlib; other text after it raised an error."""
    evil = "$x_$"
    named = []
    for group in groups():
        trials = []
        for one in group.trials:
            settings = {"training": "training", "e1": evil, "e2": "e2"}
            best = {settings[name]: value for name, value in one.best.items()}
            histograms = {settings[name]: value for name, value in one.histograms.items()}
            trials.append(replace(one, best=best, histograms=histograms))
        named.append(replace(group, label=evil, trials=tuple(trials)))
    assert len(comparison_figures(Comparison(tuple(named)), tmp_path)) == 5


def test_box_plots_have_a_column_for_each_setting_with_its_drawing():
    drawn = []
    comparison = Comparison(groups(), training_name="open")
    with figure() as made:
        draw_best(made, comparison, lambda ax, scenario: drawn.append(scenario), overall=True)
        titles = [ax.get_title() for ax in made.axes if ax.get_title()]
        assert titles == ["open", "e1", "e2", "all"]
        assert drawn == [None, "e1", "e2"]
        medians = [
            line.get_ydata()[0]
            for line in made.axes[4].lines
            if line.get_color() == "black" and len(line.get_ydata()) == 2 and line.get_linewidth() == 1.3
        ]
        assert medians == [4, 1]
        assert "higher is better" in made.get_supylabel()


def test_many_settings_stand_in_rows():
    settings = {name: [1.0] for name in ("training", *map(str, range(1, 17)))}
    with figure(7.2, 8.1) as made:
        draw_best(made, Comparison((Group("a", "A", (trial("a", 0, settings),)),)))
        made.draw_without_rendering()
        shown = [ax for ax in made.axes if ax.axison]
        assert [ax.get_title() for ax in shown] == ["training", *map(str, range(1, 17))]
        tops = sorted({round(ax.get_position().y1, 2) for ax in shown}, reverse=True)
        assert [sum(round(ax.get_position().y1, 2) == top for ax in shown) for top in tops] == [6, 6, 5]
        assert len({ax.get_ylim() for ax in shown}) == 1
        assert all(ax.get_tightbbox().width / made.dpi < 1.3 for ax in shown)


def test_quality_figure_draws_the_medians():
    comparison = Comparison(groups())
    with figure() as made:
        draw_quality(made, comparison)
        inside, outside = made.axes
        assert [line.get_linestyle() for line in outside.lines] == ["-", "--"]  # ours is dashed
        np.testing.assert_array_equal(outside.lines[0].get_ydata(), comparison.quality(comparison.groups[0]).median)
        training = comparison.quality(comparison.groups[1], ["training"])
        np.testing.assert_array_equal(inside.lines[1].get_ydata(), training.median)
        assert "P(X > x)" in made.axes[0].get_ylabel()


def test_numbers_of_others_are_marked_beside_ours():
    comparison = Comparison(groups())
    marks = [
        Mark("b", Measure("coverage", ""), 0.7),
        Mark("a", Measure("share", "", x=1.0, pooled=True), 0.25),
        Mark("b", Measure("share", "", x=2.0, pooled=True), 0.0),
        Mark("a", Measure("best", "", "training"), 3.5),
        Mark("a", Measure("best", "", average=True), 2.0),
    ]

    def diamonds(ax):
        return [(line.get_xdata()[0], line.get_ydata()[0]) for line in ax.lines if line.get_marker() == "D"]

    with figure() as made:
        draw_niches_and_spread(made, comparison, marks)
        assert [diamonds(ax) for ax in made.axes] == [[(2, 0.7)], []]
    with figure() as made:
        draw_best(made, comparison, marks=marks)
        assert [diamonds(ax) for ax in made.axes] == [[(1, 3.5)], [], [], [(1, 2.0)]]
        assert made.axes[3].get_title() == "mean of 2 scenarios"
    with figure() as made:
        draw_quality(made, comparison, logarithmic=True, marks=marks)
        assert [diamonds(ax) for ax in made.axes] == [[], [(1.0, 0.25), (2.0, 0.0)], [], [(1.0, 0.25)]]
        assert [ax.get_yscale() for ax in made.axes] == ["linear", "linear", "log", "log"]


def test_progress_takes_the_last_known_value_of_each_run():
    slow = {"evaluations": [50, 100], "coverage": [0, 1], "best_fitness": [5, 9], "qd_score": [0, 0]}
    fast = {"evaluations": [20, 60, 100], "coverage": [0, 1, 1], "best_fitness": [1, 2, 3], "qd_score": [0, 0, 0]}
    fitness = {"training": [1.0]}
    trials = (trial("a", 0, fitness, progress=slow), trial("a", 1, fitness, progress=fast))
    with figure() as made:
        draw_progress(made, Comparison((Group("a", "A", trials),)))
        line = made.axes[0].lines[0]
        assert line.get_xdata().tolist() == [50, 100]
        assert line.get_ydata().tolist() == [(5 + 1) / 2, (9 + 3) / 2]


def test_niches_and_spread_has_two_panels():
    with figure() as made:
        draw_niches_and_spread(made, Comparison(groups()))
        assert [ax.get_title() for ax in made.axes] == ["Share of filled niches", "Spread of elites"]


def test_shares_near_zero_are_shown_again_and_no_mark_or_dot_is_cut():
    runs = {"a": 0.001, "b": 1.0}
    made_of = [Group(n, n, (trial(n, 0, {"training": [400.0]}, coverage=c, direction="min"),)) for n, c in runs.items()]
    few = trial("c", 0, {"training": [0.001]}, direction="min")
    comparison = Comparison((*made_of, *(Group(name, name, (few,)) for name in "cde")))
    with figure() as made:
        draw_niches_and_spread(made, comparison, [Mark("a", Measure("spread", ""), 0.9)], logarithmic=True)
        plain, again, spread = made.axes
        assert [ax.get_yscale() for ax in made.axes] == ["linear", "log", "linear"]
        assert again.get_ylim()[0] < 0.001
        assert min(plain.get_ylim()[1], again.get_ylim()[1]) > 1.0
        assert spread.get_ylim()[1] > 0.9
    with figure() as made:
        draw_best(made, comparison)
        ax = made.axes[0]
        assert ax.get_yscale() == "symlog"
        made.canvas.draw()  # lays the axes out
        room = ax.bbox.y1 - ax.transData.transform((0.0, 400.0))[1]
        assert room > 2.0 * made.dpi / 72.0  # more than the radius of a dot


@pytest.mark.parametrize("kind", [pytest.param("png", marks=pytest.mark.slow), "svg", "pdf"])
def test_figure_files(tmp_path, kind):
    files = comparison_figures(Comparison(groups()), tmp_path, kind)
    assert [file.stem for file in files] == [
        "best_performance", "niches_and_spread", "expected_quality", "progress_best_fitness", "progress_coverage",
    ]  # fmt: skip
    start = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[kind]
    assert all(file.read_bytes().startswith(start) for file in files)
    if kind == "svg":
        ET.parse(files[0])


# -- run folders and the command -----------------------------------------------------------------------------------

TOY = """
import tesselite as tl

@tl.problem(solutions=tl.Box(2), features={"a": (0, 1), "b": (0, 1)}, scenarios=["half", "never"], batch=True)
def walk(x, scenario):
    fitness = x.sum(axis=1) * (0.5 if scenario == "half" else 1.0)
    if scenario == "never":
        fitness = fitness * float("nan")
    return fitness, x

@tl.problem(solutions=tl.Box(2), features={"a": (0, 1), "b": (0, 1)}, direction="min", batch=True)
def fall(x):
    return x.sum(axis=1), x
"""


@pytest.fixture
def runs(tmp_path, monkeypatch):
    from tesselite.problems import by_name
    from tesselite.runs.run import run

    monkeypatch.chdir(tmp_path)
    (tmp_path / "toy_compare.py").write_text(TOY)
    problem = by_name("toy_compare:walk")
    for seed in range(3):
        run(
            problem,
            out=tmp_path / f"fine-{seed}",
            evaluations=300,
            initial=100,
            grid=8,
            seed=seed,
        )
        run(
            problem,
            out=tmp_path / f"rough-{seed}",
            evaluations=300,
            initial=100,
            grid=2,
            seed=seed,
        )
    return tmp_path


@pytest.mark.parametrize("far", [1e300, 1.7e308])
def test_huge_fitness_is_drawn_in_a_unit_and_tabled_with_powers_of_ten(tmp_path, far):
    fitness = {"training": [far, 0.5 * far]}
    progress = {"evaluations": [10, 100], "coverage": [0.1, 0.5], "best_fitness": [0.5 * far, far]}
    levels = (0.5 * far, far)
    one = replace(
        trial("a", 1, fitness, progress=progress),
        levels=levels,
        histograms={"training": tuple(histogram(np.array(fitness["training"]), levels).tolist())},
    )
    comparison = Comparison((Group("a", "A", (one, one)),))
    files = comparison_figures(comparison, tmp_path, "svg")
    assert len(files) == 5
    for file in files[:1] + files[2:4]:
        assert f"fitness (in 1e{300 if far == 1e300 else 308})" in file.read_text(), file
    assert comparison.best_table().to_markdown().count(f"{far:.3g}") == 3


def test_compare_folders(runs):
    fine, rough = ([runs / f"{name}-{seed}" for seed in range(3)] for name in ("fine", "rough"))
    comparison, measures = compare_folders({"fine": fine, "rough": rough}, [1.0])
    assert comparison.settings == ("training", "half", "never")
    group = comparison.group("fine")
    assert comparison.expected_best(group, "half") == pytest.approx(comparison.expected_best(group, "training") / 2)
    assert comparison.expected_best(group, "never") == -math.inf
    assert 0 < comparison.quality(group, ["training"]).at(1.0) < 1
    assert "share > 1, median over scenarios" in [m.label for m in measures]
    assert (runs / "fine-0" / "assessment.parquet").exists()
    with pytest.raises(ValueError, match="at least one run"):
        compare_folders({"fine": fine, "rough": []})


def test_runs_that_cannot_be_compared_are_refused_before_any_is_assessed(runs):
    from tesselite.problems import by_name
    from tesselite.runs.run import run

    for name in ("sphere:2", "rastrigin:2"):
        run(by_name(name), out=runs / name[:6], evaluations=200, grid=4, seed=1)
    with pytest.raises(ValueError, match=r"one problem or its variants, got sphere:2 in .*, rastrigin:2 in "):
        compare_folders({"a": [runs / "sphere"], "b": [runs / "rastri"]})
    with pytest.raises(ValueError, match="each run once, but it is in 'a' already"):
        compare_folders({"a": [runs / "fine-0"], "b": [runs / "fine-1", runs / "fine-1" / ".." / "fine-0"]})
    with pytest.raises(ValueError, match="not a run"):
        compare_folders({"a": [runs / "fine-0"], "b": [runs / "missing"]})
    with pytest.raises(ValueError, match="finite"):
        compare_folders({"a": [runs / "fine-0"], "b": [runs / "fine-1"]}, [math.nan])
    assert not list(runs.glob("*/assessment.parquet"))


def test_what_a_reader_of_a_comparison_should_know(runs):
    from tesselite.problems import by_name
    from tesselite.runs.run import run

    run(by_name("toy_compare:walk"), out=runs / "long", evaluations=400, grid=2, seed=1)
    assert check_comparable({"a": [runs / "fine-0"], "b": [runs / "fine-1"]}) == []
    notes = check_comparable({"a": [runs / "fine-0"], "b": [runs / "long"]})
    assert len(notes) == 1
    assert "300 in" in notes[0]
    assert "400 in" in notes[0]
    run(by_name("toy_compare:fall"), out=runs / "fall", evaluations=300, grid=2, seed=1)
    notes = check_comparable({"a": [runs / "fine-0"], "b": [runs / "fall"]})
    assert len(notes) == 1
    assert "different problems or variants: toy_compare:walk in" in notes[0]
    with pytest.raises(ValueError, match="some maximise fitness and others minimise it"):
        compare_folders({"a": [runs / "fine-0"], "b": [runs / "fall"]})


def test_command_line(runs):
    from tesselite.cli.app import app
    from tesselite.problems import by_name
    from tesselite.runs.run import run

    run(by_name("toy_compare:walk"), out=runs / "long", evaluations=400, grid=2, seed=1)
    run = CliRunner().invoke
    found = run(app, ["assess", "fine-0", "rough-0", "--share", "1", "--json"])
    assert found.exit_code == 0, found.output
    told = json.loads(found.stdout)["runs"]
    assert [one["run"] for one in told] == ["fine-0", "rough-0"]
    assert told[0]["settings"]["half"]["best"] == pytest.approx(told[0]["settings"]["training"]["best"] / 2)
    assert told[0]["settings"]["never"] == {"best": None, "niche": None, "valid": 0, "shares": {"1": 0.0}}
    found = run(app, ["assess", "fine-0", "-q"])
    assert "never" in found.stdout
    command = ["compare", "fine-0", "fine-1", "fine-2", "--against", "rough-0", "rough-1", "rough-2", "-o", "out"]
    found = run(app, [*command, "--names", "fine,rough", "--json"])
    assert found.exit_code == 0, found.output
    rows = json.loads(found.stdout)["tests"]
    assert (rows[0]["first"], rows[0]["second"], rows[0]["n"], rows[0]["m"]) == ("fine", "rough", 3, 3)
    page = (runs / "out" / "comparison.md").read_text()
    assert "| fine | 3 |" in page
    assert page.count("Note: ") == 1
    assert "on a common CVT of 4 niches (the runs have different niches)" in page
    run(app, ["compare", "fine-0", "--against", "fine-1", "-o", "alike"])
    assert "Note: " not in (runs / "alike" / "comparison.md").read_text()
    run(app, ["compare", "fine-0", "--against", "long", "-o", "noted"])
    assert "Note: the runs have different numbers of evaluations" in (runs / "noted" / "comparison.md").read_text()
    assert (runs / "out" / "figures" / "expected_quality.png").exists()
    assert (runs / "out" / "tables" / "tests.tex").exists()
    assert run(app, [*command, "--names", "one"]).exit_code != 0
    assert "two that differ" in str(run(app, [*command, "--names", "one,one"]).exception)
    assert "finite" in str(run(app, ["assess", "fine-0", "--share", "nan"]).exception)


def test_equal_fitness_has_a_step_of_expected_quality(tmp_path, monkeypatch):
    (tmp_path / "flat_problem.py").write_text(
        "import tesselite as tl\n\n\n"
        "@tl.problem(solutions=tl.Box(1, 0, 1), features={'a': (0, 1)})\n"
        "def flat(x):\n    return 5.0, x\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    from flat_problem import flat

    from tesselite.runs.run import run

    for name in ("a", "b"):
        run(flat, grid=4, evaluations=100, initial=50, seed=1, out=tmp_path / name)
    comparison, _ = compare_folders({"a": [tmp_path / "a"], "b": [tmp_path / "b"]})
    shares = comparison.quality(comparison.group("a"), ["training"]).median
    assert (shares[0], shares[-1]) == (1, 0)
    largest = np.finfo(np.float64).max
    assert np.isfinite(even_levels(largest, largest, 3)).all()
