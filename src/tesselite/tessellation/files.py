"""Tessellations on disk: centroids in feature units, with their provenance, in one Parquet file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from tesselite.feature_space import FeatureSpace
from tesselite.tessellation.voronoi import VoronoiTessellation

_KEY = b"tesselite.tessellation"


def save_tessellation(tessellation: VoronoiTessellation, path: str | Path) -> None:
    """Write the centroids, one column per feature."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    space = tessellation.space
    columns = {name: tessellation.centroids[:, j].copy() for j, name in enumerate(space.names)}
    about = {
        "p": tessellation.p,
        "low": space.low.tolist(),
        "high": space.high.tolist(),
        "scales": {name: scale.name for name, scale in space.scales.items()},
    }
    table = pa.table(columns).replace_schema_metadata({_KEY: json.dumps(about).encode()})
    pq.write_table(table, path, compression="zstd", use_dictionary=False)


def load_tessellation(path: str | Path, space: FeatureSpace | None = None) -> VoronoiTessellation:
    """Read what `save_tessellation` wrote; `space` is needed where features have custom scales."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.ParquetFile(path, thrift_string_size_limit=2**31 - 1).read()
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{path}: not a readable Parquet file, or damaged ({str(error).splitlines()[0]})") from None
    raw = (table.schema.metadata or {}).get(_KEY)
    if raw is None:
        raise ValueError(f"{path}: not a tessellation of tesselite")
    about = json.loads(raw)
    centroids = np.stack([column.to_numpy() for column in table.columns], axis=1)
    if space is None:
        bounds = zip(about["low"], about["high"], strict=True)
        space = FeatureSpace(dict(zip(table.column_names, bounds, strict=True)), scales=about["scales"])
    return VoronoiTessellation(space, centroids, p=about["p"])
