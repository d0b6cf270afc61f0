"""A runner of commands whose `stdout` and `stderr` are apart; Click before 8.2 does that only when asked."""

from __future__ import annotations

import inspect
from typing import Any

from typer.testing import CliRunner


def runner() -> CliRunner:
    asked: dict[str, Any] = {"mix_stderr": False} if "mix_stderr" in inspect.signature(CliRunner).parameters else {}
    return CliRunner(**asked)
