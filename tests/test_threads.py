"""Work in chunks on threads, and seeds."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from tesselite.base.seeds import Purpose, checked_seed, generator, key
from tesselite.base.threads import available_threads, checked_threads, in_chunks


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize(("n", "chunk"), [(0, 4), (1, 4), (4, 4), (10, 3), (100, 7)])
def test_chunks_cover_the_range_once_and_do_not_depend_on_threads(n, chunk, threads):
    spans, lock = [], threading.Lock()

    def work(start, stop):
        with lock:
            spans.append((start, stop))

    in_chunks(work, n, chunk, threads)
    assert sorted(spans) == [(start, min(start + chunk, n)) for start in range(0, n, chunk)]


@pytest.mark.parametrize("threads", [1, 3])
def test_an_error_in_a_chunk_comes_out(threads):
    def work(start, stop):
        if start == 6:
            raise KeyError("chunk")

    with pytest.raises(KeyError, match="chunk"):
        in_chunks(work, 10, 3, threads)


def test_numbers_of_threads():
    assert checked_threads(None) == available_threads() >= 1
    assert checked_threads(3) == 3
    assert type(checked_threads(np.int64(3))) is int
    for threads in (0, -1, True, 2.0):
        with pytest.raises(ValueError, match="threads: expected at least 1"):
            checked_threads(threads)


def test_every_purpose_has_a_stream_of_its_own():
    drawn = [key(seed, purpose) for seed in (0, 1, 2**100) for purpose in Purpose]
    assert len(set(drawn)) == len(drawn)
    assert key(5, Purpose.SELECTION) == key(5, Purpose.SELECTION)
    first = [generator(7, purpose, at).random() for purpose in Purpose for at in (0, 1, 200)]
    assert len(set(first)) == len(first)
    assert generator(7, Purpose.VARIATION, 3).random() == generator(7, Purpose.VARIATION, 3).random()


def test_keys_and_purposes_never_change():
    # Part of every result: a run of this version must be repeatable with the next.
    assert [purpose.value for purpose in Purpose] == [0, 1, 2, 3, 4, 5, 6]
    assert [int(key(42, purpose)) for purpose in (Purpose.SELECTION, Purpose.VARIATION)] == [
        11601846009883706861,
        3747978530954135749,
    ]


def test_seeds():
    assert checked_seed(5) == 5
    assert checked_seed(np.int64(5)) == 5
    assert isinstance(checked_seed(np.int64(5)), int)
    assert checked_seed(None) != checked_seed(None)
    for seed in (-1, 1.0, "1", [1], True):
        with pytest.raises(ValueError, match="seed: expected a whole number of at least 0"):
            checked_seed(seed)
