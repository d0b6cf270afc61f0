"""The implementation of `cvt`, which constructs tessellations."""

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
from tesselite.cli.output import print_json, user_prints_to_stderr
from tesselite.runs.display import shown_run
from tesselite.spaces.features import FeatureSpace
from tesselite.tessellation import pictures
from tesselite.tessellation.voronoi import p_to_json

if TYPE_CHECKING:
    from tesselite.cli.commands.constructing import CvtCommandOptions
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


def make_cvt(options: CvtCommandOptions, n_niches: int) -> None:
    """Construct a CVT of the unit cube or of a problem's features, save it and report on it. Or only forecast the cost.
    Errors with files are reported before the construction.
    """
    from tesselite.base.seeds import checked_seed
    from tesselite.tessellation.cvt import CvtOptions, construct
    from tesselite.tessellation.forecast import forecast_of
    from tesselite.tessellation.quality import describe

    space = _space(options)
    file, plot = options.out or Path(f"centroids_{n_niches}_{space.n}.parquet"), options.plot
    _check_files(file, plot)
    job = CvtOptions(
        n_samples=options.samples,
        seed=checked_seed(options.seed),
        p=options.p,
        iterations=options.iterations,
        tolerance=options.tolerance,
        method=options.method,
        start=options.start,
        threads=options.threads,
    ).job(space, n_niches)
    if options.dry_run:
        expected = asdict(forecast_of(job))
        _tell({"n_niches": n_niches, "dims": space.n, "p": p_to_json(job.p), **expected}, options.as_json)
        return
    for path in (file, plot):
        if path is not None:
            _check_writable(path)
    cache, quiet = not options.no_cache, options.quiet
    if not quiet:
        say_what_to_expect(job, cache)
    started = time.perf_counter()
    with user_prints_to_stderr(), shown_run(quiet, job.iterations) as display:
        tessellation = construct(job, display.constructing if display else None, cache)
    tessellation.save(file)
    about: dict[str, Any] = describe(tessellation)
    about |= {"out": str(file), "seconds_command": time.perf_counter() - started}
    if plot is not None:
        pictures.plot_tessellation(tessellation, plot)
        about["plot"] = str(plot)
    if options.as_json or not quiet:
        _tell(about, options.as_json)


def _check_files(file: Path, plot: Path | None) -> None:
    """ValueError if the names of the output files are invalid."""
    from tesselite.runs.folder import check_output
    from tesselite.tessellation.files import check_ending

    check_output("--out", file)
    check_ending("--out", file)
    if plot is not None:
        check_output("--plot", plot)
        pictures.check_ending("--plot", plot)


def say_what_to_expect(job: CvtJob, cache: bool) -> None:
    """Before a long construction, print its duration and warnings. Nothing if it is in the cache."""
    from tesselite.tessellation.cache import cache_path
    from tesselite.tessellation.forecast import as_duration, forecast_of

    path = cache_path(job) if cache else None
    if job.k * job.space.n < _WORTH_A_FORECAST or (path is not None and path.is_file()):
        return
    expected = forecast_of(job)
    if expected.seconds >= _LONG_SECONDS or expected.warnings:
        say(f"constructing {job.k:,} niches: up to about {as_duration(expected.seconds)}")
    for warning in expected.warnings:
        say(f"warning: {warning}")


def _space(options: CvtCommandOptions) -> FeatureSpace:
    """The features of the problem, with its own sampler, or the unit cube; sampled as requested."""
    dims, spec = options.dims, options.problem
    if spec is not None:
        from tesselite.problems import by_name

        with user_prints_to_stderr():
            space = by_name(spec).features
        if dims not in (None, space.n):
            raise ValueError(f"--dims: {spec} has {space.n} features, not {dims}; leave --dims out")
    elif dims is None or not 1 <= dims <= 1_000_000:
        raise ValueError(f"--dims: expected 1 to 1,000,000 features, got {dims}")
    else:
        space = FeatureSpace.unit(dims)
    if options.density is None:
        return space
    from tesselite.tessellation.samplers import by_name as sampler_by_name
    from tesselite.tessellation.samplers import with_sampler

    return with_sampler(space, sampler_by_name(options.density, space))


def _check_writable(file: Path) -> None:
    """OSError if the file cannot be written; its folders may not exist yet."""
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
