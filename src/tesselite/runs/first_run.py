"""The first run on a machine: another process compiles the search loop while this one makes the niches.

Machine code is kept on disk, so each process finds what the other has compiled.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tesselite.base.threads import available_threads
from tesselite.emitters.names import imported_operator, is_emitter
from tesselite.problems import is_built_in
from tesselite.problems.problem import Problem
from tesselite.runs.plan import VARY, Plan
from tesselite.tessellation.protocol import Tessellation

_SEARCH = """
import sys
import tesselite as tl
problem, operator = sys.argv[1:]
few = {"grid": 1, "evaluations": 3, "initial": 1, "batch_size": 1, "seed": 0}
tl.illuminate(tl.problems.by_name(problem), variation=tl.variation.by_name(operator), **few)
"""


@contextmanager
def compiling_beside(plan: Plan, problem: Problem) -> Iterator[Callable[[Tessellation], None]]:
    """Compile the loop in another process if that saves time; call the result once the niches are made."""
    other = _other_process(plan, problem)

    def wait(niches: Tessellation) -> None:
        if other is not None:
            lookup = niches.lookup
            if lookup is not None:
                assert lookup.block.address  # compiled here, meanwhile
            other.wait()

    try:
        yield wait
    finally:
        if other is not None and other.poll() is None:
            other.kill()
            other.wait()


def _other_process(plan: Plan, problem: Problem) -> subprocess.Popen[bytes] | None:
    """The process that compiles; None if that would not save time."""
    if plan.execution.kind != "in process" or available_threads() < 2:
        return None
    if plan.niches.job(problem.features, plan.seed) is None:
        return None
    if plan.is_own or plan.emitter == VARY or is_emitter(plan.emitter) or imported_operator(plan.emitter):
        return None
    from tesselite.compiled.kernels import has_machine_code
    from tesselite.problems.user_function import CompiledProblem

    if not isinstance(problem, CompiledProblem) or has_machine_code("tesselite.search.loop"):
        return None
    searched = plan.problem if is_built_in(plan.problem) else "sphere:2"
    words, none = [sys.executable, "-c", _SEARCH, searched, plan.emitter], subprocess.DEVNULL
    try:
        return subprocess.Popen(words, stdin=none, stdout=none, stderr=none)
    except OSError:
        return None  # then this process compiles everything
