"""Films of the hexapod: its motion drawn frame by frame, with floor, shadow, path and contacts; GIF or MP4.

The motion itself comes from `Hexapod.motion`; still pictures live in `gait_pictures`.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tesselite.base.arrays import Floats
from tesselite.base.atomic import write_atomically
from tesselite.problems.hexapod_locomotion.controller import STEP
from tesselite.problems.hexapod_locomotion.motion import Motion
from tesselite.problems.hexapod_locomotion.robot import BASE_SIZE, FOOT_RADIUS, LEGS, N_LEGS

_SHARP = 2  # frames are drawn this much larger and scaled down, which smooths their edges
_PIXELS_PER_M = 350.0
_AZIMUTH, _ELEVATION = np.radians(-62.0), np.radians(28.0)
_BACKGROUND, _FLOOR_LINE, _SHADOW = "#ffffff", "#e4e7ec", "#d5dae2"
_LEFT, _RIGHT, _CONTACT, _AIR, _INK, _PATH = "#0072B2", "#56B4E9", "#D55E00", "#9aa3af", "#222222", "#009E73"
_FACES = ((0, 1, 3, 2), (4, 5, 7, 6), (0, 1, 5, 4), (2, 3, 7, 6), (0, 2, 6, 4), (1, 3, 7, 5))
_FACE_COLOURS = ("#4b5563", "#9ca3af", "#6b7280", "#6b7280", "#5b6472", "#7b8494")


class _Camera:
    """Parallel projection that follows the body: world points to pixels, and how near they are."""

    def __init__(self, width: int, height: int) -> None:
        ca, sa, ce, se = np.cos(_AZIMUTH), np.sin(_AZIMUTH), np.cos(_ELEVATION), np.sin(_ELEVATION)
        self._right = np.array([-sa, ca, 0.0])
        self._up = np.array([-se * ca, -se * sa, ce])
        self._near = np.array([ce * ca, ce * sa, se])
        self._centre = np.array([width * 0.5, height * 0.47]) * _SHARP
        self._scale = _PIXELS_PER_M * _SHARP
        self.target = np.zeros(3)

    def pixels(self, points: Floats) -> list[tuple[float, float]]:
        seen = np.atleast_2d(points) - self.target
        x = self._centre[0] + self._scale * (seen @ self._right)
        y = self._centre[1] - self._scale * (seen @ self._up)
        return list(zip(x.tolist(), y.tolist(), strict=True))

    def nearness(self, points: Floats) -> float:
        return float(np.mean((np.atleast_2d(points) - self.target) @ self._near))


def _font(size: int) -> Any:
    """matplotlib's own sans serif, so that films look alike everywhere."""
    from matplotlib import font_manager
    from PIL import ImageFont

    return ImageFont.truetype(font_manager.findfont("DejaVu Sans"), size * _SHARP)


def _smoothed(positions: Floats, reach: int = 24) -> Floats:
    """The body's ground path as a camera follows it: averaged over a second or so, at height 0.07."""
    padded = np.pad(positions[:, :2], ((reach, reach), (0, 0)), mode="edge")
    window = np.ones(2 * reach + 1) / (2 * reach + 1)
    path = np.column_stack([np.convolve(padded[:, i], window, mode="valid") for i in range(2)])
    return np.column_stack([path, np.full(len(path), 0.07)])


def _draw_floor(draw: Any, camera: _Camera) -> None:
    spacing, reach = 0.2, 8
    origin = np.floor(camera.target[:2] / spacing) * spacing
    for i in range(-reach, reach + 1):
        offset = i * spacing
        far = reach * spacing
        for a, b in (((offset, -far), (offset, far)), ((-far, offset), (far, offset))):
            ends = np.array([[origin[0] + a[0], origin[1] + a[1], 0.0], [origin[0] + b[0], origin[1] + b[1], 0.0]])
            draw.line(camera.pixels(ends), fill=_FLOOR_LINE, width=_SHARP)


def _disc(draw: Any, at: tuple[float, float], radius: float, fill: str) -> None:
    draw.ellipse([at[0] - radius, at[1] - radius, at[0] + radius, at[1] + radius], fill=fill)


def _draw_robot(draw: Any, camera: _Camera, motion: Motion, i: int) -> None:
    position, rotation = motion.positions[i], motion.rotations[i]
    half = np.array(BASE_SIZE) / 2
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * half
    world = corners @ rotation.T + position
    flat = world * [1.0, 1.0, 0.0]
    hull = [0, 2, 6, 4] if rotation[2, 2] > 0 else [1, 3, 7, 5]
    draw.polygon(camera.pixels(flat[hull]), fill=_SHADOW)
    parts: list[tuple[float, int]] = [(camera.nearness(position), -1)]
    for leg in range(N_LEGS):
        points = motion.points[i, leg]
        if np.isfinite(points).all():
            draw.line(camera.pixels(points * [1.0, 1.0, 0.0]), fill=_SHADOW, width=5 * _SHARP)
            parts.append((camera.nearness(points[2:]), leg))
    for _, leg in sorted(parts):
        if leg < 0:
            faces = sorted((camera.nearness(world[list(face)]), number) for number, face in enumerate(_FACES))
            for _, number in faces[3:]:  # the three that face the camera
                outline = camera.pixels(world[list(_FACES[number])])
                draw.polygon(outline, fill=_FACE_COLOURS[number], outline="#374151")
            nose = np.array(
                [[half[0], 0.0, half[2]], [half[0] * 0.55, 0.035, half[2]], [half[0] * 0.55, -0.035, half[2]]]
            )
            if rotation[2, 2] > 0:
                draw.polygon(camera.pixels(nose @ rotation.T + position), fill="#f3f4f6")
            continue
        colour = _LEFT if LEGS[leg].side > 0 else _RIGHT
        points = camera.pixels(motion.points[i, leg])
        for a, b, width in ((0, 1, 8), (1, 2, 7), (2, 3, 6)):
            draw.line([points[a], points[b]], fill=colour, width=width * _SHARP)
            _disc(draw, points[b], width * 0.55 * _SHARP, colour)
        _disc(
            draw, points[3], FOOT_RADIUS * _PIXELS_PER_M * 0.8 * _SHARP, _CONTACT if motion.contacts[i, leg] else _AIR
        )


def _draw_contacts(draw: Any, motion: Motion, i: int, width: int, height: int, font: Any) -> None:
    left, right, row = 82 * _SHARP, (width - 12) * _SHARP, 7 * _SHARP
    top = (height - 60) * _SHARP
    last = len(motion.time) - 1
    per_step = (right - left) / max(last, 1)
    for leg in range(N_LEGS):
        y = top + leg * (row + 2 * _SHARP)
        draw.text((8 * _SHARP, y - 2 * _SHARP), f"{leg} {LEGS[leg].place}", fill=_INK, font=font)
        for a, b in motion.stances(leg):
            done = min(int(b), i)
            draw.rectangle([left + a * per_step, y, left + b * per_step, y + row], fill="#e5e7eb")
            if done > a:
                draw.rectangle([left + a * per_step, y, left + done * per_step, y + row], fill=_CONTACT)
        if leg in motion.body.missing:
            draw.text((left, y - 2 * _SHARP), "missing", fill="#999999", font=font)
    cursor = left + i * per_step
    draw.line([(cursor, top - 3 * _SHARP), (cursor, top + 6 * (row + 2 * _SHARP))], fill=_INK, width=_SHARP)


def frames(motion: Motion, every: int = 2, width: int = 512, height: int = 364, title: str = "") -> Iterator[Any]:
    """The motion as Pillow images, one per `every` steps of 15 ms."""
    from PIL import Image, ImageDraw

    camera = _Camera(width, height)
    follow = _smoothed(motion.positions)
    large, small = _font(12), _font(7)
    for i in range(0, len(motion.time), every):
        camera.target = follow[i]
        image = Image.new("RGB", (width * _SHARP, height * _SHARP), _BACKGROUND)
        draw = ImageDraw.Draw(image)
        _draw_floor(draw, camera)
        path = motion.positions[: i + 1] * [1.0, 1.0, 0.0]
        if len(path) > 1:
            draw.line(camera.pixels(path), fill=_PATH, width=2 * _SHARP)
        _draw_robot(draw, camera, motion, i)
        draw.rectangle([0, (height - 68) * _SHARP, width * _SHARP, height * _SHARP], fill=_BACKGROUND)
        _draw_contacts(draw, motion, i, width, height, small)
        gone = motion.positions[i, 0] - motion.positions[0, 0]
        text = f"{title + '   ' if title else ''}{motion.time[i]:.2f} s   {gone:+.2f} m"
        if motion.reason is not None and i + every >= len(motion.time):
            text += f"   {motion.reason}"
        draw.text((10 * _SHARP, 8 * _SHARP), text, fill=_INK, font=large)
        yield image.resize((width, height), Image.Resampling.LANCZOS)


def film(motion: Motion, file: str | Path, *, every: int = 2, title: str = "") -> Path:
    """Write the motion as a film in real time: a GIF, or an MP4 where the program ffmpeg is installed.

    There is a frame per `every` steps of 15 ms; of a GIF with 1, browsers slow down the frames of 10 ms. ValueError
    for another ending, or for .mp4 without ffmpeg.
    """
    path = Path(file)
    kind = path.suffix.lower()
    if every < 1:
        raise ValueError(f"every: expected at least 1, got {every}")
    if kind not in (".gif", ".mp4"):
        raise ValueError(f"file: expected a name that ends with .gif or .mp4, got {path.name!r}")
    ffmpeg = shutil.which("ffmpeg")
    if kind == ".mp4" and ffmpeg is None:
        raise ValueError("file: .mp4 needs the program ffmpeg, which is not installed; use a name that ends with .gif")
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == ".gif":
        _write_gif(frames(motion, every, title=title), path, 1000 * STEP * every)
    else:
        assert ffmpeg is not None
        images = frames(motion, every, title=title)
        write_atomically(path, lambda part: _encode(images, part, 1.0 / (STEP * every), ffmpeg))
    return path


def _write_gif(images: Iterator[Any], path: Path, milliseconds: float) -> None:
    from PIL import Image

    pictures = list(images)
    # One palette for the whole film: colours do not flicker, and unchanged pixels compress well.
    palette = pictures[len(pictures) // 2].quantize(32, method=Image.Quantize.MEDIANCUT)
    indexed = [picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in pictures]
    # A GIF counts in 10 ms: rounding when each frame begins, not how long it lasts, keeps the film in real time.
    begins = np.floor(np.arange(len(indexed) + 1) * milliseconds / 10 + 0.5).astype(np.int64)
    durations = (10 * np.diff(begins)).tolist()
    write_atomically(
        path,
        lambda part: indexed[0].save(
            part, format="GIF", save_all=True, append_images=indexed[1:], duration=durations, loop=0, optimize=False
        ),
    )


def _encode(images: Iterator[Any], path: Path, rate: float, ffmpeg: str) -> None:
    """Encode the images with ffmpeg as H.264; RuntimeError with its message if it fails."""
    first = next(images)
    command = [
        ffmpeg, "-y", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "rgb24",
        "-s", f"{first.width}x{first.height}", "-r", f"{rate:.4f}", "-i", "-",
        "-c:v", "libx264", "-pix_fmt", "yuv420p", "-movflags", "+faststart", "-f", "mp4", str(path),
    ]  # fmt: skip
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        try:
            process.stdin.write(first.tobytes())
            for image in images:
                process.stdin.write(image.tobytes())
            process.stdin.close()
        except BrokenPipeError:
            pass  # it has failed; its output says why
        complaint = process.stderr.read().decode(errors="replace").strip()
    if process.returncode:
        raise RuntimeError(f"ffmpeg failed: {complaint}")
