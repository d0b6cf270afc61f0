"""Checksums of a file's content, stored in the file: they detect flipped bits and edits by hand.

They protect against damage, not against malice: nothing secret goes into them. What is trusted, and what is not, is in
docs/security.md.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

Columns = Iterable[tuple[str, npt.NDArray[Any]]]

_KEY = "digest"


def sealed(about: dict[str, Any], columns: Columns = ()) -> dict[str, Any]:
    """The description of a file, JSON, with the digest of that and of the columns."""
    return {**about, _KEY: _digest(about, columns)}


def is_intact(about: dict[str, Any], columns: Columns = (), *, older: bool = False) -> bool:
    """Whether this is what `sealed` returned, and the columns are those that it was given.

    An `older` file, of a format without a digest, is accepted.
    """
    if older and _KEY not in about:
        return True
    rest = {name: value for name, value in about.items() if name != _KEY}
    return about.get(_KEY) == _digest(rest, columns)


def _digest(about: dict[str, Any], columns: Columns) -> str:
    digest = hashlib.sha256(json.dumps(about, sort_keys=True).encode())
    for name, values in columns:
        digest.update(f"{name} {len(values)} {values.dtype.str}".encode())
        digest.update(np.ascontiguousarray(values).data)
    return digest.hexdigest()
