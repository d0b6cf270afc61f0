"""Pictures and films of the hexapod: their content and files."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest

from tesselite.archive.archive import Archive
from tesselite.cli.look import make_film
from tesselite.problems.hexapod_locomotion import TRIPOD, hexapod
from tesselite.problems.hexapod_locomotion.film import film, frames
from tesselite.problems.hexapod_locomotion.gait_pictures import draw_gait, draw_paths, plot_walk
from tesselite.report.style import figure
from tesselite.runs.run import run


@pytest.fixture(scope="module")
def motion():
    return hexapod().motion(TRIPOD)


def test_the_gait_diagrams_bars_are_the_contacts(motion):
    with figure() as made:
        ax = made.subplots()
        draw_gait(ax, motion)
        assert [label.get_text() for label in ax.get_yticklabels()][2] == "2 front left"
        last = len(motion.time) - 1
        for leg, bars in enumerate(ax.collections[:6]):
            boxes = [path.get_extents() for path in bars.get_paths()]
            on_floor = sum(box.width for box in boxes)
            assert on_floor == pytest.approx(0.015 * motion.contacts[:last, leg].sum())
            assert all(abs((box.y0 + box.y1) / 2 - leg) < 1e-9 for box in boxes)


def test_paths_end_where_the_robot_does_and_say_how(motion):
    fallen = hexapod().motion(TRIPOD, "leg 5")
    with figure() as made:
        ax = made.subplots()
        draw_paths(ax, {"intact": motion, "without leg 5": fallen})
        texts = [text.get_text() for text in ax.get_legend().get_texts()]
        assert texts[:2] == ["intact: 0.21 m/s", "without leg 5: the body touched the floor"]
        assert texts[2:] == ["start", "end", "end, invalid"]
        x, y = ax.lines[0].get_data()
        np.testing.assert_array_equal(x, motion.positions[:, 0])
        np.testing.assert_array_equal(y, motion.positions[:, 1])


def test_a_gif_has_all_frames_in_real_time(motion, tmp_path):
    from PIL import Image

    file = film(motion, tmp_path / "walk.gif", every=16)
    with Image.open(file) as image:
        assert image.format == "GIF"
        assert image.n_frames == len(range(0, len(motion.time), 16))
        assert image.info["duration"] == 240


@pytest.mark.parametrize("every", [1, 3])
def test_a_gif_of_frames_between_its_10_ms_is_in_real_time_too(motion, tmp_path, every):
    from PIL import Image

    short = replace(motion, time=motion.time[: 10 * every])
    with Image.open(film(short, tmp_path / "walk.gif", every=every)) as image:
        shown = []
        for frame in range(image.n_frames):
            image.seek(frame)
            shown.append(image.info["duration"])
    assert sum(shown) == 150 * every
    assert max(shown) - min(shown) == 10


def test_a_body_that_lies_on_the_floor_is_shown(tmp_path):
    problem = hexapod(missing=(1, 2))
    assert film(problem.motion(TRIPOD, "leg 0"), tmp_path / "lies.gif").exists()
    assert plot_walk(problem, TRIPOD, tmp_path / "lies.svg").exists()
    view = problem.elite_view(TRIPOD[None], "leg 0")
    assert (view["base"] == view["base"][:, :1]).all()


def test_frames_show_the_contacts(motion):
    contact = np.array([0xD5, 0x5E, 0x00])
    images = [np.asarray(image)[:290] for image in frames(motion, every=30)]
    shown = [int((np.abs(image - contact).sum(axis=2) < 30).sum()) for image in images]
    down = motion.contacts[::30].sum(axis=1)
    assert len(images) == len(down)
    for pixels, n in zip(shown, down, strict=True):
        assert (pixels > 0) == (n > 0)
    assert np.corrcoef(shown, down)[0, 1] > 0.8


def test_what_a_film_refuses(motion, tmp_path, monkeypatch):
    with pytest.raises(ValueError, match=r"\.gif or \.mp4"):
        film(motion, tmp_path / "walk.avi")
    with pytest.raises(ValueError, match="every"):
        film(motion, tmp_path / "walk.gif", every=0)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(ValueError, match="ffmpeg"):
        film(motion, tmp_path / "walk.mp4")


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="ffmpeg is not installed")
def test_an_mp4_where_ffmpeg_is(motion, tmp_path):
    file = film(motion, tmp_path / "walk.mp4", every=32)
    command = ["ffmpeg", "-v", "error", "-i", file, "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    read = np.frombuffer(subprocess.run(command, capture_output=True, check=True).stdout, np.uint8)
    images = np.array([np.asarray(image) for image in frames(motion, every=32)])
    assert read.size == images.size
    assert np.abs(read.reshape(images.shape).astype(float) - images).mean() < 4
    assert [f.name for f in tmp_path.iterdir()] == ["walk.mp4"]


def test_an_ffmpeg_that_fails_says_why_and_leaves_nothing(motion, tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    broken = tmp_path / "bin" / "ffmpeg"
    broken.write_text("#!/bin/sh\necho 'Unknown encoder' >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", f"{broken.parent}:/usr/bin:/bin")
    with pytest.raises(RuntimeError, match="ffmpeg failed: Unknown encoder"):
        film(motion, tmp_path / "walk.mp4", every=16)
    assert [f.name for f in tmp_path.iterdir()] == ["bin"]


def test_the_command_films_the_elite_and_tells_the_speed_of_what_is_seen(tmp_path, monkeypatch, capsys):
    shown = []
    monkeypatch.setattr(
        "tesselite.problems.hexapod_locomotion.film.film", lambda motion, out, title: shown.append((motion, title))
    )
    run(hexapod("phase"), out=tmp_path / "run", grid=2, evaluations=60, initial=60, seed=1)
    best = Archive.load(tmp_path / "run" / "archive.parquet").best
    make_film(tmp_path / "run", "best", None, tmp_path / "a.gif", True)
    said = json.loads(capsys.readouterr().out)
    assert said == {
        "out": str(tmp_path / "a.gif"),
        "niche": best.niche,
        "fitness": best.fitness,
        "distance": best.fitness,
    }
    for scenario in hexapod().scenarios:
        make_film(tmp_path / "run", str(best.niche), scenario, tmp_path / "a.gif", True)
        said = json.loads(capsys.readouterr().out)
        again = hexapod().evaluate(best.solution[None], scenario).fitness[0]
        assert said["distance"] == (None if np.isnan(again) else again)
        motion, title = shown[-1]
        speed = "" if motion.reason else f", {again / 5:.3f} m/s"
        assert title == f"niche {best.niche}, {scenario} missing{speed}"
    with pytest.raises(ValueError, match="the number of a niche below 4096"):
        make_film(tmp_path / "run", "4096", None, tmp_path / "a.gif", False)


def test_a_problem_draws_its_best_elite(tmp_path):
    class Best:
        fitness = 1.05
        solution = TRIPOD

    class Holder:
        best = Best()

    class Empty:
        best = None

    assert hexapod().draw(Empty(), tmp_path, "png") == []
    (file,) = hexapod().draw(Holder(), tmp_path, "svg")
    assert file == tmp_path / "best.svg"
    assert file.read_text().startswith("<?xml")
