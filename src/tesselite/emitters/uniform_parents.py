"""Uniform: parents drawn uniformly from all elites, and an operator. This is MAP-Elites, and the default."""

from __future__ import annotations

from typing import Any

import numpy as np

from tesselite.archive.archive import Archive
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


def offspring_of(variation: Variation, parents: Rows, space: SolutionSpace, rng: np.random.Generator) -> Rows:
    """One offspring for each of n parents, (n, width) or pairs (2, n, width); ValueError if they leave the space."""
    n = parents.shape[-2]
    children = variation(parents, space, rng)
    try:
        children = space.validate(children)
    except ValueError as error:
        raise ValueError(
            f"variation: {error}; your operator must stay inside the space, for instance with np.clip"
        ) from None
    if len(children) != n:
        raise ValueError(f"variation: expected {n} offspring of {n} parents, got {len(children)}")
    return children


def text_of_variation(emitter: Any, given: Variation | None) -> str | None:
    """The text of an emitter's operator; empty if the space varies its solutions itself, None for a function.

    `given` is what the emitter was made with; it may not have begun yet.
    """
    used = getattr(emitter, "variation", given)
    if isinstance(used, operators.Operator):
        return str(used)
    return "" if given is None else None


class Uniform(Emitter):
    """Parents drawn uniformly, and a variation. It has no state, so it works everywhere."""

    asynchronous = True
    islands = True
    wants_improvement = False

    def __init__(self, variation: Variation | None = None) -> None:
        self._given = variation

    def begin(self, space: SolutionSpace, seed: int) -> None:
        """Prepare for a search over this space."""
        super().begin(space, seed)
        self.variation = checked_variation(self._given, space)
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
        parents = elites[rows] if getattr(self.variation, "n_parents", 1) == 2 else elites[rows[0]]
        return offspring_of(self.variation, parents, self.space, generator(self.seed, Purpose.VARIATION, first))

    def __str__(self) -> str:
        text = text_of_variation(self, self._given)
        return OWN if text is None else text or UNIFORM


def uniform(variation: Variation | None = None) -> Emitter:
    """Draws parents uniformly from all elites; varies them with an operator (None: the default of the space)."""
    return Uniform(variation)
