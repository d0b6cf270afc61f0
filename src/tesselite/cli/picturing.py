"""The commands that draw: `plot` and `film`."""

from __future__ import annotations

from pathlib import Path

import typer

from tesselite.base.terminal import one_line, say
from tesselite.cli.display import print_json, user_prints_to_stderr


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
    if as_json:
        print_json({"files": [str(file) for file in files]})
        return
    for file in files:
        typer.echo(one_line(file))


def make_film(folder: Path, elite: str, scenario: str | None, out: Path, as_json: bool) -> None:
    """Film one elite of a run and say where the film is."""
    from tesselite.archive.archive import Archive
    from tesselite.runs.folder import RunFolder, check_output
    from tesselite.runs.problem import problem_of

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
    if as_json:
        print_json({"out": str(out), "niche": found.niche, "fitness": found.fitness, **said})
    else:
        typer.echo(one_line(out))
