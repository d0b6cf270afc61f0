"""A digest of a user's compiled function: of everything that its machine code depends on, or None if that is unsure.

It covers the function's bytecode, constants, defaults, closure, compiler options, the globals it names, and all of that
for the compiled functions it calls. With it the machine code of a user's objective can be kept on disk and is never
served stale; where anything cannot be judged, nothing is kept.
"""

from __future__ import annotations

import types
from importlib import metadata
from typing import Any

import numpy as np

from tesselite.compiled.kernels import source_digest

_PLAIN = (int, float, complex, bool, str, bytes, type(None), np.generic)
_KNOWN_MODULES = ("math", "numpy", "numba")  # what they compile to depends on their versions alone


class _Unsure(Exception):
    """Something whose influence on the machine code cannot be judged."""


def function_digest(dispatcher: Any) -> str | None:
    """A text that differs whenever the function, or anything it uses, does; None if something cannot be judged."""
    try:
        parts = [f"{name} {metadata.version(name)}" for name in ("numpy", "numba", "llvmlite")]
        _describe_function(dispatcher, parts, {})
    except _Unsure:
        return None
    return "\n".join(parts)


def _describe_function(dispatcher: Any, parts: list[str], seen: dict[int, int]) -> None:
    """Functions are numbered as they are met, so that one that is met again (it may call itself) is named by that."""
    known = id(dispatcher) in seen
    parts.append(f"function {seen.setdefault(id(dispatcher), len(seen))}")
    if known:
        return
    function = dispatcher.py_func
    parts.append(f"{sorted((str(k), str(v)) for k, v in dispatcher.targetoptions.items())}")
    _describe(function.__defaults__, parts, seen)
    _describe(tuple(cell.cell_contents for cell in function.__closure__ or ()), parts, seen)
    _describe_code(function.__code__, function.__globals__, parts, seen)


def _describe_code(code: types.CodeType, names: dict[str, Any], parts: list[str], seen: dict[int, int]) -> None:
    parts.append(f"{code.co_name} {code.co_code.hex()} {code.co_varnames} {code.co_freevars} {code.co_names}")
    parts.append(f"{len(code.co_consts)} constants")
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            _describe_code(constant, names, parts, seen)
        else:
            _describe(constant, parts, seen)
    for name in code.co_names:
        if name in names:  # the rest are attributes, which belong to something described, or built-ins
            parts.append(f"{name} =")
            _describe(names[name], parts, seen)


def _describe(value: Any, parts: list[str], seen: dict[int, int]) -> None:
    if isinstance(value, _PLAIN):
        parts.append(f"{type(value).__name__} {value!r}")
    elif isinstance(value, tuple | frozenset):
        # With its structure: ((1, 2), (3,)) and ((1,), (2, 3)) hold the same numbers in the same order.
        parts.append(f"{type(value).__name__} {getattr(value, '_fields', '')} of {len(value)} [")
        for item in sorted(value, key=repr) if isinstance(value, frozenset) else value:
            _describe(item, parts, seen)
        parts.append("]")
    elif isinstance(value, np.ndarray) and value.dtype != object:
        parts.append(f"{value.dtype} {value.shape} {value.tobytes().hex()}")
    elif isinstance(value, types.ModuleType) and value.__name__.split(".")[0] in _KNOWN_MODULES:
        parts.append(value.__name__)
    elif str(getattr(value, "__module__", "")).startswith("tesselite."):
        parts.append(source_digest(value.__module__))
    elif hasattr(value, "py_func"):
        _describe_function(value, parts, seen)
    elif str(getattr(value, "__module__", "")).split(".")[0] in (*_KNOWN_MODULES, "builtins"):
        parts.append(f"{value.__module__} {getattr(value, '__qualname__', repr(value))}")
    else:
        raise _Unsure
