"""Executed tutorials as notebooks to download, and an address for the site's first page at its root."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

_HERE = "jupyter_execute"  # where MyST-NB leaves what it executed, beside the folder of pages


def _page(app: Sphinx, name: str, template: str, context: dict[str, Any], doctree: object) -> None:
    """Give a notebook's page the address of its download."""
    notebook = Path(app.outdir).parent / _HERE / f"{name}.ipynb"
    if notebook.exists():
        target = Path(app.outdir) / f"{name}.ipynb"
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(notebook, target)
        context["notebook"] = notebook.name


def _finish(app: Sphinx, error: Exception | None) -> None:
    """Redirect from the root of the site to its first page."""
    if error is None and app.builder.format == "html":
        page = f"{app.config.root_doc}.html"
        text = f'<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={page}">'
        (Path(app.outdir) / "index.html").write_text(f'{text}<a href="{page}">tesselite</a>\n', encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to the build."""
    app.connect("html-page-context", _page)
    app.connect("build-finished", _finish)
    return {"parallel_read_safe": True}
