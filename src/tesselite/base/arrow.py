"""NumPy arrays as Arrow columns and back, without copies, and our Parquet files, which describe themselves in JSON.

PyArrow's own conversions import pandas wherever it is installed, which takes longer than writing an archive.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tesselite.base.atomic import check_regular

_KEY = b"tesselite"
BLOCK = 4
"""Where in a file the block of `write_parquet` begins: after the letters that every Parquet file begins with."""


def to_column(values: Any) -> Any:
    """A PyArrow array of the numbers or texts in `values` (n,); of booleans as 0 and 1, a byte each.

    A PyArrow array is returned unchanged.
    """
    import pyarrow as pa

    if isinstance(values, pa.Array):
        return values
    if values.dtype.kind in "UO":
        texts = [text.encode() for text in values.tolist()]
        ends = np.cumsum([0, *map(len, texts)], dtype=np.int64)
        buffers = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(texts))]
        return pa.Array.from_buffers(pa.large_utf8(), len(texts), buffers)
    values = np.ascontiguousarray(values)
    if values.dtype == np.bool_:
        values = values.view(np.uint8)
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, pa.py_buffer(values)])


def to_booleans(values: npt.NDArray[np.bool_]) -> Any:
    """A PyArrow array of booleans (n,)."""
    import pyarrow as pa

    return pa.Array.from_buffers(pa.bool_(), len(values), [None, pa.py_buffer(np.packbits(values, bitorder="little"))])


def to_sparse_texts(n: int, texts: dict[int, str]) -> Any:
    """A PyArrow array of n texts, nearly all of them empty: those of the rows in `texts` are not."""
    import pyarrow as pa

    encoded = {i: text.encode() for i, text in sorted(texts.items())}
    ends = np.zeros(n + 1, np.int64)
    ends[[i + 1 for i in encoded]] = [len(text) for text in encoded.values()]
    buffers = [None, pa.py_buffer(np.cumsum(ends)), pa.py_buffer(b"".join(encoded.values()))]
    return pa.Array.from_buffers(pa.large_utf8(), n, buffers)


def from_column(column: Any) -> npt.NDArray[Any]:
    """The numbers (n,) of a PyArrow array or chunked array, those of all lists in a row if it holds lists.

    Raises ValueError if some are missing or not numbers.
    """
    import pyarrow as pa

    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_fixed_size_list(whole.type):
        whole = whole.flatten()
    if whole.null_count or not (pa.types.is_integer(whole.type) or pa.types.is_floating(whole.type)):
        raise ValueError(f"expected a column of numbers, got {whole.type} with {whole.null_count} missing")
    name = str(whole.type)  # most versions of PyArrow import pandas to convert a type
    dtype = np.dtype({"halffloat": "float16", "float": "float32", "double": "float64"}.get(name, name))
    if not len(whole):
        return np.empty(0, dtype)
    return np.frombuffer(whole.buffers()[1], dtype, len(whole), whole.offset * dtype.itemsize)


def is_text_column(column: Any) -> bool:
    """Whether a PyArrow column holds texts."""
    import pyarrow as pa

    return bool(pa.types.is_string(column.type) or pa.types.is_large_string(column.type))


def texts_of(column: Any) -> list[str]:
    """The texts of a PyArrow column; ValueError if some are missing or not texts."""
    if column.null_count or not is_text_column(column):
        raise ValueError(f"expected a column of texts, got {column.type} with {column.null_count} missing")
    texts: list[str] = column.to_pylist()
    return texts


def columns_of(table: Any) -> Iterator[tuple[str, npt.NDArray[Any]]]:
    """The columns of a table as checksums take them: numbers, or the bytes of texts."""
    for name in table.column_names:
        column = table[name]
        if is_text_column(column):
            yield name, np.frombuffer(json.dumps(texts_of(column)).encode(), np.uint8)
        else:
            yield name, from_column(column)


def buffers_of(table: Any) -> Iterator[tuple[str, npt.NDArray[Any]]]:
    """The columns of a table as checksums of large tables take them: numbers, lengths and bytes of texts, booleans."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for name in table.column_names:
        column = table[name].combine_chunks()
        if column.null_count:
            raise ValueError(f"expected no missing values in the column {name!r}, got {column.null_count}")
        if pa.types.is_boolean(column.type):
            yield name, from_column(column.cast(pa.uint8()))
        elif is_text_column(column):
            column = column.cast(pa.large_utf8())
            yield name, from_column(pc.binary_length(column))
            ends = np.frombuffer(column.buffers()[1], np.int64, len(column) + 1, column.offset * 8) if column else [0]
            data = column.buffers()[2]
            yield name, np.frombuffer(b"" if data is None else data, np.uint8)[ends[0] : ends[-1]]
        else:
            yield name, from_column(column)


def write_parquet(table: Any, about: dict[str, Any], file: Path, block: npt.NDArray[Any] | None = None) -> None:
    """Write a PyArrow table with JSON `about` it in the file's metadata.

    The bytes of `block`, an array of another length than the columns, precede them, where readers of tables do not
    look; `read_block` gives them back.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = table.replace_schema_metadata({_KEY: json.dumps(about).encode()})
    # Not a file of Python's: the writer would not know how far the block has moved it.
    options = {"compression": "zstd", "use_dictionary": False}
    with pa.OSFile(str(file), "wb") as sink, pq.ParquetWriter(sink, table.schema, **options) as writer:
        if block is not None:
            sink.write(np.ascontiguousarray(block).data.cast("B"))
        writer.write_table(table)


def read_parquet(path: Path, *, foreign: bool = False) -> tuple[Any, dict[str, Any]]:
    """The table of a file that `write_parquet` wrote, and its description: empty if it may be `foreign`.

    OSError if there is no such file, or it is not a regular one; ValueError, without its name, if it is damaged or not
    ours.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    check_regular(path)
    try:
        with pq.ParquetFile(path.absolute(), thrift_string_size_limit=2**31 - 1) as file:
            table = file.read()
        about = (table.schema.metadata or {}).get(_KEY)
        described = None if about is None else json.loads(about)
    except (pa.ArrowException, OSError, ValueError, RecursionError) as error:
        said = (str(error).splitlines() or [""])[0]
        raise ValueError(f"not a readable Parquet file, or damaged ({said})") from None
    if described is None and foreign:
        return table, {}
    if not isinstance(described, dict):
        raise ValueError("a Parquet file, but not one of tesselite")
    return table, described


def read_about(path: Path) -> dict[str, Any]:
    """The description in a file of `write_parquet`; empty if it is damaged or not ours."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        check_regular(path)
        described = json.loads(pq.read_metadata(path.absolute()).metadata[_KEY])
    except (pa.ArrowException, OSError, ValueError, LookupError, TypeError, RecursionError):
        return {}
    return described if isinstance(described, dict) else {}


def read_block(path: Path, dtype: str, count: int) -> npt.NDArray[Any]:
    """This many numbers of the block that `write_parquet` put into a file; ValueError if it cannot hold them."""
    if not 0 <= count * np.dtype(dtype).itemsize <= path.stat().st_size - BLOCK:
        raise ValueError(f"not large enough for {count} numbers")
    return np.fromfile(path, dtype, count, offset=BLOCK)
