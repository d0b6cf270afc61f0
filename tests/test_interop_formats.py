"""Archives of other libraries: files as they write them, read; ours, written and read again."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

import tesselite as tl
from tesselite.cli import main
from tesselite.cli.app import app

FORMATS = ("pyribs", "qdax", "pymap_elites", "sferes2")
PEERS = Path(__file__).parent / "data" / "peers"  # made by their own code, see make.py there


def archive(voronoi=True, n=60, **more):
    rng = np.random.default_rng(1)
    space = tl.FeatureSpace({"speed": (0, 2), "height": (-1, 1)})
    niches = (
        tl.VoronoiTessellation(space, rng.uniform([0, -1], [2, 1], (30, 2)))
        if voronoi
        else tl.GridTessellation(space, [5, 6])
    )
    found = tl.Archive(niches, 4, **more)
    records = {name: _values(kind, n, rng) for name, kind in more.get("records", {}).items()}
    found.add(rng.normal(size=(n, 4)), rng.normal(size=n), rng.uniform([0, -1], [2, 1], (n, 2)), records=records)
    return found


def _values(kind, n, rng):
    if isinstance(kind, tuple):
        return rng.random((n, *kind))
    return {float: rng.random(n), int: np.arange(n), bool: rng.random(n) < 0.5, str: [f"=a, '{i}'" for i in range(n)]}[
        kind
    ]


def same(one, other):
    ours, theirs = one.elites(), other.elites()
    assert one.direction == other.direction
    for name in ("niches", "fitness", "features", "solutions"):
        assert np.array_equal(getattr(ours, name), getattr(theirs, name)), name
    assert set(ours.records) == set(theirs.records)
    for name, values in ours.records.items():
        assert np.array_equal(values, theirs.records[name]), name


@pytest.mark.parametrize("voronoi", [True, False])
@pytest.mark.parametrize("kind", FORMATS)
def test_what_is_written_is_read_to_the_last_bit(tmp_path, kind, voronoi):
    found = archive(voronoi)
    path = tl.interop.write(found, tmp_path / "out", kind)
    same(found, tl.interop.read(path, kind, found.tessellation))


@pytest.mark.parametrize("kind", FORMATS)
def test_costs_are_negated_on_the_way(tmp_path, kind):
    found = archive(direction="min")
    with pytest.raises(ValueError, match=r"minimised; pass negate=True \(--negate\)"):
        tl.interop.write(found, tmp_path / "out", kind)
    path = tl.interop.write(found, tmp_path / "out", kind, negate=True)
    same(found, tl.interop.read(path, kind, found.tessellation, negate=True))
    assert tl.interop.read(path, kind, found.tessellation).best_fitness == -found.best_fitness
    with pytest.raises(ValueError, match="leave out negate"):
        tl.interop.write(archive(), tmp_path / "out", kind, negate=True)


def test_records_are_fields_of_pyribs(tmp_path):
    found = archive(records={"mass": float, "n": int, "good": bool, "label": str, "path": (3,)})
    path = tl.interop.write(found, tmp_path / "out.csv", "pyribs")
    same(found, tl.interop.read(path, "pyribs", found.tessellation))
    header = path.read_text().splitlines()[0]
    assert header == (
        "solution_0,solution_1,solution_2,solution_3,objective,measures_0,measures_1,threshold,"
        "mass,n,good,label,path_0,path_1,path_2,index"
    )
    assert ",\"'=a, '" in path.read_text()  # which a spreadsheet does not take for a formula
    same(found, tl.interop.read(tl.interop.pyribs_columns(found), "pyribs", found.tessellation))


def test_a_data_frame_is_read():
    pandas = pytest.importorskip("pandas")
    found = archive()
    frame = pandas.DataFrame(tl.interop.pyribs_columns(found))
    same(found, tl.interop.read(frame, "pyribs", found.tessellation))


def test_what_a_format_cannot_hold(tmp_path):
    for kind, records in (
        ("pyribs", {"path": (3, 2), "a_1": float}),
        *((name, {"a": float}) for name in FORMATS[1:]),
    ):
        found = archive(records=records)
        with pytest.raises(ValueError, match=rf"cannot hold the record {next(iter(records))}.*; pass lossy=True"):
            tl.interop.write(found, tmp_path / kind, kind)
        path = tl.interop.write(found, tmp_path / kind, kind, lossy=True)
        assert not tl.interop.read(path, kind, found.tessellation).records
    space = tl.Product(x=tl.Box(2, 0, 1), material=tl.Categorical(["steel", "oak"]))
    found = tl.Archive(tl.GridTessellation(tl.FeatureSpace.unit(1), 3), 3, variables=space.variables)
    found.add([[0.1, 0.2, 1]], [1.0], [[0.5]])
    with pytest.raises(ValueError, match="cannot hold the labels of material"):
        tl.interop.write(found, tmp_path / "mixed", "pyribs")
    features = tl.FeatureSpace({"kind": tl.Labels(["oak", "elm"]), "size": (0, 1)})
    found = tl.Archive(tl.GridTessellation(features, [2, 3]), 1)
    found.add([[0.1]], [1.0], [[1, 0.5]])
    with pytest.raises(ValueError, match="cannot hold the labels of the feature kind"):
        tl.interop.write(found, tmp_path / "labelled", "pyribs")
    path = tl.interop.write(found, tmp_path / "labelled", "pyribs", lossy=True)
    same(found, tl.interop.read(path, "pyribs", found.tessellation))


def test_a_repertoire_has_its_own_niches(tmp_path):
    """As QDax writes it: single precision, a prefix, one column of fitness, -inf where nothing is."""
    prefix = f"{tmp_path}/run1_"
    centroids = np.array([[0.1, 0.2], [0.5, 0.5], [0.9, 0.1]], np.float32)
    np.save(f"{prefix}genotypes.npy", np.arange(6, dtype=np.float32).reshape(3, 2))
    np.save(f"{prefix}fitnesses.npy", np.array([[1.5], [-np.inf], [2.5]], np.float32))
    np.save(f"{prefix}descriptors.npy", centroids + np.float32(0.01))
    np.save(f"{prefix}centroids.npy", centroids)
    found = tl.interop.read(prefix, "qdax")
    assert found.elites().niches.tolist() == [0, 2]
    assert found.elites().solutions.tolist() == [[0, 1], [4, 5]]
    assert found.dtype == np.float32
    assert found.n_niches == 3
    named = tl.interop.read(prefix, "qdax", features={"speed": (0, 1), "height": (0, 2)})
    assert named.tessellation.space.names == ("speed", "height")
    np.save(f"{prefix}centroids.npy", centroids + 1)
    with pytest.raises(ValueError, match=r"features: expected names and bounds \(--features\)"):
        tl.interop.read(prefix, "qdax")
    np.save(f"{prefix}descriptors.npy", centroids[:2])
    with pytest.raises(ValueError, match="one row for each of 3 centroids"):
        tl.interop.read(prefix, "qdax")
    (tmp_path / "run1_fitnesses.npy").write_bytes(b"nothing")
    with pytest.raises(ValueError, match=r"run1_.*: fitnesses\.npy|run1_fitnesses\.npy: not readable"):
        tl.interop.read(prefix, "qdax")


def test_text_as_the_others_write_it(tmp_path):
    grid = tl.GridTessellation(tl.FeatureSpace.unit(2), 4)
    file = tmp_path / "archive_100.dat"
    expected = [(1, 2.5, [0.1, 0.3], [7.0, 8.0]), (12, -1.0, [0.9, 0.1], [9.0, 10.0])]
    texts = {
        "pymap_elites": "2.5 0.125 0.375 0.1 0.3 7.0 8.0 \n-1.0 0.875 0.125 0.9 0.1 9.0 10.0 \n",
        "sferes2": "0.1 0.3  2.5  7 8 \n0.9 0.1  -1  9 10 \n",
        "sferes2 numbered": "0    0.1 0.3  2.5         7 8 \n3    0.9 0.1  -1         9 10 \n",
    }
    for name, text in texts.items():
        file.write_text(text)
        found = tl.interop.read(file, name.split()[0], grid)
        rows = [(e.niche, e.fitness, e.features.tolist(), e.solution.tolist()) for e in found]
        assert rows == expected, name
    for name in ("pymap_elites", "sferes2"):
        with pytest.raises(ValueError, match="how many values of a line are features"):
            tl.interop.read(file, name)
        for text in ("", "1 2\n", "1 2 3 4 5 6\n1 2\n", "fitness 1 2 3 4 5\n"):
            file.write_text(text)
            with pytest.raises(ValueError, match=r"archive_100\.dat"):
                tl.interop.read(file, name, grid)
        file.write_text(texts[name])


def test_centroids_come_with_pymap_elites(tmp_path):
    found = archive()
    path = tl.interop.write(found, tmp_path / "archive_1.dat", "pymap_elites")
    assert np.array_equal(np.loadtxt(tmp_path / "centroids_30_2.dat"), found.tessellation.centroids)
    rows = np.loadtxt(path)
    assert np.array_equal(rows[:, 1:3], found.tessellation.centroids[found.elites().niches])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("solution_0,objective\n1,2\n", "found no measures"),
        ("solution_1,objective,measures_0\n1,2,3\n", "numbered from 0"),
        ("solution_0,objective,measures_0\n1,2\n", "expected 3 values in every row"),
        ("solution_0,objective,measures_0\n1,oak,3\n", "expected numbers in objective"),
        ("", "expected"),
    ],
)
def test_tables_that_are_none(tmp_path, text, message):
    file = tmp_path / "frame.csv"
    file.write_text(text)
    with pytest.raises(ValueError, match=message) as caught:
        tl.interop.read(file, "pyribs", tl.GridTessellation(tl.FeatureSpace.unit(1), 3))
    assert str(file) in str(caught.value)


# -- files of the peers themselves -----------------------------------------------------------------------------------


def peers_space():
    return tl.FeatureSpace({"a": (-1, 1), "b": (0, 3)})


def peers_niches(name):
    if name == "cvt":
        return tl.VoronoiTessellation(peers_space(), np.load(PEERS / "pyribs-centroids.npy"))
    return tl.GridTessellation(peers_space(), [5, 7])


@pytest.mark.parametrize("name", ["grid", "cvt", "annealed"])
def test_every_elite_of_pyribs_stays_in_its_cell(tmp_path, name):
    """Its CVT measures distances without scaling, its grid has borders that are shifted by 1e-6."""
    file, niches = PEERS / f"pyribs-{name}.csv", peers_niches(name)
    found = tl.interop.read(file, "pyribs", niches)
    with file.open(newline="", encoding="utf-8") as stream:
        rows = sorted(csv.DictReader(stream), key=lambda row: int(row["index"]))
    elites = found.elites()
    assert elites.niches.tolist() == [int(row["index"]) for row in rows]
    assert elites.fitness.tolist() == [float(row["objective"]) for row in rows]
    assert elites.features.tolist() == [[float(row[f"measures_{i}"]) for i in range(2)] for row in rows]
    assert elites.solutions.tolist() == [[float(row[f"solution_{i}"]) for i in range(3)] for row in rows]
    assert found.out_of_bounds == peers_space().outside(elites.features).sum() > 0
    if name == "annealed":
        assert elites.records["threshold"].tolist() == [float(row["threshold"]) for row in rows]
    else:
        assert elites.records["tag"].tolist() == [row["tag"] for row in rows]
        assert (niches.niche_of(elites.features) != elites.niches).any()  # our own look-up would move some
    same(found, tl.interop.read(tl.interop.write(found, tmp_path / "b.csv", "pyribs"), "pyribs", niches))
    with tl.interop.write(found, tmp_path / "b.csv", "pyribs").open(newline="", encoding="utf-8") as stream:
        back = list(csv.DictReader(stream))
    assert [float(row["threshold"]) for row in back] == [float(row["threshold"]) for row in rows]


def test_elites_of_pyribs_go_to_other_niches_by_their_features():
    file = PEERS / "pyribs-cvt.csv"
    other = tl.VoronoiTessellation(peers_space(), np.load(PEERS / "pyribs-centroids.npy")[::-1])
    found = tl.interop.read(file, "pyribs", other)
    assert np.array_equal(other.niche_of(found.elites().features), found.elites().niches)
    refusing = tl.FeatureSpace({"a": (-1, 1), "b": (0, 3)}, outside="refuse")
    found = tl.interop.read(PEERS / "pyribs-grid.csv", "pyribs", tl.GridTessellation(refusing, [5, 7]))
    assert not refusing.outside(found.elites().features).any()


@pytest.mark.parametrize("version", ["0.4", "0.5"])
def test_repertoires_of_qdax(tmp_path, version):
    """Saved by QDax 0.4 itself, and the arrays of 0.5, which has a column of fitness and cannot save."""
    folder = PEERS / f"qdax-{version}"
    arrays = {name: np.load(folder / f"{name}.npy") for name in ("genotypes", "fitnesses", "descriptors", "centroids")}
    fitness = arrays["fitnesses"].ravel()
    filled = np.flatnonzero(fitness > -np.inf)
    found = tl.interop.read(folder, "qdax", features=peers_space())
    elites = found.elites()
    assert 20 < len(filled) < 30
    assert np.array_equal(elites.niches, filled)
    assert np.array_equal(elites.fitness, fitness[filled])
    assert np.array_equal(elites.features, arrays["descriptors"][filled])
    assert np.array_equal(elites.solutions, arrays["genotypes"][filled])
    same(found, tl.interop.read(SimpleNamespace(**arrays), "qdax", features=peers_space()))
    same(found, tl.interop.read(folder, "qdax", found.tessellation))
    back = tl.interop.write(found, tmp_path / "back", "qdax")
    for name, array in arrays.items():
        assert np.array_equal(np.load(back / f"{name}.npy").reshape(array.shape), array), name


def test_a_table_of_pyribs_starts_a_run():
    problem = tl.problem(solutions=tl.Reals(3), features={"a": (-3, 3), "b": (-3, 3)})(lambda x: (x[0], (x[1], x[2])))
    found = tl.interop.read(PEERS / "pyribs-grid.csv", "pyribs", peers_niches("grid"))
    begun = [
        tl.illuminate(problem, grid=9, evaluations=len(found), initial=1, start=start, seed=1)
        for start in (PEERS / "pyribs-grid.csv", found)
    ]
    same(*begun)
    assert begun[0].best_fitness == found.elites().solutions[:, 0].max()


def test_a_repertoire_in_memory():
    """Genotypes as a tree of arrays, by sorted keys as JAX flattens it; extra scores as records."""
    n = 4
    layers = {"b": np.arange(n * 2.0).reshape(n, 2), "a": [np.arange(n * 4.0).reshape(n, 2, 2), np.full(n, 7.0)]}
    repertoire = SimpleNamespace(
        genotypes={"layers": layers},
        fitnesses=np.array([[1.0], [-np.inf], [3.0], [4.0]]),
        descriptors=np.linspace(0, 1, n)[:, None],
        centroids=np.linspace(0, 1, n)[:, None],
        extra_scores={"mass": np.arange(n) / 2, "path": np.ones((n, 3))},
    )
    elites = tl.interop.read(repertoire, "qdax").elites()
    assert elites.solutions.tolist() == [[0, 1, 2, 3, 7, 0, 1], [8, 9, 10, 11, 7, 4, 5], [12, 13, 14, 15, 7, 6, 7]]
    assert elites.records["mass"].tolist() == [0.0, 1.0, 1.5]
    assert elites.records["path"].shape == (3, 3)
    repertoire.genotypes = {"a": np.ones((n, 2)), "b": np.ones((3, 2))}
    with pytest.raises(ValueError, match="genotypes: expected arrays of one length"):
        tl.interop.read(repertoire, "qdax")


def test_pymap_elites_keeps_its_niches():
    niches = tl.VoronoiTessellation(tl.FeatureSpace.unit(2), np.loadtxt(PEERS / "centroids_25_2.dat"))
    found = tl.interop.read(PEERS / "pymap_elites-archive_1000.dat", "pymap_elites", niches)
    rows = np.loadtxt(PEERS / "pymap_elites-archive_1000.dat")
    rows = rows[[np.flatnonzero((rows[:, 1:3] == at).all(axis=1))[0] for at in niches.centroids[found.elites().niches]]]
    assert len(found) == len(rows) == 18
    assert np.array_equal(found.elites().fitness, rows[:, 0])
    assert np.array_equal(found.elites().solutions, rows[:, 5:])


@pytest.mark.parametrize("module", ["map_elites", "cvt_map_elites", "core"])
def test_modules_of_sferes2(module):
    """Those with a number before each line, of the cell or of the line, and that without."""
    file = PEERS / f"sferes2-{module}.dat"
    rows = np.loadtxt(file)
    if module == "map_elites":
        niches = tl.GridTessellation(tl.FeatureSpace.unit(2), [7, 11])
        numbers, rows = rows[:, 0], rows[:, 1:]
        assert (niches.niche_of(rows[:, :2]) != numbers).any()  # 0.142857 is less than a seventh
    else:
        niches = tl.VoronoiTessellation(tl.FeatureSpace.unit(2), np.loadtxt(PEERS / "centroids_25_2.dat"))
        rows = rows[:, -6:]
        numbers = niches.niche_of(rows[:, :2])
    order = np.argsort(numbers)
    elites = tl.interop.read(file, "sferes2", niches).elites()
    assert elites.niches.tolist() == numbers[order].tolist()
    assert np.array_equal(elites.features, rows[order, :2])
    assert np.array_equal(elites.fitness, rows[order, 2])
    assert np.array_equal(elites.solutions, rows[order, 3:])


def test_whole_numbers_as_the_first_feature(tmp_path):
    """Not taken for the number of a line where the blanks are those of sferes2."""
    grid = tl.GridTessellation(tl.FeatureSpace({"legs": (0, 4), "speed": (0, 1)}), 4)
    file = tmp_path / "archive.dat"
    file.write_text("0 0.3  2.5  7 8 9 \n3 0.1  -1  9 10 11 \n")
    found = tl.interop.read(file, "sferes2", grid)
    assert found.elites().features.tolist() == [[0, 0.3], [3, 0.1]]
    assert found.width == 3
    file.write_text("0 0.1 0.3 2.5 7 8\n5 1.9 0.1 -1 9 10\n")  # rewritten with single blanks
    assert tl.interop.read(file, "sferes2", grid).elites().features.tolist() == [[0.1, 0.3], [1.9, 0.1]]


# -- single rules ----------------------------------------------------------------------------------------------------


def test_annealed_thresholds_are_kept(tmp_path):
    file = tmp_path / "frame.csv"
    file.write_text(",solution_0,objective,measures_0,threshold,index\n0,0.5,2.0,0.1,1.25,3\n")
    (elite,) = tl.interop.read(file, "pyribs", tl.GridTessellation(tl.FeatureSpace.unit(1), 3))
    assert elite.records == {"threshold": 1.25}
    assert elite.solution.tolist() == [0.5]


def test_wrong_arguments(tmp_path):
    found = archive()
    with pytest.raises(ValueError, match=r"a\.parquet: expected text in UTF-8, .* got a Parquet file"):
        tl.interop.read(found.save(tmp_path / "a.parquet"), "pyribs", found.tessellation)
    (tmp_path / "b.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match="got a binary file"):
        tl.interop.read(tmp_path / "b.csv", "pyribs", found.tessellation)
    with pytest.raises(ValueError, match="format: expected one of pyribs, qdax, pymap_elites, sferes2, got 'csv'"):
        tl.interop.read("x", "csv")
    with pytest.raises(FileNotFoundError, match="no such file"):
        tl.interop.read(tmp_path / "none.csv", "pyribs", found.tessellation)
    with pytest.raises(ValueError, match="since the file does not hold its niches"):
        tl.interop.read(tl.interop.write(found, tmp_path / "a.csv", "pyribs"), "pyribs")
    with pytest.raises(ValueError, match="niches: expected niches of 2 features, got 1"):
        tl.interop.read(tmp_path / "a.csv", "pyribs", tl.GridTessellation(tl.FeatureSpace.unit(1), 3))
    with pytest.raises(ValueError, match="source: expected the name of a file"):
        tl.interop.read({}, "qdax")
    population = tl.run(tl.problems.sphere(2), tessellation=tl.dns(10), evaluations=50, seed=1).archive
    for name in ("qdax", "pymap_elites", "sferes2"):
        with pytest.raises(ValueError, match=r"expected an archive with niches, got a population .*tesselite\.project"):
            tl.interop.write(population, tmp_path / name, name)
    many = tl.Archive(tl.GridTessellation(tl.FeatureSpace.unit(2), 10_000), 1)
    with pytest.raises(ValueError, match="has a row for each of 100,000,000 niches"):
        tl.interop.write(many, tmp_path / "many", "qdax")


# -- command line ----------------------------------------------------------------------------------------------------


def call(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.mark.parametrize("kind", FORMATS)
def test_export_and_import(tmp_path, kind):
    found = archive()
    file = found.save(tmp_path / "a.parquet")
    assert call("export", file, "--to", kind).exit_code == 0
    (out,) = tmp_path.glob(f"elites-{kind}*")
    found.tessellation.save(tmp_path / "centroids.npy")
    features = "speed=0:2,height=-1:1"
    niches = () if kind == "qdax" else ("--centroids", tmp_path / "centroids.npy")
    done = call("import", out, "--from", kind, "--features", features, *niches, "-o", tmp_path / "b.parquet", "--json")
    assert json.loads(done.stdout) == {
        "out": str(tmp_path / "b.parquet"), "format": kind, "solutions": len(found), "elites": len(found)
    }  # fmt: skip
    back = tl.Archive.load(tmp_path / "b.parquet")
    same(found, back)
    assert back.tessellation == found.tessellation


def test_import_into_other_niches(tmp_path):
    found = archive()
    tl.interop.write(found, tmp_path / "a.csv", "pyribs")
    done = call(
        "import", tmp_path / "a.csv", "--from", "pyribs", "--grid", "2x1", "--features", "speed=0:1,height=-1:1"
    )
    assert done.exit_code == 0
    assert "are outside the bounds" in done.stderr
    assert "are not elites" in done.stderr
    coarse = tl.Archive.load(tmp_path / "a.parquet")
    assert coarse.best_fitness == found.best_fitness
    assert len(coarse) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--features", "speed"], "--features: expected NAME=LOW:HIGH"),
        (["--features", "a=0:1,a=0:1"], "expected different names"),
        (["--grid", "3", "--niches", "5"], "expected only one of --grid, --niches and --centroids"),
        (["--grid", "3", "-o", "x.csv"], "--out: expected a file that ends in .parquet"),
        (["--grid", "3", "-o", "nowhere/x.parquet"], "is not a folder"),
        ([], "since the file does not hold its niches"),
    ],
)
def test_wrong_imports(tmp_path, monkeypatch, capsys, arguments, message):
    tl.interop.write(archive(), tmp_path / "a.csv", "pyribs")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["tesselite", "import", "a.csv", "--from", "pyribs", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


def test_options_for_other_libraries_only(tmp_path):
    file = archive().save(tmp_path / "a.parquet")
    assert "only valid with --to pyribs" in str(call("export", file, "--negate").exception)
