"""Our engine against DART itself, step by step. Slow; needs the package dartpy (`pip install dartpy`)."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from tesselite.problems.hexapod_locomotion import TRIPOD, hexapod
from tesselite.problems.hexapod_locomotion.controller import LEVELS
from tesselite.problems.hexapod_locomotion.episode import run_episodes, settled
from tesselite.problems.hexapod_locomotion.robot import body

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("dartpy") is None, reason="dartpy is not installed"),
]


@pytest.mark.parametrize("missing", [(), 0, 1, 2, 3, 4, 5, (1, 3)])
def test_steps_agree_on_random_controllers(missing):
    shape = body(missing)
    solutions = np.random.default_rng(2024).choice(LEVELS, (6, 36))
    ours = run_episodes(solutions, shape, "kinematic", record=True)
    theirs = run_episodes(solutions, shape, "dart", record=True)
    for row in range(len(solutions)):
        steps = min(25, int(ours.ends[row, 1]), int(theirs.ends[row, 1]))
        assert steps > 5
        a, b = ours.tape[row, : steps + 1], theirs.tape[row, : steps + 1]
        np.testing.assert_allclose(a[:, :3], b[:, :3], rtol=0, atol=1e-9)  # position of the base
        np.testing.assert_allclose(a[:, 3:13], b[:, 3:13], rtol=0, atol=1e-7)  # attitude and velocities
        np.testing.assert_array_equal(a[:steps, 13], b[:steps, 13])  # feet on the floor
        np.testing.assert_allclose(a[:, 14:], b[:, 14:], rtol=0, atol=1e-13)  # joints
    both = (ours.ends[:, 0] == 1) & (theirs.ends[:, 0] == 1)
    assert both.any()
    assert np.abs(ours.distances - theirs.distances)[both].max() < 0.03


@pytest.mark.parametrize("missing", [(), 0, (2, 5)])
def test_bodies_settle_alike(missing):
    shape = body(missing)
    np.testing.assert_allclose(settled(shape.missing), settled(shape.missing, "dart"), rtol=0, atol=1e-12)


def test_the_table_makes_the_same_robot():
    from tesselite.problems.hexapod_locomotion.dart import DartHexapod

    for missing in ((), (0, 4)):
        shape = body(missing)
        robot = DartHexapod(shape)
        assert robot.skeleton.getMass() == pytest.approx(shape.mass, rel=1e-12)
        np.testing.assert_allclose(robot.skeleton.getCOM()[:2] * shape.mass, _first_moments(shape), atol=1e-12)


def _first_moments(shape):
    from hexapod_lanes import links

    return sum(link[0] * link[1] for link in links(shape, np.zeros((6, 2))))[:2]


def test_the_problem_runs_on_dart():
    ours, theirs = hexapod(), hexapod(engine="dart")
    assert theirs.evaluate(TRIPOD).fitness[0] == pytest.approx(ours.evaluate(TRIPOD).fitness[0], abs=0.03)
    assert theirs.evaluate(TRIPOD, "leg 5").reasons == {0: "the body touched the floor"}
    assert theirs.evaluate(TRIPOD, "leg 0").reasons == {0: "the body tilted over"}
    assert len(hexapod(engine="dart", missing=(1, 2)).motion(TRIPOD, "leg 0").time) == 1
    for scenario in ("leg 5", "leg 0"):
        ended = theirs.motion(TRIPOD, scenario)
        assert len(ended.time) == len(ours.motion(TRIPOD, scenario).time)
        np.testing.assert_array_equal(ended.contacts, ended.feet[:, :, 2] <= 0.025)
    motion = theirs.motion(TRIPOD, "leg 2")
    np.testing.assert_array_equal(motion.contacts[:-1, [0, 1, 3, 4, 5]], motion.feet[:-1, [0, 1, 3, 4, 5], 2] <= 0.025)
