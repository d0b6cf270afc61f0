"""Tables of the reproduction, recomputed from the stored trials by plain code: json, csv and NumPy alone.

A committed table rests on the trials that its folder's trials.csv lists; others may have come since.
"""

from __future__ import annotations

import csv
import json
import re
from functools import cache
from math import comb, inf, isinf
from pathlib import Path

import numpy as np
import pytest

HOME = Path(__file__).parents[1]
pytestmark = pytest.mark.skipif(not (HOME / "results").exists(), reason="a source distribution has no results")
FOLDERS = sorted(path.parents[1] for path in (HOME / "results").glob("*/tables/trials.csv"))


def rows_of(folder, name):
    with (folder / "tables" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@cache
def trials_of(folder):
    """The trials that the tables of a folder rest on, by pair."""
    found = {}
    for row in rows_of(folder, "trials"):
        path = folder / "trials" / row["pair"] / f"{int(row['trial']):03d}.json"
        found.setdefault(row["pair"], []).append(json.loads(path.read_text()))
    return found


def unit(trial):
    """Metres in five seconds are shown as a speed."""
    return 0.2 if trial["settings"]["problem"].startswith("hexapod") else 1.0


def bests(trial, *settings):
    bad = inf if trial["direction"] == "min" else -inf
    return [bad if trial["best"][s] is None else trial["best"][s] * unit(trial) for s in settings]


def scenarios(trial):
    return list(trial["best"])[1:]


def shares(trial, x, settings):
    """Of all assessed elites, those that come at least as near as x, or walk faster."""
    level = [abs(level * unit(trial) - x) < 1e-9 for level in trial["levels"]].index(True)
    found = []
    for setting in settings:
        counts = trial["histograms"][setting]
        reached = sum(counts[: level + 1]) if trial["direction"] == "min" else sum(counts[level + 1 :])
        found.append(reached / trial["assessed"])
    return found


def same(text, value):
    """Whether a cell shows a value: three significant digits, two where it is tiny."""
    if text in ("∞", "-∞"):
        return isinf(value) and (value < 0) == text.startswith("-")
    return abs(float(text.replace(",", "")) - value) <= (0.051 if "e" in text else 0.0051) * abs(value) + 1e-12


NUMBERS = {
    "share of filled niches": lambda runs: np.median([t["metrics"]["coverage"] for t in runs]),
    "spread": lambda runs: np.median([t["metrics"]["spread"] for t in runs]),
    "share within 20 units": lambda runs: np.median([s for t in runs for s in shares(t, 20.0, scenarios(t))]),
    "best speed, undamaged (m/s)": lambda runs: np.median([bests(t, "training") for t in runs]),
    "best speed, mean of the medians of 6 damages (m/s)": lambda runs: np.mean(
        [np.median([bests(t, damage) for t in runs]) for damage in scenarios(runs[0])]
    ),
    "share above 0.2 m/s, damaged": lambda runs: np.median([s for t in runs for s in shares(t, 0.2, scenarios(t))]),
}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_numbers_beside_the_papers(folder):
    """Those of the pairs that the paper has; the names of others say more."""
    if not (folder / "tables" / "paper_and_ours.csv").exists():
        pytest.skip("a study without numbers in the paper")
    checked = 0
    for row in rows_of(folder, "paper_and_ours"):
        label = re.fullmatch(r"(CVT-)?MAP-Elites (\d+)D", row["pair"])
        if label and row["quantity"] in NUMBERS:
            runs = trials_of(folder)[f"{'cvt' if label[1] else 'grid'}-{label[2]}d"]
            value = NUMBERS[row["quantity"]](runs)
            assert same(row["ours"], value), row
            assert int(row["runs"]) == len(runs)
            assert {t["settings"]["evaluations"] for t in runs} == {int(row["evaluations"])}
            if row["95 % interval"]:
                low, high = (float(end.replace(",", "")) for end in row["95 % interval"].split(" to "))
                assert low <= value * 1.0051
                assert high >= value * 0.9949
            checked += 1
    assert checked


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_best_performance_in_every_setting(folder):
    pairs = list(trials_of(folder).values())
    for row, setting in zip(rows_of(folder, "best_performance"), pairs[0][0]["best"], strict=True):
        _, *cells = row.values()
        for cell, runs in zip(cells, pairs, strict=True):
            values = [bests(t, setting)[0] for t in runs]
            if np.isfinite(values).all():
                middle, low, high = re.fullmatch(r"(\S+) \[(\S+), (\S+)\]", cell).groups()
                for text, q in ((low, 0.25), (middle, 0.5), (high, 0.75)):
                    assert same(text, np.quantile(values, q)), (setting, cell)


def median_scenario(value):
    return lambda trial: np.median(value(trial))


CLAIMS = {
    "falls sharply": lambda t: t["metrics"]["coverage"],
    "fills a larger share": lambda t: t["metrics"]["coverage"],
    "become better spread": lambda t: t["metrics"]["spread"],
    "spread of MAP-Elites rises": lambda t: t["metrics"]["spread"],
    "does not deteriorate in high": median_scenario(lambda t: bests(t, *scenarios(t))),
    "share within 20 units is slightly higher": median_scenario(lambda t: shares(t, 20.0, scenarios(t))),
    "k = 500 and k = 5000": median_scenario(lambda t: bests(t, *scenarios(t))),
    "share within 100 units is higher": median_scenario(lambda t: shares(t, 100.0, scenarios(t))),
    "1.7 to 2.1 times faster": lambda t: np.mean(bests(t, *scenarios(t))),
    "6D descriptor the best speed": lambda t: t["metrics"]["best_fitness"] * unit(t),
    "Undamaged, k = 100,000": lambda t: bests(t, "training")[0],
    "share above 0.2 m/s is larger with smaller k": lambda t: shares(t, 0.2, ["training"])[0],
    "norms do not differ significantly in the best speed": lambda t: np.mean(bests(t, *scenarios(t))),
}


@cache
def orders(n, m, u):
    """The number of orders of n + m runs in which u pairs are reversed."""
    if n == 0 or m == 0 or u < 0:
        return int(u == 0)
    return orders(n - 1, m, u - m) + orders(n, m - 1, u)


def shift(first, second):
    """The differences between which 95 % lie, by Mann and Whitney's test; None if there are too few."""
    n, m = len(first), len(second)
    allowed = 0.025 * comb(n + m, n)
    cut = 0
    while sum(orders(n, m, u) for u in range(cut + 1)) <= allowed:
        cut += 1
    differences = sorted(a - b for a in first for b in second)
    return (differences[cut - 1], differences[-cut]) if cut else None


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_figures_of_claims(folder):
    if not (folder / "tables" / "claims.csv").exists():
        pytest.skip("a study without claims")
    pattern = re.compile(r"([\w.-]+) (\S+), ([\w.-]+) (\S+): (difference|ratio) (\[(\S+), (\S+)\]|unknown)")
    for row in rows_of(folder, "claims"):
        value = next((value for words, value in CLAIMS.items() if words in row["claim"]), None)
        if value is None:
            continue
        for first, x, second, y, kind, _, low, high in pattern.findall(row["ours"]):
            a, b = ([value(trial) for trial in trials_of(folder)[pair]] for pair in (first, second))
            assert same(x, np.median(a)), row
            assert same(y, np.median(b)), row
            if min(map(min, (a, b))) > 0.0 or kind == "difference":
                interval = shift(a, b) if kind == "difference" else shift(np.log(a), np.log(b))
                if interval is None:
                    assert not low
                elif np.isfinite(interval).all():
                    interval = np.exp(interval) if kind == "ratio" else interval
                    assert same(low, interval[0]), row
                    assert same(high, interval[1]), row


def test_there_is_something_to_check():
    assert len(FOLDERS) >= 6
