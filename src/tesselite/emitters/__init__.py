"""Which solutions next: emitters, and the operators that make offspring from parents.

Public: `Emitter`, the base of your own; `uniform`, parents drawn uniformly; `curiosity`, parents whose offspring did
well. The operators themselves are public as `tesselite.variation`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tesselite.emitters.curious_parents import curiosity
    from tesselite.emitters.emitter import Emitter
    from tesselite.emitters.uniform_parents import uniform

_HOME = {"Emitter": "emitter", "curiosity": "curious_parents", "uniform": "uniform_parents"}

__all__ = ["Emitter", "curiosity", "uniform"]


def __getattr__(name: str) -> Any:
    import importlib

    if name not in _HOME:
        raise AttributeError(f"module 'tesselite.emitters' has no attribute {name!r}")
    return getattr(importlib.import_module(f"tesselite.emitters.{_HOME[name]}"), name)
