"""Texts as solutions: programs, prompts, graphs as JSON. A row holds the UTF-8 bytes of a text, padded with zeros.
Files and tables contain the texts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from tesselite.base.checks import checked_count, is_whole
from tesselite.base.numbers import shown
from tesselite.spaces.solutions import Rows
from tesselite.spaces.variables import Variable, row_of, text_of

LONGEST = 1000


class Texts:
    """Texts that your functions draw and vary: `random(rng) -> text` and `vary(text, rng) -> text`.

    With `n_parents=2`, `vary(text, other, rng)` gets a second elite. No text is longer than `longest` bytes in UTF-8.
    """

    def __init__(
        self, random: Callable[..., str], vary: Callable[..., str], *, longest: int = LONGEST, n_parents: int = 1
    ) -> None:
        for name, function in (("random", random), ("vary", vary)):
            if not callable(function):
                raise ValueError(f"{name}: expected a function, got {shown(function)}")
        if not is_whole(n_parents, 1) or n_parents > 2:
            raise ValueError(f"n_parents: expected 1 or 2, got {shown(n_parents)}")
        self._random, self._vary, self.n_parents = random, vary, n_parents
        self.width = checked_count("longest", longest)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Rows are bytes."""
        return np.dtype(np.uint8)

    def random(self, n: int, rng: np.random.Generator) -> Rows:
        """Draw n texts, as rows (n, longest)."""
        return self._rows("random", [self._random(rng) for _ in range(n)])

    def vary(self, parents: Rows, rng: np.random.Generator) -> Rows:
        """An offspring of each parent, or pair."""
        groups = parents if self.n_parents == 2 else parents[None]
        texts = [[text_of(row) for row in rows] for rows in groups]
        return self._rows("vary", [self._vary(*group, rng) for group in zip(*texts, strict=True)])

    def _rows(self, name: str, texts: list[Any]) -> Rows:
        wrong = [text for text in texts if not isinstance(text, str)]
        if wrong:
            raise ValueError(f"{name}: expected a text, got {shown(wrong[0])}")
        return np.stack([row_of(text, self.width) for text in texts]) if texts else np.empty((0, self.width), np.uint8)

    def validate(self, solutions: npt.ArrayLike) -> Rows:
        """A text, a list of texts, or rows of bytes, as rows; ValueError if they are not texts, or too long."""
        if isinstance(solutions, str):
            solutions = [solutions]
        if isinstance(solutions, list | tuple):
            return self._rows("solutions", list(solutions))
        rows = np.array(solutions, ndmin=2)
        if rows.ndim != 2 or rows.shape[1] != self.width or rows.dtype != self.dtype:
            raise ValueError(
                f"solutions: expected texts, or bytes of shape (n, {self.width}), got {rows.shape} of {rows.dtype}"
            )
        for row in rows:
            text_of(row)
        return rows

    def decode(self, rows: Rows) -> Any:
        """The text of a row, or the list of those of rows."""
        return text_of(rows) if rows.ndim == 1 else [text_of(row) for row in rows]

    @property
    def variables(self) -> tuple[Variable, ...]:
        """One: the text."""
        return (Variable("text", 0.0, 255.0, text=True),)

    def __repr__(self) -> str:
        return f"Texts(up to {self.width} bytes)"
