"""The page as one file: template, style, scripts, data and Plotly, with nothing to load from elsewhere. A content
security policy in the page forbids all network requests.
"""

from __future__ import annotations

import html
import importlib.util
from collections.abc import Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from tesselite import __version__
from tesselite.archive.archive import Archive
from tesselite.base.importing import how_to_install
from tesselite.base.text_files import write_text
from tesselite.report.page.packed_arrays import PackedArrays, document_text, packed_text
from tesselite.report.page.run_data import RunData, archive_data, describe_run, read_run
from tesselite.report.page.views import VIEW_BYTES
from tesselite.runs.folder import check_output

_SCRIPTS = (
    *("page", "numbers", "colours", "elites", "colouring", "filter", "svg", "save"),
    *("frame", "cells", "map", "map_input", "scatter", "axes", "views", "inspector", "table", "pins"),
    *("charts", "growth", "comparison", "about", "theme", "link", "live", "main"),
)


def write_report(folders: Sequence[str | Path], out: str | Path) -> Path:
    """Write the interactive page of these runs, or of one archive file, into one HTML file; returns it.

    Raises ValueError if one of them is not a run, or has saved no archive yet.
    """
    if not folders:
        raise ValueError("runs: expected at least one folder of a run")
    places, out = [Path(folder) for folder in folders], Path(out)
    check_output("out", out)
    plotly_bundle()
    if len({folder.resolve() for folder in places}) < len(places):
        raise ValueError("runs: the same run folder is given twice")
    files = [place for place in places if place.is_file()]
    if files and len(places) > 1:
        raise ValueError(f"runs: expected folders of runs to compare, got the file {files[0]}; show an archive alone")
    if files:
        runs = [archive_data(Archive.load(files[0]), files[0].stem, file=files[0])]
    else:
        runs = [read_run(folder, name) for folder, name in zip(places, run_names(places), strict=True)]
    for run in runs:
        if run.archive is None:
            raise ValueError(f"{run.folder}: this run has saved no archive yet; `tesselite watch {run.folder}` waits")
    write_text(out, page_of(*document_of(runs)))
    return out


def run_names(folders: Sequence[Path]) -> list[str]:
    """The shortest path endings that distinguish the runs."""
    parts = [folder.resolve().parts for folder in folders]
    for length in range(1, max(len(p) for p in parts) + 1):
        names = ["/".join(p[-length:]) for p in parts]
        if len(set(names)) == len(set(parts)):
            return names
    return [str(folder) for folder in folders]


def document_of(runs: Sequence[RunData], *, with_views: bool = True) -> tuple[dict[str, Any], PackedArrays]:
    """What the page shows of these runs, and the arrays that the document refers to."""
    arrays = PackedArrays()
    groups = [run.name for run in runs]
    if len(runs) > 1:
        from tesselite.report.page.groups import compare, group_names

        groups = group_names(runs)
    n_bytes = VIEW_BYTES // len(runs)
    described = [
        describe_run(run, arrays, group=group, with_views=with_views, view_bytes=n_bytes)
        for run, group in zip(runs, groups, strict=True)
    ]
    scripts = [script for run in described if (script := run.pop("script", ""))]
    document: dict[str, Any] = {"made_by": __version__, "runs": described, "drawings": list(dict.fromkeys(scripts))}
    if len(runs) > 1:
        document["comparison"] = compare(runs, groups)
    return document, arrays


def page_of(document: dict[str, Any], arrays: PackedArrays, *, live: dict[str, Any] | None = None) -> str:
    """The HTML of the page. `live` says how to fetch updates, if a server provides them."""
    problems = sorted({run["problem"] for run in document["runs"]})
    names = [run["name"] for run in document["runs"]]
    title = f"{', '.join(problems) or 'tesselite'} · {names[0] if len(names) == 1 else f'{len(names)} runs'}"
    filled = {
        "policy": _policy(live is not None),
        "title": html.escape(title),
        "style": _asset("page.css"),
        "document": document_text({**document, "live": live}),
        "block": arrays.packed(),
        "plotly": _plotly(),
        "scripts": "\n".join(f"<script>\n{_asset(f'{name}.js')}</script>" for name in _SCRIPTS),
    }
    text = _asset("page.html")
    # One pass: inserted text is never searched for marks.
    pieces = text.split("{{")
    made = [pieces[0]]
    for piece in pieces[1:]:
        name, _, rest = piece.partition("}}")
        made += [filled[name.strip()], rest]
    return "".join(made)


def _policy(live: bool) -> str:
    sources = "connect-src 'self'; " if live else ""
    return (
        f"default-src 'none'; {sources}script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def _asset(name: str) -> str:
    return (resources.files("tesselite.report.page") / "assets" / name).read_text(encoding="utf-8")


def plotly_bundle() -> Path:
    """The file of Plotly that a page holds; ValueError, before any work is done, if the package is not installed."""
    package = importlib.util.find_spec("plotly")  # not imported: only a file of it is needed
    bundle = Path(package.origin).parent / "package_data" / "plotly.min.js" if package and package.origin else None
    if bundle is None or not bundle.exists():
        raise ValueError(f"the interactive page needs Plotly: {how_to_install('plotly', 'report')}")
    return bundle


@cache
def _plotly() -> str:
    return packed_text(plotly_bundle().read_bytes())
