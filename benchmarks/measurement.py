"""Results of a measured search, the settings that all libraries share, and Markdown tables, also in the README."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

INITIAL = 1000  # random solutions, for every library
ISO, LINE = 0.01, 0.15


@dataclass(frozen=True)
class Result:
    """A search: its evaluations, seconds in all, seconds in ask and tell alone, and what it found."""

    evaluations: int
    seconds: float
    ask_tell: float
    coverage: float
    qd_score: float

    @property
    def each(self) -> float:
        """Microseconds per evaluation."""
        return 1e6 * self.seconds / self.evaluations

    @property
    def ask_tell_each(self) -> float:
        """Microseconds per evaluation in ask and tell."""
        return 1e6 * self.ask_tell / self.evaluations


def interleaved(rounds: int, runs: dict[str, Callable[[int], Result]]) -> dict[str, list[Result]]:
    """Call each of the runs with the seeds 1 to `rounds`, in turn, so that a busy machine slows all alike."""
    results: dict[str, list[Result]] = {name: [] for name in runs}
    for seed in range(1, rounds + 1):
        for name, run in runs.items():
            results[name].append(run(seed))
    return results


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table with padded columns."""
    lines = [list(head), ["---"] * len(head), *[list(row) for row in rows]]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    lines[1] = ["-" * width for width in widths]
    return "\n".join(
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |" for line in lines
    )


def machine(packages: Sequence[str] = ("ribs", "qdax", "jax", "numpy", "numba", "scipy")) -> str:
    """The machine, its load and the versions of these packages, in one line of text."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [line.split(":", 1)[1].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line]
        model = names[0] if names else model
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    load = f"; load average {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return f"{model}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}; {versions}{load}"


def keep_in_readme(name: str, text: str) -> None:
    """Put text between the marks of this name in the README beside this file."""
    readme = Path(__file__).with_name("README.md")
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->"
    before, _, rest = readme.read_text(encoding="utf-8").partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise ValueError(f"{readme}: expected the marks {begin.strip()} and {end}")
    readme.write_text(f"{before}{begin}\n{text.strip()}\n\n{end}{after}", encoding="utf-8")
