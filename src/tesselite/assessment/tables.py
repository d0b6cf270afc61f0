"""Table: rows of text and numbers, written as Markdown, CSV or LaTeX."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tesselite.base.spreadsheets import as_text
from tesselite.base.text_files import write_text

_LONGEST_IN_FULL = 1e15  # larger numbers have powers of ten
_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
}


def shown(value: Any) -> str:
    """A cell for people: three significant digits, a dash for nothing, an infinity sign for the infinite."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}" if abs(value) >= 10_000 else str(value)
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if value != 0 and abs(value) < 1e-3:
        return f"{value:.1e}"
    return f"{value:,.0f}" if 1000 <= abs(value) < _LONGEST_IN_FULL else f"{value:.3g}"


@dataclass(frozen=True)
class Table:
    """Columns by name and rows of the same length. Cells keep their values; CSV writes them in full precision."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    caption: str = ""
    label: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"rows: expected {len(self.columns)} cells, got {len(row)} in {list(row)!r:.80}")

    def to_markdown(self) -> str:
        """A table as GitHub and most editors show it."""
        rows = [[shown(cell).replace("|", "\\|") for cell in row] for row in self.rows]
        head = [str(name).replace("|", "\\|") for name in self.columns]
        lines = [head, ["---"] * len(head), *rows]
        text = "\n".join("| " + " | ".join(line) + " |" for line in lines)
        return f"{self.caption}\n\n{text}\n" if self.caption else f"{text}\n"

    def to_csv(self) -> str:
        """Comma-separated values in full precision; empty where there is no value; no text can be a formula."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(as_text(str(name)) for name in self.columns)
        for row in self.rows:
            writer.writerow(map(_csv_cell, row))
        return out.getvalue()

    def to_latex(self) -> str:
        """A LaTeX table in the style of the booktabs package."""
        aligned = "".join("r" if self._numeric(j) else "l" for j in range(len(self.columns)))
        lines = [r"\begin{table}", r"\centering"]
        if self.caption:
            lines.append(rf"\caption{{{latex(self.caption)}}}")
        if self.label:
            lines.append(rf"\label{{{self.label}}}")
        lines += [rf"\begin{{tabular}}{{{aligned}}}", r"\toprule"]
        lines.append(" & ".join(latex(str(name)) for name in self.columns) + r" \\")
        lines.append(r"\midrule")
        lines += [" & ".join(latex(shown(cell)) for cell in row) + r" \\" for row in self.rows]
        lines += [r"\bottomrule", r"\end{tabular}", r"\end{table}"]
        return "\n".join(lines) + "\n"

    def _numeric(self, column: int) -> bool:
        return any(isinstance(row[column], int | float) for row in self.rows)

    def save(self, folder: Path, name: str) -> list[Path]:
        """Write name.md, name.csv and name.tex into a folder; the files."""
        texts = {"md": self.to_markdown(), "csv": self.to_csv(), "tex": self.to_latex()}
        for ending, text in texts.items():
            write_text(folder / f"{name}.{ending}", text)
        return [folder / f"{name}.{ending}" for ending in texts]


def _csv_cell(cell: Any) -> Any:
    if _nothing(cell):
        return ""
    # float() first: NumPy's floats are floats, too, but show themselves as np.float64(...)
    return repr(float(cell)) if isinstance(cell, float) else as_text(cell) if isinstance(cell, str) else cell


def _nothing(cell: Any) -> bool:
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


def latex(text: str) -> str:
    """Text with what LaTeX takes for commands escaped."""
    escaped = "".join(_LATEX.get(character, character) for character in text)
    return escaped.replace("-∞", r"$-\infty$").replace("∞", r"$\infty$").replace("≤", r"$\leq$")
