"""Assessment: how the elites of an archive do in settings that the search never saw.

`assess` evaluates them again in the training setting and in every scenario of the problem; an `Assessment` holds the
fitness of each and lives in a Parquet file. Conclusions from several of them are drawn in `expected_quality` and
`comparison`. Vassiliades et al. (2018), section III: all elites, or 10,000 drawn at random where there are more.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tesselite import __version__
from tesselite.archive.archive import Archive
from tesselite.archive.elites import Elites
from tesselite.archive.evaluation import Direction, Evaluation
from tesselite.archive.figures import best_of
from tesselite.base.arrays import Floats
from tesselite.base.arrow import from_column, read_parquet, write_parquet
from tesselite.base.atomic import write_atomically
from tesselite.base.checks import checked_count
from tesselite.base.checksum import is_intact, sealed
from tesselite.base.seeds import Purpose, checked_seed, generator
from tesselite.base.threads import checked_threads
from tesselite.execution.choice import evaluator, execution_of
from tesselite.execution.execution import Execution, WorkerChoice
from tesselite.execution.in_process import IN_PROCESS
from tesselite.execution.workers import WorkersLike
from tesselite.problems.problem import TRAINING, Problem, checked_problem
from tesselite.spaces.solutions import Rows

OnAssessed = Callable[[int, int], object]
Evaluate = Callable[[Rows, str | None], Evaluation]

AT_MOST = 10_000
FORMAT = 2  # 1 had no digest
_CHUNK = 1024  # solutions evaluated between two progress reports
_CHECKED = 3  # elites per setting of a file that are re-evaluated to detect a changed problem


@dataclass(frozen=True)
class Assessment:
    """Fitness of m elites in each setting, and the size of the archive they were drawn from.

    `niches` (m,); `fitness` maps "training" and each scenario, in order, to (m,) values, NaN where the evaluation was
    invalid. `elites` is the size of the archive, `changed` the number of the m whose training fitness differs from the
    archive's (0 for a deterministic problem).
    """

    problem: str
    direction: Direction
    niches: npt.NDArray[np.int64]
    fitness: dict[str, Floats]
    elites: int
    seed: int
    at_most: int
    changed: int
    archive_digest: str

    def __len__(self) -> int:
        """The number of elites assessed."""
        return len(self.niches)

    @property
    def settings(self) -> tuple[str, ...]:
        """ "training" and the scenarios."""
        return tuple(self.fitness)

    @property
    def scenarios(self) -> tuple[str, ...]:
        """The scenarios alone."""
        return tuple(name for name in self.fitness if name != TRAINING)

    def best(self, setting: str = TRAINING) -> float | None:
        """The best fitness in a setting; None if no elite is valid in it."""
        best = best_of(self._of(setting), self.direction)
        return best if np.isfinite(best) else None

    def best_niche(self, setting: str = TRAINING) -> int | None:
        """The niche of the elite that is best in a setting (the lowest of equals); None if none is valid."""
        best = self.best(setting)
        return None if best is None else int(self.niches[self._of(setting) == best].min())

    def valid(self, setting: str = TRAINING) -> int:
        """How many elites are valid in a setting."""
        return int(np.isfinite(self._of(setting)).sum())

    def _of(self, setting: str) -> Floats:
        if setting not in self.fitness:
            raise ValueError(f"setting: expected one of {', '.join(self.fitness)}, got {setting!r}")
        return self.fitness[setting]

    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """One array per column of the file: niche, training, the scenarios."""
        return {"niche": self.niches, **{_column(name): values for name, values in self.fitness.items()}}

    def save(self, path: str | Path) -> Path:
        """Write the Parquet file, atomically; invalid evaluations are null."""
        import pyarrow as pa

        path = Path(path)
        table = {"niche": pa.array(self.niches)}
        for name, values in self.fitness.items():
            table[_column(name)] = pa.array(values, mask=np.isnan(values))
        about = {
            "format": FORMAT,
            "kind": "assessment",
            "version": __version__,
            "problem": self.problem,
            "direction": self.direction,
            "settings": list(self.fitness),
            "seed": self.seed,
            "at_most": self.at_most,
            "elites": self.elites,
            "assessed": len(self),
            "valid": {name: self.valid(name) for name in self.fitness},
            "changed": self.changed,
            "archive": self.archive_digest,
        }
        about = sealed(about, self._checked_columns())
        write_atomically(path, lambda part: write_parquet(pa.table(table), about, part))
        return path

    def _checked_columns(self) -> Iterator[tuple[str, npt.NDArray[Any]]]:
        """The columns for the digest: a null has no bits of its own, so all NaN are alike."""
        yield "niche", self.niches
        for name, values in self.fitness.items():
            yield name, np.where(np.isnan(values), np.nan, values)

    @classmethod
    def load(cls, path: str | Path) -> Assessment:
        """Read a file that `save` wrote; ValueError if it is not one or damaged."""
        path = Path(path)
        try:
            table, about = read_parquet(path)
            if about.get("kind") != "assessment":
                raise ValueError("a Parquet file, but not an assessment of tesselite")
            if about["format"] not in range(1, FORMAT + 1):
                raise ValueError(f"written in format {about['format']}; this version reads formats 1 to {FORMAT}")
            found = cls(
                about["problem"],
                about["direction"],
                from_column(table["niche"]),
                {name: _with_nan(table[_column(name)]) for name in about["settings"]},
                about["elites"],
                about["seed"],
                about["at_most"],
                about["changed"],
                about["archive"],
            )
            if not is_intact(about, found._checked_columns(), older=about["format"] == 1):
                raise ValueError("damaged (its content is not what was written)")
        except ValueError as error:
            raise ValueError(f"{path}: {error}; remove it to assess again") from None
        except (LookupError, TypeError, AttributeError) as error:
            raise ValueError(f"{path}: damaged ({type(error).__name__}: {error}); remove it to assess again") from None
        return found


def _with_nan(column: Any) -> Floats:
    """The numbers of an Arrow column, NaN where one is missing."""
    return np.array(column.to_numpy(zero_copy_only=False), dtype=np.float64)


def _column(setting: str) -> str:
    """A setting's column; a scenario with the name of the column of niches gets a prefix."""
    bare = setting
    while bare.startswith("scenario "):
        bare = bare.removeprefix("scenario ")
    return f"scenario {setting}" if bare == "niche" else setting


def digest_of(elites: Elites) -> str:
    """A digest of an archive: its niches, fitness values and solutions."""
    digest = hashlib.sha256()
    for values in (elites.niches, elites.fitness, elites.solutions):
        digest.update(np.ascontiguousarray(values).tobytes())
    return digest.hexdigest()[:32]


@dataclass(frozen=True)
class Evaluating:
    """Where elites are evaluated, and the callback for the number done."""

    execution: Execution = IN_PROCESS
    threads: int | None = None
    on_assessed: OnAssessed | None = None

    def __post_init__(self) -> None:
        checked_threads(self.threads)

    def assessed(self, done: int, total: int) -> None:
        """Report it to the callback, if any."""
        if self.on_assessed is not None:
            self.on_assessed(done, total)


HERE = Evaluating()


class _Draw:
    """At most this many elites, drawn without replacement by a seed."""

    def __init__(self, at_most: float, seed: int) -> None:
        self.at_most, self.seed = checked_count("at_most", at_most), checked_seed(seed)

    def of(self, elites: Elites) -> Elites:
        """These of an archive's elites, in niche order."""
        if len(elites) <= self.at_most:
            return elites
        rng = generator(self.seed, Purpose.ASSESSMENT)
        return elites.take(np.sort(rng.choice(len(elites), self.at_most, replace=False)))


def assess(
    archive: Archive,
    problem: Problem,
    *,
    scenarios: Sequence[str] | None = None,
    at_most: int = AT_MOST,
    seed: int = 0,
    out: str | Path | None = None,
    spec: str | None = None,
    threads: int | None = None,
    on_assessed: OnAssessed | None = None,
    workers: WorkersLike | None = None,
    retries: int | None = None,
    timeout: float | None = None,
) -> Assessment:
    """Evaluate the elites of an archive again, in the training setting and in every scenario of the problem.

    If there are more than `at_most` elites, that many are drawn at random with `seed`. `scenarios` selects some; all by
    default. With `out` the result is saved after each setting, and a later call continues where an earlier one stopped;
    settings in which a few re-evaluated elites have another fitness, because the problem has changed, are assessed
    again. `on_assessed` is called with the number of evaluations done and the total. `spec` is the problem's name in
    the file. `threads`, `workers`, `retries` and `timeout` are those of `illuminate`. Raises ValueError if the archive
    is empty or not of this problem.

    Example:
        >>> import tesselite as tl
        >>> @tl.problem(solutions=tl.Box(2, 0, 1), features={"a": (0, 1)}, scenarios=["ice"])
        ... def slide(x, scenario):
        ...     return x[1] * (0.5 if scenario == "ice" else 1.0), (x[0],)
        >>> found = tl.assess(tl.illuminate(slide, grid=5, evaluations=500, seed=1), slide)
        >>> found.best("ice") == found.best() / 2
        True
    """
    execution = execution_of(WorkerChoice(workers, retries, timeout))
    how = Evaluating(execution, threads, on_assessed)
    return _assess(archive, problem, scenarios, _Draw(at_most, seed), None if out is None else Path(out), spec, how)


def _assess(
    archive: Archive,
    problem: Problem,
    scenarios: Sequence[str] | None,
    draw: _Draw,
    out: Path | None,
    spec: str | None,
    how: Evaluating,
) -> Assessment:
    settings = (TRAINING, *_checked_scenarios(checked_problem(problem), scenarios))
    _check_archive(archive, problem)
    all_elites = archive.elites()
    elites = draw.of(all_elites)
    found = Assessment(
        spec or problem.name,
        problem.direction,
        elites.niches,
        {},
        len(all_elites),
        draw.seed,
        draw.at_most,
        0,
        digest_of(all_elites),
    )
    rows = problem.solutions.validate(elites.solutions)
    total = len(settings) * len(rows)
    old = _earlier(found, out) if out is not None else None
    with evaluator(problem, how.execution, how.threads) as evaluate:
        known = {} if old is None else _still_so(old, rows, problem, evaluate)
        for number, setting in enumerate(settings):
            done = number * len(rows)
            values = known.get(setting)
            if values is None:
                values = np.empty(len(rows))
                for start in range(0, len(rows), _CHUNK):
                    part = slice(start, start + _CHUNK)
                    values[part] = evaluate(rows[part], None if setting == TRAINING else setting).fitness
                    how.assessed(done + min(start + _CHUNK, len(rows)), total)
            else:
                how.assessed(done + len(rows), total)
            changed = int((values != elites.fitness).sum()) if setting == TRAINING else found.changed
            found = replace(found, fitness={**found.fitness, setting: values}, changed=changed)
            if out is not None and setting not in known:
                # Earlier results stay in the file until they are replaced.
                later = {name: values for name, values in known.items() if name not in found.fitness}
                replace(found, fitness={**found.fitness, **later}).save(out)
    return found


def _checked_scenarios(problem: Problem, scenarios: Sequence[str] | None) -> tuple[str, ...]:
    """These scenarios of a problem, all by default; ValueError if it has no such scenario."""
    chosen = tuple(problem.scenarios if scenarios is None else scenarios)
    for name in chosen:
        if name not in problem.scenarios:
            there = ", ".join(repr(s) for s in problem.scenarios) or "none"
            raise ValueError(f"scenarios: {problem.name} has no scenario {name!r}; it has {there}")
    if TRAINING in chosen:
        raise ValueError(f"scenarios: {TRAINING!r} is the setting of the search; call the scenario something else")
    return chosen


def _check_archive(archive: Archive, problem: Problem) -> None:
    """ValueError if the archive is empty or not of this problem."""
    if not len(archive):
        raise ValueError("archive: expected at least one elite, got an empty archive")
    if archive.width != problem.solutions.width or archive.direction != problem.direction:
        raise ValueError(
            f"archive: expected one of {problem!r}, got {archive!r} with solutions of width {archive.width}"
        )


def _earlier(begun: Assessment, file: Path) -> Assessment | None:
    """The results of an earlier call for the same elites, if any. A foreign file is not overwritten."""
    if not file.exists():
        return None
    old = Assessment.load(file)
    same = ("problem", "direction", "elites", "archive_digest")
    if any(getattr(old, name) != getattr(begun, name) for name in same):
        return None  # of the archive as it was before
    if not np.array_equal(old.niches, begun.niches):
        raise ValueError(
            f"{file}: holds another draw of this archive's elites ({old.at_most} at most, seed {old.seed}); "
            "choose another file, or remove it"
        )
    return old


def _still_so(old: Assessment, rows: Rows, problem: Problem, evaluate: Evaluate) -> dict[str, Floats]:
    """The settings in which a few valid elites still have the same fitness, and those that cannot be checked."""

    def is_so(setting: str) -> bool:
        valid = np.flatnonzero(np.isfinite(old.fitness[setting]))  # evaluations that hung or crashed are not repeated
        if not len(valid) or (setting != TRAINING and setting not in problem.scenarios):
            return True
        some = valid[np.unique(np.linspace(0, len(valid) - 1, _CHECKED).astype(int))]
        again = evaluate(rows[some], None if setting == TRAINING else setting).fitness
        return np.array_equal(again, old.fitness[setting][some])

    if old.changed:
        return dict(old.fitness)  # noisy: a different fitness means nothing
    return {name: values for name, values in old.fitness.items() if is_so(name)}


def assess_run(
    folder: str | Path,
    problem: Problem | None = None,
    *,
    at_most: int = AT_MOST,
    seed: int = 0,
    how: Evaluating = HERE,
) -> Assessment:
    """`assess` the archive in the folder of a run; the result is kept in its assessment.parquet.

    If there are more elites than `at_most`, another draw than the usual one has a file of its own beside it.
    """
    from tesselite.runs.folder import RunFolder, not_linked
    from tesselite.runs.loading import problem_of, run_archive

    place = RunFolder.open(Path(folder))
    plan = place.read().plan
    if not place.archive_file.exists():
        raise ValueError(f"{folder}: this run has saved no archive yet")
    if problem is None:
        problem = problem_of(Path(folder), plan)
    archive, _ = run_archive(Path(folder), problem)
    usual = len(archive) <= at_most or (at_most, seed) == (AT_MOST, 0)
    file = not_linked(Path(folder) / ("assessment.parquet" if usual else f"assessment-{at_most}-{seed}.parquet"))
    return _assess(archive, problem, None, _Draw(at_most, seed), file, plan.problem, how)
