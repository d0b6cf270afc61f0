"""Make the pictures of the interactive page that the documentation shows: `python tools/screenshots.py RUNS IMAGES`.

RUNS is a folder for the runs, which are kept and reused. Needs Chromium, its driver and
selenium.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

import tesselite as tl
from tesselite.assessment.scenarios import assess_run
from tesselite.emitters import operators as variation
from tesselite.report.page import write_report
from tesselite.runs.run import run

COMPARED = [f"{kind}-{seed}" for kind in ("iso-line", "gaussian") for seed in range(4)]
# Page, runs, width, height, dark, what to do before the picture is taken.
SHOTS = (
    ("report-maze", ["maze"], 1366, 1000, False, "slide('frame', 110)"),
    ("report-hexapod", ["hexapod"], 1366, 1000, True, "slide('frame', 30)"),
    ("report-arm", ["arm"], 1366, 768, False, "Page.select(Page.run.n - 700)"),
    ("report-comparison", COMPARED, 1366, 1060, False, ""),
    ("report-phone", ["maze"], 390, 844, False, ""),
)
SLIDE = "const slide = (id, v) => { const e = Page.by(id); e.value = v; e.dispatchEvent(new Event('input')) };"


def make_run(name: str, folder: Path) -> None:
    """The run of this name, assessed where its problem has scenarios."""
    kind, _, seed = name.rpartition("-")
    if name == "maze":
        run(tl.problems.maze("2d"), out=folder, n_niches=2000, evaluations=20_000, seed=1)
    elif name == "hexapod":
        run(tl.problems.hexapod("duty"), out=folder, n_niches=2000, evaluations=80_000, seed=1)
    elif name == "arm":
        run(tl.problems.arm(10), out=folder, n_niches=5000, evaluations=1_000_000, seed=1)
    else:
        operator = variation.iso_line(0.01, 0.2) if kind == "iso-line" else variation.gaussian(0.1)
        run(
            tl.problems.arm(10),
            out=folder,
            grid=40,
            evaluations=100_000,
            variation=operator,
            seed=int(seed),
        )
    if name in ("maze", "hexapod"):
        assess_run(folder)


def open_browser(profile: str) -> webdriver.Chrome:
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or shutil.which("google-chrome") or ""
    for argument in ("no-sandbox", "headless", "disable-gpu", "disable-background-networking", "hide-scrollbars"):
        options.add_argument(f"--{argument}")
    options.add_argument(f"--user-data-dir={profile}")
    return webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))


def main(runs: Path, images: Path) -> None:
    for name in dict.fromkeys(name for shot in SHOTS for name in shot[1]):
        if not (runs / name).exists():
            print(f"running {name}", flush=True)
            make_run(name, runs / name)
    with tempfile.TemporaryDirectory() as profile:
        browser = open_browser(profile)
        try:
            for name, chosen, width, height, dark, script in SHOTS:
                page = write_report([runs / run for run in chosen], runs / f"{name}.html")
                size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
                browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
                scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
                browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
                browser.get(page.resolve().as_uri())
                while browser.execute_script("return document.body.dataset.ready") != "all":
                    time.sleep(0.1)
                time.sleep(0.5)
                browser.execute_script(f"{SLIDE} {script}")
                time.sleep(0.5)
                browser.save_screenshot(str(images / f"{name}.png"))
                print(images / f"{name}.png", flush=True)
        finally:
            browser.quit()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
