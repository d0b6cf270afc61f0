"""Built-in problems, and the look-up of problems by name: `arm:12`, `hexapod:duty,released=yes`, or `my_module:jump`.

Each problem's module is imported when it is asked for.
"""

from __future__ import annotations

import importlib
import inspect
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from types import BuiltinFunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from tesselite.base.importing import importing, look_here, name_of
from tesselite.problems.problem import Problem

if TYPE_CHECKING:
    from tesselite.problems.archimedean_spiral import spiral
    from tesselite.problems.functions import rastrigin, sphere
    from tesselite.problems.hexapod_locomotion import hexapod
    from tesselite.problems.linear_projection import lp
    from tesselite.problems.maze_navigation import maze
    from tesselite.problems.maze_navigation.fixed_network import maze_weights
    from tesselite.problems.planar_arm import arm, arm_repertoire

__all__ = [
    "BUILT_IN",
    "arm",
    "arm_repertoire",
    "by_name",
    "hexapod",
    "lp",
    "maze",
    "maze_weights",
    "rastrigin",
    "sphere",
    "spiral",
]


@dataclass(frozen=True)
class BuiltIn:
    """A built-in problem: the function that makes it, the module it lives in, and how `tesselite problems` lists it.

    The first argument of the function follows the colon of a name (`arm:12`, `maze:20d`), its keywords that a word can
    say follow that (`hexapod:duty,released=yes`). `grouped` are keywords that take an object of a class of the same
    module: what that class takes is said one by one (`maze:20d,after_hit=stick`).
    """

    name: str
    home: str
    variants: tuple[str, ...]
    summary: str
    grouped: tuple[tuple[str, str], ...] = ()


# All that a new built-in problem needs, but for its name above, which type checkers and `__all__` ask for. Modules are
# named apart from functions: importing `problems.maze` would put a module in the function's place.
BUILT_IN = (
    BuiltIn(
        "arm",
        "planar_arm",
        ("arm", "arm:N"),
        "planar arm with N joints (10): x and y of the hand; equal angles are best",
    ),
    BuiltIn(
        "rastrigin",
        "functions",
        ("rastrigin", "rastrigin:N"),
        "Rastrigin's function of N variables (10), minimised",
    ),
    BuiltIn("sphere", "functions", ("sphere", "sphere:N"), "sum of squares of N variables (10), minimised"),
    BuiltIn(
        "lp",
        "linear_projection",
        tuple(f"lp:{f}{d}" for f in ("sphere", "rastrigin", "plateau", "flat") for d in ("", ",features=10")),
        "linear projection, the benchmark of CMA emitters: sums over blocks of 100 variables; 0 to 100, maximised",
    ),
    BuiltIn(
        "arm_repertoire",
        "planar_arm",
        ("arm_repertoire", "arm_repertoire:N"),
        "planar arm with N angles (100) without bounds: x and y of the hand; 100 (1 - variance), maximised",
    ),
    BuiltIn(
        "spiral",
        "archimedean_spiral",
        ("spiral:angle", "spiral:arc_length"),
        "one variable along an Archimedean spiral: x and y; all solutions are equally good",
    ),
    BuiltIn(
        "maze",
        "maze_navigation",
        ("maze", *(f"maze:{d}" for d in ("2d", "10d", "20d", "50d", "250d", "1000d"))),
        "the paper's maze: evolving networks drive a robot; positions along its path; distance to the goal, minimised",
        grouped=(("robot", "Robot"),),
    ),
    BuiltIn(
        "maze_weights",
        "maze_navigation.fixed_network",
        ("maze_weights:2d", "maze_weights:2d,hidden=N"),
        "the same maze driven by one network of fixed structure: solutions are its weights; distance, minimised",
    ),
    BuiltIn(
        "hexapod",
        "hexapod_locomotion",
        ("hexapod", *(f"hexapod:{d}" for d in ("duty", "phase", "amplitude", "amplitude-phase", "controller"))),
        "the paper's walking robot: how it uses its legs, or its controller's parameters; distance in 5 s, maximised",
    ),
)
_BUILT_IN = {problem.name: problem for problem in BUILT_IN}


def __getattr__(name: str) -> Any:
    if name not in _BUILT_IN:
        raise AttributeError(f"module 'tesselite.problems' has no attribute {name!r}")
    return getattr(_module_of(_BUILT_IN[name]), name)


def _module_of(problem: BuiltIn) -> ModuleType:
    return importlib.import_module(f"tesselite.problems.{problem.home}")


def by_name(spec: str) -> Problem:
    """The problem that a text names: a built-in one with an optional variant, or module:attribute.

    Settings may follow the variant of a built-in one, as in `hexapod:duty,released=yes`.
    A module is looked for in the current folder too. The attribute is a problem, or a function without arguments that
    returns one. Raises ValueError if there is no such problem.
    """
    found = _found(spec)
    found.spec = spec
    return found


def has_name(spec: str) -> bool:
    """Whether `by_name` may find it: a built-in problem or module:attribute, and not a bare name from some script."""
    return ":" in spec or spec in _BUILT_IN


def is_built_in(spec: str) -> bool:
    """Whether `by_name` finds it in this package."""
    return spec.partition(":")[0] in _BUILT_IN


def importable_name(problem: Problem) -> str | None:
    """The name by which `by_name` finds the problem in any process; None if it has none."""
    if problem.spec is not None:
        return problem.spec
    return name_of(problem, getattr(getattr(problem, "function", None), "__module__", ""), problem.name)


def _found(spec: str) -> Problem:
    name, _, variant = spec.partition(":")
    if name in _BUILT_IN:
        return _built_in(_BUILT_IN[name], variant)
    if not variant:
        known = ", ".join(_BUILT_IN)
        yours = _module_instead(spec, "NAME") if _is_path(spec) else "yours is module:name"
        raise ValueError(f"problem: there is no problem {spec!r}; built in are {known}, {yours}")
    return _imported(spec, name, variant)


def _built_in(problem: BuiltIn, variant: str) -> Problem:
    """The built-in problem of a variant with settings: `12`, or `20d,layout=round,after_hit=stick`."""
    name, module = problem.name, _module_of(problem)
    make = getattr(module, name)
    parameters = list(inspect.signature(make).parameters.values())
    # What a word can say: other settings that are objects of their own need Python.
    known = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY and isinstance(p.default, str | float | int)]
    groups = {keyword: getattr(module, kind) for keyword, kind in problem.grouped}
    known += [field.name for kind in groups.values() for field in fields(kind)]
    first, *settings = variant.split(",") if known else [variant]
    given: dict[str, Any] = {}
    for setting in settings:
        key, _, word = setting.partition("=")
        if key not in known or not word:
            raise ValueError(
                f"problem: expected {' or '.join(f'{k}=...' for k in known)} after {name}:, got {setting!r}"
            )
        given[key] = _value(word)
    for keyword, kind in groups.items():
        if inner := {field.name: given.pop(field.name) for field in fields(kind) if field.name in given}:
            given[keyword] = kind(**inner)
    if not first:
        return make(**given)
    if not isinstance(parameters[0].default, int):
        return make(first, **given)
    if not first.lstrip("-").isdecimal():
        raise ValueError(f"problem: expected a whole number after {name}:, got {first!r}")
    return make(int(first), **given)


def _value(word: str) -> str | float | bool:
    if word in ("yes", "no"):
        return word == "yes"
    try:
        number = float(word)
    except ValueError:
        return word
    return int(number) if number.is_integer() else number


def _failed(doing: str, error: Exception | SystemExit) -> ValueError:
    """What went wrong in the user's module, and where, in one line."""
    frames = traceback.extract_tb(error.__traceback__)
    package = Path(__file__).parents[1]
    at = [frame for frame in frames if not Path(frame.filename).is_relative_to(package)][-1]
    where = f" ({at.filename}, line {at.lineno})"
    if isinstance(error, SyntaxError):  # contains the place itself
        where = ""
    return ValueError(f"problem: {doing} failed: {type(error).__name__}: {error}{where}")


def _takes_nothing(function: Callable[..., Any]) -> bool:
    """Whether the function can be called without arguments; an undecorated objective cannot."""
    try:
        inspect.signature(function).bind()
    except (TypeError, ValueError):
        return False
    return True


def _is_path(text: str) -> bool:
    """Whether this is the name of a file, not of a module."""
    return not text or text.startswith(".") or text.endswith(".py") or "/" in text or "\\" in text


def _module_instead(text: str, attribute: str) -> str:
    """What to pass instead of a file's name."""
    with suppress(ValueError, OSError):
        file = Path(text).resolve()
        if file.suffix == ".py" and file.is_relative_to(Path.cwd()):
            return f"say {'.'.join(file.relative_to(Path.cwd()).with_suffix('').parts)}:{attribute}"
        if file.suffix == ".py":
            return f"say {file.stem}:{attribute} in the folder {file.parent}"
    return f"say MODULE:{attribute}, for a module that `import` finds"


def _imported(spec: str, module_name: str, attribute: str) -> Problem:
    if _is_path(module_name):
        raise ValueError(f"problem: expected a module, got {module_name!r}; {_module_instead(module_name, attribute)}")
    here = look_here()
    try:
        with importing(module_name):
            module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name and (module_name == error.name or module_name.startswith(error.name + ".")):
            raise ValueError(f"problem: there is no module {module_name!r}, neither installed nor in {here}") from None
        raise _failed(f"importing {module_name}", error) from error
    except (Exception, SystemExit) as error:
        raise _failed(f"importing {module_name}", error) from error
    found: Any = module
    for part in attribute.split("."):
        if not hasattr(found, part):
            problems = [name for name, value in vars(module).items() if isinstance(value, Problem)]
            raise ValueError(
                f"problem: {module_name} has no {attribute!r}; problems in it: {', '.join(problems) or 'none'}"
            )
        found = getattr(found, part)
    if not isinstance(found, Problem | BuiltinFunctionType) and callable(found) and _takes_nothing(found):
        try:
            with importing(spec):
                made = found()
        except (Exception, SystemExit) as error:
            raise _failed(f"calling {spec}()", error) from error
        if isinstance(made, Problem):
            return made
    if not isinstance(found, Problem):
        raise ValueError(
            f"problem: {spec} is not a problem but of type {type(found).__name__}; "
            "decorate the function with @tesselite.problem"
        )
    return found
