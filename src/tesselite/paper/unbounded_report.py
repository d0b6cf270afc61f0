"""Table, figure and report of the study of unknown spaces, from the trials in a folder of `unbounded`.

OUT/unbounded.csv, OUT/unbounded.png, OUT/report.md
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tesselite.archive.figures import worst
from tesselite.base.text_files import write_text
from tesselite.paper.unbounded import LABELS, TASKS, TRUE, Task
from tesselite.report.style import LINES, figure, save

_MEDIANS = ("coverage", "qd_score", "kept", "changes", "best_in_scenarios", "solved", "seconds")


def read_trials(out: Path) -> list[dict[str, Any]]:
    """All trials in the folder, by task, algorithm and number; ValueError if there are none, or one is damaged."""
    rows = []
    for task in TASKS:
        for file in sorted((out / "trials" / task.name).glob("*.json")):
            try:
                row = json.loads(file.read_text())
                nothing = worst(task.problem().direction)
                bests = [nothing if best is None else float(best) for best in row["scenarios"].values()]
                row["best_in_scenarios"] = float(np.median(bests)) if bests else None
                solved = None if task.solved is None or not bests else sum(best < task.solved for best in bests)
                rows.append({**row, "solved": solved})
            except (ValueError, LookupError, TypeError, AttributeError) as error:
                raise ValueError(f"{file}: damaged ({error}); remove it") from None
    if not rows:
        raise ValueError(f"{out}: contains no trials of this study")
    return rows


def summary(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Medians over trials of each task and algorithm, and their ratios to those of the CVT with the true bounds."""
    tasks = dict.fromkeys(row["task"] for row in rows)
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for key in ((task, algorithm) for task in tasks for algorithm in LABELS):
        of = [row for row in rows if (row["task"], row["algorithm"]) == key]
        if not of:
            continue
        medians = {
            name: float(np.median([row[name] for row in of if row[name] is not None] or [np.nan])) for name in _MEDIANS
        }
        least, most = (float(end(row["coverage"] for row in of)) for end in (min, max))
        found[key] = {"task": key[0], "algorithm": key[1], "trials": len(of), **medians}
        found[key] |= {"coverage, least": least, "coverage, most": most}
    for (task, _), row in found.items():
        true = found.get((task, TRUE))
        for name in ("coverage", "qd_score"):
            row[f"{name} / true"] = row[name] / true[name] if true and true[name] else float("nan")
    return list(found.values())


def write_report(out: Path, kind: str = "png") -> list[Path]:
    """Write table, figure and report of the trials in the folder; the files."""
    rows = read_trials(out)
    table = summary(rows)
    tasks = [task for task in TASKS if any(row["task"] == task.name for row in rows)]
    lines = io.StringIO()
    writer = csv.DictWriter(lines, list(table[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(table)
    written, report = out / "unbounded.csv", out / "report.md"
    write_text(written, lines.getvalue())
    text = [
        "# Feature spaces with unknown bounds",
        "",
        "Medians over trials, of coverage also the range. Coverage and QD score are those on a CVT within the true "
        "bounds that is common to a task (of the ring: of niches on the ring); archives without niches have them there "
        "only. `kept` counts solutions in an archive's own niches, or in its population. Scenarios: the best fitness "
        "in each, median over scenarios; solved are those with a best below 10 units. Seconds of one processor core.",
        "",
        *_overview(tasks, table),
    ]
    for task in tasks:
        text += ["", *_task_table(task, rows, table)]
    write_text(report, "\n".join(text) + "\n")
    return [report, written, _drawn(out, tasks, table, kind)]


def _overview(tasks: Sequence[Task], table: Sequence[dict[str, Any]]) -> list[str]:
    """A row for each algorithm: in each task, coverage and QD score as ratios to those of the CVT with true bounds."""
    found = {(row["task"], row["algorithm"]): row for row in table}
    lines = ["Coverage and QD score, divided by those of the CVT with true bounds:", ""]
    lines += [f"| algorithm | {' | '.join(task.title for task in tasks)} |", "|" + "---|" * (len(tasks) + 1)]
    sizes = [f"{task.n_niches:,} niches" for task in tasks]
    lines.append(f"| {' | '.join(['', *sizes])} |")
    for algorithm, label in LABELS.items():
        rows = [found.get((task.name, algorithm)) for task in tasks]
        cells = ["" if row is None else f"{row['coverage / true']:.2f}, {row['qd_score / true']:.2f}" for row in rows]
        if any(cells) and algorithm != TRUE:
            lines.append(f"| {' | '.join([label, *cells])} |")
    return lines


def _task_table(task: Task, rows: Sequence[dict[str, Any]], table: Sequence[dict[str, Any]]) -> list[str]:
    of = [row for row in table if row["task"] == task.name]
    some = next(row for row in rows if row["task"] == task.name)
    assessed = bool(some["scenarios"])
    columns = ["algorithm", "trials", "coverage", "of true", "QD score of true", "kept", "changes"]
    columns += [f"best in {len(some['scenarios'])} scenarios"] if assessed else []
    columns += ["solved"] if task.solved is not None else []
    lines = [f"## {task.title}", "", f"{task.n_niches:,} niches, {some['evaluations']:,} evaluations.", ""]
    lines += [f"| {' | '.join([*columns, 'seconds'])} |", "|" + "---|" * (len(columns) + 1)]
    for row in of:
        ranged = f"{row['coverage']:.3f} ({row['coverage, least']:.3f} to {row['coverage, most']:.3f})"
        cells = [LABELS[row["algorithm"]], str(row["trials"]), ranged]
        cells += [f"{row['coverage / true']:.2f}", f"{row['qd_score / true']:.2f}"]
        cells += [f"{row['kept']:.0f}", f"{row['changes']:.0f}"]
        cells += [f"{row['best_in_scenarios']:.3g}"] if assessed else []
        cells += [f"{row['solved']:g}"] if task.solved is not None else []
        lines.append(f"| {' | '.join([*cells, format(row['seconds'], '.1f')])} |")
    return lines


def _drawn(out: Path, tasks: Sequence[Task], table: Sequence[dict[str, Any]], kind: str) -> Path:
    n_columns = min(3, len(tasks))
    n_rows = -(-len(tasks) // n_columns)
    with figure(4.2 * n_columns, 2.9 * n_rows) as made:
        axes = made.subplots(n_rows, n_columns, squeeze=False).ravel()
        for ax, task in zip(axes, tasks, strict=False):
            of = [row for row in table if row["task"] == task.name][::-1]
            labels = [LABELS[row["algorithm"]] for row in of]
            ax.barh(labels, [row["coverage"] for row in of], color=LINES[0])
            spans = [(row["coverage, least"], row["coverage, most"]) for row in of]
            ax.hlines(labels, *zip(*spans, strict=True), color=LINES[6], lw=1.2)
            ax.set(title=task.title, xlim=(0.0, None))
            ax.set_xlabel("coverage of common niches, median and range", fontsize=8)
            ax.title.set_fontsize(9)
            ax.tick_params(axis="y", labelsize=7.5)
        for ax in axes[len(tasks) :]:
            ax.axis("off")
        return save(made, out / f"unbounded.{kind}")
