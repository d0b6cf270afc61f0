"""Users' modules: look-up by name, and whether one is being imported by us.

A search that a module starts while we import it would start again in every worker.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

_imported: ContextVar[str] = ContextVar("imported", default="")  # of this thread alone


@contextmanager
def importing(what: str) -> Iterator[None]:
    """While user code is imported, or called to make a problem: searches are refused."""
    token = _imported.set(what)
    try:
        yield
    finally:
        _imported.reset(token)


def check_not_importing() -> None:
    """RuntimeError if a module that is being imported by us wants to search."""
    if what := _imported.get():
        raise RuntimeError(
            f"a search was started while {what} was being imported; every worker imports it as well and would start "
            'another one. Put the search under `if __name__ == "__main__":`'
        )


def file_of(name: str) -> str | None:
    """Where the module of module:attribute would be imported from, without importing it; None if there is no module.

    For a module in a package, that of the package: nothing more is known before it is imported.
    """
    top = name.partition(":")[0].partition(".")[0]
    if not top.isidentifier():
        return None
    here = str(Path.cwd())
    found = getattr(sys.modules.get(top), "__spec__", None)
    found = found or PathFinder.find_spec(top, sys.path if here in sys.path else [here, *sys.path])
    with suppress(ValueError):  # raised for a module in memory that does not say where it is from
        found = found or importlib.util.find_spec(top)
    if found is None:
        return None
    if found.has_location and found.origin:
        return str(Path(found.origin).resolve())
    return found.origin or next(iter(found.submodule_search_locations or ()), None)


def look_here() -> str:
    """Put the current folder on the import path; returns it."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    return here


def import_name(argument: str, name: str) -> Any:
    """The object module:attribute, None if the module has no such attribute; ValueError if importing it fails."""
    module, _, attribute = name.partition(":")
    look_here()
    try:
        with importing(module):
            return getattr(importlib.import_module(module), attribute, None)
    except Exception as error:
        raise ValueError(f"{argument}: importing {module} failed ({type(error).__name__}: {error})") from error


def name_of(value: object, module: str, attribute: str) -> str | None:
    """The module:attribute by which every process finds this value; None if there is none."""
    found = getattr(sys.modules.get(module), attribute, None)
    return f"{module}:{attribute}" if module not in ("__main__", "__mp_main__") and found is value else None


def how_to_install(package: str, extra: str) -> str:
    """Commands that install a package of an extra, whether tesselite is installed or used from a clone."""
    return f"pip install {package} (or, in a clone: pip install '.[{extra}]')"
