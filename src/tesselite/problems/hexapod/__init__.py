"""The paper's hexapod locomotion task: robot, controller, two engines, problem, motion and pictures.

Docs: docs/hexapod.md for users, docs/hexapod-dynamics.md for the mechanics. Paper: section V.
"""

from tesselite.problems.hexapod.motion import Motion
from tesselite.problems.hexapod.problem import DESCRIPTORS, TRIPOD, Hexapod, hexapod
from tesselite.problems.hexapod.robot import Body, body

__all__ = ["DESCRIPTORS", "TRIPOD", "Body", "Hexapod", "Motion", "body", "hexapod"]
