"""Leading principal components: directions that hold most of the variance of rows, and the rows' parts along them.

What they bound is used by the look-up in `filtered` and by Lloyd's algorithm in `tesselite.tessellation.staircase`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def leading_components(rows: Floats, n: int) -> tuple[Floats, Floats, float]:
    """Mean (d,), the n leading components (n, d), orthonormal, and the share of the variance that is left over."""
    mean = rows.mean(axis=0)
    centered = rows - mean
    values, vectors = np.linalg.eigh(centered.T @ centered)
    total = float(values.sum())
    left_over = float(values[:-n].sum()) / total if total > 0.0 else 0.0
    return mean, np.ascontiguousarray(vectors[:, ::-1][:, :n].T), left_over


def principal_parts(rows: Floats, mean: Floats, components: Floats) -> Floats:
    """The parts of rows along (q, d) components, and the length of what is left over, shape (n, q + 1)."""
    centered = rows - mean
    parts = centered @ components.T
    left = np.einsum("ij,ij->i", centered, centered) - np.einsum("ij,ij->i", parts, parts)
    return np.column_stack([parts, np.sqrt(left.clip(0.0))])
