"""What the documentation uses of Weights & Biases."""

from __future__ import annotations

logged: list[tuple[str, float, int]] = []


def init(project: str) -> None:
    pass


def log(data: dict[str, float], step: int) -> None:
    logged.extend((name, value, step) for name, value in data.items())
