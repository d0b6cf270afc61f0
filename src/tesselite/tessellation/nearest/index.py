"""Index: exact nearest-centroid look-up of whole batches, and which index suits which centroids.

The compiled searches live in `tree`, `table` and `filtered`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from tesselite.base.arrays import Floats, Ints
from tesselite.base.threads import checked_threads, in_chunks

if TYPE_CHECKING:
    from tesselite.compiled.blocks import Lookup

_TREE_DIMENSIONS = 12  # a k-d tree prunes next to nothing in more

_WORTH_THREADS = 1_000_000  # nanoseconds: starting threads takes some 200,000

KINDS = ("brute", "tree", "table", "panels", "principal")


@dataclass(frozen=True, eq=False)
class Index:
    """Exact nearest-centroid look-up in unit-scaled space; the lowest id on ties, for every kind.

    `kind` says how it searches `centroids` (k, d), and `lookup` is that as machine code.
    """

    kind: str
    centroids: Floats
    lookup: Lookup

    def query(self, unit_points: Floats, threads: int | None = None) -> Ints:
        """Ids of the nearest centroids of (n, d) unit-scaled points, shape (n,)."""
        points = np.ascontiguousarray(unit_points, dtype=np.float64)
        out = np.empty(len(points), np.int64)
        threads = checked_threads(threads) if len(points) * self._nanoseconds > _WORTH_THREADS else 1

        def find(start: int, stop: int) -> None:
            self.lookup.find(points[start:stop], out[start:stop])

        in_chunks(find, len(points), len(points) // (8 * threads) + 1 if threads > 1 else len(points) + 1, threads)
        return out

    @cached_property
    def _nanoseconds(self) -> int:
        """About how long a row takes, as measured in benchmarks/lookup.py."""
        k, size = self.centroids.shape[0], self.centroids.size
        costs = {"table": 30, "tree": 1000, "principal": k, "panels": size // 64, "brute": size // 4}
        costs |= {"images": 1000, "around": size}  # of `rings`
        return costs[self.kind]

    @property
    def nbytes(self) -> int:
        """Memory of the tables, in bytes."""
        return self.lookup.floats.nbytes + self.lookup.ints.nbytes


def choose_kind(k: int, d: int, p: float) -> str:
    """The kind of index that measured fastest for k centroids, spread out, in d dimensions, in batches."""
    if p != 2.0:
        return "tree" if d <= _TREE_DIMENSIONS else "brute"
    if d == 2:
        return "table"
    # Products cost k; the tree costs a power of k that grows with d. They break even at 2,500 in 3D, 12,000 in 6D,
    # 90,000 in 10D.
    return "tree" if d <= _TREE_DIMENSIONS and k > 2500 * 2 ** ((d - 3) / 1.35) else "panels"


def build_index(unit_centroids: Floats, p: float = 2.0, kind: str | None = None) -> Index:
    """An exact index over (k, d) unit-scaled centroids; `kind` (one of KINDS) overrides the choice.

    A "table" is for two features and p = 2, "panels" and "principal" (by leading principal components) for p = 2;
    "tree" and "brute" are for all.
    """
    from tesselite.compiled.blocks import Lookup
    from tesselite.tessellation.nearest.filtered import expected_candidates, filter_tables, find_filtered
    from tesselite.tessellation.nearest.principal import leading_components, worthwhile_components
    from tesselite.tessellation.nearest.table import find_in_table, table_tables
    from tesselite.tessellation.nearest.tree import find_by_all, find_in_tree, tree_tables

    centroids = np.ascontiguousarray(unit_centroids, dtype=np.float64)
    k, d = centroids.shape
    chosen = kind is None
    kind = kind or choose_kind(k, d, p)
    if kind not in KINDS:
        raise ValueError(f"kind: expected one of {', '.join(KINDS)}, got {kind!r}")
    if kind == "table" and (d != 2 or p != 2.0):
        raise ValueError(f"kind: a table needs two features and p = 2, got {d} and p = {p}")
    if kind in ("panels", "principal"):
        if p != 2.0:
            raise ValueError(f"kind: {kind} needs p = 2, got p = {p}")
        center, components = centroids.mean(axis=0), None
        worthwhile = worthwhile_components(centroids) if chosen or kind == "principal" else None
        if worthwhile is not None:
            kind = "principal"
            center, components = worthwhile
        elif kind == "principal":
            center, components, _ = leading_components(centroids, min(24, d))
        tables = filter_tables(centroids, center, components)
        if not (chosen and d <= _TREE_DIMENSIONS and expected_candidates(centroids, tables[0]) > 8.0):
            return Index(kind, centroids, Lookup(find_filtered, *tables))
        kind = "tree"  # too crowded for integers to tell centroids apart
    if kind == "table":
        inside = bool(((centroids >= 0.0) & (centroids <= 1.0)).all())
        table = table_tables(centroids) if inside else None
        if table is not None:
            return Index(kind, centroids, Lookup(find_in_table, *table))
        kind = "tree"
    find = find_in_tree if kind == "tree" else find_by_all
    return Index(kind, centroids, Lookup(find, *tree_tables(centroids, p, with_nodes=kind == "tree")))
