"""The cost of starting: heavy libraries are imported only when they are needed. Times are measured in benchmarks/."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

HEAVY = {"numba", "pyarrow", "scipy", "matplotlib", "pandas", "rich.progress", "llvmlite", "plotly"}


def modules_after(code: str) -> set[str]:
    """Names of the modules that a fresh interpreter has imported after this code."""
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )
    return set(done.stdout.splitlines()[-1].split())


CLI = "import sys\nfrom tesselite.cli import main\nsys.argv = ['tesselite', *{}]\ntry: main()\nexcept SystemExit: pass"


@pytest.mark.parametrize(
    "code",
    ["import tesselite", *(CLI.format(args) for args in (["--help"], ["run", "--help"], ["problems"]))],
    ids=["import", "help", "run-help", "problems"],
)
def test_a_light_start_imports_nothing_heavy(code):
    loaded = modules_after(code)
    assert "tesselite" in loaded
    assert not HEAVY & loaded


def test_every_public_name_is_found_and_nothing_else():
    import tesselite as tl

    for name in tl.__all__:
        assert getattr(tl, name) is not None
    assert set(tl.__all__) <= set(dir(tl))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = tl.nothing


def test_saving_and_loading_an_archive_needs_no_pandas(tmp_path):
    pytest.importorskip("pandas")
    code = f"""
import tesselite as tl
archive = tl.Archive(tl.GridTessellation(tl.FeatureSpace.unit(2), 3), 2)
archive.add([[1, 2]], [3], [[0.1, 0.2]])
tl.Archive.load(archive.save({str(tmp_path / "a.parquet")!r}))
"""
    loaded = modules_after(code)
    assert "pyarrow" in loaded
    assert "pandas" not in loaded
