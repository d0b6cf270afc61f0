"""The command that constructs tessellations: `cvt`."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from tesselite.cli.display import print_json, shown_construction


def show_cache(as_json: bool) -> None:
    """List the cached tessellations."""
    from tesselite.tessellation.cache import list_cache, tessellation_cache

    entries = list_cache()
    if as_json:
        print_json(
            {"folder": str(tessellation_cache()), "entries": [asdict(e) | {"path": str(e.path)} for e in entries]}
        )
        return
    typer.echo(f"{len(entries)} tessellations in {tessellation_cache()}")
    for e in entries:
        typer.echo(
            f"{e.path.name}  {e.n_niches:,} niches, {e.dims} features, p = {e.p:g}, {e.method}, "
            f"seed {e.seed}, {e.sampler}, {e.seconds:.1f} s, {e.n_bytes / 1e6:.1f} MB"
        )


def make_cvt(
    dims: int,
    n_niches: int,
    *,
    n_samples: int | None,
    seed: int | None,
    p: float,
    iterations: int | None,
    tolerance: float | None,
    method: str | None,
    start: str | None,
    out: Path | None,
    plot: Path | None,
    dry_run: bool,
    cache: bool,
    threads: int | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Construct a CVT of the unit box, save it and tell about it; or only forecast what that would cost."""
    from tesselite.feature_space import FeatureSpace
    from tesselite.run_folder import check_output
    from tesselite.seeds import checked_seed

    for option, path in (("--out", out), ("--plot", plot)):
        if path is not None:
            check_output(option, path)
    if not 1 <= dims <= 1_000_000:
        raise ValueError(f"--dims: expected 1 to 1,000,000 features, got {dims}")
    space = FeatureSpace.unit(dims)
    if dry_run:
        from tesselite.tessellation.forecast import forecast

        expected = asdict(forecast(space, n_niches, n_samples, p, iterations, method, threads))
        _tell({"n_niches": n_niches, "dims": dims, "p": p, **expected}, as_json)
        return
    from tesselite.tessellation.cvt import cvt
    from tesselite.tessellation.quality import describe

    started = time.perf_counter()
    with shown_construction(quiet) as progress:
        tessellation = cvt(
            space,
            n_niches,
            n_samples=n_samples,
            seed=checked_seed(seed),
            p=p,
            iterations=iterations,
            tolerance=tolerance,
            method=method,
            start=start,
            progress=progress,
            threads=threads,
            cache=cache,
        )
    file = out or Path(f"centroids_{n_niches}_{dims}.parquet")
    tessellation.save(file)
    about: dict[str, Any] = describe(tessellation)
    about |= {"out": str(file), "seconds_command": time.perf_counter() - started}
    if plot is not None:
        from tesselite.tessellation.pictures import plot_tessellation

        plot_tessellation(tessellation, plot)
        about["plot"] = str(plot)
    if as_json or not quiet:
        _tell(about, as_json)


def _tell(about: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(about)
        return
    for name, value in about.items():
        if name == "warnings":
            for warning in value:
                typer.echo(f"warning: {warning}")
        else:
            typer.echo(f"{name:22} {f'{value:.6g}' if isinstance(value, float) else value}")
