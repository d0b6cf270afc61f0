"""The command that draws: `plot`."""

from __future__ import annotations

from pathlib import Path

import typer

from tesselite.cli.display import print_json


def plot(folder: Path, out: Path | None, kind: str, as_json: bool) -> None:
    """Draw a run and say where the pictures are."""
    from tesselite.report.plots import plot_run

    files = plot_run(folder, out or folder / "figures", kind)
    if as_json:
        print_json({"files": [str(file) for file in files]})
        return
    for file in files:
        typer.echo(str(file))
