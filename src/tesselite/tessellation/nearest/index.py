"""Index: exact nearest-centroid look-up of whole batches, and which index suits which centroids.

The compiled searches live in `rows`, `tree` and `table`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tesselite.threads import checked_threads, in_chunks

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

KINDS = ("brute", "tree", "table", "panels", "principal")


@dataclass(frozen=True, eq=False)
class Index:
    """Exact nearest-centroid look-up in unit-scaled space; the lowest id on ties, whatever the kind.

    `kind` says how it searches; `code`, `floats` and `ints` are what the compiled `find_rows` needs, with
    `centroids` (k, d) and `p`.
    """

    kind: str
    code: int
    centroids: Floats
    p: float
    floats: Floats
    ints: Ints

    def query(self, unit_points: Floats, threads: int | None = None) -> Ints:
        """Ids of the nearest centroids of (n, d) unit-scaled points, shape (n,)."""
        from tesselite.tessellation.nearest.rows import find_rows

        points = np.ascontiguousarray(unit_points, dtype=np.float64)
        out = np.empty(len(points), np.int64)
        # Small batches are not worth a thread.
        work = len(points) * (40 if self.kind == "table" else 500 if self.kind == "tree" else self.centroids.size)
        threads = checked_threads(threads) if work > 2_000_000 else 1

        def find(start: int, stop: int) -> None:
            find_rows(points, out, start, stop, self.code, self.centroids, self.floats, self.ints, self.p)

        in_chunks(find, len(points), len(points) // (8 * threads) + 1 if threads > 1 else len(points) + 1, threads)
        return out

    @property
    def nbytes(self) -> int:
        """Memory of the tables, in bytes."""
        return self.floats.nbytes + self.ints.nbytes


def choose_kind(k: int, d: int, p: float) -> str:
    """The kind of index that measured fastest for k centroids in d dimensions, in batches."""
    if p != 2.0:
        return "tree" if d <= 12 else "brute"
    if d == 2:
        return "table"
    # Products cost k; the tree costs a power of k that grows with d. They break even at 5,000 in 6D, 40,000 in 10D.
    return "tree" if d <= 6 or (d <= 10 and k > 5000 * 2 ** ((d - 6) / 1.4)) else "panels"


def build_index(unit_centroids: Floats, p: float = 2.0, kind: str | None = None) -> Index:
    """An exact index over (k, d) unit-scaled centroids; `kind` (one of KINDS) overrides the choice.

    A "table" is for two features and p = 2, "panels" for p = 2; "tree" and "brute" are for all.
    """
    from tesselite.tessellation.nearest import rows
    from tesselite.tessellation.nearest.filtered import filter_tables
    from tesselite.tessellation.nearest.principal import leading_components
    from tesselite.tessellation.nearest.table import candidate_table
    from tesselite.tessellation.nearest.tree import tree_tables

    centroids = np.ascontiguousarray(unit_centroids, dtype=np.float64)
    k, d = centroids.shape
    kind = kind or choose_kind(k, d, p)
    if kind not in KINDS:
        raise ValueError(f"kind: expected one of {', '.join(KINDS)}, got {kind!r}")
    if kind == "table" and (d != 2 or p != 2.0):
        raise ValueError(f"kind: a table needs two features and p = 2, got {d} and p = {p}")
    if kind in ("panels", "principal"):
        if p != 2.0:
            raise ValueError(f"kind: {kind} needs p = 2, got p = {p}")
        center, components = centroids.mean(axis=0), None
        if kind == "principal":
            center, components, _ = leading_components(centroids, min(24, d))
        return Index(kind, rows.FILTERED, centroids, 2.0, *filter_tables(centroids, center, components))
    floats, ints = tree_tables(centroids, with_nodes=kind != "brute")
    code = rows.TREE if kind != "brute" else rows.BRUTE
    if kind == "table":
        inside = bool(((centroids >= 0.0) & (centroids <= 1.0)).all())
        table = candidate_table(centroids) if inside else None
        if table is None:
            kind = "tree"
        else:
            ints[4] = len(ints)
            ints = np.concatenate([ints, table])
            code = rows.TABLE
    return Index(kind, code, centroids, float(p), floats, ints)
