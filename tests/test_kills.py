"""A run that is killed at each of its file events in turn can be started or resumed, and ends with the same bytes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

# Each try is a fork of one warm process: it kills itself at the n-th file event in its folder.
KILLING = """
import os, shutil, signal, sys, warnings
from pathlib import Path
from hill_runs import make
from tesselite.runs.run import resume, run

warnings.simplefilter("ignore")
home, how = Path(sys.argv[1]), {"evaluations": 300, "initial": 100, "batch_size": 100, "seed": 5, "threads": 1}
how |= {"n_niches": 20} if sys.argv[2] == "cvt" else {"grid": [4, 4]}
events = ("open", "os.rename", "os.remove", "os.mkdir", "os.chmod", "os.truncate")

def start(folder):
    run(make(), out=folder, checkpoint_seconds=0.0, **how)

def killed_at(n, folder):
    seen = [0]
    def count(event, args):
        if event in events and str(folder) in str(args[0]):
            seen[0] += 1
            if seen[0] == n:
                os.kill(os.getpid(), signal.SIGKILL)
    sys.addaudithook(count)
    start(folder)

start(home / "whole")
right = (home / "whole" / "archive.parquet").read_bytes()
n = 0
while True:
    n += 1
    folder = home / f"run{n}"
    child = os.fork()
    if not child:
        killed_at(n, folder)
        os._exit(0)
    if os.waitpid(child, 0)[1] == 0:
        break
    if (folder / "settings.json").exists():
        resume(folder, make(), threads=1)
    else:
        start(folder)
    assert (folder / "archive.parquet").read_bytes() == right, n
    left = {file.name for file in folder.iterdir() if file.name.startswith(".")}
    assert left <= {".lock"}, (n, left)
    shutil.rmtree(folder)
print(n)
"""


@pytest.mark.slow
@pytest.mark.parametrize("niches", ["grid", "cvt"])
def test_a_kill_at_any_file_event_loses_nothing(tmp_path, niches):
    done = subprocess.run(
        [sys.executable, "-c", KILLING, str(tmp_path), niches],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parent,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 30  # so many events were there
