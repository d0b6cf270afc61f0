"""Variation operators make offspring from parents, which the emitter chooses.

An operator is called as operator(parents, space, rng) with parents (n, width), or (2, n, width) where it takes two,
and returns offspring (n, width) inside the space. Any function of that form works too; give it an attribute
`n_parents = 2` if it wants pairs. Step sizes are relative to each axis' span. Bounds are enforced by clipping (default)
or reflection, never by resampling.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from tesselite.base.arrays import Floats
from tesselite.base.checks import is_whole
from tesselite.base.importing import import_name, name_of
from tesselite.base.numbers import as_float
from tesselite.compiled.blocks import CHUNK, Block, Brood, block_of_operator, call_variation
from tesselite.emitters import breeding
from tesselite.spaces.solutions import Box, Levels, Rows, SolutionSpace

__all__ = ["gaussian", "iso_line", "operator", "polynomial", "resample", "sbx"]

Bounds = Literal["clip", "reflect"]
VariationFunction = Callable[[Rows, Any, np.random.Generator], Rows]


class Operator(ABC):
    """A compiled operator: a block that draws all its randomness from a key and the number of the evaluation."""

    n_parents: int

    @property
    @abstractmethod
    def address(self) -> int:
        """Where the block's machine code is; compiled when it is first asked for."""

    @abstractmethod
    def check(self, space: SolutionSpace) -> None:
        """ValueError unless this operator works on such a space."""

    @abstractmethod
    def numbers(self, space: Any) -> Floats:
        """The block's parameters, apart from the bounds."""

    def __call__(self, parents: Rows, space: Any, rng: np.random.Generator) -> Rows:
        """Offspring (n, width) of parents (n, width), or (2, n, width) for an operator of two."""
        self.check(space)
        rows = np.ascontiguousarray(parents, dtype=np.float64)
        expected = (2, "n", space.width) if self.n_parents == 2 else ("n", space.width)
        if rows.ndim != len(expected) or rows.shape[-1] != space.width or rows.shape[0] != 2 == self.n_parents:
            raise ValueError(f"parents: {self} expects shape {expected}, got {np.shape(parents)}")
        rows = rows.reshape(-1, space.width)
        n = len(rows) // self.n_parents
        out = np.empty((n, space.width))
        brood = Brood(
            elites=rows,
            parents=np.empty((2, CHUNK), np.int64),
            low=space.low,
            high=space.high,
            numbers=self.numbers(space),
            key=rng.integers(0, 2**64, dtype=np.uint64),
            children=out,
        )
        for start in range(0, n, CHUNK):
            count = min(CHUNK, n - start)
            brood.parents[0, :count] = np.arange(start, start + count)
            brood.parents[1, :count] = brood.parents[0, :count] + (len(rows) - n)
            made = call_variation(self.address, start, count, brood._replace(children=out[start:]))
            if made < count:
                raise ValueError(self.failure())
        return out

    def failure(self) -> str:
        """What to say if the block made fewer children than it was asked for."""
        return f"variation: {self} failed"


@dataclass(frozen=True)
class BuiltInOperator(Operator):
    """An operator of this library; its block has its name in `breeding`."""

    name: str
    parameters: tuple[float, ...]
    n_parents: int
    bounds: Bounds = "clip"

    @property
    def address(self) -> int:
        """Where the block's machine code is; compiled when it is first asked for."""
        block: Block = getattr(breeding, self.name)
        return block.address

    def check(self, space: SolutionSpace) -> None:
        """ValueError unless this operator works on such a space."""
        wanted = Levels if self.name == "resample" else Box
        if not isinstance(space, wanted):
            raise ValueError(f"variation: {self} needs a {wanted.__name__} space, got {space!r}")

    def numbers(self, space: Any) -> Floats:
        """The parameters, and how bounds are kept, or the levels."""
        if isinstance(space, Levels):
            return np.array([*self.parameters, *space.values])
        return np.array([*self.parameters, breeding.REFLECT if self.bounds == "reflect" else breeding.CLIP])

    def __str__(self) -> str:
        words = [repr(x) for x in self.parameters] + (["reflect"] if self.bounds == "reflect" else [])
        return f"{self.name}:{','.join(words)}"


class OwnOperator(Operator):
    """A user's compiled operator; see `operator`."""

    def __init__(self, function: Any, n_parents: int, uniforms: int | None, normals: int | None) -> None:
        if not hasattr(function, "py_func"):
            raise TypeError(f"operator: expected a function compiled by Numba's @njit, got {function!r:.80}")
        if not is_whole(n_parents, 1) or n_parents > 2:
            raise ValueError(f"n_parents: expected 1 or 2, got {n_parents!r}")
        for name, count in (("uniforms", uniforms), ("normals", normals)):
            if count is not None and (not is_whole(count, 0) or count >= 2**31):
                raise ValueError(f"{name}: expected a whole number of at least 0, or None, got {count!r}")
        self.function = function
        self.n_parents = n_parents
        self._uniforms, self._normals = uniforms, normals
        self.__name__, self.__doc__ = str(function.py_func.__name__), function.py_func.__doc__

    @functools.cached_property
    def _block(self) -> Any:
        try:
            return block_of_operator(self.function, self.n_parents)
        except Exception as error:  # Numba lets exceptions of every kind through
            raise ValueError(
                f"variation: Numba cannot compile {self.__name__} ({type(error).__name__}: {error})"
            ) from None

    @property
    def address(self) -> int:
        """Where the block's machine code is; compiled when it is first asked for."""
        return int(self._block.address)

    def check(self, space: SolutionSpace) -> None:
        """ValueError unless this operator works on such a space."""
        if not isinstance(space, Box):
            raise ValueError(f"variation: {self.__name__} needs a Box space, got {space!r}")

    def numbers(self, space: Any) -> Floats:
        """How many uniform and how many normal numbers a child gets; the latter come in pairs."""
        uniforms = space.width + 1 if self._uniforms is None else self._uniforms
        normals = space.width + 1 if self._normals is None else self._normals
        return np.array([uniforms, normals + normals % 2], dtype=np.float64)

    def failure(self) -> str:
        """What to say if the block made fewer children than it was asked for."""
        return (
            f"variation: {self.__name__} raised an exception, or returned something else than one number per value of "
            "a solution; call its function on parents (n_parents, width) to see"
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> OwnOperator:  # it never changes
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_block"}

    def __str__(self) -> str:
        """The name by which `by_name` finds it in any process, or "own"."""
        return name_of(self, str(self.function.py_func.__module__), self.__name__) or "own"


def operator(
    *, n_parents: int = 1, uniforms: int | None = None, normals: int | None = None
) -> Callable[[Callable[..., object]], OwnOperator]:
    """Turn a function compiled by Numba's `@njit` into an operator that runs inside the compiled search loop.

    Use it as a decorator. The function gets parents (n_parents, width), low and high (width,), and random numbers for
    this child alone: `random.uniform` in [0, 1) and standard `random.normal`, width + 1 of each unless `uniforms` and
    `normals` say otherwise. It returns the child (width,), which is clipped to the bounds; it may work on the arrays
    that it gets.
    """
    return lambda function: OwnOperator(function, n_parents, uniforms, normals)


def _checked(name: str, value: float, low: float, high: float) -> float:
    expected = f"a number from {low:g} to {high:g}"
    number = as_float(name, value, expected)
    if not low <= number <= high:
        raise ValueError(f"{name}: expected {expected}, got {value!r}")
    return number


def gaussian(sigma: float = 0.1, *, bounds: Bounds = "clip") -> Operator:
    """Add a normal step of standard deviation sigma (as a share of the axis) to every value of one parent.

    `bounds` says what happens to a value outside the space: "clip" moves it to the bound, "reflect" mirrors it there.

    Example:
        >>> import tesselite as tl
        >>> found = tl.illuminate(
        ...     tl.problems.sphere(3), grid=5, evaluations=500, variation=tl.variation.gaussian(0.1), seed=1
        ... )
    """
    return BuiltInOperator("gaussian", (_checked("sigma", sigma, 0, 1e6),), 1, _mode(bounds))


def iso_line(iso: float = 0.01, line: float = 0.2, *, bounds: Bounds = "clip") -> Operator:
    """A normal step in every value plus one along the line from the first parent to the second.

    Vassiliades and Mouret, "Discovering the Elite Hypervolume by Leveraging Interspecies Correlation", GECCO 2018,
    eq. 1: x + iso N(0, I) + line (y - x) N(0, 1). `iso` is a share of the axis; `bounds` as in `gaussian`.

    Example:
        >>> import tesselite as tl
        >>> str(tl.variation.iso_line(0.01, 0.2))
        'iso_line:0.01,0.2'
    """
    numbers = (_checked("iso", iso, 0, 1e6), _checked("line", line, 0, 1e6))
    return BuiltInOperator("iso_line", numbers, 2, _mode(bounds))


def polynomial(eta: float = 20.0, probability: float = 1.0, *, bounds: Bounds = "clip") -> Operator:
    """Polynomial mutation: each value moves with this probability, by smaller steps for larger eta.

    `bounds` as in `gaussian`.

    Deb and Goyal, "A combined genetic adaptive search (GeneAS) for engineering design", 1996.
    """
    numbers = (_checked("eta", eta, 0, 1e6), _checked("probability", probability, 0, 1))
    return BuiltInOperator("polynomial", numbers, 1, _mode(bounds))


def sbx(eta: float = 10.0, probability: float = 0.5, *, bounds: Bounds = "clip") -> Operator:
    """Simulated binary crossover: each value is crossed with this probability; one child of the pair is kept at random.

    Children are closer to their parents for larger `eta`; `bounds` as in `gaussian`.

    Deb and Agrawal, "Simulated binary crossover for continuous search space", Complex Systems 9, 1995.
    """
    numbers = (_checked("eta", eta, 0, 1e6), _checked("probability", probability, 0, 1))
    return BuiltInOperator("sbx", numbers, 2, _mode(bounds))


def resample(probability: float = 0.05) -> Operator:
    """Draw each value again with this probability, uniformly among all levels (the paper's hexapod)."""
    return BuiltInOperator("resample", (_checked("probability", probability, 0, 1),), 1)


def _mode(bounds: Bounds) -> Bounds:
    if bounds not in ("clip", "reflect"):
        raise ValueError(f"bounds: expected 'clip' or 'reflect', got {bounds!r}")
    return bounds


def default_for(space: SolutionSpace) -> Operator | VariationFunction:
    """The default operator of a space: iso+line, resampling, or the space's own."""
    if isinstance(space, Box):
        return iso_line()
    if isinstance(space, Levels):
        return resample()

    if not hasattr(space, "vary"):
        raise ValueError(
            f"solution_space: {type(space).__name__} lacks vary(parents, rng); add it, or give a variation"
        )

    def own(parents: Rows, space: Any, rng: np.random.Generator) -> Rows:
        return space.vary(parents, rng)

    own.n_parents = getattr(space, "n_parents", 1)  # type: ignore[attr-defined]
    return own


_BY_NAME: dict[str, Callable[..., Operator]] = {
    "gaussian": gaussian,
    "iso_line": iso_line,
    "polynomial": polynomial,
    "sbx": sbx,
    "resample": resample,
}


NAMES = tuple(_BY_NAME)


class UnknownOperator(ValueError):
    """No operator has this name."""


def by_name(text: str) -> Operator:
    """The operator that a text such as "iso_line:0.01,0.2", "gaussian:0.1,reflect" or "my_module:mine" names."""
    name, _, rest = text.partition(":")
    if is_imported(text):
        return _imported(text)
    words = [word.strip() for word in rest.split(",") if word.strip()]
    options: dict[str, Any] = {"bounds": words.pop()} if words and words[-1] in ("clip", "reflect") else {}
    try:
        return _BY_NAME[name.strip().replace("-", "_")](*(float(word) for word in words), **options)
    except KeyError:
        raise UnknownOperator(f"variation: expected one of {', '.join(_BY_NAME)}, got {name!r}") from None
    except (TypeError, ValueError) as error:
        raise ValueError(f"variation: cannot read {text!r} ({error}); an example: iso_line:0.01,0.2") from None


def is_imported(text: str) -> bool:
    """Whether `by_name` would import a module of the user's to find the operator of this text."""
    name, _, rest = text.partition(":")
    return rest.isidentifier() and name.strip().replace("-", "_") not in _BY_NAME


def _imported(text: str) -> Operator:
    """The operator of this name in a module, which is looked for in the current folder too."""
    try:
        found = import_name("variation", text)
    except ValueError as error:
        raise ValueError(f"{error}; expected one of {', '.join(_BY_NAME)}, or your own as module:name") from error
    if not isinstance(found, Operator):
        raise ValueError(
            f"variation: {text} is not an operator; decorate an @njit function with @tesselite.variation.operator()"
        )
    return found
