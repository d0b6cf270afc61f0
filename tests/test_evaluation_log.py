"""The log of evaluations on workers: what was written comes back, cut ends and damage are noticed."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest

from tesselite.execution.log import EvaluationLog
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
    (logged,) = log.read()
    assert logged.is_of(np.array([1.0, 2.0, 3.0]))
    assert logged.is_of(np.array([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0]])[:, 0])  # wherever its values lie
    assert not logged.is_of(np.array([1.0, 2.0, 3.0 + 1e-15]))


def test_a_record_whose_reason_is_gone_is_damage(tmp_path):
    make_log(tmp_path)
    (tmp_path / "evaluations.reasons").unlink()
    with pytest.raises(ValueError, match="damaged in record 0 of 20"):
        EvaluationLog(tmp_path, 2).read()
