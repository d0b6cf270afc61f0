"""The paper's studies as data: pairs, numbers and claims, and how claims are decided."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from tesselite.assessment.comparison import Comparison, Group
from tesselite.assessment.expected_quality import histogram
from tesselite.paper.claims import CLAIMS, claims_table
from tesselite.paper.numbers import NUMBERS, numbers_table
from tesselite.paper.studies import STUDIES, scaled
from test_compare import trial


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
    assert CLAIMS[name]
    by_name = {p.name: p for p in study.pairs}
    if "maze" in name:
        cvts = {(p.n_samples, p.initial, p.batch_size) for p in study.pairs if p.n_niches and p.p == 2}
        assert cvts == {(1_000_000, 2000, 200)}
    if name == "niches-maze":
        assert [p.n_niches for p in study.pairs] == [5, 50, 500, 5000] * 3
        assert [p.descriptor for p in study.pairs] == ["2d"] * 4 + ["20d"] * 4 + ["250d"] * 4
    if name == "niches-hexapod":
        assert [p.n_niches for p in study.pairs] == [10, 100, 1000, 10_000, 100_000]
        assert {p.problem for p in study.pairs} == {"hexapod:duty"}
    if name.startswith("norms"):
        assert [p.p for p in study.pairs] == [2.0] * (len(study.pairs) // 2) + [0.5] * (len(study.pairs) // 2)
    if name == "norms-hexapod":
        assert {p.evaluations for p in study.pairs} == {10_000 + 25_000 * 200}
        assert {p.problem for p in study.pairs} == {"hexapod:controller"}
    if name == "maze":
        assert len([p for p in study.pairs if not p.ours]) == 9
        assert (by_name["grid-2d"].grid, by_name["grid-10d"].grid, by_name["grid-20d"].grid) == (71, 3, 2)
        assert {p.evaluations for p in study.pairs} == {200_000}
        assert {p.n_niches for p in study.pairs if p.n_niches} == {5000}
    if name == "hexapod":
        assert len([p for p in study.pairs if not p.ours]) == 7
        assert {p.evaluations for p in study.pairs} == {15_010_200}
        assert {(p.initial, p.batch_size, p.at_most) for p in study.pairs} == {(10_000, 200, 10_000)}
        assert [by_name[f"grid-{d}d"].grid for d in (6, 12, 24)] == [5, 3, 2]
        assert by_name["grid-36d"].ours


@dataclass(frozen=True)
class Made:
    """What the trials of a pair shall say: best in training and in scenarios, share of good elites in both, metrics."""

    best: float
    best_held_out: float
    share: float = 0.0
    share_held_out: float = 0.0
    coverage: float = 0.5
    spread: float = 0.4
    hard: dict[str, float] = field(default_factory=dict)  # best in some of the scenarios, instead


def comparison(study, made, runs=4):
    """Runs that are alike but for a little in their bests; elites that are good are so by a little."""
    maze = "maze" in study.name
    settings = ("training", *(str(i) for i in range(1, 17 if maze else 7)))
    good, bad, step = (15.0, 300.0, 0.001) if maze else (0.201, 0.1, 0.0001)

    def one(pair, number):
        about, values = made[pair.name], {}
        for setting in settings:
            best, share = about.hard.get(setting, about.best_held_out), about.share_held_out
            if setting == "training":
                best, share = about.best, about.share
            values[setting] = np.full(1000, bad)
            values[setting][: round(1000 * share)] = good
            values[setting][0] = best + step * number
            values[setting] /= study.scale
        direction = "min" if maze else "max"
        plain = trial(pair.name, number, values, direction=direction, coverage=about.coverage, spread=about.spread)
        histograms = {s: tuple(histogram(v, study.levels).tolist()) for s, v in values.items()}
        return replace(plain, levels=study.levels, histograms=histograms, settings=pair.settings())

    groups = [Group(p.name, p.label, tuple(one(p, t) for t in range(runs)), p.family, p.ours) for p in study.pairs]
    return Comparison(tuple(groups), scale=study.scale)


def maze_as_in_the_paper():
    paper = {(n.pair, n.label): float(n.paper) for n in NUMBERS["maze"]}
    return {
        p.name: Made(
            best=1.0,
            best_held_out=1.0,
            share_held_out=paper.get((p.name, "share within 20 units"), 0.0),
            coverage=paper.get((p.name, "share of filled niches"), 0.0),
            spread=paper.get((p.name, "spread"), 0.1),
            hard={"8": 9.0, "14": 9.0},
        )
        for p in STUDIES["maze"]().pairs
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
    },
    "norms-maze": {p.name: Made(1.0, 1.0, 0.1, 0.1) for p in STUDIES["norms-maze"]().pairs},
    "niches-hexapod": {
        "k10": Made(0.45, 0.25, 0.9, 0.1), "k100": Made(0.45, 0.27, 0.8, 0.1), "k1000": Made(0.45, 0.28, 0.7, 0.1),
        "k10000": Made(0.45, 0.31, 0.6, 0.1), "k100000": Made(0.35, 0.27, 0.5, 0.05),
    },
    "norms-hexapod": {"36d-p2": Made(0.44, 0.32, 0.5, 0.1), "36d-p0.5": Made(0.45, 0.32, 0.6, 0.1)},
}  # fmt: skip


def verdicts(name, changed=None, runs=4):
    """The verdict of each claim of a study when all is as in the paper but for the pairs that are changed."""
    made = dict(AS_IN_THE_PAPER[name])
    for pair, changes in (changed or {}).items():
        made[pair] = replace(made[pair], **changes)
    study = STUDIES[name]()
    return {row[0]: row[2] for row in claims_table(study, comparison(study, made, runs)).rows}


@pytest.mark.parametrize("name", list(STUDIES))
def test_the_papers_numbers_confirm_its_claims(name):
    assert set(verdicts(name).values()) == {"confirmed"}


FALLS = [
    ("maze", {"cvt-10d": {"hard": {"8": 14.0, "14": 14.0}}}, ["is below 10 units"]),
    ("maze", {"grid-2d": {"best_held_out": 3.0, "share_held_out": 0.02}}, ["less than 2 units in most"]),
    ("maze", {p: {"hard": {"8": 9.0, "3": 9.0}} for p in maze_as_in_the_paper()}, ["8 and 14 are the hardest"]),
    ("maze", {"cvt-1000d": {"best_held_out": 1.9}}, ["does not deteriorate in high dimensions"]),
    ("maze", {"cvt-20d": {"best_held_out": 1.9}}, ["performs as well as", "does not deteriorate"]),
    ("maze", {"cvt-2d": {"best_held_out": 0.5}}, ["behaves like MAP-Elites in low", "does not deteriorate"]),
    ("maze", {"grid-10d": {"coverage": 0.4}}, ["falls sharply"]),
    ("maze", {"cvt-20d": {"coverage": 0.001}}, ["fills a larger share"]),
    ("maze", {"cvt-1000d": {"spread": 0.3}}, ["become better spread"]),
    ("maze", {"grid-20d": {"spread": 0.38}}, ["spread of MAP-Elites rises"]),
    ("maze", {"cvt-10d": {"share_held_out": 0.008}}, ["share within 20 units is slightly higher"]),
    ("maze", {"cvt-10d": {"share_held_out": 0.01}, "cvt-20d": {"share_held_out": 0.02}}, ["within 20 units is slight"]),
    ("maze", {"grid-50d": {"share_held_out": 0.05}}, ["in 50D the grid's archive"]),
    ("hexapod", {"cvt-12d": {"best": 0.38}}, ["is about the same in 12D, 24D", "is about the same in all four"]),
    ("hexapod", {"cvt-36d": {"best": 0.48}}, ["6D descriptor it is slightly better"]),
    ("hexapod", {"grid-6d": {"best": 0.41}}, ["In 6D MAP-Elites finds about as good"]),
    ("hexapod", {"grid-12d": {"best": 0.48}}, ["deteriorates significantly", "scales significantly better"]),
    ("hexapod", {"grid-24d": {"best_held_out": 0.33}}, ["scales significantly better", "So it does when damaged"]),
    ("hexapod", {"grid-24d": {"best": 0.22}}, ["Undamaged, the best speed of MAP-Elites falls"]),
    ("hexapod", {"cvt-36d": {"best_held_out": 0.24}}, ["Damaged, the best speed of CVT-MAP-Elites remains"]),
    ("hexapod", {"cvt-24d": {"share_held_out": 0.25}}, ["has the largest share above 0.2 m/s when damaged"]),
    ("hexapod", {"cvt-24d": {"share": 0.9}}, ["It has undamaged, too"]),
    (
        "hexapod",
        {"grid-12d": {"share_held_out": 0.25}},
        ["falls significantly with dim", "differ highly"],
    ),
    ("hexapod", {"cvt-36d": {"share_held_out": 0.03}}, ["falls significantly with dimension"]),
    ("hexapod", {"grid-12d": {"best_held_out": 0.25}}, ["1.7 to 2.1 times faster"]),
    ("hexapod", {"grid-36d": {"best": 0.45}}, ["in 36D the grid finds slower gaits"]),
    ("niches-maze", {f"2d-k{k}": {"best": 9.0, "best_held_out": 9.0} for k in (50, 500, 5000)}, ["improves with k"]),
    ("niches-maze", {"20d-k500": {"best": 5.0, "best_held_out": 5.0}}, ["improves with k", "k = 500 and k = 5000"]),
    (
        "niches-maze",
        {"250d-k50": {"best": 101.0, "best_held_out": 101.0, "share": 0.0, "share_held_out": 0.0}},
        ["works well with 50 niches"],
    ),
    ("niches-maze", {"250d-k500": {"share_held_out": 0.4}}, ["is higher with k = 50 than"]),
    ("niches-maze", {"250d-k50": {"share_held_out": 0.29}}, ["is higher with the 20D and 250D"]),
    ("norms-maze", {"250d-p0.5": {"best_held_out": 2.0}}, ["do not differ significantly in the best distance"]),
    ("norms-maze", {"1000d-p0.5": {"share_held_out": 0.2}}, ["Nor in the share within 100 units"]),
    ("niches-hexapod", {"k100": {"best": 0.4}}, ["do not differ significantly in the best speed"]),
    ("niches-hexapod", {"k100000": {"best": 0.45}}, ["k = 100,000 is significantly worse"]),
    ("niches-hexapod", {"k1000": {"best_held_out": 0.32}}, ["k = 10,000 is best and k = 10 worst"]),
    ("niches-hexapod", {"k1000": {"share": 0.85}}, ["is larger with smaller k"]),
    ("niches-hexapod", {"k100": {"share_held_out": 0.2}}, ["do not differ significantly in the share above"]),
    ("niches-hexapod", {"k100000": {"share_held_out": 0.1}}, ["k = 100,000 has the lowest expected quality"]),
    ("norms-hexapod", {"36d-p0.5": {"best": 0.43}}, ["slightly greater with the fractional norm"]),
    ("norms-hexapod", {"36d-p0.5": {"share": 0.4}}, ["So is the share above 0.2 m/s"]),
    ("norms-hexapod", {"36d-p0.5": {"best_held_out": 0.3}}, ["do not differ significantly in the best speed"]),
    ("norms-hexapod", {"36d-p0.5": {"share_held_out": 0.2}}, ["Nor in the share above 0.2 m/s"]),
]


@pytest.mark.parametrize(("name", "changed", "fallen"), FALLS)
def test_claims_fall_when_the_numbers_are_others(name, changed, fallen):
    found = verdicts(name, changed)
    for words in fallen:
        assert [verdict for text, verdict in found.items() if words in text] == ["not confirmed"]


def test_every_claim_can_fall():
    for name in STUDIES:
        words = [part for study, _, fallen in FALLS if study == name for part in fallen]
        for claim in CLAIMS[name]:
            assert any(part in claim.text for part in words), claim.text


def test_claims_that_rest_on_tests_need_enough_runs_to_find_a_difference():
    """Four, of each pair: scenarios of a run are no runs, and a test of three against three is never below 0.1."""
    for name, changed in (
        ("hexapod", {}),
        ("norms-maze", {p: {"best_held_out": 300.0} for p in ("50d-p0.5", "250d-p0.5", "1000d-p0.5")}),
    ):
        for runs in (2, 3):
            found = verdicts(name, changed, runs)
            tested = [text for text in found if "significant" in text]
            assert len(tested) >= 1
            assert {found[text] for text in tested} == {"not tested at this scale"}
    assert verdicts("hexapod", runs=2)["So it does when damaged."] == "confirmed"


def test_claims_are_not_tested_at_other_settings():
    study, made = STUDIES["maze"](), AS_IN_THE_PAPER["maze"]
    quick = replace(study, pairs=tuple(replace(p, n_niches=200) if p.n_niches else p for p in study.pairs))
    rows = claims_table(study, comparison(quick, made)).rows
    assert rows[0][2] == "not tested at this scale"  # enough evaluations, but not the paper's niches
    few = comparison(study, made)
    few = replace(few, groups=tuple(group for group in few.groups if group.name != "grid-20d"))
    fallen = {row[0] for row in claims_table(study, few).rows if row[2] == "not tested at this scale"}
    assert any("falls sharply" in text for text in fallen)
    assert not any("in 50D" in text for text in fallen)
    short = replace(study, pairs=tuple(replace(p, evaluations=19_999) for p in study.pairs))
    assert {row[2] for row in claims_table(study, comparison(short, made)).rows} == {"not tested at this scale"}


def test_what_the_paper_does_not_claim_decides_nothing():
    """Between 500 and 5000 niches it finds no significant difference; shares cannot rise above one."""
    little = {"20d-k5000": {"best": 2.0004, "best_held_out": 2.0004}}
    assert set(verdicts("niches-maze", little).values()) == {"confirmed"}
    full = {"k10": {"share": 1.0}, "k100": {"share": 1.0}}
    assert set(verdicts("niches-hexapod", full).values()) == {"confirmed"}
    level = {name: {"share": 0.5} for name in AS_IN_THE_PAPER["niches-hexapod"]}
    assert verdicts("niches-hexapod", level)["Undamaged, the share above 0.2 m/s is larger with smaller k."] == (
        "not confirmed"
    )


def test_one_pair_far_off_does_not_decide_which_environment_is_hardest():
    far = {"grid-2d": {"hard": {"8": 9.0, "14": 9.0, "7": 1000.0}}}
    found = verdicts("maze", far)
    assert [verdict for text, verdict in found.items() if "are the hardest" in text] == ["confirmed"]


def test_a_quick_study_decides_no_claim_however_many_evaluations_it_has():
    for name in ("maze", "hexapod"):
        study = STUDIES[name]()
        quick = scaled(study, quick=True, evaluations=study.paper_evaluations)
        rows = claims_table(study, comparison(quick, AS_IN_THE_PAPER[name])).rows
        assert {row[2] for row in rows} == {"not tested at this scale"}


def test_the_papers_p_stands_beside_ours():
    """With its 20 runs and shares that are all zero with grids, ours is as small as the paper's."""
    study = STUDIES["hexapod"]()
    table = numbers_table(study, comparison(study, AS_IN_THE_PAPER["hexapod"], runs=20))
    tests = [row for row in table.rows if row[2] == "< 1e-44"]
    assert [row[1] for row in tests] == [
        "MAP-Elites 12D / CVT-MAP-Elites 12D", "MAP-Elites 24D / CVT-MAP-Elites 24D",
    ]  # fmt: skip
    assert all(0.0 < float(row[3]) < 1e-44 for row in tests)
    assert all(row[4] == 20 for row in tests)


def test_the_papers_numbers_stand_beside_ours():
    study = STUDIES["maze"]()
    table = numbers_table(study, comparison(study, AS_IN_THE_PAPER["maze"]))
    assert len(table.rows) == 27
    for row in table.rows:
        assert float(row[3].split()[0]) == pytest.approx(float(row[2]), abs=0.0011)
    one = comparison(study, AS_IN_THE_PAPER["maze"])
    one = replace(one, groups=tuple(replace(group, trials=group.trials[:1]) for group in one.groups))
    assert numbers_table(study, one).rows[0][3] == "0.72"  # a single run has no quartiles
