"""The commands that look at runs: `info`, `export`, `plot`, `film`, `report` and `watch`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tesselite.cli.options import FigureFormat, FigureOption, JsonOption, RunArgument, TrustOption, command, trust


@dataclass(frozen=True, kw_only=True)
class InfoOptions:
    """The options of `info`."""

    folder: RunArgument
    trust: TrustOption = False
    as_json: JsonOption = False


@command
def info(options: InfoOptions) -> None:
    """Show the settings and the state of a run."""
    from tesselite.cli.look import show_info

    trust(options.trust, options.folder)
    show_info(options.folder, options.as_json)


class ExportFormat(StrEnum):
    """The formats of exports."""

    CSV = "csv"
    NPZ = "npz"
    PARQUET = "parquet"
    PYRIBS = "pyribs"
    QDAX = "qdax"
    PYMAP_ELITES = "pymap_elites"
    SFERES2 = "sferes2"


@dataclass(frozen=True, kw_only=True)
class ExportOptions:
    """The options of `export`."""

    folder: RunArgument
    to: Annotated[ExportFormat | None, typer.Option(help="Format. Default: by the ending of --out, else csv.")] = None
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="The file (for qdax, the folder) to write. Default: DIR/elites.FORMAT."),
    ] = None
    negate: Annotated[
        bool, typer.Option("--negate", help="Negate fitness that is minimised, for libraries that maximise.")
    ] = False
    lossy: Annotated[
        bool, typer.Option("--lossy", help="Leave out records and labels that the other library's format cannot hold.")
    ] = False
    trust: TrustOption = False
    as_json: JsonOption = False


@command
def export(options: ExportOptions) -> None:
    """Write a run's elites in another format, or for another library."""
    from tesselite.cli.look import export_archive

    trust(options.trust, options.folder)
    to = None if options.to is None else options.to.value
    export_archive(options.folder, to, options.out, options.as_json, negate=options.negate, lossy=options.lossy)


@dataclass(frozen=True, kw_only=True)
class PlotOptions:
    """The options of `plot`."""

    folder: RunArgument
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder for the pictures. Default: DIR/figures, or FILE-figures.")
    ] = None
    kind: FigureOption = FigureFormat.PNG
    feature: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Feature for a parallel axis; can be repeated. Default: the 24 that vary most."
        ),
    ] = None
    trust: TrustOption = False
    as_json: JsonOption = False


@command
def plot(options: PlotOptions) -> None:
    """Draw a run (progress, archive, and the problem's own pictures) or a saved archive."""
    from tesselite.cli.picturing import plot as draw

    if options.folder.is_dir():
        trust(options.trust, options.folder)
    draw(options.folder, options.out, options.kind.value, options.feature, options.as_json)


@dataclass(frozen=True, kw_only=True)
class FilmOptions:
    """The options of `film`."""

    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder of a run of the hexapod, or of a problem with a film.")
    ]
    elite: Annotated[str, typer.Option(help="'best' or the number of a niche.")] = "best"
    scenario: Annotated[str | None, typer.Option(help="Scenario, such as 'leg 2'. Default: none.")] = None
    out: Annotated[Path, typer.Option("--out", "-o", help="The film: .gif, or .mp4 if ffmpeg is installed.")] = Path(
        "gait.gif"
    )
    trust: TrustOption = False
    as_json: JsonOption = False


@command
def film(options: FilmOptions) -> None:
    """Film an elite, such as a hexapod walking."""
    from tesselite.cli.picturing import make_film

    trust(options.trust, options.folder)
    make_film(options.folder, options.elite, options.scenario, options.out, options.as_json)


@dataclass(frozen=True, kw_only=True)
class ReportOptions:
    """The options of `report`."""

    folders: Annotated[
        list[Path],
        typer.Argument(metavar="DIR", help="Folders of runs, which are compared if several; or an archive file."),
    ]
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="The HTML file. Default: DIR/report.html for one run, FILE.html for an archive, else report.html.",
        ),
    ] = None
    trust: TrustOption = False
    as_json: JsonOption = False


@command
def report(options: ReportOptions) -> None:
    """Write an interactive page of one or more runs: a single HTML file that works offline."""
    from tesselite.cli.reporting import make_report

    trust(options.trust, *(folder for folder in options.folders if folder.is_dir()))
    make_report(options.folders, options.out, options.as_json)


@dataclass(frozen=True, kw_only=True)
class WatchOptions:
    """The options of `watch`."""

    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a run, which may not exist yet.")]
    port: Annotated[int, typer.Option(help="Port to listen on; 0 chooses a free one.")] = 8137
    host: Annotated[str, typer.Option(help="Address to listen on. Default: this machine only.")] = "127.0.0.1"
    seconds: Annotated[float, typer.Option(help="Refresh interval in seconds.")] = 2.0
    trust: TrustOption = False


@command
def watch(options: WatchOptions) -> None:
    """Show a run in a browser while it is in progress. Only reads its folder."""
    from tesselite.cli.reporting import watch_run

    trust(options.trust, options.folder)
    watch_run(options.folder, options.host, options.port, options.seconds)
