"""`tesselite watch` in a real browser: the page follows an active run, and says when there is none or it ended."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager

from report_runs import named_walk, walk_run
from tesselite.report.live import LiveServer
from tesselite.runs.run import run


@contextmanager
def serving(folder):
    with LiveServer(folder, port=0, seconds=0.2) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def test_the_page_follows_a_run(browser, tmp_path):
    folder = tmp_path / "run"
    at_most = [0]
    going = threading.Event()

    def observe(going_run):
        # The run proceeds only as far as the test allows, so that every state can be checked.
        while going_run.search.evaluations >= at_most[0] and not going.is_set():
            time.sleep(0.01)

    def work():
        run(
            named_walk(),
            out=folder,
            n_niches=100,
            evaluations=4000,
            initial=200,
            batch_size=200,
            seed=1,
            checkpoint_seconds=0.0,
            progress=observe,
        )

    runner = threading.Thread(target=work)
    with serving(folder) as server:
        try:
            browser.open(server.url)
            assert browser.text("state") == "no run yet"
            assert "There is no run in" in browser.text("message")
            at_most[0] = 600
            runner.start()
            browser.wait("document.getElementById('state').textContent === 'running'")
            browser.wait("Page.run && Page.run.evaluations >= 400")
            first = browser.value("Page.run.evaluations")
            assert browser.text("elite-best") == "Following the best"
            browser.run("Page.select(3)")
            browser.wait("document.getElementById('view').dataset.frame !== undefined")  # asked of the server
            assert browser.text("elite-best") == "Show the best"
            browser.choose("colour-by", "age")
            niche = browser.value("Page.run.archive.niches[Page.row]")
            updates = int(str(browser.value("document.body.dataset.updates")))
            at_most[0] = 2000
            browser.wait(f"Page.run && Page.run.evaluations > {first}")
            browser.wait(f"+document.body.dataset.updates > {updates}")
            assert browser.value("Page.run.archive.niches[Page.row]") == niche  # what was looked at stays
            assert browser.value("Page.colour") == "age"
            browser.click("elite-best")
            seen = browser.value("Page.run.archive.fitness[Page.row]")
            going.set()
            runner.join()
            browser.wait("document.getElementById('state').textContent === 'finished'")
            assert browser.value("Page.run.evaluations") == 4000
            assert browser.value("document.getElementById('message').hidden") is True
            best = browser.value("Math.min(...Page.run.archive.fitness)")
            assert browser.value("Page.run.archive.fitness[Page.row]") == best <= seen  # the best was followed
        finally:
            going.set()
            if runner.is_alive():
                runner.join()
    assert browser.complaints() == []
    assert {url.split("?")[0] for url in browser.requests()} <= {server.url + name for name in ("", "update", "elite")}


def test_a_view_stays_while_its_elite_does(browser, tmp_path):
    folder = walk_run(tmp_path / "run")
    with serving(folder) as server:
        browser.open(server.url)
        browser.wait("document.getElementById('view').dataset.frame !== undefined")
        browser.slide("frame", 4)
        browser.run("window.entry = document.getElementById('colour-by').options[0]")
        (folder / "progress.csv").touch()
        browser.wait("+document.body.dataset.updates >= 1")
        assert browser.value("document.getElementById('view').dataset.frame") == "4"
        assert browser.value("document.getElementById('view').hidden") is False
        assert browser.value("window.entry.isConnected") is True
    assert len([url for url in browser.requests() if "/elite?" in url]) == 1
    browser.leave()


def test_what_cannot_be_drawn_is_no_fault_of_the_server(browser, tmp_path):
    with serving(tmp_path / "run") as server:
        browser.open(server.url)
        browser.run("Page.show = () => Promise.reject(new Error('no ink'))")
        walk_run(tmp_path / "run")
        browser.wait("document.getElementById('message').textContent.includes('no ink')")
        assert browser.text("state") == "no run yet"
        browser.leave()


def test_a_server_that_goes_is_noticed(browser, tmp_path):
    with serving(tmp_path / "run") as server:
        browser.open(server.url)
    browser.wait("document.getElementById('state').textContent === 'server gone'")
    browser.leave()
