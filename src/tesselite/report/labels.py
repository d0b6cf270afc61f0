"""Numbers and names in figures: enough digits to tell numbers apart, units for huge ones, shortened names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tesselite.base.terminal import short as short

_MOST_DIGITS = 17  # more are meaningless for a float64
_HUGE = 1e300  # matplotlib adds, subtracts and multiplies what it draws, which must not overflow


def apart(values: Sequence[float]) -> list[str]:
    """The values in four digits, or as many more as are needed to distinguish different values."""
    texts: list[str] = []
    for digits in range(4, _MOST_DIGITS + 1):
        texts = [f"{value + 0.0:.{digits}g}" for value in values]  # -0.0 + 0.0 is 0.0
        if len(set(texts)) == len(set(values)):
            break
    return texts


def unit_of(*values: Any) -> float:
    """The power of ten to divide values by for matplotlib to draw them: 1 unless some are near the largest float."""
    found = np.concatenate([np.abs(np.asarray(array, dtype=np.float64)).ravel() for array in values])
    largest = found[np.isfinite(found)].max(initial=0.0)
    return 1.0 if largest < _HUGE else float(f"1e{int(np.log10(largest))}")


def with_unit(label: str, unit: float) -> str:
    """The label of values that were divided by a unit."""
    return label if unit == 1.0 else f"{label} (in {unit:.0e})".replace("e+", "e")
