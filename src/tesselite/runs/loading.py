"""The problem of a run: identifying it, and loading it, its niches and its archive."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tesselite.archive.archive import Archive
from tesselite.archive.file import load_checkpoint, own_scales
from tesselite.base.importing import file_of
from tesselite.base.trust import agree, import_of, is_agreed
from tesselite.emitters.names import imported_operator
from tesselite.problems import by_name, has_name, is_built_in
from tesselite.problems.problem import Problem
from tesselite.runs.folder import RunFolder, Stored
from tesselite.runs.plan import Plan, fingerprint
from tesselite.tessellation.protocol import Tessellation


def problem_of(folder: Path, plan: Plan, *, asked: bool = False) -> Problem:
    """The problem that a run's plan names; ValueError if it is not found, or no longer the run's.

    Importing a module runs it, and the folder of a run may come from anybody. So it is imported only if that was
    `asked` for, or if this user has agreed to it: by running a problem of this name from the same file.
    """
    if not has_name(plan.problem):
        raise ValueError(
            f"{folder}: this run was started from Python on {plan.problem!r}; the problem cannot be imported by "
            f"name; pass it, as in {plan.how_to_resume(folder)} or tesselite.assess(archive, problem)"
        )
    file = unagreed_file(plan)
    if file is not None and not asked:
        raise ValueError(not_agreed(folder, plan, file))
    found = by_name(plan.problem)
    check_problem(folder, plan, found)
    return found


def unagreed_file(plan: Plan) -> str | None:
    """The file that importing a run's problem, operator or niches would run, if this user has not agreed to it."""
    return next((file for what, file in _imports(plan) if not is_agreed(what)), None)


def _imports(plan: Plan) -> list[tuple[str, str]]:
    """What a run imports by name from users' modules: a text to agree to, and the file, for each."""
    names = [plan.problem] if has_name(plan.problem) and not is_built_in(plan.problem) else []
    names += [operator] if (operator := imported_operator(plan.emitter)) else []
    names += [plan.niches.imported] if plan.niches.imported else []
    return [(import_of(name), file) for name in names if (file := file_of(name)) is not None]


def not_agreed(folder: Path, plan: Plan, file: str) -> str:
    """Why what a run names is not imported, and what to do about it."""
    niches = f", its niches {plan.niches.imported}" if plan.niches.imported else ""
    return (
        f"{folder}: its problem is {plan.problem}, its emitter {plan.emitter}{niches}; importing them would run "
        f"{file}, which you have not run before. If you trust that file, add --trust (in Python, pass the problem)"
    )


def check_scheduler(folder: Path, plan: Plan) -> None:
    """ValueError if the run names a Dask scheduler that this user has never used: whoever runs it can run code here."""
    address = _scheduler_of(plan)
    if address and not is_agreed(f"connect to {address}"):
        raise ValueError(
            f"{folder}: names the Dask scheduler {address}, which you have not used before, and which could run any "
            f"code here; if you trust it, add --dask {address}, otherwise choose other --workers"
        )


def agree_to(plan: Plan) -> None:
    """Remember that this user runs what this plan names: a problem from its file, a Dask scheduler."""
    agree_to_import(plan)
    if address := _scheduler_of(plan):
        agree(f"connect to {address}")


def agree_to_import(plan: Plan) -> None:
    """Remember that this user agrees to import what this plan names."""
    for what, _ in _imports(plan):
        agree(what)


def _scheduler_of(plan: Plan) -> str:
    """The address of a Dask scheduler elsewhere; empty if the run names none."""
    workers = getattr(plan.execution, "workers", None)
    return workers if isinstance(workers, str) and not workers.startswith("local:") else ""


def check_problem(folder: Path, plan: Plan, problem: Problem) -> None:
    """ValueError unless this is, as far as we can check, the problem that the run was started with."""
    if fingerprint(problem) != plan.problem_fingerprint:
        raise ValueError(
            f"{folder}: the solutions, features, direction, floor or settings of {plan.problem} are not those that "
            "the run was started with; if it was started from Python, give the problem: tesselite.resume(DIR, problem)"
        )


def stored_tessellation(place: RunFolder, stored: Stored, problem: Problem) -> Tessellation:
    """The niches of a run, in its problem's features; ValueError if they are not those that it was started with."""
    found = stored.plan.niches.stored(problem.features, stored.plan.seed, place.path)
    if found.fingerprint() != stored.niches_fingerprint:
        raise ValueError(
            f"{place.path}: the niches or the problem's features are not those that the run was started with"
        )
    return found


def run_archive(folder: Path, problem: Problem | None = None) -> tuple[Archive, dict[str, Any] | None]:
    """The archive that a run has saved and the state of its search; ValueError if it has saved none yet.

    A given problem adds the titles of its features. Without one, it is looked up only if the features have scales of
    the user's own, which a file cannot hold.
    """
    place = RunFolder.open(folder)
    if not place.archive_file.exists():
        raise ValueError(f"{folder}: this run has saved no archive yet")
    niches = None
    if own_scales(place.archive_file):
        stored = place.read()
        niches = stored_tessellation(place, stored, problem or problem_of(folder, stored.plan))
    archive, search = load_checkpoint(place.archive_file, niches)
    if problem is not None:
        for space in (archive.tessellation.space, archive.tessellation.given_space):
            space.titled(problem.features)
    return archive, search
