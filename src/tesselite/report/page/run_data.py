"""One run as data for the page: settings, state, figures, progress, elites and their assessment.

Comparisons of several runs are in `comparison`.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tesselite.archive.archive import Archive
from tesselite.archive.elites import Elites
from tesselite.archive.figures import figures_of
from tesselite.archive.file import load_checkpoint
from tesselite.assessment.metrics import in_niches
from tesselite.assessment.scenarios import Assessment, digest_of
from tesselite.base.arrays import Floats
from tesselite.problems.problem import Problem
from tesselite.report.niche_changes import bounds_of, common_box, common_range, picture_pixels
from tesselite.report.page.packed_arrays import PackedArrays, whole_numbers
from tesselite.report.page.places import describe_cells, describe_features, principal_plane
from tesselite.report.page.views import VIEW_BYTES, describe_views
from tesselite.report.principal_axes import most_varied
from tesselite.runs.folder import PROGRESS, RunFolder, Stored
from tesselite.runs.loading import problem_of, run_archive
from tesselite.runs.plan import Plan
from tesselite.search.map_elites import Change, changes_in_words, found_by, saved_changes
from tesselite.spaces.records import Values
from tesselite.spaces.variables import Variable, is_text, value_columns
from tesselite.tessellation.protocol import Tessellation

State = Literal["running", "finished", "stopped"]

EXACT_BYTES = 6_000_000
"""Solutions and features are kept exactly up to this many bytes each, in single precision beyond."""

MOST_FEATURES = 64
"""The most features that are kept: those that vary most."""

MOST_VALUES = 200
"""Values of a solution that are shown, at most."""

LONGEST_LABEL = 80
"""Characters of a recorded text that are shown, at most."""

_PROGRESS_SHOWN = ("evaluations", "seconds", "coverage", "best_fitness", "mean_fitness", "qd_score", "invalid")


@dataclass
class RunData:
    """The data from the folder of a run. `archive` is None until the first checkpoint, `problem` if unknown.

    `scenarios` map a name to the fitness of the elites (ordered by niche) in it, NaN where invalid; `assessed` says
    which of them were evaluated there (of large archives only a part is).
    """

    name: str
    folder: Path
    stored: Stored | None  # None for an archive without a run
    progress: list[dict[str, float | None]]
    state: State
    archive: Archive | None = None
    evaluations: int = 0
    problem: Problem | None = None
    problem_error: str = ""
    scenarios: dict[str, Floats] = field(default_factory=dict)
    assessed: npt.NDArray[np.bool_] | None = None
    notes: list[str] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    search: dict[str, Any] | None = None  # the state of the search
    pictures: dict[int, Archive] = field(default_factory=dict)  # of niches right after changes, by their numbers
    population: Archive | None = None  # what has no niches, and is shown in those of `archive`

    @property
    def own_archive(self) -> Archive | None:
        """The archive as the run left it."""
        return self.population or self.archive

    @property
    def plan(self) -> Plan:
        """The plan of the run."""
        assert self.stored is not None
        return self.stored.plan


def read_run(folder: Path, name: str | None = None, tessellation: Tessellation | None = None) -> RunData:
    """Read a run, active or ended; nothing is written. A known tessellation saves reading it again.

    Raises ValueError if there is no run in the folder, or its files are damaged.
    """
    place = RunFolder.open(folder)
    stored = place.read()
    run = RunData(name or folder.name or str(folder), folder, stored, place.read_progress(), "stopped")
    run.problem, run.problem_error = _problem(folder, stored.plan)
    if place.archive_file.exists():
        if tessellation and tessellation.fingerprint() == stored.niches_fingerprint:
            run.archive, search = load_checkpoint(place.archive_file, tessellation)
        else:
            run.archive, search = run_archive(folder, run.problem)
        run.evaluations = int(search["evaluations"]) if search else 0
        run.changes = saved_changes(search)
        run.pictures = place.read_pictures(len(run.changes))
        if len(run.archive) and not run.archive.has_niches:
            run.population = run.archive
            run.archive = in_niches(run.archive, len(run.archive))
            n = f"{run.archive.n_niches:,}"
            run.notes.append(f"These solutions have no niches; figures and maps show them in a CVT of {n} niches.")
        run.search = search
    finished = run.evaluations >= stored.plan.evaluations
    run.evaluations = place.count_finished(stored, run.evaluations)
    if finished:
        run.state = "finished"
    elif locked(folder):
        run.state = "running"
    if run.archive is not None and run.own_archive is not None:
        _add_assessment(run, run.own_archive.elites(), run.archive.elites())
    return run


def _problem(folder: Path, plan: Plan) -> tuple[Problem | None, str]:
    """The problem, or None and why it is not available (a report can do without it)."""
    try:
        return problem_of(folder, plan), ""
    except Exception as error:  # a user's module may raise anything when it is imported
        return None, f"{type(error).__name__}: {error}"


def locked(folder: Path) -> bool:
    """Whether a live process runs in this folder.

    Tries a shared lock for an instant on the file that a run locks. An active run does not notice; one that starts in
    this instant retries.
    """
    try:
        import fcntl

        with (folder / ".lock").open("rb") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except OSError:
                return True
            return False
    except (ImportError, FileNotFoundError):
        return False


def _add_assessment(run: RunData, elites: Elites, shown: Elites) -> None:
    """Add the fitness of the elites that are shown in scenarios from assessment.parquet, if it is of these elites."""
    path = run.folder / "assessment.parquet"
    if not path.exists():
        return
    found = Assessment.load(path)
    if found.archive_digest != digest_of(elites):
        run.notes.append(f"The run continued after it was assessed; `tesselite assess {run.folder}` assesses it again.")
        return
    if not np.isin(found.niches, elites.niches).all():
        raise ValueError(f"{path}: damaged (it names niches that are empty); remove it to assess the run again")
    at = np.searchsorted(elites.niches, found.niches)
    rows = np.arange(len(elites))
    if run.population is not None:  # of a niche that it is shown in, one solution is left
        order = np.argsort(elites.evaluations)
        rows = order[np.searchsorted(elites.evaluations[order], shown.evaluations)]
    assessed = np.zeros(len(elites), np.bool_)
    assessed[at] = True
    run.assessed = assessed[rows]
    for name in found.scenarios:
        fitness = np.full(len(elites), np.nan)
        fitness[at] = found.fitness[name]
        run.scenarios[name] = fitness[rows]


def archive_data(archive: Archive, name: str, problem: Problem | None = None, file: Path | None = None) -> RunData:
    """An archive without its run, as the page shows it; of its problem, if given, the views."""
    return RunData(name, file or Path(name), None, [], "finished", archive=archive, problem=problem)


def describe_run(
    run: RunData, arrays: PackedArrays, *, group: str = "", with_views: bool = True, view_bytes: int = VIEW_BYTES
) -> dict[str, Any]:
    """A run as the document of the page holds it; its numbers go to `arrays`."""
    archive = run.archive
    direction = archive.direction if archive else (run.problem.direction if run.problem else "max")
    described: dict[str, Any] = {
        "name": run.name,
        "group": group or run.name,
        "folder": str(run.folder),
        "state": run.state,
        "direction": direction,
        "y_down": run.problem is not None and run.problem.y_down,
        "evaluations": run.evaluations,
        **_about(run),
        "progress": {name: [row[name] for row in run.progress] for name in _PROGRESS_SHOWN if name in PROGRESS},
        "notes": list(run.notes),
    }
    if run.stored is not None and (stopped := run.stored.stopped(run.evaluations)):
        described["notes"].append(f"The run stopped early: {stopped}.")
    if run.problem_error:
        described["notes"].append(f"The problem is not available here ({run.problem_error}): elites are shown as bars.")
    if archive is None:
        return described
    described["figures"] = {
        "n_niches": archive.n_niches,
        **figures_of(archive),
        "invalid_reasons": archive.invalid.most_common(5),
        "seconds": run.progress[-1]["seconds"] if run.progress else None,
    }
    if run.changes:
        described["growth"] = _describe_growth(run, archive, arrays)
    elites = archive.elites()
    described["archive"] = _describe_archive(run, archive, elites, arrays, described["notes"])
    described["scenarios"] = [
        {
            "name": name,
            "phrase": _phrase(run.problem, name),
            "fitness": arrays.add(values.astype(np.float32)),
            "valid": int(np.isfinite(values).sum()),
        }
        for name, values in run.scenarios.items()
    ]
    if run.assessed is not None and not run.assessed.all():
        described["assessed"] = arrays.add(run.assessed.astype(np.uint8))
        described["notes"].append(f"{int(run.assessed.sum()):,} of {len(elites):,} elites were assessed in scenarios.")
    if run.problem is not None:
        try:
            _describe_views(run, run.problem, elites, described, arrays, view_bytes if with_views else 0)
        except Exception as error:  # a user's view may raise anything; the rest of the page is still useful
            note = f"The problem's elite_view failed ({type(error).__name__}: {error}): elites are shown as bars."
            described["notes"].append(note)
    return described


def _phrase(problem: Problem | None, scenario: str) -> str:
    if problem is not None and scenario in problem.scenarios:
        with suppress(Exception):  # a user's own problem may raise anything
            return str(problem.scenario_phrase(scenario))
    return f"in {scenario}"


def _describe_growth(run: RunData, archive: Archive, arrays: PackedArrays) -> dict[str, Any]:
    """The bounds after each change, of the features whose range grew most, and pictures of the niches."""
    changes, titles = run.changes, archive.tessellation.space.titles
    low, high, shown = bounds_of(changes)
    described: dict[str, Any] = {
        "at": [change.at for change in changes],
        "lost": [change.lost for change in changes],
        "n_niches": [change.n_niches for change in changes],
        "bounds": [{"name": titles[j], "low": low[:, j].tolist(), "high": high[:, j].tolist()} for j in shown.tolist()],
        "n_features": len(titles),
        "pictures": [],
    }
    if run.pictures:
        pictures = list(run.pictures.values())
        box, ends = common_box(pictures), common_range(pictures)
        described["pictures"] = [
            {"change": number, "filled": len(picture), "pixels": arrays.add(picture_pixels(picture, box, *ends))}
            for number, picture in run.pictures.items()
        ]
        described["box"] = [box.low.tolist(), box.high.tolist()]
        described["range"] = ends
    return described


def _describe_views(
    run: RunData, problem: Problem, elites: Elites, described: dict[str, Any], arrays: PackedArrays, n_bytes: int
) -> None:
    """Add the views, and what is known of them without: their kind, and the script that draws it."""
    first = problem.elite_view(elites.solutions[:1]) if len(elites) else {}
    if not first:
        return
    described["kind"] = first["kind"]
    described["script"] = first.get("script", "")
    if not n_bytes:
        return
    described["views"] = views = describe_views(problem, elites, arrays, run.scenarios, n_bytes)
    shown = views[0]["rows"]["shape"][0]
    if shown < len(elites):
        described["notes"].append(
            f"To keep the page small, {shown:,} of {len(elites):,} elites, evenly chosen, can be played."
        )


def _about(run: RunData) -> dict[str, Any]:
    """The settings of the run, and how to repeat it; nearly empty for an archive without a run."""
    if run.stored is None:
        title = run.problem.name if run.problem is not None else run.name
        niches = repr(run.archive.tessellation) if run.archive is not None else ""
        settings = [("Archive", str(run.folder)), ("Niches", niches)]
        return {"problem": title, "seed": None, "version": "", "budget": 0, "settings": settings, "command": ""}
    plan = run.stored.plan
    return {
        "problem": plan.problem,
        "seed": plan.seed,
        "version": run.stored.version,
        "budget": plan.evaluations,
        "settings": _settings_shown(run, plan, run.stored.version),
        "command": plan.command(run.folder),
    }


def _settings_shown(run: RunData, plan: Plan, version: str) -> list[tuple[str, str]]:
    return [
        ("Problem", plan.problem),
        ("Niches", plan.niches.label),
        *([("Growth", changes_in_words(run.changes))] if plan.niches.grows else []),
        ("Budget", f"{plan.evaluations:,} evaluations"),
        ("Beginning", plan.beginning),
        ("Batch size", f"{plan.batch_size:,}"),
        ("Emitter", plan.emitter),
        *plan.execution.shown(),
        ("Seed", str(plan.seed)),
        ("tesselite", version),
        ("Folder", str(run.folder)),
    ]


def _describe_archive(
    run: RunData, archive: Archive, elites: Elites, arrays: PackedArrays, notes: list[str]
) -> dict[str, Any]:
    space = archive.tessellation.space
    unit = space.to_unit(elites.features)
    kept = most_varied(unit, MOST_FEATURES)
    if len(kept) < space.n:
        notes.append(f"The page holds {len(kept)} of {space.n} features, those that vary most.")
    # A text is shown as what is recorded.
    texts: Values = dict(value_columns(elites.variables, elites.solutions, ())) if is_text(elites.variables) else {}
    described: dict[str, Any] = {
        "n_niches": archive.n_niches,
        "features": describe_features(space, kept),
        "niches": arrays.add(whole_numbers(elites.niches)),
        "evaluations": arrays.add(whole_numbers(elites.evaluations)),
        "fitness": arrays.add(elites.fitness),
        # A column after another, so that the browser colours by one of them without a stride.
        "values": arrays.add(_kept_exactly(elites.features[:, kept].T, "Features", notes)),
        "unit": arrays.add(unit[:, kept].T.astype(np.float32)),
        "solutions": arrays.add(_solutions(elites.solutions[:, : 0 if texts else None], notes)),
        "named": bool(archive.variables) and not texts,
        "variables": _variables(archive, run.problem),
        "records": _records({**elites.records, **texts}, arrays, notes),
    }
    found = found_by(run.plan.emitter, run.search, elites.evaluations) if run.stored is not None else None
    if found is not None:
        described["emitters"] = {"names": found[0], "of": arrays.add(whole_numbers(found[1]))}
    cells = describe_cells(archive.tessellation, arrays)
    if cells is not None:
        described["cells"] = cells
    else:
        plane, shares = principal_plane(space, elites.features)
        described["plane"] = arrays.add(plane.T.astype(np.float32))
        described["plane_shares"] = shares
    return described


def _records(records: Values, arrays: PackedArrays, notes: list[str]) -> list[dict[str, Any]]:
    """The records of each elite: numbers, or the numbers of labels; records that are arrays are omitted."""
    described = []
    for name, values in records.items():
        labels: list[str] = []
        if values.ndim > 1:
            notes.append(f"The record {name} is an array, which the page does not show; archive.parquet has it.")
            continue
        if values.dtype.kind == "O":
            known, values = np.unique(values.astype(str), return_inverse=True)
            labels = [label[:LONGEST_LABEL] for label in known.tolist()]
        elif values.dtype.kind == "b":
            labels = ["no", "yes"]
        described.append({"name": name, "values": arrays.add(values.astype(np.float64)), "labels": labels})
    return described


def _variables(archive: Archive, problem: Problem | None) -> list[dict[str, Any]]:
    """Names and bounds of the first values of a solution; none where the bounds are not known."""
    if is_text(archive.variables):
        return []
    if archive.variables:
        return [variable.to_dict() for variable in archive.variables[:MOST_VALUES]]
    low, high = (np.asarray(getattr(problem and problem.solutions, name, ())) for name in ("low", "high"))
    if not low.shape == high.shape == (archive.width,):
        return []
    bounds = zip(low.tolist()[:MOST_VALUES], high.tolist(), strict=False)
    return [Variable(f"x{j}", *pair).to_dict() for j, pair in enumerate(bounds)]


def _solutions(solutions: npt.NDArray[Any], notes: list[str]) -> npt.NDArray[Any]:
    if solutions.dtype.kind in "iu" or solutions.dtype.kind == "b":
        return whole_numbers(solutions)
    return _kept_exactly(solutions.astype(np.float64), "Solutions", notes)


def _kept_exactly(values: npt.NDArray[Any], what: str, notes: list[str]) -> npt.NDArray[Any]:
    if values.nbytes <= EXACT_BYTES:
        return values
    notes.append(f"{what} are rounded to single precision (7 digits); archive.parquet has all digits.")
    return values.astype(np.float32)
