"""A real Chromium for the tests in this folder; without one they are skipped, with a reason."""

from __future__ import annotations

import json
import shutil
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent))  # for report_runs

PATIENCE = 60.0  # seconds: for busy machines


def _missing() -> str:
    missing = []
    if not (shutil.which("chromium") or shutil.which("google-chrome")):
        missing.append("Chromium (Debian: apt-get install chromium)")
    if not shutil.which("chromedriver"):
        missing.append("its driver (Debian: apt-get install chromium-driver)")
    try:
        import selenium  # noqa: F401
    except ImportError:
        missing.append("selenium (pip install selenium)")
    return " and ".join(missing)


class Browser:
    """Chromium with helpers for these tests."""

    def __init__(self, profile: Path) -> None:
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service

        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium") or shutil.which("google-chrome") or ""
        for argument in ("no-sandbox", "headless", "disable-gpu", "disable-background-networking", "hide-scrollbars"):
            options.add_argument(f"--{argument}")
        options.add_argument("--disable-dev-shm-usage")
        options.add_argument(f"--user-data-dir={profile / 'user'}")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.downloads = profile / "downloads"
        self.downloads.mkdir(parents=True)
        self.driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        self.driver.set_page_load_timeout(PATIENCE)
        self.driver.execute_cdp_cmd(
            "Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(self.downloads)}
        )
        self.driver.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
        self.size(1366, 768)

    def size(self, width: int, height: int, *, dark: bool = False) -> None:
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600},
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})

    def open(self, page: Path | str) -> None:
        self.driver.get_log("performance")
        self.driver.get_log("browser")
        self.driver.get(page if isinstance(page, str) else page.resolve().as_uri())
        self.wait("document.body.dataset.ready === 'all'")

    def work_seconds(self) -> float:
        """Processor time that the page's main thread has used, independent of other load."""
        metrics = self.driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
        return float(next(m["value"] for m in metrics if m["name"] == "TaskDuration"))

    def run(self, script: str) -> object:
        return self.driver.execute_script(script)

    def value(self, expression: str) -> object:
        return self.run(f"return {expression}")

    def leave(self) -> None:
        """Close a page whose server goes, or that was made to fail, and forget what it has complained about."""
        self.driver.get("about:blank")
        self.driver.get_log("browser")

    def text(self, element: str) -> str:
        return str(self.value(f"document.getElementById({json.dumps(element)}).textContent"))

    def wait(self, expression: str) -> None:
        end = time.monotonic() + PATIENCE
        while not self.value(expression):
            if time.monotonic() > end:
                raise AssertionError(f"waited in vain for {expression}; console: {self.driver.get_log('browser')}")
            time.sleep(0.05)

    def pointer(self, x: float, y: float, *, click: bool = False) -> None:
        kinds = ["mouseMoved", *(["mousePressed", "mouseReleased"] if click else [])]
        for kind in kinds:
            pressed = {"button": "left", "clickCount": 1} if kind != "mouseMoved" else {}
            self.driver.execute_cdp_cmd("Input.dispatchMouseEvent", {"type": kind, "x": x, "y": y, **pressed})

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        for kind, (x, y) in (
            ("mouseMoved", start),
            ("mousePressed", start),
            ("mouseMoved", end),
            ("mouseReleased", end),
        ):
            about = {"type": kind, "x": x, "y": y, "button": "left", "buttons": 1, "clickCount": 1}
            self.driver.execute_cdp_cmd("Input.dispatchMouseEvent", about)

    def key(self, name: str) -> None:
        from selenium.webdriver.common.action_chains import ActionChains
        from selenium.webdriver.common.keys import Keys

        ActionChains(self.driver).send_keys(getattr(Keys, name, name)).perform()

    def click(self, element: str) -> None:
        self.run(f"const e = document.getElementById({json.dumps(element)}); e.scrollIntoView(); e.click()")

    def choose(self, element: str, value: str) -> None:
        self.run(
            f"const e = document.getElementById({json.dumps(element)}); e.value = {json.dumps(value)};"
            "e.dispatchEvent(new Event('change'))"
        )

    def slide(self, element: str, value: int) -> None:
        self.run(
            f"const e = document.getElementById({json.dumps(element)}); e.value = {value};"
            "e.dispatchEvent(new Event('input'))"
        )

    def complaints(self) -> list[str]:
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]

    def requests(self) -> list[str]:
        """Addresses requested since the page was opened, other than those inside it."""
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        urls = [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]
        return [url for url in urls if not url.startswith(("data:", "blob:"))]


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    missing = _missing()
    if missing:
        pytest.skip(f"browser tests are left out: missing {missing}")
    made = Browser(tmp_path_factory.mktemp("chromium"))
    yield made
    made.driver.quit()


@pytest.fixture(autouse=True)
def _importable(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parent.parent)
