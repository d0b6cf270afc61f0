"""Leading principal components: directions that hold most of the variance of rows, and whether they speed up a look-up.

What they bound is used by the look-up in `filtered` and by Lloyd's algorithm in `tesselite.tessellation.staircase`.
"""

from __future__ import annotations

import numpy as np

from tesselite.base.arrays import Floats

_COUNTS = (8, 16, 24, 32, 48, 64)  # components to choose from
_LEAST_DIMENSIONS = 24
_LEAST_CENTROIDS = 512  # fewer are compared with a point in less time than finding components takes for thousands
_PROBES = 64


def leading_components(rows: Floats, n: int) -> tuple[Floats, Floats, float]:
    """Mean (d,), the n leading components (n, d), orthonormal, and the share of the variance that is left over.

    There are fewer if the rows vary in fewer directions, but at least one.
    """
    mean = rows.mean(axis=0)
    centered = rows - mean
    wide = len(rows) < rows.shape[1]  # then the smaller of the two products tells the same
    values, vectors = np.linalg.eigh(centered @ centered.T if wide else centered.T @ centered)
    values, vectors = values[::-1], vectors[:, ::-1]
    total = float(values.sum())
    n = max(1, min(n, int((values > 1e-12 * total).sum())))
    components = vectors[:, :n]
    if wide:
        components = np.linalg.qr(centered.T @ components)[0]
    left_over = float(values[n:].sum()) / total if total > 0.0 else 0.0
    return mean, np.ascontiguousarray(components.T), left_over


def principal_parts(rows: Floats, mean: Floats, components: Floats) -> Floats:
    """The parts of rows along (q, d) components, and the length of what is left over, shape (n, q + 1)."""
    centered = rows - mean
    parts = centered @ components.T
    left = np.einsum("ij,ij->i", centered, centered) - np.einsum("ij,ij->i", parts, parts)
    return np.column_stack([parts, np.sqrt(left.clip(0.0))])


def worthwhile_components(centroids: Floats) -> tuple[Floats, Floats] | None:
    """Mean and components (q, d) by which looking up (k, d) centroids takes least time; None if none save much.

    Centroids play the points: each of a few looks for its nearest other one, and how many pass the bound is counted.
    The times, in nanoseconds, were measured on one core; only their proportions matter.
    """
    k, d = centroids.shape
    if d < _LEAST_DIMENSIONS or k < _LEAST_CENTROIDS:
        return None
    # A few rows show cheaply if there is no gain: components fit few rows better than many.
    if leading_components(_some(centroids, 192), _COUNTS[-1])[2] > 0.4:
        return None
    mean, components, _ = leading_components(_some(centroids, 1024), _COUNTS[-1])
    rows = _some(centroids, 8192)
    probes = np.arange(0, len(rows), len(rows) // _PROBES)[:_PROBES]
    squares = _squares(rows[probes] - mean, rows - mean)
    squares[np.arange(_PROBES), probes] = np.inf
    nearest = squares.min(axis=1, keepdims=True)
    best, least = None, 0.7 * k * d / 79.0  # the least gain
    for q in _COUNTS:
        if q > min(d // 2, len(components)):
            break
        parts = principal_parts(rows, mean, components[:q])
        passed = (_squares(parts[probes], parts) <= nearest).sum() / _PROBES - 1.0
        tried = 1.0 + passed * k / len(rows)
        time = k * (q + 2) / 79.0 + d * (0.7 + 0.037 * q) + tried * (300.0 + 0.3 * d)
        if time < least:
            best, least = q, time
    return None if best is None else (mean, np.ascontiguousarray(components[:best]))


def _some(rows: Floats, n: int) -> Floats:
    """About n of the rows, evenly picked."""
    return rows[:: max(1, len(rows) // n)][:n]


def _squares(a: Floats, b: Floats) -> Floats:
    """Squared distances (n, m) between rows, rounded."""
    lengths = np.einsum("ij,ij->i", a, a)[:, None] + np.einsum("ij,ij->i", b, b)
    return np.asarray(lengths - 2.0 * (a @ b.T))
