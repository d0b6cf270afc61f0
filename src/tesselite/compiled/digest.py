"""A digest of a user's compiled function: of everything that its machine code depends on, or None if that cannot be
determined.

It covers the function's bytecode, constants, defaults, closure, compiler options, explicit signatures, types of
locals, the globals it names, and all of that for the compiled functions it calls. With it the machine code of a user's
objective can be kept on disk and is never served stale; where that is unknown, as for a stencil or other people's
`overload`, nothing is kept.
"""

from __future__ import annotations

import sys
import types
from importlib import metadata
from typing import Any

import numba
import numpy as np
from numba.core.compiler import Compiler
from numba.core.typing.templates import builtin_registry

from tesselite.compiled.kernels import source_digest

_PLAIN = (int, float, complex, bool, str, bytes, type(None), np.generic)
_KNOWN_MODULES = ("math", "numpy", "numba")  # what they compile to depends on their versions alone


class _Unsure(Exception):
    """Something whose influence on the machine code is unknown."""


def function_digest(dispatcher: Any) -> str | None:
    """A text that differs whenever the function, or anything it uses, does; None if that is unknown."""
    try:
        parts = [f"{name} {metadata.version(name)}" for name in ("numpy", "numba", "llvmlite")]
        _describe_function(dispatcher, parts, {})
    except _Unsure:
        return None
    return "\n".join(parts)


def _describe_function(dispatcher: Any, parts: list[str], seen: dict[int, int]) -> None:
    """Functions are numbered in order; one that appears again (recursion) is referred to by its number."""
    known = id(dispatcher) in seen
    parts.append(f"function {seen.setdefault(id(dispatcher), len(seen))}")
    if known:
        return
    try:
        function, compiler = dispatcher.py_func, dispatcher._compiler
        # Signatures that were asked for decide what is cast to what; those that came with use do not.
        signatures = [] if dispatcher._can_compile else [str(o.signature) for o in dispatcher.overloads.values()]
        closure = tuple(cell.cell_contents for cell in function.__closure__ or ())
    except (AttributeError, ValueError):  # another kind of dispatcher; a closure over what is not there yet
        raise _Unsure from None
    if compiler.pipeline_class is not Compiler:
        raise _Unsure
    parts.append(f"{sorted(signatures)} {sorted((name, str(kind)) for name, kind in compiler.locals.items())}")
    for name, option in sorted(dispatcher.targetoptions.items()):
        parts.append(f"option {name}")
        _describe(option, parts, seen)
    _describe(function.__defaults__, parts, seen)
    _describe(tuple(sorted((function.__kwdefaults__ or {}).items())), parts, seen)
    _describe(closure, parts, seen)
    _describe_code(function.__code__, function.__globals__, parts, seen)


def _taught_names() -> set[str]:
    """Names of methods, attributes and functions that third parties registered with Numba. _Unsure for operators and
    built-in functions, which are called without a name.
    """
    names: set[str] = set()
    for template in [*builtin_registry.functions, *builtin_registry.attributes]:
        teacher = getattr(template, "_overload_func", template)
        module = getattr(teacher, "__globals__", {}).get("__name__") or str(teacher.__module__)
        if module.split(".")[0] in ("numba", "tesselite", "abc"):  # abc: an intrinsic, judged where it is used
            continue
        taught = getattr(template, "_attr", None) or template.key
        if getattr(taught, "__module__", "") in ("builtins", "_operator"):
            raise _Unsure
        names.add(taught if isinstance(taught, str) else str(getattr(taught, "__name__", taught)))
    return names


def _describe_code(code: types.CodeType, names: dict[str, Any], parts: list[str], seen: dict[int, int]) -> None:
    texts = {constant for constant in code.co_consts if isinstance(constant, str)}  # getattr(x, "method")
    if not _taught_names().isdisjoint(texts.union(code.co_names)):
        raise _Unsure
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
    elif isinstance(value, tuple | frozenset | set):
        # With its structure: ((1, 2), (3,)) and ((1,), (2, 3)) hold the same numbers in the same order.
        parts.append(f"{type(value).__name__} {getattr(value, '_fields', '')} of {len(value)} [")
        for item in value if isinstance(value, tuple) else sorted(value, key=repr):
            _describe(item, parts, seen)
        parts.append("]")
    elif isinstance(value, np.ndarray) and value.dtype != object:
        layout = value.flags.c_contiguous, value.flags.f_contiguous
        parts.append(f"{value.dtype} {value.shape} {layout} {value.tobytes().hex()}")
    elif isinstance(value, types.ModuleType) and value.__name__.split(".")[0] in _KNOWN_MODULES:
        parts.append(value.__name__)
    elif str(getattr(value, "__module__", "")).startswith("tesselite."):
        parts.append(source_digest(value.__module__))
    elif hasattr(value, "py_func"):
        _describe_function(value, parts, seen)
    elif isinstance(value, numba.types.Number | numba.types.Boolean):
        parts.append(f"type {value}")
    elif isinstance(value, np.ufunc) and value in vars(np).values():  # has no module before NumPy 2.2
        parts.append(f"numpy {value.__name__}")
    elif _is_known(value):
        parts.append(f"{value.__module__} {value.__qualname__}")
    else:
        raise _Unsure


def _is_known(value: Any) -> bool:
    """Whether the value is a function or class that a known module defines under its name; a stencil is not."""
    module = str(getattr(value, "__module__", ""))
    found: Any = sys.modules.get(module) if module.split(".")[0] in (*_KNOWN_MODULES, "builtins") else None
    for name in str(getattr(value, "__qualname__", "")).split("."):
        found = getattr(found, name, None)
    return found is value and value is not None
