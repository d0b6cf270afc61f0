"""For the hexapod's tests: the compiled engine's parts, driven step by step from Python, and an independent oracle."""

from __future__ import annotations

import numpy as np

from tesselite.compiled.lanes import LANES
from tesselite.problems.hexapod_locomotion import contact as ct
from tesselite.problems.hexapod_locomotion import kinematic as kn
from tesselite.problems.hexapod_locomotion import legs as lg
from tesselite.problems.hexapod_locomotion import line_search as ls
from tesselite.problems.hexapod_locomotion import robot as rb
from tesselite.problems.hexapod_locomotion import solver as sv


class Lanes:
    """A group of LANES robots whose steps are taken one part at a time."""

    def __init__(self, body: rb.Body, states: np.ndarray) -> None:
        self.body = body
        self.robots = np.zeros(kn.ROBOT)
        self.feet = np.zeros(kn.FEET, np.int64)
        self.feet[kn.STATES : kn.STATES + 6] = ct.ALL << ct.ON1
        self.problems = np.zeros((4, sv.PROBLEM))
        self.problem = self.problems[0]
        self.states_of_contacts = np.zeros((4, ls.MAX_CONTACTS), np.int64)
        self.n_contacts = 0
        self.work = np.zeros(kn.WORK)
        self.line = np.zeros(ls.LINE)
        self.book = np.zeros(sv.BOOK, np.int64)
        self.robots[kn.OX : kn.OX + 13 * LANES] = np.broadcast_to(states, (LANES, 13)).T.ravel()

    def joints(self, first: int, second: int) -> np.ndarray:
        """Two rows of the legs' joints, as (LANES, 6, 2)."""
        rows = self.robots[: lg.ROBOT].reshape(6, -1, LANES)
        return rows[:, [first // LANES, second // LANES]].transpose(2, 0, 1).copy()

    def set_joints(self, values: np.ndarray, first: int, second: int) -> None:
        """Set two rows of the legs' joints from (LANES, 6, 2)."""
        rows = self.robots[: lg.ROBOT].reshape(6, -1, LANES)
        rows[:, [first // LANES, second // LANES]] = values.transpose(1, 2, 0)

    def set_targets(self, values: np.ndarray) -> None:
        """Set the target angles of J1 and J2 from (LANES, 6, 2)."""
        self.set_joints(np.ones((LANES, 6, 2)), lg.SCALE1, lg.SCALE2)
        rows = self.work[: 6 * lg.LEG].reshape(6, -1, LANES)
        rows[:, [lg.SIGNAL1 // LANES, lg.SIGNAL2 // LANES]] = values.transpose(1, 2, 0)

    @property
    def states(self) -> np.ndarray:
        return self.robots[kn.OX : kn.OX + 13 * LANES].reshape(13, LANES).T.copy()

    def touching(self, k: int) -> list[int]:
        """The legs of lane k whose feet touch the floor; contact j is that of number j."""
        return [leg for leg in range(6) if self.feet[kn.TOUCHING + leg] >> k & 1]

    def value(self, name: int, k: int, contact: int = 0) -> float:
        """A value of lane k's contact problem."""
        return float(self.problem[contact * ct.CONTACT + name + k])

    def d(self, k: int) -> np.ndarray:
        return self.problem[ct.DX + k : ct.HEAD : LANES].copy()

    def before_contacts(self, dt: float) -> None:
        lg.move_legs(self.robots, self.work, self.body.present, dt)
        kn.free_velocity(self.robots, self.work, self.problem, self.body.sums, dt)
        self.n_contacts = kn.find_contacts(
            self.robots, self.work, self.feet, self.problem, self.states_of_contacts[0],
            self.body.present, self.body.sums, dt,
        )  # fmt: skip

    def solve(self) -> None:
        states, n = self.states_of_contacts, self.n_contacts
        sv.begin(self.problems, states, 0, 1, np.array([n]), np.zeros(1, np.int64), self.line, self.book)
        sv.finish(self.problems, states, self.line, self.book)
        ct.refine_friction(self.problem, states[0], n)
        kn.keep_states(self.feet, states[0], n)

    def step(self, dt: float) -> None:
        self.before_contacts(dt)
        self.solve()
        kn.advance(self.robots, self.problem, dt)


def rotation(quaternion: np.ndarray) -> np.ndarray:
    from scipy.spatial.transform import Rotation

    return Rotation.from_quat(quaternion[[1, 2, 3, 0]]).as_matrix()


def _turn(axis: str, angle: float) -> np.ndarray:
    from scipy.spatial.transform import Rotation

    return Rotation.from_euler(axis, angle).as_matrix()


def links(body: rb.Body, q: np.ndarray) -> list[tuple[float, np.ndarray, np.ndarray, np.ndarray]]:
    """Mass, centre, orientation and own inertia of every link in the base frame, joint by joint along the chain."""
    found = [(rb.BASE_MASS, np.zeros(3), np.eye(3), np.diag(rb.BASE_INERTIA))]
    for leg, hip in enumerate(rb.LEGS):
        if not body.present[leg]:
            continue
        s = hip.side
        place = np.array([hip.x, hip.y, 0.0])
        turn = _turn("z", hip.yaw) @ _turn("z", q[leg, 0])
        for link, next_place, next_turn in (
            (rb.COXA, [0, s * rb.COXA_LENGTH, 0], _turn("x", s * q[leg, 1])),
            (rb.FEMUR, [0, s * rb.FEMUR_LENGTH, 0], _turn("x", -s * q[leg, 1])),
            (rb.TIBIA, [0, 0, 0], np.eye(3)),
        ):
            moments = np.full(3, link.across)
            moments["xyz".index(link.axis)] = link.along
            found.append((link.mass, place + turn @ [link.x, s * link.outward, link.up], turn, np.diag(moments)))
            place = place + turn @ np.array(next_place, dtype=float)
            turn = turn @ next_turn
    return found


def momenta(body: rb.Body, state: np.ndarray, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Momentum, and angular momentum about the centre of mass, by numerical derivatives of the chain's positions."""
    h = 1e-6
    now, ahead, behind = links(body, q), links(body, q + h * qd), links(body, q - h * qd)
    r, v, w = rotation(state[3:7]), state[7:10], state[10:13]
    mass = sum(link[0] for link in now)
    places = [state[:3] + r @ link[1] for link in now]
    speeds = [
        v + np.cross(w, r @ link[1]) + r @ (a[1] - c[1]) / (2 * h)
        for link, a, c in zip(now, ahead, behind, strict=True)
    ]
    centre = sum(link[0] * p for link, p in zip(now, places, strict=True)) / mass
    momentum = sum(link[0] * u for link, u in zip(now, speeds, strict=True))
    angular = np.zeros(3)
    for link, place, speed, a, c in zip(now, places, speeds, ahead, behind, strict=True):
        spin = (a[2] - c[2]) / (2 * h) @ link[2].T
        relative = np.array([spin[2, 1], spin[0, 2], spin[1, 0]])
        turn = r @ link[2]
        angular += link[0] * np.cross(place - centre, speed) + turn @ link[3] @ turn.T @ (w + r @ relative)
    return momentum, angular
