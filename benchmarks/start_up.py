"""The cost of a fresh process until its first small result: with an empty disk cache, and again with a filled one."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

_ILLUMINATE = "tesselite.illuminate({problem}, grid=64, evaluations=2_000, seed=1)"
PROGRAMS = {
    "tesselite, built-in arm": "import tesselite; " + _ILLUMINATE.format(problem="tesselite.problems.arm(10)"),
    "tesselite, a user's @njit arm": (
        "import tesselite; from arm_objectives import njit_arm; " + _ILLUMINATE.format(problem="njit_arm")
    ),
    "pyribs, NumPy arm": (
        "from drive_pyribs import run; from arm_objectives import numpy_arm; "
        "run((64, 64), numpy_arm, 10, 2_000, 200, 1)"
    ),
    "QDax": "from drive_qdax import run; run((64, 64), 2_000, 200, 1)",
}


def _seconds(program: str, cache: str) -> float:
    here = str(Path(__file__).parent)
    environment = {
        **os.environ,
        "TESSELITE_CACHE_DIR": cache,
        "PYTHONPATH": os.pathsep.join([here, os.environ.get("PYTHONPATH", "")]),
    }
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)
    return time.perf_counter() - started


def measure(repeats: int) -> list[list[str]]:
    """Rows of library, seconds with an empty cache, least seconds of `repeats` further processes."""
    rows = []
    for name, program in PROGRAMS.items():
        with tempfile.TemporaryDirectory() as cache:
            first = _seconds(program, cache)
            again = min(_seconds(program, cache) for _ in range(repeats))
        rows.append([name, f"{first:.1f}", f"{again:.2f}"])
    return rows
