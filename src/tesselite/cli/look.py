"""The commands that look: `problems`, `info` and `export`."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import typer

from tesselite.cli.display import print_json, user_prints_to_stderr

_FORMATS = ("csv", "npz", "parquet")


def show_problems(as_json: bool) -> None:
    """List the built-in problems."""
    from tesselite.problems import BUILT_IN

    if as_json:
        print_json(
            {
                "problems": [
                    {"name": known.name, "variants": list(known.variants), "summary": known.summary}
                    for known in BUILT_IN
                ]
            }
        )
        return
    for known in BUILT_IN:
        typer.echo(f"{', '.join(known.variants)}\n    {known.summary}")
    typer.echo("\nYour own: decorate a function with @tesselite.problem in my_module.py, then")
    typer.echo("    tesselite run my_module:function_name")


def trust_problem(folder: Path) -> None:
    """Agree to import the problem that a run names, and say from where."""
    from tesselite.runs.folder import RunFolder
    from tesselite.runs.problem import agree_to_import, unagreed_file

    if (folder / "settings.json").exists():
        plan = RunFolder.open(folder).read().plan
        if file := unagreed_file(plan):
            typer.echo(f"{folder}: importing {plan.problem} from {file}", err=True)
            agree_to_import(plan)


def note_unagreed(folder: Path) -> None:
    """For commands that can do without the problem of a run: say so if it is not imported for want of agreement."""
    from tesselite.runs.folder import RunFolder
    from tesselite.runs.problem import not_agreed, unagreed_file

    if (folder / "settings.json").exists():
        plan = RunFolder.open(folder).read().plan
        if file := unagreed_file(plan):
            typer.echo(f"without what the problem shows: {not_agreed(folder, plan, file)}", err=True)


def _archive(path: Path) -> Any:
    from tesselite.archive.archive import Archive
    from tesselite.runs.problem import run_archive

    with user_prints_to_stderr():
        return run_archive(path)[0] if path.is_dir() else Archive.load(path)


def show_info(path: Path, as_json: bool) -> None:
    """What a run is and how far it came, or what an archive holds."""
    from tesselite.runs.folder import RunFolder
    from tesselite.runs.problem import run_archive

    about: dict[str, Any] = {}
    if path.is_dir():
        folder = RunFolder.open(path)
        stored = folder.read()
        plan = stored.plan
        rows = folder.read_progress()
        archive, done = None, 0
        if folder.archive_file.exists():
            with user_prints_to_stderr():
                archive, search = run_archive(path)
            done = search["evaluations"] if search else 0
        about = {
            "problem": plan.problem,
            "evaluations": done,
            "budget": stored.plan.evaluations,
            "finished": done == stored.plan.evaluations,
            "seed": plan.seed,
            "variation": plan.variation,
            "initial": plan.initial,
            "batch_size": plan.batch_size,
            "niches": plan.niches.to_dict(),
            "execution": plan.execution.to_dict(),
            "version": stored.version,
            "seconds_search": rows[-1]["seconds"] if rows else 0.0,
        }
    else:
        archive = _archive(path)
    if archive is not None:
        about |= {
            "n_niches": archive.n_niches,
            "filled": len(archive),
            "coverage": archive.coverage,
            "best_fitness": archive.best_fitness,
            "mean_fitness": archive.mean_fitness,
            "qd_score": archive.qd_score,
            "invalid": archive.invalid.total(),
            "invalid_reasons": dict(archive.invalid),
            "out_of_bounds": archive.out_of_bounds,
            "direction": archive.direction,
            "features": list(archive.tessellation.space.names),
        }
    about["out"] = str(path)
    if as_json:
        print_json(about)
        return
    for name, value in about.items():
        shown = (
            ", ".join(str(v) for v in value[:8]) + (", ..." if len(value) > 8 else "")
            if isinstance(value, list)
            else value
        )
        typer.echo(f"{name:15} {shown}")
    if archive is not None and archive.qd_score == 0.0 and len(archive):
        typer.echo(f"the QD score is 0 because no elite is better than the floor, {archive.floor:g}; set floor=")
    if about.get("finished") is False:
        typer.echo(f"not finished; continue with: {plan.how_to_resume(path)}")


def export_archive(path: Path, to: str | None, out: Path | None, as_json: bool) -> None:
    """Write the elites as CSV, as NumPy arrays or as a Parquet file that holds its tessellation.

    The format is `to`, or what the file's ending says, or CSV.
    """
    import numpy as np

    from tesselite.archive.file import save_archive
    from tesselite.assessment.tables import as_text
    from tesselite.base.atomic import write_atomically
    from tesselite.runs.folder import check_output, not_linked

    if out is not None:
        check_output("--out", out)
        if out.exists() and out.samefile(path):
            raise ValueError(f"--out: {out} is the archive to export; choose another file")
    ending = out.suffix.removeprefix(".") if out is not None else ""
    if to and ending in _FORMATS and ending != to:
        raise ValueError(f"--out: expected a file that ends in .{to}, or another --to, got {out}")
    if to is None and out is not None and ending not in _FORMATS:
        raise ValueError(f"--out: expected a file that ends in .csv, .npz or .parquet, or --to, got {out}")
    to = to or ending or "csv"
    archive = _archive(path)
    file = out or not_linked((path if path.is_dir() else path.parent) / f"elites.{to}")
    check_output("--out", file)
    elites = archive.elites()
    if to == "parquet":
        save_archive(archive, file)
    elif to == "npz":

        def write_arrays(part: Path) -> None:
            with part.open("wb") as stream:
                np.savez_compressed(
                    stream,
                    niches=elites.niches,
                    fitness=elites.fitness,
                    features=elites.features,
                    solutions=elites.solutions,
                    evaluations=elites.evaluations,
                    feature_names=np.array(elites.feature_names),
                )

        write_atomically(file, write_arrays)
    else:
        columns = elites.columns()

        def write_rows(part: Path) -> None:
            with part.open("w", newline="", encoding="utf-8") as stream:
                writer = csv.writer(stream)
                writer.writerow(map(as_text, columns))
                writer.writerows(zip(*(values.tolist() for values in columns.values()), strict=True))

        write_atomically(file, write_rows)
    if as_json:
        print_json({"out": str(file), "format": to, "elites": len(elites)})
    else:
        typer.echo(f"{len(elites):,} elites: {file}")
