"""The paper's studies as data: pairs, numbers and claims, and how claims are decided."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tesselite.assessment.comparison import Comparison, Group
from tesselite.assessment.quality import histogram
from tesselite.experiments.paper_numbers import NUMBERS, numbers_table
from tesselite.experiments.reproduce_claims import CLAIMS, claims_table
from tesselite.experiments.reproduce_studies import HEXAPOD_SECONDS, STUDIES
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
    if name == "maze":
        assert len([p for p in study.pairs if not p.ours]) == 9
        assert (by_name["grid-2d"].grid, by_name["grid-10d"].grid, by_name["grid-20d"].grid) == (71, 3, 2)
        assert {p.evaluations for p in study.pairs} == {200_000}
        assert {p.n_niches for p in study.pairs if p.n_niches} == {5000}
    if name == "hexapod":
        assert len([p for p in study.pairs if not p.ours]) == 7
        assert {p.evaluations for p in study.pairs} == {15_010_200}
        assert by_name["grid-36d"].ours


def test_claims_are_decided_by_the_numbers():
    """Trials made up so that the paper's maze claims hold, then one spoilt."""
    study = STUDIES["maze"]()
    paper = {(n.pair, n.label): float(n.paper) for n in NUMBERS["maze"]}
    settings = ("training", *(str(i) for i in range(1, 17)))

    def group(p, worse=0.0):
        near = paper.get((p.name, "share within 20 units"), 0.0)
        made = []
        for t in range(2):
            values = {s: np.full(100, 300.0) for s in settings}
            for s in settings:
                values[s][: round(100 * near)] = 15.0
                values[s][0] = 9.0 + worse if s in ("8", "14") else 1.0
            one = trial(p.name, t, values, direction="min", coverage=paper.get((p.name, "share of filled niches"), 0.0),
                        spread=paper.get((p.name, "spread"), 0.1))  # fmt: skip
            histograms = {s: tuple(histogram(v, study.levels).tolist()) for s, v in values.items()}
            made.append(replace(one, levels=study.levels, histograms=histograms, settings=p.settings()))
        return Group(p.name, p.label, tuple(made), p.family, p.ours)

    verdicts = [row[2] for row in claims_table(study, Comparison(tuple(group(p) for p in study.pairs))).rows]
    assert verdicts == ["confirmed"] * len(verdicts)
    spoilt = Comparison(tuple(group(p, 5.0 if p.name == "cvt-10d" else 0.0) for p in study.pairs))
    assert claims_table(study, spoilt).rows[0][2] == "not confirmed"
    quick = replace(study, pairs=tuple(replace(p, n_niches=200) if p.n_niches else p for p in study.pairs))
    verdicts = [row[2] for row in claims_table(study, Comparison(tuple(group(p) for p in quick.pairs))).rows]
    assert verdicts[0] == "not tested at this scale"  # enough evaluations, but not the paper's niches
    few = Comparison(tuple(group(p) for p in study.pairs if p.name != "grid-20d"))
    verdicts = [row[2] for row in claims_table(study, few).rows]
    assert verdicts[4] == "not tested at this scale"
    table = numbers_table(study, Comparison(tuple(group(p) for p in study.pairs)))
    row = next(r for r in table.rows if r[0] == "share of filled niches" and r[1] == "MAP-Elites 20D")
    assert row[2] == "0.005"
    assert row[3].startswith("0.005")


PAPER_SPEEDS = {  # undamaged, average over the damages, share above 0.2 m/s damaged, the same undamaged
    "grid-6d": (0.47, 0.34, 0.213, 0.8), "grid-12d": (0.21, 0.18, 0.0, 0.0), "grid-24d": (0.16, 0.15, 0.0, 0.0),
    "grid-36d": (0.16, 0.15, 0.0, 0.0), "cvt-6d": (0.47, 0.33, 0.133, 0.7), "cvt-12d": (0.45, 0.31, 0.065, 0.6),
    "cvt-24d": (0.44, 0.32, 0.108, 0.6), "cvt-36d": (0.44, 0.32, 0.105, 0.6),
}  # fmt: skip


def hexapod_verdicts(**changed):
    """Verdicts from two runs of each pair with the paper's numbers, but for those of the pairs that are changed."""
    study = STUDIES["hexapod"]()
    speeds = PAPER_SPEEDS | {name.replace("_", "-"): values for name, values in changed.items()}

    def made(p, t):
        undamaged, damaged, share, share_undamaged = speeds[p.name]
        values = {}
        for s in ("training", *"123456"):
            best, above = (undamaged, share_undamaged) if s == "training" else (damaged, share)
            values[s] = np.full(1000, 0.1 * HEXAPOD_SECONDS)
            values[s][: round(1000 * above)] = 0.201 * HEXAPOD_SECONDS
            values[s][0] = (best + 0.001 * t) * HEXAPOD_SECONDS
        histograms = {s: tuple(histogram(v, study.levels).tolist()) for s, v in values.items()}
        return replace(trial(p.name, t, values), levels=study.levels, histograms=histograms, settings=p.settings())

    groups = tuple(Group(p.name, p.label, (made(p, 0), made(p, 1)), p.family, p.ours) for p in study.pairs)
    table = claims_table(study, Comparison(groups, scale=study.scale))
    return {row[0]: row[2] for row in table.rows}


def test_the_papers_numbers_confirm_its_claims_about_the_hexapod():
    assert set(hexapod_verdicts().values()) == {"confirmed"}


@pytest.mark.parametrize(
    ("changed", "fallen"),
    [
        ({"cvt_12d": (0.38, 0.31, 0.065, 0.6)}, ["is about the same in 12D, 24D", "is about the same in all four"]),
        ({"cvt_36d": (0.48, 0.32, 0.105, 0.6)}, ["6D descriptor it is slightly better"]),
        ({"grid_6d": (0.41, 0.34, 0.213, 0.8)}, ["In 6D MAP-Elites finds about as good"]),
        ({"grid_24d": (0.22, 0.15, 0.0, 0.0)}, ["Undamaged, the best speed of MAP-Elites falls"]),
        ({"grid_24d": (0.16, 0.19, 0.0, 0.0)}, ["So it does when damaged"]),
        ({"cvt_36d": (0.44, 0.24, 0.105, 0.6)}, ["Damaged, the best speed of CVT-MAP-Elites remains"]),
        ({"cvt_24d": (0.44, 0.32, 0.25, 0.6)}, ["has the largest share above 0.2 m/s when damaged"]),
        ({"cvt_24d": (0.44, 0.32, 0.108, 0.9)}, ["It has undamaged, too"]),
        ({"grid_12d": (0.21, 0.18, 0.25, 0.0)}, ["falls significantly with dimension", "differ highly significantly"]),
        ({"cvt_36d": (0.44, 0.32, 0.03, 0.6)}, ["falls significantly with dimension"]),
        ({"grid_12d": (0.21, 0.25, 0.0, 0.0)}, ["1.7 to 2.1 times faster"]),
        ({"grid_36d": (0.45, 0.15, 0.0, 0.0)}, ["in 36D the grid finds slower gaits"]),
    ],
)
def test_each_claim_about_the_hexapod_can_fall(changed, fallen):
    verdicts = hexapod_verdicts(**changed)
    for words in fallen:
        assert [verdict for text, verdict in verdicts.items() if words in text] == ["not confirmed"]


def made_up(study, best, runs):
    """A comparison in which each pair's best is the same in all settings and runs, but for the run's number."""
    return Comparison(
        tuple(
            Group(p.name, p.label, tuple(replace(trial(p.name, t, {s: np.full(10, best(p) + 0.01 * t) for s in
                  ("training", "1")}, direction="min"), settings=p.settings()) for t in range(runs)))
            for p in study.pairs
        )
    )  # fmt: skip


def test_claims_of_no_difference_need_enough_runs_to_find_one():
    study = STUDIES["norms-maze"]()

    def verdict(best, runs):
        return claims_table(study, made_up(study, best, runs)).rows[0][2]

    assert verdict(lambda p: 1.0 if p.p == 2.0 else 300.0, 3) == "not tested at this scale"  # p is never below 0.1
    assert verdict(lambda p: 1.0 if p.p == 2.0 else 300.0, 4) == "not confirmed"
    assert verdict(lambda p: 1.0, 4) == "confirmed"


def test_improving_with_the_number_of_niches_means_at_every_step():
    study = STUDIES["niches-maze"]()

    def verdict(*bests):
        values = dict(zip((5, 50, 500, 5000), bests, strict=True))
        return claims_table(study, made_up(study, lambda p: values[p.n_niches], 2)).rows[0][2]

    assert verdict(100.0, 50.0, 20.0, 10.0) == "confirmed"
    assert verdict(100.0, 1.0, 50.0, 90.0) == "not confirmed"
    assert verdict(10.0, 10.0, 10.0, 10.0) == "not confirmed"
