"""The page of the reproduction: it is made from any set of trials."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

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


def test_a_few_trials(tool, tmp_path, monkeypatch):
    """One trial of two pairs at the paper's budget, and short runs of all: claims take the first that is complete."""
    for name in ("grid-6d", "cvt-6d"):
        shutil.copytree(HOME / f"results/hexapod-earlier/trials/{name}", tmp_path / f"hexapod/trials/{name}")
    shutil.copytree(HOME / "results/hexapod-short/trials", tmp_path / "hexapod-short/trials")
    monkeypatch.setattr(tool, "RESULTS", tmp_path)
    monkeypatch.setattr(tool, "HOME", tmp_path)
    verdicts = {row[0]: row[3:5] for row in rows(tool.summary())}
    as_good = "In 6D MAP-Elites finds about as good a gait as CVT-MAP-Elites."
    assert verdicts[as_good] == ["1 x 15,010,200", "underpowered"]
    assert verdicts["CVT-MAP-Elites scales significantly better."] == ["2 x 2,000,000", "other budget"]
    hexapod = next(row for row in rows(tool.state()) if row[0] == "Hexapod locomotion")
    assert hexapod[3] == "0 to 1"
    assert "2 pairs with 1 run of 15,010,200 evaluations" in tool.study_section("hexapod")
    assert "### Hexapod locomotion, `hexapod-short`" in tool.appendix()
