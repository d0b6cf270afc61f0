"""The commands `assess` and `compare`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from tesselite.cli.options import (
    FigureFormat,
    FigureOption,
    JsonOption,
    OnWorkers,
    QuietOption,
    TrustOption,
    command,
    trust,
    whole,
)


@dataclass(frozen=True, kw_only=True)
class AssessOptions:
    """The options of `assess`."""

    folders: Annotated[list[Path], typer.Argument(metavar="RUN", help="Folders of runs.")]
    at_most: Annotated[
        int | None,
        typer.Option(parser=whole, metavar="N", help="Assess at most N elites, drawn at random. Default: 10,000."),
    ] = None
    seed: Annotated[int, typer.Option(parser=whole, metavar="N", help="Seed for drawing elites.")] = 0
    share: Annotated[
        list[float] | None,
        typer.Option(metavar="X", help="Also print the share of elites that reach fitness X; can be repeated."),
    ] = None
    on: OnWorkers
    quiet: QuietOption = False
    trust: TrustOption = False
    as_json: JsonOption = False


@command
def assess(options: AssessOptions) -> None:
    """Evaluate a run's elites again, in the training setting and in every scenario of its problem."""
    from tesselite.cli.assessing import assess_runs

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

    runs: Annotated[list[Path], typer.Argument(metavar="RUN", help="Folders of the first set of runs.")]
    against: Annotated[
        list[Path], typer.Option("--against", metavar="RUN...", help="Folders of the second set of runs.")
    ]
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the tables and figures.")] = Path("comparison")
    names: Annotated[str, typer.Option(metavar="A,B", help="Names of the two sets.")] = ""
    share: Annotated[
        list[float] | None,
        typer.Option(metavar="X", help="Compare the share of elites that reach fitness X; can be repeated."),
    ] = None
    n_niches: Annotated[
        int | None,
        typer.Option(
            "--niches",
            parser=whole,
            metavar="K",
            help="Project all runs onto a common CVT of K niches. Default: only if their niches differ, with as "
            "many niches as the run with the fewest.",
        ),
    ] = None
    kind: FigureOption = FigureFormat.PNG
    on: OnWorkers
    quiet: QuietOption = False
    trust: TrustOption = False
    as_json: JsonOption = False


@command
def compare(options: CompareOptions) -> None:
    """Compare two sets of runs: metrics, scenarios, tests and effect sizes, as tables and figures."""
    from tesselite.cli.assessing import compare_runs

    trust(options.trust, *options.runs, *options.against)
    compare_runs(options)
