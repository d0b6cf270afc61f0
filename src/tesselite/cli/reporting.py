"""The commands that show runs in a browser: `report` and `watch`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import typer

from tesselite.base.terminal import one_line, say
from tesselite.cli.display import print_json, user_prints_to_stderr
from tesselite.cli.look import note_unagreed


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
    if as_json:
        print_json({"file": str(file), "bytes": size, "runs": [str(folder) for folder in folders]})
    else:
        typer.echo(one_line(f"report: {file} ({size / 1e6:.1f} MB; open it in a browser)"))


def watch_run(folder: Path, host: str, port: int, seconds: float) -> None:
    """Serve the page of a run, active or not, until stopped."""
    from tesselite.report.live import LiveServer

    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder}: expected the folder of a run, found a file")
    note_unagreed(folder)
    with LiveServer(folder, host, port, seconds) as server:
        typer.echo(one_line(f"watching {folder} on {server.url} (reads only; stop with Ctrl-C)"))
        if not server.loopback:
            say("anybody who can reach this machine can see the run")
        try:
            server.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:
            typer.echo("stopped")
