"""The paper's hexapod locomotion task: robot, controller, two engines, problem, motion and pictures.

Docs: docs/hexapod.md for users, docs/hexapod-dynamics.md for the mechanics. Paper: section V.
"""

from tesselite.problems.hexapod_locomotion.motion import Motion
from tesselite.problems.hexapod_locomotion.problem import DESCRIPTORS, TRIPOD, Hexapod, hexapod
from tesselite.problems.hexapod_locomotion.robot import Body, body

__all__ = ["DESCRIPTORS", "TRIPOD", "Body", "Hexapod", "Motion", "body", "hexapod"]
