"""pyribs' own tests of archives, run on the archives of `tesselite.interop.pyribs`.

    python benchmarks/pyribs_tests.py FOLDER

FOLDER is `tests/archives` of pyribs' repository, which its packages on PyPI do not contain. Each test runs twice, in a
process of its own: on pyribs' archives and on ours. Tests of other archives (Categorical, SlidingBoundaries, Proximity)
are left out; a test that fails on pyribs' own archives belongs to another version of pyribs. Needs ribs, pytest, pandas
and python-box.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import types
from pathlib import Path
from typing import Any

OTHERS = (
    *("CategoricalArchive", "SlidingBoundariesArchive", "ProximityArchive"),
    *("test_unstructured_stats", "test_proximity"),
)
FILES = (
    *("archive_base", "grid_archive", "cvt_archive", "custom_fields", "archive_threshold_update"),
    *("k_means_centroids", "archive_data_frame", "cqd_score"),
)


def thresholds(indices: Any, objective: Any, threshold: Any, learning_rate: Any, dtype: Any) -> Any:
    """Our rule of annealing, called as pyribs' private function is."""
    import numpy as np

    from tesselite.interop.cell_archive import annealed

    if not len(indices):
        return np.empty(0, dtype)
    cells, first, group = np.unique(indices, return_index=True, return_inverse=True)
    new = annealed(threshold[first], objective, group, learning_rate, len(cells), np.arange(len(cells)))
    return new[group]


def put_ours_in_place() -> None:
    """Replace pyribs' archives by ours for the tests."""
    import ribs.archives

    from tesselite.interop import pyribs

    for name in ("GridArchive", "CVTArchive", "k_means_centroids"):
        setattr(ribs.archives, name, getattr(pyribs, name))
    pyribs.GridArchive._compute_thresholds = staticmethod(thresholds)  # type: ignore[attr-defined]


class Outcomes:
    """A plugin of pytest that leaves tests of other archives out, and notes how the others end."""

    def __init__(self) -> None:
        self.found: dict[str, str] = {}

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Keep the tests of grids and CVTs."""
        items[:] = [item for item in items if not any(other in item.nodeid for other in OTHERS)]

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Note a failure, or that a test passed."""
        name = report.nodeid.split("/")[-1]
        if report.failed:
            self.found[name] = "failed"
        elif report.when == "call":
            self.found.setdefault(name, report.outcome)


def run(folder: Path, ours: bool, out: Path) -> None:
    """Run all tests in this process and write their outcomes."""
    import pytest
    import ribs.archives

    if ours:
        put_ours_in_place()
    # Where older tests look for the function.
    elsewhere = types.ModuleType("ribs.archives._transforms")
    elsewhere._compute_thresholds = ribs.archives.GridArchive._compute_thresholds  # type: ignore[attr-defined]
    sys.modules[elsewhere.__name__] = elsewhere
    outcomes = Outcomes()
    files = [str(folder / f"{name}_test.py") for name in FILES if (folder / f"{name}_test.py").exists()]
    pytest.main(["-q", "--tb=line", "-p", "no:cacheprovider", *files], plugins=[outcomes])
    out.write_text(json.dumps(outcomes.found))


def main() -> None:
    """Compare the outcomes on pyribs' archives and on ours."""
    if len(sys.argv) > 2:
        run(Path(sys.argv[1]), sys.argv[2] == "ours", Path(sys.argv[3]))
        return
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} FOLDER (tests/archives of pyribs' repository)")
    found = {}
    with tempfile.TemporaryDirectory() as temporary:
        for whose in ("theirs", "ours"):
            out = Path(temporary) / whose
            subprocess.run([sys.executable, __file__, sys.argv[1], whose, str(out)], check=True)
            found[whose] = json.loads(out.read_text())
    functions = {name.split("[")[0] for name in found["ours"]}
    passed = [name for name, outcome in found["ours"].items() if outcome == "passed"]
    print(f"\n{len(functions)} functions, {len(found['ours'])} cases: {len(passed)} pass on ours")
    for name, outcome in found["ours"].items():
        if outcome != "passed":
            print(f"{name}: {outcome} on ours, {found['theirs'].get(name, 'not run')} on pyribs' own")


if __name__ == "__main__":
    main()
