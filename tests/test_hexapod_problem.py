"""The hexapod as a problem: controller, bodies, descriptors, scenarios, determinism, refusals, motions."""

from __future__ import annotations

import hashlib
import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tesselite.paper.hexapod import PAPER
from tesselite.problems import by_name
from tesselite.problems.hexapod_locomotion import DESCRIPTORS, TRIPOD, body, hexapod
from tesselite.problems.hexapod_locomotion import robot as rb
from tesselite.problems.hexapod_locomotion.controller import (
    LEVELS,
    N_STEPS,
    joint_angles,
    sample_index,
    signal_table,
    targets,
)
from tesselite.problems.hexapod_locomotion.episode import REASONS, Episodes, run_episodes, settled
from tesselite.problems.hexapod_locomotion.motion import leg_points, motion_of


def random_solutions(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).choice(LEVELS, (n, 36))


# --- controller and servo ---


def plain_signal(amplitude: float, phase_percent: int, duty_percent: int) -> list[float]:
    """One period of a joint's signal, written out from the definition."""
    square = [amplitude if i < duty_percent else -amplitude for i in range(100)]
    weights = [math.exp(-(k * k) / 18) for k in range(-10, 11)]
    smooth = [sum(w * square[(i + k) % 100] for k, w in zip(range(-10, 11), weights, strict=True)) for i in range(100)]
    return [smooth[(i + phase_percent) % 100] / sum(weights) for i in range(100)]


@settings(max_examples=25)
@given(st.integers(0, 20), st.integers(0, 20), st.integers(0, 20))
def test_targets_follow_the_definition_at_every_level(a, p, d):
    solution = np.zeros(36)
    solution[6 + 3 : 6 + 6] = LEVELS[[a, p, d]]  # J2 of leg 1
    signal = plain_signal(a / 20, 5 * p, 5 * d)
    expected = [math.pi / 4 * signal[(3 * step // 2) % 100] for step in range(N_STEPS)]
    found = targets(solution[None])[0]
    np.testing.assert_allclose(found[:, 3], expected, atol=1e-14)
    assert not found[:, [0, 1, 2, 4, 5]].any()


def test_j1_turns_the_other_way_and_less_far():
    solution = np.zeros(36)
    solution[:3] = [1, 0, 1]
    np.testing.assert_allclose(targets(solution[None])[0, :, 0], -math.pi / 8, rtol=1e-14)


def test_a_constant_duty_cycle_gives_a_constant_signal_and_half_a_balanced_one():
    table = signal_table()
    np.testing.assert_allclose(table[0], -1, rtol=1e-14)
    np.testing.assert_allclose(table[20], 1, rtol=1e-14)
    assert abs(table[10, :100].sum()) < 1e-12
    assert np.array_equal(table[:, :100], table[:, 100:])


def test_samples_are_looked_up_at_exact_times():
    assert [sample_index(step) for step in (0, 1, 2, 3, 66, 67, 333)] == [0, 1, 3, 4, 99, 0, 99]
    assert N_STEPS == 334


def test_the_compiled_servos_follow_the_plain_ones():
    solutions = random_solutions(5)
    tape = run_episodes(solutions, body(), record=True).tape
    angles = joint_angles(targets(solutions))
    np.testing.assert_allclose(tape[:, :N_STEPS, 14:], angles[:, :N_STEPS], atol=1e-13)
    assert np.abs(np.diff(angles, axis=1)).max() <= 7 * 0.015 + 1e-12
    assert (np.abs(angles) <= np.tile([math.pi / 8, math.pi / 4], 6) + 1e-12).all()


# --- bodies ---


def test_masses_and_missing_legs():
    assert body().mass == pytest.approx(3.359)
    assert body(2).mass == pytest.approx(3.359 - 0.388)
    assert body((5, 0, 5)).missing == (0, 5)
    assert body(range(6)).mass == pytest.approx(rb.BASE_MASS)
    assert str(body()) == "intact"
    assert str(body((1, 3))) == "without leg 1, 3"


@pytest.mark.parametrize("missing", [6, -1, (0, 7), "0", (1.5,), (True,)])
def test_legs_that_do_not_exist(missing):
    with pytest.raises(ValueError, match="missing: expected leg numbers from 0 to 5"):
        body(missing)


def test_a_missing_legs_values_do_not_matter():
    solutions = random_solutions(8)
    others = solutions.copy()
    others[:, 12:18] = random_solutions(8, seed=1)[:, 12:18]
    first, second = hexapod().evaluate(solutions, "leg 2"), hexapod().evaluate(others, "leg 2")
    assert first.fitness.tobytes() == second.fitness.tobytes()
    assert (first.features[first.valid, 2] == 0).all()


def test_scenarios_remove_one_more_leg_than_the_problem():
    solutions = random_solutions(6)
    one = hexapod(missing=(1,)).evaluate(solutions, "leg 4")
    both = hexapod(missing=(1, 4)).evaluate(solutions)
    assert one.fitness.tobytes() == both.fitness.tobytes()
    same = hexapod(missing=(4,)).evaluate(solutions, "leg 4")
    assert same.fitness.tobytes() == hexapod(missing=4).evaluate(solutions).fitness.tobytes()


def test_a_body_without_legs_lies_on_the_floor():
    evaluation = hexapod(missing=range(6)).evaluate(TRIPOD)
    assert evaluation.count_reasons() == {"the body touched the floor": 1}


# --- descriptors ---


@pytest.mark.parametrize(
    ("descriptor", "columns"),
    [
        ("phase", [3 * j + 1 for j in range(12)]),
        ("amplitude", [3 * j for j in range(12)]),
        ("amplitude-phase", [3 * j + i for j in range(12) for i in (0, 1)]),
        ("controller", list(range(36))),
    ],
)
def test_descriptors_of_controller_values(descriptor, columns):
    problem = hexapod(descriptor)
    solutions = random_solutions(4)
    evaluation = problem.evaluate(solutions)
    assert problem.features.n == len(columns)
    assert len(set(problem.features.names)) == len(columns)
    np.testing.assert_array_equal(evaluation.features[evaluation.valid], solutions[evaluation.valid][:, columns])
    assert evaluation.fitness.tobytes() == hexapod("duty").evaluate(solutions).fitness.tobytes()


def test_names():
    assert hexapod().name == "hexapod:duty"
    assert hexapod().direction == "max"
    assert hexapod().scenarios == ("leg 0", "leg 1", "leg 2", "leg 3", "leg 4", "leg 5")
    assert hexapod().scenario_phrase("leg 3") == "without leg 3 (front right)"
    assert hexapod("controller").features.names[7] == "phase of leg 1 J1"
    assert set(PAPER) == {f"hexapod:{name}" for name in DESCRIPTORS}


def test_the_papers_settings_add_up():
    for name, paper in PAPER.items():
        assert paper.initial + paper.generations * paper.batch_size == paper.evaluations
        assert hexapod(name.partition(":")[2]).features.n == {5: 6, 3: 12, 2: 24, None: 36}[paper.grid]


# --- determinism ---


def test_results_do_not_depend_on_threads_batches_or_order():
    solutions = random_solutions(150, seed=4)  # enough to fill the lanes of the solver
    problem = hexapod()
    whole = problem.evaluate(solutions, threads=1)
    assert whole.valid.sum() > 130

    def same(found, rows):
        assert found.fitness.tobytes() == whole.fitness[rows].tobytes()
        assert found.features.tobytes() == whole.features[rows].tobytes()

    same(problem.evaluate(solutions, threads=2), np.arange(150))
    same(problem.evaluate(solutions, threads=3), np.arange(150))
    order = np.random.default_rng(0).permutation(150)
    same(problem.evaluate(solutions[order], threads=1), order)
    for i in (0, 5, 149):
        same(problem.evaluate(solutions[i]), [i])
    for first in range(0, 150, 7):
        rows = np.arange(first, min(first + 7, 150))
        same(problem.evaluate(solutions[rows], threads=1), rows)
    assert problem.motion(solutions[3]).distance == whole.fitness[3]


def test_damaged_and_invalid_neighbours_do_not_change_a_result():
    solutions = random_solutions(64, seed=9)
    problem = hexapod()
    damaged = problem.evaluate(solutions, "leg 0", threads=1)
    assert 0 < len(damaged.reasons) < 64
    alone = [problem.evaluate(solution, "leg 0").fitness[0] for solution in solutions[:12]]
    np.testing.assert_array_equal(np.array(alone), damaged.fitness[:12])


@pytest.mark.parametrize(
    ("scenario", "digest"), [(None, "1f85fc461f2e7cfe11835e560d5e3f95"), ("leg 3", "43ef937948a82b68a33da6063780ecc3")]
)
def test_a_faster_engine_gives_the_same_bits(scenario, digest):
    # Recorded when the engine worked on four robots at a time. Record them again after a change of the physics.
    found = hexapod().evaluate(random_solutions(100, seed=21), scenario)
    bits = found.fitness.tobytes() + found.features.tobytes() + found.valid.tobytes()
    assert hashlib.sha256(bits).hexdigest().startswith(digest)


def test_a_fresh_process_agrees():
    solutions = random_solutions(3, seed=2)
    code = (
        "import numpy as np; from tesselite.problems.hexapod_locomotion import hexapod; "
        "s = np.random.default_rng(2).choice(np.arange(21) / 20, (3, 36)); "
        "print(hexapod().evaluate(s).fitness.tobytes().hex())"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == hexapod().evaluate(solutions).fitness.tobytes().hex()


# --- refusals ---


@pytest.mark.parametrize("value", [-0.05, 1.05, 0.03, math.nan, math.inf])
def test_values_that_are_no_levels(value):
    solution = TRIPOD.copy()
    solution[17] = value
    with pytest.raises(ValueError, match="axis 17"):
        hexapod().evaluate(solution)


def test_wrong_shapes_scenarios_and_names():
    problem = hexapod()
    with pytest.raises(ValueError, match=r"expected shape \(n, 36\)"):
        problem.evaluate(np.zeros((2, 35)))
    with pytest.raises(ValueError, match="no scenario 'leg 6'"):
        problem.evaluate(TRIPOD, "leg 6")
    with pytest.raises(ValueError, match="no scenario 'leg 6'"):
        problem.motion(TRIPOD, "leg 6")
    with pytest.raises(ValueError, match="expected one row"):
        problem.motion(np.stack([TRIPOD, TRIPOD]))
    with pytest.raises(ValueError, match="descriptor: expected one of duty, phase"):
        hexapod("speed")
    with pytest.raises(ValueError, match="engine: expected one of kinematic, dart"):
        hexapod(engine="bullet")
    with pytest.raises(ValueError, match="threads"):
        problem.evaluate(TRIPOD, threads=0)
    for missing in (None, 1.0, "1", True):
        with pytest.raises(ValueError, match="missing: expected leg numbers from 0 to 5"):
            hexapod(missing=missing)


def test_engine_dart_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "dartpy", None)
    with pytest.raises(ImportError, match="pip install dartpy"):
        hexapod(engine="dart")


def test_inputs_stay_as_they_are_and_an_empty_batch_is_fine():
    solutions = random_solutions(3)
    before = solutions.copy()
    hexapod().evaluate(solutions)
    np.testing.assert_array_equal(solutions, before)
    assert solutions.flags.writeable
    assert len(hexapod().evaluate(np.zeros((0, 36)))) == 0


def test_every_end_has_a_reason_but_one():
    assert [i for i, reason in enumerate(REASONS) if reason is None] == [1]


# --- motion ---


def test_a_motion_holds_together():
    motion = hexapod().motion(TRIPOD, "leg 3")
    n = len(motion.time)
    assert motion.positions.shape == (n, 3)
    assert motion.joints.shape == (n, 6, 3)
    assert motion.points.shape == (n, 6, 4, 3)
    assert motion.n_walking == 334
    assert np.isnan(motion.points[:, 3]).all()
    legs = [0, 1, 2, 4, 5]
    lengths = np.linalg.norm(np.diff(motion.points[:, legs], axis=2), axis=3)
    np.testing.assert_allclose(lengths, np.broadcast_to([0.06, 0.085, math.hypot(0.1275, 0.0125)], lengths.shape))
    # A foot touches the floor where its sphere reaches it.
    low = motion.feet[:-1, :, 2] <= 0.025
    np.testing.assert_array_equal(motion.contacts[:-1], low)
    np.testing.assert_allclose(motion.contacts[:334].mean(axis=0), motion.duty_factors)
    assert motion.duty_factors[3] == 0
    evaluation = hexapod().evaluate(TRIPOD, "leg 3")
    assert motion.distance == evaluation.fitness[0]
    np.testing.assert_array_equal(motion.duty_factors, evaluation.features[0])


def test_an_invalid_motion_says_why_and_stops():
    motion = hexapod().motion(TRIPOD, "leg 5")
    assert motion.reason == "the body touched the floor"
    assert math.isnan(motion.distance)
    assert len(motion.time) < 334


def test_a_motion_ends_with_the_pose_that_ended_it():
    fallen = hexapod().motion(TRIPOD, "leg 5")
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * rb.BASE_SIZE / 2
    lowest = (corners @ fallen.rotations[:, 2].T).min(axis=0) + fallen.positions[:, 2]
    assert lowest[-1] <= 0 < lowest[:-1].min()
    tilted = hexapod().motion(TRIPOD, "leg 0")
    assert tilted.reason == "the body tilted over"
    assert tilted.rotations[-1, 2, 2] <= 0 < tilted.rotations[:-1, 2, 2].min()
    for motion, missing in ((fallen, 5), (tilted, 0), (hexapod().motion(TRIPOD), None)):
        angles = joint_angles(targets(TRIPOD[None]))[0, : len(motion.time)].reshape(-1, 6, 2)
        there = [leg for leg in range(6) if leg != missing]
        np.testing.assert_allclose(motion.joints[: len(angles), there, :2], angles[:, there], atol=1e-12)
        assert missing is None or not motion.joints[:, missing].any()
        np.testing.assert_array_equal(motion.contacts, motion.feet[:, :, 2] <= rb.FOOT_RADIUS)


def test_a_motion_that_jumped_too_high_or_diverged_ends_with_the_last_pose_on_the_tape():
    tape = np.zeros((1, 5, 26))
    tape[0, :3, 2] = 0.2, 0.28, 0.31
    tape[0, :3, 3] = 1
    start, nowhere = np.zeros(13), np.full((1, 13), np.nan)
    for end, steps in ((3, 2), (6, 2), (6, 3)):  # at the start of step 2, or at its end
        ended = Episodes(start, np.array([[end, steps, 0]]), nowhere, np.zeros((1, 6), np.int64), tape)
        motion = motion_of(ended, 0, TRIPOD, body())
        assert motion.positions[:, 2].tolist() == [0.2, 0.28, 0.31]
        assert motion.reason == REASONS[end]


def test_a_body_that_lies_on_the_floor_has_a_motion_of_one_row():
    motion = hexapod(missing=(1, 2)).motion(TRIPOD, "leg 0")
    assert motion.reason == "the body touched the floor"
    assert motion.time.tolist() == [0]
    assert motion.n_walking == 0
    np.testing.assert_array_equal(motion.positions[0], settled((0, 1, 2))[:3])


def test_a_legs_points_at_rest_and_stretched():
    rest = leg_points(np.zeros((1, 6, 3)))[0]
    np.testing.assert_allclose(rest[1, :, 0], [-0.01, -0.01, -0.01, 0.0025])
    np.testing.assert_allclose(rest[1, :, 1], [0.08, 0.14, 0.225, 0.225])
    np.testing.assert_allclose(rest[4, :, 1], [-0.08, -0.14, -0.225, -0.225])
    assert rest[0, 3, 2] == pytest.approx(-0.1275)
    lifted = leg_points(np.tile([0.0, math.pi / 4, math.pi / 4], (1, 6, 1)))[0]
    assert (lifted[:, 3, 2] > rest[:, 3, 2] + 0.05).all()  # positive J2 lifts the foot on both sides
    np.testing.assert_allclose(lifted[:, 3, 2] - lifted[:, 2, 2], -0.1275)  # and the tibia stays upright


def test_real_values_act_as_their_nearest_levels():
    real, levels = by_name("hexapod:duty,real=yes"), hexapod("duty")
    rows = np.random.default_rng(1).random((4, 36))
    near = np.rint(20 * rows) / 20
    for name in ("fitness", "features"):
        np.testing.assert_array_equal(getattr(real.evaluate(rows), name), getattr(levels.evaluate(near), name))
    np.testing.assert_array_equal(real.motion(rows[0]).positions, levels.motion(near[0]).positions)
