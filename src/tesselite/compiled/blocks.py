"""Blocks: machine code that the search loop calls by address: an objective, a look-up of niches, a variation.

A block is a C function over a chunk of rows. Passing its address keeps the loop's own machine code independent of it:
the loop is compiled once, and of the blocks only those that are used, each kept on disk. How the loop calls them is in
`tesselite.search.loop`.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from tesselite.compiled import fast_math
from tesselite.compiled.digest import function_digest
from tesselite.compiled.kernels import compile_block, compile_cached, kernel, source_digest

CHUNK = 64  # rows that an objective and a variation get at most

_REALS, _WHOLES, _WHOLE = types.CPointer(types.float64), types.CPointer(types.int64), types.int64

# rows (n, width), n, fitness (n,), features (n, d), status (n,): 0 is fine, 1 an exception
OBJECTIVE = types.void(_REALS, _WHOLE, _REALS, _REALS, _WHOLES)
# unit-scaled points (n, d), n, d, the tables of the tessellation (floats and ints, each with its length), niches (n,)
LOOKUP = types.void(_REALS, _WHOLE, _WHOLE, _REALS, _WHOLE, _WHOLES, _WHOLE, _WHOLES)
# elites (k, width), k, parents (2, CHUNK), n, width, low and high (width,), numbers with their length, key, first,
# children (n, width); returns how many were made before an exception, n if there was none
VARIATION = types.int64(
    *(_REALS, _WHOLE, _WHOLES, _WHOLE, _WHOLE, _REALS, _REALS, _REALS, _WHOLE, types.uint64, _WHOLE, _REALS)
)

EXCEPTION = "exception in the compiled function"

# More features than this are copied in a loop, which needs them in an array or a tuple of floats.
_UNROLL = 64


class Brood(NamedTuple):
    """The arguments of a variation: up to CHUNK children of elites.

    `parents` (2, CHUNK) are row numbers of `elites` (k, width); `low` and `high` (width,) bound the `children`
    (n, width); `numbers` are the operator's own. Random words come from `key` and the number of the evaluation.
    """

    elites: npt.NDArray[np.float64]
    parents: npt.NDArray[np.int64]
    low: npt.NDArray[np.float64]
    high: npt.NDArray[np.float64]
    numbers: npt.NDArray[np.float64]
    key: np.uint64
    children: npt.NDArray[np.float64]


class Block:
    """A function as a block, which is compiled, or taken from the disk, when it is first used.

    The cache identifies our functions by the source of their module, and users' functions, which may be compiled by
    `@njit` already, by everything that they use.
    """

    def __init__(self, function: Callable[..., Any], signature: Any, source: str) -> None:
        plain = getattr(function, "py_func", function)
        self.__module__, self.__name__, self.__doc__ = plain.__module__, plain.__name__, plain.__doc__
        self._signature, self._source = signature, source
        self._ours = is_ours(plain)
        compiled: Any = function
        if plain is function:
            compiled = (kernel() if self._ours else numba.njit(nogil=True, error_model="numpy"))(function)
        self._given = {"function": compiled, "carray": numba.carray, "Brood": Brood}

    def __reduce__(self) -> Any:  # pickled by its name, or by that of its function
        if getattr(sys.modules.get(self.__module__), self.__name__, None) is self:
            return self.__name__
        return lookup_block, (self._given["function"],)

    def __deepcopy__(self, memo: dict[int, Any]) -> Block:  # it never changes
        return self

    @functools.cached_property
    def _compiled(self) -> Any:
        function = self._given["function"]
        digest = source_digest(self.__module__) if self._ours else function_digest(function)
        error_model = "numpy" if self._ours else function.targetoptions.get("error_model", "python")
        if digest is not None:
            digest = f"{self.__module__} {self.__name__} {error_model} {digest}"
        try:
            return compile_block(self._source, self._given, digest, self._signature, error_model)
        except Exception as error:  # Numba lets exceptions of every kind through
            if self._ours:
                raise
            raise ValueError(
                f"lookup: Numba cannot compile {self.__name__} ({type(error).__name__}: {error})"
            ) from None

    @functools.cached_property
    def address(self) -> int:
        """The address of its machine code."""
        return int(self._compiled.address)


def is_ours(function: Any) -> bool:
    """Whether a function is one of this library."""
    return str(function.__module__).startswith("tesselite.")


class Lookup(NamedTuple):
    """How niches are found: a block, and the tables (both one-dimensional) that it works with."""

    block: Block
    floats: npt.NDArray[np.float64]
    ints: npt.NDArray[np.int64]

    def find(self, points: npt.NDArray[np.float64], niches: npt.NDArray[np.int64]) -> None:
        """Fill niches (n,) with those of unit-scaled points (n, d), both contiguous."""
        call_lookup(self.block.address, len(points), points, self.floats, self.ints, niches)


def lookup(find: Callable[..., None], floats: npt.ArrayLike = (), ints: npt.ArrayLike = ()) -> Lookup:
    """How your own tessellation finds niches inside the compiled search loop.

    `find(points, floats, ints, niches)`, compiled by Numba's `@njit`, fills niches (n,) for unit-scaled points (n, d),
    which may be out of bounds; `floats` and `ints`, each (m,), are your own tables, which it must not change.
    """
    if not hasattr(find, "py_func"):
        raise TypeError(f"lookup: expected a function compiled by Numba's @njit, got {find!r:.80}")
    return Lookup(lookup_block(find), np.array(floats, np.float64).ravel(), np.array(ints, np.int64).ravel())


def lookup_block(find: Callable[..., None]) -> Block:
    """The block of find(points, floats, ints, niches), which fills niches (n,) for unit-scaled points (n, d).

    If a user's function raises an exception, all points get -1, which is not a niche.
    """
    call = "function(carray(points, (n, d)), carray(floats, n_floats), carray(ints, n_ints), carray(niches, n))"
    if is_ours(getattr(find, "py_func", find)):
        source = f"""
def block(points, n, d, floats, n_floats, ints, n_ints, niches):
    {call}
"""
    else:
        source = f"""
def block(points, n, d, floats, n_floats, ints, n_ints, niches):
    for i in range(n):
        niches[i] = -1
    try:
        {call}
    except Exception:  # which would end here unseen
        for i in range(n):
            niches[i] = -1
"""
    return Block(find, LOOKUP, source)


def variation_block(vary: Callable[[Any, int], None]) -> Block:
    """The block of vary(brood, first), which fills the brood's children; the first is evaluation number `first`."""
    source = f"""
def block(elites, k, parents, n, width, low, high, numbers, n_numbers, key, first, children):
    function(
        Brood(
            carray(elites, (k, width)),
            carray(parents, (2, {CHUNK})),
            carray(low, width),
            carray(high, width),
            carray(numbers, n_numbers),
            key,
            carray(children, (n, width)),
        ),
        first,
    )
    return n
"""
    return Block(vary, VARIATION, source)


class RandomNumbers(NamedTuple):
    """The random numbers of a user's operator for one child: `uniform` numbers in [0, 1) and standard `normal` ones."""

    uniform: npt.NDArray[np.float64]
    normal: npt.NDArray[np.float64]


def block_of_operator(function: Any, n_parents: int) -> Any:
    """Compile a user's `@njit` operator, `function(parents, low, high, random) -> child`, into a block.

    The block's numbers are how many uniform and how many normal (an even number) random numbers a child gets. A child
    of another width, or with a value that is not a number, is an exception; what is out of bounds is clipped.
    """
    source = f"""
def block(elites, k, parents, n, width, low, high, numbers, n_numbers, key, first, children):
    rows, rows_of, out = carray(elites, (k, width)), carray(parents, (2, {CHUNK})), carray(children, (n, width))
    chosen, lows, highs = empty(({n_parents}, width)), empty(width), empty(width)
    random = RandomNumbers(empty(int(numbers[0])), empty(int(numbers[1])))
    n_uniform, n_normal = random.uniform.shape[0], random.normal.shape[0]
    for i in range(n):
        word = uint64(first + i) * uint64(n_uniform + n_normal // 2)
        for j in range(n_uniform):
            random.uniform[j] = unit_uniform(random_word(key, word + uint64(j)))
        fill_normals(key, word + uint64(n_uniform), random.normal)
        for j in range(width):  # copies: what the operator does to them must not reach the archive
            for p in range({n_parents}):
                chosen[p, j] = rows[rows_of[p, i], j]
            lows[j], highs[j] = low[j], high[j]
        try:
            child = function(chosen, lows, highs, random)
            if len(child) != width:
                raise ValueError("wrong width")
            for j in range(width):
                x = float(child[j])
                if x != x:
                    raise ValueError("NaN")
                out[i, j] = min(max(x, low[j]), high[j])
        except Exception:
            return i
    return n
"""
    error_model = function.targetoptions.get("error_model", "python")
    given: dict[str, Any] = {
        "carray": numba.carray,
        "empty": np.empty,
        "uint64": np.uint64,
        "function": function,
        "RandomNumbers": RandomNumbers,
        "fill_normals": fast_math.fill_normals,
        "random_word": fast_math.random_word,
        "unit_uniform": fast_math.unit_uniform,
    }
    digest = function_digest(function)
    if digest is not None:
        digest = f"error_model {error_model}\n{source_digest(__name__)}\n{digest}"
    return compile_block(source, given, digest, VARIATION, error_model)


def native_block(function: Callable[..., None]) -> Any:
    """Compile an objective written against `OBJECTIVE`, kept on disk."""
    return compile_cached(
        function.__module__,
        lambda cache: numba.cfunc(OBJECTIVE, nopython=True, cache=cache, error_model="numpy")(function),
    )


def block_of_function(function: Any, width: int, n_features: int, scenario: int | None, n_records: int = 0) -> Any:
    """Compile a user's `@njit` function of one solution, `function(x) -> fitness, features`, into a block.

    With a scenario, its number (-1 for training) is the second argument. With records, the function returns
    as many numbers as a third value, and the block writes them behind the features.
    """
    # What a division by zero does. Numba compiles callees by the model of their first caller, so with "numpy" here an
    # exception of the function would become a valid fitness, and the function itself would be changed for its owner.
    error_model = function.targetoptions.get("error_model", "python")
    call = "function(x)" if scenario is None else f"function(x, {scenario})"
    row = f"{n_features + n_records} * i"
    if n_features <= _UNROLL:
        copy = "\n".join(f"            features[{row} + {j}] = b[{j}]" for j in range(n_features))
    else:
        copy = f"            for j in range({n_features}):\n                features[{row} + j] = b[j]"
    values = "f, b"
    if n_records:
        values = "f, b, r"
        copy += f"""
            if len(r) != {n_records}:
                raise ValueError("wrong number of records")
"""
        copy += "\n".join(f"            features[{row} + {n_features + j}] = r[{j}]" for j in range(n_records))
    source = f"""
def block(rows, n, fitness, features, status):
    solutions = carray(rows, (n, {width}))
    x = empty({width})
    for i in range(n):
        for j in range({width}):
            x[j] = solutions[i, j]  # a copy: what the function does to it must not reach the archive
        try:
            {values} = {call}
            if len(b) != {n_features}:
                raise ValueError("wrong number of features")
            fitness[i] = f
{copy}
            status[i] = 0
        except Exception:
            status[i] = 1
"""
    given: dict[str, Any] = {"carray": numba.carray, "empty": np.empty, "function": function}
    digest = function_digest(function)
    if digest is not None:
        digest = f"error_model {error_model}\n{digest}"
    return compile_block(source, given, digest, OBJECTIVE, error_model)


def _by_address(block: Any, given: Any) -> Any:
    """The code of an intrinsic that calls a block of this signature; arrays are passed as pointers."""
    kinds = [
        array if isinstance(wanted, types.CPointer) else wanted for array, wanted in zip(given, block.args, strict=True)
    ]

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        values = [
            context.make_array(kind)(context, builder, value).data if isinstance(kind, types.Array) else value
            for kind, value in zip(kinds, args[1:], strict=True)
        ]
        result = ir.VoidType() if block.return_type == types.void else context.get_value_type(block.return_type)
        function = ir.FunctionType(result, [value.type for value in values])
        called = builder.call(builder.inttoptr(args[0], function.as_pointer()), values)
        return context.get_dummy_value() if block.return_type == types.void else called

    return block.return_type(types.int64, *kinds), generate


@intrinsic
def _call_objective(typing: Any, address: Any, rows: Any, n: Any, fitness: Any, features: Any, status: Any) -> Any:
    return _by_address(OBJECTIVE, (rows, n, fitness, features, status))


@intrinsic
def _call_lookup(
    typing: Any, address: Any, points: Any, n: Any, d: Any, floats: Any, n_floats: Any, ints: Any, n_ints: Any, out: Any
) -> Any:
    return _by_address(LOOKUP, (points, n, d, floats, n_floats, ints, n_ints, out))


@intrinsic
def _call_variation(
    typing: Any,
    address: Any,
    elites: Any,
    k: Any,
    parents: Any,
    n: Any,
    width: Any,
    low: Any,
    high: Any,
    numbers: Any,
    n_numbers: Any,
    key: Any,
    first: Any,
    children: Any,
) -> Any:
    given = (elites, k, parents, n, width, low, high, numbers, n_numbers, key, first, children)
    return _by_address(VARIATION, given)


@kernel(allocates=False)
def call_objective(address: int, n: int, rows: Any, fitness: Any, features: Any, status: Any) -> None:
    """Evaluate n contiguous rows by the block at this address into fitness, features (n, d) and status."""
    _call_objective(address, rows, n, fitness, features, status)


@kernel(allocates=False)
def call_lookup(address: int, n: int, points: Any, floats: Any, ints: Any, niches: Any) -> None:
    """Find the niches of n unit-scaled points by the block at this address."""
    _call_lookup(address, points, n, points.shape[1], floats, floats.shape[0], ints, ints.shape[0], niches)


@kernel(allocates=False)
def call_variation(address: int, first: int, n: int, brood: Any) -> int:
    """Breed n children by the block at this address; how many were made. The first is evaluation number `first`."""
    return _call_variation(
        address,
        brood.elites,
        brood.elites.shape[0],
        brood.parents,
        n,
        brood.elites.shape[1],
        brood.low,
        brood.high,
        brood.numbers,
        brood.numbers.shape[0],
        brood.key,
        first,
        brood.children,
    )


def evaluate(address: int, rows: Any, start: int, stop: int, out: tuple[Any, Any, Any]) -> None:
    """Evaluate rows start to stop into out = (fitness, features, status)."""
    fitness, features, status = out
    part = slice(start, stop)
    rows = np.ascontiguousarray(rows[part])
    call_objective(address, len(rows), rows, fitness[part], features[part], status[part])
