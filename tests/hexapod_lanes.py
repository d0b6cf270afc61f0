"""For the hexapod's tests: the compiled engine's parts, driven step by step from Python, and an independent oracle."""

from __future__ import annotations

import numpy as np

from tesselite.problems.hexapod_locomotion import contact as ct
from tesselite.problems.hexapod_locomotion import kinematic as kn
from tesselite.problems.hexapod_locomotion import line_search as ls
from tesselite.problems.hexapod_locomotion import robot as rb
from tesselite.problems.hexapod_locomotion.legs import LANES


class Lanes:
    """LANES robots whose steps are taken one part at a time."""

    def __init__(self, body: rb.Body, states: np.ndarray) -> None:
        self.body = body
        self.g = np.zeros(kn.ARRAY)
        self.t = np.zeros(ls.TABLE)
        self.st = np.zeros(ls.STATES, np.int64)
        self.g[kn.OX : kn.OX + 13 * LANES] = np.broadcast_to(states, (LANES, 13)).T.ravel()
        for leg in range(6):
            self.leg(leg, ct.DEPTH)[:] = -1.0

    def leg(self, leg: int, name: int) -> np.ndarray:
        return self.g[leg * ct.LEG + name : leg * ct.LEG + name + LANES]

    def value(self, name: int) -> np.ndarray:
        return self.g[name : name + LANES]

    def joints(self, first: int, second: int) -> np.ndarray:
        """Two rows of the legs, as (LANES, 6, 2)."""
        return np.array([[self.leg(leg, first), self.leg(leg, second)] for leg in range(6)]).transpose(2, 0, 1).copy()

    def set_joints(self, values: np.ndarray, first: int, second: int) -> None:
        for leg in range(6):
            self.leg(leg, first)[:] = values[:, leg, 0]
            self.leg(leg, second)[:] = values[:, leg, 1]

    @property
    def states(self) -> np.ndarray:
        return self.g[kn.OX : kn.OX + 13 * LANES].reshape(13, LANES).T.copy()

    def before_contacts(self, dt: float) -> None:
        kn.move_legs(self.g, self.body.present, dt)
        kn.free_velocity(self.g, self.body.sums, dt)
        kn.find_contacts(self.g, self.body.present, self.body.sums, dt)

    def step(self, dt: float) -> None:
        self.before_contacts(dt)
        ct.solve(self.g, self.t, self.st)
        kn.advance(self.g, dt)


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
