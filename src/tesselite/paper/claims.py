"""What became of the paper's claims: for each study, every claim's verdict from the trials at hand."""

from __future__ import annotations

from tesselite.assessment.comparison import Comparison
from tesselite.assessment.tables import Table
from tesselite.paper.claim_rules import Facts
from tesselite.paper.claims_hexapod import HEXAPOD_CLAIMS, NICHES_HEXAPOD_CLAIMS, NORMS_HEXAPOD_CLAIMS
from tesselite.paper.claims_maze import MAZE_CLAIMS, NICHES_MAZE_CLAIMS, NORMS_MAZE_CLAIMS
from tesselite.paper.studies import STUDIES, Study

CLAIMS = {
    "maze": MAZE_CLAIMS,
    "hexapod": HEXAPOD_CLAIMS,
    "niches-maze": NICHES_MAZE_CLAIMS,
    "niches-hexapod": NICHES_HEXAPOD_CLAIMS,
    "norms-maze": NORMS_MAZE_CLAIMS,
    "norms-hexapod": NORMS_HEXAPOD_CLAIMS,
}

_AS_IN_THE_PAPER = ("grid", "n_niches", "p", "initial", "batch_size", "at_most")


def claims_table(study: Study, comparison: Comparison) -> Table | None:
    """Each claim: confirmed, not confirmed, or not tested at this scale, with the figures; None if there are none.

    A claim is tested if all its pairs have the paper's settings (but for the samples of a CVT) and at least two runs of
    at least a tenth of the paper's evaluations; if it rests on a test over runs, at least four.
    """
    facts = Facts(comparison)
    in_paper = {pair.name: pair for pair in STUDIES[study.name]().pairs} if study.name in STUDIES else {}
    for group in comparison.groups:
        settings = group.trials[0].settings
        wanted = in_paper[group.name].settings() if group.name in in_paper else settings
        others = any(settings.get(name) != wanted.get(name) for name in _AS_IN_THE_PAPER)
        if len(group.trials) < 2 or 10 * settings["evaluations"] < study.paper_evaluations or others:
            del facts.groups[group.name]
    rows = []
    for claim in CLAIMS.get(study.name, []):
        try:
            holds, told = claim.rule(facts)
            rows.append([claim.text, claim.place, "confirmed" if holds else "not confirmed", told])
        except (KeyError, ValueError, ZeroDivisionError):
            rows.append([claim.text, claim.place, "not tested at this scale", ""])
    return Table(["claim", "place", "verdict", "figures"], rows) if rows else None
