"""Numbers and names that are hard to show, in a real browser: one page of several runs, looked at one after another."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pytest

from report_runs import odd_runs
from tesselite.archive.archive import Archive
from tesselite.report.page import write_report


@pytest.fixture(scope="module")
def odd(tmp_path_factory, browser):
    folder = tmp_path_factory.mktemp("odd")
    folders = odd_runs(folder)
    browser.size(1366, 768)
    browser.open(write_report(folders, folder / "report.html"))
    yield {run.name: i for i, run in enumerate(folders)}, folder
    assert browser.complaints() == []
    assert len(browser.requests()) == 1


@pytest.fixture
def show(odd, browser):
    places, folder = odd

    def choose(name):
        browser.choose("run-chooser", str(places[name]))
        browser.wait(f"Page.run && Page.run.name === '{name}'")
        return Archive.load(folder / name / "archive.parquet").elites()

    return choose


def shown_texts(browser):
    return browser.value("document.querySelector('main').innerText")


def test_digits_come_from_the_range(show, browser):
    elites = show("near")
    low, high = elites.fitness.min(), elites.fitness.max()
    best = elites.features[int(np.argmax(elites.fitness))]
    figures, numbers = (
        browser.value(f"Array.from(document.querySelectorAll('{at}')).map((e) => e.textContent)")
        for at in ("#figures b", "#elite-numbers dd")
    )
    said = [browser.text("colour-low"), browser.text("range-high"), figures[1], *numbers[1:3]]
    for text, value in zip(said, [low, high, high, *best], strict=True):
        assert abs(float(text.replace(",", "")) - value) <= 1e-3 * (high - low)
    # Of a column with a wide range four digits do.
    assert browser.value("[0.123456, 12.3456, 1234.56, 123456.7].map(Page.format(0, 2e5))") == [
        "0.1235",
        "12.35",
        "1,235",
        "123,457",
    ]


def test_values_without_bounds_are_shown_between_those_of_the_elites(show, browser):
    elites = show("unbounded")
    ends = browser.value("Page.run.solution_axes().map((axis) => [axis.low, axis.high])")
    np.testing.assert_array_equal(ends, np.column_stack([elites.solutions.min(axis=0), elites.solutions.max(axis=0)]))


def test_colours_between_the_ends_have_names(show, browser):
    show("unbounded")
    browser.choose("colour-by", "emitter")
    names = "Array.from(document.querySelectorAll('#colour-names span')).map((e) => e.textContent)"
    assert browser.value(names) == ["random", "gaussian", "iso_line"]
    colours = "getComputedStyle(document.querySelectorAll('#colour-names span')[1], '::before').backgroundColor"
    shade = browser.value("Page.colours.ramp(false).names[128]")
    assert browser.value(colours) == browser.value(
        f"(() => {{ const e = document.body.appendChild(document.createElement('i')); e.style.color = '{shade}';"
        " const seen = getComputedStyle(e).color; e.remove(); return seen; })()"
    )
    browser.choose("colour-range", "middle")
    assert browser.text("colour-high").removeprefix("≥ ") in ("random", "gaussian", "iso_line")
    browser.choose("colour-range", "whole")
    browser.choose("colour-by", "fitness")
    assert browser.value("document.getElementById('colour-names').hidden")


def test_ticks_differ_from_each_other(show, browser):
    show("near")
    for key in ("fitness", "feature 0", "feature 1"):
        texts = browser.value(f"(({{ axis }}) => axis.ticks().map(axis.tick_text))(Page.run.column('{key}'))")
        assert len(texts) >= 3
        assert len(set(texts)) == len(texts)
    ticks = browser.value(
        "Array.from(document.querySelectorAll('#progress-best_fitness .ytick')).map((tick) => tick.textContent)"
    )
    assert len(set(ticks)) == len(ticks) > 1
    assert browser.value("Page.ticks(-0.5, 0.5).map(String)") == ["-0.4", "-0.2", "0", "0.2", "0.4"]
    assert browser.value("Page.ticks(-1.7e308, 1.7e308).length") >= 3
    assert len(browser.value("Page.ticks(1e16, 1e16 + 4)")) <= 6  # ends


def test_huge_numbers_are_short(show, browser):
    elites = show("huge")
    assert browser.value("document.documentElement.scrollWidth") == 1366
    longest = max(len(word) for word in shown_texts(browser).split())
    assert longest < 60, [word for word in shown_texts(browser).split() if len(word) == longest]
    assert "e299" in browser.text("figures")
    assert browser.value("Page.number(-0)") == "0"
    assert browser.value("[1e300, -1.7e308, 123456789, 1e-17].map(Page.number)") == [
        "1e300",
        "-1.7e308",
        "123,456,789",
        "1e-17",
    ]
    # No overflow on the way to a colour: the best has the brightest, the worst the darkest.
    shades = browser.value("Array.from(Page.run.shades('fitness').shades)")
    assert (shades[int(np.argmax(elites.fitness))], shades[int(np.argmin(elites.fitness))]) == (255, 0)
    huge = "(({ at }) => [-1.7e308, 0, 1.7e308].map(at))(Page.axis({ low: -1.7e308, high: 1.7e308 }))"
    assert browser.value(huge) == [0, 0.5, 1]


def test_constant_fitness_is_neither_best_nor_worst(show, browser):
    show("constant")
    assert set(browser.value("Array.from(Page.run.shades('fitness').shades)")) == {128}
    assert browser.text("colour-low") == browser.text("colour-high") == "2.5"


def test_the_axes_that_vary_most_are_drawn_and_others_can_be_chosen(show, browser):
    show("joints")
    drawn = browser.value("document.getElementById('axes').dataset.axes.split(',')")
    names = browser.value("Page.run.features.map((f) => f.name)")
    assert [names[int(key.split()[1])] for key in drawn] == [name for name in names if "amplitude" not in name]
    assert "24 of 36 features are drawn, those in which elites differ most." in browser.text("axes-note")
    boxes = "document.querySelectorAll('#axes-list input')"
    browser.run(f"{boxes}[2].click()")  # amplitude of joint 0, after fitness and age
    drawn.append("feature 0")
    assert browser.value("document.getElementById('axes').dataset.axes.split(',')") == drawn
    browser.click("axes-all")
    assert len(browser.value("document.getElementById('axes').dataset.axes.split(',')")) == 38
    browser.click("axes-usual")
    assert browser.value("document.getElementById('axes').dataset.axes.split(',')") == drawn[:-1]


def test_labels_keep_what_tells_names_apart(show, browser):
    show("joints")
    texts = browser.value("Page.labels(Page.run.features.map((f) => f.name), 12)")
    assert len(set(texts)) == 36
    assert max(map(len, texts)) <= 12
    assert browser.value("Page.labels(['duty of leg 0', 'duty of leg 1'], 9)") == ["leg 0", "leg 1"]


def test_log_features_are_even_in_points_and_colours(show, browser):
    elites = show("log")
    browser.choose("scatter-x", "feature 0")
    browser.choose("colour-by", "feature 0")
    place = (np.log10(elites.features[:, 0]) + 3) / 6
    x = np.array([browser.value(f"Page.scatter.locate({row})[0]") for row in range(8)])
    slope = np.polyfit(place[:8], x, 1)
    np.testing.assert_allclose(x, np.polyval(slope, place[:8]), atol=0.5)
    np.testing.assert_allclose(browser.value("Array.from(Page.run.shades('feature 0').shades)"), 255 * place, atol=1)
    browser.choose("colour-by", "fitness")


def test_each_value_of_a_solution_has_its_own_scale(show, browser):
    elites = show("constant")  # its last value reaches a thousand times as far as the others
    row = browser.value("Page.row")
    widths = browser.value(
        "Array.from(document.querySelectorAll('#elite-solution .track i')).map((bar) => parseFloat(bar.style.width))"
    )
    low, high = elites.solutions.min(axis=0), elites.solutions.max(axis=0)
    np.testing.assert_allclose(widths, 100 * (elites.solutions[row] - low) / (high - low), atol=0.1)


def test_columns_of_the_csv_have_different_names(show, browser):
    elites = show("log")
    header = next(csv.reader(io.StringIO(browser.value("Page.run.csv()"))))
    assert header == list(elites.columns())
    assert "solution x0" in header


def test_one_feature(show, browser):
    show("one")
    assert browser.value("document.getElementById('axes').dataset.axes") == "feature 0,fitness"
    assert Path(browser.value("location.pathname")).name == "report.html"
    drawn = browser.value(
        "document.getElementById('map').getContext('2d').getImageData(0, 0, 600, 300).data.some((v) => v)"
    )
    assert drawn is True


def test_the_example_of_wanted_features_is_understood(odd, show, browser):
    for name in odd[0]:
        show(name)
        browser.run(
            "const e = document.getElementById('nearest'); e.value = e.placeholder;"
            " e.dispatchEvent(new Event('change'))"
        )
        assert browser.text("nearest-note") == "", browser.value("document.getElementById('nearest').placeholder")
        assert browser.value("document.querySelector('#elites-table thead').textContent").startswith("distance"), name
