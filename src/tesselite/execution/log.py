"""The log of a run on workers: every result, written on arrival, so that no crash loses any.

A synchronous run needs the results since its last checkpoint; an asynchronous one keeps all, in order of completion:
together with the seed, this order determines the run, so it can be replayed. Records have a fixed length, a checksum of
all up to there, so that none is missed, and that of their solution; reasons of invalid evaluations are in a text file
beside it, and failures, with their solution, in another.
"""

from __future__ import annotations

import errno
import json
import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from tesselite.base.atomic import cannot_write, regular_bytes, write_atomically
from tesselite.execution.workers.farm import Result
from tesselite.spaces.records import Records
from tesselite.spaces.solutions import Rows

LOG_FILES = ("evaluations.log", "evaluations.reasons", "failures.jsonl")
_FAILURES = 1000  # this many are kept with their solutions: enough to diagnose


@dataclass(frozen=True)
class Logged:
    """A result from the log, and the checksum of its solution."""

    result: Result
    solution: int

    def is_of(self, row: Rows) -> bool:
        """Whether this is the result of that solution. With another budget or operator, the same number has another
        solution."""
        return self.solution == _checksum(row)


class EvaluationLog:
    """The log in the folder of a run, for a problem with d features and these records. It can be reopened. Reading
    never changes a file, since the run may be active. A record truncated by a crash is removed before the first result
    is appended.
    """

    def __init__(self, folder: Path, d: int, records: Records | None = None) -> None:
        self.records = records or Records()
        self.file, self.reasons_file, self.failures_file = (folder / name for name in LOG_FILES)
        self._record = np.dtype(
            [
                ("number", "<i8"),
                ("reason", "<i4"),
                ("check", "<u4"),
                ("solution", "<u4"),
                ("fitness", "<f8"),
                ("features", "<f8", (d,)),
                *([("records", "<f8", (self.records.width,))] if self.records.width else []),
                *([("texts", "<i4", (len(self.records.texts),))] if self.records.texts else []),  # as reasons are
            ]
        )
        self._open: IO[bytes] | None = None
        # Of the files, known once one is open or has been read:
        self._reasons: list[str] = []
        self._failures = 0
        self._last = -1  # the highest number
        self._check = self._reasons_check = 0  # checksums of the last record and of the last reason

    def read(self) -> list[Logged]:
        """All results in the order of arrival; a truncated last record is left out."""
        return [
            Logged(
                Result(
                    int(record["number"]),
                    float(record["fitness"]),
                    record["features"].copy(),
                    self._text(record["reason"]),
                    records=self._recorded(record),
                ),
                int(record["solution"]),
            )
            for record in self._records()
        ]

    def _text(self, code: int) -> str:
        return self._reasons[code - 1] if code else ""

    def _recorded(self, record: Any) -> dict[str, Any]:
        """The records of a solution in a record of the file."""
        if not self.records:
            return {}
        numbers = np.array(record["records"] if self.records.width else ())[None]
        codes = record["texts"] if self.records.texts else ()
        said = zip(self.records.texts, map(self._text, codes), strict=True)
        texts = {name: np.array([text], object) for name, text in said}
        return {name: values[0] for name, values in self.records.unpacked(numbers, texts).items()}

    def numbers(self) -> npt.NDArray[np.int64]:
        """The numbers of the evaluations whose results are in the file: quick, without checks."""
        data = regular_bytes(self.file)
        n_bytes = self._record.itemsize
        numbers: npt.NDArray[np.int64] = np.frombuffer(data[: len(data) // n_bytes * n_bytes], self._record)["number"]
        return numbers

    def _records(self) -> npt.NDArray[Any]:
        """The complete records of the file; remembers their checksums. ValueError if one is damaged."""
        data = regular_bytes(self.file)
        # After the records: a reason is on disk before any record that refers to it.
        self._reasons, self._reasons_check = self._read_reasons()
        n_bytes = self._record.itemsize
        records = np.frombuffer(data[: len(data) // n_bytes * n_bytes], self._record)
        checks = records["check"].tolist()
        # Earlier development versions did not chain the checksums.
        whole = np.fromiter(
            (
                check in (zlib.crc32(blank, before), zlib.crc32(blank))
                for blank, check, before in zip(self._blank(records), checks, [0, *checks], strict=False)
            ),
            np.bool_,
            len(records),
        )
        whole &= records["reason"] <= len(self._reasons)
        if self.records.texts:
            whole &= (records["texts"] <= len(self._reasons)).all(axis=1)
        n = int(np.argmin(np.append(whole, False)))
        if whole[n:].any():
            raise ValueError(
                f"{self.file}: damaged in record {n} of {len(records)}; without this file a run in batches "
                "continues from its checkpoint, an asynchronous one cannot continue"
            )
        self._last = int(records["number"][:n].max(initial=-1))
        self._check = checks[n - 1] if n else 0
        return records[:n]

    def _blank(self, records: npt.NDArray[Any]) -> Iterator[bytes]:
        """The bytes of each record without its checksum."""
        blank = records.copy()
        blank["check"] = 0
        return (record.tobytes() for record in blank)

    def _read_reasons(self) -> tuple[list[str], int]:
        reasons: list[str] = []
        before = 0
        for line in _whole_lines(self.reasons_file).splitlines():
            try:
                said = json.loads(line)
                reason, check = (said, None) if isinstance(said, str) else said  # a bare text: as versions before wrote
                before = zlib.crc32(reason.encode(), before)
            except (ValueError, TypeError, AttributeError, RecursionError):
                check = -1
            if check not in (None, before):
                raise ValueError(f"{self.reasons_file}: damaged in line {len(reasons) + 1}")
            reasons.append(reason)
        return reasons, before

    def append(self, result: Result, row: Rows) -> None:
        """Append the result of a row; an invalid one is also added to the failures."""
        try:
            file = self._file()
            if result.reason and self._failures < _FAILURES:
                self._note_failure(result, row)
            record = np.zeros((), self._record)
            record["solution"] = _checksum(row)
            record["number"], record["fitness"], record["features"] = result.number, result.fitness, result.features
            record["reason"] = self._reason_code(result.reason)
            if self.records:
                values = self.records.stacked([result.records])
                if self.records.width:
                    record["records"] = self.records.packed(values, 1)[0]
                if self.records.texts:
                    record["texts"] = [self._reason_code(values[name][0]) for name in self.records.texts]
            record["check"] = check = zlib.crc32(record.tobytes(), self._check)
            _write(file, record.tobytes())
            self._check = check
            self._last = max(self._last, result.number)
        except OSError as error:
            raise cannot_write(self.file, error) from error

    def _file(self) -> IO[bytes]:
        if self._open is None:
            whole = len(self._records()) * self._record.itemsize
            self._failures = _whole_lines(self.failures_file).count(b"\n")
            _cut(self.file, whole)
            for file in (self.reasons_file, self.failures_file):
                _cut(file, len(_whole_lines(file)))
            self._open = self.file.open("ab", buffering=0)  # what is written survives the end of this process
        return self._open

    def _reason_code(self, reason: str) -> int:
        if not reason:
            return 0
        if reason not in self._reasons:
            check = zlib.crc32(reason.encode(), self._reasons_check)
            with self.reasons_file.open("a") as file:
                file.write(json.dumps([reason, check]) + "\n")
                file.flush()
                os.fsync(file.fileno())  # before any record that refers to it
            self._reasons.append(reason)
            self._reasons_check = check
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
        self.close()
        if self._last >= evaluations:
            records = self._records()
            kept = records[records["number"] >= evaluations].copy()
            check = 0
            for i, blank in enumerate(self._blank(kept)):
                kept["check"][i] = check = zlib.crc32(blank, check)
            write_atomically(self.file, lambda part: part.write_bytes(kept.tobytes()))
        else:
            self.file.unlink(missing_ok=True)
            self._last = -1

    def sync(self) -> None:
        """Sync everything to disk; a checkpoint that depends on it can follow."""
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


def _write(file: IO[bytes], record: bytes) -> None:
    """Write a whole record or nothing: after a partial one, later records could not be read."""
    written = file.write(record)
    if written != len(record):  # the disk is full
        os.ftruncate(file.fileno(), os.fstat(file.fileno()).st_size - (written or 0))
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _whole_lines(file: Path) -> bytes:
    """The content of a file without a truncated last line; empty if there is no such file."""
    data = regular_bytes(file)
    return data[: data.rfind(b"\n") + 1]


def _cut(file: Path, size: int) -> None:
    """Truncate a file to this many bytes."""
    if file.exists() and file.stat().st_size > size:
        os.truncate(file, size)
