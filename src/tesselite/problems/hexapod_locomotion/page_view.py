"""The hexapod's elites on the interactive page: the motion of body, legs and feet in an episode. Drawn by
`page_view.js`.
"""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np

from tesselite.problems.hexapod_locomotion.controller import N_STEPS, STEP
from tesselite.problems.hexapod_locomotion.robot import (
    BASE_SIZE,
    COXA_LENGTH,
    FEMUR_LENGTH,
    FOOT_X,
    LEGS,
    N_LEGS,
    TIBIA_LENGTH,
)
from tesselite.spaces.solutions import Rows

if TYPE_CHECKING:
    from tesselite.problems.hexapod_locomotion.problem import Hexapod

_EVERY = 4  # steps between two frames: 60 ms
_FRAMES = N_STEPS // _EVERY + 1


def describe(problem: Hexapod, solutions: Rows, scenario: str | None) -> dict[str, Any]:
    """The view "gait" of these controllers, (m, 36), on one body: poses to a millimetre, angles to a hundredth."""
    m = len(solutions)
    base = np.empty((m, _FRAMES, 7))
    angles = np.empty((m, _FRAMES, 2 * N_LEGS))
    contacts = np.zeros((m, N_STEPS), np.uint8)
    missing: tuple[int, ...] = ()
    for row in range(m):
        motion = problem.motion(solutions[row], scenario)
        missing = motion.body.missing
        # An episode that ended early (it is invalid) stays at its last pose.
        at = np.minimum(np.arange(_FRAMES) * _EVERY, len(motion.time) - 1)
        base[row] = np.hstack([motion.positions[at], motion.quaternions[at]])
        angles[row] = motion.joints[at, :, :2].reshape(_FRAMES, -1)
        touched = motion.contacts[:N_STEPS] @ (1 << np.arange(N_LEGS))
        contacts[row, : len(touched)] = touched
    return {
        "kind": "gait",
        "script": resources.files(__package__).joinpath("page_view.js").read_text(encoding="utf-8"),
        "per_elite": ["base", "angles", "contacts"],
        "step": {"base": 0.001, "angles": 0.01},
        "base": base,
        "angles": angles,
        "contacts": contacts,
        "contact_frames": _EVERY,
        "frame_seconds": _EVERY * STEP,
        "body": list(BASE_SIZE),
        "coxa": COXA_LENGTH,
        "femur": FEMUR_LENGTH,
        "tibia": TIBIA_LENGTH,
        "foot_x": FOOT_X,
        "legs": [
            {"name": hip.place, "x": hip.x, "y": hip.y, "yaw": hip.yaw, "side": hip.side, "missing": leg in missing}
            for leg, hip in enumerate(LEGS)
        ],
    }
