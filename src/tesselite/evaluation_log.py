"""The log of a run on workers: the result of every evaluation, written as it comes, so that no crash loses any.

A synchronous run needs what came since its last checkpoint; an asynchronous one keeps all, in order of completion,
since that order and the seed decide everything: it can be replayed from the log. Records have a fixed length and a
checksum, reasons of invalid evaluations stand in a text file beside it, and failures, with their solution, in another.
"""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import IO, Any

import numpy as np

from tesselite.atomic import cannot_write, write_atomically
from tesselite.solution_space import Rows
from tesselite.workers.farm import Result

LOG_FILES = ("evaluations.log", "evaluations.reasons", "failures.jsonl")
_FAILURES = 1000  # so many are kept with their solutions: enough to see what is wrong


class EvaluationLog:
    """The log in the folder of a run, for a problem with d features. Open it again and it goes on."""

    def __init__(self, folder: Path, d: int) -> None:
        self.file, self.reasons_file, self.failures_file = (folder / name for name in LOG_FILES)
        self._record = np.dtype(
            [("number", "<i8"), ("reason", "<i4"), ("check", "<u4"), ("fitness", "<f8"), ("features", "<f8", (d,))]
        )
        self._reasons: list[str] = _lines(self.reasons_file)
        self._failures = len(_lines(self.failures_file))
        self._last = -1  # the highest number in the file
        self._open: IO[bytes] | None = None

    def read(self) -> list[Result]:
        """All results in the order in which they came; a last record that was cut off is removed from the file."""
        self.close()
        if not self.file.exists():
            return []
        data = self.file.read_bytes()
        records = np.frombuffer(data[: len(data) // self._record.itemsize * self._record.itemsize], self._record)
        sums = np.fromiter((self._check(record) for record in records), np.uint32, len(records))
        good = np.append(records["check"] == sums, False)
        n = int(np.argmin(good))
        if good[n:].any():
            raise ValueError(
                f"{self.file}: damaged in record {n} of {len(records)}; without this file the run goes on from its "
                "checkpoint"
            )
        if n * self._record.itemsize < len(data):
            write_atomically(self.file, lambda part: part.write_bytes(data[: n * self._record.itemsize]))
        self._last = int(records["number"][:n].max(initial=-1))
        return [
            Result(
                int(record["number"]),
                float(record["fitness"]),
                record["features"].copy(),
                self._reasons[record["reason"] - 1] if record["reason"] else "",
            )
            for record in records[:n]
        ]

    def _check(self, record: Any) -> int:
        blank = record.copy()
        blank["check"] = 0
        return zlib.crc32(blank.tobytes())

    def append(self, result: Result, row: Rows | None = None) -> None:
        """Note how an evaluation ended; with its row, an invalid one is noted among the failures, too."""
        try:
            if result.reason and row is not None and self._failures < _FAILURES:
                self._note_failure(result, row)
            self._file().write(self._bytes(result))
            self._last = max(self._last, result.number)
        except OSError as error:
            raise cannot_write(self.file, error) from error

    def _file(self) -> IO[bytes]:
        if self._open is None:
            self._open = self.file.open("ab", buffering=0)  # what is written survives the end of this process
        return self._open

    def _bytes(self, result: Result) -> bytes:
        record = np.zeros((), self._record)
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
        kept = [] if self._last < evaluations else [result for result in self.read() if result.number >= evaluations]
        self.close()
        if kept:
            data = b"".join(self._bytes(result) for result in kept)
            write_atomically(self.file, lambda part: part.write_bytes(data))
        else:
            self.file.unlink(missing_ok=True)
            self._last = -1

    def close(self) -> None:
        """Close the file; the next result opens it again."""
        if self._open is not None:
            self._open.close()
            self._open = None


def _lines(file: Path) -> list[Any]:
    """The JSON values in a file, one on each line; a last one that was cut off is left out, and removed."""
    if not file.exists():
        return []
    text = file.read_text()
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        write_atomically(file, lambda part: part.write_text(whole))
    return [json.loads(line) for line in whole.splitlines()]
