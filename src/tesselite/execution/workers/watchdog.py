"""A watchdog: a process that kills workers when the process that started them is gone for any reason. A worker cannot
block it: Python code in a worker does not run while C code holds the interpreter, or while the worker is stopped.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress

# Reads what is to be watched, and reads it again when it is not. The parent is gone when the pipe is closed, or when
# this process has another parent: a process that was forked may hold the pipe open.
_PROGRAM = """
import os, select, signal, sys
watched, rest = set(), b""
while True:
    if select.select([0], [], [], 1.0)[0]:
        data = os.read(0, 65536)
        if not data:
            break
        *lines, rest = (rest + data).split(b"\\n")
        for line in lines:
            watched ^= {int(line)}
    elif os.getppid() != int(sys.argv[1]):
        break
for process in watched:
    try:
        os.kill(process, signal.SIGKILL)
    except OSError:
        pass
"""


class Watchdog:
    """Kills the processes that it watches when this one is gone; a negative number is that of a group of processes."""

    def __init__(self) -> None:
        self.watched: set[int] = set()
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _PROGRAM, str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # a signal from the keyboard is for the parent
        )

    def watch(self, processes: Iterable[int]) -> None:
        """Watch these and no others."""
        changed = self.watched.symmetric_difference(processes)
        self.watched ^= changed
        assert self.process.stdin is not None
        with suppress(OSError):  # it was killed: idle workers still notice that we are gone
            self.process.stdin.write("".join(f"{process}\n" for process in changed).encode())
            self.process.stdin.flush()

    def close(self) -> None:
        """End it; it then watches nothing."""
        self.watch(())
        with suppress(OSError):  # its end of the pipe, if it was killed
            self.process.communicate()
