"""A crew of threads that share the chunks of a batch: claimed one by one, with atomic operations on one small array.

Numba's own parallel loops make every batch wait until each thread has reported, which on a busy machine costs more
than the batch itself. Here any running thread takes the next chunk; a descheduled thread causes a delay only in the
middle of a chunk. What a chunk does is in `tesselite.search.loop`.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from tesselite.compiled.kernels import kernel

# Positions in the control array, each on a cache line of its own. The ticket holds the number of chunks in its upper
# half and the next unclaimed one in its lower half, so that a claim is a single atomic addition.
TICKET, DONE, STOP, MESSAGE = 0, 16, 32, 48
N_CONTROL = 64
APART = 16  # between tickets of pieces that are taken by number, so that each has cache lines of its own

_SPINS = 50  # looks at the control array before the thread yields its core


def new_control() -> Any:
    """Control array with no batch in it."""
    return np.zeros(N_CONTROL, np.int64)


def new_tickets(n: int) -> Any:
    """Tickets for n pieces, all taken."""
    return np.ones(n * APART, np.int64)


def _pointer(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    from numba.core import cgutils

    array = context.make_array(signature.args[0])(context, builder, args[0])
    return cgutils.gep_inbounds(builder, array.data, args[1])


@intrinsic
def atomic_add(typingctx: Any, array: Any, i: Any, value: Any) -> Any:
    """array[i] += value; returns the old value."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.atomic_rmw("add", _pointer(context, builder, signature, args), args[2], "seq_cst")

    return types.int64(array, types.int64, types.int64), codegen


@intrinsic
def atomic_load(typingctx: Any, array: Any, i: Any) -> Any:
    """array[i], as other threads left it."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load_atomic(_pointer(context, builder, signature, args), "seq_cst", 8)

    return types.int64(array, types.int64), codegen


@intrinsic
def atomic_store(typingctx: Any, array: Any, i: Any, value: Any) -> Any:
    """array[i] = value, after everything written before."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store_atomic(args[2], _pointer(context, builder, signature, args), "seq_cst", 8)
        return context.get_dummy_value()

    return types.void(array, types.int64, types.int64), codegen


@intrinsic
def yield_core(typingctx: Any) -> Any:
    """Yield this core to another thread."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if os.name == "posix":
            function = ir.FunctionType(ir.IntType(32), [])
            from numba.core import cgutils

            builder.call(cgutils.get_or_insert_function(builder.module, function, "sched_yield"), [])
        return context.get_dummy_value()

    return types.void(), codegen


@kernel(allocates=False)
def publish(control: Any, n_chunks: int) -> None:
    """Offer the chunks of a new batch; every chunk of the one before must be done."""
    atomic_store(control, DONE, 0)
    atomic_store(control, TICKET, n_chunks << 32)


@kernel(allocates=False)
def offer(control: Any, tickets: Any, n: int) -> None:
    """Offer n pieces of work that threads `take` by number; every one of the round before must be done.

    The description of the work must be written first: a late thread may take a piece at once.
    """
    atomic_store(control, DONE, 0)
    for i in range(n):
        atomic_store(tickets, i * APART, 0)
    atomic_add(control, TICKET, 1)


@kernel(allocates=False)
def take(tickets: Any, i: int) -> bool:
    """Whether piece i is this thread's now; no other thread gets it until the next round."""
    return atomic_load(tickets, i * APART) == 0 and atomic_add(tickets, i * APART, 1) == 0


@kernel(allocates=False)
def rounds_offered(control: Any) -> int:
    """How many times pieces have been offered."""
    return atomic_load(control, TICKET)


@kernel(allocates=False)
def claim(control: Any) -> int:
    """The next chunk of the batch on offer, or -1 if none is left."""
    ticket = atomic_load(control, TICKET)
    if (ticket & 0xFFFFFFFF) < (ticket >> 32):
        ticket = atomic_add(control, TICKET, 1)
        if (ticket & 0xFFFFFFFF) < (ticket >> 32):
            return ticket & 0xFFFFFFFF
    return -1


@kernel(allocates=False)
def report_done(control: Any) -> None:
    """Report that a claimed chunk is done."""
    atomic_add(control, DONE, 1)


@kernel(allocates=False)
def wait_until_done(control: Any, n_chunks: int) -> bool:
    """Wait for the chunks that other threads are still working on; False if the crew was dismissed before."""
    spins = 0
    while atomic_load(control, DONE) < n_chunks:
        if atomic_load(control, STOP) != 0:
            return False
        spins += 1
        if spins > _SPINS:
            yield_core()
    return True


@kernel(allocates=False)
def wait_for_work(control: Any, spins: int) -> bool:
    """Pause after `spins` failed claims in a row; False when the crew is dismissed."""
    if atomic_load(control, STOP) != 0:
        return False
    if spins > _SPINS:
        yield_core()
    return True


@kernel(allocates=False)
def dismiss(control: Any) -> None:
    """Dismiss the crew."""
    atomic_store(control, STOP, 1)
