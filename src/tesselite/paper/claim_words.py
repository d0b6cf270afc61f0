"""Claims and numbers for readers: pairs by the names of the paper, units, as few digits as it prints.

How claims are decided is in `claim_rules`; here they are only put into words and short tables.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from tesselite.assessment.comparison import Comparison, Measure
from tesselite.assessment.statistics import mann_whitney
from tesselite.assessment.tables import Table, shown
from tesselite.paper.claim_rules import AGREES, OTHER_BUDGET, UNDERPOWERED, VERDICTS, Claim, Contrast
from tesselite.paper.claims import Judged
from tesselite.paper.reported import Number, number_of, numbers_of_pairs
from tesselite.paper.studies import Study

_MOST = 9  # values in a cell
_FEWEST = 4  # runs of which an interval is more than their range
_HELD_OUT = {" m/s": "damaged", " units": "in the median environment"}
_Found = dict[tuple[Measure | None, str], str]
"""Values by measure and pair."""


def listed(values: Mapping[str, str]) -> str:
    """Values by label. Labels that begin with the same word share it: "MAP-Elites 2D: 0.72, 10D: 0.09"."""
    heads = defaultdict(list)
    for label, value in values.items():
        head, _, rest = label.partition(" ")
        heads[head if rest else ""].append(f"{rest or label}: {value}")
    return "; ".join(f"{head} {', '.join(told)}".strip() for head, told in heads.items())


def paper_in_words(study: Study, claim: Claim) -> str:
    """The paper's numbers for what a claim is about; empty where it prints none."""
    asked = [
        (statement.measure, pair) for statement in claim.statements if isinstance(statement, Contrast)
        for pair in statement.pairs
    ]  # fmt: skip
    found: _Found = {(m, pair): n for m, pair in asked if (n := number_of(study.name, pair, m)) is not None}
    return _by_measure(study, found)


def ours_in_words(study: Study, one: Judged) -> str:
    """The values that a claim is about; if there are too many, how many of its statements hold."""
    values = {(value.measure, value.name): value.value for finding in one.findings for value in finding.values}
    if len(values) > _MOST:
        return one.tally()
    found = {key: value if isinstance(value, str) else _two_digits(value) for key, value in values.items()}
    return _by_measure(study, found)


def _by_measure(study: Study, found: _Found) -> str:
    """Values by measure and pair, the pairs in the study's order; measures by name if there are several."""
    order = {pair.name: place for place, pair in enumerate(study.pairs)}
    labels = {pair.name: pair.label.removesuffix(" (ours)") for pair in study.pairs}
    told = []
    measures = dict.fromkeys(measure for measure, _ in found)
    for measure in measures:
        of_measure = {name: value for (other, name), value in found.items() if other == measure}
        names = sorted(of_measure, key=lambda name: order.get(name, len(order)))
        text = listed({labels.get(name, name): of_measure[name] for name in names})
        name, unit = _name_and_unit(study, measure)
        told.append((f"{name}: " if len(measures) > 1 and name else "") + text + unit)
    return ". ".join(told)


def _name_and_unit(study: Study, measure: Measure | None) -> tuple[str, str]:
    if measure is None:
        return "", ""
    unit = " m/s" if "m/s" in study.fitness_name else " units"
    if measure.kind == "share":
        reached = f"above {measure.x:g}" if unit == " m/s" else f"within {measure.x:g}"
        return f"share {reached}{unit}", ""
    where = _HELD_OUT[unit] if measure.setting is None else study.training_name
    return {
        "coverage": ("filled niches", ""),
        "spread": ("spread", ""),
        "found": ("best found", unit),
    }.get(measure.kind, (f"best {where}", unit))


def _two_digits(value: float) -> str:
    if value == 0.0 or 10.0 <= abs(value) < 1e15:
        return f"{value:.0f}"
    return f"{value:#.2g}".removesuffix(".")  # 9.96 is "10."


def runs_in_words(study: Study, one: Judged) -> str:
    """How many runs a claim rests on, with what sets them apart from the paper's."""
    few, many = min(one.runs), max(one.runs)
    counts = f"{few} to {many}" if few < many else "none" if not many else str(many)
    if one.verdict != OTHER_BUDGET:
        return counts
    other = one.evaluations != (study.paper_evaluations,)
    return counts + (f" of {' or '.join(f'{n:,}' for n in one.evaluations)}" if other else ", other settings")


_OTHER = "the only runs have fewer evaluations than the paper's, or other settings"


def _why(one: Judged) -> str:
    """Why a claim is undecided."""
    if one.verdict == OTHER_BUDGET:
        return _OTHER
    if not one.complete:
        return "some of the pairs have no runs yet"
    if any(finding.holds is None and "too few runs" in finding.grounds for finding in one.findings):
        return "there are fewer runs than an interval needs"
    return "an interval reaches beyond the margin of the rule"


def verdicts_in_words(studies: Mapping[str, Iterable[Judged]]) -> str:
    """What agrees, what does not, and what is undecided and why; `studies` are by title."""
    decided: dict[str, dict[str, list[Judged]]] = {}
    undecided: dict[str, dict[str, list[Judged]]] = {}
    for title, claims in studies.items():
        for one in claims:
            if one.verdict in (OTHER_BUDGET, UNDERPOWERED):
                undecided.setdefault(_why(one), {}).setdefault(title, []).append(one)
            else:
                decided.setdefault(one.verdict, {}).setdefault(title, []).append(one)
    lines = []
    for verdict, titles in sorted(decided.items()):
        parts = (f"{title}: {'; '.join(map(_in_short, claims))}." for title, claims in titles.items())
        lines.append(f"- **{verdict.capitalize()}** ({_count(titles)}). {' '.join(parts)}")
    if undecided:
        lines.append(f"- **Undecided** ({sum(map(_count, undecided.values()))}), because")
    for why, titles in sorted(undecided.items(), key=lambda item: (item[0] == _OTHER, item[0])):
        parts = (f"{title} {len(claims)}" for title, claims in titles.items())
        lines.append(f"  - {why} ({_count(titles)}): {'; '.join(parts)}.")
    return "\n".join(lines)


def _count(titles: Mapping[str, list[Judged]]) -> int:
    return sum(map(len, titles.values()))


def _in_short(one: Judged) -> str:
    return one.claim.text.rstrip(".") + ("" if one.verdict == AGREES else f" ({one.tally()})")


def released_in_words(claims: Iterable[tuple[Judged, Judged]]) -> str:
    """The verdicts by the released code's rules, and which differ. Each claim: as by the paper's text, then by them."""
    both = list(claims)
    if not both:
        return ""
    counts = Counter(other.verdict for _, other in both)
    told = ", ".join(f"{verdict} {counts[verdict]}" for verdict in VERDICTS if counts[verdict])
    changed = [
        f"{text.claim.text.rstrip('.')} ({other.verdict} instead of {text.verdict})"
        for text, other in both
        if other.verdict != text.verdict
    ]
    said = f" Not as by the paper's text: {'; '.join(changed)}." if changed else ""
    n = f"{len(both)} claim{'s'[: len(both) > 1]}"
    return f"- By the **released rules**, for {n} about pairs that they change: {told}.{said}"


def numbers_by_pair(study: Study, comparison: Comparison) -> Table | None:
    """The paper's numbers beside ours with intervals, a row for each pair; None where the paper has none.

    Ours are bold where the interval holds the paper's number as printed.
    """
    found = _numbers(study, comparison)
    if not found:
        return None
    quantities = list(dict.fromkeys(number.measure.label for number, _ in found))
    cells = {(name, number.measure.label): _beside(comparison, number, name) for number, name in found}
    rows = [
        [group.label, len(group.trials), *(cell for q in quantities for cell in cells.get((group.name, q), ("", "")))]
        for group in comparison.groups
        if any(name == group.name for _, name in found)
    ]
    heads = (head for quantity in quantities for head in (f"{quantity}: paper", "ours [95 %]"))
    return Table(["pair", "runs", *heads], rows)


def tests_in_words(study: Study, comparison: Comparison) -> str:
    """The p values that the paper gives, and ours."""
    groups = {group.name: group for group in comparison.groups}
    told = []
    for number, name, against in numbers_of_pairs(study, groups):
        if against:
            p = mann_whitney(*(comparison.values(groups[one], number.measure) for one in (name, against))).p
            told.append(f"{groups[name].label} and {groups[against].label} p = {shown(p)} (paper {number.paper})")
    return f"Shares compared over runs x damages, as in the paper: {'; '.join(told)}." if told else ""


def numbers_inside(study: Study, comparison: Comparison) -> dict[str, tuple[int, int]]:
    """Of the paper's numbers that we have an interval from four runs for, how many it holds; by quantity."""
    found: dict[str, tuple[int, int]] = {}
    for number, name in _numbers(study, comparison):
        if name == number.pair and len(comparison.group(name).trials) >= _FEWEST:
            inside, total = found.get(number.measure.label, (0, 0))
            found[number.measure.label] = (inside + _holds(comparison, number, name), total + 1)
    return found


def _numbers(study: Study, comparison: Comparison) -> list[tuple[Number, str]]:
    """The paper's numbers, each with a pair of ours for it."""
    names = [group.name for group in comparison.groups]
    return [(number, name) for number, name, against in numbers_of_pairs(study, names) if not against]


def _holds(comparison: Comparison, number: Number, name: str) -> bool:
    """Whether our interval holds the paper's number, rounded as it prints it."""
    interval = comparison.estimate(comparison.group(name), number.measure).interval
    half = 0.5 * 10.0 ** -len(number.paper.partition(".")[2] or "000")  # its zeros are of three digits
    return interval is not None and interval[0] - half <= float(number.paper) <= interval[1] + half


def _beside(comparison: Comparison, number: Number, name: str) -> tuple[str, str]:
    ours = comparison.estimate(comparison.group(name), number.measure)
    text = shown(ours.value) + ("" if ours.interval is None else " [{}, {}]".format(*map(shown, ours.interval)))
    return number.paper, f"**{text}**" if _holds(comparison, number, name) else text


def claim_in_full(study: Study, one: Judged, other: Judged | None = None) -> str:
    """A claim with its verdict, its evidence and its rule, as a list item; `other` judges it by the released rules."""
    verdict = f"*{one.verdict}*; runs: {runs_in_words(study, one)}."
    lines = [f"- **{one.claim.text}** ({one.claim.place}) {verdict}", f"  - Ours: {_evidence(study, one)}."]
    if other:
        lines.append(f"  - By the released code's rules: *{other.verdict}*; {_evidence(study, other)}.")
    return "\n".join([*lines, f"  - Rule: {one.claim.rule_in_full}"])


def _evidence(study: Study, one: Judged) -> str:
    """The findings, pairs by their labels."""
    labels = {pair.name: pair.label.removesuffix(" (ours)") for pair in study.pairs}
    missing = [labels[pair] for pair, runs in zip(one.claim.pairs, one.runs, strict=True) if not runs]
    told = [one.tally()] if len(one.findings) > _MOST else []
    for finding in one.decisive(_MOST):
        if not finding.values:
            continue
        names = [value.name.partition(" in ") for value in finding.values]
        texts = [f"{labels.get(name, name)}{of}{where}" for name, of, where in names]
        head = texts[0].partition(" ")[0]
        if len(names) > 1 and all(text.startswith(f"{head} ") for text in texts):
            texts[1:] = [text.removeprefix(f"{head} ") for text in texts[1:]]
        values = [f"{text} {shown(value.value)}" for text, value in zip(texts, finding.values, strict=True)]
        told.append(": ".join(part for part in (" and ".join(values), finding.grounds) if part))
    return "; ".join(dict.fromkeys([*told, *([f"no runs of {', '.join(missing)}"] if missing else [])]))
