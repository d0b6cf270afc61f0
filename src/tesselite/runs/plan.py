"""Plan: what a run is, in one frozen record, and its JSON.

`illuminate`, `tesselite run`, settings.json, `resume`, the page and the paper's studies all read this record. It holds
names and numbers only: the problem and the tessellation are passed separately. A running search never changes its plan;
changes during a run are in `execution.events`.
"""

from __future__ import annotations

import hashlib
import shlex
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from tesselite.archive.history import RowKind
from tesselite.base.checks import checked_count, is_whole
from tesselite.base.seeds import checked_seed
from tesselite.base.threads import available_threads
from tesselite.emitters.emitter import OWN, OWN_EMITTER, Emitter, text_of
from tesselite.emitters.names import by_name, is_emitter
from tesselite.emitters.uniform_parents import UNIFORM
from tesselite.execution.asynchronous import Asynchronous
from tesselite.execution.choice import execution_from_dict, execution_of
from tesselite.execution.execution import Execution
from tesselite.execution.in_process import IN_PROCESS
from tesselite.execution.islands import Islands
from tesselite.problems import has_name, importable_name
from tesselite.problems.problem import Problem
from tesselite.runs.known_designs import START_FILE, Start
from tesselite.runs.stall import Stall
from tesselite.search.map_elites import BATCH_SIZE, INITIAL, MapElites, search_for
from tesselite.spaces.records import NO_RECORDS, Records
from tesselite.tessellation.kind import Niches
from tesselite.tessellation.niches import niches_from_dict
from tesselite.tessellation.protocol import Tessellation
from tesselite.tessellation.provisional import Provisional

_OPTIONAL = ("start", "records", "stall", "history")  # parts of a plan that are optional in a file
_ISLANDS_HISTORY = 10**9  # bytes
VARY = "vary"  # what a space of solutions does itself
_NEEDS_NO_MEMORY = {  # executions, and why they do not support an emitter that learns
    Asynchronous.kind: "which asks for more before all results of a batch are known",
    Islands.kind: "where each island would learn on its own",
}


@dataclass(frozen=True)
class Budget:
    """How many evaluations a run is to have, in which portions, and what stops it early; as users give it."""

    evaluations: float
    initial: float = INITIAL
    batch_size: float | None = None
    stall: Stall | None = None


@dataclass(frozen=True)
class Plan:
    """The definition of a run: the problem and the emitter by name, the niches, the budget, the seed and the execution.

    `problem_fingerprint` detects a changed problem. An `emitter` that is named by an operator alone draws parents
    uniformly. `start` are known designs to begin with. With `history`, every evaluation is kept.
    """

    problem: str
    problem_fingerprint: str
    niches: Niches
    emitter: str
    evaluations: int
    initial: int
    batch_size: int
    seed: int
    execution: Execution
    start: Start | None = None
    records: Records = NO_RECORDS
    stall: Stall | None = None
    history: bool = False

    @classmethod
    def of(
        cls,
        problem: Problem,
        niches: Niches,
        budget: Budget,
        *,
        emitter: Emitter | None = None,
        seed: int | None = None,
        execution: Execution = IN_PROCESS,
        start: Any = None,
        history: bool = False,
    ) -> Plan:
        """The plan to search this problem; ValueError for invalid settings, before anything is done."""
        evaluations = checked_count("evaluations", budget.evaluations)
        initial, seed = checked_count("initial", budget.initial), checked_seed(seed)
        known = None if start is None else Start.of(start, problem.solutions)
        if known and known.n > evaluations:
            raise ValueError(f"start: expected at most {evaluations} solutions, the whole budget, got {known.n}")
        niches = niches.checked(problem.features, seed)
        # Before niches are made: errors in the options of the search are reported now.
        trial = search_for(problem, Provisional(problem.features), emitter, initial, seed)
        for kind, why in _NEEDS_NO_MEMORY.items():
            if execution.kind == kind and not getattr(trial.emitter, kind):
                raise ValueError(
                    f"emitter: {trial.emitter} does not work with {kind}, {why}; use batches (the default, also on "
                    "workers) or an emitter without memory, such as uniform"
                )
        if execution.kind == Islands.kind and niches.revision is not None:
            raise ValueError(
                f"islands: expected fixed niches, got {niches.label}; leave islands out, or choose a fixed CVT or grid"
            )
        if budget.stall and niches.revision is not None and niches.revision.selects:
            raise ValueError(f"patience: needs coverage or a QD score, and there is neither in a {niches.label}")
        execution = execution.settled(evaluations)
        if history and isinstance(execution, Islands):
            _check_islands_history(execution, RowKind.of(trial.archive))
        return cls(
            problem=importable_name(problem) or problem.name,
            problem_fingerprint=fingerprint(problem),
            niches=niches,
            emitter=planned_text(trial.emitter),
            evaluations=evaluations,
            initial=initial,
            batch_size=_batch_size(budget.batch_size, trial.emitter),
            seed=seed,
            execution=execution,
            start=known,
            records=problem.records,
            stall=budget.stall,
            history=bool(history),
        )

    @property
    def is_own(self) -> bool:
        """Whether the variation or the emitter is the user's and must be passed again."""
        return self.emitter in (OWN, OWN_EMITTER)

    def search(
        self, problem: Problem, niches: Tessellation, emitter: Emitter | None = None, folder: Path | None = None
    ) -> MapElites:
        """A new search as planned; the `emitter` is needed where it, or its variation, is the user's own.

        `folder` is where known designs are, if the plan itself does not hold them.
        """
        if not self.is_own:
            emitter = None if self.emitter == VARY else by_name(self.emitter)
        start = None if self.start is None else self.start.rows
        if self.start is not None and start is None:
            assert folder is not None
            start = self.start.load(folder, problem.solutions)
        return search_for(problem, niches, emitter, self.initial, self.seed, start, self.niches.revision)

    # -- JSON ------------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """JSON for settings.json."""
        flat = {part.name: getattr(self, part.name) for part in fields(self)}
        flat |= {"start": self.start and self.start.to_dict(), "records": self.records.to_list()}
        flat["stall"] = self.stall and self.stall.to_dict()
        for name in _OPTIONAL:
            if not flat[name]:
                del flat[name]
        return {**flat, "niches": self.niches.to_dict(), "execution": self.execution.to_dict()}

    @classmethod
    def from_dict(cls, about: dict[str, Any]) -> Plan:
        """The inverse of `to_dict`; LookupError, TypeError or ValueError if it is damaged."""
        if "emitter" not in about:
            about = {**about, "emitter": about["variation"]}  # its name in older folders
        flat = {part.name: about[part.name] for part in fields(cls) if part.name not in _OPTIONAL}
        for name in ("problem", "problem_fingerprint", "emitter"):
            if not isinstance(flat[name], str):
                raise TypeError(f"{name} is {flat[name]!r}")
        for name, least in (("evaluations", 1), ("initial", 1), ("batch_size", 1), ("seed", 0)):
            if not is_whole(flat[name], least):
                raise TypeError(f"{name} is {flat[name]!r}")
        flat |= {"niches": niches_from_dict(about["niches"]), "execution": execution_from_dict(about["execution"])}
        start = Start.from_dict(about["start"]) if "start" in about else None
        stall = Stall(**about["stall"]) if "stall" in about else None
        records, history = Records.from_list(about.get("records", ())), about.get("history", False)
        if not isinstance(history, bool):
            raise TypeError(f"history is {history!r}")
        return cls(**flat, start=start, records=records, stall=stall, history=history)

    # -- for people ------------------------------------------------------------------------------------------------

    @property
    def beginning(self) -> str:
        """What is evaluated before the first offspring, in a few words."""
        if self.start is None:
            return f"{self.initial:,} random solutions"
        random = max(0, self.initial - self.start.n)
        known = f"{self.start.n:,} known designs ({self.start.digest[:6]})"
        return f"{known}, {random:,} random solutions" if random else known

    @property
    def has_command(self) -> bool:
        """Whether the command line can start or resume it: the problem and its variation have names."""
        return has_name(self.problem) and not self.is_own

    def command(self, folder: Path) -> str:
        """The command that repeats this run, or why there is none."""
        if not self.has_command:
            kind = "variation" if self.emitter == OWN else "emitter"
            own = f"a {kind} of its own" if self.is_own else f"{self.problem}, which cannot be imported"
            return f"No command gives this run again: it was started from Python, with {own}."
        words = ["tesselite", "run", self.problem, *self.niches.command(folder)]
        words += ["--start", str(folder / START_FILE)] if self.start else []
        words += ["--evaluations", str(self.evaluations), "--initial", str(self.initial)]
        words += ["--batch-size", str(self.batch_size), *(self.stall.command() if self.stall else [])]
        words += ["--history"] if self.history else []
        if self.emitter != VARY:
            words += ["--emitter" if is_emitter(self.emitter) else "--variation", self.emitter]
        return shlex.join([*words, *self.execution.command(), "--seed", str(self.seed), "--out", str(folder)])

    def how_to_resume(self, folder: Path) -> str:
        """How to continue the run: a command, or Python if the problem or its variation has no name."""
        if self.has_command:
            return shlex.join(["tesselite", "resume", str(folder), *self.execution.resume_options()])
        again = {OWN: ", variation=...", OWN_EMITTER: ", emitter=..."}.get(self.emitter, "")
        return f"tesselite.resume({str(folder)!r}, problem{again})"


def planned_text(emitter: Emitter) -> str:
    """The text that a plan has for an emitter that has begun."""
    name = text_of(emitter)
    return VARY if name == UNIFORM else name


def _batch_size(given: float | None, emitter: Emitter) -> int:
    """The size of batches: as given, or what suits the emitter; ValueError if that cannot give as many."""
    if given is None:
        return emitter.batch_size or BATCH_SIZE
    size = checked_count("batch_size", given)
    if emitter.batch_size is not None and size > emitter.batch_size:
        raise ValueError(
            f"batch_size: expected at most {emitter.batch_size}, which is all that {emitter} gives at a time, got "
            f"{size}; leave it out, or raise the number of emitters"
        )
    return size


def _check_islands_history(islands: Islands, kind: RowKind) -> None:
    """ValueError if the evaluations of islands between exchanges exceed their memory."""
    between = islands.n * (islands.exchange or 0) * kind.n_bytes
    if between > _ISLANDS_HISTORY:
        raise ValueError(
            f"history: islands hold what they evaluate between exchanges in memory, {between / 1e9:.1f} GB here; "
            f"expected at most {_ISLANDS_HISTORY / 1e9:.0f} GB, as with exchange="
            f"{max(1, _ISLANDS_HISTORY // (islands.n * kind.n_bytes))}"
        )


def fingerprint(problem: Problem) -> str:
    """A digest of the definition of solutions, features and fitness: a changed problem cannot continue a run."""
    solutions, features = problem.solutions, problem.features
    scales = sorted((name, scale.name) for name, scale in features.scales.items())
    kind = type(solutions).__name__, solutions.width, solutions.dtype.str
    digest = hashlib.sha256(repr((kind, features.names, scales, problem.direction, problem.floor)).encode())
    for values in (features.low, features.high):
        digest.update(values.tobytes())
    for name in ("low", "high", "values", "start", "scale"):  # of Box, Levels and Reals; other spaces have none
        digest.update(np.asarray(getattr(solutions, name, ()), dtype=np.float64).tobytes())
    digest.update("".join(map(repr, getattr(solutions, "variables", ()))).encode())
    if problem.records:
        digest.update(repr(problem.records.to_list()).encode())
    if rules := features.outside_rules():
        digest.update(repr(rules).encode())
    digest.update(problem.variant.encode())
    return digest.hexdigest()


def plan_of_format_1(about: dict[str, Any]) -> tuple[Plan, list[dict[str, Any]]]:
    """The plan and the events of settings.json as it was in format 1, before plans."""
    niches, options = about["niches"], about["options"]
    made = niches.get("fingerprint")
    events = [{"event": "niches", "at": 0, "fingerprint": made}] if made else []
    if niches["kind"] == "voronoi":
        niches = niches.get("wanted") or {**niches, "kind": "given"}
    execution = execution_of(islands=options.get("islands"), exchange=options.get("exchange"))
    planned = about["evaluations"]
    if options.get("asynchronous"):
        execution = Asynchronous(available_threads())  # it did not keep its workers
        events += [{"event": "window", "at": at, "value": value} for at, value in options["windows"]]
        events += [{"event": "budget", "at": at, "value": value} for at, value in options["budgets"][1:]]
        (first, planned), (began, _) = options["budgets"][0], options["windows"][0]
        if first != 0 or began != 0:
            raise ValueError(f"options is {options!r}")
    return Plan.from_dict({**about, "evaluations": planned, "niches": niches, "execution": execution.to_dict()}), events
