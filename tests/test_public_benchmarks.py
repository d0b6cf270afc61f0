"""The field's benchmarks as problems: cases solved by hand, and plain twins written from the published definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tesselite as tl
from tesselite import problems

SHIFT = 2.048


def plain_lp(function: str, x: list[float], features: int) -> tuple[float, list[float]]:
    """Fontaine and Nikolaidis' definition, a variable at a time: normalised by the loss in the corner at -5.12."""

    def loss(x: list[float]) -> float:
        z = [value - SHIFT for value in x]
        if function == "sphere":
            return sum(v * v for v in z)
        if function == "rastrigin":
            return 10 * len(z) + sum(v * v - 10 * math.cos(2 * math.pi * v) for v in z)
        if function == "plateau":
            return sum((abs(v) - 5.12) ** 2 for v in x if abs(v) > 5.12) / len(x)
        return 0.0

    worst = 100.0 if function in ("plateau", "flat") else loss([-5.12] * len(x))
    size = len(x) // features
    blocks = [x[i : i + size] for i in range(0, len(x), size)]
    projected = [sum(v if -5.12 <= v <= 5.12 else 5.12 / v for v in block) for block in blocks]
    return (worst - loss(x)) / worst * 100, projected


@pytest.mark.parametrize(
    ("function", "n", "features"),
    [("sphere", 100, 2), ("rastrigin", 100, 10), ("rastrigin", 4, 2), ("plateau", 4, 2), ("flat", 100, 50)],
)
def test_linear_projection_agrees_with_a_plain_twin(function, n, features):
    solutions = np.random.default_rng(1).normal(0, 4, (70, n))
    evaluated = tl.problems.lp(function, n=n, features=features).evaluate(solutions)
    expected = [plain_lp(function, row.tolist(), features) for row in solutions]
    np.testing.assert_allclose(evaluated.fitness, [fitness for fitness, _ in expected], rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(evaluated.features, [projected for _, projected in expected], atol=1e-12)


def test_linear_projection_solved_by_hand():
    best, corner, far = [SHIFT] * 4, [-5.12] * 4, [10.24, -51.2, 5.12, 0.0]
    sphere = tl.problems.lp("sphere", n=4).evaluate([best, corner, far])
    np.testing.assert_allclose(sphere.fitness[:2], [100, 0], atol=1e-12)
    np.testing.assert_allclose(sphere.features, [[4.096, 4.096], [-10.24, -10.24], [0.5 - 0.1, 5.12]], atol=1e-12)
    rastrigin = tl.problems.lp("rastrigin", n=4).evaluate([best, corner])
    np.testing.assert_allclose(rastrigin.fitness, [100, 0], atol=1e-10)
    plateau = tl.problems.lp("plateau", n=4).evaluate([best, corner, far])
    np.testing.assert_allclose(plateau.fitness, [100, 100, 100 - (5.12**2 + 46.08**2) / 4], atol=1e-9)


def test_linear_projection_is_told_apart_by_name():
    made = problems.by_name("lp:rastrigin,features=20")
    assert (made.solutions.width, made.features.n, made.features.high[0]) == (100, 20, 5.12 * 5)
    assert made.variant == "rastrigin"
    with pytest.raises(ValueError, match="function: expected one of sphere, rastrigin, plateau, flat, got 'ackley'"):
        problems.by_name("lp:ackley")
    with pytest.raises(ValueError, match="n: expected a multiple of the 3 features, got 100"):
        problems.by_name("lp:sphere,features=3")


def plain_arm(angles: list[float]) -> tuple[float, tuple[float, float]]:
    mean = sum(angles) / len(angles)
    variance = sum((a - mean) ** 2 for a in angles) / len(angles)
    turned, x, y = 0.0, 0.0, 0.0
    for angle in angles:
        turned += angle
        x, y = x + math.cos(turned), y + math.sin(turned)
    return 100 * (1 - variance), (x, y)


def test_the_arm_repertoire_agrees_with_a_plain_twin_and_by_hand():
    solutions = np.random.default_rng(1).normal(0, 1, (70, 100))
    arm = tl.problems.arm_repertoire()
    evaluated = arm.evaluate(solutions)
    expected = [plain_arm(row.tolist()) for row in solutions]
    np.testing.assert_allclose(evaluated.fitness, [fitness for fitness, _ in expected], atol=1e-10)
    np.testing.assert_allclose(evaluated.features, [hand for _, hand in expected], atol=1e-11)
    by_hand = problems.by_name("arm_repertoire:2").evaluate([[0, 0], [math.pi / 2, 0], [0, math.pi / 2]])
    np.testing.assert_allclose(by_hand.features, [[2, 0], [0, 2], [1, 1]], atol=1e-12)
    np.testing.assert_allclose(by_hand.fitness, [100, 100 - 25 * math.pi**2 / 4, 100 - 25 * math.pi**2 / 4], rtol=1e-12)
    drawn = arm.elite_view(solutions[:1])["points"][0]
    np.testing.assert_allclose(100 * drawn[-1], evaluated.features[0], atol=1e-10)


def test_the_spiral():
    """By its angle and by its arc length it is the same curve; the length by summing up short chords."""
    angle, length = tl.problems.spiral("angle"), tl.problems.spiral("arc_length")
    angles = np.linspace(0, 40 * math.pi, 400_001)[:, None]
    points = angle.evaluate(angles).features
    np.testing.assert_allclose(points[:, 0], 0.01 * angles[:, 0] * np.cos(angles[:, 0]), atol=1e-12)
    chords = np.concatenate([[0.0], np.hypot(*np.diff(points, axis=0).T).cumsum()])
    assert length.solutions.high[0] == pytest.approx(chords[-1], rel=1e-7)
    some = np.arange(0, 400_001, 4_000)
    along = tl.problems.spiral("angle", features="geodesic").evaluate(angles[some]).features
    np.testing.assert_allclose(along[:, 0], chords[some], atol=1e-5)
    np.testing.assert_allclose(length.evaluate(along).features, points[some], atol=1e-11)
    assert set(angle.solutions.random(3, np.random.default_rng(0)).ravel()) == {22 * math.pi}
    assert (angle.evaluate(angles[some]).fitness == 1).all()
    with pytest.raises(ValueError, match="variable: expected angle or arc_length, got 'radius'"):
        problems.by_name("spiral:radius")


def test_the_maze_with_weights_drives_like_the_maze_with_the_same_networks():
    weights = problems.by_name("maze_weights:2d,hidden=2")
    assert weights.solutions.width == 2 + 2 + 7 * 2 + 2 * 2
    rows = np.random.default_rng(1).uniform(-2, 2, (6, weights.solutions.width))
    networks = []
    for row in np.rint(2 * rows) / 2:
        biases = dict(zip(range(7, 11), row[:4], strict=True))
        into = [(i, 9 + h, row[4 + 7 * h + i]) for h in range(2) for i in range(7)]
        out = [(9 + h, 7 + o, row[18 + 2 * o + h]) for o in range(2) for h in range(2)]
        networks.append(problems.by_name("maze:2d").solutions.encode(biases, into + out, n_hidden=2))
    expected = problems.by_name("maze:2d,layout=round,after_hit=stick").evaluate(np.array(networks))
    evaluated = weights.evaluate(rows)
    np.testing.assert_array_equal(evaluated.fitness, expected.fitness)
    np.testing.assert_array_equal(evaluated.features, expected.features)
    assert weights.elite_view(rows[:1])["kind"] == "drive"
    with pytest.raises(ValueError, match="hidden: expected 1 to 100 neurons, got 0"):
        problems.by_name("maze_weights:2d,hidden=0")
