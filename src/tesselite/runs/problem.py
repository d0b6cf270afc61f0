"""The problem of a run: what tells it from others, and how it, its niches and its archive are found again."""

from __future__ import annotations

import hashlib
import shlex
from pathlib import Path
from typing import Any

import numpy as np

from tesselite.archive.archive import Archive, Tessellation
from tesselite.archive.file import load_checkpoint, own_scales
from tesselite.base.trust import agree, is_agreed
from tesselite.execution.workers.farm import RETRIES
from tesselite.problems import by_name, file_of, has_name, is_built_in
from tesselite.problems.problem import Problem
from tesselite.runs.folder import RunFolder, Settings
from tesselite.tessellation.grid import GridTessellation


def fingerprint(problem: Problem) -> str:
    """A digest of what solutions, features and fitness are: a problem that changed cannot continue a run."""
    solutions, features = problem.solutions, problem.features
    scales = sorted((name, scale.name) for name, scale in features.scales.items())
    kind = type(solutions).__name__, solutions.width, solutions.dtype.str
    digest = hashlib.sha256(repr((kind, features.names, scales, problem.direction, problem.floor)).encode())
    for values in (features.low, features.high):
        digest.update(values.tobytes())
    for name in ("low", "high", "values"):  # of a Box, of Levels; other spaces have none
        digest.update(np.asarray(getattr(solutions, name, ()), dtype=np.float64).tobytes())
    digest.update(problem.variant.encode())
    return digest.hexdigest()


def problem_of(folder: Path, settings: Settings, *, asked: bool = False) -> Problem:
    """The problem that a run's settings name; ValueError if it is not to be found, or not the run's any more.

    Importing a module runs it, and the folder of a run may come from anybody. So it is imported only if that is what
    was `asked` for, or if this user has agreed to it: by running a problem of this name from the same file.
    """
    if not has_name(settings.problem):
        raise ValueError(
            f"{folder}: this run was started from Python on {settings.problem!r}, a problem that no name finds; give "
            f"it, as in {how_to_resume(folder, settings)} or tesselite.assess(archive, problem)"
        )
    file = unagreed_file(settings)
    if file is not None and not asked:
        raise ValueError(not_agreed(folder, settings, file))
    found = by_name(settings.problem)
    check_problem(folder, settings, found)
    return found


def unagreed_file(settings: Settings) -> str | None:
    """The file that importing the problem of a run would run; None if there is none, or this user has agreed to it."""
    importable = has_name(settings.problem) and not is_built_in(settings.problem)
    file = file_of(settings.problem) if importable else None
    return None if file is None or is_agreed(_import_of(settings, file)) else file


def not_agreed(folder: Path, settings: Settings, file: str) -> str:
    """Why the problem of a run is not imported, and what to do about it."""
    return (
        f"{folder}: its problem is {settings.problem}; importing it would run {file}, which you have not run as a "
        "problem before. If you trust that file, add --trust (in Python, pass the problem)"
    )


def check_scheduler(folder: Path, settings: Settings) -> None:
    """ValueError if the run names a Dask scheduler that this user has never used: whoever runs it can run code here."""
    address = _scheduler_of(settings)
    if address and not is_agreed(f"connect to {address}"):
        raise ValueError(
            f"{folder}: names the Dask scheduler {address}, which you have not used before, and which could run any "
            f"code here; if you trust it, add --dask {address}, otherwise choose other --workers"
        )


def agree_to(settings: Settings) -> None:
    """Remember that this user runs what these settings name: a problem from its file, a Dask scheduler."""
    agree_to_import(settings)
    if address := _scheduler_of(settings):
        agree(f"connect to {address}")


def agree_to_import(settings: Settings) -> None:
    """Remember that this user agrees to import the problem of these settings."""
    if file := unagreed_file(settings):
        agree(_import_of(settings, file))


def _import_of(settings: Settings, file: str) -> str:
    return f"import {settings.problem} from {file}"


def _scheduler_of(settings: Settings) -> str:
    """The address of a Dask scheduler elsewhere; empty if the run names none."""
    workers = settings.protection.get("workers")
    return workers if isinstance(workers, str) and not workers.startswith("local:") else ""


def how_to_resume(folder: Path, settings: Settings) -> str:
    """What to type to continue a run: a command, or Python where the problem or its variation has no name."""
    if has_name(settings.problem) and settings.variation != "own":
        return shlex.join(["tesselite", "resume", str(folder), *protection_options(settings)])
    variation = ", variation=..." if settings.variation == "own" else ""
    kept = "".join(f", {name}={value!r}" for name, value in settings.protection.items() if value is not None)
    return f"tesselite.resume({str(folder)!r}, problem{variation}{kept})"


def protection_options(settings: Settings) -> list[str]:
    """The workers, time limit and retries of a run as a command line has them."""
    kept = settings.protection
    if not kept:
        return []
    words = ["--dask" if isinstance(kept["workers"], str) else "--workers", str(kept["workers"])]
    words += ["--timeout", f"{kept['timeout']:g}"] if kept["timeout"] is not None else []
    return words + (["--retries", str(kept["retries"])] if kept["retries"] != RETRIES else [])


def protection_shown(settings: Settings) -> list[tuple[str, str]]:
    """The workers, time limit and retries of a run as people read them."""
    kept = settings.protection
    if not kept:
        return []
    workers = kept["workers"]
    return [
        ("Workers", f"Dask, {workers}" if isinstance(workers, str) else f"{workers} process{'es' * (workers > 1)}"),
        ("Timeout", "no limit" if kept["timeout"] is None else f"{kept['timeout']:g} s per evaluation"),
        ("Retries", str(kept["retries"])),
    ]


def check_problem(folder: Path, settings: Settings, problem: Problem) -> None:
    """ValueError unless this is, as far as can be told, the problem that the run was started with."""
    if fingerprint(problem) != settings.problem_fingerprint:
        raise ValueError(
            f"{folder}: the solutions, features, direction, floor or settings of {settings.problem} are not those that "
            "the run was started with; if it was started from Python, give the problem: tesselite.resume(DIR, problem)"
        )


def stored_tessellation(place: RunFolder, settings: Settings, problem: Problem) -> Tessellation:
    """The niches of a run, in its problem's features; ValueError if they are not those that it was started with."""
    niches: Tessellation
    if settings.niches["kind"] == "grid":
        cells = settings.niches.get("cells", "equal")
        niches = GridTessellation(problem.features, settings.niches.get("shape", 0), cells=cells)
    else:
        from tesselite.tessellation.files import load_tessellation

        niches = load_tessellation(place.centroids_file, problem.features)
    if niches.fingerprint() != settings.niches.get("fingerprint"):
        raise ValueError(
            f"{place.path}: the niches or the problem's features are not those that the run was started with"
        )
    return niches


def run_archive(folder: Path, problem: Problem | None = None) -> tuple[Archive, dict[str, Any] | None]:
    """The archive that a run has saved and the state of its search; ValueError if it has saved none yet.

    The problem is looked for only where it is needed: a file cannot hold scales of the user's own.
    """
    place = RunFolder.open(folder)
    if not place.archive_file.exists():
        raise ValueError(f"{folder}: this run has saved no archive yet")
    niches = None
    if own_scales(place.archive_file):
        settings, _ = place.read_settings()
        niches = stored_tessellation(place, settings, problem or problem_of(folder, settings))
    return load_checkpoint(place.archive_file, niches)
