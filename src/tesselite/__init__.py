"""tesselite: CVT-MAP-Elites, thousands of solutions, each the best of its kind.

The names below are the public surface. They are imported when first used, so that importing the package is cheap.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from tesselite import emitters, interop, problems
    from tesselite.archive.archive import Archive
    from tesselite.archive.elites import Added, Elite, Elites, Status
    from tesselite.archive.evaluation import Evaluation, Invalid
    from tesselite.archive.history import load_history
    from tesselite.assessment.metrics import measure, project, spread
    from tesselite.assessment.scenarios import Assessment, assess
    from tesselite.base.seeds import evaluation_seeds
    from tesselite.compiled.blocks import lookup
    from tesselite.compiled.fast_math import sincos
    from tesselite.emitters import operators as variation
    from tesselite.problems.problem import Problem
    from tesselite.problems.user_function import problem
    from tesselite.report import plots
    from tesselite.report.page import write_report
    from tesselite.report.run_figures import plot_run
    from tesselite.runs.carry_on import Run
    from tesselite.runs.run import illuminate, resume, run
    from tesselite.search.map_elites import MapElites, NothingValid
    from tesselite.spaces.axes import Labels, Periodic
    from tesselite.spaces.features import FeatureSpace, Scale
    from tesselite.spaces.mixed import Categorical, Integers, Permutation, Product
    from tesselite.spaces.solutions import Box, Levels, Reals, SolutionSpace
    from tesselite.spaces.texts import Texts
    from tesselite.tessellation.cvt import cvt
    from tesselite.tessellation.grid import GridTessellation
    from tesselite.tessellation.growing import adaptive, cluster_elites, expanding
    from tesselite.tessellation.population import dns, nslc, rts
    from tesselite.tessellation.protocol import Tessellation
    from tesselite.tessellation.voronoi import VoronoiTessellation

_NAMES = {
    "archive.archive": ["Archive"],
    "archive.elites": ["Added", "Elite", "Elites", "Status"],
    "archive.evaluation": ["Evaluation", "Invalid"],
    "archive.history": ["load_history"],
    "assessment.metrics": ["measure", "project", "spread"],
    "assessment.scenarios": ["Assessment", "assess"],
    "base.seeds": ["evaluation_seeds"],
    "compiled.blocks": ["lookup"],
    "compiled.fast_math": ["sincos"],
    "emitters": ["emitters"],
    "emitters.operators": ["variation"],
    "interop": ["interop"],
    "problems": ["problems"],
    "problems.problem": ["Problem"],
    "problems.user_function": ["problem"],
    "report.page": ["write_report"],
    "report.plots": ["plots"],
    "report.run_figures": ["plot_run"],
    "runs.carry_on": ["Run"],
    "runs.run": ["illuminate", "resume", "run"],
    "search.map_elites": ["MapElites", "NothingValid"],
    "spaces.axes": ["Labels", "Periodic"],
    "spaces.features": ["FeatureSpace", "Scale"],
    "spaces.mixed": ["Categorical", "Integers", "Permutation", "Product"],
    "spaces.solutions": ["Box", "Levels", "Reals", "SolutionSpace"],
    "spaces.texts": ["Texts"],
    "tessellation.cvt": ["cvt"],
    "tessellation.grid": ["GridTessellation"],
    "tessellation.growing": ["adaptive", "cluster_elites", "expanding"],
    "tessellation.population": ["dns", "nslc", "rts"],
    "tessellation.protocol": ["Tessellation"],
    "tessellation.voronoi": ["VoronoiTessellation"],
}
_HOME = {name: module for module, names in _NAMES.items() for name in names}

_MODULES = {"emitters", "interop", "plots", "problems", "variation"}

__all__ = [
    "Added",
    "Archive",
    "Assessment",
    "Box",
    "Categorical",
    "Elite",
    "Elites",
    "Evaluation",
    "FeatureSpace",
    "GridTessellation",
    "Integers",
    "Invalid",
    "Labels",
    "Levels",
    "MapElites",
    "NothingValid",
    "Periodic",
    "Permutation",
    "Problem",
    "Product",
    "Reals",
    "Run",
    "Scale",
    "SolutionSpace",
    "Status",
    "Tessellation",
    "Texts",
    "VoronoiTessellation",
    "adaptive",
    "assess",
    "cluster_elites",
    "cvt",
    "dns",
    "emitters",
    "evaluation_seeds",
    "expanding",
    "illuminate",
    "interop",
    "load_history",
    "lookup",
    "measure",
    "nslc",
    "plot_run",
    "plots",
    "problem",
    "problems",
    "project",
    "resume",
    "rts",
    "run",
    "sincos",
    "spread",
    "variation",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'tesselite' has no attribute {name!r}")
    module = importlib.import_module(f"tesselite.{_HOME[name]}")
    value = module if name in _MODULES else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
