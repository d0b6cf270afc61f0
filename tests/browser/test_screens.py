"""The page on any screen and on paper: dark, on a phone, zoomed, printed, and after a reload. One file for all."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import tesselite as tl
from report_runs import walk_run
from tesselite.report.page import write_report
from tesselite.report.page.packed_arrays import PackedArrays
from tesselite.report.page.places import describe_cells

PHONE = (390, 844)


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(Path(__file__).parent.parent)
        folder = tmp_path_factory.mktemp("screens")
        runs = [walk_run(folder / f"walk-{seed}", seed=seed, evaluations=1500) for seed in (1, 2)]
        return write_report(runs, folder / "report.html")


@pytest.fixture
def page(browser, report):
    def opened(width=1366, height=768, *, dark=False, link=""):
        browser.size(width, height, dark=dark)
        browser.driver.get("about:blank")
        browser.open(report.resolve().as_uri() + link)
        return browser

    yield opened
    browser.run("localStorage.clear()")
    browser.size(1366, 768)
    assert browser.complaints() == []


def luminance(colours):
    share = np.asarray(colours, float) / 255
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


def rgb(hex_colour):
    return [int(hex_colour.lstrip("#")[i : i + 2], 16) for i in (0, 2, 4)]


def test_the_worst_elites_are_seen_in_the_dark(page):
    browser = page(dark=True)
    colours = browser.value("Page.colours.ramp(false).names.map((name) => name.match(/\\d+/g).map(Number))")
    for ground in ("--empty", "--card", "--faint"):
        behind = luminance(rgb(browser.value(f"Page.css('{ground}')")))
        assert ((luminance(colours) + 0.05) / (behind + 0.05)).min() >= 3.0
    assert (np.diff(luminance(colours)) > -0.003).all()  # better is brighter


def canvas_rows(browser, element="map"):
    """The middle of a canvas, as rows of colours."""
    return np.array(
        browser.value(
            f"(() => {{ const c = document.getElementById('{element}'), n = 200;"
            "const d = c.getContext('2d').getImageData((c.width - n) >> 1, (c.height - n) >> 1, n, n);"
            "return Array.from(new Uint32Array(d.data.buffer)) })()"
        )
    ).reshape(200, 200)


def test_zoom_is_sharp(page):
    browser = page()
    for _ in range(3):
        browser.click("zoom-in")
    rows = canvas_rows(browser)
    borders = [np.flatnonzero(np.diff(row)) for row in rows]
    shifts = [abs(b - a) for a, b in pairwise(borders) if len(a) == len(b)]
    steps = np.concatenate(shifts)
    assert np.median(steps[steps > 0]) <= 2  # pixels: those of a picture of 720 would be five wide


def test_niches_of_places_are_those_of_the_tessellation(page):
    browser = page()
    space, centroids = tl.FeatureSpace.unit(2), np.random.default_rng(1).random((80, 2)).astype(np.float32)
    cut = [tl.VoronoiTessellation(space, centroids, p=p) for p in (1, 2, 3, np.inf, 0.5)]
    cut += [tl.GridTessellation(space, shape, cells=cells) for shape, cells in (([7, 4], "equal"), (5, "released"))]
    places = np.random.default_rng(2).random((300, 2))
    for niches in cut:
        arrays = PackedArrays()
        described = describe_cells(niches, arrays)
        block = f"await Page.inflate({json.dumps(arrays.packed())})"
        found = browser.run(
            f"return (async () => {{ const cells = Page.cells(Page.unpack({json.dumps(described)}, {block}));"
            f"return {json.dumps(places.tolist())}.map(([u, v]) => cells.niche_of(u, v)).concat("
            f"Array.from({{ length: {niches.n_niches} }}, (_, n) => cells.niche_of(...cells.place(n)))) }})()"
        )
        expected = niches.niches_of_unit(places)
        if "picture" in described:  # as fine as its pixels, for the norm that takes long
            assert niches.p < 1
            assert np.mean(found[:300] == expected) > 0.95
        else:
            assert found == [*expected.tolist(), *range(niches.n_niches)]


def touch(browser, kind, *points):
    about = {"type": kind, "touchPoints": [{"x": x, "y": y, "id": i} for i, (x, y) in enumerate(points)]}
    browser.driver.execute_cdp_cmd("Input.dispatchTouchEvent", about)


def test_fingers_zoom_and_move_the_map(page):
    browser = page(*PHONE)
    browser.driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True, "maxTouchPoints": 2})
    try:
        browser.run("document.getElementById('map').scrollIntoView({ block: 'center' })")
        assert browser.value("getComputedStyle(document.getElementById('map')).touchAction") == "pan-y"
        x, y = browser.value(
            "(() => { const b = document.getElementById('map').getBoundingClientRect();"
            "return [b.left + b.width / 2, b.top + b.height / 2] })()"
        )
        apart = "Math.hypot(...[0, 1].map((k) => Page.map.locate(3)[k] - Page.map.locate(60)[k]))"
        before = browser.value(apart)
        touch(browser, "touchStart", (x - 20, y))
        touch(browser, "touchStart", (x - 20, y), (x + 20, y))
        for step in range(1, 5):
            touch(browser, "touchMove", (x - 20 - 10 * step, y), (x + 20 + 10 * step, y))
        touch(browser, "touchEnd")
        assert browser.value(apart) == pytest.approx(3 * before, rel=0.05)
        # Then one finger moves it, downwards too, and the page stays.
        assert browser.value("getComputedStyle(document.getElementById('map')).touchAction") == "none"
        scrolled, at = browser.value("scrollY"), browser.value("Page.map.locate(3)")
        touch(browser, "touchStart", (x, y))
        for step in range(1, 5):
            touch(browser, "touchMove", (x, y - 10 * step))
        touch(browser, "touchEnd")
        assert browser.value("scrollY") == scrolled
        assert browser.value("Page.map.locate(3)") == pytest.approx([at[0], at[1] - 40], abs=1)
        assert browser.value("Page.follow") is True  # this selected nothing
    finally:
        browser.driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})


def test_tables_on_a_phone_break_no_words(page):
    browser = page(*PHONE)
    assert browser.value("document.documentElement.scrollWidth") <= PHONE[0]
    widths = browser.value("Array.from(document.querySelectorAll('#comparison td')).map((cell) => cell.clientWidth)")
    assert min(widths) >= 50
    heights = browser.value("Array.from(document.querySelectorAll('#comparison td')).map((cell) => cell.clientHeight)")
    assert max(heights) < 120


def test_paper_is_light_and_wide_enough(page):
    browser = page(dark=True)
    dark = browser.value("Page.css('--card')")
    browser.run("window.dispatchEvent(new Event('beforeprint'))")
    assert browser.value("Page.css('--card')") == "#ffffff" != dark
    ground = browser.value("Array.from(document.getElementById('view').getContext('2d').getImageData(5, 5, 1, 1).data)")
    assert ground[:3] != rgb(dark)
    cut = (
        "Array.from(document.querySelectorAll('.chart')).filter((box) =>"
        "box.querySelector('.main-svg').getBoundingClientRect().width > box.clientWidth + 1).length"
    )
    assert browser.value(cut) == 0
    assert browser.value("document.querySelector('main').scrollWidth") <= 720
    # A grid would be cut where a page ends.
    assert browser.value("getComputedStyle(document.querySelector('.pair')).display") == "block"
    browser.run("window.dispatchEvent(new Event('afterprint'))")
    assert browser.value("Page.css('--card')") == dark
    browser.driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})
    assert browser.value("document.documentElement.dataset.theme") == "dark"
    assert browser.value(cut) == 0


def test_theme_and_selection_survive_a_reload(page):
    browser = page()
    browser.click("theme")
    browser.choose("run-chooser", "1")
    browser.wait("Page.run && Page.run.name === 'walk-2' && document.body.dataset.ready === 'all'")
    browser.choose("scenario", "ice")
    browser.choose("colour-by", "age")
    browser.run("Page.select(5)")
    niche = browser.value("Page.run.archive.niches[5]")
    assert browser.value("location.hash") == f"#run=walk-2&niche={niche}&scenario=ice&colour=age"
    browser.driver.refresh()
    browser.wait("document.body.dataset.ready === 'all'")
    assert browser.value("document.documentElement.dataset.theme") == "dark"
    looked = browser.value("[Page.run.name, Page.row, Page.scenario, Page.colour]")
    assert looked == ["walk-2", 5, "ice", "age"]
    assert browser.text("elite-title") == f"Elite of niche {niche}"
    # A link that was sent or typed.
    browser.run(f"location.hash = '#run=walk-2&niche={niche}&scenario=night'")
    browser.wait("Page.scenario === 'night'")
    assert browser.value("document.getElementById('colour-by').value") == "age"
    browser.run("location.hash = '#run=walk-1'")
    browser.wait("Page.run && Page.run.name === 'walk-1' && Page.follow")


def test_a_link_that_names_nothing_does_no_harm(page):
    browser = page(link="#niche=999999999&scenario=fire&colour=joy&run=jump")
    assert browser.value("[Page.follow, Page.scenario, Page.colour, Page.run.name]") == [True, "", "fitness", "walk-1"]


def test_what_is_seen_is_also_said(page):
    browser = page()
    browser.slide("filter-low", 250)
    low = browser.text("range-low")
    assert browser.value("document.getElementById('filter-low').getAttribute('aria-valuetext')") == low
    browser.slide("frame", 4)
    assert browser.value("document.getElementById('frame').getAttribute('aria-valuetext')") == "step 20"
    # Headings are headings, and none is left out on the way down.
    assert browser.value("document.querySelectorAll('h1[role], h2[role], h3[role]').length") == 0
    levels = browser.value("Array.from(document.querySelectorAll('h1, h2, h3')).map((h) => +h.tagName[1])")
    assert levels[0] == 1
    assert max(b - a for a, b in pairwise(levels)) <= 1
    headless = (
        "Array.from(document.querySelectorAll('main section')).filter((s) => !s.getAttribute('aria-label')).length"
    )
    assert browser.value(headless) == 0
    assert browser.text("elite-said").startswith(browser.text("elite-title"))
    # Every chart and drawing has a text.
    silent = (
        "Array.from(document.querySelectorAll('.chart, canvas')).filter((e) => e.closest('[hidden]') === null"
        " && !(e.getAttribute('role') && e.getAttribute('aria-label'))).map((e) => e.id)"
    )
    assert browser.value(silent) == []
    said = browser.value("document.getElementById('progress-coverage').getAttribute('aria-label')")
    assert said.startswith("Coverage against evaluations: walk-1 from ")
    assert "median" in browser.value("document.getElementById('box-0').getAttribute('aria-label')")
    assert "Half of the elites" in browser.value("document.getElementById('quality-0').getAttribute('aria-label')")
