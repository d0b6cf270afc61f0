"""Output of commands: results on standard output, everything else on standard error. Progress is in
`tesselite.runs.display`.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout, suppress
from typing import Any

import typer

from tesselite.base.terminal import one_line


@contextmanager
def user_prints_to_stderr() -> Iterator[None]:
    """Redirect what users' code prints, in Python, in C or in a child process, to standard error.

    Standard output is for results alone, which scripts read.
    """
    sys.stdout.flush()
    with ExitStack() as stack, redirect_stdout(sys.stderr):
        with suppress(OSError):  # one of them is closed
            saved = os.dup(1)
            stack.callback(os.close, saved)
            os.dup2(2, 1)
            stack.callback(os.dup2, saved, 1)
            stack.callback(_flush_c_output)
        yield


def _flush_c_output() -> None:
    """Flush the output buffers of C code."""
    with suppress(OSError, AttributeError, TypeError):  # this does not find the C library on Windows
        ctypes.CDLL(None).fflush(None)


def print_json(content: dict[str, Any]) -> None:
    """One JSON object on standard output; NaN and infinity become null."""
    sys.stdout.write(json.dumps(_plain(content), allow_nan=False) + "\n")


def tell(about: dict[str, Any], as_json: bool, *lines: object) -> None:
    """A result: one JSON object, or some lines."""
    if as_json:
        print_json(about)
        return
    for line in lines:
        typer.echo(one_line(line))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return None
    return value
