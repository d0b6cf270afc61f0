"""What this user has agreed to run: a problem of a module, by name and file; a Dask scheduler, by address.

The folder of a run names both, and a folder from somebody else may name anything. What the user has started, or
allowed by `--trust`, is remembered in the user's data directory. The rules are in docs/security.md.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path

import platformdirs

from tesselite.base.importing import file_of

_agreed: set[str] = set()  # in this process, if nothing can be written


def _place(what: str) -> Path:
    data = Path(os.environ.get("TESSELITE_DATA_DIR") or platformdirs.user_data_dir("tesselite"))
    return data / "agreed" / hashlib.sha256(what.encode(errors="surrogateescape")).hexdigest()


def agree(what: str) -> None:
    """Remember that the user agrees to run this."""
    _agreed.add(what)
    with suppress(OSError):  # a home that cannot be written to: it holds for this process
        place = _place(what)
        if not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            place.write_text(what + "\n", encoding="utf-8", errors="surrogateescape")


def is_agreed(what: str) -> bool:
    """Whether the user has agreed to run this."""
    return what in _agreed or _place(what).exists()


def import_of(name: str) -> str:
    """What the user must agree to before module:attribute is imported."""
    return f"import {name} from {file_of(name)}"


def is_import_agreed(name: str) -> bool:
    """Whether the user has agreed to import module:attribute from the file where it would be found now."""
    return is_agreed(import_of(name))
