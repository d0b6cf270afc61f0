"""Emitters choose which solutions to try next; operators make offspring from parents.

Public: `Emitter`, the base of your own; `uniform`, parents drawn uniformly; `curiosity`, parents whose offspring did
well; `cma_me` and `cma_mae`, strategies of CMA-ES; `mixture` and `bandit`, several emitters in one. The operators
themselves are public as `tesselite.variation`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tesselite.emitters.cma_emitters import cma_mae, cma_me
    from tesselite.emitters.curious_parents import curiosity
    from tesselite.emitters.emitter import Emitter
    from tesselite.emitters.mixtures import bandit, mixture
    from tesselite.emitters.uniform_parents import uniform

_HOME = {
    "Emitter": "emitter",
    "bandit": "mixtures",
    "cma_mae": "cma_emitters",
    "cma_me": "cma_emitters",
    "curiosity": "curious_parents",
    "mixture": "mixtures",
    "uniform": "uniform_parents",
}

__all__ = ["Emitter", "bandit", "cma_mae", "cma_me", "curiosity", "mixture", "uniform"]


def __getattr__(name: str) -> Any:
    import importlib

    if name not in _HOME:
        raise AttributeError(f"module 'tesselite.emitters' has no attribute {name!r}")
    return getattr(importlib.import_module(f"tesselite.emitters.{_HOME[name]}"), name)
