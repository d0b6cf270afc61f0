"""Compilation: one decorator for all kernels, with a disk cache that is never stale.

Numba's own cache looks only at the file that holds a function, so a kernel whose callee changed in another file
would keep its old machine code. Here each module's kernels have a folder that is named after the content of the module
and of everything it imports from this package. What the kernels compute lives elsewhere.
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import hashlib
import os
import re
import shutil
import sys
import time
import types
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import platformdirs
from numba.core import config as _numba_config
from numba.core import event as _numba_event

from tesselite.base.atomic import write_atomically
from tesselite.base.logger import log
from tesselite.base.notices import notice

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

_KEEP_SECONDS = 30 * 24 * 3600  # caches of other versions are removed after a month without use
_FOLDER = re.compile(r"[\w.]+-([0-9a-f]{16}|[0-9a-f]{24})")
_FILE = re.compile(r".+\.nb[ic](\..+)?|\.?block\.py(\..+)?")  # some with the endings of temporary ones


def cache_folder() -> Path:
    """The user's cache directory for this library; `TESSELITE_CACHE_DIR` overrides it."""
    return Path(os.environ.get("TESSELITE_CACHE_DIR") or platformdirs.user_cache_dir("tesselite"))


_PACKAGE = Path(__file__).parents[1]
_IMPORT = re.compile(r"^(?:from|import) (tesselite[\w.]*)(?: import (\([^)]*\)|[^\n]*))?", re.MULTILINE)


def _file_of(module: str) -> Path | None:
    """The source file of a module of this package, or None if there is no such module."""
    path = _PACKAGE.joinpath(*module.split(".")[1:])
    for file in (path.with_suffix(".py"), path / "__init__.py"):
        if file.is_file() and path != _PACKAGE:
            return file
    return None


def _modules_behind(module: str) -> dict[str, Path]:
    """The modules of this package that a module's kernels can reach: itself and all it imports at its top level."""
    found: dict[str, Path] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        file = _file_of(name)
        if name in found or file is None:
            continue
        found[name] = file
        for imported, names in _IMPORT.findall(file.read_text(encoding="utf-8")):
            waiting += [imported, *(f"{imported}.{word}" for word in re.findall(r"\w+", names))]
    return found


@functools.cache
def _kernel_cache(module: str) -> str:
    """Folder of a module's machine code, named after the source of all that it can call; empty if none is writable."""
    return _writable_folder(f"{module.removeprefix('tesselite.')}-{source_digest(module)[:16]}")


@functools.cache
def source_digest(module: str) -> str:
    """SHA-256 of the source of a module of this package and of all that it imports from it."""
    digest = hashlib.sha256()
    for name, file in sorted(_modules_behind(module).items()):
        digest.update(name.encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _writable_folder(name: str) -> str:
    """A folder of this name among the kernels', marked as used now; empty where none can be written to.

    Code that checks the bounds of arrays (NUMBA_BOUNDSCHECK, for debugging) has folders of its own.
    """
    folder = cache_folder() / "kernels" / (f"{name}-bounds" if _numba_config.BOUNDSCHECK else name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
    except OSError:  # a read-only home
        _warn_of(folder.parent)
        return ""
    with contextlib.suppress(OSError):  # another process tidies up as well
        _remove_unused(folder.parent)
    if not os.access(folder, os.W_OK):
        _warn_of(folder.parent)
        return ""
    return str(folder)


@functools.cache
def _warn_of(kernels: Path) -> None:
    """Warn once that this process cannot cache its machine code and compiles at every start."""
    warnings.warn(
        f"{kernels} cannot be written to, so compiled code is not kept and each start waits for it to be compiled; "
        "set TESSELITE_CACHE_DIR to a folder that can",
        RuntimeWarning,
        stacklevel=2,
    )


@functools.cache
def _remove_unused(kernels: Path) -> None:
    """Remove the machine code of other versions that was not used for a month; once per process."""
    for folder in kernels.iterdir():
        if time.time() - folder.stat().st_mtime > _KEEP_SECONDS and _is_ours(folder):
            shutil.rmtree(folder, ignore_errors=True)


def _is_ours(folder: Path) -> bool:
    """Whether this is, by its name and content, a folder of machine code."""
    if folder.is_symlink() or not folder.is_dir() or not _FOLDER.fullmatch(folder.name):
        return False
    return all(_FILE.fullmatch(file.name) for file in folder.rglob("*") if not file.is_dir())


def has_machine_code(module: str) -> bool:
    """Whether kernels of this module are on disk, or cannot be: compiling them in the background is then useless."""
    if _numba_config.CACHE_DIR:  # a user who set NUMBA_CACHE_DIR knows why
        return True
    folder = _kernel_cache(module)
    return not folder or any(Path(folder).rglob("*.nbi"))


def compile_cached(module: str, compile: Callable[[bool], T]) -> T:  # noqa: A002
    """Call compile(cache=True) with the module's cache folder; compile(False) where no folder is writable."""
    chosen = _numba_config.CACHE_DIR
    if not chosen:  # a user who set NUMBA_CACHE_DIR knows why
        if not _kernel_cache(module):  # Numba would fall back on a folder beside the source, where code gets stale
            return compile(False)
        _numba_config.CACHE_DIR = _kernel_cache(module)
    try:
        return compile(True)
    except RuntimeError:  # Numba found no writable place
        return compile(False)
    finally:
        _numba_config.CACHE_DIR = chosen


class _Announcement(_numba_event.Listener):  # type: ignore[misc]
    """Announces, once per process, that kernels are being compiled, which can take half a minute."""

    def on_start(self, event: Any) -> None:
        """A function is about to be compiled."""
        module = str(event.data["dispatcher"].py_func.__module__)  # generated functions may have none
        if module.startswith("tesselite."):
            _numba_event.unregister("numba:compile", self)
            log.info("compiling; the machine code is kept in %s", cache_folder())
            notice(f"compiling (once; kept in {cache_folder()})" if _kernel_cache(module) else "compiling")

    def on_end(self, event: Any) -> None:
        """It is compiled."""


_numba_event.register("numba:compile", _Announcement())


def kernel(*, allocates: bool = True, **options: Any) -> Callable[[F], F]:
    """Compile a function to machine code that is kept on disk, releases the GIL and obeys IEEE arithmetic.

    `options` go to `numba.njit`. Write one signature per kernel (contiguous float64 and int64 arrays): each further
    one is compiled again. A kernel that allocates no arrays should say so: the others count references to arrays
    whenever they take one out of a tuple, by atomic operations on memory that all threads share.
    """

    def decorate(function: F) -> F:
        settings = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True, "_nrt": allocates, **options}
        return compile_cached(function.__module__, lambda cache: cast(F, numba.njit(cache=cache, **settings)(function)))

    return decorate


def part() -> Callable[[F], F]:
    """A piece of one kernel, separate for readability only: it is inlined where it is called.

    A call costs milliseconds of compilation per array argument; a part costs nothing, but is compiled again at each
    call site.
    """
    return kernel(inline="always")


def compile_block(source: str, given: dict[str, Any], digest: str | None, signature: Any, error_model: str) -> Any:
    """Compile the function `block` of generated source, whose other names are `given`, to a C function.

    With a digest of everything that `given` holds, the machine code is kept on disk beside the source.
    """
    folder = "" if digest is None else _writable_folder(f"block-{_sha256(source + digest)[:24]}")
    file = Path(folder) / "block.py"
    try:
        if folder and (not file.exists() or file.read_text() != source):  # rewriting would make the code look stale
            write_atomically(file, lambda part: part.write_text(source))
    except OSError:
        folder = ""
    # A module that can be imported by name: machine code from the disk looks for its globals there.
    module = types.ModuleType(f"tesselite_{Path(folder).name.replace('-', '_')}" if folder else "tesselite_block")
    module.__dict__.update(given)
    exec(builtins.compile(source, str(file) if folder else "<generated>", "exec"), module.__dict__)

    def compiled(cache: bool) -> Any:
        return numba.cfunc(signature, nopython=True, cache=cache, error_model=error_model)(module.block)

    if not folder:
        return compiled(False)
    sys.modules[module.__name__] = module
    chosen = _numba_config.CACHE_DIR
    _numba_config.CACHE_DIR = folder
    try:
        with warnings.catch_warnings():  # Numba warns of what it cannot cache, and compiles it as usual
            warnings.simplefilter("ignore", numba.NumbaWarning)
            return compiled(True)
    except RuntimeError:
        return compiled(False)
    finally:
        _numba_config.CACHE_DIR = chosen


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
