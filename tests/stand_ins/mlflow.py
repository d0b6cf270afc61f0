"""What the documentation uses of MLflow."""

from __future__ import annotations

logged: list[tuple[str, float, int]] = []


def start_run() -> None:
    pass


def log_metric(key: str, value: float, step: int) -> None:
    logged.append((key, value, step))
