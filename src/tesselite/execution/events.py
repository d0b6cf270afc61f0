"""Changes during a run: its budget when it is extended, how many solutions are pending at a time.

A plan never changes; events are appended here, a sealed line of JSON each, and synced before anything that depends on
them is written. Without a file, events are kept in memory.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tesselite.base.atomic import cannot_write, regular_bytes, write_atomically
from tesselite.base.checks import is_whole
from tesselite.base.checksum import is_intact, sealed

EVENTS_FILE = "events.jsonl"
BUDGET = "budget"  # the run was extended: value, evaluations in all
WINDOW = "window"  # of an asynchronous run: value, pending solutions at a time
EXECUTION = "execution"  # the run was resumed on other workers: how
NICHES = "niches"  # the tessellation was made: its fingerprint
CHANGE = "change of niches"  # the search has changed it: a `Change`

STOP = "stop"  # the run ended before its budget was spent: the reason

Since = list[list[int]]
"""Values that changed during a run: [from this many evaluations on, value], ..."""


def value_at(changes: Since, evaluations: int) -> int:
    """The value that holds after this many evaluations."""
    return next(value for since, value in reversed(changes) if since <= evaluations)


class Events:
    """The events of a run in order; `record` appends one."""

    def __init__(self, file: Path | None = None, happened: Sequence[dict[str, Any]] = ()) -> None:
        self.file = file
        self._size = 0
        self._last = ""  # the digest of the last line: each names the one before it, so that none can be missing
        self._events: list[dict[str, Any]] = []
        for event in happened:
            self._take(event)
        if file is not None and file.exists():
            self._read(file)

    def written_to(self, file: Path) -> Events:
        """The same events, kept in a new file."""
        copy = Events()
        lines = [copy._line(happened) for happened in self._events]
        write_atomically(file, lambda part: part.write_bytes(b"".join(lines)))
        return Events(file)

    def _line(self, happened: dict[str, Any]) -> bytes:
        """The line behind those that were made so far."""
        line = sealed({**happened, "after": self._last})
        self._last = line["digest"]
        return (json.dumps(line) + "\n").encode()

    def _read(self, file: Path) -> None:
        text = regular_bytes(file)
        self._size = text.rfind(b"\n") + 1  # a truncated last line does not count
        for number, line in enumerate(text[: self._size].splitlines(), 1):
            try:
                event = json.loads(line)
                if not is_intact(event) or event["after"] != self._last:
                    raise ValueError("not what was written, or a line before it is missing")
                self._last = event["digest"]
                self._take({name: value for name, value in event.items() if name not in ("digest", "after")})
            except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
                raise ValueError(f"{file}: damaged in line {number} ({error}); restore it") from None

    def _take(self, event: dict[str, Any]) -> None:
        """Read the events of a file; ValueError or LookupError if they are impossible."""
        last = self._events[-1]["at"] if self._events and event["event"] == self._events[-1]["event"] else 0
        if not (isinstance(event["event"], str) and is_whole(event["at"], last) and is_whole(event.get("value", 1), 1)):
            raise ValueError(f"unknown event {event!r}")
        self._events.append(event)

    def record(self, event: str, at: int, **about: Any) -> None:
        """Record an event after `at` evaluations; on disk when this returns."""
        happened = {"event": event, "at": at, **about}
        if self.file is not None:
            line = self._line(happened)
            try:
                with self.file.open("ab") as file:
                    file.truncate(self._size)
                    file.write(line)
                    file.flush()
                    os.fsync(file.fileno())
            except OSError as error:
                raise cannot_write(self.file, error) from error
            self._size += len(line)
        self._events.append(happened)

    def of(self, event: str) -> list[dict[str, Any]]:
        """All events of this kind, in order."""
        return [happened for happened in self._events if happened["event"] == event]

    def changes(self, event: str, first: int | None = None) -> Since:
        """The values of this kind of event over time, after a first one that held from the beginning."""
        return [*([] if first is None else [[0, first]]), *([e["at"], e["value"]] for e in self.of(event))]
