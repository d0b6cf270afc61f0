"""The interactive page in a real browser: users' actions work, without messages and offline."""

from __future__ import annotations

import csv
import io
import re
import time

import numpy as np
import pytest

import tesselite as tl
from report_runs import EVIL, bowl_run, named_walk, walk, walk_run
from tesselite.archive.archive import Archive
from tesselite.report.page import write_report

LOAD_SECONDS = 3.0


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        from pathlib import Path

        patch.syspath_prepend(Path(__file__).parent.parent)
        folder = tmp_path_factory.mktemp("runs")
        walk_run(folder / "walk")
        bowl_run(folder / "bowl", 6)
        write_report([folder / "walk"], folder / "walk.html")
        write_report([folder / "bowl"], folder / "bowl.html")
        yield folder


@pytest.fixture
def walk_page(browser, runs):
    browser.size(1366, 768)
    browser.open(runs / "walk.html")
    yield browser
    assert browser.complaints() == []
    assert browser.requests() == [(runs / "walk.html").resolve().as_uri()]


@pytest.fixture
def bowl_page(browser, runs):
    browser.size(1366, 768)
    browser.open(runs / "bowl.html")
    yield browser
    assert browser.complaints() == []
    assert len(browser.requests()) == 1


def elites_of(runs, name):
    return Archive.load(runs / name / "archive.parquet").elites()


def says(text, value):
    """Whether one of the numbers in a text is this, to three digits at least."""
    found = re.findall(r"-?\d[\d,]*\.?\d*(?:e-?\d+)?", text)
    return any(abs(float(number.replace(",", "")) - value) <= 5e-4 * abs(value) for number in found)


def locate(page, row, plot="map"):
    return page.value(f"Page.{plot}.locate({row})")


def test_it_says_what_the_run_is(walk_page, runs):
    archive = Archive.load(runs / "walk" / "archive.parquet")
    assert walk_page.text("title") == "report_runs:walk"
    assert walk_page.text("state") == "finished"
    assert says(walk_page.value("document.getElementById('figures').innerText"), archive.best_fitness)
    assert "3,000" in walk_page.text("figures")
    assert walk_page.text("command").startswith("tesselite run report_runs:walk --niches 150")
    assert int(walk_page.value("document.querySelectorAll('#progress .main-svg').length")) >= 3


def test_hovering_says_what_is_there(walk_page, runs):
    elites = elites_of(runs, "walk")
    for row in (0, len(elites) // 2, len(elites) - 1):
        walk_page.pointer(*locate(walk_page, row))
        walk_page.wait("!document.getElementById('tip').hidden")
        said = walk_page.value("document.getElementById('tip').innerText")
        assert f"Niche {elites.niches[row]}" in said
        assert says(said, elites.fitness[row])
        assert "x 0." in said
    walk_page.pointer(5, 5)
    walk_page.wait("document.getElementById('tip').hidden")


def test_every_elite_on_the_map_is_in_its_own_niche(walk_page, runs):
    """What the pointer finds at the middle of an elite's pixels is that elite, for cells that hold their middle."""
    elites = elites_of(runs, "walk")
    picture = walk_page.value(
        "Page.run.archive.niches.length === Page.run.n && Array.from(Page.run.archive.niches).every("
        "(niche, row) => Page.run.row_of(niche) === row)"
    )
    assert picture is True
    wrong = 0
    for row in range(0, len(elites), 10):
        walk_page.pointer(*locate(walk_page, row))
        wrong += f"Niche {elites.niches[row]}" not in walk_page.text("tip")
    assert wrong == 0


def test_clicking_an_elite_shows_it(walk_page, runs):
    elites = elites_of(runs, "walk")
    row = 7
    walk_page.pointer(*locate(walk_page, row), click=True)
    walk_page.wait(f"Page.row === {row}")
    assert walk_page.text("elite-title") == f"Elite of niche {elites.niches[row]}"
    assert says(walk_page.value("document.getElementById('elite-numbers').innerText"), elites.fitness[row])
    walk_page.wait("document.getElementById('view').dataset.frame === '20'")
    assert "Solution (3 values)" in walk_page.text("elite-solution")
    assert f"{elites.solutions[row][0]:.4g}".rstrip("0") in walk_page.text("elite-solution")
    drawn = walk_page.value(
        "document.getElementById('view').getContext('2d').getImageData(0, 0, 300, 300).data.some(v => v)"
    )
    assert drawn is True


def test_arrow_keys_walk_over_the_map(walk_page, runs):
    walk_page.run("document.getElementById('map').focus()")
    first = walk_page.value("Page.row")
    assert first == int(np.argmin(elites_of(runs, "walk").fitness))
    walk_page.key("ARROW_LEFT")
    walk_page.wait(f"Page.row !== {first}")
    x = elites_of(runs, "walk").features[:, 0]
    assert x[walk_page.value("Page.row")] < x[first]


def test_an_elite_is_played(walk_page):
    walk_page.click("elite-best")
    walk_page.wait("!document.getElementById('player').hidden")
    assert walk_page.value("document.getElementById('view').dataset.frame") == "20"
    walk_page.click("play")
    assert walk_page.text("play") == "Pause"
    walk_page.wait(
        "+document.getElementById('view').dataset.frame > 0 && +document.getElementById('view').dataset.frame < 20"
    )
    walk_page.wait("document.getElementById('play').textContent === 'Play'")
    assert walk_page.value("document.getElementById('view').dataset.frame") == "20"
    walk_page.slide("frame", 4)
    assert walk_page.text("frame-time") == "step 20"


def test_another_scenario_changes_the_view_and_the_colours(walk_page, runs):
    elites = elites_of(runs, "walk")
    walk_page.click("elite-best")
    best = int(np.argmin(elites.fitness))
    walk_page.choose("scenario", "ice")
    expected = walk().evaluate(elites.solutions[best], "ice").fitness[0]
    walk_page.wait("document.getElementById('elite-numbers').textContent.includes('in ice')")
    assert says(walk_page.value("document.getElementById('elite-numbers').innerText"), expected)
    assert walk_page.value("Page.colour") == "scenario 0"
    walk_page.choose("scenario", "night")
    assert "invalid" in walk_page.text("elite-scenarios") or "night" in walk_page.text("elite-scenarios")
    walk_page.choose("scenario", "")
    assert walk_page.value("Page.colour") == "fitness"


def test_the_best_is_that_of_the_scenario_and_the_filter(walk_page, runs):
    elites = elites_of(runs, "walk")
    night = walk().evaluate(elites.solutions, "night").fitness
    walk_page.choose("scenario", "night")
    assert walk_page.text("elite-best") == "Show the best in night"
    walk_page.click("elite-best")
    assert walk_page.value("Page.row") == int(np.nanargmin(night))
    walk_page.slide("filter-low", 400)
    low = walk_page.value("Page.run.range[0]")
    walk_page.click("elite-best")
    assert walk_page.value("Page.row") == int(np.nanargmin(np.where(elites.fitness >= low, night, np.nan)))
    walk_page.choose("scenario", "")
    walk_page.click("elite-best")
    assert walk_page.value("Page.row") == int(np.argmin(np.where(elites.fitness >= low, elites.fitness, np.inf)))


def test_a_scenario_is_drawn_without_the_elite_and_its_best_is_offered(walk_page):
    walk_page.choose("scenario", "ice")
    kept = walk_page.value("Array.from(Page.run.views[1].rows)")
    row = next(row for row in range(walk_page.value("Page.run.n")) if row not in kept)
    walk_page.run(f"Page.select({row})")
    walk_page.wait("!document.getElementById('view-note').hidden")
    assert "The scenario (ice) without the elite" in walk_page.text("view-note")
    assert walk_page.value("document.getElementById('view').hidden") is False
    soft = str(walk_page.value("Page.css('--soft')")).lstrip("#")
    wall = [int(soft[i : i + 2], 16) for i in (0, 2, 4)]
    painted = walk_page.value(
        "(() => { const c = document.getElementById('view'); const d = c.getContext('2d')"
        ".getImageData(0, c.height >> 1, c.width, 1).data;"
        "return Array.from({ length: c.width }, (_, i) => Array.from(d.subarray(4 * i, 4 * i + 3))) })()"
    )
    assert wall in painted
    assert walk_page.text("view-best") == "Show the best in ice"
    walk_page.click("view-best")
    walk_page.wait("document.getElementById('view-note').hidden")
    assert walk_page.value("Page.row") == walk_page.value("Page.run.best()") in kept
    assert walk_page.value("document.getElementById('view-best').hidden") is True


def test_colours_follow_the_choice(walk_page):
    sample = "document.getElementById('map').toDataURL()"
    seen = set()
    for key in ("fitness", "age", "feature 0", "feature 1", "scenario 0"):
        walk_page.choose("colour-by", key)
        seen.add(walk_page.value(sample))
    assert len(seen) == 5


def test_filter_and_download(walk_page, runs):
    elites = elites_of(runs, "walk")
    walk_page.slide("filter-high", 400)
    low, high = elites.fitness.min(), elites.fitness.max()
    kept = elites.fitness <= low + 0.4 * (high - low)
    assert walk_page.text("selected-count") == str(kept.sum())
    for old in walk_page.downloads.glob("*"):
        old.unlink()
    walk_page.click("download")
    end = time.monotonic() + 60
    while not list(walk_page.downloads.glob("*.csv")):
        assert time.monotonic() < end
        time.sleep(0.1)
    rows = list(csv.DictReader(io.StringIO(next(walk_page.downloads.glob("*.csv")).read_text())))
    assert [int(row["niche"]) for row in rows] == elites.niches[kept].tolist()
    # All digits: what is downloaded is what was found.
    assert [float(row["fitness"]) for row in rows] == elites.fitness[kept].tolist()
    assert [[float(row[f"x{j}"]) for j in range(3)] for row in rows] == elites.solutions[kept].tolist()
    walk_page.click("filter-reset")
    assert walk_page.text("selected-count") == str(len(elites))


def test_zoom(walk_page):
    before = walk_page.value("Page.map.locate(3)")
    walk_page.click("zoom-in")
    assert walk_page.value("Page.map.locate(3)") != before
    walk_page.click("zoom-all")
    walk_page.run("window.scrollTo(0, 0)")
    assert walk_page.value("Page.map.locate(3)") == pytest.approx(before)


def test_more_features_are_linked_views(bowl_page, runs):
    elites = elites_of(runs, "bowl")
    assert bowl_page.value("document.getElementById('axes-card').hidden") is False
    assert bowl_page.value("document.getElementById('axes').dataset.painted") == str(len(elites))
    row = 11
    x, y = locate(bowl_page, row, "scatter")
    bowl_page.pointer(x, y, click=True)
    bowl_page.wait("Page.row >= 0")
    chosen = bowl_page.value("Page.row")
    assert chosen == row or np.hypot(*np.subtract(locate(bowl_page, chosen, "scatter"), (x, y))) < 2
    # Without a drawing the solution is shown as bars.
    assert bowl_page.value("document.getElementById('elite-solution').open") is True
    # Dragging along the first axis keeps the elites that pass there, in all views.
    bowl_page.run("document.getElementById('axes').scrollIntoView()")
    left, top, height = bowl_page.value(
        "(() => { const b = document.getElementById('axes').getBoundingClientRect();"
        "return [b.left + 40, b.top + 18, b.height - 56] })()"
    )
    bowl_page.drag((left, top), (left, top + height / 2))
    bowl_page.wait("Page.run.n_selected < Page.run.n")
    low, high = bowl_page.value("Page.run.brushes.get('feature 0')")
    assert high == pytest.approx(1.0, abs=0.02)
    unit = elites.features[:, 0]
    assert abs(bowl_page.value("Page.run.n_selected") - ((unit >= low) & (unit <= high)).sum()) <= 1
    bowl_page.choose("scatter-x", "feature 2")
    bowl_page.choose("scatter-y", "fitness")
    bowl_page.click("filter-reset")
    assert bowl_page.value("Page.run.n_selected") == len(elites)


def test_what_is_found_later_is_not_masked(bowl_page):
    """As `tesselite watch` updates the page: a thumb at its end is not a bound, and another run starts afresh."""
    bowl_page.slide("filter-low", 500)
    best, low = bowl_page.value("Page.run.best()"), bowl_page.value("Page.run.range[0]")
    bowl_page.run(f"Page.document.runs[0].archive.fitness[{best}] += 1; Page.select(3); return Page.show()")
    assert bowl_page.value(f"Page.run.mask[{best}]") == 1
    assert bowl_page.value("Page.run.range[0]") == low
    bounds = bowl_page.value("Page.run.fitness_bounds")
    thumbs = [float(bowl_page.value(f"document.getElementById('filter-{end}').value")) for end in ("low", "high")]
    assert thumbs == pytest.approx([1000 * (low - bounds[0]) / (bounds[1] - bounds[0]), 1000], abs=0.51)
    assert bowl_page.value("Page.row") == 3
    bowl_page.run("Page.run.brushes.set('feature 0', [0, 0.5]); Page.document.runs[0].seed += 1; return Page.show()")
    assert bowl_page.value("Page.run.n_selected") == bowl_page.value("Page.run.n")
    assert bowl_page.value("Page.row") == best
    assert bowl_page.value("document.getElementById('filter-low').value") == "0"
    # A chart without data disappears.
    assert bowl_page.value("document.getElementById('progress-mean_fitness') !== null") is True
    bowl_page.run("Page.document.runs[0].progress.mean_fitness.fill(null); return Page.show()")
    assert bowl_page.value("document.getElementById('progress-mean_fitness')") is None


def test_parallel_axes(browser, tmp_path):
    folder = bowl_run(tmp_path / "run", 3, grid=20, n_niches=None, evaluations=20_000, initial=20_000)
    browser.open(write_report([folder], tmp_path / "report.html"))
    n = browser.value("Page.run.n")
    assert n > 5000
    assert f"3,000 of {n:,} elites" in browser.text("axes-note")
    browser.run("Page.run.brushes.set('feature 0', [0.4, 0.42]).set('feature 1', [0.4, 0.6]); Page.run.filter()")
    selected = browser.value("Page.run.n_selected")
    assert 0 < selected < 300
    drawn = browser.value("({ ...document.getElementById('axes').dataset })")
    assert (drawn["kept"], drawn["painted"]) == (str(selected), "3000")
    # An elite beyond the bounds is drawn at the end of the axis, and found there.
    browser.run("Page.run.brushes.clear(); Page.run.features[2].unit[5] = 1.5")
    browser.run("Page.run.brushes.set('feature 2', [0.97, 1]); Page.run.filter()")
    assert browser.value("Page.run.mask[5]") == 1
    # Left and right only choose an axis.
    browser.run("Page.run.brushes.clear(); Page.run.filter(); document.getElementById('axes').focus()")
    browser.key("ARROW_RIGHT")
    browser.key("ARROW_RIGHT")
    browser.wait("document.getElementById('axes').dataset.marked === '2'")
    assert browser.value("Page.run.brushes.size") == 0
    browser.key("ARROW_UP")
    browser.wait("Page.run.brushes.size === 1")
    assert browser.value("Page.run.brushes.get('feature 2')") == pytest.approx([0.5, 0.7])
    assert "Left and right" in browser.value("document.getElementById('axes').getAttribute('aria-label')")
    assert browser.value("getComputedStyle(document.getElementById('axes')).touchAction") == "pan-x"
    assert browser.complaints() == []


def test_axes_of_other_scales(walk_page):
    labels = (
        "(() => { const a = Page.axis({}); return a.ticks().map((tick) => [tick, a.at(tick), a.value(a.at(tick))]) })()"
    )
    decades = {"low": 1, "high": 1000, "is_log": True}
    found = walk_page.value(labels.replace("{}", str(decades).replace("True", "true")))
    np.testing.assert_allclose(found, [[1, 0, 1], [10, 1 / 3, 10], [100, 2 / 3, 100], [1000, 1, 1000]], atol=1e-3)
    squares = {"low": 0, "high": 100, "table": (np.linspace(0, 10, 101) ** 2).tolist()}
    found = np.array(walk_page.value(labels.replace("{}", str(squares))))
    np.testing.assert_allclose(found[:, 1], np.sqrt(found[:, 0]) / 10, atol=0.003)
    np.testing.assert_allclose(found[:, 2], found[:, 0])
    assert len(found) >= 5


def test_invalid_elites_have_a_colour_of_their_own(walk_page):
    assert walk_page.value("document.getElementById('colour-missing').hidden") is True
    walk_page.choose("scenario", "night")
    assert walk_page.value("document.getElementById('colour-missing').hidden") is False
    row = walk_page.value("Page.run.scenarios[1].fitness.findIndex((value) => Number.isNaN(value))")
    x, y = locate(walk_page, row)
    pixel = walk_page.value(
        f"(() => {{ const c = document.getElementById('map'), b = c.getBoundingClientRect(); return Array.from("
        f"c.getContext('2d').getImageData(Math.round({x} - b.left), Math.round({y} - b.top), 1, 1).data) }})()"
    )
    colour = str(walk_page.value("Page.css('--missing')")).lstrip("#")
    np.testing.assert_allclose(pixel[:3], [int(colour[i : i + 2], 16) for i in (0, 2, 4)], atol=3)


def test_names_stay_text(browser, tmp_path):
    names = (EVIL, "</script><img src=x onerror=\"document.title='broken'\">", "<b>bold</b>", "=1,1", "-4", "a=b")
    folder = bowl_run(tmp_path / "a <i>b", 6, spec=EVIL, names=names)
    browser.open(write_report([folder, bowl_run(tmp_path / "other", 3)], tmp_path / "report.html"))
    assert browser.text("title") == EVIL
    assert EVIL in browser.text("command")
    browser.click("elite-best")
    assert EVIL in browser.text("elite-features")
    browser.choose("colour-by", "feature 0")
    assert browser.value("document.title") == f"{EVIL}, bowl · 2 runs"
    header = next(csv.reader(io.StringIO(browser.value("Page.run.csv()"))))
    assert header[3:9] == [*names[:3], "'=1,1", "-4", "a=b"]  # nor do spreadsheets parse one as a formula
    assert browser.value("document.querySelectorAll('img, b b, main i:not(.track i):not(.legend i)').length") == 0
    assert browser.complaints() == []


@pytest.mark.parametrize(("width", "height", "dark"), [(1366, 768, True), (390, 844, False), (390, 844, True)])
def test_any_screen_and_either_theme(browser, runs, width, height, dark):
    browser.size(width, height, dark=dark)
    for name in ("walk", "bowl"):
        browser.open(runs / f"{name}.html")
        browser.click("elite-best")
        browser.wait("!document.getElementById('elite-body').hidden")
        assert browser.value("document.documentElement.scrollWidth") <= width
        assert browser.value("document.documentElement.dataset.theme") == ("dark" if dark else "light")
        browser.click("theme")
        assert browser.value("document.documentElement.dataset.theme") == ("light" if dark else "dark")
        browser.run("localStorage.clear()")
        assert browser.complaints() == []
    browser.size(1366, 768)


def test_all_controls_can_be_reached_by_the_keyboard(walk_page):
    walk_page.click("elite-best")
    walk_page.wait("!document.getElementById('player').hidden")
    walk_page.run("window.scrollTo(0, 0); document.activeElement.blur()")
    reached = set()
    for _ in range(110):
        walk_page.key("TAB")
        reached.add(walk_page.value("document.activeElement.id"))
    wanted = {"theme", "colour-by", "map", "zoom-in", "filter-low", "filter-high", "download", "elite-best", "scenario"}
    assert wanted | {"view", "play", "frame", "copy"} <= reached


@pytest.mark.parametrize("n_niches", [10_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_many_niches_load_in_time(browser, tmp_path, n_niches):
    """In processor time of the page, from the start of loading to the last chart drawn: others may use the machine."""
    space = walk().features
    centroids = np.random.default_rng(1).random((n_niches, 2))
    niches = tl.VoronoiTessellation(space, centroids)
    from tesselite.runs.run import run

    run(
        named_walk(),
        out=tmp_path / "run",
        tessellation=niches,
        evaluations=4 * n_niches,
        initial=4 * n_niches,
        seed=1,
    )
    file = write_report([tmp_path / "run"], tmp_path / "report.html")
    assert file.stat().st_size < 15e6
    before = browser.work_seconds()
    browser.open(file)
    took = browser.work_seconds()
    took -= before if took >= before else 0.0  # the count restarts in a new process
    filled = int(browser.value("Page.run.n"))
    assert filled > 0.4 * n_niches
    elapsed = browser.value("document.body.dataset.milliseconds")
    print(
        f"\n{n_niches} niches, {filled} elites: {file.stat().st_size / 1e6:.1f} MB, {took:.2f} s of work, {elapsed} ms"
    )
    assert took < LOAD_SECONDS
    first = browser.value("Page.row")
    browser.pointer(*locate(browser, filled // 2), click=True)
    browser.wait(f"Page.row !== {first}")
    assert browser.complaints() == []


def test_several_runs_are_compared(browser, tmp_path):
    folders = [
        bowl_run(tmp_path / f"{cells}-{seed}", 2, seed=seed, grid=cells, n_niches=None)
        for cells in (6, 20)
        for seed in (1, 2)
    ]
    browser.open(write_report(folders, tmp_path / "report.html"))
    assert browser.text("subtitle") == "4 runs · looking at 6-1"
    assert "grid 20x20 (2 runs)" in browser.text("comparison")
    assert browser.value("document.querySelectorAll('#boxes .main-svg').length") >= 5
    assert browser.value("document.querySelectorAll('#qualities .main-svg').length") >= 1
    assert browser.value("document.querySelectorAll('#comparison table').length") == 2
    assert browser.value("document.querySelectorAll('#progress-coverage .scatterlayer .trace').length") == 4
    # Quartiles are those of the table: Plotly's own would be others.
    for m, measure in enumerate(browser.value("Page.document.comparison.measures")):
        drawn = browser.value(
            f"document.getElementById('box-{m}').calcdata.map(([b]) => [b.q1, b.med, b.q3, b.pts.length])"
        )
        for i, summary in enumerate(measure["summaries"]):
            values = measure["values"][2 * i : 2 * i + 2]
            np.testing.assert_allclose(drawn[i], [*np.quantile(values, [0.25, 0.5, 0.75]), 2])
            np.testing.assert_allclose(drawn[i][:3], [summary[2], summary[1], summary[3]])
    browser.run("Page.document.comparison.measures[0].values[2] = null; return Page.comparison()")
    assert "1 of 2 failed" in browser.text("box-0")
    # Where colours repeat, dashes and symbols differ.
    styles = browser.value("Array.from({ length: 21 }, (_, i) => JSON.stringify(Page.colours.style(i)))")
    assert len(set(styles)) == 21
    browser.choose("run-chooser", "3")
    browser.wait("Page.run && Page.run.name === '20-2'")
    assert browser.value("Page.run.n") == len(Archive.load(folders[3] / "archive.parquet"))
    assert browser.complaints() == []
    assert len(browser.requests()) == 1


def test_a_problem_brings_its_own_drawing(browser, tmp_path, monkeypatch):
    """The example, and one whose script fails: the rest of its page works."""
    from pathlib import Path

    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "examples")
    from own_view import look, vase

    tl.run(vase, grid=5, evaluations=300, initial=200, seed=1, out=tmp_path / "run")
    browser.size(1366, 768)
    browser.open(write_report([tmp_path / "run"], tmp_path / "vase.html"))
    row = browser.run(
        "const view = document.getElementById('view'), w = view.width;"
        "return Array.from(view.getContext('2d').getImageData(0, 150, w, 1).data.filter((_, i) => i % 4 === 3))"
    )
    assert row[len(row) // 2] == 255  # a vase has an inside
    assert row[2] == 0
    assert browser.value("document.getElementById('player').hidden") is True
    assert browser.complaints() == []
    monkeypatch.setattr(vase, "elite_view", lambda *asked: {**look(*asked), "script": "</script><b>; throw 1"})
    browser.open(write_report([tmp_path / "run"], tmp_path / "broken.html"))
    assert browser.text("view-note") == 'The problem has no drawing of the kind "vase".'
    assert browser.value("document.getElementById('view').hidden") is True
    assert len(browser.complaints()) == 1
    browser.leave()
