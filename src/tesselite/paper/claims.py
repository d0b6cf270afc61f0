"""Verdicts on the paper's claims: for each study, from the trials at hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tesselite.assessment.comparison import Comparison
from tesselite.assessment.tables import Table, shown
from tesselite.paper import claims_hexapod, claims_maze
from tesselite.paper.claim_rules import OTHER_BUDGET, Claim, Contrast, Evidence, Finding, verdict
from tesselite.paper.reported import number_of, released
from tesselite.paper.studies import STUDIES, Study

_CLAIMS = claims_maze.CLAIMS | claims_hexapod.CLAIMS
CLAIMS = {study: _CLAIMS[study] for study in STUDIES if study in _CLAIMS}


@dataclass(frozen=True)
class Judged:
    """A claim with its verdict and the findings of its statements.

    `runs` counts those of each of its pairs, in order, and `evaluations` are theirs; it is `complete` if all pairs have
    some.
    """

    claim: Claim
    verdict: str
    findings: tuple[Finding, ...]
    runs: tuple[int, ...]
    evaluations: tuple[int, ...]

    @property
    def complete(self) -> bool:
        """Whether all pairs have runs."""
        return all(self.runs)

    def tally(self) -> str:
        """How many statements hold, fail and are undecided."""
        holds = [finding.holds for finding in self.findings]
        others = {"fail": holds.count(False), "undecided": holds.count(None)}
        told = [f"{count} {what}" for what, count in others.items() if count]
        return ", ".join([f"{holds.count(True)} of {len(holds)} hold", *told])

    def decisive(self, most: int) -> list[Finding]:
        """All findings, or at most this many, those against the claim first."""
        if len(self.findings) <= most:
            return list(self.findings)
        return sorted(self.findings, key=lambda finding: (finding.holds is not False, finding.holds is True))[:most]

    def figures(self, most: int) -> str:
        """The decisive findings, after the tally where there are more.

        Settings that differ are not repeated here: the report states them once for each study.
        """
        told = [self.tally()] if len(self.findings) > most else []
        return "; ".join([*told, *dict.fromkeys(finding.figures for finding in self.decisive(most))])


def judge(study: Study, comparison: Comparison | None, *, as_released: bool = False) -> list[Judged]:
    """Every claim about a study. One whose pairs have other settings than the full study's is of another budget.

    `as_released` takes the pairs as the released code reads them, and judges the claims for which that matters.
    """
    readings = released(study) if as_released else {}
    evidence = Evidence(comparison, readings)
    full = {pair.name: pair.settings() for pair in STUDIES[study.name]().pairs} if study.name in STUDIES else {}
    judged = []
    for claim in CLAIMS.get(study.name, []):
        if as_released and not readings.keys() & {*claim.pairs}:
            continue
        findings = tuple(statement.decide(evidence) for statement in claim.statements)
        trials = {evidence.name(pair): evidence.groups[pair].trials for pair in claim.pairs if pair in evidence.groups}
        others = dict.fromkeys(
            part for pair, runs in trials.items() for part in differences(runs[0].settings, full[pair])
        )
        budgets = {runs[0].settings["evaluations"] for runs in trials.values()}
        judged.append(
            Judged(
                claim,
                OTHER_BUDGET if others else verdict(findings),
                findings,
                tuple(len(trials.get(evidence.name(pair), ())) for pair in claim.pairs),
                tuple(sorted(budgets)),
            )
        )
    return judged


def differences(settings: dict[str, Any], wanted: dict[str, Any]) -> list[str]:
    """The settings of a trial that are not those wanted; another random stream of the CVT does not count."""
    names = sorted({*settings, *wanted} - {"cvt_draws"})
    found = {name: (settings.get(name), wanted.get(name)) for name in names if settings.get(name) != wanted.get(name)}
    if "problem" in found:
        (base, _, ours), (wanted_base, _, theirs) = (str(problem).partition(",") for problem in found["problem"])
        if base == wanted_base:  # the same for all descriptors
            del found["problem"]
            found["options of the problem"] = (ours or "none", theirs or "none")
    return [f"{name} {shown(ours)} instead of {shown(theirs)}" for name, (ours, theirs) in found.items()]


def paper_figures(study: str, claim: Claim) -> str:
    """The paper's numbers for what the claim is about; empty where it prints none."""
    found = {
        f"{pair} {number}": None
        for statement in claim.statements
        if isinstance(statement, Contrast)
        for pair in statement.pairs
        if (number := number_of(study, pair, statement.measure)) is not None
    }
    return ", ".join(found)


def claims_table(study: Study, comparison: Comparison) -> Table | None:
    """Each claim with what the paper gives, our figures with 95 % intervals, the verdict and its rule; None if none.

    Where pairs have trials as the released code reads them, a second line judges the claim by these.
    """
    as_released = {one.claim.text: one for one in judge(study, comparison, as_released=True) if one.complete}
    rows = []
    for one in judge(study, comparison):
        claim, other = one.claim, as_released.get(one.claim.text)
        paper = paper_figures(study.name, claim)
        rows.append([claim.text, claim.place, paper, one.figures(6), one.verdict, claim.rule_in_full])
        if other:
            rows.append(["the same by the released code's rules", "", "", other.figures(6), other.verdict, ""])
    return Table(["claim", "place", "paper", "ours", "verdict", "rule"], rows) if rows else None
