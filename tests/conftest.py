"""Small finished runs that several test files share (one made for each file, copies for each test), and settings."""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

from hill_runs import make
from tesselite.runs.run import run

settings.register_profile("busy machines", deadline=None)  # how long an example takes is not what is tested
settings.load_profile("busy machines")

# What users agree to run is stored in their home; tests and their processes have one of their own.
os.environ["TESSELITE_DATA_DIR"] = tempfile.mkdtemp(prefix="tesselite-tests-")
atexit.register(shutil.rmtree, os.environ["TESSELITE_DATA_DIR"], ignore_errors=True)

# Background jobs of a shell ignore SIGINT, and so do their children. Tests send it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="module")
def grid_run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("grid") / "run"
    return run(make(), out=folder, evaluations=2000, grid=[6, 7], batch_size=50, initial=200, seed=5)


@pytest.fixture(scope="module")
def cvt_run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cvt") / "run"
    return run(make(), out=folder, evaluations=1000, n_niches=30, batch_size=50, initial=200, seed=5)


@pytest.fixture
def grid_folder(grid_run, tmp_path):
    return Path(shutil.copytree(grid_run.folder, tmp_path / "run"))


@pytest.fixture
def cvt_folder(cvt_run, tmp_path):
    return Path(shutil.copytree(cvt_run.folder, tmp_path / "cvt"))
