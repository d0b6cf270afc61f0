"""Nothing at the public edge is typed `Any`: a type checker can help callers."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import tesselite as tl

# Values of variables, and what a user's function returns, can be of any kind.
FREE = {"decode", "encode", "__call__"}


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
            loose += [
                f"{full}: {hint}" for hint, kind in hints.items() if kind in ("Any", "Any | None", inspect._empty)
            ]
    assert loose == []
