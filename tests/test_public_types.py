"""Nothing at the public edge is typed `Any`: a type checker can help callers."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import tesselite as tl

# Values of variables, and what a user's function returns, can be of any kind.
FREE = {"decode", "encode", "__call__"}

# What is inside these may be anything: JSON and records, arrays of several types, users' functions.
OPEN = re.compile(r"(dict|Mapping)\[str, Any\]|(NDArray|dtype|signedinteger)\[Any\]|Callable\[\.\.\., Any\]")


def is_loose(hint: object) -> bool:
    """Whether a type checker would accept anything here."""
    return hint is inspect.Parameter.empty or re.search(r"\bAny\b", OPEN.sub("", str(hint))) is not None


def functions(name: str, value: object) -> Iterator[tuple[str, object]]:
    """The functions and methods behind a public name."""
    if inspect.ismodule(value):
        for inner in value.__all__:
            yield from functions(f"{name}.{inner}", getattr(value, inner))
    elif inspect.isclass(value):
        for attribute, member in inspect.getmembers(value):
            member = member.fget if isinstance(member, property) else member
            ours = str(getattr(member, "__module__", "")).startswith("tesselite")
            if ours and inspect.isroutine(member) and (not attribute.startswith("_") or attribute == "__init__"):
                yield f"{name}.{attribute}", member
    elif inspect.isroutine(value):
        yield name, value


def test_no_public_function_takes_or_returns_just_anything():
    loose = []
    for name in tl.__all__:
        for full, function in functions(name, getattr(tl, name)):
            if full.rpartition(".")[2] in FREE:
                continue
            signature = inspect.signature(function)
            hints = {p.name: p.annotation for p in signature.parameters.values() if p.name not in ("self", "cls")}
            hints["return"] = signature.return_annotation
            loose += [f"{full}: {hint}" for hint, kind in hints.items() if is_loose(kind)]
    assert loose == []


def test_no_public_class_has_an_attribute_of_just_any_type():
    loose = []
    for name in tl.__all__:
        value = getattr(tl, name)
        for inner in [getattr(value, one) for one in value.__all__] if inspect.ismodule(value) else [value]:
            for kind in inner.__mro__ if inspect.isclass(inner) else ():
                if kind.__module__.startswith("tesselite."):
                    hints = inspect.get_annotations(kind)
                    loose += [f"{kind.__name__}.{hint}" for hint, found in hints.items() if is_loose(found)]
    assert loose == []


def test_the_check_sees_what_it_should():
    assert is_loose(inspect.Parameter.empty)
    assert all(map(is_loose, ("Any", "Any | None", "tuple[Any, int]", "Callable[[Any], int]", "list[Any]")))
    assert not any(map(is_loose, ("dict[str, Any]", "npt.NDArray[Any] | None", "Callable[..., Any]", "int", "Company")))
