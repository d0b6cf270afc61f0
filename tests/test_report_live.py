"""The server behind `watch`: it answers only this machine, reads only, and says what state a run is in."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest

from hill_runs import edit_settings
from report_runs import bowl_run, walk_run
from tesselite.report.live import LiveServer
from tesselite.runs.folder import RunFolder


@contextmanager
def serving(folder, **options):
    with LiveServer(folder, port=0, **options) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def ask(server, path, method="GET", **headers):
    connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=30)
    try:
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def update(server, since=""):
    status, body = ask(server, f"/update?since={since}")
    return json.loads(body) if status == 200 else None


def test_no_run_then_a_run_then_its_end(tmp_path):
    folder = tmp_path / "run"
    with serving(folder) as server:
        status, page = ask(server, "/")
        assert status == 200
        assert b"There is no run in" in page
        bowl_run(folder, 2)
        news = update(server)
        assert news["document"]["runs"][0]["state"] == "finished"
        assert "message" not in news["document"]
        from urllib.parse import quote

        assert update(server, quote(news["stamp"])) is None


def test_a_killed_run_is_told_from_a_running_one(tmp_path):
    folder = bowl_run(tmp_path / "run", 2)
    edit_settings(folder, evaluations=9999)
    with serving(folder) as server:
        with RunFolder.open(folder):
            running = update(server)
        killed = update(server)
    assert running["document"]["runs"][0]["state"] == "running"
    assert "message" not in running["document"]
    assert killed["document"]["runs"][0]["state"] == "stopped"
    assert "tesselite.resume(" in killed["document"]["message"]  # no name finds its problem


def test_a_damaged_run_is_said_and_the_last_good_one_stays(tmp_path):
    folder = bowl_run(tmp_path / "run", 2)
    with serving(folder) as server:
        update(server)
        good = (folder / "progress.csv").read_bytes()
        (folder / "progress.csv").write_text("nonsense\n")
        news = update(server)
        assert "cannot be read" in news["document"]["message"]
        assert news["document"]["runs"]
        (folder / "progress.csv").write_bytes(good)
        assert "message" not in update(server)["document"]


def test_views_of_elites_on_demand(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parent)
    folder = walk_run(tmp_path / "run")
    with serving(folder) as server:
        assert ask(server, "/elite?niche=0")[0] == 204  # nothing was looked at yet
        niche = update(server)["document"]["runs"][0]["archive"]["n_niches"] - 1
        filled = [n for n in range(niche) if ask(server, f"/elite?niche={n}")[0] == 200][:1]
        for scenario in ("", "ice"):
            status, body = ask(server, f"/elite?niche={filled[0]}&scenario={scenario}")
            assert status == 200
            assert json.loads(body)["document"]["kind"] == "trajectory"
        for wrong in ("niche=-1", "niche=99999999", "niche=x", "", f"niche={filled[0]}&scenario=fire"):
            assert ask(server, f"/elite?{wrong}")[0] == 204


def test_only_this_machine_is_answered(tmp_path):
    with serving(tmp_path) as server:
        assert server.server_address[0] == "127.0.0.1"
        assert server.loopback
        port = server.server_address[1]
        assert ask(server, "/", Host=f"localhost:{port}")[0] == 200
        assert ask(server, "/", Host=f"127.0.0.1:{port}")[0] == 200
        for host in ("example.org", f"example.org:{port}", "127.0.0.1.example.org", ""):
            assert ask(server, "/update", Host=host)[0] == 403


def test_it_reads_only(tmp_path):
    folder = bowl_run(tmp_path / "run", 2)
    before = {file.name: (file.read_bytes(), file.stat().st_mtime_ns) for file in folder.iterdir()}
    with serving(folder) as server:
        ask(server, "/")
        update(server)
        for method in ("POST", "PUT", "DELETE"):
            assert ask(server, "/", method)[0] == 501
        for path in ("/settings.json", "/../settings.json", "/%2e%2e/settings.json", "//etc/passwd"):
            assert ask(server, path)[0] == 404
    assert {file.name: (file.read_bytes(), file.stat().st_mtime_ns) for file in folder.iterdir()} == before


def test_wrong_options_are_refused(tmp_path):
    with pytest.raises(ValueError, match="port"):
        LiveServer(tmp_path, port=99999)
    with pytest.raises(ValueError, match="seconds"):
        LiveServer(tmp_path, port=0, seconds=0)
    with serving(tmp_path) as server, pytest.raises(ValueError, match="cannot listen"):
        LiveServer(tmp_path, port=server.server_address[1])


def test_strange_requests_are_answered_without_a_traceback(tmp_path, capfd):
    folder = bowl_run(tmp_path / "run", 2)
    with serving(folder) as server:
        update(server)
        assert ask(server, "/", Host="[")[0] == 400
        assert ask(server, f"/elite?niche={'9' * 5000}")[0] == 204
        assert server.RequestHandlerClass.timeout == 30.0
        server.RequestHandlerClass.timeout = 0.1
        try:
            with socket.create_connection(server.server_address, timeout=30) as idle:
                idle.sendall(b"GET / HTTP/1.1\r\n")
                assert idle.recv(100) == b""  # closed by the server
        finally:
            server.RequestHandlerClass.timeout = 30.0
    assert "Traceback" not in capfd.readouterr().err
