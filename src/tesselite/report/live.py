"""A small server that shows a run in progress: the interactive page, kept up to date. It reads and never writes. It
listens on the loopback interface by default, and answers only requests that name the host it was opened under, so that
a web page elsewhere cannot read a run through a visitor's browser. The page itself is in `page`.
"""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tesselite import __version__
from tesselite.report.page.html import document_of, page_of, plotly_bundle
from tesselite.report.page.packed_arrays import PackedArrays, plain
from tesselite.report.page.run_data import RunData, locked, read_run
from tesselite.report.page.views import describe_view

PORT = 8137
SECONDS = 2.0
_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_FILES = ("settings.json", "events.jsonl", "progress.csv", "archive.parquet", "assessment.parquet")


@dataclass
class Watched:
    """A folder in which a run is, was, or will be; what it holds is read again when its files have changed."""

    folder: Path
    _stamp: str = ""
    _run: RunData | None = None
    _document: dict[str, Any] = field(default_factory=dict)
    _arrays: PackedArrays = field(default_factory=PackedArrays)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def stamp(self) -> str:
        """A value that changes whenever there is something new to show."""
        parts = []
        # Before the first checkpoint, the results that are in the log are counted.
        for name in _FILES if (self.folder / "archive.parquet").exists() else (*_FILES, "evaluations.log"):
            try:
                about = (self.folder / name).stat()
                parts.append(f"{about.st_mtime_ns}-{about.st_size}")
            except OSError:
                parts.append("")
        return " ".join([*parts, "running" if locked(self.folder) else ""])

    def look(self) -> tuple[str, dict[str, Any], PackedArrays]:
        """The stamp, the document and the arrays of the current state."""
        with self._lock:
            stamp = self.stamp()
            if stamp != self._stamp:
                self._read()
                self._stamp = stamp
            return stamp, self._document, self._arrays

    def _read(self) -> None:
        if not (self.folder / "settings.json").exists():
            self._run = None
            message = f"There is no run in {self.folder} yet. It is shown here as soon as it starts."
            self._document = {"made_by": __version__, "runs": [], "message": message}
            self._arrays = PackedArrays()
            return
        known = self._run.archive.tessellation if self._run and self._run.archive else None
        try:
            self._run = read_run(self.folder, tessellation=known)
        except (ValueError, OSError) as error:
            # A file may be between two states (a resumed run rewrites some); if not, the message stays.
            if not self._document.get("runs"):
                self._document = {"made_by": __version__, "runs": []}
            self._document = {**self._document, "message": f"The run cannot be read: {error}"}
            return
        self._document, self._arrays = document_of([self._run], with_views=False)
        if self._run.state == "stopped":
            self._document["message"] = (
                "This run is not finished and no longer active: it was stopped or killed. Continue it with: "
                f"{self._run.plan.how_to_resume(self.folder)}"
            )

    def view(self, niche: int, scenario: str | None) -> tuple[dict[str, Any], PackedArrays] | None:
        """What the problem shows of one elite; None if there is no such elite, scenario or view."""
        with self._lock:
            run = self._run
        if run is None or run.archive is None or run.problem is None or not 0 <= niche < run.archive.n_niches:
            return None
        elite = run.archive.get(niche)
        if elite is None or (scenario is not None and scenario not in run.problem.scenarios):
            return None
        arrays = PackedArrays()
        try:
            described = describe_view(run.problem, elite.solution, scenario, arrays)
        except Exception:  # a user's own view may raise anything; the page says that there is none
            return None
        return None if described is None else (described, arrays)


class LiveServer(ThreadingHTTPServer):
    """Serves the page of one watched folder; `seconds` is the refresh interval of pages. Port 0 takes a free one."""

    daemon_threads = True

    def __init__(self, folder: Path, host: str = "127.0.0.1", port: int = PORT, seconds: float = SECONDS) -> None:
        if not 0 <= port <= 65535:
            raise ValueError(f"port: expected 0 to 65535, got {port}")
        if not seconds > 0:
            raise ValueError(f"seconds: expected a number above 0, got {seconds}")
        plotly_bundle()
        self.watched = Watched(folder)
        self.seconds = seconds
        self.loopback = host in _LOOPBACK
        try:
            super().__init__((host, port), _Handler)
        except OSError as error:
            raise ValueError(f"cannot listen on {host}, port {port}: {error.strerror or error}; try --port 0") from None

    @property
    def url(self) -> str:
        """Where a browser finds the page."""
        host, port = self.server_address[:2]
        return f"http://{host.decode() if isinstance(host, bytes) else host}:{port}/"


class _Handler(BaseHTTPRequestHandler):
    server: LiveServer
    server_version = f"tesselite/{__version__}"
    sys_version = ""
    timeout = 30.0  # seconds that a connection may be idle, or take with its request

    def do_GET(self) -> None:
        """Answer with the page, an update, or the view of an elite."""
        try:
            host, asked = urlsplit(f"//{self.headers.get('Host', '')}").hostname, urlsplit(self.path)
        except ValueError:  # a bracket without its other
            self._send(HTTPStatus.BAD_REQUEST, b"bad request\n", "text/plain")
            return
        if self.server.loopback and host not in _LOOPBACK:
            self._send(HTTPStatus.FORBIDDEN, b"this server answers only to the machine it runs on\n", "text/plain")
            return
        query = {name: values[-1] for name, values in parse_qs(asked.query).items()}
        if asked.path == "/":
            stamp, document, arrays = self.server.watched.look()
            live = {"seconds": self.server.seconds, "stamp": stamp}
            self._send(HTTPStatus.OK, page_of(document, arrays, live=live).encode(), "text/html; charset=utf-8")
        elif asked.path == "/update":
            stamp, document, arrays = self.server.watched.look()
            if query.get("since") == stamp:
                self._send(HTTPStatus.NO_CONTENT, b"", "text/plain")
            else:
                self._send_json({"stamp": stamp, "document": document, "block": arrays.packed()})
        elif asked.path == "/elite":
            niche = query.get("niche", "")
            a_niche = niche.isdecimal() and len(niche) < 20  # Python rejects numbers of thousands of digits
            found = self.server.watched.view(int(niche), query.get("scenario") or None) if a_niche else None
            if found is None:
                self._send(HTTPStatus.NO_CONTENT, b"", "text/plain")
            else:
                self._send_json({"document": found[0], "block": found[1].packed()})
        else:
            self._send(HTTPStatus.NOT_FOUND, b"there is nothing here\n", "text/plain")

    def _send_json(self, content: dict[str, Any]) -> None:
        self._send(HTTPStatus.OK, json.dumps(plain(content), allow_nan=False).encode(), "application/json")

    def _send(self, status: HTTPStatus, body: bytes, kind: str) -> None:
        try:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.send_header("X-Content-Type-Options", "nosniff")
            self.end_headers()
            self.wfile.write(body)
        except (BrokenPipeError, ConnectionResetError):
            pass  # the browser closed the connection

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name that http.server uses
        """Do not log requests."""
