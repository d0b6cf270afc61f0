"""In notebooks and from Python: what shows itself, progress by default, and Ctrl-C that returns what was found."""

from __future__ import annotations

import os
import signal
import sys
from types import SimpleNamespace

import pytest

import tesselite as tl
from report_runs import walk
from tesselite.cli.app import app
from tesselite.report.page import write_report
from tesselite.runs import display


@pytest.fixture(scope="module")
def run():
    return tl.run(walk(), grid=4, evaluations=300, initial=200, seed=1)


def test_archives_and_runs_show_themselves(run):
    text = run.archive._repr_html_()
    assert f"{len(run.archive)} of 16 niches" in text
    assert "data:image/png;base64,iVBOR" in text
    assert "300 of 300" in run._repr_html_()
    assert repr(run) == f"Run(walk, 300 of 300 evaluations, {run.archive!r})"
    empty = tl.Archive(tl.GridTessellation(tl.FeatureSpace({"<b>": (0, 1)}), 2), 1)
    assert "&lt;b&gt;" in empty._repr_html_()
    assert "<img" not in empty._repr_html_()


def test_show_opens_a_page_in_a_browser_or_below_the_cell(run, monkeypatch):
    opened, shown = [], []
    monkeypatch.setattr("webbrowser.open", opened.append)
    file = run.archive.show(walk())
    assert opened == [file.as_uri()]
    assert "{{" not in file.read_text()[:5000]
    ipython = SimpleNamespace(
        get_ipython=lambda: SimpleNamespace(kernel=1), display=SimpleNamespace(display=shown.append, HTML=str)
    )
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    assert run.archive.show() is None
    assert shown[0].startswith("<iframe")


def test_the_commands_take_a_saved_archive(run, tmp_path):
    from typer.testing import CliRunner

    run.archive.save(tmp_path / "walks.parquet")
    result = CliRunner().invoke(app, ["report", str(tmp_path / "walks.parquet")])
    assert result.exit_code == 0, result.output
    assert (tmp_path / "walks.html").stat().st_size > 1e5
    with pytest.raises(ValueError, match="runs: expected folders of runs to compare, got the file"):
        write_report([tmp_path / "walks.parquet", tmp_path], tmp_path / "x.html")


def test_progress_is_shown_where_somebody_looks(monkeypatch, capsys):
    with display.shown_from_python(None) as (called, shown):
        assert (called, shown) == (None, None)  # neither a terminal nor a notebook
    with display.shown_from_python(print) as (called, shown):
        assert (called, shown) == (print, None)
    with display.shown_from_python(True) as (called, shown):
        assert called is None
        shown.searching(SimpleNamespace(budget=5, evaluations=5, archive=tl.Archive(NICHES, 1), search=SEARCH), 5)
    assert capsys.readouterr().err.startswith("5 of 5 evaluations")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with display.shown_from_python(False) as (called, shown):
        assert (called, shown) == (None, None)


NICHES = tl.GridTessellation(tl.FeatureSpace.unit(2), 2)
SEARCH = SimpleNamespace(changes=[])


def test_ctrl_c_returns_what_was_found_so_far(capfd):
    calls = []

    @tl.problem(solutions=tl.Box(2, 0, 1), features={"a": (0, 1)})
    def slow(x):
        calls.append(1)
        if len(calls) == 250:
            os.kill(os.getpid(), signal.SIGINT)
        return x[0], (x[1],)

    before = signal.getsignal(signal.SIGINT)
    run = tl.run(slow, n_niches=10, evaluations=10_000, initial=100, batch_size=100, seed=1)
    assert signal.getsignal(signal.SIGINT) is before
    assert run.was_interrupted
    assert run.evaluations == 300  # the batch is finished
    assert len(run.archive) > 0
    assert "stopped by Ctrl-C after 300 of 10,000 evaluations" in capfd.readouterr().err


def test_a_compiled_search_returns_on_ctrl_c_as_well():
    def stop(run):
        if not called:
            os.kill(os.getpid(), signal.SIGINT)
        called.append(run.evaluations)

    called = []
    run = tl.run(tl.problems.sphere(5), grid=10, evaluations=20_000_000, seed=1, progress=stop)
    assert run.was_interrupted
    assert called[0] < run.evaluations < 20_000_000
