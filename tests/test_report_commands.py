"""The commands `report`, `watch` and `run --report`, as a user types them."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request

import pytest

from report_runs import bowl_run
from tesselite.cli import main


def tesselite(*arguments, cwd):
    command = [sys.executable, "-m", "tesselite", *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=300, check=False)


def test_report_and_run_with_report(tmp_path):
    done = tesselite(
        *("run", "sphere:3", "--grid", "8", "--evaluations", "2000", "--seed", "1", "-o", "run"),
        *("--report", "--json", "--quiet"),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["report"] == "run/report.html"
    assert (tmp_path / "run" / "report.html").stat().st_size > 1e6
    done = tesselite("report", "run", "-o", "pages/one.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("report: pages/one.html (")
    same = (tmp_path / "pages" / "one.html").read_bytes() == (tmp_path / "run" / "report.html").read_bytes()
    assert same


def test_mistakes_end_in_one_line(tmp_path):
    done = tesselite("report", "nowhere", cwd=tmp_path)
    assert done.returncode == 2
    assert "not a run" in done.stderr
    assert done.stderr.count("\n") == 1
    (tmp_path / "file").write_text("x")
    done = tesselite("watch", "file", cwd=tmp_path)
    assert done.returncode == 2
    assert "found a file" in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("run", "sphere:3", "--grid", "3", "--evaluations", "10", "-o", "run", "--report"),
        ("watch", "run", "--port", "0"),
        ("report", "run"),
    ],
    ids=lambda words: words[0],
)
def test_without_plotly_no_work_is_done_for_a_page(tmp_path, monkeypatch, capsys, words):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tesselite.report.page.html.importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr("tesselite.report.live.LiveServer.serve_forever", lambda self, poll_interval: None)
    monkeypatch.setattr(sys, "argv", ["tesselite", *words])
    with pytest.raises(SystemExit, match="2"):
        main()
    assert (
        capsys.readouterr().err
        == "Error: the interactive page needs Plotly: pip install plotly (or, in a clone: pip install '.[report]')\n"
    )
    assert not (tmp_path / "run").exists()


def test_watch_serves_until_it_is_stopped(tmp_path):
    folder = bowl_run(tmp_path / "run", 2)
    command = [sys.executable, "-m", "tesselite", "watch", str(folder), "--port", "0"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as watch:
        try:
            url = re.search(r"http://127\.0\.0\.1:\d+/", watch.stdout.readline())[0]
            with urllib.request.urlopen(url, timeout=120) as answer:
                assert b"tesselite" in answer.read()
        finally:
            watch.send_signal(signal.SIGINT)
            watch.wait(timeout=60)
        assert watch.returncode == 0
        assert watch.stdout.read().strip() == "stopped"


def test_watch_says_when_there_is_no_run_yet(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("tesselite.report.live.LiveServer.serve_forever", lambda self, poll_interval: None)
    monkeypatch.setattr(sys, "argv", ["tesselite", "watch", str(tmp_path / "later"), "--port", "0"])
    with pytest.raises(SystemExit, match="0"):
        main()
    assert "there is no run in this folder yet" in capsys.readouterr().err
