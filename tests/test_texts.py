"""Solutions that are texts: drawn and varied by the user's functions, stored as texts."""

from __future__ import annotations

import csv

import numpy as np
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import tesselite as tl
from tesselite.report.page.packed_arrays import PackedArrays
from tesselite.report.page.run_data import describe_run, read_run
from tesselite.runs.known_designs import Start
from tesselite.runs.run import resume, run

SETTINGS = {"grid": 6, "evaluations": 400, "initial": 50, "batch_size": 50, "seed": 7}
LETTERS = "abc\u00e9 \u4e2d"


def draw(rng):
    return "".join(rng.choice(list(LETTERS), rng.integers(1, 12)))


def change(text, rng):
    i = rng.integers(0, len(text) + 1)
    return (text[:i] + rng.choice(list(LETTERS)) + text[i + rng.integers(0, 2) :])[:30]


def cross(text, other, rng):
    return (text[: len(text) // 2] + other[len(other) // 2 :])[:30] or "a"


def words(batch=False, **options):
    space = tl.Texts(draw, change, longest=120) if not options else tl.Texts(draw, **options, longest=120)

    @tl.problem(solutions=space, features={"length": (0, 30), "accents": (0, 10)}, batch=batch, name="words")
    def function(text):
        if batch:
            found = [worth(one) for one in text]
            return [one[0] for one in found], [one[1] for one in found]
        return worth(text)

    return function


def worth(text):
    assert isinstance(text, str)
    return len(set(text)) - len(text) / 100, (len(text), text.count("\u00e9"))


def test_texts_are_searched_resumed_and_stored(tmp_path):
    def stop(going):
        if going.evaluations >= 200:
            raise RuntimeError("enough")

    whole = run(words(), **SETTINGS).archive
    assert run(words(batch=True), **SETTINGS).archive.equals(whole)
    with pytest.raises(RuntimeError, match="enough"):
        run(words(), out=tmp_path / "run", progress=stop, **SETTINGS)
    assert resume(tmp_path / "run", words()).archive.equals(whole)
    elites = whole.elites()
    texts = words().solutions.decode(elites.solutions)
    assert [worth(text)[0] for text in texts] == elites.fitness.tolist()
    table = pq.read_table(tmp_path / "run" / "archive.parquet")
    assert table["text"].to_pylist() == texts == elites.columns()["text"].tolist()
    assert tl.Archive.load(tmp_path / "run").equals(whole)
    assert np.array_equal(Start.of(tmp_path / "run", words().solutions).rows, elites.solutions)
    shown = describe_run(read_run(tmp_path / "run"), PackedArrays())["archive"]
    assert shown["records"][0]["name"] == "text"
    assert set(shown["records"][0]["labels"]) == set(texts)


def test_texts_are_exported_and_can_be_a_start(tmp_path):
    from tesselite.cli.app import app

    run(words(), start=["aaa", "\u4e2d\u4e2d"], out=tmp_path / "run", **SETTINGS)
    assert CliRunner().invoke(app, ["export", str(tmp_path / "run"), "--to", "csv"]).exit_code == 0
    with (tmp_path / "run" / "elites.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    texts = words().solutions.decode(tl.Archive.load(tmp_path / "run").elites().solutions)
    assert [row["text"] for row in rows] == texts


def test_two_parents():
    assert len(run(words(vary=cross, n_parents=2), **SETTINGS).archive) > 3


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ("x" * 121, "texts of up to 120 bytes"),
        ("a\0b", "without"),
        ([3], "expected a text, got 3"),
        (np.zeros((2, 3)), "expected texts, or bytes of shape"),
        (np.full((1, 120), 255, np.uint8), "utf-8"),
    ],
)
def test_what_is_no_text_is_refused(bad, said):
    with pytest.raises(ValueError, match=said):
        words().solutions.validate(bad)


def test_functions_that_give_no_text_are_told():
    with pytest.raises(ValueError, match="random: expected a text, got 3"):
        tl.Texts(lambda rng: 3, change).random(1, np.random.default_rng(0))
    with pytest.raises(ValueError, match="vary: expected a function"):
        tl.Texts(draw, "change")
    for wrong in (3, 2.0, True):
        with pytest.raises(ValueError, match="n_parents: expected 1 or 2"):
            tl.Texts(draw, change, n_parents=wrong)
