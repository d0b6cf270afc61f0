"""The `dart` engine: the same robot, from the same table, in DART, the paper's own physics engine.

It needs the package `dartpy` (`pip install dartpy`) and is some 370 times slower than `kinematic`; it serves to verify
ours. The rules that end an episode are those of `kinematic`, but for the turn of more than 2 rad in a step: that is the
limit of our arithmetic, not of DART's.
DART: Lee et al. (2018), "DART: Dynamic Animation and Robotics Toolkit", JOSS 3(22).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tesselite.base.arrays import Floats
from tesselite.base.importing import how_to_install
from tesselite.problems.hexapod_locomotion import lockstep
from tesselite.problems.hexapod_locomotion import robot as rb
from tesselite.problems.hexapod_locomotion.controller import N_JOINTS, targets
from tesselite.problems.hexapod_locomotion.robot import Body

if TYPE_CHECKING:
    from tesselite.problems.hexapod_locomotion.episode import Episodes


def load_dartpy() -> Any:
    """The module dartpy; ImportError says how to install it."""
    try:
        import dartpy
    except ImportError as error:
        raise ImportError(
            f"engine 'dart' needs the package dartpy: {how_to_install('dartpy', 'dart')}; 'kinematic' needs nothing"
        ) from error
    return dartpy


def _quaternion(rotation: Floats) -> Floats:
    """The unit quaternion (w, x, y, z) with w >= 0 of a rotation matrix."""
    from scipy.spatial.transform import Rotation

    x, y, z, w = Rotation.from_matrix(rotation).as_quat(canonical=True)
    return np.array([w, x, y, z])


class DartHexapod:
    """One hexapod above a floor in a DART world: what the engine steps."""

    def __init__(self, body: Body) -> None:
        dart = self._dart = load_dartpy()
        self.body = body
        self.world = dart.simulation.World()
        self.world.setGravity([0.0, 0.0, -rb.GRAVITY])
        awake = self.world.getDeactivationOptions()
        awake.mEnabled = False  # DART 6.20 would put a resting robot to sleep; the paper's DART did not
        self.world.setDeactivationOptions(awake)
        solver = self.world.getConstraintSolver()
        solver.setCollisionDetector(dart.collision.DARTCollisionDetector())
        self.world.addSkeleton(self._floor())
        self.skeleton = dart.dynamics.Skeleton("hexapod")
        self._free, self._base = self.skeleton.createFreeJointAndBodyNodePair()
        self._base.setName("base")
        self._base.setInertia(self._inertia(rb.BASE_MASS, (0.0, 0.0, 0.0), rb.BASE_INERTIA))
        self._touchable(self._base, dart.dynamics.BoxShape(list(rb.BASE_SIZE)))
        self._joints: list[list[Any]] = [self._leg(leg) if body.present[leg] else [] for leg in range(rb.N_LEGS)]
        self.skeleton.disableSelfCollisionCheck()
        self.world.addSkeleton(self.skeleton)

    def _inertia(self, mass: float, centre: tuple[float, ...], moments: tuple[float, ...]) -> Any:
        return self._dart.dynamics.Inertia(mass, list(centre), np.diag(moments))

    def _touchable(self, node: Any, shape: Any) -> Any:
        shape_node = node.createShapeNode(shape)
        shape_node.createCollisionAspect()
        aspect = shape_node.createDynamicsAspect()
        aspect.setFrictionCoeff(rb.FRICTION)
        aspect.setRestitutionCoeff(0.0)
        return shape_node

    def _floor(self) -> Any:
        floor = self._dart.dynamics.Skeleton("floor")
        joint, node = floor.createWeldJointAndBodyNodePair()
        self._touchable(node, self._dart.dynamics.BoxShape([100.0, 100.0, 0.2]))
        transform = self._dart.math.Isometry3()
        transform.set_translation([0.0, 0.0, -0.1])
        joint.setTransformFromParentBodyNode(transform)
        return floor

    def _link(self, parent: Any, name: str, axis: tuple[float, ...], offset: tuple[float, ...], yaw: float) -> Any:
        dart = self._dart
        properties = dart.dynamics.RevoluteJointProperties()
        properties.mName = name
        properties.mAxis = list(axis)
        place = dart.math.Isometry3()
        c, s = np.cos(yaw), np.sin(yaw)
        place.set_rotation(np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]))
        place.set_translation(list(offset))
        properties.mT_ParentBodyToJoint = place
        joint, node = self.skeleton.createRevoluteJointAndBodyNodePair(parent, properties)
        node.setName(name)
        joint.setActuatorType(dart.dynamics.ActuatorType(dart.dynamics.VELOCITY))
        return joint, node

    def _leg(self, number: int) -> list[Any]:
        hip = rb.LEGS[number]
        s = float(hip.side)
        base, joints = self._base, []
        for name, link, axis, offset, yaw in (
            ("coxa", rb.COXA, (0.0, 0.0, 1.0), (hip.x, hip.y, 0.0), hip.yaw),
            ("femur", rb.FEMUR, (s, 0.0, 0.0), (0.0, s * rb.COXA_LENGTH, 0.0), 0.0),
            ("tibia", rb.TIBIA, (-s, 0.0, 0.0), (0.0, s * rb.FEMUR_LENGTH, 0.0), 0.0),
        ):
            joint, base = self._link(base, f"{name} {number}", axis, offset, yaw)
            moments = [link.across] * 3
            moments["xyz".index(link.axis)] = link.along
            base.setInertia(self._inertia(link.mass, (link.x, s * link.outward, link.up), tuple(moments)))
            joints.append(joint)
        foot = self._touchable(base, self._dart.dynamics.SphereShape(rb.FOOT_RADIUS))
        foot.setRelativeTranslation([rb.FOOT_X, 0.0, -rb.TIBIA_LENGTH])
        return joints

    def set_state(self, state: Floats) -> None:
        """Put the base into `state` (13,), with all joints at rest at 0."""
        self.skeleton.resetPositions()
        self.skeleton.resetVelocities()
        self.skeleton.resetAccelerations()
        from scipy.spatial.transform import Rotation

        rotation = Rotation.from_quat(state[[4, 5, 6, 3]])
        matrix = rotation.as_matrix()
        # A free joint's coordinates: rotation vector and position; velocities in the base's own frame.
        self._free.setPositions(np.concatenate([rotation.as_rotvec(), state[:3]]))
        self._free.setVelocities(np.concatenate([matrix.T @ state[10:], matrix.T @ state[7:10]]))

    def state(self) -> Floats:
        """The base's position, quaternion, velocity and angular velocity in the world, (13,)."""
        transform = self._base.getWorldTransform()
        return np.concatenate(
            [
                transform.translation(),
                _quaternion(transform.rotation()),
                self._base.getLinearVelocity(),
                self._base.getAngularVelocity(),
            ]
        )

    def pose(self) -> Floats:
        """The free joint's coordinates, (6,): what the rule for rest compares."""
        return np.array(self._free.getPositions())

    def angles(self) -> Floats:
        """Angles of J1 and J2 of each leg, (12,); 0 for a missing leg."""
        return np.array([js[i].getPosition(0) if js else 0.0 for js in self._joints for i in range(2)])

    def step(self, target: Floats, dt: float) -> tuple[int, bool]:
        """Advance by dt towards the (12,) targets: the feet that touched (as bits), and whether the base did."""
        for leg, joints in enumerate(self._joints):
            for i, joint in enumerate(joints):
                goal = target[2 * leg + min(i, 1)]
                rate = float((goal - joint.getPosition(0)) * rb.SERVO_GAIN / dt)
                joint.setCommand(0, min(max(rate, -rb.SERVO_SPEED), rb.SERVO_SPEED))
        self.world.setTimeStep(dt)
        self.world.step()
        touching, base = 0, False
        for contact in self.world.getLastCollisionResult().getContacts():
            for frame in (contact.collisionObject1, contact.collisionObject2):
                name = frame.getShapeFrame().asShapeNode().getBodyNodePtr().getName()
                if name == "base":
                    base = True
                elif name.startswith("tibia"):
                    touching |= 1 << int(name[-1])
        return touching, base

    def centre_height(self) -> float:
        """Height of the centre of mass."""
        return float(self.skeleton.getCOM()[2])

    def upright(self) -> bool:
        """Whether the body is tilted by less than 90 degrees."""
        return bool(self._base.getWorldTransform().rotation()[2, 2] > 0.0)


def simulate(rows: Floats, body: Body, dt: float, n_steps: int, max_hold: int, into: Episodes) -> None:
    """Run the episodes of all rows, one after the other, from `into.start`; the rest of `into` is filled.

    Arguments and results are as of `lockstep.simulate`.
    """
    ends, finals, touches, tape = into.ends, into.finals, into.touches, into.tape
    hexapod = DartHexapod(body)
    goals = targets(rows, n_steps)
    for row in range(len(rows)):
        hexapod.set_state(into.start)
        touches[row] = 0
        goal, pose = np.zeros(N_JOINTS), np.zeros(6)
        step = still = 0
        end = lockstep.RUNNING
        while end == lockstep.RUNNING:
            if step < n_steps:
                goal = goals[row, step]
            else:
                pose = hexapod.pose()
            if step < tape.shape[1]:
                tape[row, step, :13] = hexapod.state()
                tape[row, step, 14:] = hexapod.angles()
            touching, base_touched = hexapod.step(goal, dt)
            if step < tape.shape[1]:
                tape[row, step, 13] = touching
            if base_touched and step < n_steps:
                end = lockstep.BODY_TOUCHED
                break
            if step < n_steps:
                touches[row, step & 1] += touching >> np.arange(rb.N_LEGS) & 1
            step += 1
            height = hexapod.centre_height()
            if not np.isfinite(height):
                end = lockstep.DIVERGED
            elif not hexapod.upright():
                end = lockstep.TILTED
            elif height > lockstep.MAX_HEIGHT:
                end = lockstep.TOO_HIGH
            elif step > n_steps:
                moved = float(np.linalg.norm(hexapod.pose() - pose))
                still = still + 1 if moved < lockstep.STILL else 0
                if still >= lockstep.STILL_STEPS:
                    end = lockstep.FINISHED
                elif step - n_steps >= max_hold:
                    end = lockstep.RESTLESS
        ends[row] = end, step, max(0, step - n_steps)
        finals[row] = hexapod.state()
