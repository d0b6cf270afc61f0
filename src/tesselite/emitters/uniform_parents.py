"""Uniform: parents drawn uniformly from all elites, and an operator. This is MAP-Elites, and the default."""

from __future__ import annotations

from typing import Any

import numpy as np

from tesselite.archive.archive import Archive
from tesselite.base.arrays import Ints
from tesselite.base.seeds import Purpose, generator, key
from tesselite.compiled.blocks import CHUNK, Brood
from tesselite.emitters import operators
from tesselite.emitters.emitter import OWN, Emitter
from tesselite.spaces.solutions import Rows, SolutionSpace

Variation = operators.Operator | operators.VariationFunction
UNIFORM = "uniform"


def checked_variation(variation: Any, space: SolutionSpace) -> Variation:
    """The variation, or the default of the space for None; ValueError unless it can vary solutions of this space."""
    made: Variation = variation if variation is not None else operators.default_for(space)
    if not callable(made) and not isinstance(made, operators.Operator):
        raise ValueError(
            "variation: expected an operator or a function, such as tesselite.variation.iso_line(0.01, 0.2), "
            f"got {variation!r}"
        )
    name = getattr(made, "__name__", "")
    if name and getattr(operators, name, None) is made:
        raise ValueError(f"variation: expected an operator, got the function {name} itself; call it: {name}()")
    if isinstance(made, operators.Operator):
        made.check(space)
    return made


class Varied(Emitter):
    """An emitter that varies the parents that it chooses, by an operator or a function."""

    wants_improvement = False
    variation: Variation  # what it was given, or the default of the space; known once it has begun

    def __init__(self, variation: Variation | None = None) -> None:
        self._given = variation

    def begin(self, space: SolutionSpace, seed: int) -> None:
        """Prepare for a search over this space."""
        super().begin(space, seed)
        self.variation = checked_variation(self._given, space)

    @property
    def n_parents(self) -> int:
        """How many parents a child has."""
        return getattr(self.variation, "n_parents", 1)

    def offspring(self, elites: Rows, rows: Ints, rng: np.random.Generator) -> Rows:
        """One child for each of n columns of rows (1 or 2, n) of the elites; ValueError if it leaves the space."""
        n, parents = rows.shape[1], elites[rows] if self.n_parents == 2 else elites[rows[0]]
        children = self.variation(parents, self.space, rng)
        try:
            children = self.space.validate(children)
        except ValueError as error:
            raise ValueError(
                f"variation: {error}; your operator must stay inside the space, for instance with np.clip"
            ) from None
        if len(children) != n:
            raise ValueError(f"variation: expected {n} offspring of {n} parents, got {len(children)}")
        return children

    @property
    def text(self) -> str | None:
        """The text of the operator; empty if the space varies its solutions itself, None for a function."""
        used = getattr(self, "variation", self._given)  # it may not have begun yet
        if isinstance(used, operators.Operator):
            return str(used)
        return "" if self._given is None else None


class Uniform(Varied):
    """Draws parents uniformly from all elites; varies them with an operator (None: the default of the space).

    It has no state, so it works everywhere.
    """

    asynchronous = True
    islands = True

    def begin(self, space: SolutionSpace, seed: int) -> None:
        """Prepare for a search over this space."""
        super().begin(space, seed)
        self.selection_key = key(seed, Purpose.SELECTION)
        if isinstance(self.variation, operators.Operator):
            bounded: Any = space
            self.brood = Brood(  # the arguments of a compiled operator; elites and children change
                elites=np.empty((0, space.width)),
                parents=np.zeros((2, CHUNK), np.int64),
                low=bounded.low,
                high=bounded.high,
                numbers=self.variation.numbers(space),
                key=key(seed, Purpose.VARIATION),
                children=np.empty((0, space.width)),
            )

    def ask(self, archive: Archive, n: int, first: int) -> Rows:
        """Offspring of uniformly drawn elites; the rows may be overwritten by the next call."""
        from tesselite.emitters.breeding import breed, draw_parents

        elites, filled = archive.solutions, len(archive)
        if isinstance(self.variation, operators.Operator):
            brood = self.brood
            if brood.elites is not elites or len(brood.children) != n:
                brood = self.brood = brood._replace(elites=elites, children=np.empty((n, archive.width)))
            if breed(self.variation.address, self.selection_key, first, filled, brood) < n:
                raise ValueError(self.variation.failure())
            return brood.children
        rows = np.empty((2, n), np.int64)
        draw_parents(self.selection_key, first, filled, rows)
        return self.offspring(elites, rows, generator(self.seed, Purpose.VARIATION, first))

    def __str__(self) -> str:
        return OWN if self.text is None else self.text or UNIFORM


uniform = Uniform  # its public name
