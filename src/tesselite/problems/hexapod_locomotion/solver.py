"""The solution of the contact problems of all groups of robots: passes, and the line search for what they leave over.

The passes live in `contact`, the search in `line_search`; here is which robot gets which, and where. A robot's result
does not depend on the others: a pass leaves a robot whose states agreed as it is, and one whose did not always gets the
same number of passes. Every d comes from a pass, so that it depends on the states alone.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

import tesselite.problems.hexapod_locomotion.contact as ct
import tesselite.problems.hexapod_locomotion.line_search as ls
from tesselite.compiled.kernels import kernel
from tesselite.compiled.lanes import LANES, lowest, read, store, write
from tesselite.problems.hexapod_locomotion.robot import N_LEGS

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

PASSES = 40  # before a robot goes to the line search
BOLD = 4  # of them change all states that differ from the guess; the later ones only those of the first such contact
TOGETHER = 3  # passes of stage 2 that a group makes as one, before the robots that are left go on elsewhere
PROBLEM = ct.HEAD + ls.MAX_CONTACTS * ct.CONTACT  # length of a problem's array

# The solver's own problems are behind those of the groups: one for further passes, one for the line search. What is
# known of them: for each lane of the first how many contacts it has, whose it is (group * LANES + lane) and how many
# passes it has made; for each of the second the former two; the lanes in use of the first, as bits, and of the second.
COUNT, OWNER, MADE, SEARCH_COUNT, SEARCH_OWNER = range(0, 5 * LANES, LANES)
USED, SEARCHES = 5 * LANES, 5 * LANES + 1
BOOK = SEARCHES + 1


@kernel(allocates=False)
def _search_normal(p: Floats, s: Ints, n: int, lanes: int, line: Floats, kept: Ints) -> None:
    """The states of stage 1 in the given lanes, by the line search. kept (n,): scratch memory."""
    for j in range(n):
        kept[j] = s[j]
    store(p, ct.DGX, 0.0)
    store(p, ct.DGY, 0.0)
    store(p, ct.DW, 0.0)
    ls.minimise(p, s, n, lanes, line)
    for j in range(n):
        s[j] = kept[j] & ~(lanes << ct.ON1) | (ct.lanes_in(s[j], ct.ON) & lanes) << ct.ON1


@kernel(allocates=False)
def copy_lane(p: Floats, s: Ints, n: int, lane: int, q: Floats, u: Ints, k: int) -> int:
    """Copy lane `lane` of a problem with at most n contacts to lane k of another: how many contacts it has."""
    for row in range(0, ct.HEAD, LANES):
        write(q, row + k, read(p, row + lane))
    count = 0
    for j in range(N_LEGS):
        word = s[j] >> lane & ct.EACH if j < n else 0
        u[j] = u[j] & ~(ct.EACH << k) | word << k
        if word != 0:
            for row in range(ct.A, ct.A + ct.CONTACT, LANES):
                write(q, j * ct.CONTACT + row + k, read(p, j * ct.CONTACT + row + lane))
            count += 1
    return count


@kernel(allocates=False)
def _give_back(problems: Floats, states: Ints, own: int, k: int, count: int, owner: int) -> None:
    """Copy what was found for lane k of one of the solver's problems to its owner: d, and the states."""
    q, u = problems[own], states[own]
    group, lane = owner // LANES, owner % LANES
    p, s = problems[group], states[group]
    for row in range(ct.DX, ct.HEAD, LANES):
        write(p, row + lane, read(q, row + k))
    for j in range(count):
        write(s, j, read(s, j) & ~(ct.EACH << lane) | (read(u, j) >> k & ct.EACH) << lane)


@kernel(allocates=False)
def _search(problems: Floats, states: Ints, line: Floats, book: Ints) -> None:
    """The line search for the lanes that wait for it, and the pass that follows."""
    p, s = problems[-1], states[-1]
    n = book[SEARCH_COUNT]
    for k in range(1, book[SEARCHES]):
        n = max(n, book[SEARCH_COUNT + k])
    ls.minimise(p, s, n, (1 << book[SEARCHES]) - 1, line)
    ct.friction_pass(p, s, n, 0)
    for k in range(book[SEARCHES]):
        _give_back(problems, states, problems.shape[0] - 1, k, book[SEARCH_COUNT + k], book[SEARCH_OWNER + k])
    book[SEARCHES] = 0


@kernel(allocates=False)
def _work(problems: Floats, states: Ints, line: Floats, book: Ints) -> None:
    """One pass for the lanes that are used. Those that are done, or have made all their passes, become free."""
    q, u = problems[-2], states[-2]
    n = careful = out_of_passes = 0
    for k in range(LANES):
        n = max(n, book[COUNT + k])
        careful |= (book[MADE + k] >= BOLD) << k
        book[MADE + k] += 1
        out_of_passes |= (book[MADE + k] >= PASSES) << k
    missed = ct.friction_pass(q, u, n, careful) & book[USED]
    done = book[USED] & ~missed
    book[USED] &= missed
    while done != 0:
        k = lowest(done)
        done &= done - 1
        _give_back(problems, states, problems.shape[0] - 2, k, read(book, COUNT + k), read(book, OWNER + k))
        write(book, COUNT + k, 0)
    searched = missed & out_of_passes
    while searched != 0:
        k = lowest(searched)
        searched &= searched - 1
        at = book[SEARCHES]
        copy_lane(q, u, n, k, problems[-1], states[-1], at)
        book[SEARCH_COUNT + at] = read(book, COUNT + k)
        book[SEARCH_OWNER + at] = read(book, OWNER + k)
        write(book, COUNT + k, 0)
        book[USED] &= ~(1 << k)
        book[SEARCHES] += 1
        if book[SEARCHES] == LANES:
            _search(problems, states, line, book)


@kernel(allocates=False)
def _hand_over(problems: Floats, states: Ints, group: int, n: int, left: int, line: Floats, book: Ints) -> None:
    """Take over the lanes that are left of a group with at most n contacts.

    Few robots need many passes. Here they work side by side, and as soon as one is done, the next takes its lane.
    """
    while left:
        lane = lowest(left)
        left &= left - 1
        while book[USED] == ct.ALL:
            _work(problems, states, line, book)
        k = lowest(~book[USED])
        write(book, COUNT + k, copy_lane(problems[group], states[group], n, lane, problems[-2], states[-2], k))
        write(book, OWNER + k, group * LANES + lane)
        book[USED] |= 1 << k
        write(book, MADE + k, TOGETHER)


@kernel(allocates=False)
def begin(
    problems: Floats, states: Ints, first: int, last: int, n_contacts: Ints, missed: Ints, line: Floats, book: Ints
) -> None:
    """Stage 1, and the first passes of stage 2, of the groups first..last, with at most n_contacts[group] contacts.

    Each pass goes through all groups before the next one: its code stays in the processor's cache, and a group's
    arithmetic overlaps with that of the next. missed (n,): scratch memory.
    """
    missed[first:last] = ct.ALL
    for i in range(PASSES):
        left = 0
        for j in range(first, last):
            if missed[j]:
                missed[j] = ct.normal_pass(problems[j], states[j], n_contacts[j], ct.ALL if i >= BOLD else 0)
                left |= missed[j]
        if not left:
            break
    for j in range(first, last):
        if missed[j]:
            _search_normal(problems[j], states[j], n_contacts[j], missed[j], line, states[-3])
            ct.normal_pass(problems[j], states[j], n_contacts[j], 0)
    for j in range(first, last):
        ct.refine_normal(problems[j], states[j], n_contacts[j])
    missed[first:last] = ct.ALL
    for _ in range(TOGETHER):
        for j in range(first, last):
            if missed[j]:
                missed[j] = ct.friction_pass(problems[j], states[j], n_contacts[j], 0)
    for j in range(first, last):
        _hand_over(problems, states, j, n_contacts[j], missed[j], line, book)


@kernel(allocates=False)
def finish(problems: Floats, states: Ints, line: Floats, book: Ints) -> None:
    """Finish all that was handed over."""
    while book[USED] != 0:
        _work(problems, states, line, book)
    if book[SEARCHES] != 0:
        _search(problems, states, line, book)
