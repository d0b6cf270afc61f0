"""The disk cache of machine code: its place, its keys, and that it is optional."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import tesselite
from tesselite.compiled import kernels as compiled

PACKAGE = Path(tesselite.__file__).parent

CALL = """
import numpy as np
from tesselite.archive import elitism
elitism.find_rows(np.empty(0, np.int64), np.arange(3), np.array([2, 0]), out := np.zeros(2, np.int64))
assert out.tolist() == [2, 0]
"""


PROGRAM = """
from tesselite.compiled import kernels as compiled
from tesselite.emitters.breeding import draw_parents
print(compiled._kernel_cache("tesselite.emitters.breeding"), draw_parents.__name__)
"""


def run(cache: Path) -> str:
    environment = {"TESSELITE_CACHE_DIR": str(cache), "PYTHONPATH": str(PACKAGE.parent), "PATH": ""}
    command = [sys.executable, "-B", "-c", CALL]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stderr


def test_the_second_process_finds_the_machine_code(tmp_path):
    assert run(tmp_path) == f"compiling (once; kept in {tmp_path})\n"
    files = sorted((tmp_path / "kernels").rglob("*.nbc"))
    times = [file.stat().st_mtime_ns for file in files]
    assert files
    assert run(tmp_path) == ""
    assert [file.stat().st_mtime_ns for file in files] == times
    assert sorted((tmp_path / "kernels").rglob("*.nbc")) == files


def test_without_a_place_for_it_everything_works_and_nothing_is_left_beside_the_source(tmp_path):
    (tmp_path / "file").write_text("in the way")
    before = set(PACKAGE.rglob("*.nb?"))
    said = run(tmp_path / "file" / "cache")
    assert said.count("set TESSELITE_CACHE_DIR") == 1
    assert "compiling\n" in said
    assert set(PACKAGE.rglob("*.nb?")) == before


def test_modules_behind_a_module_are_those_it_imports_directly_and_through_others():
    behind = compiled._modules_behind("tesselite.search.loop")
    assert {
        "tesselite.search.loop",
        "tesselite.emitters.breeding",
        "tesselite.compiled.fast_math",
        "tesselite.compiled.crew",
    } <= set(behind)
    assert "tesselite.tessellation.nearest.tree" not in behind  # its machine code is called by address
    assert "tesselite.cli.app" not in behind


def test_a_changed_callee_in_another_file_is_compiled_anew(tmp_path):
    copy = tmp_path / "source" / "tesselite"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    environment = {"PYTHONPATH": str(copy.parent), "TESSELITE_CACHE_DIR": str(tmp_path / "cache"), "PATH": ""}

    def run():
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout.split()

    folder, words = run()
    assert run() == [folder, words]
    other = copy / "compiled" / "fast_math.py"  # breeding's kernels call into it
    other.write_text(other.read_text() + "\n# changed\n")
    assert run()[0] != folder
    unrelated = copy / "runs" / "run.py"
    changed = run()
    unrelated.write_text(unrelated.read_text() + "\n# changed\n")
    assert run() == changed


def test_unused_folders_are_removed_after_a_month(tmp_path):
    ours = [tmp_path / f"search.loop-{16 * '0'}", tmp_path / f"block-{24 * 'a'}", tmp_path / f"new-{16 * '1'}"]
    # The owner of these is unknown.
    others = [
        tmp_path / "photos",
        tmp_path / f"search.loop-{16 * '2'}",
        tmp_path / "note.txt",
        tmp_path / f"l-{16 * '3'}",
    ]
    for folder in (*ours, *others[:2]):
        (folder / "deep").mkdir(parents=True)
        (folder / "deep" / "loop.runs-1.py311.nbi").touch()
    (others[1] / "mine.txt").touch()
    others[2].touch()
    others[3].symlink_to(others[0])
    for path in (*ours[:2], *others[:3]):
        os.utime(path, (time.time() - 40 * 24 * 3600,) * 2)
    compiled._remove_unused.__wrapped__(tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted([ours[2], *others])


def test_numba_compiles_functions_without_a_module_as_before():
    """As generated code has none; the listener that announces compilations sees those of others, too."""
    code = """
import numba
import tesselite.compiled.kernels

given = {}
exec("def following(x): return x + 1", given)
assert given["following"].__module__ is None
assert numba.njit(given["following"])(1) == 2
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
