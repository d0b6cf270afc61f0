"""PackedArrays: the numbers of a page, packed so that a browser unpacks them into typed arrays at once.

A page holds one JSON document and one compressed block of bytes; an array in the document is a reference into the
block. A browser opens the block with its own inflater (`DecompressionStream`), so the page needs no code for that.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

_TYPES = {"int8", "uint8", "int16", "uint16", "int32", "uint32", "float32", "float64"}
_ALIGNMENT = 8  # bytes: a Float64Array must begin at a multiple of 8
_COMPRESSION = 6


class PackedArrays:
    """Arrays one after another in a block of bytes; equal arrays are kept once."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0
        self._known: dict[bytes, dict[str, Any]] = {}

    def add(self, array: Array) -> dict[str, Any]:
        """Keep an array; returns what stands for it in the document. ValueError for a type that browsers lack."""
        array = np.ascontiguousarray(array)
        if array.dtype.name not in _TYPES:
            raise ValueError(f"array: expected one of {', '.join(sorted(_TYPES))}, got {array.dtype}")
        raw = array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
        digest = hashlib.sha256(f"{array.dtype.name}{array.shape}".encode() + raw).digest()
        if digest not in self._known:
            padding = -self._size % _ALIGNMENT
            self._known[digest] = {"$array": array.dtype.name, "at": self._size + padding, "shape": list(array.shape)}
            self._parts += [bytes(padding), raw]
            self._size += padding + len(raw)
        return self._known[digest]

    def packed(self) -> str:
        """The block, compressed (zlib), in base64."""
        return packed_text(b"".join(self._parts))


def packed_text(raw: bytes) -> str:
    """Bytes as compressed base64 text, which cannot end a script element."""
    return base64.b64encode(zlib.compress(raw, _COMPRESSION)).decode("ascii")


def whole_numbers(values: Array) -> Array:
    """Whole numbers in the smallest type that browsers have and that holds them all; float64 beyond 32 bits."""
    values = np.asarray(values)
    low, high = (int(values.min()), int(values.max())) if values.size else (0, 0)
    for name in ("int16", "int32"):
        if np.iinfo(name).min <= low and high <= np.iinfo(name).max:
            return values.astype(name)
    return values.astype(np.float64)


def document_text(document: Any) -> str:
    """A document as JSON that is safe inside a script element: no character that HTML could take for markup."""
    text = json.dumps(plain(document), allow_nan=False, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def plain(value: Any) -> Any:
    """The same in JSON's own types: NumPy's become Python's, what is not finite becomes null."""
    if isinstance(value, dict):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value
