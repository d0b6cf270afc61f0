"""Whether a user's module is being imported by us; a search that it starts then would start again in every worker."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

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
