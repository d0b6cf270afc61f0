"""The log of evaluations on workers: results are read back, truncation and damage are detected."""

from __future__ import annotations

import json
import random
import zlib

import numpy as np
import pytest

from tesselite.execution.log import LOG_FILES, EvaluationLog
from tesselite.execution.workers.farm import Result

RECORD = 44  # bytes of a record with two features


def make_log(folder, n=20):
    log = EvaluationLog(folder, 2)
    rng = random.Random(1)
    results = [
        Result(i, rng.random(), np.array([rng.random(), -0.0]))
        if i % 3
        else Result(i, np.nan, np.full(2, np.nan), f"reason {i % 2}")
        for i in range(n)
    ]
    for result in results:
        log.append(result, np.ones(3))
    log.close()
    return results


def assert_same(ours, theirs):
    ours = [logged.result for logged in ours]
    assert [(r.number, r.reason, np.float64(r.fitness).tobytes(), r.features.tobytes()) for r in ours] == [
        (r.number, r.reason, np.float64(r.fitness).tobytes(), r.features.tobytes()) for r in theirs
    ]


def test_a_log_gives_back_what_was_written(tmp_path):
    results = make_log(tmp_path)
    log = EvaluationLog(tmp_path, 2)
    assert_same(log.read(), results)
    log.append(results[5], np.ones(3))
    assert_same(log.read(), [*results, results[5]])
    log.forget(15)
    assert_same(log.read(), results[15:])
    log.forget(100)
    assert log.read() == []


def test_a_log_that_is_opened_again_goes_on_with_its_reasons_and_its_limit(tmp_path, monkeypatch):
    results = make_log(tmp_path)
    monkeypatch.setattr("tesselite.execution.log._FAILURES", 8)
    again = EvaluationLog(tmp_path, 2)
    nothing = np.full(2, np.nan)
    for number, reason in ((20, "reason 1"), (21, "another"), (22, "reason 0")):
        again.append(Result(number, np.nan, nothing, reason), np.ones(3))
    again.close()
    read = EvaluationLog(tmp_path, 2).read()
    assert_same(read[:20], results)
    assert [logged.result.reason for logged in read[20:]] == ["reason 1", "another", "reason 0"]
    failures = [json.loads(line)["evaluation"] for line in (tmp_path / "failures.jsonl").read_text().splitlines()]
    assert failures == [0, 3, 6, 9, 12, 15, 18, 20]


@pytest.mark.parametrize("cut", [1, 17, 39])
def test_a_record_that_was_cut_off_is_forgotten_and_the_log_goes_on(tmp_path, cut):
    results = make_log(tmp_path)
    file = tmp_path / "evaluations.log"
    file.write_bytes(file.read_bytes()[:-cut])
    log = EvaluationLog(tmp_path, 2)
    assert_same(log.read(), results[:-1])
    log.append(results[-1], np.ones(3))
    log.close()
    assert_same(log.read(), results)


def test_a_damaged_log_is_refused(tmp_path):
    make_log(tmp_path)
    file = tmp_path / "evaluations.log"
    data = bytearray(file.read_bytes())
    data[5 * RECORD + 20] ^= 1
    file.write_bytes(bytes(data))
    with pytest.raises(ValueError, match="damaged in record 5 of 20"):
        EvaluationLog(tmp_path, 2).read()


def test_a_result_is_known_by_its_solution(tmp_path):
    log = EvaluationLog(tmp_path, 2)
    log.append(Result(0, 1.0, np.zeros(2)), np.array([1.0, 2.0, 3.0]))
    log.close()
    (logged,) = log.read()
    assert logged.is_of(np.array([1.0, 2.0, 3.0]))
    assert logged.is_of(np.array([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0]])[:, 0])  # wherever its values lie
    assert not logged.is_of(np.array([1.0, 2.0, 3.0 + 1e-15]))


def test_a_record_whose_reason_is_gone_is_damage(tmp_path):
    make_log(tmp_path)
    (tmp_path / "evaluations.reasons").unlink()
    with pytest.raises(ValueError, match="damaged in record 0 of 20"):
        EvaluationLog(tmp_path, 2).read()


def test_reading_changes_no_file(tmp_path):
    """A run that is still active writes to the file that it has open: a file put in its place would lose the rest."""
    results = make_log(tmp_path)
    for name in LOG_FILES:
        (tmp_path / name).write_bytes((tmp_path / name).read_bytes()[:-3])
    log = EvaluationLog(tmp_path, 2)
    before = {name: ((tmp_path / name).read_bytes(), (tmp_path / name).stat()) for name in LOG_FILES}
    with pytest.raises(ValueError, match="damaged in record"):  # one reason is gone
        log.read()
    assert {name: ((tmp_path / name).read_bytes(), (tmp_path / name).stat()) for name in LOG_FILES} == before
    writer = EvaluationLog(tmp_path / "a", 2)
    (tmp_path / "a").mkdir()
    for result in results[:7]:
        writer.append(result, np.ones(3))
        assert_same(EvaluationLog(tmp_path / "a", 2).read(), results[: result.number + 1])
    writer.close()
    data = (tmp_path / "a" / "evaluations.log").read_bytes()
    for cut in range(1, len(data), 5):
        (tmp_path / "a" / "evaluations.log").write_bytes(data[:cut])
        assert_same(EvaluationLog(tmp_path / "a", 2).read(), results[: cut // RECORD])
        assert (tmp_path / "a" / "evaluations.log").stat().st_size == cut


def test_records_that_are_missing_or_moved_are_noticed(tmp_path):
    make_log(tmp_path)
    file = tmp_path / "evaluations.log"
    data = file.read_bytes()
    records = [data[i : i + RECORD] for i in range(0, len(data), RECORD)]
    for moved in (
        records[1:],
        records[:4] + records[5:],
        records[:2] + records[1:],
        records[:3] + records[4:2:-1] + records[5:],
    ):
        file.write_bytes(b"".join(moved))
        with pytest.raises(ValueError, match="damaged in record"):
            EvaluationLog(tmp_path, 2).read()


def test_damaged_reasons_are_noticed(tmp_path):
    make_log(tmp_path)
    file = tmp_path / "evaluations.reasons"
    text = file.read_text()
    lines = text.splitlines(keepends=True)
    for damaged in (
        text.replace("reason 1", "reason 7"),
        "".join(lines[1:]),
        "".join(lines[::-1]),
        "{\n",
        "[" * 9999 + "\n",
    ):
        file.write_text(damaged)
        with pytest.raises(ValueError, match=r"evaluations\.reasons: damaged in line"):
            EvaluationLog(tmp_path, 2).read()


def test_a_log_of_the_format_before_is_read_and_goes_on(tmp_path):
    """Its records had a checksum of their own only, its reasons none."""
    results = make_log(tmp_path)
    file, reasons = tmp_path / "evaluations.log", tmp_path / "evaluations.reasons"
    log = EvaluationLog(tmp_path, 2)
    records = np.frombuffer(file.read_bytes(), log._record).copy()
    records["check"] = [zlib.crc32(blank) for blank in log._blank(records)]
    file.write_bytes(records.tobytes())
    reasons.write_text("".join(json.dumps(json.loads(line)[0]) + "\n" for line in reasons.read_text().splitlines()))
    assert_same(log.read(), results)
    for result in results[:4]:
        log.append(result, np.ones(3))
    log.append(Result(99, np.nan, np.full(2, np.nan), "new"), np.ones(3))
    log.close()
    assert_same(EvaluationLog(tmp_path, 2).read()[:-1], [*results, *results[:4]])
