"""Networks: the solution space of the maze. Structure and parameters evolve, in rows of fixed width.

The compiled code behind it lives in `network_code`, pictures of networks in `maze_pictures`. Paper: Vassiliades et al.
2018, appendix "Parameters" (initial numbers, rates and parameter values); the details it leaves open follow the lab's
evolvable networks, see docs/maze.md.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from tesselite.problems.maze_navigation.robot import is_finite_number

INPUTS = ("laser left", "laser ahead", "laser right", "slice 0", "slice 90", "slice 180", "slice 270")
OUTPUTS = ("left wheel", "right wheel")
N_INPUTS, N_OUTPUTS = len(INPUTS), len(OUTPUTS)
FIRST_HIDDEN = N_INPUTS + N_OUTPUTS
LEVELS = tuple(-2 + i / 2 for i in range(9))
"""What weights and biases can be (paper, table of parameters)."""


@dataclass(frozen=True)
class Mutation:
    """Probabilities of each kind of change, applied in this order; defaults from the paper where it gives them.

    `weight` and `bias`: each is drawn again [choice: the paper gives no rate]. `rewire`: connections are scanned, each
    gets another source or target with this probability, and the scan stops at the first. `add` and `delete`: one
    connection. `split`: one connection gets a new neuron in its middle. `delete_neuron`: one hidden neuron goes, with
    its connections.
    """

    weight: float = 0.05
    rewire: float = 0.15
    bias: float = 0.05
    add: float = 0.15
    delete: float = 0.15
    split: float = 0.1
    delete_neuron: float = 0.1

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not (is_finite_number(value) and 0 <= value <= 1):
                raise ValueError(f"{field.name}: expected a probability, got {value!r}")


@dataclass(frozen=True)
class Connection:
    """One connection of a network, between neurons named by `Description.neurons`."""

    source: int
    target: int
    weight: float


@dataclass(frozen=True)
class Description:
    """What a network consists of. Neurons are numbered: 7 inputs, 2 outputs, then the hidden ones from 9.

    `neurons` are all names, `biases` those of the outputs and the hidden neurons. A neuron or connection is live if it
    can influence an output; the others are carried along and may come to life by mutation.
    """

    neurons: tuple[str, ...]
    biases: dict[int, float]
    connections: tuple[Connection, ...]
    live_neurons: frozenset[int]

    @property
    def n_hidden(self) -> int:
        """Number of hidden neurons, live or not."""
        return len(self.neurons) - FIRST_HIDDEN

    @property
    def n_live_hidden(self) -> int:
        """Number of hidden neurons that can influence an output."""
        return sum(neuron >= FIRST_HIDDEN for neuron in self.live_neurons)

    @property
    def live_connections(self) -> tuple[Connection, ...]:
        """The connections that can influence an output."""
        return tuple(c for c in self.connections if c.target in self.live_neurons)

    def __str__(self) -> str:
        lines = [
            f"{self.n_hidden} hidden neurons ({self.n_live_hidden} live), "
            f"{len(self.connections)} connections ({len(self.live_connections)} live)"
        ]
        for neuron, bias in self.biases.items():
            into = [c for c in self.connections if c.target == neuron]
            terms = ", ".join(f"{c.weight:+g} {self.neurons[c.source]}" for c in into) or "nothing"
            dead = "" if neuron in self.live_neurons else " (without effect)"
            lines.append(f"  {self.neurons[neuron]}{dead}: bias {bias:+g}, from {terms}")
        return "\n".join(lines)


class Networks:
    """Networks with 7 inputs, 2 outputs and evolving hidden neurons and connections, as rows of int16.

    A row is: number of hidden neurons, number of connections; the biases of the outputs and of the hidden neurons; the
    sources, the targets and the weights of the connections, each padded with zeros. Weights and biases are in half
    units (-4 to 4 stands for -2 to 2). Neurons are numbered: inputs 0-6, outputs 7-8, hidden from 9.

    A network has at most `max_hidden` hidden neurons and `max_connections` connections; a mutation that would exceed
    them leaves that part of the network as it is. Random ones begin with up to `initial_hidden` and
    `initial_connections`, both uniform, before what cannot influence an output is pruned.
    """

    def __init__(
        self,
        max_hidden: int = 48,
        max_connections: int = 128,
        initial_hidden: int = 20,
        initial_connections: int = 40,
        mutation: Mutation = Mutation(),  # noqa: B008 - frozen
    ) -> None:
        for name, initial, most, limit in (
            ("hidden", initial_hidden, max_hidden, 1000),
            ("connections", initial_connections, max_connections, 10_000),
        ):
            if not 0 <= initial <= most <= limit:
                raise ValueError(
                    f"initial_{name} and max_{name}: expected 0 <= initial <= max <= {limit}, got {initial} and {most}"
                )
        self.max_hidden = int(max_hidden)
        self.max_connections = int(max_connections)
        self.initial_hidden = int(initial_hidden)
        self.initial_connections = int(initial_connections)
        self.mutation = mutation
        self.room = np.array([max_hidden, max_connections], dtype=np.int64)

    @property
    def width(self) -> int:
        """Number of values in a row."""
        return 2 + N_OUTPUTS + self.max_hidden + 3 * self.max_connections

    @property
    def dtype(self) -> np.dtype[Any]:
        """Rows are int16."""
        return np.dtype(np.int16)

    def random(self, n: int, rng: np.random.Generator) -> npt.NDArray[np.int16]:
        """Draw n random networks, shape (n, width)."""
        from tesselite.problems.maze_navigation.network_code import draw_rows

        rows = np.empty((n, self.width), dtype=np.int16)
        initial = np.array([self.initial_hidden, self.initial_connections], dtype=np.int64)
        draw_rows(rows, self.room, initial, _seeds(n, rng))
        return rows

    def vary(self, parents: npt.NDArray[Any], rng: np.random.Generator) -> npt.NDArray[np.int16]:
        """One mutated offspring of each parent, shape (n, width); there is no crossover."""
        from tesselite.problems.maze_navigation.network_code import mutate_rows

        rows = np.array(parents, dtype=np.int16, order="C")
        rates = np.array([getattr(self.mutation, field.name) for field in fields(Mutation)])
        mutate_rows(rows, self.room, rates, _seeds(len(rows), rng))
        return rows

    def validate(self, solutions: Any) -> npt.NDArray[np.int16]:
        """The solutions as int16 rows; ValueError says which row is not a network of this space, and why."""
        given = np.asarray(solutions)
        if given.dtype.kind not in "iuf" or given.ndim not in (1, 2) or given.shape[-1] != self.width:
            raise ValueError(
                f"solutions: expected whole numbers of shape (n, {self.width}), got {given.dtype} {given.shape}"
            )
        given = np.atleast_2d(given)
        rows = np.zeros(given.shape, dtype=np.int16)
        fits = (given >= -(2**15)) & (given < 2**15)  # False for NaN
        rows[fits] = given[fits]
        self._refuse(rows != given, "whole numbers that fit 16 bits")
        n_hidden, n_connections = rows[:, 0:1].astype(np.int64), rows[:, 1:2].astype(np.int64)
        self._refuse(~((n_hidden >= 0) & (n_hidden <= self.max_hidden)), f"0 to {self.max_hidden} hidden neurons")
        self._refuse(
            ~((n_connections >= 0) & (n_connections <= self.max_connections)),
            f"0 to {self.max_connections} connections",
        )
        biases, sources, targets, weights = self._parts(rows)
        present = np.arange(self.max_connections) < n_connections
        for part in (sources, targets, weights):
            self._refuse(~present & (part != 0), "zeros after the last connection")
        self._refuse((np.arange(biases.shape[1]) >= N_OUTPUTS + n_hidden) & (biases != 0), "zeros after the last bias")
        for part in (biases, weights):
            self._refuse((part < -4) | (part > 4), "weights and biases of -4 to 4 half units")
        n_neurons = FIRST_HIDDEN + n_hidden
        from_output = (sources >= N_INPUTS) & (sources < FIRST_HIDDEN)
        self._refuse(
            present & ((sources < 0) | (sources >= n_neurons) | from_output),
            "connections from inputs or hidden neurons",
        )
        self._refuse(
            present & ((targets < N_INPUTS) | (targets >= n_neurons)),
            "connections to outputs or hidden neurons",
        )
        pairs = np.where(present, sources.astype(np.int64) * 2048 + targets, -1 - np.arange(self.max_connections))
        pairs.sort(axis=1)
        self._refuse(pairs[:, 1:] == pairs[:, :-1], "no connection twice")
        return rows

    def describe(self, solution: Any) -> Description:
        """The neurons and connections of one network; printing it gives a readable list."""
        from tesselite.problems.maze_navigation.network_code import mark_live

        row = self.validate(solution)
        if len(row) != 1:
            raise ValueError(f"solution: expected one, got {len(row)}")
        n_hidden, n_connections = int(row[0, 0]), int(row[0, 1])
        biases, sources, targets, weights = (part[0].tolist() for part in self._parts(row))
        live = np.empty(FIRST_HIDDEN + self.max_hidden, dtype=np.uint8)
        mark_live(row[0], self.max_hidden, self.max_connections, True, live)
        return Description(
            neurons=(*INPUTS, *OUTPUTS, *(f"hidden {i}" for i in range(n_hidden))),
            biases={N_INPUTS + i: biases[i] / 2 for i in range(N_OUTPUTS + n_hidden)},
            connections=tuple(Connection(sources[c], targets[c], weights[c] / 2) for c in range(n_connections)),
            live_neurons=frozenset(np.flatnonzero(live).tolist()),
        )

    def encode(
        self, biases: dict[int, float] | None = None, connections: Any = (), n_hidden: int = 0
    ) -> npt.NDArray[np.int16]:
        """The row of a network given explicitly: biases by neuron number, and (source, target, weight) connections.

        Raises ValueError if it is not a network of this space.
        """
        row = np.zeros((1, self.width))
        row[0, 0], row[0, 1] = n_hidden, len(connections)
        if len(connections) > self.max_connections or n_hidden > self.max_hidden:
            raise ValueError(
                f"expected at most {self.max_hidden} hidden neurons and {self.max_connections} connections, "
                f"got {n_hidden} and {len(connections)}"
            )
        bias, source, target, weight = self._parts(row)
        for neuron, value in (biases or {}).items():
            if not N_INPUTS <= neuron < FIRST_HIDDEN + n_hidden:
                raise ValueError(f"biases: expected outputs or hidden neurons, got neuron {neuron}")
            bias[0, neuron - N_INPUTS] = 2 * value
        for c, connection in enumerate(connections):
            source[0, c], target[0, c], weight[0, c] = connection[0], connection[1], 2 * connection[2]
        encoded: npt.NDArray[np.int16] = self.validate(row)[0]
        return encoded

    def _parts(self, rows: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], ...]:
        """Views of the rows' biases, sources, targets and weights."""
        biases = 2
        sources = biases + N_OUTPUTS + self.max_hidden
        targets = sources + self.max_connections
        weights = targets + self.max_connections
        return rows[:, biases:sources], rows[:, sources:targets], rows[:, targets:weights], rows[:, weights:]

    @staticmethod
    def _refuse(bad: npt.NDArray[np.bool_], expected: str) -> None:
        if bad.any():
            raise ValueError(f"solutions: expected {expected}; row {int(np.argmax(bad.any(axis=1)))} differs")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Networks) and vars_of(self) == vars_of(other)

    def __hash__(self) -> int:
        return hash(vars_of(self))

    def __repr__(self) -> str:
        return f"Networks(max_hidden={self.max_hidden}, max_connections={self.max_connections})"


def vars_of(space: Networks) -> tuple[Any, ...]:
    """The settings of a space, in a tuple."""
    return (
        space.max_hidden,
        space.max_connections,
        space.initial_hidden,
        space.initial_connections,
        space.mutation,
    )


def _seeds(n: int, rng: np.random.Generator) -> npt.NDArray[np.uint64]:
    """One seed for each row, so that rows do not depend on how many are made together with them in one call."""
    return rng.integers(0, 2**64, n, dtype=np.uint64)
