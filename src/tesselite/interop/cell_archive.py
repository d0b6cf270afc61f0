"""CellArchive: the interface of pyribs 0.12 for archives with cells of any kind.

Grids and centroids are in `pyribs`. Where pyribs' rules differ from those of `tesselite.Archive`, pyribs' hold here:
statuses and values refer to the archive as it was before the batch, thresholds may be annealed, so that a cell can
get a worse elite (Fontaine and Nikolaidis, "Covariance Matrix Adaptation MAP-Annealing", GECCO 2023), and NaN raises.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
import numpy.typing as npt

from tesselite.base.arrays import Ints
from tesselite.base.importing import how_to_install
from tesselite.base.interruption import uninterrupted
from tesselite.interop.field_store import FieldStore
from tesselite.spaces.records import Values

if TYPE_CHECKING:
    import pandas

    from tesselite.archive.archive import Archive
    from tesselite.tessellation.protocol import Tessellation

Shape = int | tuple[int, ...]
Ranges = Collection[tuple[float, float]]
Array = npt.NDArray[Any]

RESERVED = ("solution", "objective", "measures", "threshold", "index")


class Common(TypedDict, total=False):
    """The keywords that all archives with cells take, as in pyribs."""

    learning_rate: float | None
    threshold_min: float
    qd_score_offset: float
    seed: int | None
    solution_dtype: npt.DTypeLike
    objective_dtype: npt.DTypeLike
    measures_dtype: npt.DTypeLike
    dtype: npt.DTypeLike
    extra_fields: Mapping[str, tuple[Shape, npt.DTypeLike]] | None


@dataclass
class ArchiveStats:
    """Figures of an archive, with pyribs' names; `obj_max` and `obj_mean` are None while it is empty.

    `obj_max` is the highest objective ever stored, also where annealing has replaced that elite.
    """

    num_elites: int
    coverage: Array
    qd_score: Array
    norm_qd_score: Array
    obj_max: Array | None
    obj_mean: Array | None


class CellArchive(ABC):
    """An archive of `cells` cells of a measure space, with the interface of pyribs 0.12."""

    def __init__(
        self,
        solution_dim: Shape,
        ranges: Ranges,
        cells: int,
        dtypes: Mapping[str, np.dtype[Any]],
        given: Common,
    ) -> None:
        unknown = sorted(set(given) - set(Common.__annotations__))
        if unknown:
            raise TypeError(f"{type(self).__name__}: expected no keyword {unknown[0]!r}; pyribs 0.12 has none either")
        low, high = zip(*ranges, strict=True)
        if not (np.isfinite([low, high]).all() and np.less(low, high).all()):
            raise ValueError(f"ranges: expected finite low < high for each measure, got {ranges!r:.80}")
        self.solution_dim = solution_dim
        self.objective_dim: tuple[()] = ()
        self.measure_dim = len(low)
        fields: dict[str, tuple[Shape, npt.DTypeLike]] = {
            "solution": (solution_dim, dtypes["solution"]),
            "objective": ((), dtypes["objective"]),
            "measures": (self.measure_dim, dtypes["measures"]),
            "threshold": ((), dtypes["objective"]),  # it is computed with objectives
            **_checked_fields(given.get("extra_fields") or {}),
        }
        self._fields = {name: (_as_shape(shape), np.dtype(dtype)) for name, (shape, dtype) in fields.items()}
        self._store = FieldStore(self._fields, cells)
        self.lower_bounds: Array = np.array(low, dtype=dtypes["measures"])
        self.upper_bounds: Array = np.array(high, dtype=dtypes["measures"])
        self.interval_size: Array = self.upper_bounds - self.lower_bounds
        self.learning_rate, self.threshold_min = _annealing(given, dtypes["objective"])
        self.qd_score_offset: Array = np.asarray(given.get("qd_score_offset", 0.0), dtype=dtypes["objective"])
        self._index_dtype = np.dtype(np.int32 if cells < 2**31 else np.int64)
        self._rng = np.random.default_rng(given.get("seed"))
        self._best: dict[str, Any] | None = None
        self._sum = 0.0  # of all objectives

    # -- properties ------------------------------------------------------------------------------------------------

    @property
    def cells(self) -> int:
        """Number of cells, filled or not."""
        return self._store.n_cells

    @property
    def field_list(self) -> list[str]:
        """Names of all fields, `index` last."""
        return [*self._store.names, "index"]

    @property
    def dtypes(self) -> dict[str, np.dtype[Any]]:
        """The dtype of each field."""
        return {**self._store.dtypes, "index": self._index_dtype}

    @property
    def empty(self) -> bool:
        """Whether no cell is filled."""
        return not len(self._store)

    @property
    def best_elite(self) -> dict[str, Any] | None:
        """The elite of the highest objective that was ever stored, as it was then; None if there is none."""
        return self._best

    @property
    def stats(self) -> ArchiveStats:
        """Current figures of the archive."""
        n, kind = len(self), self.dtypes["objective"]
        score = np.asarray(self._sum - n * float(self.qd_score_offset), dtype=kind)
        return ArchiveStats(
            num_elites=n,
            coverage=np.asarray(n / self.cells, dtype=kind),
            qd_score=score,
            norm_qd_score=np.asarray(score / self.cells, dtype=kind),
            obj_max=None if self._best is None else self._best["objective"],
            obj_mean=np.asarray(self._sum / n, dtype=kind) if n else None,
        )

    def __len__(self) -> int:
        """The number of elites."""
        return len(self._store)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Each elite as a mapping, in order of filling; RuntimeError if the archive changes meanwhile."""
        changes = self._store.changes
        row = 0
        while True:
            if self._store.changes != changes:
                raise RuntimeError("archive: it was changed while its elites were iterated over")
            if row >= len(self):
                return
            yield {name: values[0] for name, values in self._take(np.array([row])).items()}
            row += 1

    # -- cells -----------------------------------------------------------------------------------------------------

    @abstractmethod
    def _cells_of(self, measures: Array) -> Ints:
        """The cell of each of (n, measure_dim) finite measures, which have the dtype of measures."""

    def _checked_measures(self, measures: npt.ArrayLike, batch: bool) -> Array:
        array = np.asarray(measures, dtype=self.dtypes["measures"])
        check_shape("measures", array, (self.measure_dim,), batch)
        check_finite("measures", array)
        return array if batch else array[None]

    def index_of(self, measures: npt.ArrayLike) -> Array:
        """The cells (n,) of measures (n, measure_dim); ValueError for another shape, NaN and infinity."""
        return self._cells_of(self._checked_measures(measures, True)).astype(self._index_dtype)

    def index_of_single(self, measures: npt.ArrayLike) -> np.signedinteger[Any]:
        """The cell of measures (measure_dim,)."""
        return self._cells_of(self._checked_measures(measures, False)).astype(self._index_dtype)[0]

    # -- writing ---------------------------------------------------------------------------------------------------

    def add(
        self, solution: npt.ArrayLike, objective: npt.ArrayLike, measures: npt.ArrayLike, **fields: npt.ArrayLike
    ) -> Values:
        """Offer n solutions; a cell takes the best of those that exceed its threshold, the first of equals.

        Returns "status" (n,), 0 for not added, 1 for improved and 2 for new, and "value" (n,), by how much the
        objective exceeds the threshold of the cell (0 or `threshold_min` where it is empty), both as if each
        solution were alone. ValueError for wrong shapes and fields, and for NaN and infinity.
        """
        values = self._checked_batch({"solution": solution, "objective": objective, "measures": measures, **fields})
        scores = values["objective"]
        cells = self._cells_of(values["measures"])
        rows = self._store.rows_of(cells)
        occupied = rows >= 0
        thresholds = np.full(len(rows), self.threshold_min, scores.dtype)
        thresholds[occupied] = self._store["threshold"][rows[occupied]]
        eligible = scores > thresholds
        new = eligible & ~occupied
        status = eligible.astype(np.int32)
        status[new] = 2
        if self.threshold_min == -np.inf:
            thresholds[new] = 0.0
        info: Values = {"status": status, "value": scores - thresholds}
        if eligible.any():
            with uninterrupted():
                self._insert(values, thresholds, cells, rows, eligible, new)
        return info

    def _insert(
        self,
        values: Values,
        thresholds: Array,
        cells: Ints,
        rows: Ints,
        eligible: npt.NDArray[np.bool_],
        new: npt.NDArray[np.bool_],
    ) -> None:
        """Store the best of each cell, in the order of cells as pyribs does, and bring the figures up to date."""
        scores = values["objective"]
        before = len(self._store)
        if new.any():
            self._store.fill(np.unique(cells[new]))
            rows[new] = self._store.rows_of(cells[new])
        best, group = self._store.best_of_rows(rows, scores.astype(np.float64), eligible)
        order = np.argsort(cells[best])
        taken = best[order]
        entering = {name: array[taken] for name, array in values.items()}
        if self.threshold_min == -np.inf:
            entering["threshold"] = entering["objective"]
        else:
            entering["threshold"] = annealed(
                thresholds[taken], scores[eligible], group[eligible], self.learning_rate, len(best), order
            )
        at = rows[taken]
        kept = at < before
        self._sum += float(np.sum(entering["objective"], dtype=np.float64))
        self._sum -= float(np.sum(self._store["objective"][at[kept]], dtype=np.float64))
        self._store.put(at, entering)
        top = int(np.argmax(entering["objective"]))
        if self._best is None or entering["objective"][top] > self._best["objective"]:
            self._best = {name: array[0] for name, array in self._take(at[top : top + 1]).items()}

    def add_single(
        self, solution: npt.ArrayLike, objective: npt.ArrayLike, measures: npt.ArrayLike, **fields: npt.ArrayLike
    ) -> dict[str, Any]:
        """Offer one solution; see `add`."""
        data = {"solution": solution, "objective": objective, "measures": measures}
        rows = {}
        for name, value in data.items():
            array = np.asarray(value, dtype=self.dtypes[name])
            check_shape(name, array, self._fields[name][0], False)
            rows[name] = array[None]
        extra = {name: np.asarray(value)[None] for name, value in fields.items()}
        return {name: values[0] for name, values in self.add(**rows, **extra).items()}

    def clear(self) -> None:
        """Remove all elites."""
        with uninterrupted():
            self._store.clear()
            self._best, self._sum = None, 0.0

    def _checked_batch(self, given: Mapping[str, npt.ArrayLike]) -> Values:
        expected = [name for name in self._store.names if name != "threshold"]
        if set(given) != set(expected):
            raise ValueError(f"add: expected the fields {', '.join(expected)}, got {', '.join(given)}")
        if given["objective"] is None:
            raise ValueError("objective: expected numbers, got None")
        values: Values = {}
        for name in expected:
            shape, dtype = self._fields[name]
            array = np.asarray(given[name], dtype=None if dtype.kind == "O" and name not in RESERVED else dtype)
            check_shape(name, array, shape if name in RESERVED or dtype.kind != "O" else array.shape[1:], True)
            if len(array) != len(values.get("solution", array)):
                raise ValueError(
                    f"{name}: expected {len(values['solution'])} rows, as many as solutions, got {len(array)}"
                )
            values[name] = array
        check_finite("objective", values["objective"])
        check_finite("measures", values["measures"])
        return values

    # -- reading ---------------------------------------------------------------------------------------------------

    def _take(self, rows: Ints) -> Values:
        """All fields of these rows, as copies."""
        values = {name: self._store[name][rows] for name in self._store.names}
        return {**values, "index": self._store.cells[rows].astype(self._index_dtype)}

    def retrieve(self, measures: npt.ArrayLike) -> tuple[npt.NDArray[np.bool_], Values]:
        """Whether the cells of measures (n, measure_dim) are filled (n,), and the fields of their elites.

        Where there is none, these are NaN, 0 for whole numbers, None for objects and -1 for the index.
        """
        rows = self._store.rows_of(self._cells_of(self._checked_measures(measures, True)))
        occupied = rows >= 0
        elites: Values = {}
        for name, (shape, dtype) in {**self._fields, "index": ((), self._index_dtype)}.items():
            nothing = -1 if name == "index" else _nothing(dtype)
            elites[name] = np.full((len(rows), *shape), nothing, dtype)
        for name, found in self._take(rows[occupied]).items():
            elites[name][occupied] = found
        return occupied, elites

    def retrieve_single(self, measures: npt.ArrayLike) -> tuple[np.bool_, dict[str, Any]]:
        """Whether the cell of measures (measure_dim,) is filled, and the fields of its elite; see `retrieve`."""
        occupied, elites = self.retrieve(self._checked_measures(measures, False))
        return occupied[0], {name: values[0] for name, values in elites.items()}

    def data(
        self, fields: Collection[str] | str | None = None, return_type: str | None = None
    ) -> Array | Values | tuple[Array, ...] | pandas.DataFrame:
        """Copies of fields of all elites, in order of filling.

        One name alone gives an array; otherwise `return_type` is "dict" (the default), "tuple" or "pandas": an
        `ArchiveDataFrame` of pyribs, which has to be installed for it.
        """
        alone = isinstance(fields, str) and return_type is None
        if return_type not in (None, "dict", "tuple", "pandas"):
            raise ValueError(f"return_type: expected dict, tuple or pandas, got {return_type!r}")
        names = [fields] if isinstance(fields, str) else self.field_list if fields is None else list(fields)
        unknown = [name for name in names if name not in self.field_list]
        if unknown:
            raise ValueError(f"fields: expected some of {', '.join(self.field_list)}, got {unknown[0]!r}")
        taken = [self._column(name) for name in names]
        if alone:
            return taken[0]
        if return_type == "tuple":
            return tuple(taken)
        found = dict(zip(names, taken, strict=True))
        return _data_frame(found) if return_type == "pandas" else found

    def _column(self, name: str) -> Array:
        if name == "index":
            return self._store.cells.astype(self._index_dtype)
        return self._store[name].copy()

    def sample_elites(self, n: int, replace: bool = True) -> Values:
        """The fields of n elites drawn uniformly; IndexError if there are none, ValueError if there are too few."""
        if self.empty:
            raise IndexError("sample_elites: the archive is empty; add solutions first")
        if not replace and n > len(self):
            raise ValueError(
                f"n: Cannot take a larger sample than the number of elites in the archive (here {len(self)}) "
                f"without replacement, got {n}"
            )
        return self._take(self._rng.choice(len(self), size=n, replace=replace))

    # -- conversion to tesselite -----------------------------------------------------------------------------------

    @abstractmethod
    def _tessellation(self, names: tuple[str, ...]) -> Tessellation:
        """The cells as niches of ours, with the same numbers."""

    def to_archive(self, names: Collection[str] | None = None) -> Archive:
        """All elites as a `tesselite.Archive`, in the same cells, to be saved, shown, assessed or resumed from.

        `names` are those of the features, measures_0, ... by default. Extra fields become records, and so do annealed
        thresholds. Solutions become rows of numbers. ValueError for solutions and fields that are anything else.
        """
        from tesselite.archive.archive import Archive
        from tesselite.archive.elites import Elites

        features = tuple(names or (f"measures_{i}" for i in range(self.measure_dim)))
        kept = {name: self._store[name] for name in self._store.names if name not in RESERVED}
        if self.threshold_min != -np.inf:
            kept["threshold"] = self._store["threshold"]
        kinds, recorded = zip(*(_as_record(*item) for item in kept.items()), strict=True) if kept else ((), ())
        shape, dtype = self._fields["solution"]
        width = math.prod(shape)
        archive = Archive(
            self._tessellation(features), width, dtype=dtype, floor=float(self.qd_score_offset),
            records=dict(zip(kept, kinds, strict=True)),
        )  # fmt: skip
        n = len(self)
        archive.restore(
            Elites(
                self._store.cells,
                self._store["objective"].astype(np.float64),
                self._store["measures"].astype(np.float64),
                self._store["solution"].reshape(n, width),
                np.arange(n),
                features,
                (),
                dict(zip(kept, recorded, strict=True)),
            )
        )
        return archive


def annealed(thresholds: Array, objective: Array, group: Ints, learning_rate: Any, n_groups: int, order: Ints) -> Array:
    """The thresholds (m,) of cells after a batch, by the batch rule of CMA-MAE (appendix of Fontaine et al. 2023).

    `objective` (n,) are all that exceed the threshold of their cell, `group` (n,) the numbers of these cells; `order`
    (m,) says which cell `thresholds`, as they were before, are of.
    """
    sizes = np.bincount(group, minlength=n_groups)[order]
    sums = np.bincount(group, weights=objective, minlength=n_groups)[order]
    ratio = np.asarray(1.0 - learning_rate, dtype=thresholds.dtype) ** sizes
    return np.asarray(ratio * thresholds + sums / sizes * (1.0 - ratio), dtype=thresholds.dtype)


def parsed_dtypes(given: Common) -> dict[str, np.dtype[Any]]:
    """The dtypes of solution, objective and measures, float64 where none is given."""
    common = given.get("dtype")
    if isinstance(common, dict):
        raise ValueError(
            "dtype: Passing a dict as `dtype` is deprecated in pyribs 0.9.0. Pass solution_dtype, objective_dtype and "
            "measures_dtype"
        )
    own = {
        "solution": given.get("solution_dtype"),
        "objective": given.get("objective_dtype"),
        "measures": given.get("measures_dtype"),
    }
    if common is not None and any(dtype is not None for dtype in own.values()):
        raise ValueError(
            "dtype: dtype cannot be used at the same time as solution_dtype, objective_dtype or measures_dtype"
        )
    everywhere = np.dtype(np.float64 if common is None else common)
    return {name: everywhere if dtype is None else np.dtype(dtype) for name, dtype in own.items()}


def check_shape(name: str, array: Array, shape: tuple[int, ...], batch: bool) -> None:
    """ValueError unless the array has this shape, or, as a batch, (n, *shape)."""
    if (array.shape[1:] if batch and array.ndim else array.shape) != shape or (batch and not array.ndim):
        sizes = ["n", *map(str, shape)] if batch else [*map(str, shape)]
        expected = f"({', '.join(sizes)}{',' if len(sizes) == 1 else ''})"
        raise ValueError(f"Expected {name} to be an array with shape {expected}, got {array.shape}")


def check_finite(name: str, array: Array) -> None:
    """ValueError if there is NaN or infinity among the numbers."""
    if not np.isfinite(array).all():
        raise ValueError(f"{name}: expected finite numbers, got NaN or infinity; leave such solutions out")


def _as_shape(shape: Shape) -> tuple[int, ...]:
    return tuple(int(size) for size in shape) if isinstance(shape, tuple) else (int(shape),)


def _checked_fields(
    fields: Mapping[str, tuple[Shape, npt.DTypeLike]],
) -> Mapping[str, tuple[Shape, npt.DTypeLike]]:
    for name in fields:
        if name in RESERVED or not name.isidentifier():
            raise ValueError(f"extra_fields: expected identifiers other than {', '.join(RESERVED)}, got {name!r}")
    return fields


def _annealing(given: Common, dtype: np.dtype[Any]) -> tuple[Array, Array]:
    """The learning rate and the least threshold; ValueError for one without the other."""
    rate, least = given.get("learning_rate"), given.get("threshold_min", -np.inf)
    if rate is None and least != -np.inf:
        raise ValueError("threshold_min: only valid together with learning_rate (CMA-MAE)")
    rate = 1.0 if rate is None else rate
    if least == -np.inf and rate != 1.0:
        raise ValueError(f"threshold_min: expected a number beside learning_rate={rate:g}, got -inf")
    return np.asarray(rate, dtype=dtype), np.asarray(least, dtype=dtype)


def _nothing(dtype: np.dtype[Any]) -> Any:
    """The value of an empty cell in a field of this kind."""
    return None if dtype.kind == "O" else 0 if dtype.kind in "iu" else np.nan


def _data_frame(fields: Values) -> Any:
    try:
        from ribs.archives import ArchiveDataFrame
    except ImportError:
        raise ImportError(f'return_type: "pandas" needs pyribs: {how_to_install("ribs", "interop")}') from None
    columns: Values = {}
    for name, values in fields.items():
        if values.ndim > 2:
            raise ValueError(
                f"return_type: a data frame holds numbers and rows of them, but {name} is {values.shape[1:]}"
            )
        columns |= {name: values} if values.ndim == 1 else {f"{name}_{i}": values[:, i] for i in range(values.shape[1])}
    return ArchiveDataFrame(columns, copy=False)


def _as_record(name: str, values: Array) -> tuple[Any, Array]:
    """The record kind of our archives for this field, and its values."""
    kind = {"f": float, "i": int, "u": int, "b": bool}.get(values.dtype.kind)
    if values.dtype.kind in "OU" and values.ndim == 1 and all(isinstance(value, str) for value in values.tolist()):
        return str, values.astype(object)
    if kind is None or (values.ndim > 1 and values.dtype.kind not in "fiub"):
        raise ValueError(f"to_archive: expected numbers or texts in the field {name}, got {values.dtype}")
    return (kind, values) if values.ndim == 1 else (values.shape[1:], values.astype(np.float64))
