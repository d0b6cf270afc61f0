"""The folder of a run: settings, progress, archive; written so that a crash at any moment loses no results.

    settings.json       the plan: everything that is needed to run again
    events.jsonl        what has changed since: the budget, the tessellation that was made, workers that joined
    progress.csv        how the archive grew, a row at fixed numbers of evaluations
    archive.parquet     the elites; also the checkpoint: it and the seed determine the search
    centroids.parquet   the tessellation, where it is not a grid
    start.parquet       known designs that were evaluated first, if there were any
    history/            every evaluation, in Parquet parts, if the run keeps them
    evaluations.log     results from workers that the archive does not have yet, or all of an asynchronous run
    failures.jsonl      what went wrong on workers, with the solutions

Runs themselves are in `tesselite.runs.run`.
"""

from __future__ import annotations

import json
import os
import platform
import shlex
import time
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import IO, Any

from tesselite import __version__
from tesselite.archive.archive import Archive
from tesselite.archive.figures import figures_of
from tesselite.archive.history import HISTORY, remove_history
from tesselite.base.atomic import cannot_write, parts, regular_bytes, remove_parts, write_atomically
from tesselite.base.checksum import is_intact, sealed
from tesselite.execution.choice import execution_from_dict
from tesselite.execution.events import BUDGET, EVENTS_FILE, EXECUTION, NICHES, STOP, Events
from tesselite.execution.log import LOG_FILES, EvaluationLog
from tesselite.runs.known_designs import START_FILE
from tesselite.runs.plan import Plan, plan_of_format_1
from tesselite.search.map_elites import MapElites
from tesselite.search.snapshots import kept_changes
from tesselite.tessellation.kind import CENTROIDS_FILE
from tesselite.tessellation.protocol import Tessellation

FORMAT = 2  # 1 had no digest, and held events as well
PICTURES = "niches-at-changes"
RUN_FILES = (
    "settings.json",
    EVENTS_FILE,
    "progress.csv",
    "archive.parquet",
    "centroids.parquet",
    START_FILE,
    *LOG_FILES,
)
_PAUSES = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32)  # seconds between tries for the lock
PROGRESS = (
    "evaluations",
    "seconds",
    "filled",
    "coverage",
    "best_fitness",
    "mean_fitness",
    "qd_score",
    "invalid",
    "out_of_bounds",
)
_PROGRESS_HEADER = ",".join((*PROGRESS, "check"))


@dataclass
class Stored:
    """The description of a run in its folder: the plan, the version of tesselite that wrote it, and the events."""

    planned: Plan
    version: str
    events: Events

    @property
    def plan(self) -> Plan:
        """The current plan: with the larger budget and the other workers of later resumes."""
        how = self.events.of(EXECUTION)
        return replace(
            self.planned,
            evaluations=self.events.changes(BUDGET, self.planned.evaluations)[-1][1],
            execution=execution_from_dict(how[-1]["execution"]) if how else self.planned.execution,
        )

    def stopped(self, evaluations: int) -> str:
        """Why the run ended after this many evaluations, before its budget was spent; empty if it did not."""
        stops = self.events.of(STOP)
        return str(stops[-1]["why"]) if stops and stops[-1]["at"] == evaluations else ""

    @property
    def niches_fingerprint(self) -> str | None:
        """That of the tessellation; None until it is made."""
        made = self.events.of(NICHES)
        return self.planned.niches.known_fingerprint or (str(made[-1]["fingerprint"]) if made else None)


def _not_settings(file: Path, error: Exception) -> ValueError:
    return ValueError(f"{file}: damaged, or not settings of a tesselite run ({type(error).__name__}: {error})")


def check_output(option: str, file: Path) -> None:
    """ValueError if this file is one of a run's own, which no command may overwrite."""
    own = file.name in RUN_FILES or file.match("assessment*.parquet")
    folder = file.parent.parent if file.parent.name == HISTORY else file.parent
    if (own or folder != file.parent) and (folder / "settings.json").exists():
        raise ValueError(f"{option}: {file} belongs to the run; choose another file")


def not_linked(path: Path) -> Path:
    """The default place of a command's output beside a run; ValueError if it is a link. The folder may come from
    anybody, and the link may lead to any file of the user.
    """
    for file in (path, *(path.iterdir() if path.is_dir() else ())):
        if file.is_symlink():
            raise ValueError(
                f"{file}: a symbolic link, which may lead anywhere; remove it, or choose another path with --out"
            )
    return path


class RunFolder:
    """A folder that holds one run; as a context manager it is locked against a second process."""

    def __init__(self, path: Path, *, new: bool = False) -> None:
        self.path = path
        self.settings_file, self.archive_file = path / "settings.json", path / "archive.parquet"
        self.progress_file, self.centroids_file = path / "progress.csv", path / CENTROIDS_FILE
        self._new = new
        self._lock: IO[str] | None = None
        self._progress_check = 0

    # -- opening ---------------------------------------------------------------------------------------------------

    @classmethod
    def create(cls, path: Path) -> RunFolder:
        """A new or empty folder; ValueError if it is not empty."""
        folder = cls(path, new=True)
        if path.exists() and not path.is_dir():
            raise ValueError(f"{path}: expected a folder for the run, found a file")
        folder._check_free()
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ValueError(f"{path}: cannot create this folder ({error.strerror})") from None
        return folder

    def _check_free(self) -> None:
        """ValueError unless a new run may use this folder; remains of a run that was killed at its start are
        allowed."""
        if self.settings_file.exists():
            raise ValueError(
                f"{self.path}: already contains a run; continue it with `tesselite resume "
                f"{shlex.quote(str(self.path))}` "
                "or choose another folder"
            )
        if self.path.exists():
            names = {entry.name for entry in self.path.iterdir()}
            left = {part.name for part in parts(self.path, *RUN_FILES)}
            if names and not (".lock" in names and names <= {".lock", self.centroids_file.name, START_FILE, *left}):
                raise ValueError(f"{self.path}: not empty, and not a run; choose another folder")

    @classmethod
    def open(cls, path: Path) -> RunFolder:
        """The folder of an existing run; ValueError if there is none."""
        folder = cls(path)
        if not folder.settings_file.exists():
            why = "expected a folder with settings.json" if path.exists() else "there is no such file or folder"
            raise ValueError(f"{path}: not a run ({why})")
        return folder

    def __enter__(self) -> RunFolder:
        lock = (self.path / ".lock").open("a+")
        if not _locked(lock):
            lock.close()
            raise ValueError(f"{self.path}: another process is running here; wait for it or stop it")
        self._lock = lock
        _locks.add(lock)
        try:
            if self._new:
                self._check_free()  # again: another process may have used the folder before we got the lock
            remove_parts(self.path, *RUN_FILES)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._lock:
            _locks.discard(self._lock)
            if not self._lock.closed:
                _unlock(self._lock)
                self._lock.close()
            self._lock = None

    def abandon_if_empty(self) -> None:
        """Remove a run that failed before it saved anything, so that it can be started again once fixed."""
        if not self.archive_file.exists():
            remove_history(self.path)
            for name in RUN_FILES:
                (self.path / name).unlink(missing_ok=True)

    # -- plan and events ---------------------------------------------------------------------------------------------

    def write_plan(self, plan: Plan) -> None:
        """Write the plan with the versions in use."""
        packages = ("numpy", "numba", "scipy", "pyarrow")
        about = {
            "format": FORMAT,
            "version": __version__,
            **plan.to_dict(),
            "versions": {
                "python": platform.python_version(),
                **{name: metadata.version(name) for name in packages},
            },
            "machine": platform.machine(),
        }
        text = json.dumps(sealed(about), indent=2) + "\n"
        write_atomically(self.settings_file, lambda part: part.write_text(text))

    def read(self) -> Stored:
        """The description of the run; ValueError if it cannot be read."""
        file = self.settings_file
        try:
            about = json.loads(regular_bytes(file))
            version, number = about["version"], about["format"]
        except (ValueError, LookupError, TypeError, RecursionError) as error:
            raise _not_settings(file, error) from None
        if number not in range(1, FORMAT + 1):
            raise ValueError(
                f"{file}: written in format {number} by tesselite {version}; this is tesselite {__version__}, which "
                f"reads formats 1 to {FORMAT}"
            )
        if not is_intact(about, older=number == 1):
            raise ValueError(
                f"{file}: damaged or edited (its content is not what was written); restore it, or start a new run"
            )
        try:
            if not isinstance(version, str):
                raise TypeError(f"version is {version!r}")
            if number == 1:
                plan, happened = plan_of_format_1(about)
                return Stored(plan, version, Events(happened=happened))
            plan = Plan.from_dict(about)
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise _not_settings(file, error) from None
        return Stored(plan, version, Events(self.path / EVENTS_FILE))

    def bring_up_to_date(self, stored: Stored) -> Stored:
        """Rewrite the files of an older version in the current format; events first, since the old settings contain
        them."""
        if stored.events.file is None:
            stored = replace(stored, events=stored.events.written_to(self.path / EVENTS_FILE))
            self.write_plan(stored.planned)
        elif stored.version != __version__:
            self.write_plan(stored.planned)
        return stored

    # -- tessellation ----------------------------------------------------------------------------------------------

    def write_tessellation(self, tessellation: Tessellation) -> None:
        """Keep the centroids, if it has some."""
        tessellation.keep(self.centroids_file)

    # -- checkpoints -----------------------------------------------------------------------------------------------

    def write_checkpoint(self, search: MapElites) -> None:
        """Write the current archive, after this many evaluations."""
        search.save(self.archive_file, embed=False)

    def write_pictures(self, search: MapElites) -> None:
        """Write missing pictures of changes, and remove those that are no longer kept."""
        folder = not_linked(self.path / PICTURES)
        if search.pictures:
            try:
                folder.mkdir(exist_ok=True)
            except OSError as error:
                raise cannot_write(folder, error) from error
        for number, picture in search.pictures.items():
            picture.save(folder / f"{number:06d}.parquet")
        search.pictures.clear()  # they are on disk
        kept = {f"{number:06d}.parquet" for number in kept_changes(len(search.changes))}
        for file in folder.glob("*.parquet") if folder.is_dir() else ():
            if file.name not in kept:
                file.unlink()

    def read_pictures(self, n_changes: int) -> dict[int, Archive]:
        """The niches right after changes, by their numbers, of a run with this many changes; see
        `tesselite.search.snapshots`."""
        files = {number: self.path / PICTURES / f"{number:06d}.parquet" for number in kept_changes(n_changes)}
        return {number: Archive.load(file) for number, file in files.items() if file.is_file()}

    def restore(self, search: MapElites) -> None:
        """Bring a fresh search to the state of the last checkpoint, if there is one."""
        if self.archive_file.exists():
            search.restore(self.archive_file)

    def count_finished(self, stored: Stored, saved: int) -> int:
        """How many evaluations are finished: the saved ones, and those whose results are in the log alone."""
        n_features = stored.planned.niches.count_features(self.path)
        if not n_features:  # the niches are yet to be made
            return saved
        numbers = EvaluationLog(self.path, n_features, stored.planned.records).numbers()
        if stored.plan.execution.keeps_log:  # all results, which came in any order
            return max(saved, len(numbers))
        return saved + int((numbers >= saved).sum())

    # -- progress --------------------------------------------------------------------------------------------------

    def read_progress(self) -> list[dict[str, float | None]]:
        """The rows of progress.csv; a truncated last row is left out."""
        if not self.progress_file.exists():
            return []
        text = regular_bytes(self.progress_file).decode(errors="replace")
        header, *lines = text[: text.rfind("\n") + 1].split("\n")[:-1] or [text]
        checked = header == _PROGRESS_HEADER
        if not checked and header != ",".join(PROGRESS):  # as earlier versions wrote it
            raise ValueError(f"{self.progress_file}: damaged or foreign; expected the columns {', '.join(PROGRESS)}")
        rows: list[dict[str, float | None]] = []
        check = zlib.crc32(header.encode())
        for number, line in enumerate(lines, 2):
            try:
                cells, _, said = line.rpartition(",") if checked else (line, "", "")
                check = zlib.crc32(cells.encode(), check)
                if checked and said != _check_cell(check):
                    raise ValueError
                values = [float(cell) if cell else None for cell in cells.split(",")]
                rows.append(dict(zip(PROGRESS, values, strict=True)))
            except ValueError:
                raise ValueError(
                    f"{self.progress_file}: damaged in line {number} ({line!r:.60}); "
                    "without this file the run can be resumed, but its earlier rows are lost"
                ) from None
        return rows

    def cut_progress(self, evaluations: int) -> float:
        """Forget rows beyond this many evaluations; returns the seconds that the remaining ones took."""
        kept = [row for row in self.read_progress() if (row["evaluations"] or 0) <= evaluations]
        self._progress_check = zlib.crc32(_PROGRESS_HEADER.encode())
        text = "".join([_PROGRESS_HEADER, "\n", *map(self._progress_line, kept)]).encode()
        if regular_bytes(self.progress_file) != text:
            write_atomically(self.progress_file, lambda part: part.write_bytes(text))
        return float(kept[-1]["seconds"] or 0.0) if kept else 0.0

    def append_progress(self, search: MapElites, seconds: float) -> None:
        """Add a row for the current state of the search; after `cut_progress`."""
        line = self._progress_line({**progress_of(search), "seconds": seconds})
        try:
            with self.progress_file.open("ab") as file:
                file.write(line.encode())
        except OSError as error:
            raise cannot_write(self.progress_file, error) from error

    def _progress_line(self, row: Mapping[str, float | None]) -> str:
        """The line behind those that were made so far: its checksum is that of all cells up to here."""
        cells = ",".join(_cell(row[name]) for name in PROGRESS)
        self._progress_check = zlib.crc32(cells.encode(), self._progress_check)
        return f"{cells},{_check_cell(self._progress_check)}\n"


def _locked(lock: IO[str]) -> bool:
    """Lock an open file for this process; False if another still has it after several tries. A process that checks
    whether a run is active (`tesselite watch`) holds the lock for an instant, so a starting run retries.
    """
    try:
        import fcntl
    except ImportError:
        return True  # no such locks on this system: two processes in one folder are at the user's risk
    for pause in (*_PAUSES, None):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if pause is not None:
                time.sleep(pause)
        except OSError:
            return True  # nor on this file system
        else:
            return True
    return False


def _unlock(lock: IO[str]) -> None:
    """Release the lock explicitly: closing the file is not enough if a forked process has it, too."""
    with suppress(ImportError, OSError):
        import fcntl

        fcntl.flock(lock, fcntl.LOCK_UN)


_locks: set[IO[str]] = set()


def _leave_locks() -> None:
    """In a process that was forked: release locks, or a run would seem active as long as its executor's workers live.

    The lock itself stays, since the parent holds it.
    """
    for lock in _locks:
        lock.close()
    _locks.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_locks)


def progress_of(search: MapElites) -> dict[str, Any]:
    """The figures of a search that progress, reports and JSON share; without niches nothing is filled."""
    figures = figures_of(search.archive)
    if not search.archive.has_niches:
        alone = search.revision is not None and search.revision.selects  # a population without niches
        figures |= {"filled": figures["filled"] if alone else 0, "coverage": 0.0, "qd_score": None}
    return {"evaluations": search.evaluations, **figures}


def _check_cell(check: int) -> str:
    return f"x{check:08x}"  # which no program parses as a number


def _cell(value: float | None) -> str:
    """A number in full precision, whole ones without a point; empty for None."""
    if value is None:
        return ""
    return str(int(value)) if float(value).is_integer() else repr(float(value))
