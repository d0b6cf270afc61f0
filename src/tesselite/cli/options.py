"""The declaration of options, and the options shared by several commands.

A command is a function of one frozen record, whose fields are its options. The commands' implementations are in the
modules beside this one.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_type_hints

import typer

if TYPE_CHECKING:
    from tesselite.execution.execution import WorkerChoice

_Record = TypeVar("_Record")


def command(function: Callable[[_Record], None]) -> Callable[..., None]:
    """The function in typer's form: with a parameter for each field of its record. A field that is a record itself
    stands for its fields.
    """
    record = next(iter(get_type_hints(function).values()))
    parameters = list(_parameters(record))

    def called(**given: Any) -> None:
        function(_filled(record, given))

    called.__name__, called.__doc__, called.__module__ = function.__name__, function.__doc__, function.__module__
    called.__annotations__ = {one.name: one.annotation for one in parameters}
    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return called


def option(
    text: str,
    *names: str,
    default: Any = None,
    metavar: str | None = None,
    parser: Callable[[str], Any] | None = None,
) -> Any:
    """A field that is an option with this help, by default called as the field; MISSING if it has to be given."""
    return field(default=default, metadata={"typer": typer.Option(*names, help=text, metavar=metavar, parser=parser)})


def argument(text: str, *, default: Any = MISSING, metavar: str) -> Any:
    """A field that is an argument with this help."""
    return field(default=default, metadata={"typer": typer.Argument(help=text, metavar=metavar)})


def _parameters(record: type) -> Iterator[inspect.Parameter]:
    types = get_type_hints(record, include_extras=True)
    for one in fields(record):
        if is_dataclass(types[one.name]):
            yield from _parameters(types[one.name])
        else:
            default = inspect.Parameter.empty if one.default is MISSING else one.default
            kind = Annotated[types[one.name], one.metadata["typer"]] if one.metadata else types[one.name]
            yield inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _filled(record: Any, given: dict[str, Any]) -> Any:
    types = get_type_hints(record)
    return record(
        **{
            one.name: _filled(types[one.name], given) if is_dataclass(types[one.name]) else given[one.name]
            for one in fields(record)
        }
    )


# -- values ------------------------------------------------------------------------------------------------------------


def whole(text: str | int) -> int:
    """A whole number, written as 1000000, 1_000_000 or 1e6."""
    text = str(text)  # a default is a number already
    try:
        value = float(text)
        if value.is_integer() and abs(value) < 2**63:
            return int(text) if text.lstrip("+-").isdigit() else int(value)
    except (ValueError, OverflowError):
        pass
    raise typer.BadParameter(f"expected a whole number such as 1000000 or 1e6, got {text!r}")


def grid_cells(text: str) -> list[int] | int:
    """Cells per feature: 64, or 64x32x8."""
    cells = [whole(part) for part in text.lower().split("x")]
    return cells[0] if len(cells) == 1 else cells


def split_names(text: str) -> list[str]:
    """The names in a list that commas separate; none in an empty one."""
    return [name.strip() for name in text.split(",")] if text else []


class FigureFormat(StrEnum):
    """The file formats of figures."""

    PNG = "png"
    SVG = "svg"
    PDF = "pdf"


# -- options of several commands ---------------------------------------------------------------------------------------

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")]
QuietOption = Annotated[
    bool, typer.Option("--quiet", "-q", help="Show no progress and no summary; print only results.")
]
ThreadsOption = Annotated[
    int | None,
    typer.Option(help="Threads for compiled code. Default: all cores. Does not affect results."),
]
TrustOption = Annotated[
    bool,
    typer.Option(
        "--trust", help="Allow importing the module of the run's problem, which executes it. Remembered for later."
    ),
]
SeedOption = Annotated[
    int | None, typer.Option(parser=whole, metavar="N", help="Same seed, same result. Default: random.")
]
CheckpointOption = Annotated[
    float, typer.Option("--checkpoint", metavar="SECONDS", help="Save at least every SECONDS.")
]
FigureOption = Annotated[FigureFormat, typer.Option("--format", help="File format of the pictures.")]
RunArgument = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a run, or an archive file.")]
ResultsOption = Annotated[Path, typer.Option("--out", "-o", help="Folder for the results.")]


def _one_of(workers: int | None, dask: str | None) -> int | str | None:
    """The workers that one of --workers and --dask names."""
    if workers is not None and dask is not None:
        raise ValueError("expected only one of --workers and --dask, got both")
    return workers if dask is None else dask


@dataclass(frozen=True, kw_only=True)
class Recycling:
    """When worker processes are replaced."""

    recycle_after: int | None = option(
        "Replace a worker process after N evaluations, for simulators that leak (--workers only).",
        metavar="N",
        parser=whole,
    )
    worker_memory: str | None = option(
        "Replace a worker process once it takes this much memory, such as 2GB (--workers only).", metavar="SIZE"
    )


NO_RECYCLING = Recycling()


@dataclass(frozen=True, kw_only=True)
class WorkerOptions:
    """Where evaluations are done."""

    threads: ThreadsOption = None
    workers: int | None = option("Evaluate in N processes; for Python functions. Does not affect results.", metavar="N")
    dask: str | None = option("Evaluate on a Dask cluster: tcp://HOST:PORT, or local:N.", metavar="ADDRESS")
    timeout: float | None = option(
        "Abort an evaluation after SECONDS (workers only). Default: no limit.", metavar="SECONDS"
    )
    retries: int | None = option(
        "Retries for an evaluation that fails or whose worker dies (workers only). Default: 2.", metavar="N"
    )

    @property
    def where(self) -> int | str | None:
        """The number of processes, or the address of a cluster."""
        return _one_of(self.workers, self.dask)

    def choice(self, limits: Recycling = NO_RECYCLING) -> WorkerChoice:
        """The workers and their limits, as runs take them."""
        from tesselite.execution.execution import WorkerChoice

        return WorkerChoice(self.where, self.retries, self.timeout, limits.recycle_after, limits.worker_memory)


@dataclass(frozen=True, kw_only=True)
class TrialOptions:
    """How the trials of a study are carried out, and how it is reported."""

    workers: int | None = option("Trials in parallel. Default: the number of cores.", metavar="N", parser=whole)
    dask: str | None = option("Run trials on a Dask cluster that shares the file system.", metavar="ADDRESS")
    keep_runs: bool = option("Keep the archives, not only summaries.", "--keep-runs", default=False)
    forecast: bool = option("Only estimate how long it will take.", "--forecast", default=False)
    report: bool = option("Only write the report, from finished trials.", "--report", default=False)
    kind: FigureOption = FigureFormat.PNG
    quiet: QuietOption = False
    as_json: JsonOption = False

    @property
    def where(self) -> int | str | None:
        """The number of processes, or the address of a cluster."""
        return _one_of(self.workers, self.dask)

    def check(self, trials: int | None) -> None:
        """ValueError for invalid options."""
        if trials is not None and trials < 1:
            raise ValueError(f"--trials: expected at least 1, got {trials}")
        if self.workers is not None and self.workers < 1:
            raise ValueError(f"--workers: expected at least 1, got {self.workers}")
        if self.forecast and self.report:
            raise ValueError("--forecast: not valid together with --report; choose one")


def trust(given: bool, *folders: Path) -> None:
    """Agree to import the problems that these runs name, if so given."""
    from tesselite.cli.look import trust_problem

    for folder in folders if given else ():
        trust_problem(folder)
