"""Archive: the best solution found in each niche, whatever the tessellation.

Elites live in `rows`, tables of them are in `elites`. The rule that lets a candidate in is in `elitism`, files are in
`file`; metrics beyond the counts kept here are in `tesselite.assessment`.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tesselite.archive import elitism
from tesselite.archive.elites import Added, Elite, Elites
from tesselite.archive.evaluation import OUTSIDE, Direction, Evaluation, checked
from tesselite.archive.figures import qd_score
from tesselite.archive.rows import EliteRows
from tesselite.base.arrays import Floats, Ints
from tesselite.base.checks import checked_count, is_whole
from tesselite.base.interruption import uninterrupted
from tesselite.base.numbers import as_float, as_floats, is_plain, shown
from tesselite.spaces.records import Records, Values
from tesselite.spaces.scaling import scale_rows
from tesselite.spaces.solutions import Rows
from tesselite.spaces.variables import Variable, is_text
from tesselite.tessellation.protocol import Tessellation, checked_tessellation

if TYPE_CHECKING:
    from tesselite.problems.problem import Problem

_INTEGERS = np.dtype(np.int64)
_REASONS = 1000  # that are counted separately
OTHER_REASONS = "other reasons"


def _checked_integers(expected: str, values: Any, n: int) -> Ints:
    """n whole numbers from a user's tessellation or a file; which ones, is checked elsewhere."""
    if is_plain(values, _INTEGERS) and values.shape == (n,):
        return values
    try:
        numbers = np.asarray(values)
    except ValueError:
        numbers = np.empty(0)
    if numbers.shape != (n,) or numbers.dtype.kind not in "iu":
        raise ValueError(f"{expected} ({n},) of whole numbers, got {shown(values)}")
    return np.array(numbers, dtype=np.int64)


def _same(ours: npt.NDArray[Any], theirs: npt.NDArray[Any]) -> bool:
    """Whether two records are the same to the last bit."""
    if ours.dtype.kind == "O":
        return bool(ours.tolist() == theirs.tolist())
    return ours.tobytes() == theirs.tobytes()


class Archive(EliteRows):
    """The elite of every filled niche of a tessellation.

    `width` and `dtype` are those of solution rows; `variables` are the names of their values, if they have names.
    `direction` says which fitness is better. `floor` is the worst fitness that counts in the QD score; by default 0 if
    fitness is maximised, and none if it is minimised. `records` are the kinds of what is stored with each elite
    besides, such as {"mass": float}. Two counts are kept: `invalid`, refused rows by reason, and `out_of_bounds`, rows
    outside the feature bounds that went to their nearest niche.

    Example:
        >>> import tesselite as tl
        >>> niches = tl.GridTessellation(tl.FeatureSpace({"speed": (0, 2)}), 4)
        >>> archive = tl.Archive(niches, width=1)
        >>> added = archive.add([[0.1], [0.2], [0.3]], fitness=[1.0, 2.0, 3.0], features=[[0.1], [0.2], [1.9]])
        >>> len(archive), archive.best.features.tolist()
        (2, [1.9])
    """

    def __init__(
        self,
        tessellation: Tessellation,
        width: int,
        *,
        dtype: npt.DTypeLike = np.float64,
        direction: Direction = "max",
        floor: float | None = None,
        variables: Sequence[Variable] = (),
        records: Records | Mapping[str, Any] | None = None,
    ) -> None:
        if direction not in ("max", "min"):
            raise ValueError(f"direction: expected 'max' or 'min', got {direction!r}")
        self.tessellation = checked_tessellation(tessellation)
        # The number of niches is fixed here, even if a user's tessellation changes it later.
        super().__init__(int(tessellation.n_niches), tessellation.space.n, width, dtype, records)
        self.direction: Direction = direction
        if floor is None:
            self.floor: float | None = 0.0 if direction == "max" else None
        else:
            self.floor = as_float("floor", floor, "a number or None")
        self.invalid: Counter[str] = Counter()
        self.out_of_bounds = 0
        self.sign = 1.0 if direction == "max" else -1.0
        # What decides between equals (see `elitism.beats`); nothing but for grids of released cells.
        points = as_floats("tessellation", tessellation.tie_breaking, "tie_breaking of numbers")
        if points.shape not in ((0,), (tessellation.space.n,)):
            raise ValueError(f"tessellation: expected tie_breaking to have a number per feature, got {points.shape}")
        self.rule = elitism.Elitism(self.sign, points, tessellation.space.low, tessellation.space.per_unit)
        self.variables: tuple[Variable, ...] = tuple(variables)
        if len(self.variables) not in (0, self.width) and not is_text(self.variables):
            raise ValueError(f"variables: expected none, or one for each of {self.width}, got {len(self.variables)}")

    # -- size ------------------------------------------------------------------------------------------------------

    @property
    def has_niches(self) -> bool:
        """Whether it has niches; False for a population without niches, and before growing niches exist."""
        return self.tessellation.kind != "provisional"

    @property
    def coverage(self) -> float:
        """The share of niches that are filled; 0 where there are none."""
        return self._n / self.n_niches if self.has_niches else 0.0

    @property
    def qd_score(self) -> float | None:
        """How much better than the floor the elites are, summed; worse ones count 0. None without a floor."""
        return None if self.floor is None else qd_score(self._fitness[: self._n], self.floor, self.direction)

    @property
    def mean_fitness(self) -> float | None:
        """Mean fitness of the elites; None if there are none."""
        if not self._n:
            return None
        with np.errstate(over="ignore"):
            mean = self._fitness[: self._n].mean()
        return float(mean if np.isfinite(mean) else (self._fitness[: self._n] / self._n).sum())  # the sum is too large

    @property
    def best(self) -> Elite | None:
        """The elite of best fitness (the lowest niche of equals); None if there are none."""
        if not self._n:
            return None
        fitness = self.sign * self._fitness[: self._n]
        ties = np.flatnonzero(fitness == fitness.max())
        return self._elite(int(ties[np.argmin(self._niches[ties])]))

    @property
    def best_fitness(self) -> float | None:
        """The best fitness of all elites; None if there are none."""
        return float(self.sign * (self.sign * self._fitness[: self._n]).max()) if self._n else None

    # -- insertion -------------------------------------------------------------------------------------------------

    def add(
        self,
        solutions: npt.ArrayLike,
        fitness: npt.ArrayLike,
        features: npt.ArrayLike,
        *,
        evaluation: int = 0,
        records: Mapping[str, Any] | None = None,
    ) -> Added:
        """Offer n candidates, in order: solutions (n, width), fitness (n,), features (n, d) in feature units.

        The result is exactly that of inserting them one by one. Rows whose fitness or features are not finite are
        invalid: counted and refused. `evaluation` is the number of the first row; the others follow. `records` has an
        array (n, ...) for each record of this archive. Raises ValueError for other shapes.
        """
        d = self.tessellation.space.n
        try:
            solutions = np.asarray(solutions, dtype=self.dtype)
        except (TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"solutions: expected numbers of shape (n, {self.width}) ({error})") from None
        fitness = as_floats("fitness", fitness, "numbers of shape (n,)")
        features = self.tessellation.space.encoded(features)
        features = as_floats("features", features, f"numbers of shape (n, {d})")
        n = len(fitness) if fitness.ndim == 1 else -1
        if n < 0 or solutions.shape != (n, self.width) or features.shape != (n, d):
            raise ValueError(
                f"expected solutions (n, {self.width}), fitness (n,) and features (n, {d}), "
                f"got {solutions.shape}, {fitness.shape} and {features.shape}"
            )
        if not is_whole(evaluation, 1 - 2**62) or evaluation >= 2**62:
            raise ValueError(f"evaluation: expected a whole number, got {evaluation!r:.80}")
        with uninterrupted():
            evaluated = Evaluation.of(fitness, features, records=dict(records or {}))
            return self.add_evaluated(solutions, evaluated, evaluation)

    def add_evaluated(
        self, solutions: Rows, evaluated: Evaluation, evaluation: int, *, improvement: bool = False
    ) -> Added:
        """`add` for solutions that a problem or a user has evaluated, within `uninterrupted`.

        Everything from user code is checked here, before it reaches compiled code. ValueError if the evaluation
        does not belong to these solutions, or the tessellation returns anything other than its niches; then nothing is
        added.
        """
        n, space = len(solutions), self.tessellation.space
        if solutions.shape != (n, self.width) or solutions.dtype != self.dtype:
            raise ValueError(
                f"solutions: expected rows of shape (n, {self.width}) and {self.dtype}, "
                f"got {solutions.shape} and {solutions.dtype}"
            )
        evaluated = checked(evaluated, n, space.n)
        evaluated = self.settled(evaluated)
        if refused := self.refused(evaluated.features):
            evaluated = evaluated.without(refused)
        valid = evaluated.valid
        if space.linear:
            unit = np.empty_like(evaluated.features)
            outside = scale_rows(evaluated.features, valid, space.low, space.high, space.per_unit, unit)
        else:
            features = np.where(valid[:, None], evaluated.features, space.low)  # looked up all the same, never used
            unit, outside = space.to_unit(features), space.outside(features).sum()
        found = self.tessellation.niches_of_unit(unit) if n else np.empty(0, np.int64)
        niches = _checked_integers("tessellation: expected niches", found, n)
        if evaluated.reasons:
            niches = np.where(valid, niches, -1)
        status = np.empty(n, np.int64)
        rows = (solutions if solutions.flags.carray else np.array(solutions, order="C")).view(np.uint8)
        recorded = self.records.checked(evaluated.records, n)
        columns = evaluated.features
        if self.records.width:
            columns = np.concatenate([columns, self.records.packed(recorded, n)], axis=1)
        candidates = elitism.Candidates(niches, evaluated.fitness, columns, rows)
        with self.one_at_a_time:
            self.reserve(n)
            gained = self._improvement(niches, evaluated.fitness) if improvement else None
            filled = elitism.insert_batch(
                self.rule, self.n_niches, candidates, valid, evaluation, self._n, self.arrays(), status
            )
            if filled < 0:
                raise ValueError(
                    f"tessellation: expected niches from 0 to {self.n_niches - 1}, "
                    f"got {niches[-1 - filled]} for {evaluated.features[-1 - filled]}"
                )
            self._n = filled
            if self._texts:
                self._note_texts(recorded, niches, status, evaluation)
            if evaluated.reasons:
                self.count_invalid(evaluated.count_reasons())
            if self.tessellation.counts_outside:
                self.out_of_bounds += int(outside)
        return Added(status, niches, gained)

    def settled(self, evaluated: Evaluation) -> Evaluation:
        """The same with features as they are kept: periodic ones are wrapped."""
        space = self.tessellation.space
        return evaluated if space.plain else replace(evaluated, features=space.settled(evaluated.features))

    def refused(self, features: Floats) -> dict[int, str]:
        """Rows (n, d) that are invalid for a feature outside its bounds, and the reason of each."""
        space = self.tessellation.space
        if not space.refuses_some:
            return {}
        first = space.refused(features)
        return {int(i): OUTSIDE + space.names[first[i]] for i in np.flatnonzero(first >= 0)}

    def _note_texts(self, recorded: Values, niches: Ints, status: Ints, evaluation: int) -> None:
        """Keep the texts of rows that were just inserted and that no later one of the batch has replaced."""
        entered = np.flatnonzero((status == elitism.NEW) | (status == elitism.IMPROVED))
        rows = np.empty(len(entered), np.int64)
        elitism.find_rows(*self._index, niches[entered], rows)
        stayed = self._evaluations[rows] == evaluation + entered
        for name, texts in self._texts.items():
            texts[rows[stayed]] = recorded[name][entered[stayed]]

    def count_invalid(self, reasons: Counter[str]) -> None:
        """Count refused rows by reason; beyond 1,000 reasons, later ones are counted together."""
        for reason, n in reasons.items():
            known = reason in self.invalid or len(self.invalid) < _REASONS
            self.invalid[reason if known else OTHER_REASONS] += n

    def _improvement(self, niches: Ints, fitness: Floats) -> Floats:
        """By how much rows are better than the elites of their niches, or the floor; niches are checked by others."""
        rows = np.full(len(niches), -1, np.int64)
        known = (niches >= 0) & (niches < self.n_niches)
        found = np.empty(int(known.sum()), np.int64)
        elitism.find_rows(*self._index, niches[known], found)
        rows[known] = found
        before = np.full(len(niches), self.floor or 0.0)
        before[rows >= 0] = self._fitness[rows[rows >= 0]]
        return self.sign * (fitness - before)

    # -- looking at elites -----------------------------------------------------------------------------------------

    def _elite(self, row: int) -> Elite:
        return self._take(np.array([row]))[0]

    def _take(self, rows: npt.NDArray[np.intp]) -> Elites:
        d = self.tessellation.space.n
        return Elites(
            self._niches[rows],
            self._fitness[rows],
            self._features[rows, :d],
            self._solutions[rows],
            self._evaluations[rows],
            self.tessellation.space.names,
            self.variables,
            self.records.unpacked(self._features[rows, d:], {name: t[rows] for name, t in self._texts.items()}),
            self.tessellation.space.labels,
        )

    def elites(self) -> Elites:
        """All elites as a table of copies, ordered by niche."""
        return self._take(np.argsort(self._niches[: self._n]))

    def __iter__(self) -> Iterator[Elite]:
        return iter(self.elites())

    def __contains__(self, niche: object) -> bool:
        return (
            isinstance(niche, int | np.integer)
            and bool(0 <= niche < self.n_niches)
            and self.get(int(niche)) is not None
        )

    def get(self, niche: int) -> Elite | None:
        """The elite of a niche, or None if it is empty.

        Raises TypeError for anything but a whole number, IndexError if there is no such niche.
        """
        try:
            number = operator.index(niche)
        except TypeError:
            raise TypeError(
                f"niche: expected a whole number from 0 to {self.n_niches - 1}, got {niche!r:.80}"
            ) from None
        if not 0 <= number < self.n_niches:
            raise IndexError(f"niche: expected 0 to {self.n_niches - 1}, got {number}")
        row = elitism.find_row(*self._index, number)
        return self._elite(row) if row >= 0 else None

    def nearest(self, features: npt.ArrayLike) -> Elite:
        """The elite whose features are nearest to these (d,), by the Euclidean distance of scaled features.

        Unlike `get(niche_of(features))` it finds an elite even if that niche is empty. ValueError if there are no
        elites.

        Example:
            >>> import tesselite as tl
            >>> found = tl.illuminate(tl.problems.arm(joints=5), grid=10, evaluations=2_000, seed=1)
            >>> elite = found.nearest([0.8, 0.3])
            >>> abs(elite.features - [0.8, 0.3]).max() < 0.1
            np.True_
        """
        if not self._n:
            raise ValueError("nearest: the archive is empty; add evaluated solutions first")
        space = self.tessellation.space
        wanted = as_floats("features", space.encoded(features), f"{space.n} finite numbers")
        if wanted.shape != (space.n,) or not np.isfinite(wanted).all():
            raise ValueError(f"features: expected {space.n} finite numbers, got {features!r:.80}")
        away = space.gaps(space.to_unit(self._features[: self._n, : space.n]), space.to_unit(wanted[None]))
        return self._elite(int(np.argmin(np.einsum("ij,ij->i", away, away))))

    def sample(self, n: int, rng: np.random.Generator) -> Elites:
        """Draw n elites uniformly, with replacement; ValueError if there are none."""
        if not self._n:
            raise ValueError("sample: the archive is empty; add evaluated solutions first")
        return self._take(rng.integers(0, self._n, checked_count("n", n, least=0, below=2**31)))

    # -- populations without niches --------------------------------------------------------------------------------

    def competitors(self) -> tuple[Floats, Floats, Ints]:
        """Signed fitness (n,), unit-scaled features (n, d) and evaluations (n,) of all elites, in order of filling."""
        features = self._features[: self._n, : self.tessellation.space.n]  # records are beside them
        return (
            self.sign * self._fitness[: self._n],
            self.tessellation.space.to_unit(features),
            self._evaluations[: self._n].copy(),
        )

    # -- joining archives ------------------------------------------------------------------------------------------

    @uninterrupted()
    def merge(self, other: Archive) -> int:
        """Take over every elite of `other` that is better than the one here; returns how many.

        If fitness is equal (and, in grids of released cells, the distance to the lattice that decides between equals),
        the one whose bytes (fitness, features, solution) and then evaluation come first wins. This total order, which
        NaN in a solution cannot upset, makes merging commutative, associative and idempotent. Counts of invalid rows
        stay. ValueError unless both archives share tessellation, direction and solution rows.
        """
        if not isinstance(other, Archive):
            raise ValueError(f"merge: expected an Archive, got {other!r:.80}")
        if other.direction != self.direction or other.dtype != self.dtype or other.records != self.records:
            raise ValueError("merge: expected an archive of the same direction, dtype and records")
        if (
            other.width != self.width
            or other.n_niches != self.n_niches
            or other.tessellation.fingerprint() != self.tessellation.fingerprint()
        ):
            raise ValueError("merge: expected an archive on the same tessellation with solutions of the same width")
        with self.one_at_a_time:
            return self.take_better(other, self.rule)

    def equals(self, other: Archive) -> bool:
        """Whether both hold the same elites, in the same order of filling, to the last bit."""
        ours, theirs = self.in_order_of_filling(), other.in_order_of_filling()
        names = ("niches", "fitness", "features", "solutions", "evaluations")
        return (
            (self.direction, self.records) == (other.direction, other.records)
            and all(getattr(ours, name).tobytes() == getattr(theirs, name).tobytes() for name in names)
            and all(_same(values, theirs.records[name]) for name, values in ours.records.items())
        )

    def empty_copy(self, tessellation: Tessellation | None = None) -> Archive:
        """An empty archive of the same kind, on the same tessellation or another one."""
        return Archive(
            self.tessellation if tessellation is None else tessellation,
            self.width,
            dtype=self.dtype,
            direction=self.direction,
            floor=self.floor,
            variables=self.variables,
            records=self.records,
        )

    def copy(self) -> Archive:
        """An independent copy, counts and order of filling included."""
        twin = self.empty_copy()
        twin.restore(self._take(np.arange(self._n)))
        twin.invalid, twin.out_of_bounds = Counter(self.invalid), self.out_of_bounds
        return twin

    def moved_to(self, tessellation: Tessellation) -> tuple[Archive, Ints]:
        """An archive on another tessellation of these features, with the elites reinserted in order of filling.

        Also the rows of the elites that found a place there, in that order. Counts stay as they are. ValueError if the
        features have other names.
        """
        names = checked_tessellation(tessellation).space.names
        if names != self.tessellation.space.names:
            ours = ", ".join(self.tessellation.space.names[:6])
            raise ValueError(f"tessellation: expected one of the features {ours}, got {', '.join(names[:6])}")
        moved, elites = self.empty_copy(tessellation), self.in_order_of_filling()
        evaluated = Evaluation.of(elites.fitness, elites.features, records=elites.records)
        with uninterrupted():
            moved.add_evaluated(elites.solutions, evaluated, 0)
        kept = moved.renumber(elites.evaluations)
        moved.invalid, moved.out_of_bounds = Counter(self.invalid), self.out_of_bounds
        return moved, kept

    def renumber(self, evaluations: Ints) -> Ints:
        """Elites that are numbered as rows of others get the `evaluations` of these; the rows, in order of filling."""
        rows = self._evaluations[: self._n].copy()
        self._evaluations[: self._n] = evaluations[rows]
        return rows

    def __or__(self, other: Archive) -> Archive:
        joined = self.copy()
        joined.merge(other)
        return joined

    # -- storage ---------------------------------------------------------------------------------------------------

    def in_order_of_filling(self) -> Elites:
        """All elites in the order in which their niches were first filled (the order that parents are drawn in)."""
        return self._take(np.arange(self._n))

    def restore(self, elites: Elites) -> None:
        """Put these elites, one per niche and in this order, into this empty archive.

        Raises ValueError unless the archive is empty, the arrays have the shapes of `Elites`, fitness and features are
        finite, and the niches are distinct niches of this tessellation.
        """
        if self._n:
            raise ValueError("restore: expected an empty archive")
        d = self.tessellation.space.n
        fitness = as_floats("restore", elites.fitness, "fitness (n,)")
        features = as_floats("restore", elites.features, f"features (n, {d})")
        n = len(fitness) if fitness.ndim == 1 else -1
        solutions = np.asarray(elites.solutions)
        if features.shape != (n, d) or solutions.shape != (n, self.width) or solutions.dtype != self.dtype:
            raise ValueError(
                f"restore: expected fitness (n,), features (n, {d}) and solutions (n, {self.width}) of {self.dtype}, "
                f"got {fitness.shape}, {features.shape} and {solutions.shape} of {solutions.dtype}"
            )
        if not (np.isfinite(fitness).all() and np.isfinite(features).all()):
            raise ValueError("restore: expected elites with finite fitness and features")
        evaluations = _checked_integers("restore: expected evaluations", elites.evaluations, n)
        recorded = self.records.checked(elites.records, n)
        niches = np.sort(_checked_integers("restore: expected niches", elites.niches, n))
        if n and not (niches[0] >= 0 and niches[-1] < self.n_niches and (niches[1:] > niches[:-1]).all()):
            raise ValueError(f"restore: expected niches from 0 to {self.n_niches - 1}, each once")
        with self.one_at_a_time:
            self.reserve(n)
            self._niches[:n] = elites.niches
            self._fitness[:n] = fitness
            self._features[:n, :d] = features
            self._features[:n, d:] = self.records.packed(recorded, n)
            for name, texts in self._texts.items():
                texts[:n] = recorded[name]
            self._solutions[:n] = solutions
            self._evaluations[:n] = evaluations
            elitism.set_rows(*self._index, self._niches[:n])
            self._n = n

    def save(self, path: str | Path) -> Path:
        """Write the archive, tessellation included, to one Parquet file; see `tesselite.archive.file`.

        Returns `path`. ValueError unless it ends in .parquet.

        Example:
            >>> import tesselite as tl
            >>> found = tl.illuminate(tl.problems.sphere(3), grid=5, evaluations=500, seed=1)
            >>> tl.Archive.load(found.save("sphere.parquet")).equals(found)
            True
        """
        from tesselite.archive.file import save_archive

        file = Path(path)
        if file.suffix != ".parquet":
            raise ValueError(f"path: expected a file that ends in .parquet, got {file.name!r}; see elites().columns()")
        return save_archive(self, file)

    @classmethod
    def load(cls, path: str | Path, tessellation: Tessellation | None = None) -> Archive:
        """Read an archive from a file written by `save`, or from the folder of a run.

        Pass the tessellation only if the file does not contain it (a feature space with custom scales).
        """
        from tesselite.archive.file import load_archive

        file = Path(path)
        return load_archive(file / "archive.parquet" if file.is_dir() else file, tessellation)

    def show(self, problem: Problem | None = None) -> Path | None:
        """Open the interactive page: in a notebook below the cell, otherwise in a browser; returns the file, if any.

        Elites are drawn as their `problem` draws them, if it is given. Needs Plotly.
        """
        from tesselite.report.notebook import show

        return show(self, problem)

    def _repr_html_(self) -> str:
        from tesselite.report.notebook import archive_html

        return archive_html(self)

    def __repr__(self) -> str:
        best = "" if self.best_fitness is None else f", best fitness {self.best_fitness:z.6g}"
        if not self.has_niches:
            return f"Archive({self._n:,} solutions, without niches{best}, {self.direction})"
        return (
            f"Archive({self._n:,} of {self.n_niches:,} niches filled, coverage {self.coverage:.3g}{best}, "
            f"{self.direction})"
        )
