"""The command that constructs tessellations: `cvt`."""

from __future__ import annotations

import errno
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tesselite.base.atomic import cannot_write
from tesselite.base.terminal import say
from tesselite.cli.display import print_json, user_prints_to_stderr
from tesselite.runs.display import shown_run
from tesselite.spaces.features import FeatureSpace
from tesselite.tessellation.voronoi import p_to_json

if TYPE_CHECKING:
    from tesselite.tessellation.cvt import CvtJob


_WORTH_A_FORECAST = 200_000  # values of centroids, below which a construction takes little more time than a forecast
_LONG_SECONDS = 5.0


def show_cache(as_json: bool) -> None:
    """List the cached tessellations."""
    from tesselite.tessellation.cache import list_cache, tessellation_cache

    entries = list_cache()
    if as_json:
        shown = [asdict(e) | {"path": str(e.path), "p": p_to_json(e.p)} for e in entries]
        print_json({"folder": str(tessellation_cache()), "entries": shown})
        return
    typer.echo(f"{len(entries)} tessellations in {tessellation_cache()}")
    for e in entries:
        typer.echo(
            f"{e.path.name}  {e.n_niches:,} niches, {e.dims} features, p = {e.p:g}, {e.method}, "
            f"seed {e.seed}, {e.sampler}, {e.seconds:.1f} s, {e.n_bytes / 1e6:.1f} MB"
        )


def make_cvt(
    dims: int | None,
    spec: str | None,
    n_niches: int,
    *,
    n_samples: int | None,
    seed: int | None,
    p: float,
    iterations: int | None,
    tolerance: float | None,
    method: str | None,
    density: str | None,
    start: str | None,
    out: Path | None,
    plot: Path | None,
    dry_run: bool,
    cache: bool,
    threads: int | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Construct a CVT of the unit cube, or of the features of the problem that `spec` names, save it and tell about it.

    Or only forecast what that would cost. Whatever is wrong with the files shows before the construction.
    """
    from tesselite.base.seeds import checked_seed
    from tesselite.runs.folder import check_output
    from tesselite.tessellation.files import check_ending

    with user_prints_to_stderr():
        space = _space(dims, spec)
    if density is not None:
        from tesselite.tessellation.samplers import by_name, with_sampler

        space = with_sampler(space, by_name(density, space))
    file = out or Path(f"centroids_{n_niches}_{space.n}.parquet")
    check_output("--out", file)
    check_ending("--out", file)
    if plot is not None:
        from tesselite.tessellation import pictures

        check_output("--plot", plot)
        pictures.check_ending("--plot", plot)
    if dry_run:
        from tesselite.tessellation.forecast import forecast

        expected = asdict(forecast(space, n_niches, n_samples, p, iterations, method, threads))
        _tell({"n_niches": n_niches, "dims": space.n, "p": p_to_json(p), **expected}, as_json)
        return
    for path in (file, plot):
        if path is not None:
            _check_writable(path)
    from tesselite.tessellation.cvt import cvt, plan
    from tesselite.tessellation.quality import describe

    seed = checked_seed(seed)
    job = plan(space, n_niches, n_samples, seed, p, iterations, tolerance, method=method, start=start, threads=threads)
    if not quiet:
        say_what_to_expect(job, cache)
    started = time.perf_counter()
    with user_prints_to_stderr(), shown_run(quiet, job.iterations) as display:
        tessellation = cvt(
            space,
            n_niches,
            n_samples=n_samples,
            seed=seed,
            p=p,
            iterations=iterations,
            tolerance=tolerance,
            method=method,
            start=start,
            on_iteration=display.constructing if display else None,
            threads=threads,
            cache=cache,
        )
    tessellation.save(file)
    about: dict[str, Any] = describe(tessellation)
    about |= {"out": str(file), "seconds_command": time.perf_counter() - started}
    if plot is not None:
        pictures.plot_tessellation(tessellation, plot)
        about["plot"] = str(plot)
    if as_json or not quiet:
        _tell(about, as_json)


def say_what_to_expect(job: CvtJob, cache: bool) -> None:
    """Before a construction that may take long: for how long, and what to mind. Nothing if it is in the cache."""
    from tesselite.tessellation.cache import cache_path
    from tesselite.tessellation.forecast import as_duration, forecast

    path = cache_path(job) if cache else None
    if job.k * job.space.n < _WORTH_A_FORECAST or (path is not None and path.is_file()):
        return
    n_samples = None if job.method == "exact" else job.n_samples
    expected = forecast(job.space, job.k, n_samples, job.p, job.iterations, job.method, job.threads)
    if expected.seconds >= _LONG_SECONDS or expected.warnings:
        say(f"constructing {job.k:,} niches: up to about {as_duration(expected.seconds)}")
    for warning in expected.warnings:
        say(f"warning: {warning}")


def _space(dims: int | None, spec: str | None) -> FeatureSpace:
    """The features of the problem, which has its own way of sampling them, or the unit cube."""
    if spec is not None:
        from tesselite.problems import by_name

        features = by_name(spec).features
        if dims not in (None, features.n):
            raise ValueError(f"--dims: {spec} has {features.n} features, not {dims}; leave --dims out")
        return features
    if dims is None or not 1 <= dims <= 1_000_000:
        raise ValueError(f"--dims: expected 1 to 1,000,000 features, got {dims}")
    return FeatureSpace.unit(dims)


def _check_writable(file: Path) -> None:
    """OSError if the file cannot be written; its folders may have to be made yet."""
    if file.is_dir():
        raise cannot_write(file, IsADirectoryError(errno.EISDIR, ""))
    folder = next(folder for folder in file.absolute().parents if folder.exists())
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise cannot_write(file, error) from error


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
