"""Numbers from users, in the form that compiled code takes; callers check their ranges."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

_FLOATS = np.dtype(np.float64)


def is_plain(values: Any, dtype: np.dtype[Any]) -> bool:
    """Whether this is an array as compiled code takes them: of this dtype, contiguous and writable."""
    return type(values) is np.ndarray and values.dtype == dtype and values.flags.carray


def as_floats(name: str, values: Any, expected: str) -> npt.NDArray[np.float64]:
    """The values as the one kind of array that compiled code takes, itself where possible: float64, plain, writable.

    Raises ValueError, which says what `name` was expected to be, for anything else: texts, complex numbers, rows of
    different lengths, 10**400.
    """
    if is_plain(values, _FLOATS):
        return values
    try:
        array = np.asarray(values)
        if array.dtype.kind == "c":
            raise TypeError
        array = np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name}: expected {expected}, got {shown(values)}") from None
    return array if array.flags.carray else np.array(array, order="C")


def as_float(name: str, value: Any, expected: str) -> float:
    """One number, as a float; ValueError as above."""
    array = as_floats(name, value, expected)
    if array.ndim:
        raise ValueError(f"{name}: expected {expected}, got {shown(value)}")
    return float(array)


def shown(value: Any) -> str:
    """A value in an error message, shortened; arrays and long lists are described."""
    if isinstance(value, np.ndarray) and value.ndim:
        return f"an array of shape {value.shape}"
    if isinstance(value, list | tuple) and len(value) > 8:
        return f"a {type(value).__name__} of {len(value)}"
    try:
        return f"{value!r:.80}"
    except ValueError:
        return f"a number of type {type(value).__name__}"
