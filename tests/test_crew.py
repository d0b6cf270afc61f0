"""The crew: every chunk of every batch is claimed exactly once, whatever the number of threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np
import pytest

from tesselite.compiled import crew


@numba.njit(nogil=True)
def _work(leader, sizes, control, claims, sums):
    """The protocol of the search loop with almost no work in a chunk, so that threads meet as often as possible."""
    batch, spins, mine = 0, 0, 0
    while True:
        if leader:
            if batch == len(sizes):
                crew.dismiss(control)
                return mine
            control[crew.MESSAGE] = batch
            crew.publish(control, sizes[batch])
        chunk = crew.claim(control)
        while chunk >= 0:
            mine += 1
            spins = 0
            current = control[crew.MESSAGE]
            crew.atomic_add(claims, current * 8 + chunk, 1)
            # The results of earlier batches must be visible to all threads of this one.
            sums[current * 8 + chunk] = 1 + (sums[(current - 1) * 8] if current > 0 else 0)
            crew.report_done(control)
            chunk = crew.claim(control)
        if leader:
            crew.wait_until_done(control, sizes[batch])
            batch += 1
        else:
            spins += 1
            if not crew.wait_for_work(control, spins):
                return mine


@pytest.mark.parametrize("helpers", [0, 1, 3, 7])
def test_chunks_are_claimed_exactly_once(helpers):
    n = 400
    sizes = np.random.default_rng(helpers).integers(1, 9, n)
    claims, sums = np.zeros(8 * n, np.int64), np.zeros(8 * n, np.int64)
    control = crew.new_control()
    with ThreadPoolExecutor(max(helpers, 1)) as pool:
        others = [pool.submit(_work, False, sizes, control, claims, sums) for _ in range(helpers)]
        done = _work(True, sizes, control, claims, sums)
        done += sum(other.result(timeout=120) for other in others)
    offered = np.arange(8) < sizes[:, None]
    np.testing.assert_array_equal(claims.reshape(n, 8), offered)
    assert done == sizes.sum()
    np.testing.assert_array_equal(sums.reshape(n, 8)[:, 0], np.arange(1, n + 1))


def test_nothing_is_on_offer_before_a_batch_and_after_it():
    control = crew.new_control()
    assert crew.claim(control) == -1
    crew.publish(control, 2)
    assert [crew.claim(control) for _ in range(4)] == [0, 1, -1, -1]
    crew.publish(control, 1)
    assert [crew.claim(control) for _ in range(3)] == [0, -1, -1]
    assert crew.wait_for_work(control, 0)
    crew.dismiss(control)
    assert not crew.wait_for_work(control, 0)


def test_helpers_who_come_late_find_the_crew_dismissed():
    control = crew.new_control()
    crew.dismiss(control)
    nothing = np.zeros(8, np.int64)
    assert _work(False, np.ones(1, np.int64), control, nothing, nothing) == 0
