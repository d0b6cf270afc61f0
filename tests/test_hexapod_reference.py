"""The kinematic engine against results of DART, the paper's engine, and against the anchors of a tripod gait."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from tesselite.problems.hexapod_locomotion import TRIPOD, hexapod
from tesselite.problems.hexapod_locomotion.episode import run_episodes, settled
from tesselite.problems.hexapod_locomotion.robot import body
from tesselite.runs.loading import fingerprint

REFERENCE = Path(__file__).parent / "data" / "hexapod_dart_reference.csv"


def reference(missing: str):
    """Solutions, distances, validity and duty factors by DART 6.20, for one body ("" is the intact one)."""
    with REFERENCE.open() as file:
        rows = [row for row in csv.DictReader(file) if row["missing_leg"] == missing]
    solutions = np.array([[float(row[f"p{i}"]) for i in range(36)] for row in rows])
    distances = np.array([float(row["distance"] or "nan") for row in rows])
    valid = np.array([row["valid"] == "1" for row in rows])
    duty = np.array([[float(row[f"duty{leg}"] or "nan") for leg in range(6)] for row in rows])
    return solutions, distances, valid, duty


@pytest.mark.parametrize("missing", ["", "0", "1", "2", "3", "4", "5"])
def test_distances_validity_and_duty_factors_are_darts(missing):
    solutions, distances, valid, duty = reference(missing)
    scenario = f"leg {missing}" if missing else None
    evaluation = hexapod("duty").evaluate(solutions, scenario)
    np.testing.assert_array_equal(evaluation.valid, valid)
    error = np.abs(evaluation.fitness - distances)[valid]
    # The system is chaotic: rounding grows to millimetres in a few of these. All but one in ten are within one.
    assert (error >= 1e-3).sum() <= max(1, 0.1 * valid.sum())
    assert error.max() < 0.03
    assert np.median(error) < 1e-4
    assert np.corrcoef(evaluation.features[valid].ravel(), duty[valid].ravel())[0, 1] > 0.99


def test_duty_factors_agree_contact_by_contact_where_the_paths_do():
    # The reference samples every second step and rounds to 0.01.
    solutions, distances, _, duty = reference("")
    episodes = run_episodes(solutions, body(), record=True)
    touching = (episodes.tape[:, :334:2, 13].astype(int)[:, :, None] >> np.arange(6)) & 1
    same_path = np.abs(episodes.distances - distances) < 1e-5
    assert same_path.mean() > 0.6
    assert np.abs(touching.mean(axis=1) - duty)[same_path].max() <= 0.005 + 1e-9
    # That is what the released rule keeps, to the digit; and distances to the centimetre.
    released = hexapod("duty", released=True).evaluate(solutions)
    valid = released.valid & same_path
    np.testing.assert_array_equal(released.features[valid], duty[valid])
    np.testing.assert_array_equal(released.fitness[valid], np.round(episodes.distances[valid], 2))
    exact = hexapod("duty").evaluate(solutions)
    assert np.abs(released.features - exact.features)[valid].max() < 0.05
    assert not np.array_equal(released.features[valid], exact.features[valid])
    controllers = hexapod("phase", released=True)
    np.testing.assert_array_equal(controllers.evaluate(solutions).features, solutions[:, 1::3])
    assert fingerprint(controllers) != fingerprint(hexapod("phase"))


def test_the_settled_body():
    state = settled()
    assert state[2] == pytest.approx(0.152435324, abs=1e-9)
    assert state[9] == pytest.approx(6.5323e-4, abs=1e-8)


def test_the_tripods_anchors():
    motion = hexapod().motion(TRIPOD)
    np.testing.assert_allclose(motion.positions[1], [0.002388, -0.000208, 0.157748], atol=1e-5)
    np.testing.assert_allclose(motion.positions[11], [0.041179, 0.005641, 0.168295], atol=1e-5)
    np.testing.assert_allclose(motion.positions[101], [0.273099, 0.015671, 0.168726], atol=1e-5)
    assert motion.distance == pytest.approx(1.054, abs=1e-3)
    assert motion.speed == pytest.approx(1.054 / 5, abs=1e-3)


@pytest.mark.parametrize(
    ("leg", "distance", "reason"),
    [
        (0, None, "the body tilted over"),
        (1, 0.180, None),
        (2, 0.979, None),
        (3, 1.071, None),
        (4, 0.244, None),
        (5, None, "the body touched the floor"),
    ],
)
def test_the_tripod_without_a_leg(leg, distance, reason):
    evaluation = hexapod().evaluate(TRIPOD, f"leg {leg}")
    assert evaluation.reasons.get(0) == reason
    if distance is not None:
        assert evaluation.fitness[0] == pytest.approx(distance, abs=0.01)
