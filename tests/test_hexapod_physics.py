"""The kinematic engine against mechanics, without DART: conservation, weight, friction, optimality, symmetry."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import nnls

from hexapod_lanes import Lanes, links, momenta, rotation
from tesselite.compiled.lanes import LANES
from tesselite.problems.hexapod_locomotion import TRIPOD, lockstep
from tesselite.problems.hexapod_locomotion import contact as ct
from tesselite.problems.hexapod_locomotion import kinematic as kn
from tesselite.problems.hexapod_locomotion import legs as lg
from tesselite.problems.hexapod_locomotion import line_search as ls
from tesselite.problems.hexapod_locomotion.controller import LEVELS, signal_table, targets
from tesselite.problems.hexapod_locomotion.episode import run_episodes, settled
from tesselite.problems.hexapod_locomotion.robot import FRICTION, GRAVITY, SOFTNESS, body

DT = 0.015


def random_states(rng: np.random.Generator, height: float) -> np.ndarray:
    states = np.zeros((LANES, 13))
    states[:, 2] = height
    states[:, 3:7] = [1, 0, 0, 0] + 0.1 * rng.standard_normal((LANES, 4))
    states[:, 3:7] /= np.linalg.norm(states[:, 3:7], axis=1, keepdims=True)
    states[:, 7:] = rng.standard_normal((LANES, 6)) * [0.5, 0.5, 0.5, 2, 2, 2]
    return states


@pytest.mark.parametrize("missing", [(), (2,), (0, 4)])
def test_free_fall_with_moving_legs_conserves_momentum_and_angular_momentum(missing):
    # Semi-implicit steps err in proportion to their length, so a tenth of it must leave a tenth of the error.
    shape = body(missing)
    errors = []
    for dt in (1e-4, 1e-5):
        rng = np.random.default_rng(5)
        lanes = Lanes(shape, random_states(rng, 100.0))
        lanes.set_joints(rng.uniform(-0.3, 0.3, (LANES, 6, 2)), lg.Q1, lg.Q2)
        lanes.set_targets(rng.uniform(-0.7, 0.7, (LANES, 6, 2)))

        def measure(lanes=lanes):
            q, qd = lanes.joints(lg.Q1, lg.Q2), lanes.joints(lg.QD1, lg.QD2)
            return [momenta(shape, lanes.states[k], q[k], qd[k]) for k in range(LANES)]

        before = measure()
        steps = round(0.02 / dt)
        for _ in range(steps):
            lanes.step(dt)
        after = measure()
        assert np.abs(lanes.joints(lg.QD1, lg.QD2)[:, [1, 3]]).max() > 5  # the legs do move
        fall = np.array([0, 0, -shape.mass * GRAVITY * steps * dt])
        errors.append(
            [
                max(np.abs(a[0] - b[0] - fall).max() for a, b in zip(after, before, strict=True)),
                max(np.abs(a[1] - b[1]).max() for a, b in zip(after, before, strict=True)),
            ]
        )
    (p_coarse, l_coarse), (p_fine, l_fine) = errors
    assert l_coarse < 1e-3
    assert p_coarse < 1e-2
    assert l_fine < 0.15 * l_coarse
    assert p_fine < 0.15 * p_coarse


def test_sums_over_the_legs_agree_with_the_chain_joint_by_joint():
    rng = np.random.default_rng(2)
    shape = body((3,))
    lanes = Lanes(shape, random_states(rng, 100.0))
    q = rng.uniform(-0.7, 0.7, (LANES, 6, 2)) * [0.5, 1]
    lanes.set_joints(q, lg.Q1, lg.Q2)
    lanes.before_contacts(DT)
    for k in range(LANES):
        state = lanes.states[k]
        r = rotation(state[3:7])
        chain = links(shape, q[k])
        mass = sum(link[0] for link in chain)
        centre = sum(link[0] * link[1] for link in chain) / mass
        inertia = np.zeros((3, 3))
        for m, place, turn, own in chain:
            arm = r @ (place - centre)
            inertia += m * (arm @ arm * np.eye(3) - np.outer(arm, arm)) + r @ turn @ own @ turn.T @ r.T
        xx, xy, xz, yy, yz, zz = (lanes.value(name, k) for name in (ct.JXX, ct.JXY, ct.JXZ, ct.JYY, ct.JYZ, ct.JZZ))
        np.testing.assert_allclose([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], inertia, rtol=0, atol=1e-15)
        assert lanes.value(ct.Z, k) == pytest.approx(state[2] + (r @ centre)[2], rel=1e-14)
        assert mass == pytest.approx(shape.mass, rel=1e-14)


def contact_problem(lanes: Lanes, k: int):
    """Mass matrix, rows, free velocities and weights of lane k's touching feet, written from the definition."""
    m, z = lanes.value(ct.M, k), lanes.value(ct.Z, k)
    xx, xy, xz, yy, yz, zz = (lanes.value(n, k) for n in (ct.JXX, ct.JXY, ct.JXZ, ct.JYY, ct.JYZ, ct.JZZ))
    inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    # Velocity of the centre of mass and angular velocity, from y = (wx, wy, Gz, Gx, Gy, wz): v = G + w x (0, 0, z).
    centre = np.array([[0, z, 0, 1, 0, 0], [-z, 0, 0, 0, 1, 0], [0, 0, 1, 0, 0, 0]], dtype=float)
    turn = np.array([[1, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0], [0, 0, 0, 0, 0, 1]], dtype=float)
    mass_matrix = m * centre.T @ centre + turn.T @ inertia @ turn
    feet = lanes.touching(k)
    rows, free = [], []
    for j in range(len(feet)):
        a, b = lanes.value(ct.A, k, j), lanes.value(ct.B, k, j)
        rows += [[b, -a, 1, 0, 0, 0], [0, 0, 0, 1, 0, -b], [0, 0, 0, 0, 1, a]]
        free += [lanes.value(name, k, j) for name in (ct.UZ, ct.UX, ct.UY)]
    return mass_matrix, np.array(rows).reshape(-1, 6), np.array(free), feet


def frictionless_impulses(mass_matrix, rows, free):
    """Normal impulses of the softened problem without friction, by SciPy's nonnegative least squares on the dual."""
    delassus = rows @ np.linalg.solve(mass_matrix, rows.T)
    softened = delassus + SOFTNESS * np.diag(np.diag(delassus))
    factor = np.linalg.cholesky(softened).T
    return nnls(factor, np.linalg.solve(factor.T, -free))[0]


def test_contact_impulses_solve_the_boxed_problem_on_random_states():
    rng = np.random.default_rng(11)
    solved = slipping = sticking = 0
    for _ in range(40):
        lanes = Lanes(body(), random_states(rng, rng.uniform(0.12, 0.16)))
        lanes.set_joints(rng.uniform(-0.3, 0.3, (LANES, 6, 2)), lg.Q1, lg.Q2)
        lanes.set_joints(rng.uniform(-3, 3, (LANES, 6, 2)), lg.QD1, lg.QD2)
        lanes.set_targets(rng.uniform(-0.7, 0.7, (LANES, 6, 2)) * [0.5, 1])
        lanes.before_contacts(DT)
        lanes.solve()
        for k in range(LANES):
            mass_matrix, rows, free, feet = contact_problem(lanes, k)
            if not feet:
                continue
            d = lanes.d(k)
            bound = np.array([lanes.value(ct.BOUND, k, j) for j in range(len(feet))])
            # Stage 1: bounds are the normal impulses without friction.
            normal = frictionless_impulses(mass_matrix, rows[::3], free[::3])
            np.testing.assert_allclose(bound, FRICTION * normal, atol=1e-6)
            # Stage 2: with the impulses that d calls for, M d balances; F is convex, so d is its minimum.
            weight = np.array([lanes.value(n, k, j) for j in range(len(feet)) for n in (ct.WZ, ct.WX, ct.WY)])
            u = free + rows @ d
            impulse = -weight * u
            impulse[::3] = np.maximum(impulse[::3], 0)
            for axis in (1, 2):
                impulse[axis::3] = np.clip(impulse[axis::3], -bound, bound)
            np.testing.assert_allclose(mass_matrix @ d, rows.T @ impulse, atol=1e-8)
            slipping += int((np.abs(impulse[1::3]) >= bound).sum())
            sticking += int((np.abs(impulse[1::3]) < bound).sum())
            solved += 1
    assert solved > 100
    assert slipping > 50
    assert sticking > 50


def solved_lanes(rng: np.random.Generator) -> Lanes:
    """Random robots near the floor, their contact problem solved."""
    lanes = Lanes(body(), random_states(rng, rng.uniform(0.12, 0.16)))
    lanes.set_targets(rng.uniform(-0.7, 0.7, (LANES, 6, 2)) * [0.5, 1])
    lanes.before_contacts(DT)
    lanes.solve()
    return lanes


def test_the_line_search_ends_at_the_same_minimum_as_the_passes():
    rng = np.random.default_rng(3)
    compared = 0
    for _ in range(30):
        lanes = solved_lanes(rng)
        expected = [lanes.d(k) for k in range(LANES)]
        lanes.problem[ct.DX : ct.HEAD] = rng.standard_normal(6 * LANES)
        chosen = int(rng.integers(1, ct.ALL + 1))
        untouched = lanes.problem.copy()
        states = lanes.states_of_contacts[0].copy()
        iterations = ls.minimise(lanes.problem, states, lanes.n_contacts, chosen, lanes.line)
        assert iterations < ls.MAX_ITERATIONS
        for k in range(LANES):
            if chosen >> k & 1:
                np.testing.assert_allclose(lanes.d(k), expected[k], atol=1e-8)
                compared += len(lanes.touching(k)) > 0
            else:
                np.testing.assert_array_equal(lanes.problem[k::LANES], untouched[k::LANES])
        # What is left there are the states at the minimum, which the passes found as well.
        np.testing.assert_array_equal(states, lanes.states_of_contacts[0])
    assert compared > 50


def test_careful_passes_change_one_contact_at_a_time_and_end_at_the_same_states():
    rng = np.random.default_rng(4)
    ended = 0
    for _ in range(30):
        lanes = solved_lanes(rng)
        n = lanes.n_contacts
        expected = lanes.states_of_contacts[0].copy()
        states = expected.copy()
        states[:n] &= ct.ALL << ct.HERE | ct.ALL << ct.ON1 | ct.ALL << ct.BOUNDED  # all others: off, sticking
        left = ct.ALL
        for _ in range(100):
            before = states.copy()
            left &= ct.friction_pass(lanes.problem, states, n, ct.ALL)
            changed = [[(a ^ b) >> k & ct.EACH != 0 for a, b in zip(before, states, strict=True)] for k in range(LANES)]
            assert max(map(sum, changed)) <= 1
        for k in range(LANES):
            if not left >> k & 1:
                assert [(a ^ b) >> k & ct.EACH for a, b in zip(expected, states, strict=True)] == [0] * len(states)
                ended += len(lanes.touching(k)) > 1
    assert ended > 50


def test_a_standing_robots_impulses_carry_its_weight():
    for missing in ((), (1,), (0, 3)):
        shape = body(missing)
        lanes = Lanes(shape, settled(missing))
        for _ in range(400):
            lanes.step(DT)
        lanes.before_contacts(DT)
        lanes.solve()
        for k in range(LANES):
            mass_matrix, _, _, feet = contact_problem(lanes, k)
            d = lanes.d(k)
            total = mass_matrix @ d  # impulse: moments about x and y, vertical, forward, sideways, moment about z
            assert len(feet) >= 3
            assert total[2] == pytest.approx(shape.mass * GRAVITY * DT, rel=1e-6)
            np.testing.assert_allclose(total[3:5], 0, atol=1e-6)


def test_friction_stays_within_its_bounds_while_walking():
    lanes = Lanes(body(), settled())
    goals = targets(TRIPOD[None], 200)[0]
    slipped = 0
    for step in range(200):
        lanes.set_targets(np.broadcast_to(goals[step].reshape(6, 2), (LANES, 6, 2)))
        lanes.before_contacts(DT)
        lanes.solve()
        mass_matrix, _, _, feet = contact_problem(lanes, 0)
        d = lanes.d(0)
        bounds = sum(lanes.value(ct.BOUND, 0, j) for j in range(len(feet)))
        pulls = (mass_matrix @ d)[3:5]
        assert (np.abs(pulls) <= bounds * (1 + 1e-9) + 1e-12).all()
        slipped += bounds > 0 and np.abs(pulls).max() > 0.999 * bounds
        kn.advance(lanes.robots, lanes.problem, DT)
    assert slipped > 0


def mirrored(solution: np.ndarray) -> np.ndarray:
    """The controller of the mirror image: left and right legs swapped, the sweep of J1 negated.

    Minus a square wave of duty cycle d is one of duty cycle 1 - d, d of a period later.
    """
    values = solution.reshape(6, 2, 3)[[5, 4, 3, 2, 1, 0]].copy()
    values[:, 0, 1] = (values[:, 0, 1] - values[:, 0, 2]) % 1.0
    values[:, 0, 2] = 1.0 - values[:, 0, 2]
    return np.rint(values.ravel() * 20) / 20


def test_a_mirrored_gait_walks_the_mirrored_path():
    rng = np.random.default_rng(7)
    solutions = rng.choice(LEVELS, (16, 36))
    images = np.array([mirrored(solution) for solution in solutions])
    gait = run_episodes(solutions, body(), record=True).tape[:, :60]
    image = run_episodes(images, body(), record=True).tape[:, :60]
    signs = np.ones(13)
    signs[[1, 4, 6, 8, 10, 12]] = -1  # y, roll, yaw
    error = np.abs(gait[:, :, :13] - signs * image[:, :, :13]).max(axis=2)
    assert error[:, :26].max() < 1e-9
    assert np.median(error[:, 59]) < 1e-7
    assert np.abs(gait[:, 25, 1]).max() > 1e-3  # they do leave the plane of symmetry


def test_a_diverging_simulation_is_told_apart():
    for bad in (np.nan, 1e6):
        wild = settled().copy()
        wild[2] = 0.25  # in the air: contacts would stop the spin
        wild[10] = bad
        wild.flags.writeable = False
        ends, finals = np.zeros((1, 3), np.int64), np.zeros((1, 13))
        rows = np.zeros((1, 36))
        rows.flags.writeable = False
        shape = body()
        lockstep.simulate(
            lockstep.new_fleet(1), rows, 0, 1, signal_table().ravel(), shape.present, shape.sums, wild, DT, 334, 1000,
            ends, finals, np.zeros((1, 2, 6), np.int64), np.zeros((0, 0, lockstep.TAPE)),
        )  # fmt: skip
        assert ends[0, 0] == lockstep.DIVERGED


def test_a_robot_that_moves_to_another_lane_takes_all_it_has_along():
    rng = np.random.default_rng(0)
    fleet = lockstep.new_fleet(16)
    fleet.feet[:] = rng.integers(1 << 62, size=fleet.feet.shape)
    fleet.busy[:], fleet.odd[:] = (0b00000001, 0b11111111), (0, 0b00001000)
    lanes = [fleet.robots, fleet.begins, fleet.pose, fleet.row, fleet.step, fleet.sample, fleet.still]
    for array in lanes:
        array[:] = rng.integers(1, 1000, size=array.shape)

    def robot(group, lane):
        states = fleet.feet[group, kn.STATES :] >> lane & ct.EACH
        rows = [array[group, lane :: ct.LANES].tolist() for array in lanes]
        return rows, states.tolist(), fleet.odd[group] >> lane & 1

    before, neighbour = robot(1, 3), robot(0, 4)
    lockstep.move_lane(fleet, 1, 3, 0, 5)
    assert robot(0, 5) == before
    assert robot(0, 4) == neighbour
    assert fleet.busy.tolist() == [0b00100001, 0b11110111]
