"""The command that constructs tessellations: `cvt`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from tesselite.cli.display import print_json


def make_cvt(
    dims: int,
    n_niches: int,
    *,
    n_samples: int | None,
    seed: int | None,
    p: float,
    iterations: int | None,
    out: Path | None,
    threads: int | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Construct a CVT of the unit box, save it and tell about it."""
    from tesselite.atomic import write_atomically
    from tesselite.feature_space import FeatureSpace
    from tesselite.seeds import checked_seed
    from tesselite.tessellation.cvt import cvt

    options: dict[str, Any] = {} if iterations is None else {"iterations": iterations}
    if dims < 1:
        raise ValueError(f"--dims: expected at least 1 feature, got {dims}")
    tessellation = cvt(
        FeatureSpace.unit(dims),
        n_niches,
        n_samples=n_samples,
        seed=checked_seed(seed),
        p=p,
        threads=threads,
        **options,
    )
    file = out or Path(f"centroids_{n_niches}_{dims}.parquet")
    write_atomically(file, lambda part: tessellation.save(part))
    record = tessellation.record
    assert record is not None
    about = {
        "n_niches": n_niches,
        "dims": dims,
        "n_samples": record.n_samples,
        "p": p,
        "iterations": record.iterations,
        "converged": record.converged,
        "mean_squared_distance": record.errors[-1],
        "seconds": record.seconds,
        "out": str(file),
    }
    if as_json:
        print_json(about)
    elif not quiet:
        typer.echo(f"{n_niches:,} centroids in {dims} dimensions, {record.iterations} iterations: {file}")
