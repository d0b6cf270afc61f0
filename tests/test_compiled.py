"""The disk cache of machine code: where it is, what it is keyed by, and that it is not needed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import tesselite

PACKAGE = Path(tesselite.__file__).parent

CALL = """
import numpy as np
from tesselite import elitism
elitism.find_rows(np.empty(0, np.int64), np.arange(3), np.array([2, 0]), out := np.zeros(2, np.int64))
assert out.tolist() == [2, 0]
"""


def run(cache: Path) -> None:
    environment = {"TESSELITE_CACHE_DIR": str(cache), "PYTHONPATH": str(PACKAGE.parent), "PATH": ""}
    command = [sys.executable, "-B", "-c", CALL]
    subprocess.run(command, capture_output=True, check=True, env=environment)


def folders(cache: Path) -> list[Path]:
    return sorted((cache / "kernels").iterdir())


def test_the_second_process_finds_the_machine_code(tmp_path):
    run(tmp_path)
    assert len(folders(tmp_path)) == 1
    files = sorted(file for file in folders(tmp_path)[0].rglob("*.nbc"))
    times = [file.stat().st_mtime_ns for file in files]
    assert files
    run(tmp_path)
    assert [file.stat().st_mtime_ns for file in files] == times
    assert sorted(folders(tmp_path)[0].rglob("*.nbc")) == files


def test_without_a_place_for_it_everything_works_and_nothing_is_left_beside_the_source(tmp_path):
    (tmp_path / "file").write_text("in the way")
    before = set(PACKAGE.rglob("*.nb?"))
    run(tmp_path / "file" / "cache")
    assert set(PACKAGE.rglob("*.nb?")) == before


def test_another_source_has_another_cache(monkeypatch, tmp_path):
    from tesselite import compiled

    monkeypatch.setenv("TESSELITE_CACHE_DIR", str(tmp_path))
    real = compiled._kernel_cache.__wrapped__
    first = real()
    assert real() == first
    copy = tmp_path / "package"
    copy.mkdir()
    (copy / "compiled.py").write_bytes((PACKAGE / "compiled.py").read_bytes())
    monkeypatch.setattr(compiled, "__file__", str(copy / "compiled.py"))
    second = real()
    (copy / "compiled.py").write_text("# edited\n")
    third = real()
    assert len({first, second, third}) == 3
    assert all(Path(folder).is_dir() for folder in (first, second, third))
