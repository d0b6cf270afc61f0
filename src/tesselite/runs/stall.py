"""Stall: when a run stops before its budget is spent, because it no longer improves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tesselite.base.checks import checked_count
from tesselite.base.numbers import as_float

RISE = 0.01


@dataclass(frozen=True)
class Stall:
    """Stop if neither coverage nor QD score has risen by a share `rise` in the last `patience` evaluations.

    Without a meaningful QD score (no floor, or no elite better than it), only coverage counts.
    Both are looked at where rows of progress.csv are written, at about 200 numbers of evaluations known beforehand.
    """

    patience: int
    rise: float = RISE

    def __post_init__(self) -> None:
        object.__setattr__(self, "patience", checked_count("patience", self.patience))
        rise = as_float("rise", self.rise, "a share above 0, such as 0.01")
        if not 0 < rise < 1e6:
            raise ValueError(f"rise: expected a share above 0, such as 0.01, got {self.rise!r}")
        object.__setattr__(self, "rise", rise)

    def reason(self, history: Sequence[Mapping[str, float | None]]) -> str:
        """Why to stop after these rows of progress; empty if there is no reason."""
        now = history[-1]
        if not now["coverage"]:  # niches that do not exist yet
            return ""
        earlier = [row for row in history if (row["evaluations"] or 0) <= (now["evaluations"] or 0) - self.patience]
        if not earlier:
            return ""
        for name in ("coverage", "qd_score"):
            before, after = earlier[-1][name], now[name]
            if before is not None and after is not None and after > before * (1.0 + self.rise):
                return ""
        by = f"risen by {self.rise:.3g} of itself in {self.patience:,} evaluations"
        if now["qd_score"]:
            return f"neither coverage nor QD score has {by}"
        return f"coverage has not {by} (for a QD score, set the problem's floor to its worst fitness)"

    def to_dict(self) -> dict[str, Any]:
        """JSON for settings.json."""
        return asdict(self)

    def command(self) -> list[str]:
        """The options of `tesselite run`."""
        return ["--patience", str(self.patience), *(["--rise", f"{self.rise:g}"] if self.rise != RISE else [])]


def stall_of(patience: float | None, rise: float | None) -> Stall | None:
    """The rule of these options; ValueError if one of them would be ignored."""
    if patience is None:
        if rise is not None:
            raise ValueError("rise: only valid together with patience")
        return None
    return Stall(checked_count("patience", patience), RISE if rise is None else rise)
