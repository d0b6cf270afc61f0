"""Writing a file so that a reader, or a crash at any moment, sees either the old content or the new one.

And reading one: regular files only, since a pipe or a device would never end.
"""

from __future__ import annotations

import errno
import os
import re
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

_PART = ".tesselite-part"


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Call write(temporary path beside `path`), sync it to disk and rename it; on an error nothing is left behind.

    A symbolic link stays one: what it points to is replaced. OSError (a full disk, no permission, a device or a folder
    of this name) is raised with the name of the file that could not be written.
    """
    if path.is_symlink():
        path = path.resolve()
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, f"cannot write {path}: not a regular file")
    remove_parts(path.parent, path.name)
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=f"{_PART}{path.suffix}", dir=path.parent)
    except OSError as error:
        raise cannot_write(path, error) from error
    temporary = Path(name)
    try:
        _lock(handle)
        write(temporary)
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise cannot_write(path, error) from error
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    finally:
        os.close(handle)


def parts(folder: Path, *names: str) -> list[Path]:
    """The temporary files of `write_atomically` for files of these names that are in a folder."""
    ours = re.compile("|".join(rf"\.{re.escape(n)}\.[a-z0-9_]{{8}}{_PART}{re.escape(Path(n).suffix)}" for n in names))
    return [file for file in folder.glob(f".*{_PART}*") if ours.fullmatch(file.name)]


def remove_parts(folder: Path, *names: str) -> None:
    """Remove temporary files for files of these names that a killed process left; those in use stay."""
    for file in parts(folder, *names):
        with suppress(OSError), file.open("rb") as stale:
            if _lock(stale.fileno()):
                file.unlink()


def _lock(handle: int) -> bool:
    """Lock an open temporary file until it is closed; False if it is in use, or if locks are not available."""
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return False
    return True


def check_regular(path: Path) -> None:
    """OSError if this is not a regular file, FileNotFoundError if it does not exist."""
    if not path.is_file():
        if path.exists():
            raise OSError(errno.EINVAL, f"{path}: not a regular file")
        raise FileNotFoundError(errno.ENOENT, f"{path}: there is no such file")


def regular_bytes(path: Path) -> bytes:
    """The content of a file, nothing if there is none; OSError if it is not a regular file."""
    try:
        check_regular(path)
    except FileNotFoundError:
        return b""
    return path.read_bytes()


def cannot_write(path: Path, error: OSError) -> OSError:
    """The error to raise instead: it names the file and gives the system's reason."""
    why = os.strerror(error.errno) if error.errno else str(error)
    return OSError(error.errno or errno.EIO, f"cannot write {path}: {why}")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _sync_folder(folder: Path) -> None:
    """Make the rename durable; some file systems cannot, which is harmless."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass
    finally:
        os.close(handle)
