"""The paper's studies as data: pairs, numbers and claims, and how claims are decided."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

from tesselite.assessment.comparison import Comparison, Group
from tesselite.assessment.expected_quality import histogram
from tesselite.paper.claim_rules import AVERAGE, COVERAGE, FOUND, HELD_OUT, Evidence, OneElite, alike, times
from tesselite.paper.claims import CLAIMS, claims_table, judge
from tesselite.paper.reported import NUMBERS, numbers_table
from tesselite.paper.studies import STUDIES, scaled
from tesselite.paper.study_report import other_settings
from test_compare import trial

OURS = ("rounding-hexapod",)  # studies about which the paper makes no claim


@pytest.mark.parametrize("name", list(STUDIES))
def test_studies_are_the_papers(name):
    study = STUDIES[name]()
    names = [p.name for p in study.pairs]
    assert len(set(names)) == len(names)
    assert all((p.grid is None) != (p.n_niches is None) for p in study.pairs)
    for contrast in study.contrasts:
        assert set(contrast) <= set(names)
    for number in NUMBERS.get(name, []):
        assert number.pair in names
    for measure in study.queries:
        assert np.isclose(np.array(study.levels) * study.scale, measure.x).any()
    assert CLAIMS.get(name) or name in OURS
    by_name = {p.name: p for p in study.pairs}
    if "maze" in name:
        cvts = [p for p in study.pairs if p.n_niches and p.p == 2]
        assert {(p.initial, p.batch_size) for p in cvts} == {(2000, 200)}
        assert {p.n_samples for p in cvts if p.name != "1000d-arena"} == {1_000_000}
    if name == "niches-maze":
        assert [p.n_niches for p in study.pairs] == [5, 50, 500, 5000] * 3 + [1]
        assert [p.descriptor for p in study.pairs] == ["2d"] * 4 + ["20d"] * 4 + ["250d"] * 4 + ["2d"]
    if name == "niches-hexapod":
        assert [p.n_niches for p in study.pairs] == [10, 100, 1000, 10_000, 100_000, 1]
        assert {p.problem for p in study.pairs} == {"hexapod:duty"}
    if name.startswith("norms"):
        assert [p.p for p in study.pairs] == [2.0] * (len(study.pairs) // 2) + [0.5] * (len(study.pairs) // 2)
    if name == "norms-hexapod":
        assert {p.evaluations for p in study.pairs} == {10_000 + 25_000 * 200}
        assert {p.problem for p in study.pairs} == {"hexapod:controller"}
    if name == "maze":
        assert len([p for p in study.pairs if not (p.ours or p.variant_of)]) == 9
        assert (by_name["grid-2d"].grid, by_name["grid-10d"].grid, by_name["grid-20d"].grid) == (71, 3, 2)
        assert {p.evaluations for p in study.pairs} == {200_000}
        assert {p.n_niches for p in study.pairs if p.n_niches} == {5000}
    if name == "hexapod":
        assert len([p for p in study.pairs if not (p.ours or p.variant_of)]) == 7
        assert {p.evaluations for p in study.pairs} == {15_010_200}
        assert {(p.initial, p.batch_size, p.at_most) for p in study.pairs} == {(10_000, 200, 10_000)}
        assert [by_name[f"grid-{d}d"].grid for d in (6, 12, 24)] == [5, 3, 2]
        assert by_name["grid-36d"].ours


@dataclass(frozen=True)
class Made:
    """The wanted content of a pair's trials: best in training and in scenarios, share of good elites in both,
    metrics."""

    best: float
    best_held_out: float
    share: float = 0.0
    share_held_out: float = 0.0
    coverage: float = 0.5
    spread: float = 0.4
    hard: tuple[str, ...] = ()  # scenarios in which the best is `hardness`, and far off in every sixth run
    hardness: float = 9.0
    filled: int = 1000


@cache
def made_trial(name, pair, about, number):
    """Runs of a pair are alike but for a little in their bests; elites that are good are so by a little."""
    study = STUDIES[name]()
    maze = "maze" in name
    settings = ("training", *(str(i) for i in range(1, 17 if maze else 7)))
    good, bad, step = (15.0, 300.0, 0.001) if maze else (0.201, 0.1, 0.0001)
    values = {}
    for setting in settings:
        best, share = about.best_held_out, about.share_held_out
        if setting == "training":
            best, share = about.best, about.share
        elif setting in about.hard:
            best = 50.0 if number % 6 == 5 else about.hardness
        values[setting] = np.full(1000, bad)
        values[setting][: round(1000 * share)] = good
        values[setting][0] = best + step * number
        values[setting] /= study.scale
    direction = "min" if maze else "max"
    plain = trial(pair.name, number, values, direction=direction, coverage=about.coverage, spread=about.spread)
    histograms = {s: tuple(histogram(v, study.levels).tolist()) for s, v in values.items()}
    metrics = replace(plain.metrics, filled=about.filled)
    return replace(plain, metrics=metrics, levels=study.levels, histograms=histograms, settings=pair.settings())


def comparison(study, *worlds, runs=12):
    """Runs of all pairs, in turn from each of the worlds, which say what the trials of a pair are."""
    groups = [
        Group(
            p.name,
            p.label,
            tuple(made_trial(study.name, p, worlds[t // 6 % len(worlds)][p.name], t) for t in range(runs)),
            p.family,
            p.ours,
        )
        for p in study.pairs
        if p.name in worlds[0]
    ]
    return Comparison(tuple(groups), scale=study.scale)


def maze_as_in_the_paper():
    paper = {(n.pair, n.measure.kind): float(n.paper) for n in NUMBERS["maze"]}
    return {
        p.name: Made(
            best=1.0,
            best_held_out=1.0,
            share_held_out=paper.get((p.name, "share"), 0.0),
            coverage=paper.get((p.name, "coverage"), 0.0),
            spread=paper.get((p.name, "spread"), 0.1),
            hard=("8", "14"),
        )
        for p in STUDIES["maze"]().pairs
        if not p.variant_of
    }


AS_IN_THE_PAPER = {
    "maze": maze_as_in_the_paper(),
    "hexapod": {
        "grid-6d": Made(0.47, 0.34, 0.8, 0.213), "grid-12d": Made(0.21, 0.18), "grid-24d": Made(0.16, 0.15),
        "grid-36d": Made(0.16, 0.15), "cvt-6d": Made(0.47, 0.33, 0.7, 0.133), "cvt-12d": Made(0.45, 0.31, 0.6, 0.065),
        "cvt-24d": Made(0.44, 0.32, 0.6, 0.108), "cvt-36d": Made(0.44, 0.32, 0.6, 0.105),
    },
    "niches-maze": {
        f"{name}-k{k}": Made(best, best, share + more, share + more)
        for name, more in (("2d", 0.0), ("20d", 0.02), ("250d", 0.03))
        for k, best, share in ((5, 9.0, 0.4), (50, 4.0, 0.3), (500, 2.0, 0.2), (5000, 2.0, 0.1))
    } | {"2d-k1": Made(20.0, 20.0, 0.5, filled=1)},
    "sampler-maze": {
        f"{d}d-{samples}": Made(best, best, coverage=coverage)
        for d in (50, 250, 1000)
        for samples, best, coverage in (("drivable", 1.0, 0.4), ("arena", 9.0, 0.1))
    },
    "iterations-maze": {f"{d}-i{n}": Made(1.0, 1.0) for d in ("2d", "50d") for n in (0, 1, 10, 200)},
    "iterations-hexapod": {f"24d-i{n}": Made(0.44, 0.32, 0.5, 0.1) for n in (0, 1, 10, 200)},
    "norms-maze": {p.name: Made(1.0, 1.0, 0.1, 0.1) for p in STUDIES["norms-maze"]().pairs},
    "niches-hexapod": {
        "k10": Made(0.45, 0.25, 0.9, 0.1), "k100": Made(0.45, 0.27, 0.8, 0.1), "k1000": Made(0.45, 0.28, 0.7, 0.1),
        "k10000": Made(0.45, 0.31, 0.6, 0.1), "k100000": Made(0.35, 0.27, 0.5, 0.05),
        "k1": Made(0.45, 0.2, 1.0, 0.1, filled=1),
    },
    "norms-hexapod": {"36d-p2": Made(0.44, 0.32, 0.5, 0.1), "36d-p0.5": Made(0.45, 0.32, 0.6, 0.1)},
}  # fmt: skip


def world(name, changed):
    """All as in the paper but for the pairs that are changed."""
    made = dict(AS_IN_THE_PAPER[name])
    for pair, changes in changed.items():
        made[pair] = replace(made[pair], **changes)
    return made


def verdicts(name, *changes, runs=12, words=("",)):
    """The verdict of each claim with some of these words, on runs that come in turn from worlds with these changes."""
    study = STUDIES[name]()
    worlds = [world(name, changed) for changed in changes or ({},)]
    asked = [claim for claim in CLAIMS[name] if any(part in claim.text for part in words)]
    with patch.dict(CLAIMS, {name: asked}):
        return {one.claim.text: one.verdict for one in judge(study, comparison(study, *worlds, runs=runs))}


@pytest.mark.parametrize("name", list(CLAIMS))
def test_the_papers_numbers_agree_with_its_claims(name):
    assert set(verdicts(name).values()) == {"agrees"}


FALLS = [
    ("maze", {"cvt-10d": {"hardness": 14.0}}, ["is below 10 units"]),
    ("maze", {"grid-2d": {"best_held_out": 3.0, "share_held_out": 0.02}}, ["less than 2 units in most"]),
    ("maze", {p: {"hard": ("8", "3")} for p in maze_as_in_the_paper()}, ["8 and 14 are the hardest"]),
    ("maze", {"cvt-1000d": {"best_held_out": 3.5}}, ["does not deteriorate in high dimensions"]),
    ("maze", {"cvt-20d": {"best_held_out": 3.5}}, ["performs as well as", "does not deteriorate"]),
    ("maze", {"cvt-2d": {"best_held_out": 3.5}}, ["behaves like MAP-Elites in low", "performs as well as"]),
    ("maze", {"grid-10d": {"coverage": 0.4}}, ["falls sharply"]),
    ("maze", {"cvt-20d": {"coverage": 0.001}}, ["fills a larger share"]),
    ("maze", {"cvt-1000d": {"spread": 0.3}}, ["become better spread"]),
    ("maze", {"grid-20d": {"spread": 0.38}}, ["spread of MAP-Elites rises"]),
    ("maze", {"cvt-10d": {"share_held_out": 0.008}}, ["share within 20 units is slightly higher"]),
    ("maze", {"cvt-10d": {"share_held_out": 0.01}, "cvt-20d": {"share_held_out": 0.02}}, ["within 20 units is slight"]),
    ("maze", {"grid-50d": {"share_held_out": 0.05}}, ["in 50D the grid's archive"]),
    ("hexapod", {"cvt-12d": {"best": 0.38}}, ["is about the same in 12D, 24D", "Undamaged, the expected best speed"]),
    ("hexapod", {"cvt-36d": {"best": 0.48}}, ["6D descriptor the best speed"]),
    ("hexapod", {"grid-6d": {"best": 0.41}}, ["In 6D MAP-Elites finds about as good"]),
    ("hexapod", {"grid-12d": {"best": 0.48}}, ["deteriorates significantly", "scales significantly better"]),
    (
        "hexapod",
        {"grid-24d": {"best_held_out": 0.33}},
        ["scales significantly better", "the best speed of MAP-Elites falls, too"],
    ),
    ("hexapod", {"grid-24d": {"best": 0.22}}, ["Undamaged, the best speed of MAP-Elites falls"]),
    ("hexapod", {"cvt-36d": {"best_held_out": 0.24}}, ["Damaged, the expected best speed of CVT-MAP-Elites"]),
    ("hexapod", {"cvt-24d": {"share_held_out": 0.25}}, ["has the largest share above 0.2 m/s when damaged"]),
    ("hexapod", {"cvt-24d": {"share": 0.9}}, ["when undamaged, too"]),
    (
        "hexapod",
        {"grid-12d": {"share_held_out": 0.25}},
        ["falls significantly with dim", "differ highly"],
    ),
    ("hexapod", {"cvt-36d": {"share_held_out": 0.03}}, ["falls significantly with dimension"]),
    ("hexapod", {"grid-12d": {"best_held_out": 0.25}}, ["1.7 to 2.1 times faster"]),
    ("hexapod", {"grid-36d": {"best": 0.45}}, ["in 36D the grid finds slower gaits"]),
    ("niches-maze", {"2d-k5": {"best": 1.0, "best_held_out": 1.0}}, ["improves with k"]),
    ("niches-maze", {"20d-k500": {"best": 5.0, "best_held_out": 5.0}}, ["improves with k", "k = 500 and k = 5000"]),
    (
        "niches-maze",
        {"250d-k50": {"best": 101.0, "best_held_out": 101.0, "share": 0.0, "share_held_out": 0.0}},
        ["works well with 50 niches"],
    ),
    ("niches-maze", {"250d-k500": {"share_held_out": 0.4}}, ["is higher with k = 50 than"]),
    ("niches-maze", {"250d-k50": {"share_held_out": 0.29}}, ["is higher with the 20D and 250D"]),
    ("norms-maze", {"250d-p0.5": {"best_held_out": 4.0}}, ["do not differ significantly in the best distance"]),
    ("norms-maze", {"1000d-p0.5": {"share_held_out": 0.2}}, ["significantly in the share within 100 units"]),
    ("niches-hexapod", {"k100": {"best": 0.39}}, ["do not differ significantly in the best speed"]),
    ("niches-hexapod", {"k100000": {"best": 0.45}}, ["k = 100,000 is significantly worse"]),
    ("niches-hexapod", {"k1000": {"best_held_out": 0.32}}, ["k = 10,000 is best and k = 10 worst"]),
    ("niches-hexapod", {"k1000": {"share": 0.85}}, ["is larger with smaller k"]),
    ("niches-hexapod", {"k100": {"share_held_out": 0.2}}, ["do not differ significantly in the share above"]),
    ("niches-hexapod", {"k100000": {"share_held_out": 0.1}}, ["k = 100,000 has the lowest expected quality"]),
    ("niches-maze", {"2d-k1": {"share": 0.2}}, ["With a single niche"]),
    ("niches-hexapod", {"k1": {"share": 0.5}}, ["With a single niche"]),
    ("sampler-maze", {"1000d-arena": {"coverage": 0.3}}, ["Proper sampling of trajectories"]),
    ("sampler-maze", {"50d-arena": {"best_held_out": 2.0}}, ["in 50D and 250D, too"]),
    ("iterations-maze", {"50d-i1": {"coverage": 0.3}}, ["does not need to be very precise"]),
    ("iterations-maze", {"2d-i0": {"best_held_out": 4.0}}, ["without any clustering"]),
    ("iterations-hexapod", {"24d-i10": {"best": 0.3}}, ["does not need to be very precise"]),
    ("iterations-hexapod", {"24d-i0": {"share_held_out": 0.3}}, ["without any clustering"]),
    ("norms-hexapod", {"36d-p0.5": {"best": 0.43}}, ["slightly greater with the fractional norm"]),
    ("norms-hexapod", {"36d-p0.5": {"share": 0.4}}, ["Undamaged, the share above 0.2 m/s is greater"]),
    ("norms-hexapod", {"36d-p0.5": {"best_held_out": 0.25}}, ["do not differ significantly in the best speed"]),
    ("norms-hexapod", {"36d-p0.5": {"share_held_out": 0.2}}, ["norms do not differ significantly in the share above"]),
]


@pytest.mark.parametrize(("name", "changed", "fallen"), FALLS)
def test_claims_fall_when_the_numbers_are_others(name, changed, fallen):
    found = verdicts(name, changed, words=fallen)
    for words in fallen:
        (verdict,) = (verdict for text, verdict in found.items() if words in text)
        assert verdict in ("disagrees", "mixed"), words


@pytest.mark.parametrize(("name", "changed", "fallen"), FALLS)
def test_runs_that_contradict_each_other_decide_nothing(name, changed, fallen):
    """Half of the runs are as in the paper, and half are not."""
    found = verdicts(name, {}, changed, words=fallen)
    for words in fallen:
        assert [verdict for text, verdict in found.items() if words in text] == ["underpowered"]


@pytest.mark.parametrize("name", list(CLAIMS))
def test_few_runs_decide_nothing(name):
    assert set(verdicts(name, runs=3).values()) == {"underpowered"}
    assert set(verdicts(name, runs=1).values()) == {"underpowered"}


def test_every_claim_can_fall():
    for name in CLAIMS:
        words = [part for study, _, fallen in FALLS if study == name for part in fallen]
        for claim in CLAIMS[name]:
            assert any(part in claim.text for part in words), claim.text


def test_four_runs_against_four_decide_where_all_of_them_do():
    assert set(verdicts("hexapod", runs=4).values()) == {"agrees"}


def digest(claim):
    return sha256(repr((claim.rule, claim.statements)).encode()).hexdigest()[:12]


def test_rules_do_not_change_unseen():
    """A changed rule gets another date, a note on the data seen before, and a new line in the list of rules."""
    known = (Path(__file__).parent / "data" / "claim_rules.txt").read_text().splitlines()
    now = [f"{claim.fixed} {digest(claim)} {claim.text}" for claims in CLAIMS.values() for claim in claims]
    assert now == known, "\n".join(now)


def test_claims_are_not_judged_at_other_settings():
    study, made = STUDIES["maze"](), AS_IN_THE_PAPER["maze"]
    for change in ({"evaluations": 100_000}, {"n_samples": 500_000}, {"n_niches": 200}):
        other = replace(study, pairs=tuple(replace(p, **change) if p.n_niches else p for p in study.pairs))
        found = {one.claim.text: one for one in judge(study, comparison(other, made))}
        falls = next(one for text, one in found.items() if "falls sharply" in text)
        assert falls.verdict == "agrees"  # about grids alone
        others = [
            one for one in found.values() if one.claim is not falls.claim and "MAP-Elites rises" not in one.claim.text
        ]
        assert {one.verdict for one in others} == {"other budget"}
        (name,) = change
        (told, _) = other_settings(other, comparison(other, made))
        value = f"{change[name]:,}" if change[name] > 9999 else change[name]
        assert f"{name} {value} instead of" in told


def test_options_of_the_problem_are_told_once_for_all_descriptors():
    study = STUDIES["maze"]()
    square = replace(study, pairs=tuple(replace(p, problem=p.problem.partition(",")[0]) for p in study.pairs))
    (told, _) = other_settings(square, comparison(square, AS_IN_THE_PAPER["maze"]))
    options = "options of the problem none instead of layout=round,after_hit=stick"
    assert told == f"Not the study's own settings: {options}."


def test_pairs_without_trials_leave_claims_undecided():
    study = STUDIES["maze"]()
    few = comparison(study, AS_IN_THE_PAPER["maze"])
    few = replace(few, groups=tuple(group for group in few.groups if group.name != "grid-20d"))
    found = {one.claim.text: one for one in judge(study, few)}
    falls = next(one for text, one in found.items() if "falls sharply" in text)
    assert falls.verdict == "underpowered"
    assert "no trials of grid-20d" in falls.figures(6)
    assert next(one for text, one in found.items() if "in 50D" in text).verdict == "agrees"


def test_claims_are_judged_by_the_released_codes_rules_too():
    study = STUDIES["hexapod"]()
    readings = {
        "grid-6d": "grid-6d-released", "grid-12d": "grid-12d-amplitude-released", "grid-24d": "grid-24d-released",
        "cvt-12d": "cvt-12d-amplitude",
    }  # fmt: skip
    text = world("hexapod", {"grid-12d": {"best": 0.48}})
    both = {**text, **{name: AS_IN_THE_PAPER["hexapod"][pair] for pair, name in readings.items()}}
    found = {one.claim.text: one for one in judge(study, comparison(study, both))}
    code = {one.claim.text: one for one in judge(study, comparison(study, both), as_released=True)}
    words = "With more dimensions the speed that MAP-Elites finds deteriorates significantly."
    assert (found[words].verdict, code[words].verdict) == ("mixed", "agrees")
    assert "grid-6d-released 0.471, grid-12d-amplitude-released 0.211" in code[words].figures(6)
    assert set(found) - set(code) == {
        "Beyond the paper's experiments: in 36D the grid finds slower gaits even when memory is no problem."
    }
    rows = claims_table(study, comparison(study, both)).rows
    assert len(rows) == len(found) + len(code)
    assert len(claims_table(study, comparison(study, text)).rows) == len(found)  # no such runs: no such lines
    table = numbers_table(study, comparison(study, both))
    tested = [row[1] for row in table.rows if row[2] == "< 1e-44"]
    assert "MAP-Elites 12D amplitudes, released cells / CVT-MAP-Elites 12D amplitudes" in tested
    assert "MAP-Elites 24D, released cells / CVT-MAP-Elites 24D" in tested
    assert len(tested) == 4
    assert [row[3] for row in table.rows if row[1] == "MAP-Elites 6D, released cells"] == ["0.471", "0.341", "0.213"]


def test_a_quick_study_decides_no_claim_however_many_evaluations_it_has():
    for name in ("maze", "hexapod"):
        study = STUDIES[name]()
        quick = scaled(study, quick=True, evaluations=study.paper_evaluations)
        assert {one.verdict for one in judge(study, comparison(quick, AS_IN_THE_PAPER[name]))} == {"other budget"}


def test_statements_by_hand():
    """4 against 4 runs: the interval is that of all differences. A ratio of zeros is one, of more to zero infinite."""
    runs = {"a": (1.0, 2.0, 3.0, 4.0), "b": (1.5, 2.5, 3.5, 4.5), "zero": (0.0,) * 4}
    groups = [
        Group(name, name, tuple(trial(name, i, {"training": [v], "e": [v]}, coverage=v) for i, v in enumerate(values)))
        for name, values in runs.items()
    ]
    evidence = Evidence(Comparison(tuple(groups)))
    assert alike("a", "b", HELD_OUT, 3.6).decide(evidence).holds
    found = alike("a", "b", HELD_OUT, 3.5).decide(evidence)
    assert (found.holds, found.figures) == (None, "a 2.5, b 3: difference [-3.5, 2.5]")
    assert alike("a", "zero", COVERAGE, 1.0).decide(evidence).holds is False
    assert times("a", "zero", AVERAGE, 2.0).decide(evidence).holds
    assert times("zero", "zero", FOUND, 0.5, 2.0).decide(evidence).holds
    assert times("b", "a", FOUND, 0.3, 4.6).decide(evidence).holds
    assert times("b", "a", FOUND, 0.5, 4.6).decide(evidence).holds is None
    assert OneElite(("a",)).decide(evidence).holds
    assert alike("a", "missing", FOUND, 1.0).decide(evidence).figures == "no trials of missing"


def test_the_claims_table_tells_the_papers_figures_and_the_date_of_the_rule():
    study = STUDIES["maze"]()
    rows = {row[0]: row for row in claims_table(study, comparison(study, AS_IN_THE_PAPER["maze"])).rows}
    falls = next(row for text, row in rows.items() if "falls sharply" in text)
    assert falls[2] == "grid-2d 0.72, grid-10d 0.09, grid-20d 0.005"
    assert falls[5].startswith("by more than half each time (since 2026-11-17). 2026-11-16, after three trials:")


def test_the_papers_p_stands_beside_ours():
    """With its 20 runs and shares that are all zero with grids, ours is as small as the paper's."""
    study = STUDIES["hexapod"]()
    table = numbers_table(study, comparison(study, AS_IN_THE_PAPER["hexapod"], runs=20))
    tests = [row for row in table.rows if row[2] == "< 1e-44"]
    assert [row[1] for row in tests] == [
        "MAP-Elites 12D / CVT-MAP-Elites 12D", "MAP-Elites 24D / CVT-MAP-Elites 24D",
    ]  # fmt: skip
    assert all(0.0 < float(row[3]) < 1e-44 for row in tests)
    assert all(row[5] == 20 for row in tests)


def test_the_papers_numbers_stand_beside_ours():
    study = STUDIES["maze"]()
    table = numbers_table(study, comparison(study, AS_IN_THE_PAPER["maze"]))
    assert len(table.rows) == 27
    for row in table.rows:
        assert float(row[3]) == pytest.approx(float(row[2]), abs=0.0011)
        low, high = map(float, row[4].split(" to "))
        assert low <= float(row[3]) <= high
        assert row[5:7] == [12, 200_000]
    one = comparison(study, AS_IN_THE_PAPER["maze"])
    one = replace(one, groups=tuple(replace(group, trials=group.trials[:1]) for group in one.groups))
    assert numbers_table(study, one).rows[0][3:6] == ["0.72", "", 1]  # a single run has no interval
