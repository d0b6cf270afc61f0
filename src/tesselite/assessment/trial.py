"""Trial: the small summary of a run from which all tables and figures are made. It holds the metrics of the archive,
the best fitness and a histogram of fitness in every setting, and the progress of the run; not the archive. Trials are
plain JSON files, so those of several machines can be combined.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from tesselite import __version__
from tesselite.archive.evaluation import Direction
from tesselite.assessment.expected_quality import histogram
from tesselite.assessment.metrics import Metrics, measure, project, spread
from tesselite.assessment.scenarios import Assessment
from tesselite.base.atomic import regular_bytes
from tesselite.base.checksum import is_intact, sealed
from tesselite.base.text_files import write_text
from tesselite.runs.folder import RunFolder
from tesselite.runs.loading import run_archive
from tesselite.tessellation.protocol import Tessellation

FORMAT = 2  # 1 had no digest
PROGRESS = ("evaluations", "coverage", "best_fitness", "qd_score")
_PROGRESS_ROWS = 100


@dataclass(frozen=True)
class Trial:
    """The summary of one run of a group. `number` and `seed` identify the run, `settings` how it was made. `best`,
    `valid` and `histograms` map each setting (training first) to the best fitness (None without a valid solution), the
    number of valid solutions, and the
    counts of fitness between the `levels` (see `quality.histogram`). `assessed` elites were evaluated in every setting.
    `progress` holds columns over the evaluations of the run, `seconds` the durations of its parts.
    """

    group: str
    number: int
    seed: int
    direction: Direction
    settings: dict[str, Any]
    metrics: Metrics
    assessed: int
    changed: int
    levels: tuple[float, ...]
    best: dict[str, float | None]
    valid: dict[str, int]
    histograms: dict[str, tuple[int, ...]]
    progress: dict[str, list[float | None]]
    seconds: dict[str, float] = field(default_factory=dict)
    version: str = __version__

    @property
    def scenarios(self) -> tuple[str, ...]:
        """The held-out settings."""
        return tuple(self.best)[1:]

    def save(self, path: Path) -> Path:
        """Write a JSON file, a line for each list."""
        content = sealed({"format": FORMAT, **asdict(self)})
        write_text(path, _json(content) + "\n")
        return path

    @classmethod
    def load(cls, path: Path) -> Trial:
        """Read a file that `save` wrote; ValueError if it is another or damaged."""
        try:
            content = json.loads(regular_bytes(path))
            written_as = content["format"]
            if written_as not in range(1, FORMAT + 1):
                raise ValueError(f"expected format 1 to {FORMAT}, got {written_as}")
            if not is_intact(content, older=written_as == 1):
                raise ValueError("its content is not what was written")
            content = {name: value for name, value in content.items() if name not in ("format", "digest")}
            content["metrics"] = Metrics(**content["metrics"])
            content["levels"] = tuple(content["levels"])
            content["histograms"] = {name: tuple(counts) for name, counts in content["histograms"].items()}
            trial = cls(**content)
            trial._check()
        except (LookupError, TypeError, AttributeError, ValueError, RecursionError) as error:
            raise ValueError(f"{path}: damaged, or not the summary of a trial ({error})") from None
        return trial

    def _check(self) -> None:
        """ValueError or TypeError unless the parts fit together; a file may have been edited, or cut short."""
        if not (self.best and self.best.keys() == self.valid.keys() == self.histograms.keys()):
            raise ValueError("expected the same settings in best, valid and histograms")
        if any(len(counts) != len(self.levels) + 1 for counts in self.histograms.values()):
            raise ValueError(f"expected histograms of {len(self.levels) + 1} counts")
        if set(PROGRESS) - self.progress.keys() or len({len(column) for column in self.progress.values()}) > 1:
            raise ValueError(f"expected a progress with equally long columns {', '.join(PROGRESS)}")
        numbers = [*self.best.values(), *self.levels, *asdict(self.metrics).values(), *self.seconds.values()]
        if not all(math.isfinite(number) for number in numbers if number is not None):
            raise ValueError("expected finite numbers")


def _json(value: Any, indent: str = "") -> str:
    """JSON with objects spread over lines and lists of numbers each on one."""
    if isinstance(value, dict) and value:
        inner = indent + " "
        rows = [f"{inner}{json.dumps(str(name))}: {_json(item, inner)}" for name, item in value.items()]
        return "{\n" + ",\n".join(rows) + f"\n{indent}}}"
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def summarise_run(
    folder: Path,
    assessment: Assessment,
    levels: Any,
    *,
    group: str,
    number: int = 0,
    threads: int | None = None,
    common: Tessellation | None = None,
) -> Trial:
    """The trial of a finished run in a folder and its assessment; `levels` (m,) are those of the histograms.

    Its metrics are those in the niches of `common`, if given; the spread is that of all elites in any case.
    """
    place = RunFolder.open(folder)
    plan = place.read().plan
    archive, _ = run_archive(folder)
    metrics = measure(archive, threads=threads)
    if common is not None:
        shown = project(archive, common)
        metrics = replace(
            measure(shown, spread_at_most=0), spread=spread(common.space.to_unit(archive.elites().features))
        )
    rows = place.read_progress()
    kept = np.unique(np.linspace(0, len(rows) - 1, min(len(rows), _PROGRESS_ROWS)).round().astype(int)).tolist()
    return Trial(
        group=group,
        number=number,
        seed=plan.seed,
        direction=assessment.direction,
        settings=plan.to_dict(),
        metrics=metrics,
        assessed=len(assessment),
        changed=assessment.changed,
        levels=tuple(float(level) for level in levels),
        best={name: assessment.best(name) for name in assessment.settings},
        valid={name: assessment.valid(name) for name in assessment.settings},
        histograms={name: tuple(histogram(values, levels).tolist()) for name, values in assessment.fitness.items()},
        progress={name: [_whole(rows[i][name]) for i in kept] for name in PROGRESS},
        seconds={"search": float(rows[-1]["seconds"] or 0.0) if rows else 0.0},
    )


def _whole(value: float | None) -> float | None:
    """Whole numbers as such, so that the file is short."""
    return int(value) if value is not None and float(value).is_integer() else value
