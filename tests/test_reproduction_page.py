"""The page of the reproduction: it is made from any set of trials."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path
from statistics import median

import pytest

from tesselite.paper.claims import CLAIMS
from tesselite.paper.studies import STUDIES

HOME = Path(__file__).parents[1]
pytestmark = pytest.mark.skipif(not (HOME / "results").exists(), reason="a source distribution has no results")


@pytest.fixture
def tool():
    spec = importlib.util.spec_from_file_location("reproduction", HOME / "tools" / "reproduction.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rows(table):
    return [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ")]


def test_the_pages_can_be_filled(tool):
    texts = {page: tool.filled(page, parts) for page, parts in tool.pages().items()}
    for page, parts in tool.pages().items():
        assert all(texts[page].count(f"<!-- {name} -->") == 2 for name in parts)
    for make in STUDIES.values():
        assert f"# {make().title}\n" in texts["docs/reproduction.md"]


def test_no_trials_at_all(tool, tmp_path, monkeypatch):
    monkeypatch.setattr(tool, "RESULTS", tmp_path)
    assert f"Verdicts on {sum(map(len, CLAIMS.values()))} claims: agrees 0, mixed 0, disagrees 0" in tool.summary()
    assert tool.study_section("maze") == "No trials yet."
    assert [row[3] for row in rows(tool.state())[2:]] == ["0"] * len(STUDIES)
    assert tool.appendix() == "None."
    assert len(rows(tool.released_effects())) == len(rows(tool.hexapod_speeds())) == 2  # heads alone


def test_a_few_trials(tool, tmp_path, monkeypatch):
    """One trial of two pairs at the paper's budget, and short runs of all: claims take the first that is complete."""
    for name in ("grid-6d", "cvt-6d"):
        shutil.copytree(HOME / f"results/hexapod-earlier/trials/{name}", tmp_path / f"hexapod/trials/{name}")
    shutil.copytree(HOME / "results/hexapod-short/trials", tmp_path / "hexapod-short/trials")
    monkeypatch.setattr(tool, "RESULTS", tmp_path)
    monkeypatch.setattr(tool, "HOME", tmp_path)
    claims = {row[0]: row[1:] for row in rows(tool.summary())}
    as_good = "In 6D MAP-Elites finds about as good a gait as CVT-MAP-Elites."
    assert claims[as_good] == ["", "MAP-Elites 6D: 0.43; CVT-MAP-Elites 6D: 0.46 m/s", "1", "underpowered"]
    assert claims["CVT-MAP-Elites scales significantly better."][2:] == ["2 of 2,000,000", "other budget"]
    assert "or other settings (14): Hexapod locomotion 14." in tool.summary()
    hexapod = next(row for row in rows(tool.state()) if row[0] == "Hexapod locomotion")
    assert hexapod[3] == "0 to 1"
    section = tool.study_section("hexapod")
    assert "2 pairs, 1 run each of 15,010,200 evaluations" in section
    assert f"- **{as_good}** (V-B, Fig. 6A) *underpowered*; runs: 1." in section
    assert "*other budget*; runs: 2 of 2,000,000." in section  # as in the summary
    assert "### Hexapod locomotion, `hexapod-short`" in tool.appendix()


def test_runs_of_one_seed_on_other_niches_are_other_runs(tool):
    """By hand: the best speed at 15 million evaluations of all long runs of CVT-MAP-Elites in 24D."""
    speeds = []
    for folder in ("hexapod", "hexapod-earlier"):
        for file in (HOME / "results" / folder / "trials/cvt-24d").glob("*.json"):
            progress = json.loads(file.read_text())["progress"]
            at = max(i for i, n in enumerate(progress["evaluations"]) if n <= 15_000_000)
            speeds.append(progress["best_fitness"][at] / 5)
    head, *_, last = rows(tool.hexapod_speeds())
    assert last[0] == "15,000,000"
    assert last[head.index("CVT-ME 24D")] == f"{median(speeds):.3f} ({len(speeds)})"


def test_effects_of_the_released_rules(tool):
    """One row by hand: the share that grids fill in 10D, by the paper's text and with the released code's cells."""
    found = {}
    for name in ("grid-10d", "grid-10d-released"):
        files = (HOME / "results/maze/trials" / name).glob("*.json")
        found[name] = [json.loads(file.read_text())["metrics"]["coverage"] for file in files]
    row = next(
        row for row in rows(tool.released_effects()) if row[:2] == ["MAP-Elites 10D, released cells", "filled niches"]
    )
    assert row[2] == "0.09"
    for cell, values in zip(row[3:5], found.values(), strict=True):
        assert float(cell) == pytest.approx(median(values), rel=0.005)
    assert row[6] == ", ".join(str(len(values)) for values in found.values())
