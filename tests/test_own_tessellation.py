"""A user's tessellation: in the compiled loop as through Python, saved, resumed, shown, and imported by name."""

from __future__ import annotations

import importlib
import json
import math
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest
from numba import njit
from typer.testing import CliRunner

import tesselite as tl
from tesselite.cli.app import app
from tesselite.report.page import write_report
from tesselite.runs.folder import RunFolder
from tesselite.runs.loading import problem_of
from tesselite.search.map_elites import runs_compiled
from tesselite.tessellation.niches import niches_from_dict
from tesselite.tessellation.own import by_name, class_of

EXAMPLES = Path(__file__).parent.parent / "examples"
ARM = tl.problems.arm(5)
SETTINGS = {"evaluations": 3000, "initial": 200, "batch_size": 150, "seed": 5}


@pytest.fixture(scope="module")
def example():
    sys.path.insert(0, str(EXAMPLES))
    yield importlib.import_module("own_tessellation")
    sys.path.remove(str(EXAMPLES))


def in_python(example):
    class Rings(example.Rings):
        lookup = None

        def niches_of_unit(self, unit):
            x, y = unit.T - 0.5
            ring = np.minimum((2 * self.rings * np.hypot(x, y)).astype(int), self.rings - 1)
            sector = ((np.arctan2(y, x) / (2 * math.pi) + 0.5) * self.sectors).astype(int) % self.sectors
            return ring * self.sectors + sector

    return Rings


def test_machine_code_and_python_find_the_same_niches(example):
    compiled, plain = (make(ARM.features, 6, 9) for make in (example.Rings, in_python(example)))
    one, two = (tl.illuminate(ARM, tessellation=compiled, threads=n, **SETTINGS) for n in (1, 2))
    assert one.equals(two)
    assert one.equals(tl.illuminate(ARM, tessellation=plain, **SETTINGS))
    for tessellation, yes in ((compiled, True), (plain, False)):
        search = tl.MapElites(ARM.solutions, tessellation, initial=10, seed=1)
        assert runs_compiled(search, ARM) == yes
    middle = (ARM.features.low + ARM.features.high) / 2
    assert compiled.niche_of(middle) == compiled.niche_of([middle, middle])[1] < 9
    assert compiled.niche_of(ARM.features.high * 100) >= 45
    with pytest.raises(ValueError, match="features: expected finite"):
        compiled.niche_of([0.0, np.nan])


@pytest.mark.parametrize("base", [tl.GridTessellation, tl.VoronoiTessellation], ids=lambda base: base.__name__)
@pytest.mark.parametrize("what", ["niches_of_unit", "lookup"])
def test_a_class_that_changes_a_built_in_one_changes_it_for_machine_code_and_python(base, what):
    @njit
    def last(points, floats, ints, niches):
        niches[:] = 8

    lookup = tl.lookup(last)
    changes = {
        "niches_of_unit": lambda self, unit, threads=None: np.full(len(unit), 8),
        "lookup": property(lambda self: lookup),
    }
    places = [3, 3] if base is tl.GridTessellation else np.random.default_rng(0).random((9, 2))
    changed = type("Changed", (base,), {what: changes[what]})(ARM.features, places)
    assert changed.niche_of([0.1, 0.1]) == 8
    search = tl.MapElites(ARM.solutions, changed, initial=10, seed=1)
    assert runs_compiled(search, ARM) == (what == "lookup")
    assert tl.illuminate(ARM, tessellation=changed, **SETTINGS).elites().niches.tolist() == [8]


def test_an_archive_on_it_is_saved_and_loaded(example, tmp_path):
    archive = tl.illuminate(ARM, tessellation=example.Rings(ARM.features, 4), **SETTINGS)
    file = archive.save(tmp_path / "a.parquet")
    again = tl.Archive.load(file)
    assert again.equals(archive)
    assert isinstance(again.tessellation, example.Rings)
    assert again.tessellation.fingerprint() == archive.tessellation.fingerprint()
    nameless = tl.illuminate(ARM, tessellation=in_python(example)(ARM.features), **SETTINGS)
    file = nameless.save(tmp_path / "b.parquet")
    with pytest.raises(ValueError, match=r"b.parquet: the file does not hold its tessellation.*pass it"):
        tl.Archive.load(file)
    assert tl.Archive.load(file, nameless.tessellation).equals(nameless)


def test_a_run_on_it_resumes_and_is_shown(example, tmp_path, monkeypatch):
    monkeypatch.chdir(EXAMPLES)
    straight = tl.run(ARM, tessellation=example.Rings(ARM.features, 4, 6), out=tmp_path / "straight", **SETTINGS)
    part = {**SETTINGS, "evaluations": 1400}
    tl.run(ARM, tessellation=example.Rings(ARM.features, 4, 6), out=tmp_path / "cut", **part)
    shell = CliRunner().invoke(app, ["resume", str(tmp_path / "cut"), "--evaluations", "3000", "--quiet"])
    assert shell.exit_code == 0, shell.output
    assert (tmp_path / "cut/archive.parquet").read_bytes() == (tmp_path / "straight/archive.parquet").read_bytes()
    plan = RunFolder.open(tmp_path / "cut").read().plan
    assert plan.niches.label == "24 niches of own_tessellation:Rings"
    assert "--tessellation own_tessellation:Rings:rings=4,sectors=6" in plan.command(tmp_path)
    page = write_report([tmp_path / "cut"], tmp_path / "page.html")
    assert "own_tessellation:Rings" in Path(page).read_text()
    assert straight.archive.n_niches == 24
    monkeypatch.setattr("tesselite.runs.loading.is_agreed", lambda what: False)
    with pytest.raises(ValueError, match=r"its niches own_tessellation:Rings; importing them would run .*add --trust"):
        problem_of(tmp_path / "cut", plan)


def test_it_is_drawn_as_the_polygons_that_it_gives(example):
    class Drawn(example.Rings):
        unknown_borders = ""

        def polygons(self, niches):
            return [np.full((4, 2), float(niche)) for niche in niches]

    drawn = {}
    for make in (example.Rings, Drawn):
        archive = tl.Archive(make(ARM.features, 2, 4), 1)
        archive.add([[0.0], [0.0]], [1.0, 2.0], [[0.1, 0.1], [0.9, 0.9]])
        drawn[make] = tl.plots.archive(archive, colorbar=False).collections[0]
    niches = archive.elites().niches
    assert [path.vertices[0, 0] for path in drawn[Drawn].get_paths()] == niches.tolist()
    assert len(drawn[example.Rings].get_array().ravel()) == 900 * 900  # painted by the look-up


def test_a_search_can_change_to_it(example, tmp_path):
    search = tl.MapElites(ARM.solutions, tl.GridTessellation(ARM.features, 5), initial=50, seed=1)
    search.tell_evaluation(ARM.evaluate(search.ask(50)))
    search.change_tessellation(example.Rings(ARM.features))
    search.save(tmp_path / "a.parquet", embed=False)
    again = tl.MapElites(ARM.solutions, tl.GridTessellation(ARM.features, 5), initial=50, seed=1)
    again.restore(tmp_path / "a.parquet")
    assert again.archive.equals(search.archive)
    assert type(again.archive.tessellation) is example.Rings


def test_it_is_named_on_the_command_line(example, tmp_path, monkeypatch):
    monkeypatch.chdir(EXAMPLES)
    words = ["run", "arm:5", "--evaluations", "1500", "--seed", "5", "--quiet", "--json"]
    said = CliRunner().invoke(
        app, [*words, "--tessellation", "own_tessellation:Rings:rings=3", "-o", str(tmp_path / "a")]
    )
    assert said.exit_code == 0, said.output
    assert json.loads(said.stdout)["n_niches"] == 72
    for text, message in (
        ("own_tessellation:Rings:rungs=3", "cannot be made from"),
        ("own_tessellation:find", "expected own_tessellation:find to be a subclass"),
        ("own_tessellation", "expected module:Class"),
        ("no_such_module:Rings", "importing no_such_module failed"),
        ("own_tessellation:Rings:{", "cannot read the arguments"),
    ):
        refused = CliRunner().invoke(app, [*words, "--tessellation", text, "-o", str(tmp_path / "b")])
        assert isinstance(refused.exception, ValueError)  # which `main` prints, with exit code 2
        assert message in str(refused.exception)


def test_what_a_file_names_is_imported_only_by_agreement(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    Path("theirs_cells.py").write_text(
        "import tesselite as tl\nfrom pathlib import Path\nPath('ran').touch()\n"
        "class Cells(tl.Tessellation):\n"
        "    n_niches = 1\n"
        "    def __init__(self, space): self.space = space\n"
        "    def niches_of_unit(self, unit): import numpy; return numpy.zeros(len(unit), int)\n"
        "    def to_dict(self): return {}\n"
    )
    tessellation = by_name("theirs_cells:Cells", ARM.features)
    archive = tl.Archive(tessellation, 5)
    archive.add(np.zeros((1, 5)), [1.0], [[0.5, 0.5]])
    archive.save("a.parquet")
    Path("ran").unlink()
    monkeypatch.delitem(sys.modules, "theirs_cells")
    with pytest.raises(ValueError, match="imported only if you have run it"):
        tl.Archive.load("a.parquet")
    assert not Path("ran").exists()
    assert class_of("theirs_cells:Cells", asked=True).__name__ == "Cells"
    assert len(tl.Archive.load("a.parquet")) == 1


class NoLookup(tl.Tessellation):
    """Finds nothing."""

    n_niches = 3

    def __init__(self, space):
        self.space = space

    def to_dict(self):
        return {}


class Drifts(NoLookup):
    """Changes all the time."""

    made = 0

    def __init__(self, space):
        super().__init__(space)
        Drifts.made += 1
        self.number = Drifts.made

    def fingerprint(self):
        return str(self.number)


@numba.njit
def wrong(points, floats, ints, niches):
    niches[:] = ints[0]


@numba.njit
def failing(points, floats, ints, niches):
    if points[0, 0] < 10.0:
        raise ValueError("no")


class By(NoLookup):
    """Looks niches up by some function."""

    def __init__(self, space, function=wrong):
        super().__init__(space)
        self.function = function

    @property
    def lookup(self):
        return tl.lookup(self.function, ints=[7])


def test_tessellations_that_are_wrong_are_refused(tmp_path):
    with pytest.raises(NotImplementedError, match="NoLookup: expected niches_of_unit"):
        NoLookup(ARM.features).niche_of([0.0, 0.0])
    with pytest.raises(ValueError, match="to be the same when made again"):
        tl.run(ARM, tessellation=Drifts(ARM.features), out=tmp_path / "drift", **SETTINGS)
    for function in (wrong, failing):
        with pytest.raises(ValueError, match="tessellation: expected niches from 0 to 2"):
            tl.Archive(By(ARM.features, function), 5).add(np.zeros((1, 5)), [1.0], [[0.0, 0.0]])
    with pytest.raises(TypeError, match="lookup: expected a function compiled by Numba"):
        tl.lookup(lambda points, floats, ints, niches: None)
    local = type("Local", (NoLookup,), {"niches_of_unit": lambda self, unit: np.zeros(len(unit), int)})
    with pytest.raises(ValueError, match="class cannot be imported by name"):
        tl.run(ARM, tessellation=local(ARM.features), out=tmp_path / "run", **SETTINGS)
    assert not (tmp_path / "run" / "settings.json").exists()
    for damage in ({"name": 3}, {"arguments": []}, {"n_niches": 0}, {"fingerprint": None}):
        about = {"kind": "own", "name": "a:B", "arguments": {}, "n_niches": 3, "n_features": 2, "fingerprint": "x"}
        with pytest.raises(TypeError, match="niches is"):
            niches_from_dict({**about, **damage})


def test_the_example_runs():
    done = subprocess.run(
        [sys.executable, "own_tessellation.py"], cwd=EXAMPLES, capture_output=True, text=True, check=True
    )
    assert "240 of 240 niches filled" in done.stdout
