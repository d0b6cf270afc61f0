"""The commands `assess` and `compare`."""

from __future__ import annotations

from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import Any

from typer.core import TyperCommand

from tesselite.cli.options import (
    FigureFormat,
    FigureOption,
    JsonOption,
    QuietOption,
    TrustOption,
    WorkerOptions,
    argument,
    command,
    option,
    trust,
    whole,
)


@dataclass(frozen=True, kw_only=True)
class AssessOptions:
    """The options of `assess`."""

    folders: list[Path] = argument("Folders of runs.", metavar="RUN")
    at_most: int | None = option(
        "Assess at most N elites, drawn at random. Default: 10,000.", metavar="N", parser=whole
    )
    seed: int = option("Seed for drawing elites.", default=0, metavar="N", parser=whole)
    share: list[float] | None = option(
        "Also print the share of elites that reach fitness X; can be repeated.", metavar="X"
    )
    on: WorkerOptions
    quiet: QuietOption = False
    trust: TrustOption = False
    as_json: JsonOption = False


@command
def assess(options: AssessOptions) -> None:
    """Evaluate a run's elites again, in the training setting and in every scenario of its problem."""
    from tesselite.cli.assess_runs import assess_runs

    trust(options.trust, *options.folders)
    assess_runs(options)


class SeveralAgainst(TyperCommand):
    """Lets --against take several folders, as in `--against runs/grid-*`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put --against before each folder that follows it."""
        spread: list[str] = []
        within = False
        for word in args:
            if within and not word.startswith("-"):
                spread += [word] if spread[-1] == "--against" else ["--against", word]
                continue
            within = word == "--against"
            spread.append(word)
        return super().parse_args(ctx, spread)


@dataclass(frozen=True, kw_only=True)
class CompareOptions:
    """The options of `compare`."""

    runs: list[Path] = argument("Folders of the first set of runs.", metavar="RUN")
    against: list[Path] = option("Folders of the second set of runs.", default=MISSING, metavar="RUN...")
    out: Path = option("Folder for the tables and figures.", "--out", "-o", default=Path("comparison"))
    names: str = option("Names of the two sets.", default="", metavar="A,B")
    share: list[float] | None = option(
        "Compare the share of elites that reach fitness X; can be repeated.", metavar="X"
    )
    n_niches: int | None = option(
        "Project all runs onto a common CVT of K niches. Default: only if their niches differ, with as "
        "many niches as the run with the fewest.",
        "--niches",
        metavar="K",
        parser=whole,
    )
    kind: FigureOption = FigureFormat.PNG
    on: WorkerOptions
    quiet: QuietOption = False
    trust: TrustOption = False
    as_json: JsonOption = False


@command
def compare(options: CompareOptions) -> None:
    """Compare two sets of runs: metrics, scenarios, tests and effect sizes, as tables and figures."""
    from tesselite.cli.assess_runs import compare_runs

    trust(options.trust, *options.runs, *options.against)
    compare_runs(options)
