"""The log of a run on workers: the result of every evaluation, written as it comes, so that no crash loses any.

A synchronous run needs what came since its last checkpoint; an asynchronous one keeps all, in order of completion,
since that order and the seed decide everything: it can be replayed from the log. Records have a fixed length, a
checksum and that of their solution; reasons of invalid evaluations stand in a text file beside it, and failures, with
their solution, in another.
"""

from __future__ import annotations

import errno
import json
import os
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from tesselite.base.atomic import cannot_write, write_atomically
from tesselite.execution.workers.farm import Result
from tesselite.spaces.solutions import Rows

LOG_FILES = ("evaluations.log", "evaluations.reasons", "failures.jsonl")
_FAILURES = 1000  # so many are kept with their solutions: enough to see what is wrong


@dataclass(frozen=True)
class Logged:
    """A result from the log, and the checksum of its solution."""

    result: Result
    solution: int

    def is_of(self, row: Rows) -> bool:
        """Whether this is the result of that solution. Another budget or operator breeds others of the same number."""
        return self.solution == _checksum(row)


class EvaluationLog:
    """The log in the folder of a run, for a problem with d features. Open it again and it goes on."""

    def __init__(self, folder: Path, d: int) -> None:
        self.file, self.reasons_file, self.failures_file = (folder / name for name in LOG_FILES)
        self._record = np.dtype(
            [
                ("number", "<i8"),
                ("reason", "<i4"),
                ("check", "<u4"),
                ("solution", "<u4"),
                ("fitness", "<f8"),
                ("features", "<f8", (d,)),
            ]
        )
        self._reasons: list[str] = _lines(self.reasons_file)
        self._failures = len(_lines(self.failures_file))
        self._last = -1  # the highest number in the file
        self._open: IO[bytes] | None = None

    def read(self) -> list[Logged]:
        """All results in the order in which they came; a last record that was cut off is removed from the file."""
        return [
            Logged(
                Result(
                    int(record["number"]),
                    float(record["fitness"]),
                    record["features"].copy(),
                    self._reasons[record["reason"] - 1] if record["reason"] else "",
                ),
                int(record["solution"]),
            )
            for record in self._records()
        ]

    def _records(self) -> npt.NDArray[Any]:
        self.close()
        if not self.file.exists():
            return np.empty(0, self._record)
        data = self.file.read_bytes()
        records = np.frombuffer(data[: len(data) // self._record.itemsize * self._record.itemsize], self._record)
        sums = np.fromiter((self._check(record) for record in records), np.uint32, len(records))
        whole = (records["check"] == sums) & (records["reason"] <= len(self._reasons))
        n = int(np.argmin(np.append(whole, False)))
        if whole[n:].any():
            raise ValueError(
                f"{self.file}: damaged in record {n} of {len(records)}; without this file a run in batches goes on "
                "from its checkpoint, an asynchronous one cannot go on"
            )
        if n * self._record.itemsize < len(data):
            write_atomically(self.file, lambda part: part.write_bytes(data[: n * self._record.itemsize]))
        self._last = int(records["number"][:n].max(initial=-1))
        return records[:n]

    def _check(self, record: Any) -> int:
        blank = record.copy()
        blank["check"] = 0
        return zlib.crc32(blank.tobytes())

    def append(self, result: Result, row: Rows) -> None:
        """Note how the evaluation of a row ended; an invalid one is noted among the failures, too."""
        try:
            if result.reason and self._failures < _FAILURES:
                self._note_failure(result, row)
            self._write(self._bytes(result, row))
            self._last = max(self._last, result.number)
        except OSError as error:
            raise cannot_write(self.file, error) from error

    def _write(self, record: bytes) -> None:
        """All of a record or nothing: behind half a one, whatever comes later could not be read."""
        file = self._file()
        written = file.write(record)
        if written != len(record):  # the disk is full
            os.ftruncate(file.fileno(), os.fstat(file.fileno()).st_size - (written or 0))
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _file(self) -> IO[bytes]:
        if self._open is None:
            self._open = self.file.open("ab", buffering=0)  # what is written survives the end of this process
        return self._open

    def _bytes(self, result: Result, row: Rows) -> bytes:
        record = np.zeros((), self._record)
        record["solution"] = _checksum(row)
        record["number"], record["fitness"], record["features"] = result.number, result.fitness, result.features
        record["reason"] = self._reason_code(result.reason)
        record["check"] = self._check(record)
        return record.tobytes()

    def _reason_code(self, reason: str) -> int:
        if not reason:
            return 0
        if reason not in self._reasons:
            self._reasons.append(reason)
            with self.reasons_file.open("a") as file:
                file.write(json.dumps(reason) + "\n")
                file.flush()
                os.fsync(file.fileno())  # before any record that refers to it
        return self._reasons.index(reason) + 1

    def _note_failure(self, result: Result, row: Rows) -> None:
        self._failures += 1
        about = {
            "evaluation": result.number,
            "reason": result.reason,
            "tries": result.tries,
            "solution": row.tolist(),
            "error": result.error,
        }
        with self.failures_file.open("a") as file:
            file.write(json.dumps(about) + "\n")

    def forget(self, evaluations: int) -> None:
        """Drop evaluations below this number: they are in the checkpoint."""
        if self._last >= evaluations:
            records = self._records()
            data = records[records["number"] >= evaluations].tobytes()
            write_atomically(self.file, lambda part: part.write_bytes(data))
        else:
            self.close()
            self.file.unlink(missing_ok=True)
            self._last = -1

    def sync(self) -> None:
        """Make all that was appended outlast a power cut; a checkpoint that rests on it can follow."""
        if self._open is not None:
            try:
                os.fsync(self._open.fileno())
            except OSError as error:
                raise cannot_write(self.file, error) from error

    def close(self) -> None:
        """Close the file; the next result opens it again."""
        if self._open is not None:
            self._open.close()
            self._open = None


def _checksum(row: Rows) -> int:
    return zlib.crc32(np.ascontiguousarray(row).tobytes())


def _lines(file: Path) -> list[Any]:
    """The JSON values in a file, one on each line; a last one that was cut off is left out, and removed."""
    if not file.exists():
        return []
    text = file.read_text()
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        write_atomically(file, lambda part: part.write_text(whole))
    return [json.loads(line) for line in whole.splitlines()]
