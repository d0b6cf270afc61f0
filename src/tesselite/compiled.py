"""How this library compiles: one decorator for its kernels, with a disk cache that is never stale.

Numba's own cache looks only at the file that holds a function, so a kernel whose callee changed in another file
would keep its old machine code. Here the cache folder is named after the content of the whole package instead:
another version, or an edited file, starts a cache of its own. What the kernels compute lives elsewhere.
"""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import platformdirs
from numba.core import config as _numba_config

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

_KEEP_SECONDS = 30 * 24 * 3600  # caches of other versions are removed after a month without use


def cache_folder() -> Path:
    """The user's cache directory for this library (`TESSELITE_CACHE_DIR` overrides it)."""
    return Path(os.environ.get("TESSELITE_CACHE_DIR") or platformdirs.user_cache_dir("tesselite"))


@functools.cache
def _kernel_cache() -> str:
    """Folder of the machine code of exactly this package's source."""
    package = Path(__file__).parent
    digest = hashlib.sha256()
    for file in sorted(package.rglob("*.py")):
        digest.update(file.relative_to(package).as_posix().encode())
        digest.update(file.read_bytes())
    kernels = cache_folder() / "kernels"
    folder = kernels / digest.hexdigest()[:16]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
        for other in kernels.iterdir():
            if other != folder and time.time() - other.stat().st_mtime > _KEEP_SECONDS:
                shutil.rmtree(other, ignore_errors=True)
    except OSError:
        pass  # A read-only home: the decorator below then compiles without a cache.
    return str(folder)


def compile_cached(compile: Callable[[bool], T]) -> T:  # noqa: A002
    """Call compile(cache=True) with the cache folder above; compile(False) where no folder is writable."""
    chosen = _numba_config.CACHE_DIR
    if not chosen:  # a user who set NUMBA_CACHE_DIR knows why
        _numba_config.CACHE_DIR = _kernel_cache()
    try:
        return compile(True)
    except RuntimeError:  # Numba found no writable place
        return compile(False)
    finally:
        _numba_config.CACHE_DIR = chosen


def kernel(**options: Any) -> Callable[[F], F]:
    """Compile a function to machine code that is kept on disk, releases the GIL and obeys IEEE arithmetic.

    `options` go to `numba.njit`. Write one signature per kernel (contiguous float64 and int64 arrays): each further
    one is compiled again.
    """

    def decorate(function: F) -> F:
        settings = {"nogil": True, "error_model": "numpy", **options}
        return compile_cached(lambda cache: cast(F, numba.njit(cache=cache, **settings)(function)))

    return decorate
