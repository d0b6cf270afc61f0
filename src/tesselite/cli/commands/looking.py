"""The commands that look at runs: `info`, `export`, `plot`, `film`, `report` and `watch`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from tesselite.cli.options import (
    FigureFormat,
    FigureOption,
    JsonOption,
    RunArgument,
    TrustOption,
    argument,
    command,
    option,
    trust,
)


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
    to: ExportFormat | None = option("Format. Default: from the extension of --out, else csv.")
    out: Path | None = option("The file (for qdax, the folder) to write. Default: DIR/elites.FORMAT.", "--out", "-o")
    negate: bool = option("Negate fitness that is minimised, for libraries that maximise.", "--negate", default=False)
    lossy: bool = option(
        "Leave out records and labels that the other library's format cannot hold.", "--lossy", default=False
    )
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
    out: Path | None = option("Folder for the pictures. Default: DIR/figures, or FILE-figures.", "--out", "-o")
    kind: FigureOption = FigureFormat.PNG
    feature: list[str] | None = option(
        "Feature for a parallel axis; can be repeated. Default: the 24 that vary most.", metavar="NAME"
    )
    trust: TrustOption = False
    as_json: JsonOption = False


@command
def plot(options: PlotOptions) -> None:
    """Draw a run (progress, archive, and the problem's own pictures) or a saved archive."""
    from tesselite.cli.look import plot as draw

    if options.folder.is_dir():
        trust(options.trust, options.folder)
    draw(options.folder, options.out, options.kind.value, options.feature, options.as_json)


@dataclass(frozen=True, kw_only=True)
class FilmOptions:
    """The options of `film`."""

    folder: Path = argument("Folder of a run of the hexapod, or of a problem with a film.", metavar="DIR")
    elite: str = option("'best' or the number of a niche.", default="best")
    scenario: str | None = option("Scenario, such as 'leg 2'. Default: none.")
    out: Path = option("The film: .gif, or .mp4 if ffmpeg is installed.", "--out", "-o", default=Path("gait.gif"))
    trust: TrustOption = False
    as_json: JsonOption = False


@command
def film(options: FilmOptions) -> None:
    """Film an elite, such as a hexapod walking."""
    from tesselite.cli.look import make_film

    trust(options.trust, options.folder)
    make_film(options.folder, options.elite, options.scenario, options.out, options.as_json)


@dataclass(frozen=True, kw_only=True)
class ReportOptions:
    """The options of `report`."""

    folders: list[Path] = argument("Folders of runs, which are compared if several; or an archive file.", metavar="DIR")
    out: Path | None = option(
        "The HTML file. Default: DIR/report.html for one run, FILE.html for an archive, else report.html.",
        "--out",
        "-o",
    )
    trust: TrustOption = False
    as_json: JsonOption = False


@command
def report(options: ReportOptions) -> None:
    """Write an interactive page of one or more runs: a single HTML file that works offline."""
    from tesselite.cli.look import make_report

    trust(options.trust, *(folder for folder in options.folders if folder.is_dir()))
    make_report(options.folders, options.out, options.as_json)


@dataclass(frozen=True, kw_only=True)
class WatchOptions:
    """The options of `watch`."""

    folder: Path = argument("Folder of a run, which may not exist yet.", metavar="DIR")
    port: int = option("Port to listen on; 0 chooses a free one.", default=8137)
    host: str = option("Address to listen on. Default: this machine only.", default="127.0.0.1")
    seconds: float = option("Refresh interval in seconds.", default=2.0)
    trust: TrustOption = False


@command
def watch(options: WatchOptions) -> None:
    """Show a run in a browser while it is in progress. Only reads its folder."""
    from tesselite.cli.look import watch_run

    trust(options.trust, options.folder)
    watch_run(options.folder, options.host, options.port, options.seconds)
