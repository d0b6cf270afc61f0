"""What the commands that look at runs do: `problems`, `info`, `export`, `plot`, `film`, `report` and `watch`."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tesselite.base.terminal import one_line, say
from tesselite.cli.output import print_json, tell, user_prints_to_stderr

if TYPE_CHECKING:
    from tesselite.archive.archive import Archive
    from tesselite.archive.elites import Elites
    from tesselite.runs.plan import Plan
    from tesselite.search.map_elites import Change

_FORMATS = ("csv", "npz", "parquet")


def show_problems(as_json: bool) -> None:
    """List the built-in problems."""
    from tesselite.problems import BUILT_IN

    if as_json:
        keys = ("name", "variants", "summary")
        print_json({"problems": [{key: getattr(known, key) for key in keys} for known in BUILT_IN]})
        return
    for known in BUILT_IN:
        typer.echo(f"{', '.join(known.variants)}\n    {known.summary}")
    typer.echo("\nYour own: decorate a function with @tesselite.problem in my_module.py, then")
    typer.echo("    tesselite run my_module:function_name")


def trust_problem(folder: Path) -> None:
    """Agree to import the problem that a run names, and print its file."""
    from tesselite.runs.folder import RunFolder
    from tesselite.runs.loading import agree_to_import, unagreed_file

    if (folder / "settings.json").exists():
        plan = RunFolder.open(folder).read().plan
        if file := unagreed_file(plan):
            say(f"{folder}: importing the run's problem from {file}")
            agree_to_import(plan)


def note_unagreed(folder: Path) -> None:
    """Notify the user if the problem of a run is not imported because it was not agreed to."""
    from tesselite.runs.folder import RunFolder
    from tesselite.runs.loading import not_agreed, unagreed_file

    if (folder / "settings.json").exists():
        plan = RunFolder.open(folder).read().plan
        if file := unagreed_file(plan):
            say(f"the problem's own views are left out: {not_agreed(folder, plan, file)}")


def _archive(path: Path) -> Archive:
    from tesselite.archive.archive import Archive
    from tesselite.runs.loading import run_archive

    with user_prints_to_stderr():
        return run_archive(path)[0] if path.is_dir() else Archive.load(path)


def show_info(path: Path, as_json: bool) -> None:
    """The settings and state of a run, or the content of an archive: a summary, or all of it as JSON."""
    if not path.is_dir():
        archive = _archive(path)
        about, lines = _figures(archive), _archive_lines(archive)
    else:
        about, lines = _about_run(path)
    shown = [f"  {name:12} {text}" for name, text in lines]
    tell({**about, "out": str(path)}, as_json, f"{path}: {about.get('state', 'an archive')}", *shown)


def _size(n_bytes: int) -> str:
    """A number of bytes in words."""
    return f"{n_bytes / 1e6:,.1f} MB" if n_bytes >= 1e6 else f"{n_bytes / 1e3:,.1f} kB"


def _about_run(path: Path) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """A run as JSON and as lines for people."""
    from tesselite.archive.history import HISTORY, HistorySize
    from tesselite.report.page.run_data import locked
    from tesselite.runs.folder import RunFolder
    from tesselite.runs.loading import run_archive
    from tesselite.search.map_elites import saved_changes

    folder = RunFolder.open(path)
    stored = folder.read()
    plan, rows = stored.plan, folder.read_progress()
    archive, saved = None, 0
    changes: list[Change] = []
    if folder.archive_file.exists():
        with user_prints_to_stderr():
            archive, search = run_archive(path)
        saved = search["evaluations"] if search else 0
        changes = saved_changes(search)
    finished = saved >= plan.evaluations
    done = folder.count_finished(stored, saved)
    seconds = rows[-1]["seconds"] if rows else 0.0
    about = {
        "problem": plan.problem,
        "state": "finished" if finished else "running" if locked(path) else "not finished",
        "evaluations": done,
        "budget": plan.evaluations,
        "finished": finished,
        **_plan_figures(plan),
        "changes": [asdict(change) for change in changes],
        "version": stored.version,
        "seconds_search": seconds,
    }
    lines = [
        ("problem", plan.problem),
        ("evaluations", f"{done:,} of {plan.evaluations:,}, {seconds:,.1f} s of search"),
    ]
    if done > saved:
        lines.append(("", f"{done - saved:,} of them are in the log, not yet in the archive"))
    if archive is not None:
        about |= _figures(archive)
        lines += _archive_lines(archive)
    lines += [*_plan_lines(plan, archive, changes), ("tesselite", stored.version)]
    if plan.history:
        size = HistorySize.of(path)
        about["history"] = {"evaluations": size.evaluations, "parts": size.parts, "bytes": size.n_bytes}
        lines.append(("history", f"{size.evaluations:,} evaluations, {_size(size.n_bytes)} in {path / HISTORY}"))
    if stopped := stored.stopped(done):
        about["stopped"] = stopped
        lines.append(("stopped early", one_line(stopped)))
    if about["state"] == "not finished":
        lines.append(("continue", plan.how_to_resume(path)))
    return about, lines


def _plan_figures(plan: Plan) -> dict[str, Any]:
    """The plan of a run as JSON."""
    return {
        "seed": plan.seed,
        "emitter": plan.emitter,
        "initial": plan.initial,
        "start": plan.start and plan.start.to_dict(),
        "batch_size": plan.batch_size,
        "niches": plan.niches.to_dict(),
        "execution": plan.execution.to_dict(),
    }


def _plan_lines(plan: Plan, archive: Archive | None, changes: list[Change]) -> list[tuple[str, str]]:
    """The plan of a run, and the changes of its niches, as text."""
    return [
        ("niches", plan.niches.label),
        *(_growth_lines(archive, changes) if archive is not None and plan.niches.grows else []),
        ("emitter", plan.emitter),
        ("batches", f"{plan.beginning}, then batches of {plan.batch_size:,}"),
        ("seed", str(plan.seed)),
        *((name.lower(), text) for name, text in plan.execution.shown()),
    ]


def _growth_lines(archive: Archive, changes: list[Change]) -> list[tuple[str, str]]:
    from tesselite.search.map_elites import changes_in_words

    space = archive.tessellation.space
    bounds = [f"{name} {a:.4g} to {b:.4g}" for name, a, b in zip(space.names, space.low, space.high, strict=True)]
    more = f" and {len(bounds) - 4} more" if len(bounds) > 4 else ""
    return [("growth", changes_in_words(changes)), *([("bounds", ", ".join(bounds[:4]) + more)] if changes else [])]


def _figures(archive: Archive) -> dict[str, Any]:
    from tesselite.archive.figures import OF_NICHES, figures_of

    figures = {"n_niches": archive.n_niches, **figures_of(archive)}
    return {
        **(figures if archive.has_niches else figures | dict.fromkeys(OF_NICHES)),
        "invalid_reasons": dict(archive.invalid),
        "direction": archive.direction,
        "features": list(archive.tessellation.space.names),
    }


def _archive_lines(archive: Archive) -> list[tuple[str, str]]:
    names = archive.tessellation.space.names
    lines = [
        ("features", ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")),
        ("filled", f"{len(archive):,} of {archive.n_niches:,} niches ({archive.coverage:.1%})")
        if archive.has_niches
        else ("kept", f"{len(archive):,} solutions, without niches"),
    ]
    if len(archive):
        lines.append(
            (
                "fitness",
                f"best {archive.best_fitness:z.6g}, mean {archive.mean_fitness:z.6g} ({archive.direction}imised)",
            )
        )
    qd_score = archive.qd_score if archive.has_niches else None
    if qd_score == 0.0 and len(archive):
        lines.append(("QD score", f"0, because no elite is better than the floor, {archive.floor:g}; set floor="))
    elif qd_score is not None:
        lines.append(("QD score", f"{qd_score:.6g}"))
    if archive.invalid.total():
        reasons = "; ".join(f"{n:,} x {why}" for why, n in archive.invalid.most_common(5))
        lines.append(("invalid", f"{archive.invalid.total():,} evaluations: {reasons}"))
    if archive.out_of_bounds:
        lines.append(("outside", f"{archive.out_of_bounds:,} evaluations, which went to the nearest niche"))
    return lines


def export_archive(
    path: Path, to: str | None, out: Path | None, as_json: bool, *, negate: bool = False, lossy: bool = False
) -> None:
    """Write the elites as CSV, as NumPy arrays, as a Parquet file that holds its tessellation, or for another library.

    The format is `to`, or that of the file's ending, or CSV. `negate` and `lossy` are for other libraries.
    """
    from tesselite.archive.file import save_archive
    from tesselite.base.atomic import write_atomically
    from tesselite.runs.folder import check_output, not_linked

    if out is not None:
        check_output("--out", out)
        if out.exists() and out.samefile(path):
            raise ValueError(f"--out: {out} is the archive to export; choose another file")
    if to is not None and to not in _FORMATS:
        from tesselite.cli.exchange_archives import export_to

        export_to(_archive(path), path, to, out, negate, lossy, as_json)
        return
    if negate or lossy:
        raise ValueError("--negate, --lossy: only valid with --to pyribs, qdax, pymap_elites or sferes2")
    to = _format(to, out)
    archive = _archive(path)
    file = out or not_linked((path if path.is_dir() else path.parent) / f"elites.{to}")
    check_output("--out", file)
    elites = archive.elites()
    if to == "parquet":
        save_archive(archive, file)
    else:
        write = _write_arrays if to == "npz" else _write_rows
        write_atomically(file, lambda part: write(elites, part))
    tell({"out": str(file), "format": to, "elites": len(elites)}, as_json, f"{len(elites):,} elites: {file}")


def _format(to: str | None, out: Path | None) -> str:
    """The format to export to."""
    ending = out.suffix.removeprefix(".") if out is not None else ""
    if to and ending in _FORMATS and ending != to:
        raise ValueError(f"--out: expected a file that ends in .{to}, or another --to, got {out}")
    if to is None and out is not None and ending not in _FORMATS:
        raise ValueError(f"--out: expected a file that ends in .csv, .npz or .parquet, or --to, got {out}")
    return to or ending or "csv"


def _write_arrays(elites: Elites, file: Path) -> None:
    import numpy as np

    recorded: dict[str, Any] = {
        f"record {name}": values.astype(str) if values.dtype.kind == "O" else values
        for name, values in elites.records.items()
    }
    with file.open("wb") as stream:
        np.savez_compressed(
            stream,
            niches=elites.niches,
            fitness=elites.fitness,
            features=elites.features,
            solutions=elites.solutions,
            evaluations=elites.evaluations,
            feature_names=np.array(elites.feature_names),
            **recorded,
        )


def _write_rows(elites: Elites, file: Path) -> None:
    from tesselite.base.spreadsheets import as_text

    columns = elites.columns()
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(map(as_text, columns))
        shown = (
            [as_text(value) if isinstance(value, str) else value for value in values.tolist()]
            for values in columns.values()
        )
        writer.writerows(zip(*shown, strict=True))


def plot(folder: Path, out: Path | None, kind: str, features: list[str] | None, as_json: bool) -> None:
    """Draw a run, or a saved archive, and say where the pictures are."""
    from tesselite.archive.archive import Archive
    from tesselite.report.run_figures import plot_archive, plot_run
    from tesselite.runs.folder import not_linked

    is_file = folder.is_file()
    out = out or not_linked(folder.with_name(f"{folder.stem}-figures") if is_file else folder / "figures")
    if out.exists() and not out.is_dir():
        raise ValueError(f"--out: expected a folder for the pictures, {out} is a file")
    with user_prints_to_stderr():
        if is_file:
            archive = Archive.load(folder)
            title = f"{folder.stem}: {len(archive):,} of {archive.n_niches:,} niches filled"
            files = plot_archive(archive, out, kind, title, features or None, say)
        else:
            files = plot_run(folder, out, kind, say, features or None)
    tell({"files": [str(file) for file in files]}, as_json, *files)


def make_film(folder: Path, elite: str, scenario: str | None, out: Path, as_json: bool) -> None:
    """Film one elite of a run and say where the film is."""
    from tesselite.archive.archive import Archive
    from tesselite.runs.folder import RunFolder, check_output
    from tesselite.runs.loading import problem_of

    check_output("--out", out)
    place = RunFolder.open(folder)
    problem = problem_of(folder, place.read().plan)
    if problem.film is None:
        raise ValueError(f"{folder}: expected a run of a problem with a film, such as hexapod; {problem.name} has none")
    archive = Archive.load(place.archive_file)
    if elite == "best":
        found = archive.best
    elif elite.isdecimal() and int(elite) < archive.n_niches:
        found = archive.get(int(elite))
    else:
        raise ValueError(f"--elite: expected 'best' or the number of a niche below {archive.n_niches}, got {elite!r}")
    if found is None:
        raise ValueError(f"--elite: niche {elite} of {folder} is empty")
    with user_prints_to_stderr():
        said = problem.film(found.solution, scenario, out, f"niche {found.niche}")
    tell({"out": str(out), "niche": found.niche, "fitness": found.fitness, **said}, as_json, out)


def make_report(folders: Sequence[Path], out: Path | None, as_json: bool) -> None:
    """Write the interactive page of one run or several, and say where it is."""
    from tesselite.report.page import write_report
    from tesselite.runs.folder import not_linked

    for folder in folders:
        note_unagreed(folder)
    alone = folders[0] if len(folders) == 1 else None
    if alone is not None and alone.is_file():
        out = out or not_linked(alone.with_suffix(".html"))
    out = out or not_linked(alone / "report.html" if alone is not None else Path("report.html"))
    with user_prints_to_stderr():
        file = write_report(folders, out)
    size = file.stat().st_size
    about = {"file": str(file), "bytes": size, "runs": [str(folder) for folder in folders]}
    tell(about, as_json, f"report: {file} ({size / 1e6:.1f} MB; open it in a browser)")


def watch_run(folder: Path, host: str, port: int, seconds: float) -> None:
    """Serve the page of a run, going on or not, until stopped."""
    from tesselite.report.live import LiveServer

    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder}: expected the folder of a run, found a file")
    note_unagreed(folder)
    with LiveServer(folder, host, port, seconds) as server:
        typer.echo(one_line(f"watching {folder} on {server.url} (reads only; stop with Ctrl-C)"))
        if not (folder / "settings.json").exists():
            say("there is no run in this folder yet; it is shown as soon as it starts")
        if not server.loopback:
            say("anybody who can reach this machine can see the run")
        try:
            server.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:
            typer.echo("stopped")
