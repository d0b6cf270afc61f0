"""NumPy arrays as Arrow columns and back, without copies.

PyArrow's own conversions import pandas wherever it is installed, which takes longer than writing an archive.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def to_column(values: npt.NDArray[Any]) -> Any:
    """A PyArrow array of the numbers in `values` (n,); of booleans as 0 and 1, a byte each."""
    import pyarrow as pa

    values = np.ascontiguousarray(values)
    if values.dtype == np.bool_:
        values = values.view(np.uint8)
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, pa.py_buffer(values)])


def from_column(column: Any) -> npt.NDArray[Any]:
    """The numbers (n,) of a PyArrow array or chunked array, those of all lists in a row if it holds lists.

    Raises ValueError if some are missing or are no numbers.
    """
    import pyarrow as pa

    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_fixed_size_list(whole.type):
        whole = whole.flatten()
    if whole.null_count or not (pa.types.is_integer(whole.type) or pa.types.is_floating(whole.type)):
        raise ValueError(f"expected a column of numbers, got {whole.type} with {whole.null_count} missing")
    dtype = np.dtype(whole.type.to_pandas_dtype())
    if not len(whole):
        return np.empty(0, dtype)
    return np.frombuffer(whole.buffers()[1], dtype, len(whole), whole.offset * dtype.itemsize)
