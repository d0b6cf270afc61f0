"""Compiled code on networks in rows: drawing, mutating and pruning them, and wiring one up for a rollout.

The encoding and its settings are documented in `networks`. Paper: Vassiliades et al. 2018, appendix "Parameters".
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tesselite.compiled.kernels import kernel
from tesselite.problems.maze_navigation.arithmetic import below, uniform

Row = npt.NDArray[np.int16]
Rows = npt.NDArray[np.int16]
Stream = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

N_INPUTS = 7
N_OUTPUTS = 2
FIRST_HIDDEN = N_INPUTS + N_OUTPUTS  # neurons are numbered: inputs 0-6, outputs 7-8, hidden from 9
BIASES = 2  # where in a row the biases begin: the outputs', then the hidden neurons'
LEVELS = 9  # -4 to 4 half units
FIRST_VALUE = N_INPUTS  # where the values of neurons begin, after those of the inputs


@kernel()
def places(max_hidden: int, max_connections: int) -> tuple[int, int, int]:
    """Where in a row the sources, the targets and the weights of the connections begin."""
    sources = BIASES + N_OUTPUTS + max_hidden
    return sources, sources + max_connections, sources + 2 * max_connections


@kernel()
def mark_live(row: Row, max_hidden: int, max_connections: int, zeros: bool, live: npt.NDArray[np.uint8]) -> None:
    """Set live[neuron] to 1 for each neuron, of any kind, from which a path leads to an output; else to 0.

    `zeros` tells whether connections of weight 0 are paths, too.
    """
    sources, targets, weights = places(max_hidden, max_connections)
    live[:] = 0
    live[N_INPUTS] = 1
    live[N_INPUTS + 1] = 1
    found = True
    while found:
        found = False
        for c in range(row[1]):
            if live[row[targets + c]] and not live[row[sources + c]] and (zeros or row[weights + c] != 0):
                live[row[sources + c]] = 1
                found = True


class Wiring(NamedTuple):
    """The live part of a network, for a rollout; see `wire`."""

    first: Integers  # (most neurons + 1,): of the connections into each neuron, those of the next one follow
    source: Integers  # (most connections,)
    weight: Floats  # (most connections,)
    bias: Floats  # (most neurons,)
    name: Integers  # (most neurons,): a hidden neuron's index in the row; -2 and -1 for the outputs
    wheel: Integers  # (2,): which neurons are the outputs
    used: npt.NDArray[np.uint8]  # (7,): whether a connection reads this input


@kernel()
def new_wiring(max_hidden: int, max_connections: int) -> Wiring:
    """Room for any network of these sizes."""
    most = max_hidden + N_OUTPUTS
    return Wiring(
        np.zeros(most + 1, np.int64),
        np.zeros(max_connections, np.int64),
        np.zeros(max_connections),
        np.zeros(most),
        np.zeros(most, np.int64),
        np.zeros(N_OUTPUTS, np.int64),
        np.zeros(N_INPUTS, np.uint8),
    )


@kernel()
def wire(row: Row, max_hidden: int, max_connections: int, wiring: Wiring) -> int:
    """Write the live part of a network into `wiring`; returns its number of neurons, the hidden ones and the outputs.

    Connections of weight 0 are left out: they change no sum, because none that began at 0 is -0. The neurons with most
    connections come first, so that networks that are computed side by side are of similar shape. The connections into
    a neuron keep the row's order, and so its sum the same rounding. A source is an index into the inputs or, from
    FIRST_VALUE on, the neurons.
    """
    sources, targets, weights = places(max_hidden, max_connections)
    live = np.empty(FIRST_HIDDEN + max_hidden, np.uint8)
    place = np.empty(FIRST_HIDDEN + max_hidden, np.int64)  # of a neuron, among those computed
    into = np.zeros(FIRST_HIDDEN + max_hidden, np.int64)  # connections into each neuron
    mark_live(row, max_hidden, max_connections, False, live)
    most = 0
    for c in range(row[1]):
        if live[row[targets + c]] and row[weights + c] != 0:
            into[row[targets + c]] += 1
            most = max(most, into[row[targets + c]])
    n = 0
    for size in range(most, -1, -1):
        for neuron in range(N_INPUTS, FIRST_HIDDEN + row[0]):
            if live[neuron] and into[neuron] == size:
                place[neuron] = n
                wiring.first[n + 1] = wiring.first[n] + size
                wiring.name[n] = neuron - FIRST_HIDDEN
                wiring.bias[n] = 0.5 * row[BIASES + neuron - N_INPUTS]  # outputs first, there and among the neurons
                n += 1
    for output in range(N_OUTPUTS):
        wiring.wheel[output] = place[N_INPUTS + output]
    free = wiring.first.copy()  # where a neuron's next connection goes
    wiring.used[:] = 0
    for c in range(row[1]):
        if live[row[targets + c]] and row[weights + c] != 0:
            i = place[row[targets + c]]
            origin = row[sources + c]
            if origin < N_INPUTS:
                wiring.used[origin] = 1
            wiring.source[free[i]] = origin if origin < N_INPUTS else FIRST_VALUE + place[origin]
            wiring.weight[free[i]] = 0.5 * row[weights + c]
            free[i] += 1
    return n


@kernel()
def sizes(rows: Rows, room: Integers) -> Integers:
    """A number for each network, (n,), that orders them by their live neurons, and equal ones by their connections."""
    found, wiring = np.empty(rows.shape[0], np.int64), new_wiring(room[0], room[1])
    for row in range(rows.shape[0]):
        n_neurons = wire(rows[row], room[0], room[1], wiring)
        found[row] = n_neurons * (room[1] + 1) + wiring.first[n_neurons]
    return found


@kernel()
def connected(row: Row, sources: int, targets: int, source: int, target: int) -> bool:
    """Whether the network has a connection from source to target."""
    for c in range(row[1]):  # noqa: SIM110 - compiled
        if row[sources + c] == source and row[targets + c] == target:
            return True
    return False


@kernel()
def any_source(n_hidden: int, stream: Stream) -> int:
    """A random neuron that may feed others: an input or a hidden one."""
    chosen = below(N_INPUTS + n_hidden, stream)
    return chosen if chosen < N_INPUTS else chosen + N_OUTPUTS


@kernel()
def any_target(n_hidden: int, stream: Stream) -> int:
    """A random neuron that may be fed: an output or a hidden one."""
    return N_INPUTS + below(N_OUTPUTS + n_hidden, stream)


@kernel()
def any_level(stream: Stream) -> int:
    """A random weight or bias, in half units: -4 to 4."""
    return below(LEVELS, stream) - LEVELS // 2


@kernel()
def append_connection(row: Row, source: int, target: int, weight: int, max_hidden: int, max_connections: int) -> None:
    """Add a connection at the end of the row's list."""
    sources, targets, weights = places(max_hidden, max_connections)
    at = row[1]
    row[sources + at] = source
    row[targets + at] = target
    row[weights + at] = weight
    row[1] = at + 1


@kernel()
def add_connection(row: Row, max_hidden: int, max_connections: int, stream: Stream) -> None:
    """Add a random connection between neurons not yet so connected; does nothing if full."""
    sources, targets, _ = places(max_hidden, max_connections)
    n_hidden = int(row[0])
    n_pairs = (N_INPUTS + n_hidden) * (N_OUTPUTS + n_hidden)
    if row[1] >= min(n_pairs, max_connections):
        return
    while True:
        source, target = any_source(n_hidden, stream), any_target(n_hidden, stream)
        if not connected(row, sources, targets, source, target):
            break
    append_connection(row, source, target, any_level(stream), max_hidden, max_connections)


@kernel()
def remove_connection(row: Row, which: int, max_hidden: int, max_connections: int) -> None:
    """Remove a connection; those after it move up."""
    sources, targets, weights = places(max_hidden, max_connections)
    last = row[1] - 1
    for block in (sources, targets, weights):
        for c in range(which, last):
            row[block + c] = row[block + c + 1]
        row[block + last] = 0
    row[1] = last


@kernel()
def remove_hidden(row: Row, which: int, max_hidden: int, max_connections: int) -> None:
    """Remove hidden neuron `which` (from 0) and its connections; the neurons after it move up."""
    sources, targets, _ = places(max_hidden, max_connections)
    neuron = FIRST_HIDDEN + which
    for c in range(row[1] - 1, -1, -1):
        if row[sources + c] == neuron or row[targets + c] == neuron:
            remove_connection(row, c, max_hidden, max_connections)
    for c in range(row[1]):
        if row[sources + c] > neuron:
            row[sources + c] -= 1
        if row[targets + c] > neuron:
            row[targets + c] -= 1
    biases = BIASES + N_OUTPUTS
    last = row[0] - 1
    for hidden in range(which, last):
        row[biases + hidden] = row[biases + hidden + 1]
    row[biases + last] = 0
    row[0] = last


@kernel()
def rewire(row: Row, which: int, max_hidden: int, max_connections: int, stream: Stream) -> None:
    """Give a connection another source or target at random, so that it is unique; its weight stays."""
    sources, targets, _ = places(max_hidden, max_connections)
    n_hidden = int(row[0])
    source, target = int(row[sources + which]), int(row[targets + which])
    at_source = uniform(stream) < 0.5
    taken = 0
    for c in range(row[1]):
        if at_source:
            taken += row[targets + c] == target
        else:
            taken += row[sources + c] == source
    if taken >= (N_INPUTS if at_source else N_OUTPUTS) + n_hidden:
        return  # every such connection exists already
    while connected(row, sources, targets, source, target):
        if at_source:
            source = any_source(n_hidden, stream)
        else:
            target = any_target(n_hidden, stream)
    row[sources + which] = source
    row[targets + which] = target


@kernel()
def split(row: Row, which: int, max_hidden: int, max_connections: int, stream: Stream) -> None:
    """Put a new hidden neuron in the middle of a connection; both halves get its weight. Does nothing if full."""
    if row[0] >= max_hidden or row[1] >= max_connections:
        return
    sources, targets, weights = places(max_hidden, max_connections)
    source, target, weight = int(row[sources + which]), int(row[targets + which]), int(row[weights + which])
    remove_connection(row, which, max_hidden, max_connections)
    new = FIRST_HIDDEN + int(row[0])
    row[BIASES + N_OUTPUTS + row[0]] = any_level(stream)
    row[0] += 1
    append_connection(row, source, new, weight, max_hidden, max_connections)
    append_connection(row, new, target, weight, max_hidden, max_connections)


@kernel()
def prune(row: Row, max_hidden: int, max_connections: int) -> None:
    """Remove the hidden neurons that cannot influence an output; no behaviour changes."""
    live = np.empty(FIRST_HIDDEN + max_hidden, np.uint8)
    mark_live(row, max_hidden, max_connections, True, live)
    for hidden in range(row[0] - 1, -1, -1):
        if not live[FIRST_HIDDEN + hidden]:
            remove_hidden(row, hidden, max_hidden, max_connections)


@kernel()
def draw_rows(rows: Rows, room: npt.NDArray[np.int64], initial: npt.NDArray[np.int64], seeds: Stream) -> None:
    """Fill each row with a random network; `initial` is (most hidden neurons, most connections) to begin with."""
    max_hidden, max_connections = room[0], room[1]
    for i in range(rows.shape[0]):
        row, stream = rows[i], seeds[i : i + 1]
        row[:] = 0
        row[0] = below(initial[0] + 1, stream)
        n_connections = below(initial[1] + 1, stream)
        for bias in range(N_OUTPUTS + row[0]):
            row[BIASES + bias] = any_level(stream)
        for _ in range(n_connections):
            add_connection(row, max_hidden, max_connections, stream)
        prune(row, max_hidden, max_connections)


@kernel()
def mutate_rows(rows: Rows, room: npt.NDArray[np.int64], rates: npt.NDArray[np.float64], seeds: Stream) -> None:
    """Mutate each row in place; `rates`: weight, rewire, bias, add, delete, split, delete neuron, applied in order."""
    max_hidden, max_connections = room[0], room[1]
    _, _, weights = places(max_hidden, max_connections)
    for i in range(rows.shape[0]):
        row, stream = rows[i], seeds[i : i + 1]
        for c in range(row[1]):
            if uniform(stream) < rates[0]:
                row[weights + c] = any_level(stream)
        for c in range(row[1]):
            if uniform(stream) < rates[1]:
                rewire(row, c, max_hidden, max_connections, stream)
                break  # at most one
        for bias in range(N_OUTPUTS + row[0]):
            if uniform(stream) < rates[2]:
                row[BIASES + bias] = any_level(stream)
        if uniform(stream) < rates[3]:
            add_connection(row, max_hidden, max_connections, stream)
        if uniform(stream) < rates[4] and row[1] > 0:
            remove_connection(row, below(row[1], stream), max_hidden, max_connections)
        if uniform(stream) < rates[5] and row[1] > 0:
            split(row, below(row[1], stream), max_hidden, max_connections, stream)
        if uniform(stream) < rates[6] and row[0] > 0:
            remove_hidden(row, below(row[0], stream), max_hidden, max_connections)
