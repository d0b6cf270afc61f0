"""Other libraries: `read` and `write` their archives, and run their emitters on ours.

Public: `read` and `write`, for pyribs, QDax, pymap_elites and sferes2; `pyribs_columns`, an archive as pyribs' data
frame; and the module `pyribs`, archives with pyribs' interface.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tesselite.interop import pyribs
    from tesselite.interop.formats import read, write
    from tesselite.interop.pyribs_table import pyribs_columns

_HOME = {"pyribs_columns": "pyribs_table", "read": "formats", "write": "formats"}

__all__ = ["pyribs", "pyribs_columns", "read", "write"]


def __getattr__(name: str) -> Any:
    import importlib

    if name == "pyribs":
        return importlib.import_module("tesselite.interop.pyribs")
    if name not in _HOME:
        raise AttributeError(f"module 'tesselite.interop' has no attribute {name!r}")
    return getattr(importlib.import_module(f"tesselite.interop.{_HOME[name]}"), name)
