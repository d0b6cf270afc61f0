"""tesselite: CVT-MAP-Elites, thousands of solutions, each the best of its kind.

The names below are the public surface. They are imported when first used, so that importing the package is cheap.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from tesselite import problems, variation
    from tesselite.archive import Added, Archive, Elite, Elites, Status
    from tesselite.assessment.metrics import measure, project, spread
    from tesselite.assessment.scenarios import Assessment, assess
    from tesselite.evaluation import Evaluation, Problem
    from tesselite.fast_math import sincos
    from tesselite.feature_space import FeatureSpace, Scale
    from tesselite.function_problem import problem
    from tesselite.run import resume
    from tesselite.search import MapElites, NothingValid, illuminate
    from tesselite.solution_space import Box, Levels, SolutionSpace
    from tesselite.tessellation.cvt import cvt
    from tesselite.tessellation.grid import GridTessellation
    from tesselite.tessellation.voronoi import VoronoiTessellation

_HOME = {
    "Added": "archive",
    "Archive": "archive",
    "Assessment": "assessment.scenarios",
    "Box": "solution_space",
    "Elite": "archive",
    "Elites": "archive",
    "Evaluation": "evaluation",
    "FeatureSpace": "feature_space",
    "GridTessellation": "tessellation.grid",
    "Levels": "solution_space",
    "MapElites": "search",
    "NothingValid": "search",
    "Problem": "evaluation",
    "Scale": "feature_space",
    "SolutionSpace": "solution_space",
    "Status": "archive",
    "VoronoiTessellation": "tessellation.voronoi",
    "assess": "assessment.scenarios",
    "cvt": "tessellation.cvt",
    "illuminate": "search",
    "measure": "assessment.metrics",
    "problem": "function_problem",
    "problems": "problems",
    "project": "assessment.metrics",
    "resume": "run",
    "sincos": "fast_math",
    "spread": "assessment.metrics",
    "variation": "variation",
}

__all__ = [
    "Added",
    "Archive",
    "Assessment",
    "Box",
    "Elite",
    "Elites",
    "Evaluation",
    "FeatureSpace",
    "GridTessellation",
    "Levels",
    "MapElites",
    "NothingValid",
    "Problem",
    "Scale",
    "SolutionSpace",
    "Status",
    "VoronoiTessellation",
    "assess",
    "cvt",
    "illuminate",
    "measure",
    "problem",
    "problems",
    "project",
    "resume",
    "sincos",
    "spread",
    "variation",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'tesselite' has no attribute {name!r}")
    module = importlib.import_module(f"tesselite.{_HOME[name]}")
    value = module if _HOME[name] == name else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
