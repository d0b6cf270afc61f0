"""The requirements of the search on every problem and solution space, and each built-in problem against an oracle.

To check another problem, add its spec to SPECS; everything parametrised by `spec` then runs on it.
"""

from __future__ import annotations

import math
import sys

import numba
import numpy as np
import pytest

import tesselite as tl
from offspring import offspring_of
from tesselite import problems
from tesselite.archive.evaluation import Evaluation
from tesselite.problems.problem import Problem

SPECS = [
    "arm",
    "rastrigin:3",
    "sphere:2",
    "lp:sphere,n=4",
    "arm_repertoire:3",
    "maze:20d",
    "hexapod:duty",
    "hexapod:phase",
    "test_problems:jump",
    "test_problems:leap",
    "test_problems:hop",
]

FEATURES = {"speed": (0, 2), "height": (0, 1)}


@tl.problem(solutions=tl.Box(3), features=FEATURES, scenarios=["ice", "sand"])
def jump(x, scenario):
    """One solution at a time."""
    factor = {None: 1.0, "ice": 0.5, "sand": 0.25}[scenario]
    return factor * x[0], (2 * x[1], x[2])


@tl.problem(solutions=tl.Levels(3, [0, 0.5, 1]), features=FEATURES, direction="min", batch=True)
def leap(x):
    """A batch at a time, on levels."""
    return x.sum(axis=1), 2 * x[:, :2] * [1.0, 0.5]


@tl.problem(solutions=tl.Box(3), features=FEATURES, scenarios=["ice", "sand"])
@numba.njit
def hop(x, scenario):
    """Compiled."""
    return x[0] / (2.0 + scenario), (2 * x[1], x[2])


@pytest.fixture(scope="module", params=SPECS)
def problem(request):
    if request.param.startswith("test_problems:"):
        return globals()[request.param.partition(":")[2]]
    return problems.by_name(request.param)


@pytest.fixture(scope="module")
def rows(problem):
    return problem.solutions.random(200, np.random.default_rng(1))


def same(a: Evaluation, b: Evaluation) -> bool:
    return (
        a.fitness.tobytes() == b.fitness.tobytes()
        and a.features.tobytes() == b.features.tobytes()
        and a.valid.tobytes() == b.valid.tobytes()
        and a.reasons == b.reasons
    )


# -- the conformance suite -----------------------------------------------------------------------------------------


def test_a_problem_says_what_it_is(problem):
    assert isinstance(problem, Problem)
    assert problem.name
    assert problem.name in repr(problem)
    assert isinstance(problem.solutions, tl.SolutionSpace)
    assert isinstance(problem.features, tl.FeatureSpace)
    assert problem.direction in ("max", "min")
    assert problem.floor is None or math.isfinite(problem.floor)
    assert len(set(problem.scenarios)) == len(problem.scenarios)


def test_an_evaluation_has_its_shapes(problem, rows):
    evaluated = problem.evaluate(rows)
    assert evaluated.fitness.shape == (200,)
    assert evaluated.features.shape == (200, problem.features.n)
    assert evaluated.valid.shape == (200,)
    assert evaluated.valid.dtype == bool
    assert evaluated.valid.any()
    assert np.isfinite(evaluated.fitness[evaluated.valid]).all()
    assert set(evaluated.reasons) == set(np.flatnonzero(~evaluated.valid).tolist())
    unit = problem.features.to_unit(evaluated.features[evaluated.valid])
    assert unit.min() > -0.1
    assert unit.max() < 1.1
    empty = problem.evaluate(rows[:0])
    assert len(empty) == 0
    assert empty.features.shape == (0, problem.features.n)


def test_evaluation_is_deterministic_whatever_the_threads(problem, rows):
    once = problem.evaluate(rows, threads=1)
    assert same(once, problem.evaluate(rows, threads=1))
    assert same(once, problem.evaluate(rows, threads=2))
    assert same(once, problem.evaluate(rows))


def test_a_row_alone_is_worth_what_it_is_in_a_batch(problem, rows):
    together = problem.evaluate(rows)
    for i in (0, 1, 63, 64, 127, 199):
        for alone in (problem.evaluate(rows[i]), problem.evaluate(rows[i : i + 1])):
            assert alone.fitness.tobytes() == together.fitness[i : i + 1].tobytes()
            assert alone.features.tobytes() == together.features[i : i + 1].tobytes()
    backwards = problem.evaluate(rows[::-1])
    np.testing.assert_array_equal(backwards.fitness, together.fitness[::-1])
    np.testing.assert_array_equal(backwards.features, together.features[::-1])
    np.testing.assert_array_equal(problem.evaluate(np.asfortranarray(rows)).fitness, together.fitness)
    np.testing.assert_array_equal(problem.evaluate(rows.tolist()).fitness, together.fitness)


def test_solutions_are_left_alone(problem, rows):
    before = rows.copy()
    problem.evaluate(rows)
    problem.evaluate_rows(rows, None, 2)
    np.testing.assert_array_equal(rows, before)


def test_what_is_no_solution_is_refused(problem, rows):
    for wrong in (rows[:, :-1], rows[None], "text", 3.0, None):
        with pytest.raises(ValueError, match="solutions: expected"):
            problem.evaluate(wrong)


def test_scenarios(problem, rows):
    with pytest.raises(ValueError, match=f"scenario: {problem.name} has no scenario 'mars'; it has"):
        problem.evaluate(rows, "mars")
    without = problem.evaluate(rows)
    for number, scenario in enumerate(problem.scenarios):
        evaluated = problem.evaluate(rows, scenario)
        assert evaluated.valid.any()
        assert not same(evaluated, without)
        if number < 4:
            assert same(evaluated, problem.evaluate(rows, scenario, threads=2))


def test_the_solution_space_keeps_its_contract(problem):
    space = problem.solutions
    first, again, other = (space.random(300, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert first.shape == (300, space.width)
    assert first.dtype == space.dtype
    np.testing.assert_array_equal(first, again)
    assert first.tobytes() != other.tobytes()
    before = first.copy()
    offspring = offspring_of(space, first, np.random.default_rng(3))
    np.testing.assert_array_equal(first, before)
    assert offspring.shape == first.shape
    assert offspring.dtype == space.dtype
    assert offspring.tobytes() != first.tobytes()
    np.testing.assert_array_equal(offspring, offspring_of(space, first, np.random.default_rng(3)))
    for rows in (first, offspring, first[:0]):
        valid = space.validate(rows)
        np.testing.assert_array_equal(valid, rows)
        assert valid.flags.c_contiguous
        assert valid.dtype == space.dtype
    generations = first
    for seed in range(5):
        generations = space.validate(offspring_of(space, generations, np.random.default_rng(seed)))


def test_a_problem_can_be_illuminated(problem):
    space = problem.features
    niches = tl.VoronoiTessellation(space, space.sample(20, np.random.default_rng(1)).clip(space.low, space.high))
    archive = tl.illuminate(problem, tessellation=niches, evaluations=300, initial=100, batch_size=70, seed=1)
    assert len(archive) > 0
    elites = archive.elites()
    problem.solutions.validate(elites.solutions)
    again = problem.evaluate(elites.solutions)
    np.testing.assert_array_equal(again.fitness, elites.fitness)
    np.testing.assert_array_equal(again.features, elites.features)


# -- the built-in ones ---------------------------------------------------------------------------------------------


def test_the_arm_against_numpy():
    rng = np.random.default_rng(1)
    solutions = rng.random((100, 10))
    evaluated = problems.by_name("arm:10").evaluate(solutions)
    angles = np.cumsum(2 * np.pi * solutions - np.pi, axis=1)
    np.testing.assert_allclose(evaluated.fitness, 1 - solutions.std(axis=1, ddof=1), rtol=0, atol=1e-13)
    np.testing.assert_allclose(evaluated.features[:, 0], 0.5 + np.cos(angles).mean(axis=1) / 2, rtol=0, atol=1e-13)
    np.testing.assert_allclose(evaluated.features[:, 1], 0.5 + np.sin(angles).mean(axis=1) / 2, rtol=0, atol=1e-13)


def test_the_arm_solved_by_hand():
    evaluated = tl.problems.arm(10).evaluate([[0.5] * 10, [0.75] + [0.5] * 9])
    np.testing.assert_allclose(evaluated.features, [[1.0, 0.5], [0.5, 1.0]], atol=1e-15)  # straight, and upwards
    np.testing.assert_allclose(evaluated.fitness, [1.0, 1 - 0.25 / math.sqrt(10)], rtol=1e-14)


def test_the_arms_posture_ends_at_its_hand():
    from tesselite.problems.planar_arm import posture

    solution = np.random.default_rng(1).random(10)
    points = posture(solution)
    assert points.shape == (11, 2)
    np.testing.assert_allclose(np.linalg.norm(np.diff(points, axis=0), axis=1), 0.1)
    np.testing.assert_allclose(0.5 + points[-1] / 2, tl.problems.arm(10).evaluate(solution).features[0], atol=1e-13)


def test_rastrigin_and_sphere_solved_by_hand():
    rastrigin, sphere = problems.by_name("rastrigin:3"), problems.by_name("sphere:2")
    evaluated = rastrigin.evaluate([[0, 0, 0], [1, 2, -3], [0.5, 0, 0], [4.52299, 4.52299, -4.52299]])
    np.testing.assert_allclose(evaluated.fitness, [0, 14, 20.25, rastrigin.floor], rtol=1e-6, atol=1e-12)
    np.testing.assert_array_equal(evaluated.features[1], [1, 2])
    x = np.linspace(-5.12, 5.12, 1_000_001)
    assert rastrigin.floor >= 3 * (x**2 + 10 - 10 * np.cos(2 * np.pi * x)).max() - 1e-5
    assert sphere.evaluate([[3, 4], [0, 0], [5.12, -5.12]]).fitness.tolist() == [25, 0, 2 * 5.12**2]
    assert sphere.floor == 2 * 5.12**2


# -- functions as problems -----------------------------------------------------------------------------------------


def test_rows_that_fail_are_invalid_and_the_others_are_kept():
    def one(x):
        if x[0] < 0.2:
            raise KeyError("x")
        if x[0] < 0.4:
            return math.nan, (1, 1)
        if x[0] < 0.6:
            return 1.0, (1, math.inf)
        if x[0] < 0.8:
            return 1.0, (1, 1, 1)
        return x[0], (1, 1)

    problem = tl.problem(solutions=tl.Box(1), features=FEATURES)(one)
    evaluated = problem.evaluate([[0.1], [0.3], [0.5], [0.7], [0.9]])
    assert evaluated.valid.tolist() == [False, False, False, False, True]
    assert evaluated.fitness[4] == 0.9
    assert np.isnan(evaluated.fitness[:4]).all()
    assert np.isnan(evaluated.features[:4]).all()
    assert evaluated.reasons[0] == "exception: KeyError"
    assert evaluated.reasons[1] == "fitness is NaN or infinite"
    assert evaluated.reasons[2] == "a feature is NaN or infinite"
    assert evaluated.reasons[3].startswith("wrong shape: expected (fitness, features) of shapes () and (2,)")
    assert 'raise KeyError("x")' in evaluated.first_error
    assert evaluated.count_reasons().total() == 4


def test_a_vectorised_function_that_fails_is_called_row_by_row():
    calls = []

    def many(x):
        calls.append(len(x))
        if (x[:, 0] < 0.2).any():
            raise ValueError("too small")
        return x[:, 0], x[:, :2]

    problem = tl.problem(solutions=tl.Box(2), features=FEATURES, batch=True)(many)
    evaluated = problem.evaluate([[0.5, 0], [0.1, 0], [0.7, 1]])
    assert evaluated.valid.tolist() == [True, False, True]
    assert calls == [3, 1, 1, 1]
    assert evaluated.reasons == {1: "exception: ValueError"}
    assert "too small" in evaluated.first_error


@pytest.mark.parametrize(
    "result", [None, 1.0, (1.0,), (1.0, (1, 1), 2), ("a", (1, 1)), (1.0, ("a", "b")), ([1.0, 2.0], (1, 1)), (1.0, 1.0)]
)
def test_results_of_another_form(result):
    problem = tl.problem(solutions=tl.Box(2), features=FEATURES)(lambda x: result)
    evaluated = problem.evaluate([[0, 0], [1, 1]])
    assert not evaluated.valid.any()
    assert all(reason.startswith("wrong") for reason in evaluated.reasons.values())


def test_a_compiled_function_that_raises():
    @tl.problem(solutions=tl.Box(1), features={"a": (0, 1)})
    @numba.njit
    def risky(x):
        if x[0] < 0.5:
            raise ValueError("below one half")
        return x[0], (x[0],)

    evaluated = risky.evaluate([[0.9], [0.1], [0.6]])
    assert evaluated.valid.tolist() == [True, False, True]
    assert evaluated.reasons == {1: "exception in the compiled function"}
    assert "ValueError: below one half" in evaluated.first_error


def test_scenarios_reach_the_function():
    x = [[0.8, 0.5, 0.5]]
    assert [jump.evaluate(x, s).fitness[0] for s in (None, "ice", "sand")] == [0.8, 0.4, 0.2]
    assert [hop.evaluate(x, s).fitness[0] for s in (None, "ice", "sand")] == [0.8, 0.4, 0.8 / 3]


def test_a_problem_is_still_a_function():
    assert jump([1, 2, 3], None) == (1.0, (4, 3))
    assert hop(np.array([1.0, 2.0, 3.0]), -1) == (1.0, (4.0, 3.0))
    assert jump.__doc__ == "One solution at a time."
    with pytest.raises(TypeError, match=r"arm is built in; call its evaluate\(solutions\)"):
        tl.problems.arm(3)([0, 0, 0])


@pytest.mark.parametrize("wrap", [lambda f: f, numba.njit], ids=["plain", "compiled"])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"direction": "maximise"}, "direction: expected 'max' or 'min', got 'maximise'"),
        ({"scenarios": "ice"}, "scenarios: expected a list of different names, got 'ice'"),
        ({"scenarios": ["ice", "ice"]}, "scenarios: expected a list of different names"),
        ({"features": {"a": (1, 0)}}, "features: expected finite low < high"),
    ],
)
def test_wrong_settings_are_refused(options, message, wrap):
    def function(x):
        return x[0], (x[0], x[1])

    with pytest.raises(ValueError, match=message):
        tl.problem(**{"solutions": tl.Box(2), "features": FEATURES, **options})(wrap(function))


def test_other_wrong_uses_of_the_decorator():
    with pytest.raises(TypeError, match="expected a function to decorate, got 3"):
        tl.problem(solutions=tl.Box(2), features=FEATURES)(3)
    with pytest.raises(ValueError, match="a compiled function takes one solution at a time"):
        tl.problem(solutions=tl.Box(2), features=FEATURES, batch=True)(numba.njit(lambda x: (x[0], (x[0], x[1]))))


# -- names ---------------------------------------------------------------------------------------------------------


def test_built_in_names():
    assert problems.by_name("arm").solutions.width == 10
    assert problems.by_name("sphere:5").solutions.width == 5
    for built_in in problems.BUILT_IN:
        assert problems.by_name(built_in.name).name
        assert built_in.summary
        assert built_in.variants[0].partition(":")[0] == built_in.name
    released = problems.by_name("hexapod:amplitude,released=yes")
    assert released.released
    assert released.spec == "hexapod:amplitude,released=yes"
    assert released.descriptor == "amplitude"
    sticky = problems.by_name("maze:2d,opening=70.5,after_hit=stick,steps=2000")
    assert (sticky.steps, sticky.robot.after_hit) == (2000, "stick")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("leg", "there is no problem 'leg'; built in are arm, .*, yours is module:name"),
        ("", "there is no problem ''"),
        ("arm:many", "expected a whole number after arm:, got 'many'"),
        ("arm:1", "joints: expected at least 2, got 1"),
        ("sphere:0", "n: expected at least 2 variables, got 0"),
        ("hexapod:duty,released=maybe", "released: expected True or False, got 'maybe'"),
        ("hexapod:duty,missing=3", "expected engine=... or released=... or real=... after hexapod:, got 'missing=3'"),
        ("hexapod:duty,released", "expected engine=... or released=... or real=... after hexapod:, got 'released'"),
        ("no_such_module_here:jump", "there is no module 'no_such_module_here', neither installed nor in"),
        ("math:jump", "math has no 'jump'; problems in it: none"),
        ("math:pi", "math:pi is not a problem but of type float; decorate the function"),
    ],
)
def test_names_that_lead_nowhere(spec, message, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    with pytest.raises(ValueError, match=message):
        problems.by_name(spec)


def test_a_problem_in_the_current_folder(tmp_path, monkeypatch):
    (tmp_path / "my_jumps_for_the_test.py").write_text(
        "import tesselite as tl\n"
        "@tl.problem(solutions=tl.Box(2), features={'a': (0, 1)})\n"
        "def high(x):\n    return x[0], (x[1],)\n"
        "def make():\n    return high\n"
        "class Kept:\n    inner = high\n"
        "def plain(x):\n    return x\n"
    )
    (tmp_path / "broken_for_the_test.py").write_text("import no_such_module_either\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry != ""])
    high = problems.by_name("my_jumps_for_the_test:high")
    assert high.evaluate([[0.25, 0.5]]).fitness.tolist() == [0.25]
    assert problems.by_name("my_jumps_for_the_test:make") is high
    assert problems.by_name("my_jumps_for_the_test:Kept.inner") is high
    with pytest.raises(ValueError, match="has no 'low'; problems in it: high"):
        problems.by_name("my_jumps_for_the_test:low")
    with pytest.raises(ValueError, match=r"broken_for_the_test failed: ModuleNotFoundError: .*no_such_module_either"):
        problems.by_name("broken_for_the_test:high")
    with pytest.raises(ValueError, match="plain is not a problem but of type function; decorate the function"):
        problems.by_name("my_jumps_for_the_test:plain")
    del sys.modules["my_jumps_for_the_test"]
