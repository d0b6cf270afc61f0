"""MAP-Elites: ask for solutions, tell what they are worth.

Algorithms 2 and 3 of Vassiliades, Chatzilygeroudis and Mouret (2018): they differ in the tessellation alone. Files
and command line are elsewhere; the same loop as machine code is in `tesselite.search.loop`.
"""

from __future__ import annotations

import base64
import copy
import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tesselite.archive.archive import Archive
from tesselite.archive.elites import Added
from tesselite.archive.evaluation import Direction, Evaluation, checked
from tesselite.base.checks import checked_count
from tesselite.base.interruption import uninterrupted
from tesselite.base.logger import log
from tesselite.base.numbers import as_floats, shown
from tesselite.base.seeds import Purpose, checked_seed, generator
from tesselite.base.threads import checked_threads
from tesselite.emitters.emitter import OWN, OWN_EMITTER, Emitter, text_of
from tesselite.emitters.mixtures import SPLITS, finders
from tesselite.emitters.names import emitter_of, parts_of
from tesselite.emitters.uniform_parents import UNIFORM, Variation
from tesselite.problems.problem import Problem
from tesselite.search.copies import Copies, are_known
from tesselite.search.snapshots import kept_changes, picture_of
from tesselite.spaces.records import Records
from tesselite.spaces.solutions import Rows, SolutionSpace, check_space
from tesselite.tessellation.protocol import Tessellation
from tesselite.tessellation.revision import Revision

if TYPE_CHECKING:
    from tesselite.archive.history import EvaluatedRows
    from tesselite.search.generations import CompiledGenerations
    from tesselite.search.loop import CompiledLoop

INITIAL = 1000
BATCH_SIZE = 200

MILESTONES = 200  # about this many in a run

_STRETCH_SECONDS = 0.1  # how long the compiled loop runs before it returns to the caller


@dataclass(frozen=True)
class Change:
    """A change of tessellation: after `at` evaluations, to this one of `n_niches` within `low` and `high` (d,).

    `lost` elites were worse than another one of their new niche.
    """

    at: int
    n_niches: int
    fingerprint: str
    low: tuple[float, ...]
    high: tuple[float, ...]
    lost: int

    @classmethod
    def from_dict(cls, about: dict[str, Any]) -> Change:
        """What `asdict` and JSON made of one."""
        return cls(**{**about, "low": tuple(about["low"]), "high": tuple(about["high"])})


def saved_changes(saved: dict[str, Any] | None) -> list[Change]:
    """Those of a search whose state is this, as `archive.file.load_checkpoint` gives it."""
    return [Change.from_dict(about) for about in (saved or {}).get("changes", [])]


def found_by(
    emitter: str, saved: dict[str, Any] | None, evaluations: npt.NDArray[np.int64]
) -> tuple[list[str], npt.NDArray[np.int64]] | None:
    """Which of several emitters found the elites of these evaluations: names, and a number of them for each.

    The first name is for random and given solutions. `saved` is the state of a search as `load_checkpoint` gives it,
    `emitter` the text of its emitter. None if it has only one.
    """
    splits = (saved or {}).get("emitter", {}).get(SPLITS)
    names = parts_of(emitter)
    if splits is None or not names:
        return None
    return ["random", *names], 1 + finders(_decoded(splits), evaluations)


def changes_in_words(changes: Sequence[Change]) -> str:
    """How often the niches changed, and what that cost."""
    if not changes:
        return "none yet"
    times, lost = len(changes), sum(change.lost for change in changes)
    return (
        f"{times:,} change{'s' * (times > 1)} of niches, the last after {changes[-1].at:,} evaluations; "
        f"{lost:,} elites lost to better ones of their new niches"
    )


class MapElites:
    """The state of a search: its archive, how many evaluations it has spent, and which solutions are pending.

    Solutions come from the `solution_space`, and elites live in the niches of the `tessellation`. `direction` and
    `floor` are those of `Archive`. The same `seed` gives the same solutions; by default it is random. The first
    `initial` solutions are random, then the `emitter` chooses: by default offspring of uniformly drawn elites, made by
    the `variation`, an operator of `tesselite.variation` or a function (parents, space, rng) -> solutions. Solutions in
    `start` (n, width) replace the first random ones; all of them are asked for. A `revision` changes the niches during
    the search; each change is in `changes`. `records` says what else is kept with each elite (see `spaces.records`).

    Example:
        >>> import tesselite as tl
        >>> niches = tl.GridTessellation(tl.FeatureSpace({"mean": (0, 1)}), 10)
        >>> search = tl.MapElites(tl.Box(3, 0, 1), niches, initial=50, seed=1)
        >>> while search.evaluations < 200:
        ...     solutions = search.ask(50)
        ...     added = search.tell(-solutions.var(axis=1), solutions.mean(axis=1, keepdims=True))
        >>> search.evaluations, search.archive.n_niches
        (200, 10)
    """

    def __init__(
        self,
        solution_space: SolutionSpace,
        tessellation: Tessellation,
        variation: Variation | None = None,
        *,
        emitter: Emitter | None = None,
        revision: Revision | None = None,
        initial: int = INITIAL,
        direction: Direction = "max",
        floor: float | None = None,
        seed: int | None = None,
        start: npt.ArrayLike | None = None,
        records: Records | Mapping[str, Any] | None = None,
    ) -> None:
        self.seed = checked_seed(seed)
        self._solution_space = solution_space
        check_space("solution_space", solution_space)
        self.start: Rows | None = None if start is None else solution_space.validate(start)
        self.initial = max(checked_count("initial", initial), 0 if self.start is None else len(self.start))
        self._emitter = copy.deepcopy(emitter_of(variation, emitter))  # what it remembers belongs to this search
        self.emitter.begin(solution_space, self.seed)
        self._emitter_is_own = text_of(self.emitter) == OWN_EMITTER
        self._archive = Archive(
            tessellation,
            solution_space.width,
            dtype=solution_space.dtype,
            direction=direction,
            floor=floor,
            variables=getattr(solution_space, "variables", ()),
            records=records,
        )
        self.revision = copy.deepcopy(revision)  # likewise
        if self.revision is not None:
            checked_count("revision.every", self.revision.every)
            self.revision.begin(self.seed)
        self.changes: list[Change] = []
        self.pictures: dict[int, Archive] = {}  # by the number of the change; see `snapshots`
        self._revised = 0  # the number of evaluations when the revision was last asked
        self.evaluations = 0
        self.history: EvaluatedRows | None = None  # collects every evaluation from now on, if somebody wants them
        self.first_error = ""  # the traceback of the first exception in a user's function that this process has seen
        self.pending: dict[int, Rows] = {}  # what is out for evaluation in a steady-state search
        self._asked: Rows | None = None

    @property
    def archive(self) -> Archive:
        """The elites; a new object after `change_tessellation`."""
        return self._archive

    @property
    def solution_space(self) -> SolutionSpace:
        """The space of the solutions."""
        return self._solution_space

    @property
    def emitter(self) -> Emitter:
        """What proposes solutions, with all it remembers; the compiled loop holds on to it."""
        return self._emitter

    def ask(self, n: int = BATCH_SIZE) -> Rows:
        """The next solutions to evaluate, shape (n, width); fewer at the end of `start` and of the initialisation."""
        if self._asked is not None:
            raise RuntimeError("ask: tell(fitness, features) the results of the last ask first")
        n = checked_count("n", n)
        if self.evaluations < self.initial:
            n = min(n, self.initial - self.evaluations)
        if self.start is not None and self.evaluations < len(self.start):
            n = min(n, len(self.start) - self.evaluations)
        self._asked = self.propose(n, self.evaluations)
        return self._asked.copy()

    def propose(self, n: int, first: int) -> Rows:
        """n new solutions whose evaluations have the numbers `first`, `first` + 1, ...: random at first, then bred.

        Those of `start` come before; n ends with them at the latest. The rows may be overwritten by the next call.
        """
        if self.start is not None and first < len(self.start):
            return self.start[first : first + n]
        if first < self.initial or not len(self.archive):
            drawn = self.solution_space.random(n, generator(self.seed, Purpose.INITIALISATION, first))
            return self._checked_rows("solution_space.random", drawn, n)
        self.archive.reserve(0)  # checks that its rows are whole
        rows = self._checked_rows("emitter.ask", self.emitter.ask(self.archive, n, first), n)
        if self._emitter_is_own:  # ours stay inside the space
            try:
                self.solution_space.validate(rows)
            except ValueError as error:
                raise ValueError(
                    f"emitter.ask: {error}; your emitter must stay inside the space, for instance with np.clip"
                ) from None
        return rows

    def _checked_rows(self, name: str, rows: Any, n: int) -> Rows:
        """What user code gave as n solutions, if that is what it is; otherwise ValueError."""
        array, archive = np.asarray(rows), self.archive
        if array.shape != (n, archive.width) or array.dtype != archive.dtype:
            raise ValueError(
                f"{name}: expected {n} rows of shape ({n}, {archive.width}) and {archive.dtype}, "
                f"got {array.shape} and {array.dtype}"
            )
        return array

    def tell(self, fitness: npt.ArrayLike, features: npt.ArrayLike, records: Mapping[str, Any] | None = None) -> Added:
        """Insert the solutions of the last ask: fitness (n,), features (n, d) in feature units, in the same order.

        `records`, if the search has some, maps each name to an array (n, ...).
        """
        solutions = self._told()
        expected = (len(solutions),), (len(solutions), self.archive.tessellation.space.n)
        fitness = as_floats("tell", fitness, "fitness of numbers")
        features = as_floats("tell", self.archive.tessellation.space.encoded(features), "features of numbers")
        if (fitness.shape, features.shape) != expected:
            raise ValueError(
                f"tell: expected fitness {expected[0]} and features {expected[1]}, "
                f"got {fitness.shape} and {features.shape}"
            )
        valid = np.ones(len(solutions), np.bool_)
        return self.tell_evaluation(Evaluation(fitness, features, valid, records=dict(records or {})))

    def tell_evaluation(self, evaluated: Evaluation) -> Added:
        """`tell` what `Problem.evaluate` returned for the last ask; it is checked as `tell` checks its arguments."""
        added = self.insert(self._told(), evaluated, self.evaluations)
        self._asked = None
        return added

    def insert(self, solutions: Rows, evaluated: Evaluation, first: int) -> Added:
        """Insert evaluated solutions, whose evaluations have the numbers from `first` on, and tell the emitter."""
        with uninterrupted():
            if self.revision is not None and self.revision.asked_first:
                evaluated = checked(evaluated, len(solutions), self.archive.tessellation.space.n)
                self.revision.tell(evaluated.features[evaluated.valid])
                self.revise(coming=len(solutions))
            wanted, n_before = self.emitter.wants_improvement, len(self.archive)
            added = self.archive.add_evaluated(solutions, evaluated, first, improvement=wanted)
            self.evaluations += len(solutions)
            if self.history is not None:
                known = self.archive.settled(checked(evaluated, len(solutions), self.archive.tessellation.space.n))
                self.history.add(first, solutions, known, self.archive.refused(known.features))
            self.first_error = self.first_error or evaluated.first_error
            self.emitter.tell(solutions, evaluated, added)
            if self.revision is not None and not self.revision.asked_first:
                if self.revision.sees_all:
                    self.revision.tell(evaluated.features[added.niches >= 0])
                if self.revision.selects:
                    self._select(self.revision, n_before)
                self.revise()
        return added

    def _select(self, revision: Revision, n_before: int) -> None:
        """Keep a population within its size; the emitter forgets what was removed, or its memory would only grow."""
        rows = revision.select(*self.archive.competitors(), n_before)
        if rows is not None:
            self.archive.keep(rows)
            niches = self.archive.in_order_of_filling().niches
            self.emitter.niches_changed(niches, niches)

    def change_tessellation(self, tessellation: Tessellation) -> Change:
        """Continue with other niches of the same features: the elites are reinserted in order of filling.

        Everything that refers to niches by number is updated. For reproducible results, call it at fixed numbers of
        evaluations. RuntimeError while solutions are out for evaluation.
        """
        if self._asked is not None or self.pending:
            raise RuntimeError("change_tessellation: first tell the results of all solutions that were asked for")
        with uninterrupted():
            return self._change(tessellation, self.evaluations)

    def _change(self, tessellation: Tessellation, at: int) -> Change:
        before = self._archive.in_order_of_filling().niches
        self._archive, stayed = self._archive.moved_to(tessellation)
        self.emitter.niches_changed(before[stayed], self._archive.in_order_of_filling().niches)
        space = tessellation.space
        bounds = tuple(space.low.tolist()), tuple(space.high.tolist())
        lost, fingerprint = len(before) - len(stayed), tessellation.fingerprint()
        self.changes.append(Change(at, self._archive.n_niches, fingerprint, *bounds, lost))
        kept = kept_changes(len(self.changes))
        if kept[-1] == len(self.changes) - 1 and (picture := picture_of(self._archive)) is not None:
            self.pictures[kept[-1]] = picture
        self.pictures = {number: picture for number, picture in self.pictures.items() if number in kept}
        log.info("niches changed at %d evaluations: %d niches, %d elites lost", at, self._archive.n_niches, lost)
        return self.changes[-1]

    def revise(self, coming: int = 0) -> None:
        """Let the revision change the tessellation if a multiple of `every` evaluations has passed since the last call.

        `coming` evaluations are about to be inserted, and count.
        """
        at = self.evaluations + coming
        if self.revision is None or at // self.revision.every == self._revised // self.revision.every:
            return
        with uninterrupted():
            features = self._archive.in_order_of_filling().features
            revised = self.revision.revise(self._archive.tessellation, features, at)
            if revised is not None:
                self._change(revised, at)
            self._revised = at

    def take_back(self) -> None:
        """Forget the last ask, whose solutions were not evaluated; the next one gives the same solutions."""
        self._asked = None

    def _told(self) -> Rows:
        if self._asked is None:
            raise RuntimeError("tell: ask(n) for solutions first")
        return self._asked

    def state(self) -> dict[str, Any]:
        """The state of the search besides its archive; with the seed, it determines everything that follows."""
        name = text_of(self.emitter)
        state: dict[str, Any] = {
            "evaluations": self.evaluations,
            "seed": self.seed,
            "initial": self.initial,
            "variation": OWN if name == UNIFORM else name,
        }
        if self.start is not None:
            state["start"] = hashlib.sha256(self.start.tobytes()).hexdigest()
        if remembered := _encoded_state("emitter.state", self.emitter.state()):
            state["emitter"] = remembered
        if self.changes:
            state["changes"] = [asdict(change) for change in self.changes]
        if self.revision is not None:
            state["revision"] = _encoded_state("revision.state", self.revision.state())
            state["revised"] = self._revised
        if self.pending:
            rows = np.array(list(self.pending.values()))
            state["pending"] = {"numbers": list(self.pending), "rows": base64.b64encode(rows.tobytes()).decode()}
        return state

    def save(self, path: str | Path, *, embed: bool = True) -> Path:
        """Write the search to one file, atomically, for `restore`; `Archive.load` can also read it.

        Solutions whose results are pending are not part of it: the next ask gives the same ones again.
        `embed=False` leaves out the centroids, if they are stored elsewhere.
        """
        from tesselite.archive.file import save_archive

        return save_archive(self.archive, Path(path), search=self.state(), embed=embed or bool(self.changes))

    def restore(self, path: str | Path) -> None:
        """Bring this search, made with the same arguments as the saved one, to the saved state.

        It then continues as if it had never been interrupted, bit for bit. Raises ValueError if the file is damaged, or
        belongs to a search with another seed, tessellation, variation, direction or kind of solutions.
        """
        from tesselite.archive.file import load_checkpoint

        archive, saved = load_checkpoint(Path(path), self.archive.tessellation)
        if saved is None:
            raise ValueError(f"{path}: an archive, but not the checkpoint of a search")
        ours, theirs = self.state() | _kind(self.archive), saved | _kind(archive)
        for name in (*ours, "start"):
            if name not in _GROWING and ours.get(name) != theirs.get(name):
                raise ValueError(f"{path}: saved by a search with {name} {theirs.get(name)}, this has {ours.get(name)}")
        if ("revision" in saved) != (self.revision is not None):
            with_or_not = "with" if "revision" in saved else "without"
            raise ValueError(f"{path}: saved by a search {with_or_not} a revision of its niches; expected the same")
        archive.tessellation.space.titled(self._archive.tessellation.space)
        self._archive, self.evaluations, self._asked = archive, int(saved["evaluations"]), None
        self.changes, self.pictures = saved_changes(saved), {}
        self.emitter.restore({name: _decoded(about) for name, about in saved.get("emitter", {}).items()})
        if self.revision is not None:
            self.revision.restore({name: _decoded(about) for name, about in saved["revision"].items()})
            self._revised = int(saved["revised"])
        self.pending = {}
        if out := saved.get("pending"):
            rows = np.frombuffer(base64.b64decode(out["rows"]), archive.solutions.dtype).reshape(-1, archive.width)
            self.pending = dict(zip(out["numbers"], rows, strict=True))


_GROWING = ("evaluations", "pending", "emitter", "changes", "revision", "revised")
"""What of a search's state is not given when it is made."""


def _encoded_state(name: str, state: Any) -> dict[str, Any]:
    """What user code gave as named arrays, as JSON can hold them; ValueError for anything else."""
    if not isinstance(state, Mapping) or not all(map(_can_be_encoded, state, state.values())):
        raise ValueError(f"{name}: expected names and arrays of numbers, as in {{'sigma': array}}, got {shown(state)}")
    return {key: _encoded(values) for key, values in state.items()}


def _can_be_encoded(name: Any, values: Any) -> bool:
    return isinstance(name, str) and isinstance(values, np.ndarray | np.generic) and values.dtype.kind not in "OV"


def _encoded(values: npt.NDArray[Any]) -> dict[str, Any]:
    """An array as JSON can hold it."""
    data = base64.b64encode(np.ascontiguousarray(values).tobytes()).decode()
    return {"dtype": values.dtype.str, "shape": list(values.shape), "data": data}


def _decoded(about: dict[str, Any]) -> npt.NDArray[Any]:
    return np.frombuffer(base64.b64decode(about["data"]), about["dtype"]).reshape(about["shape"]).copy()


def _kind(archive: Archive) -> dict[str, Any]:
    return {
        "width": archive.width,
        "dtype": archive.solutions.dtype.str,
        "direction": archive.direction,
        "floor": archive.floor,
        "records": archive.records.to_list(),
    }


class NothingValid(RuntimeError):
    """Every evaluation of the first batch was invalid; the message shows the first error in full."""


def stop_if_nothing_is_valid(search: MapElites, problem: Problem, first_batch: int) -> None:
    """Raise NothingValid if the first batch, or the random solutions if they are fewer, has no valid solution."""
    if len(search.archive) or search.evaluations < min(search.initial, first_batch):
        return
    reasons = ", ".join(f"{n} x {reason}" for reason, n in search.archive.invalid.most_common())
    error = search.first_error or "The function raised no exception; check what it returns."
    raise NothingValid(
        f"{problem.name}: none of the first {search.evaluations} evaluations is valid ({reasons}).\n"
        f"If valid solutions are rare, raise batch_size (and initial): the first batch needs one.\n"
        f"{problem.hint(search.archive.invalid)}{error}"
    )


class Milestones:
    """Numbers of evaluations at which something is due, whatever the clock.

    They are the first ends of batches at or beyond multiples of `every`, and the end of the budget.
    """

    def __init__(self, every: int, evaluations: int, budget: int) -> None:
        self._every = every
        self._budget = budget
        self._next = (evaluations // every + 1) * every

    def reached(self, evaluations: int) -> bool:
        """Whether something is due now, after this many evaluations; asked once after each step."""
        if evaluations < self._next and evaluations != self._budget:
            return False
        self._next = (evaluations // self._every + 1) * self._every
        return True


def search_for(
    problem: Problem,
    niches: Tessellation,
    emitter: Emitter | None,
    initial: int,
    seed: int,
    start: Rows | None = None,
    revision: Revision | None = None,
) -> MapElites:
    """A new search of a problem on these niches."""
    return MapElites(
        problem.solutions,
        niches,
        emitter=emitter,
        revision=revision,
        initial=initial,
        direction=problem.direction,
        floor=problem.floor,
        seed=seed,
        start=start,
        records=problem.records,
    )


def batches(
    search: MapElites,
    problem: Problem,
    evaluations: int,
    *,
    batch_size: int = BATCH_SIZE,
    threads: int | None = None,
    milestone: int | None = None,
    evaluate: Callable[[Rows, int], Evaluation] | None = None,
) -> Iterator[MapElites]:
    """Spend exactly `evaluations`, giving the search back after every batch, or stretch of compiled batches.

    `evaluate(solutions, first)` has the batch that starts with evaluation number `first` evaluated somewhere else than
    in this process. Stretches end at multiples of `milestone` evaluations (rounded up to whole batches), so that what
    is recorded there does not depend on speed.
    """
    n_threads = search.emitter.threads = checked_threads(threads)
    batch_size = min(batch_size, max(1, evaluations - search.evaluations))  # memory is for batches that there are
    search.revise()  # where it failed before
    loop, copies, stretch, archive = None, Copies(search.archive), batch_size, search.archive
    stops = [milestone] if milestone else []
    if search.revision is not None:
        stops.append(search.revision.every)
    while search.evaluations < evaluations:
        left = evaluations - search.evaluations
        if search.archive is not archive:  # the tessellation has changed
            loop, copies, archive = None, Copies(search.archive), search.archive
        if loop is None and not evaluate and search.evaluations >= search.initial and len(search.archive):
            loop = _compiled_loop(search, problem, batch_size, n_threads)
        if loop is not None and loop.can_run(left):
            if search.history is not None:
                left = min(left, -(-search.history.room // batch_size) * batch_size)
            for every in stops:
                left = min(left, -(-(every - search.evaluations % every) // batch_size) * batch_size)
            started = time.perf_counter()
            loop.run(min(left, stretch))
            elapsed = time.perf_counter() - started
            search.revise()
            if elapsed < _STRETCH_SECONDS:
                stretch *= 8 if elapsed < _STRETCH_SECONDS / 16 else 2
        else:
            solutions = search.ask(min(batch_size, left))
            try:
                if evaluate:
                    evaluated = evaluate(solutions, search.evaluations)
                elif are_known(problem, search.archive):
                    evaluated = copies.evaluate(problem, solutions, n_threads)
                else:
                    numbers = range(search.evaluations, search.evaluations + len(solutions))
                    seeds = problem.seeds_in(search.seed, numbers)
                    evaluated = problem.evaluate_seeded(solutions, None, n_threads, seeds)
            except BaseException:
                search.take_back()  # so that the search can go on after Ctrl-C
                raise
            search.tell_evaluation(evaluated)
        yield search


def runs_compiled(search: MapElites, problem: Problem) -> bool:
    """Whether a search loop runs as machine code, for which problem and search have to be made."""
    from tesselite.problems.user_function import CompiledProblem

    if not isinstance(problem, CompiledProblem):
        return False
    from tesselite.search import generations, loop

    return loop.runs(search) or generations.runs(search)


def _compiled_loop(
    search: MapElites, problem: Problem, batch_size: int, threads: int
) -> CompiledLoop | CompiledGenerations | None:
    """The loop as machine code; None if there is none for this search, problem and size of batches."""
    from tesselite.problems.user_function import CompiledProblem

    if not isinstance(problem, CompiledProblem):
        return None
    from tesselite.search import generations, loop

    if generations.runs(search):
        suits = batch_size == search.emitter.batch_size
        return generations.CompiledGenerations(search, problem, threads) if suits else None
    return loop.CompiledLoop(search, problem, batch_size, threads) if loop.runs(search) else None
