"""Ctrl-C in the middle of a change: it takes effect after the change, and the archive in memory stays consistent."""

from __future__ import annotations

import signal
import threading

import numpy as np
import pytest

import tesselite as tl
from tesselite.base.interruption import uninterrupted
from tesselite.search.map_elites import batches

NICHES = tl.GridTessellation(tl.FeatureSpace.unit(2), 100)


@pytest.fixture
def interrupts_growth(monkeypatch):
    """From now on, Ctrl-C comes whenever an archive makes room."""
    reserve = tl.Archive.reserve

    def interrupted(self, n):
        signal.raise_signal(signal.SIGINT)
        reserve(self, n)

    def begin():
        monkeypatch.setattr(tl.Archive, "reserve", interrupted)

    yield begin
    monkeypatch.undo()


def is_whole(archive):
    """All elites are in the niches of their features and are found there, and all arrays have the same length."""
    elites = archive.elites()
    assert np.array_equal(NICHES.niche_of(elites.features), elites.niches)
    assert all(
        archive.get(niche).fitness == fitness for niche, fitness in zip(elites.niches, elites.fitness, strict=True)
    )
    assert len({len(rows) for rows in archive.arrays()[:5]}) == 1
    return True


def test_an_interrupt_waits_for_the_end_and_is_not_lost():
    done = []

    def change():
        with uninterrupted():
            signal.raise_signal(signal.SIGINT)
            done.append("inner")
            with uninterrupted():
                signal.raise_signal(signal.SIGINT)
                done.append("innermost")
            done.append("outer")

    with pytest.raises(KeyboardInterrupt):
        change()
    assert done == ["inner", "innermost", "outer"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_error_within_stays_the_error_and_the_handler_comes_back():
    with pytest.raises(ValueError, match="mine"), uninterrupted():
        raise ValueError("mine")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_other_threads_go_on_as_they_are():
    done = []

    def work():
        with uninterrupted():
            done.append(signal.getsignal(signal.SIGINT) is signal.default_int_handler)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [True]


def test_candidates_are_added_whole(interrupts_growth):
    archive = tl.Archive(NICHES, 2)
    rows = np.random.default_rng(1).random((50, 2))
    interrupts_growth()
    with pytest.raises(KeyboardInterrupt):
        archive.add(rows, rows.sum(axis=1), rows)
    assert len(archive) == len(np.unique(NICHES.niche_of(rows)))
    assert is_whole(archive)


def test_archives_are_merged_whole(interrupts_growth):
    one, other = tl.Archive(NICHES, 2), tl.Archive(NICHES, 2)
    rows = np.random.default_rng(2).random((80, 2))
    one.add(rows[:40], rows[:40, 0], rows[:40])
    other.add(rows[40:], rows[40:, 0], rows[40:])
    expected = one | other
    interrupts_growth()
    with pytest.raises(KeyboardInterrupt):
        one.merge(other)
    assert one.equals(expected)


def test_a_search_goes_on_after_an_interrupt_as_if_there_had_been_none(interrupts_growth, monkeypatch):
    problem = tl.problems.arm(3)

    def search(evaluations, interrupted=False):
        found = tl.MapElites(problem.solutions, tl.GridTessellation(problem.features, 100), initial=100, seed=3)
        if interrupted:
            with pytest.raises(KeyboardInterrupt):
                run(found, evaluations)
            monkeypatch.undo()
            assert found.evaluations > 0
        run(found, evaluations)
        return found

    def run(found, evaluations):
        for _ in batches(found, problem, evaluations, batch_size=100, threads=2):
            pass

    expected = search(3000)
    interrupts_growth()
    after_asking = search(3000, interrupted=True)  # in `tell`
    assert after_asking.archive.equals(expected.archive)

    found = search(100)
    interrupts_growth()
    with pytest.raises(KeyboardInterrupt):  # in the compiled loop
        run(found, 3000)
    assert found.evaluations > 100
    monkeypatch.undo()
    assert is_whole_arm(found.archive)
    run(found, 3000)
    assert found.archive.equals(expected.archive)


def is_whole_arm(archive):
    elites = archive.elites()
    return np.array_equal(archive.tessellation.niche_of(elites.features), elites.niches)
