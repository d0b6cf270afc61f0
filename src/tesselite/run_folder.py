"""The folder of a run: settings, progress, archive; written so that a crash at any moment loses nothing that counts.

    settings.json       everything that is needed to run again
    progress.csv        how the archive grew, a row at fixed numbers of evaluations
    archive.parquet     the elites; also the checkpoint, since what a search is can be told from it and the seed
    centroids.parquet   the tessellation, where it is not a grid

Who runs what is in `tesselite.run`.
"""

from __future__ import annotations

import csv
import json
import platform
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path
from typing import IO, Any

from tesselite import __version__
from tesselite.archive import Tessellation
from tesselite.archive_file import describe_tessellation, load_checkpoint, save_archive
from tesselite.atomic import write_atomically
from tesselite.search import MapElites
from tesselite.tessellation.grid import GridTessellation

FORMAT = 1
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


@dataclass(frozen=True)
class Settings:
    """What a run is: the problem by name, the niches, the budget, the operator and the seed.

    `niches` describes the tessellation. `options` holds choices of a kind that only some runs have.
    """

    problem: str
    evaluations: int
    initial: int
    batch_size: int
    variation: str
    seed: int
    niches: dict[str, Any]
    options: dict[str, Any] = field(default_factory=dict)


class RunFolder:
    """A folder that holds one run; as a context manager it is locked against a second process."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: IO[str] | None = None

    @property
    def settings_file(self) -> Path:
        """Where the settings are."""
        return self.path / "settings.json"

    @property
    def archive_file(self) -> Path:
        """Where the archive is."""
        return self.path / "archive.parquet"

    @property
    def progress_file(self) -> Path:
        """Where the progress is."""
        return self.path / "progress.csv"

    @property
    def centroids_file(self) -> Path:
        """Where the centroids of a Voronoi tessellation are."""
        return self.path / "centroids.parquet"

    # -- opening ---------------------------------------------------------------------------------------------------

    @classmethod
    def create(cls, path: Path) -> RunFolder:
        """A new folder, or an empty one; ValueError if something is in it already."""
        folder = cls(path)
        if path.exists() and not path.is_dir():
            raise ValueError(f"{path}: expected a folder for the run, found a file")
        if folder.settings_file.exists():
            raise ValueError(
                f"{path}: holds a run already; continue it with `tesselite resume {path}` or choose another folder"
            )
        if path.exists() and any(entry.name != ".lock" for entry in path.iterdir()):
            raise ValueError(f"{path}: is not empty and holds no run; choose another folder")
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ValueError(f"{path}: cannot make this folder ({error.strerror})") from None
        return folder

    @classmethod
    def open(cls, path: Path) -> RunFolder:
        """The folder of an existing run; ValueError if there is none."""
        folder = cls(path)
        if not folder.settings_file.exists():
            raise ValueError(f"{path}: no run is here (expected a folder with settings.json)")
        return folder

    def __enter__(self) -> RunFolder:
        lock = (self.path / ".lock").open("a+")
        try:
            import fcntl

            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ImportError:
            pass  # no such locks on this system: two processes in one folder are the user's own risk
        except OSError:
            lock.close()
            raise ValueError(f"{self.path}: another process is running here; wait for it or stop it") from None
        self._lock = lock
        return self

    def __exit__(self, *_: object) -> None:
        if self._lock:
            self._lock.close()
            self._lock = None

    # -- settings --------------------------------------------------------------------------------------------------

    def write_settings(self, settings: Settings) -> None:
        """Write the settings with the versions in use."""
        packages = ("numpy", "numba", "scipy", "pyarrow")
        about = {
            "format": FORMAT,
            "version": __version__,
            **asdict(settings),
            "versions": {
                "python": platform.python_version(),
                **{name: metadata.version(name) for name in packages},
            },
            "machine": platform.machine(),
        }
        text = json.dumps(about, indent=2) + "\n"
        write_atomically(self.settings_file, lambda part: part.write_text(text))

    def read_settings(self) -> tuple[Settings, str]:
        """The settings and the version of tesselite that wrote them; ValueError if they cannot be read."""
        try:
            about = json.loads(self.settings_file.read_text())
            version = about["version"]
            if about["format"] != FORMAT:
                raise ValueError(
                    f"{self.settings_file}: written in format {about['format']} by tesselite {version}; "
                    f"this is tesselite {__version__}, which reads format {FORMAT}"
                )
            return Settings(**{name: about[name] for name in Settings.__dataclass_fields__}), version
        except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError) as error:
            raise ValueError(
                f"{self.settings_file}: damaged, or not settings of a tesselite run ({type(error).__name__}: {error})"
            ) from None

    # -- tessellation ----------------------------------------------------------------------------------------------

    def write_tessellation(self, tessellation: Tessellation) -> None:
        """Keep the centroids; a grid needs no file."""
        if not isinstance(tessellation, GridTessellation):
            from tesselite.tessellation.files import save_tessellation

            write_atomically(self.centroids_file, lambda part: save_tessellation(tessellation, part))  # type: ignore[arg-type]

    # -- checkpoints -----------------------------------------------------------------------------------------------

    def write_checkpoint(self, search: MapElites) -> None:
        """Write the archive as it is after this many evaluations."""
        save_archive(search.archive, self.archive_file, evaluations=search.evaluations, embed=False)

    def restore(self, search: MapElites) -> None:
        """Bring a fresh search to the state of the last checkpoint, if there is one."""
        if self.archive_file.exists():
            archive, evaluations = load_checkpoint(self.archive_file, search.archive.tessellation)
            if evaluations is None:
                raise ValueError(f"{self.archive_file}: an archive, but not the checkpoint of a run")
            search.archive, search.evaluations = archive, evaluations

    # -- progress --------------------------------------------------------------------------------------------------

    def read_progress(self) -> list[dict[str, float | None]]:
        """The rows of progress.csv; a last row that was cut off is left out."""
        if not self.progress_file.exists():
            return []
        text = self.progress_file.read_text(errors="replace")
        lines = text[: text.rfind("\n") + 1].splitlines()
        rows: list[dict[str, float | None]] = []
        for row in csv.DictReader(lines):
            if tuple(row) != PROGRESS:
                raise ValueError(f"{self.progress_file}: expected the columns {', '.join(PROGRESS)}")
            rows.append({name: float(value) if value else None for name, value in row.items()})
        return rows

    def cut_progress(self, evaluations: int) -> float:
        """Forget rows beyond this many evaluations; returns the seconds that the remaining ones took."""
        kept = [row for row in self.read_progress() if (row["evaluations"] or 0) <= evaluations]

        def write(part: Path) -> None:
            with part.open("w", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerow(PROGRESS)
                writer.writerows([_cell(row[name]) for name in PROGRESS] for row in kept)

        write_atomically(self.progress_file, write)
        return float(kept[-1]["seconds"] or 0.0) if kept else 0.0

    def append_progress(self, search: MapElites, seconds: float) -> None:
        """Add a row for the search as it is now."""
        state = progress_of(search)
        row = [seconds if name == "seconds" else state[name] for name in PROGRESS]
        with self.progress_file.open("a", newline="") as file:
            csv.writer(file, lineterminator="\n").writerow([_cell(value) for value in row])


def progress_of(search: MapElites) -> dict[str, Any]:
    """The figures of a search that progress, reports and JSON share."""
    archive = search.archive
    return {
        "evaluations": search.evaluations,
        "filled": len(archive),
        "coverage": archive.coverage,
        "best_fitness": archive.best_fitness,
        "mean_fitness": archive.mean_fitness,
        "qd_score": archive.qd_score,
        "invalid": archive.invalid.total(),
        "out_of_bounds": archive.out_of_bounds,
    }


def _cell(value: float | None) -> str:
    """A number in full precision, whole ones without a point; empty for None."""
    if value is None:
        return ""
    return str(int(value)) if float(value).is_integer() else repr(float(value))


def describe_niches(tessellation: Tessellation, **more: Any) -> dict[str, Any]:
    """The tessellation as settings.json tells it."""
    described = describe_tessellation(tessellation, embed=False)
    del described["space"]
    return {**described, **more}
