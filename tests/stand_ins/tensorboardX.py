"""What the documentation uses of tensorboardX."""

from __future__ import annotations

logged: list[tuple[str, float, int]] = []


class SummaryWriter:
    def __init__(self, logdir: str) -> None:
        pass

    def add_scalar(self, tag: str, scalar_value: float, global_step: int) -> None:
        logged.append((tag, scalar_value, global_step))
