"""Archives and runs in notebooks, and the interactive page of an archive in memory."""

from __future__ import annotations

import base64
import html
import io
import sys
import tempfile
import webbrowser
from pathlib import Path
from typing import Any

from tesselite.archive.archive import Archive
from tesselite.problems.problem import Problem, checked_problem
from tesselite.report import plots
from tesselite.report.page.html import document_of, page_of, plotly_bundle
from tesselite.report.page.run_data import archive_data
from tesselite.report.style import figure
from tesselite.runs.carry_on import Run

_INCHES = 3.6, 2.9
_FRAME = "width:100%; height:85vh; border:1px solid #8884"


def archive_html(archive: Archive, *before: tuple[str, str]) -> str:
    """Key figures and a small picture of an archive; `before` are rows that come first."""
    rows = [
        *before,
        ("filled", f"{len(archive):,} of {archive.n_niches:,} niches ({archive.coverage:.1%})" * archive.has_niches),
        ("kept", f"{len(archive):,} solutions, without niches" * (not archive.has_niches)),
        ("best fitness", _number(archive.best_fitness)),
        ("mean fitness", _number(archive.mean_fitness)),
        ("QD score", _number(archive.qd_score)),
        ("features", ", ".join(archive.tessellation.space.names[:8]) + (", ..." * (archive.tessellation.space.n > 8))),
    ]
    rows += [("invalid", f"{archive.invalid.total():,} evaluations")] * bool(archive.invalid)
    cells = "".join(f"<tr><th>{html.escape(name)}</th><td>{html.escape(text)}</td></tr>" for name, text in rows if text)
    picture = f'<img alt="the archive" src="data:image/png;base64,{_picture(archive)}">' if len(archive) else ""
    return f'<div style="display:flex;flex-wrap:wrap;gap:1em;align-items:center"><table>{cells}</table>{picture}</div>'


def run_html(run: Run) -> str:
    """The same for a run, with its settings."""
    about = [
        ("problem", f"{run.plan.problem}, seed {run.plan.seed}"),
        ("evaluations", f"{run.evaluations:,} of {run.budget:,} in {run.seconds:.3g} s"),
        ("folder", "" if run.folder is None else str(run.folder)),
    ]
    return archive_html(run.archive, *about)


def show(archive: Archive, problem: Problem | None = None) -> Path | None:
    """Open the interactive page of an archive: in a notebook below the cell, otherwise in a browser.

    Returns the file that the browser shows, None in a notebook. ValueError without Plotly.
    """
    plotly_bundle()
    name = "archive" if problem is None else checked_problem(problem).name
    text = page_of(*document_of([archive_data(archive, name, problem)]))
    ipython = sys.modules.get("IPython")
    if ipython is not None and getattr(ipython.get_ipython(), "kernel", None) is not None:
        frame = f'<iframe style="{_FRAME}" srcdoc="{html.escape(text)}"></iframe>'
        ipython.display.display(ipython.display.HTML(frame))
        return None
    file = Path(tempfile.mkdtemp(prefix="tesselite-")) / f"{name}.html"
    file.write_text(text, encoding="utf-8")
    webbrowser.open(file.as_uri())
    return file


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:z.6g}"


def _picture(archive: Archive) -> str:
    made: Any
    with figure(*_INCHES) as made, io.BytesIO() as png:
        plots.archive(archive, made.subplots())
        made.savefig(png, format="png", dpi=100)
        return base64.b64encode(png.getvalue()).decode()
