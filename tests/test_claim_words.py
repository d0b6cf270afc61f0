"""Claims and numbers in words: what a reader of the reproduction is told, against cases made by hand."""

from __future__ import annotations

from dataclasses import replace

from tesselite.paper.claim_words import (
    claim_in_full,
    listed,
    numbers_by_pair,
    numbers_inside,
    ours_in_words,
    paper_in_words,
    released_in_words,
    runs_in_words,
    verdicts_in_words,
)
from tesselite.paper.claims import judge
from tesselite.paper.studies import STUDIES, scaled
from test_claims import AS_IN_THE_PAPER, comparison, world


def judged(name, made, words, **options):
    study = STUDIES[name]()
    return study, next(one for one in judge(study, made, **options) if words in one.claim.text)


def test_values_share_the_first_word_of_their_labels():
    values = {"MAP-Elites 2D": "0.72", "MAP-Elites 10D": "0.09", "CVT-MAP-Elites 2D": "0.73", "k=5": "1"}
    assert listed(values) == "MAP-Elites 2D: 0.72, 10D: 0.09; CVT-MAP-Elites 2D: 0.73; k=5: 1"


def test_the_papers_values_and_ours():
    study, one = judged("hexapod", comparison(STUDIES["hexapod"](), AS_IN_THE_PAPER["hexapod"]), "scales significantly")
    paper = (
        "best undamaged: MAP-Elites 12D: 0.21, 24D: 0.16; CVT-MAP-Elites 12D: 0.45, 24D: 0.44 m/s. "
        "best damaged: MAP-Elites 12D: 0.18, 24D: 0.15; CVT-MAP-Elites 12D: 0.31, 24D: 0.32 m/s"
    )
    assert paper_in_words(study, one.claim) == ours_in_words(study, one) == paper
    assert runs_in_words(study, one) == "12"
    study, one = judged("maze", comparison(STUDIES["maze"](), AS_IN_THE_PAPER["maze"]), "is below 10 units")
    assert ours_in_words(study, one) == "153 of 153 hold"
    nearly_ten = comparison(study, world("maze", {"cvt-2d": {"best_held_out": 9.96}}))
    assert ours_in_words(*judged("maze", nearly_ten, "behaves like")).endswith("; CVT-MAP-Elites 2D: 10 units")


def test_what_agrees_and_why_the_rest_is_undecided():
    study = STUDIES["hexapod"]()
    made = comparison(study, world("hexapod", {"grid-24d": {"best_held_out": 0.33}}))
    few = replace(made, groups=tuple(replace(g, trials=g.trials[:3]) for g in made.groups))
    gone = replace(made, groups=tuple(group for group in made.groups if group.name != "cvt-36d"))
    told = verdicts_in_words({"Hexapod": judge(study, made)})
    assert told.startswith("- **Agrees** (12). Hexapod: ")
    assert "CVT-MAP-Elites scales significantly better (3 of 4 hold, 1 fail)" in told
    assert "Undecided" not in told
    assert "there are fewer runs than an interval needs (15)" in verdicts_in_words({"Hexapod": judge(study, few)})
    assert "some of the pairs have no runs yet (" in verdicts_in_words({"Hexapod": judge(study, gone)})
    short = judge(study, comparison(scaled(study, evaluations=1000), AS_IN_THE_PAPER["hexapod"]))
    assert verdicts_in_words({"Hexapod": short}).endswith("or other settings (15): Hexapod 15.")
    assert {runs_in_words(study, one) for one in short} == {"12 of 1,000"}


def test_the_released_rules_are_counted_apart():
    study, text = judged("maze", comparison(STUDIES["maze"](), AS_IN_THE_PAPER["maze"]), "fills a larger share")
    spread = next(one for one in judge(study, None) if "MAP-Elites rises from 2D" in one.claim.text)
    told = released_in_words([(text, text), (spread, replace(spread, verdict="agrees"))])
    assert told == (
        "- By the **released rules**, for 2 claims about pairs that they change: agrees 2. Not as by the paper's text: "
        "The spread of MAP-Elites rises from 2D to 10D and falls to 20D (agrees instead of underpowered)."
    )
    assert released_in_words([]) == ""


def test_a_claim_in_full_names_pairs_as_the_paper_does():
    study = STUDIES["maze"]()
    made = comparison(study, AS_IN_THE_PAPER["maze"])
    gone = replace(made, groups=tuple(group for group in made.groups if group.name != "cvt-20d"))
    text = claim_in_full(study, judged("maze", gone, "fills a larger share")[1])
    assert text.startswith(
        "- **CVT-MAP-Elites fills a larger share than MAP-Elites in 10D and 20D.** (IV-B) *underpowered*"
    )
    assert "CVT-MAP-Elites 10D 0.46 and MAP-Elites 10D 0.09: difference [" in text
    assert "; no runs of CVT-MAP-Elites 20D." in text
    assert text.endswith("Rule: by more than 0.01 (since 2026-11-17).")


def test_numbers_stand_in_a_row_for_each_pair_bold_where_the_interval_holds_the_papers():
    study = STUDIES["maze"]()
    made = comparison(study, world("maze", {"cvt-2d": {"coverage": 0.93}}))
    table = numbers_by_pair(study, made)
    rows = {row[0]: row[1:] for row in table.rows}
    assert len(rows) == 9
    assert rows["CVT-MAP-Elites 2D"][:2] == [12, "0.73"]
    assert rows["CVT-MAP-Elites 2D"][2].startswith("0.93")
    assert rows["CVT-MAP-Elites 10D"][2].startswith("**0.46")
    assert numbers_inside(study, made)["share of filled niches"] == (8, 9)
    few = replace(made, groups=tuple(replace(group, trials=group.trials[:3]) for group in made.groups))
    assert numbers_inside(study, few) == {}
    assert (
        numbers_by_pair(STUDIES["norms-maze"](), comparison(STUDIES["norms-maze"](), AS_IN_THE_PAPER["norms-maze"]))
        is None
    )
