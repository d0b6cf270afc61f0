"""Short texts for figures: numbers with as many digits as tell them apart, names by both their ends."""

from __future__ import annotations

from collections.abc import Sequence

_LETTERS_SHOWN = 20
_MOST_DIGITS = 17  # more say nothing of a float64


def apart(values: Sequence[float]) -> list[str]:
    """The values in four digits, or as many more as it takes until different values have different texts."""
    texts: list[str] = []
    for digits in range(4, _MOST_DIGITS + 1):
        texts = [f"{value + 0.0:.{digits}g}" for value in values]  # -0.0 + 0.0 is 0.0
        if len(set(texts)) == len(set(values)):
            break
    return texts


def short(name: str, letters: int = _LETTERS_SHOWN) -> str:
    """A name with its middle left out if it is long: names of features often differ at their ends."""
    half = letters // 2
    return name if len(name) <= letters else f"{name[: half - 1]}…{name[-half:]}"
