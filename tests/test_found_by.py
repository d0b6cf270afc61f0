"""Which of several emitters found an elite: in the state of a search, in plots and on the page."""

from __future__ import annotations

import numpy as np
import pytest

import tesselite as tl
from tesselite.emitters.names import by_name, parts_of
from tesselite.report.page.run_data import read_run
from tesselite.search.map_elites import found_by

MIXTURE = "mixture:0.7@gaussian:0.1+0.3@iso_line:0.01,0.2"
BANDIT = "bandit:gaussian:0.1+gaussian:0.01"


@pytest.mark.parametrize("text", [MIXTURE, BANDIT])
def test_every_elite_is_said_to_be_found_by_the_emitter_that_gave_it(text, tmp_path):
    """Against a plain list of who gave which evaluation, through batches of different sizes and a resume."""
    problem = tl.problems.sphere(3)
    niches = tl.GridTessellation(problem.features, 10)

    def new():
        return tl.MapElites(problem.solutions, niches, emitter=by_name(text), initial=7, direction="min", seed=1)

    search, gave = new(), []
    for n in [7, 10, 10, 10, 3, 10, 25, 25, *[4] * 30]:
        if n == 25:
            search.save(tmp_path / "search.parquet")
            search = new()
            search.restore(tmp_path / "search.parquet")
        search.ask(n)
        search.take_back()  # asked again, as after Ctrl-C
        counts = search.emitter.split(n) if len(gave) >= 7 else [0, 0]
        gave += [1] * counts[0] + [2] * counts[1] or [0] * n
        search.tell_evaluation(problem.evaluate(search.ask(n)))
    names, of = found_by(str(search.emitter), search.state(), search.archive.elites().evaluations)
    assert of.tolist() == [gave[i] for i in search.archive.elites().evaluations]
    assert set(of) >= {1, 2}
    assert names[0] == "random"
    every = found_by(str(search.emitter), search.state(), np.arange(len(gave)))
    assert every is not None
    assert every[1].tolist() == gave


def test_names_of_emitters_are_short_where_they_can_be():
    assert parts_of(MIXTURE) == ["gaussian", "iso_line"]
    assert parts_of(BANDIT) == ["gaussian:0.1", "gaussian:0.01"]
    assert parts_of("cma_mae:cm=0.3") == []


def test_runs_of_several_emitters_show_who_found_what(tmp_path):
    problem, run = tl.problems.sphere(3), tmp_path / "run"
    options = {"grid": 10, "evaluations": 2000, "batch_size": 50, "seed": 1}
    made = tl.run(problem, emitter=by_name(MIXTURE), out=run, **options)
    for source in (made, run):
        ax = tl.plots.emitters(source)
        assert [text.get_text() for text in ax.get_legend().get_texts()] == ["random", "gaussian", "iso_line"]
    data = read_run(run)
    assert found_by(data.plan.emitter, data.search, np.array([0, 1000, 1049]))[1].tolist() == [0, 1, 2]
    alone = tl.run(problem, **options)
    with pytest.raises(ValueError, match="source: expected a run with several emitters"):
        tl.plots.emitters(alone)
