"""`tesselite.problem`: turns a user's function into a problem, whether plain, vectorised or compiled by Numba.

The built-in compiled problems (the arm and the test functions) share `CompiledProblem`.
"""

from __future__ import annotations

import inspect
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tesselite.archive.evaluation import RAISED, Direction, Evaluation, Invalid, reason_of
from tesselite.base.numbers import as_float, shown
from tesselite.base.seeds import seeds_of_rows
from tesselite.base.standing_threads import in_parts
from tesselite.base.threads import checked_threads
from tesselite.problems.problem import TRAINING, Problem, Seeds
from tesselite.spaces.features import FeatureSpace
from tesselite.spaces.records import NO_RECORDS, Records, Values
from tesselite.spaces.solutions import Rows, SolutionSpace, check_space

_WRONG_SHAPE = "wrong shape"
CHUNK = 64  # rows that a thread evaluates at a time
_WORTH_THREADS = 1e-4  # seconds of work below which one thread does it all


@dataclass(frozen=True)
class Statement:
    """The description of a problem, independent of its evaluation; see `Problem`. ValueError if it is inconsistent."""

    solutions: SolutionSpace
    features: FeatureSpace
    direction: Direction = "max"
    floor: float | None = None
    scenarios: Sequence[str] = ()
    records: Records = NO_RECORDS

    def __post_init__(self) -> None:
        scenarios = self.scenarios
        check_space("solutions", self.solutions)
        if self.direction not in ("max", "min"):
            raise ValueError(f"direction: expected 'max' or 'min', got {self.direction!r}")
        if isinstance(scenarios, str) or not isinstance(scenarios, Sequence):
            raise ValueError(f"scenarios: expected a list of different names, got {shown(scenarios)}")
        if not all(isinstance(name, str) and name and name != TRAINING for name in scenarios):
            raise ValueError(f"scenarios: expected names other than {TRAINING!r}, got {scenarios!r}")
        if len(set(scenarios)) != len(scenarios):
            raise ValueError(f"scenarios: expected a list of different names, got {scenarios!r}")
        if self.floor is not None and not np.isfinite(as_float("floor", self.floor, "a finite number or None")):
            raise ValueError(f"floor: expected a finite number or None, got {self.floor!r}")


class _Stated(Problem):
    def __init__(self, name: str, statement: Statement) -> None:
        self.name = name
        self.solutions, self.features = statement.solutions, statement.features
        self.direction = statement.direction
        self.floor = None if statement.floor is None else float(statement.floor)
        self.scenarios = tuple(statement.scenarios)
        self.records = statement.records


class FunctionProblem(_Stated):
    """A problem made from a Python function; see `problem`."""

    def __init__(
        self, function: Callable[..., Any], statement: Statement, *, batch: bool = False, name: str | None = None
    ) -> None:
        super().__init__(name or str(getattr(function, "__name__", type(function).__name__)), statement)
        self.function = function
        self.batch = batch
        self.seeded = _asks_for_seed(function, bool(self.scenarios))
        self._decode: Callable[[Rows], Any] = getattr(self.solutions, "decode", np.asarray)
        self.__doc__ = function.__doc__

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Call the function itself."""
        return self.function(*args, **options)

    def _called(self, rows: Rows, scenario: str | None, seeds: Any) -> Any:
        """What the function returns for a row or for rows: it gets copies, as the space decodes them."""
        x = self._decode(rows.copy())
        more: dict[str, Any] = {"seed": seeds if self.batch else int(seeds)} if self.seeded else {}
        return self.function(x, scenario, **more) if self.scenarios else self.function(x, **more)

    def evaluate_rows(self, rows: Rows, scenario: str | None, threads: int | None) -> Evaluation:
        """Call the function, with seeds derived from the rows if it takes them."""
        return self.evaluate_seeded(rows, scenario, threads, None)

    def evaluate_seeded(self, rows: Rows, scenario: str | None, threads: int | None, seeds: Seeds | None) -> Evaluation:
        """Call the function on each row, or once on all; a row that fails is invalid and the others are kept.

        The function gets copies: writing into them affects neither the caller nor a second call.
        """
        fitness = np.full(len(rows), np.nan)
        features = np.full((len(rows), self.features.n), np.nan)
        recorded = self.records.missing(len(rows))
        reasons: dict[int, str] = {}
        first_error = ""
        if seeds is None:
            seeds = seeds_of_rows(rows) if self.seeded else np.zeros(len(rows), np.int64)
        if self.batch:
            try:
                self._store(self._called(rows, scenario, seeds.copy()), fitness, features, recorded)
                return Evaluation.of(fitness, features, records=recorded)
            except (Exception, SystemExit) as error:
                # Find the rows at fault by evaluating them one at a time.
                if len(rows) == 1:
                    first_error = _traceback(error)
        for i in range(len(rows)):
            part = slice(i, i + 1)
            try:
                chosen = part if self.batch else i
                one = self._called(rows[chosen], scenario, seeds[chosen])
                kept = {name: values[part] for name, values in recorded.items()}
                self._store(one, fitness[part], features[part], kept)
            except (Exception, SystemExit) as error:
                fitness[i], features[i] = np.nan, np.nan
                reasons[i] = reason_of(error)
                first_error = first_error or _traceback(error)
        return Evaluation.of(fitness, features, reasons, first_error, recorded)

    def _store(
        self, result: Any, fitness: npt.NDArray[np.float64], features: npt.NDArray[np.float64], recorded: Values
    ) -> None:
        """Write what the function returned, (fitness, features), into these rows; _WrongShape if it does not fit."""
        if self.records:
            result = self._without_records(result, len(fitness), recorded)
        expected = f"{fitness.shape if self.batch else '()'} and {features.shape if self.batch else features.shape[1:]}"
        try:
            f, b = result
        except (TypeError, ValueError):
            f = b = None
        try:
            b = self.features.encoded(b)
        except ValueError as error:
            raise _WrongShape(f"wrong {error}") from None
        try:
            f, b = _as_numbers(f), _as_numbers(b)
        except (TypeError, ValueError):
            raise _WrongShape(
                f"wrong result: expected (fitness, features) of shapes {expected}, got {_kind(result)}"
            ) from None
        if not self.batch:
            f, b = f[None] if f.ndim == 0 else f, b[None]
        if f.shape != fitness.shape or b.shape != features.shape:
            got = f"{f.shape} and {b.shape}" if self.batch else f"{np.shape(result[0])} and {np.shape(result[1])}"
            raise _WrongShape(f"{_WRONG_SHAPE}: expected (fitness, features) of shapes {expected}, got {got}")
        fitness[:], features[:] = f, b

    def _without_records(self, result: Any, n: int, recorded: Values) -> Any:
        """Write the third value of what the function returned, a mapping or a tuple, into `recorded`; the others."""
        if not isinstance(result, tuple | list) or len(result) != 3:
            raise _WrongShape(f"wrong result: expected (fitness, features, records), got {_kind(result)}")
        fitness, features, third = result
        names = self.records.names
        if isinstance(third, tuple | list) and len(third) == len(names):
            third = dict(zip(names, third, strict=True))
        if not isinstance(third, Mapping):
            raise _WrongShape(f"wrong records: expected {', '.join(names)}, got {_kind(third, inner=True)}")
        try:
            third = third if self.batch else {name: _one(value) for name, value in third.items()}
            found = self.records.checked(third, n)
        except ValueError as error:
            raise _WrongShape(f"wrong {error}") from None
        for name, values in found.items():
            recorded[name][:] = values
        return fitness, features

    def hint(self, reasons: Mapping[str, int]) -> str:
        """A function for batches that is called with one solution fails on a missing axis."""
        if self.batch or not any(f"{RAISED}{name}" in reasons for name in ("IndexError", "AxisError")):
            return ""
        width = self.solutions.width
        return f"It was called with one solution ({width},); if it takes a whole batch, (n, {width}), add batch=True.\n"


def _asks_for_seed(function: Callable[..., Any], has_scenarios: bool) -> bool:
    """Whether a function has a parameter called `seed`; ValueError if that is the scenario's position."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # some functions have no signature
        return False
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    asking = [i for i, one in enumerate(parameters) if i and one.name == "seed" and one.kind in by_name]
    if asking and has_scenarios and asking[0] == 1 and parameters[1].kind is by_name[0]:
        raise ValueError("scenarios: the second argument of the function is the scenario; expected seed after it")
    return bool(asking)


def _one(value: Any) -> Any:
    """A value as that of a batch of one; a text stays one object."""
    return [value] if isinstance(value, str) else np.asarray(value)[None]


def _as_numbers(value: Any) -> npt.NDArray[np.float64]:
    """As an array; TypeError for what NumPy would convert silently: None and texts."""
    array = np.asarray(value)
    if array.dtype.kind not in "fiub" and (value is None or array.dtype.kind != "O"):
        raise TypeError
    return np.asarray(array, dtype=np.float64)


def _kind(result: Any, inner: bool = False) -> str:
    """What something is, without its values: reasons are counted, so they must be few."""
    if not isinstance(result, tuple | list):
        return f"an array {result.shape}" if isinstance(result, np.ndarray) else type(result).__name__
    if len(result) == 2 and not inner:
        return " and ".join(_kind(part, inner=True) for part in result)
    kinds = {type(part).__name__ for part in result}
    return f"{type(result).__name__} of {len(result)}" + (f" {kinds.pop()}" if len(kinds) == 1 else "")


class _WrongShape(Invalid):
    """A function returned something other than (fitness, features)."""


def _traceback(error: BaseException) -> str:
    """The traceback of what the function raised; empty where the reason suffices."""
    return "" if isinstance(error, Invalid) else traceback.format_exc()


class CompiledProblem(_Stated):
    """A problem whose objective is a block of machine code (see `compiled.blocks`), compiled into the search loop."""

    def __init__(
        self,
        name: str,
        make_block: Callable[[int | None], Any],
        statement: Statement,
        function: Callable[..., Any] | None = None,
    ) -> None:
        super().__init__(name, statement)
        if self.solutions.dtype != np.float64:
            raise ValueError("solutions: a compiled problem needs rows of float64")
        if any(record.kind == "str" or record.shape for record in self.records.fields):
            raise ValueError("records: a compiled function records single numbers; expected float, int or bool")
        self.function = function
        self._make_block = make_block
        self._blocks: dict[int | None, Any] = {}

    def __call__(self, *args: Any) -> Any:
        """Call the function itself, where the problem was made from one."""
        if self.function is None:
            raise TypeError(f"{self.name} is built in; call its evaluate(solutions)")
        return self.function(*args)

    def block_address(self, scenario: str | None = None) -> int:
        """Address of the machine code that evaluates up to 64 rows; compiled at the first call."""
        number = None
        if self.scenarios:
            number = -1 if scenario is None else self.scenarios.index(scenario)
        if number not in self._blocks:
            try:
                self._blocks[number] = self._make_block(number)
            except Exception as error:  # Numba lets exceptions of every kind through
                # Of a wrong shape, Numba would show code that is not the user's.
                said = self._explain(self.solutions.random(1, np.random.default_rng(0))[0], scenario)
                if said.startswith(_WRONG_SHAPE):
                    raise ValueError(f"{self.name}: {said}") from None
                raise ValueError(
                    f"{self.name}: Numba cannot compile this function ({type(error).__name__}: {error})"
                ) from error
        return int(self._blocks[number].address)

    def evaluate_rows(self, rows: Rows, scenario: str | None, threads: int | None) -> Evaluation:
        """Evaluate by the compiled block on the given number of threads."""
        from tesselite.compiled import blocks as block

        address = self.block_address(scenario)
        n, d, n_threads = len(rows), self.features.n, checked_threads(threads)
        out = (np.empty(n), np.empty((n, d + self.records.width)), np.ones(n, np.int64))
        began = time.perf_counter()
        block.evaluate(address, rows, 0, min(n, CHUNK), out)
        # Waking threads costs more than a quick objective's whole batch.
        if (time.perf_counter() - began) * n < _WORTH_THREADS * CHUNK:
            n_threads = 1
        in_parts(lambda start, stop: block.evaluate(address, rows, start, stop, out), CHUNK, n, CHUNK, n_threads)
        fitness, columns, status = out
        failed = np.flatnonzero(status).tolist()
        columns[failed] = np.nan
        features, recorded = columns[:, :d], self.records.unpacked(columns[:, d:], {})
        reasons = dict.fromkeys(failed, block.EXCEPTION)
        error = self._explain(rows[failed[0]], scenario) if failed else ""
        return Evaluation.of(fitness, features, reasons, error, recorded)

    def _explain(self, row: Rows, scenario: str | None) -> str:
        """The traceback that the interpreter gives for a row on which the machine code failed."""
        if self.function is None:
            return ""
        plain, row = getattr(self.function, "py_func", self.function), row.copy()
        number = -1 if scenario is None else self.scenarios.index(scenario)
        try:
            _, features, *recorded = plain(*((row, number) if self.scenarios else (row,)))
            if [np.shape(numbers) for numbers in recorded] != [(len(self.records),)] * bool(self.records):
                return f"{_WRONG_SHAPE}: expected records of {', '.join(self.records.names) or 'nothing'}"
            if np.shape(features) != (self.features.n,):
                shape = np.shape(features)
                got = shape[0] if len(shape) == 1 else f"the shape {shape}"
                return f"{_WRONG_SHAPE}: expected {self.features.n} features, got {got}"
        except Exception:
            return traceback.format_exc()
        return f"{self.name}: the compiled function raised an exception that the interpreted one does not"


def problem(
    *,
    solutions: SolutionSpace,
    features: FeatureSpace | Mapping[str, tuple[float, float]],
    direction: Direction = "max",
    floor: float | None = None,
    scenarios: Sequence[str] = (),
    batch: bool = False,
    name: str | None = None,
    outside: str | Mapping[str, str] | None = None,
    records: Mapping[str, Any] | None = None,
) -> Callable[[Callable[..., Any]], Problem]:
    """Turn a function into a problem: use it as a decorator.

    The function gets one solution (width,), a member of the space `solutions`, and returns (fitness, features); with
    `batch=True` it gets (n, width) and returns fitness (n,) and features (n, d). `direction` is "max" or "min"; `floor`
    is the worst fitness that counts in the QD score (see `Archive`); `name` is the function's by default. A function
    compiled by Numba's `@njit` is compiled into the search loop and runs on all cores. With `scenarios` it gets a
    second argument: None in training or the scenario's name (for a compiled function -1, or the scenario's number).
    `outside` is that of `FeatureSpace`. A function that is not compiled may raise `tesselite.Invalid(reason)`, and may
    have an argument `seed` for its own randomness: a whole number (an array (n,) with `batch=True`) that depends only
    on the run's seed and the evaluation's number.

    With `records`, such as {"mass": float, "label": str, "path": (100, 2)}, it returns a third value, a mapping or a
    tuple of these (arrays (n, ...) with `batch=True`; a tuple of numbers from a compiled function), kept with elites.

    Example:
        >>> import tesselite as tl
        >>> @tl.problem(solutions=tl.Box(2, 0, 1), features={"sum": (0, 2)})
        ... def example(x):
        ...     return -((x[0] - x[1]) ** 2), (x[0] + x[1],)
        >>> example.evaluate([[0.5, 0.5]]).features.tolist()
        [[1.0]]
    """
    if not isinstance(features, FeatureSpace):
        features = FeatureSpace(features, outside="nearest" if outside is None else outside)
    elif outside is not None:
        raise ValueError("outside: not valid together with a FeatureSpace; pass it to the FeatureSpace")
    statement = Statement(solutions, features, direction, floor, scenarios, Records(records))

    def make(function: Callable[..., Any]) -> Problem:
        if not callable(function):
            raise TypeError(f"problem: expected a function to decorate, got {function!r}")
        if not hasattr(function, "py_func"):
            return FunctionProblem(function, statement, batch=batch, name=name)
        if _asks_for_seed(function.py_func, has_scenarios=False):
            raise ValueError(
                "seed: a compiled function cannot take one; leave @njit out (a compiled function may be called "
                "from it), or derive the randomness from the solution"
            )
        if batch:
            raise ValueError("batch: a compiled function takes one solution at a time; leave batch=True out")
        return _compiled(function, name or function.__name__, statement)

    return make


def _compiled(function: Any, name: str, statement: Statement) -> CompiledProblem:
    def make_block(scenario: int | None) -> Any:
        from tesselite.compiled.blocks import block_of_function

        width, n_features = statement.solutions.width, statement.features.n
        return block_of_function(function, width, n_features, scenario, statement.records.width)

    return CompiledProblem(name, make_block, statement, function)
