"""Pictures of gaits: which feet touch the floor when, and which path the body takes, intact and damaged.

Films live in `film`; figures of archives and progress in `tesselite.report`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tesselite.problems.hexapod_locomotion.controller import DURATION
from tesselite.problems.hexapod_locomotion.motion import Motion
from tesselite.problems.hexapod_locomotion.problem import Hexapod
from tesselite.problems.hexapod_locomotion.robot import BASE_SIZE, LEGS, N_LEGS


def _outcome(motion: Motion) -> str:
    return f"{motion.speed:.2f} m/s" if motion.reason is None else motion.reason


def _colour(number: int) -> str:
    """The colour of a motion: black for the first, which is intact, in all panels."""
    from tesselite.report.style import LINES

    return "#000000" if number == 0 else LINES[(number - 1) % (len(LINES) - 1)]


def draw_gait(ax: Any, motion: Motion, *, colour: str = "#0072B2", named: bool = True) -> None:
    """Draw a gait diagram into the axes: for each leg, a bar while its foot touches the floor."""
    for leg in range(N_LEGS):
        spans = [(motion.time[a], motion.time[b] - motion.time[a]) for a, b in motion.stances(leg)]
        ax.broken_barh(spans, (leg - 0.36, 0.72), facecolors=colour, linewidth=0)
        if leg in motion.body.missing:
            ax.axhspan(leg - 0.5, leg + 0.5, color="#dddddd", zorder=0, linewidth=0)
    ax.axvline(DURATION, color="#888888", linewidth=0.8, linestyle=":")
    ax.set_ylim(N_LEGS - 0.5, -0.5)
    ax.set_xlim(0, max(DURATION, float(motion.time[-1])))
    ax.set_yticks(range(N_LEGS), [f"{i} {leg.place}" if named else str(i) for i, leg in enumerate(LEGS)])
    ax.tick_params(length=2)


def draw_paths(ax: Any, motions: Mapping[str, Motion]) -> None:
    """Draw the body's path seen from above, in metres, x forward to the right.

    An empty circle is the start, a full one the end, and a cross the end of an invalid path.
    """
    for i, (name, motion) in enumerate(motions.items()):
        colour = _colour(i)
        x, y = motion.positions[:, 0], motion.positions[:, 1]
        ax.plot(x, y, color=colour, linewidth=2.0 if i == 0 else 1.2, label=f"{name}: {_outcome(motion)}")
        ax.plot(x[-1:], y[-1:], "o" if motion.reason is None else "x", color=colour, markersize=5)
    ends = {"start": ("o", "none"), "end": ("o", "#000000"), "end, invalid": ("x", "#000000")}
    for name, (marker, fill) in ends.items():
        at = [0.0] if name == "start" else []
        ax.plot(at, at, marker, color="#000000", markersize=4, markerfacecolor=fill, label=name)
    ax.set_aspect("equal", adjustable="datalim")
    ax.grid(True, color="#eeeeee", linewidth=0.8)
    ax.set_axisbelow(True)
    ax.set_xlabel("forward, m")
    ax.set_ylabel("left, m")
    ax.legend(frameon=False, fontsize=7, loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=2)


def draw_walk(made: Any, problem: Hexapod, solution: Any, title: str) -> None:
    """Draw one solution into an empty figure: gait diagrams and paths, intact and under each damage."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    motions = {str(problem.body): problem.motion(solution)}
    for scenario in problem.scenarios:
        motion = problem.motion(solution, scenario)
        gone = [LEGS[leg].place for leg in motion.body.missing if leg not in problem.body.missing]
        motions[f"without {scenario}" + (f" ({gone[0]})" if gone else "")] = motion
    left, right = made.subfigures(1, 2, width_ratios=(1.0, 1.15))
    axes = left.subplots(
        1 + N_LEGS, 1, sharex=True, gridspec_kw={"height_ratios": [1.9, *[1.0] * N_LEGS]}, squeeze=False
    )[:, 0]
    for i, (ax, (name, motion)) in enumerate(zip(axes, motions.items(), strict=True)):
        draw_gait(ax, motion, named=i == 0, colour=_colour(i))
        ax.set_title(f"{name}: {_outcome(motion)}", fontsize=8, loc="left", pad=2)
        if i:
            ax.tick_params(axis="y", labelsize=5)
    axes[-1].set_xlim(0, max(DURATION, *(float(motion.time[-1]) for motion in motions.values())))
    axes[0].set_ylabel("leg")
    axes[-1].set_xlabel("time, s")
    handles = [
        Patch(color="#000000", label="foot on the floor"),
        Patch(color="#dddddd", label="leg is missing"),
        Line2D([], [], color="#888888", linewidth=0.8, linestyle=":", label="the controller stops"),
    ]
    left.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False, fontsize=7)
    left.suptitle("feet on the floor", fontsize=10)
    ax = right.subplots()
    draw_paths(ax, motions)
    right.suptitle("path of the body from above", fontsize=10)
    made.suptitle(title)


def plot_walk(problem: Hexapod, solution: Any, file: Path, title: str = "") -> Path:
    """Write a picture of one solution's gait and paths, intact and under each damage; PNG, SVG or PDF by its ending."""
    from tesselite.report.style import figure, save

    with figure(11.0, 7.2) as made:
        draw_walk(made, problem, solution, title or problem.name)
        return save(made, Path(file))


def draw_body(ax: Any, missing: Iterable[int]) -> None:
    """The robot from above, walking upwards; a missing leg is dotted."""
    gone = set(missing)
    half_length, half_width = BASE_SIZE[0] / 2, BASE_SIZE[1] / 2
    corners = np.array([(1, 1), (1, -1), (-1, -1), (-1, 1), (1, 1)]) * (half_length, half_width)
    ax.fill(-corners[:, 1], corners[:, 0], color="0.75", linewidth=0)
    for number, hip in enumerate(LEGS):
        outward = np.array([-hip.side * np.sin(hip.yaw), hip.side * np.cos(hip.yaw)])
        hip_at = np.array([hip.x, hip.y])
        foot = hip_at + 0.145 * outward
        line, colour = (":", "#D55E00") if number in gone else ("-", "0.15")
        ax.plot([-hip_at[1], -foot[1]], [hip_at[0], foot[0]], line, color=colour, linewidth=1.5)
        if number not in gone:
            ax.plot(-foot[1], foot[0], "o", color=colour, markersize=2.5)
    ax.annotate("", xy=(0, 0.09), xytext=(0, -0.06), arrowprops={"arrowstyle": "->", "color": "0.3", "linewidth": 0.8})
    ax.set(xlim=(-0.27, 0.27), ylim=(-0.27, 0.27))
    ax.set_aspect("equal")
