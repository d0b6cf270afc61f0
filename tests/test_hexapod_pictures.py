"""Pictures and films of the hexapod: what they show, and that they are made."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from tesselite.problems.hexapod_locomotion import TRIPOD, hexapod
from tesselite.problems.hexapod_locomotion.film import film, frames
from tesselite.problems.hexapod_locomotion.pictures import draw_gait, draw_paths
from tesselite.report.style import figure


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
        assert texts == ["intact: 0.21 m/s", "without leg 5: the body touched the floor"]
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
    assert film(motion, tmp_path / "walk.mp4", every=32).stat().st_size > 1000


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
