"""The look that all figures share: colours that colour-blind readers can tell apart, sizes that print well."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PAGE_INCHES = 7.2  # the width of two columns of a journal
FITNESS_COLOURS = "viridis"
EMPTY_NICHE = "#f2f2f2"
# Okabe and Ito's palette, without yellow, which is hard to see on white.
LINES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")

_SETTINGS: dict[Any, Any] = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 11,
    "axes.labelsize": 10,
    "font.size": 9,
    "figure.dpi": 120,
    "savefig.dpi": 300,
    "pdf.fonttype": 42,  # text that journals accept and editors can change
    "svg.fonttype": "none",
    "savefig.bbox": "tight",
    "svg.hashsalt": "tesselite",
}


@contextmanager
def figure(width: float = 6.4, height: float = 4.8, **options: Any) -> Iterator[Any]:
    """A matplotlib figure in our style that draws to files only: no window, no global state left behind."""
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with matplotlib.rc_context(_SETTINGS):
        made = Figure(figsize=(width, height), layout="constrained", **options)
        FigureCanvasAgg(made)
        yield made


def save(made: Any, path: Path) -> Path:
    """Write a figure as PNG, SVG or PDF, by the file's ending; ValueError for another."""
    from tesselite.base.atomic import write_atomically

    kind = path.suffix.lower().lstrip(".")
    if kind not in ("png", "svg", "pdf"):
        raise ValueError(f"{path}: expected a file that ends with .png, .svg or .pdf")
    # Without a date, so that the same figure gives the same file.
    about = {"Date": None} if kind == "svg" else {"CreationDate": None} if kind == "pdf" else {}
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, lambda part: made.savefig(part, format=kind, metadata=about))
    return path
