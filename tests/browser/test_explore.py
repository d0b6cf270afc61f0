"""Exploring an archive in a real browser: table, pins, colours, axes, history, histogram, files. One page for all."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

import tesselite as tl
from report_runs import odd_runs, walk_run
from tesselite.archive.archive import Archive
from tesselite.report.page import write_report


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(Path(__file__).parent.parent)
        made = tmp_path_factory.mktemp("explore")
        runs = [walk_run(made / "walk"), next(run for run in odd_runs(made) if run.name == "log")]
        write_report(runs, made / "report.html")
        return made


@pytest.fixture
def page(browser, folder):
    if browser.value("location.href.split('#')[0]") != (folder / "report.html").resolve().as_uri():
        browser.size(1366, 768)
        browser.open(folder / "report.html")
    browser.choose("run-chooser", "0")
    browser.wait("Page.run && Page.run.name === 'walk'")
    browser.click("filter-reset")
    yield browser
    assert browser.complaints() == []


@pytest.fixture
def elites(folder):
    return Archive.load(folder / "walk").elites()


def column(page, place):
    cells = page.value(
        f"Array.from(document.querySelectorAll('#elites-table tbody tr')).map((tr) => tr.children[{place}].textContent)"
    )
    return [float(cell.replace(",", "")) for cell in cells]


def test_the_table_is_sorted_and_searched(page, elites):
    order = np.argsort(elites.fitness, kind="stable")
    assert column(page, 0) == elites.niches[order[:12]].tolist()  # the best first
    head = "document.querySelector('#elites-table [data-key=\"feature 0\"]')"
    page.run(f"{head}.click()")
    np.testing.assert_allclose(column(page, 3), np.sort(elites.features[:, 0])[:12], rtol=1e-3)
    page.run(f"{head}.click()")
    np.testing.assert_allclose(column(page, 3), np.sort(elites.features[:, 0])[::-1][:12], rtol=1e-3)
    assert page.value(f"{head}.parentElement.getAttribute('aria-sort')") == "descending"
    page.click("page-on")
    assert page.text("page-of") == f"13 to 24 of {len(elites)}"

    def search(text):
        page.run(
            f"const e = document.getElementById('search'); e.value = {text!r}; e.dispatchEvent(new Event('input'))"
        )
        return page.value("Page.run.n_selected")

    # What is searched for is kept in all views.
    both = (elites.features[:, 0] > 0.5) & (elites.fitness <= 0.8)
    assert search("x > 0.5, fitness <= 0.8") == both.sum()
    assert search(f"{elites.niches[3]}, niche {elites.niches[5]}") == 2
    assert search("joy > 3") == 0
    assert page.text("search-note") == "Not understood: joy > 3"
    assert search("") == len(elites)
    page.run("document.querySelector('#elites-table tbody tr').click()")
    assert page.value("Page.row") == int(np.argmax(elites.features[:, 0]))


def test_the_elite_nearest_to_wanted_features(page, elites):
    def nearest(text):
        page.run(
            f"const e = document.getElementById('nearest'); e.value = {text!r}; e.dispatchEvent(new Event('change'))"
        )
        return page.value("Page.row")

    assert nearest("0.3, 0.7") == int(np.argmin(np.hypot(*(elites.features - [0.3, 0.7]).T)))
    assert column(page, 0) == sorted(column(page, 0))  # distances
    assert nearest("y = 0.1") == int(np.argmin(abs(elites.features[:, 1] - 0.1)))
    # By titles, too.
    page.run("Page.run.features[1].title = 'y at step 20'")
    assert nearest("y at step 20 = 0.1") == nearest("y 0.1")
    # A comma in a title does not separate.
    page.run("Page.run.features[1].title = 'y, [m]'")
    assert nearest("0.3, Y, [m] = 0.7") == nearest("0.3, 0.7")
    assert page.value("Page.query(Page.run, 'y, [m] > 0.5, x > 0.5').wrong") == []
    page.run("Page.run.features[1].title = 'y at step 20'")
    nearest("fast")
    assert "y at step 20 = 0.5" in page.text("nearest-note")
    assert "Expected values of features" in page.text("nearest-note")
    nearest("")
    assert page.text("nearest-note") == ""


def test_pinned_elites_are_compared(page, elites):
    for row in (3, 40):
        page.run(f"Page.select({row})")
        page.click("pin")
    assert page.text("pin") == "Unpin"
    assert f"pins={elites.niches[3]}.{elites.niches[40]}" in page.value("location.hash")
    heads = page.value("Array.from(document.querySelectorAll('#pins-table thead th')).map((th) => th.textContent)")
    assert heads[1:] == [f"{i + 1}Niche {elites.niches[row]}✕" for i, row in enumerate((3, 40))]
    fitness = page.value(
        "Array.from(document.querySelectorAll('#pins-table tr')).find((tr) => tr.firstChild.textContent === 'fitness')"
        ".innerText.split('\\t').slice(1).map(Number)"
    )
    np.testing.assert_allclose(fitness, elites.fitness[[3, 40]], rtol=1e-3)
    assert page.value("document.querySelectorAll('#pins-table canvas').length") == 2
    drawn = "Array.from(document.querySelectorAll('#pins-table canvas')).every((c) => c.getContext('2d')"
    assert page.value(f"{drawn}.getImageData(0, 0, c.width, c.height).data.some((v) => v))") is True
    page.run("document.querySelector('#pins-table [data-off]').click()")
    assert page.value("Page.pinned.niches()") == [elites.niches[40]]
    page.run("Page.pinned.set([])")
    assert page.value("document.getElementById('pins-card').hidden") is True


def test_colours_have_a_range(page, elites):
    def shades():
        return np.array(page.value("Array.from(Page.run.shades(Page.colour).shades)"))

    page.choose("colour-range", "middle")
    low, high = np.quantile(elites.fitness, [0.05, 0.95], method="nearest")
    np.testing.assert_allclose(shades(), 255 * ((elites.fitness - low) / (high - low)).clip(0, 1), atol=3)
    assert page.text("colour-high").startswith("≥ ")
    page.choose("colour-range", "shared")
    axis = page.value("(({ low, high }) => [low, high])(Page.colour_axis(Page.run, 'fitness'))")
    both = page.value(
        "Page.bounds(Page.document.runs.flatMap((run) => [run.archive.fitness, ...run.scenarios.map((s) => s.fitness)]"
        ".flatMap((values) => Page.bounds(values))))"
    )
    assert axis == both
    page.choose("colour-range", "whole")
    page.run("document.getElementById('colour-log').click()")
    low, high = np.log(elites.fitness.min()), np.log(elites.fitness.max())
    np.testing.assert_allclose(shades(), 255 * (np.log(elites.fitness) - low) / (high - low), atol=1)
    page.run("document.getElementById('colour-log').click()")


def test_axes_are_chosen_moved_and_brushed_beside_a_map(page, elites):
    axes = "document.getElementById('axes').dataset.axes"
    assert page.value(axes) == "feature 0,feature 1,fitness"
    page.run("document.querySelector('#axes-list input[value=\"scenario 0\"]').click()")
    assert page.value(axes) == "feature 0,feature 1,fitness,scenario 0"
    page.click("axis-right")  # of the first axis
    assert page.value(axes) == "feature 1,feature 0,fitness,scenario 0"
    page.run("document.getElementById('axes').scrollIntoView({ block: 'center' })")
    left, top, width, height = page.value(
        "(() => { const b = document.getElementById('axes').getBoundingClientRect();"
        "return [b.left + 40, b.top + 18, b.width - 80, b.height - 56] })()"
    )
    page.drag((left + width, top + height + 30), (left + 2, top + height + 30))  # by its name, to the very left
    assert page.value(axes) == "scenario 0,feature 1,feature 0,fitness"
    page.drag((left + width, top), (left + width, top + height / 2))
    low = page.value("Page.run.brushes.get('fitness')[0]")
    unit = (elites.fitness - elites.fitness.min()) / np.ptp(elites.fitness)
    assert abs(page.value("Page.run.n_selected") - (unit >= low).sum()) <= 1
    page.click("axes-usual")


def test_the_history_and_the_histogram(page, elites):
    last = int(elites.evaluations.max())
    page.slide("history", 500)
    until = round(last / 2)
    found = elites.evaluations <= until
    assert page.value("Page.run.n_selected") == found.sum() < len(elites)
    assert page.text("history-at") == f"{until:,}"
    assert page.value("document.getElementById('history').getAttribute('aria-valuetext')") == f"evaluation {until:,}"
    # The niches of later elites are empty.
    row = int(np.argmax(elites.evaluations))
    x, y = page.value(f"Page.map.locate({row})")
    pixel = page.value(
        f"(() => {{ const c = document.getElementById('map'), b = c.getBoundingClientRect(); return Array.from("
        f"c.getContext('2d').getImageData(Math.round({x} - b.left), Math.round({y} - b.top), 1, 1).data) }})()"
    )
    colour = str(page.value("Page.css('--empty')")).lstrip("#")
    np.testing.assert_allclose(pixel[:3], [int(colour[i : i + 2], 16) for i in (0, 2, 4)], atol=3)
    said = page.value("document.getElementById('histogram').getAttribute('aria-label')")
    most = np.histogram(elites.fitness[found], 48, (elites.fitness.min(), elites.fitness.max()))[0].max()
    assert f"most elites, {most}, lie between" in said
    page.slide("history", 1000)
    assert page.value("Page.run.n_selected") == len(elites)


def downloaded(page, name):
    end = time.monotonic() + 60
    while not (page.downloads / name).exists():
        assert time.monotonic() < end, name
        time.sleep(0.05)
    return page.downloads / name


@pytest.mark.parametrize(
    ("card", "name"), [("#archive > .card-head", "archive"), ("#axes-card", "axes"), ("#elite-card", "view")]
)
def test_every_view_is_a_file(page, card, name):
    for kind in ("PNG", "SVG"):
        page.run(f"document.querySelector('{card} .save [aria-label$={kind}]').click()")
    assert downloaded(page, f"walk-{name}.png").read_bytes()[:4] == b"\x89PNG"
    svg = downloaded(page, f"walk-{name}.svg").read_text()
    parsed = page.value(
        f"new DOMParser().parseFromString({svg!r}, 'image/svg+xml').querySelector('parsererror') === null"
    )
    assert parsed is True
    assert "<path" in svg
    assert (name in ("archive", "view")) == ("<image" in svg)  # niches and walls are pixels


def test_charts_and_the_histogram_are_files(page):
    for card, name in ((".chart-box:has(#progress-coverage)", "progress-coverage"), ("#histogram-save", "histogram")):
        for kind in ("PNG", "SVG"):
            page.run(f"document.querySelector('{card} [aria-label$={kind}]').click()")
        assert downloaded(page, f"walk-{name}.png").read_bytes()[:4] == b"\x89PNG"
        assert downloaded(page, f"walk-{name}.svg").read_text().startswith("<svg")


def test_names_in_a_file_stay_text(page):
    page.choose("run-chooser", "1")
    page.wait("Page.run && Page.run.name === 'log'")
    page.run("Page.run.features[0].name = '<b>\"&'; Page.run.column('feature 0').text = '<b>\"&'")
    svg = page.value("Page.svg_of(document.getElementById('axes'), Page.axes.draw)")
    assert "&lt;b&gt;&quot;&amp;" in svg


def test_the_pace_of_a_run(page):
    progress = {"evaluations": [0, 1000, 2000, 2100, 2200], "seconds": [0.0, 1.0, 2.0, 2.1, 2.2]}
    assert page.value(f"Page.pace({{ progress: {progress}, budget: 12200 }})") == {
        "rate": pytest.approx(1000),
        "left": 10,
    }
    empty = {"evaluations": [], "seconds": []}
    assert page.value(f"Page.pace({{ progress: {empty}, budget: 5 }}).rate") == 0


def test_labels_that_end_alike_or_are_numbers_are_found(browser, tmp_path):
    @tl.problem(solutions=tl.Box(1), features={"wood": tl.Labels(["oak", "red oak", "10", "0"]), "x": (0, 1)})
    def plank(x):
        return x[0], (int(4 * x[0]) % 4, x[0])

    run = tl.run(plank, grid=[4, 1], evaluations=200, initial=100, seed=1, out=tmp_path / "run", progress=False)
    browser.open(write_report([run.folder], tmp_path / "report.html"))
    codes = run.archive.elites().features[:, 0].tolist()
    for code, label in enumerate(["oak", "red oak", "10", "0"]):
        for text in (f"wood = {label}", f"{label}, 0.5", label):
            browser.run(
                f"const e = document.getElementById('nearest'); e.value = {text!r};"
                " e.dispatchEvent(new Event('change'))"
            )
            assert browser.text("nearest-note") == "", text
            assert codes[browser.value("Page.row")] == code, text
        kept = f"[0, 1, 2, 3].filter(Page.query(Page.run, 'wood = {label}').test)"
        assert browser.value(kept) == [codes.index(code)]
    assert browser.complaints() == []
