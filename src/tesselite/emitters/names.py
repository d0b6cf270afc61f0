"""Emitters by the texts that settings.json and the command line name them by."""

from __future__ import annotations

from typing import Any

from tesselite.emitters import operators
from tesselite.emitters.curious_parents import curiosity
from tesselite.emitters.emitter import Emitter
from tesselite.emitters.uniform_parents import uniform

_BY_NAME = {"uniform": uniform, "curiosity": curiosity}


def by_name(text: str) -> Emitter:
    """The emitter of a text such as "curiosity", "curiosity:gaussian:0.1", or an operator: "iso_line:0.01,0.2"."""
    name, _, rest = text.partition(":")
    if name in _BY_NAME:
        return _BY_NAME[name](operators.by_name(rest) if rest else None)
    return uniform(operators.by_name(text))


def is_emitter(text: str) -> bool:
    """Whether a text names an emitter, and not an operator alone."""
    return text.partition(":")[0] in _BY_NAME


def imported_operator(text: str) -> str:
    """The module:name of the operator that `by_name` would import for a text; empty if it would import none."""
    operator = text.partition(":")[2] if is_emitter(text) else text
    return operator if operators.is_imported(operator) else ""


def emitter_of(variation: Any = None, emitter: Emitter | None = None) -> Emitter:
    """The emitter that is given, or uniform parents with the variation that is; ValueError for both."""
    if emitter is None:
        return uniform(variation)
    if variation is not None:
        raise ValueError("expected only one of variation and emitter, got both; an emitter brings its own variation")
    if not isinstance(emitter, Emitter):
        raise ValueError(f"emitter: expected one, such as tesselite.emitters.curiosity(), got {emitter!r:.80}")
    return emitter
