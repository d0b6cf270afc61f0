"""A small problem with all kinds of rows, and helpers for tests of its runs; `conftest` has the runs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import tesselite as tl
from tesselite.base.checksum import sealed
from tesselite.runs.folder import RunFolder
from tesselite.runs.run import resume

FEATURES = {"a": (0.0, 1.0), "b": (-1.0, 2.0)}


def make(low=-1.0, width=3, direction="max", features=None, floor=None):
    """A problem with all kinds of rows: good, out of bounds, NaN, and an exception."""

    @tl.problem(
        solutions=tl.Box(width, low, 1.0),
        features=features or FEATURES,
        direction=direction,
        floor=floor,
        name="hill",
    )
    def hill(x):
        if x[0] > 0.97:
            raise ZeroDivisionError("too steep")
        fitness = np.nan if x[1] > 0.95 else 10.0 - float((x**2).sum()) / 3
        return fitness, (abs(x[0]) * 1.1, 2 * x[1] + x[2] / 7)

    return hill


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Bytes and time of every file; .lock may be made by anyone who looks."""
    return {f.name: (f.read_bytes(), f.stat().st_mtime_ns) for f in sorted(folder.iterdir()) if f.name != ".lock"}


def edit_settings(folder: Path, **changes) -> None:
    """Change settings.json as if it had been written so."""
    file = folder / "settings.json"
    about = {**json.loads(file.read_text()), **changes}
    about.pop("digest", None)
    file.write_text(json.dumps(sealed(about)))


def command_of(folder: Path) -> str:
    """The command that repeats a run."""
    return RunFolder.open(folder).read().plan.command(folder)


def refused(folder: Path, match: str, **options) -> None:
    before = contents(folder)
    with pytest.raises((ValueError, OSError), match=match):
        resume(folder, options.pop("problem", make()), **options)
    assert contents(folder) == before
