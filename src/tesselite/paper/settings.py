"""The paper's settings of a problem, in the form in which a run takes them: `tesselite run maze:20d --paper`.

The numbers themselves, with their places in the paper, are in `maze` and `hexapod` beside this file.
"""

from __future__ import annotations

from dataclasses import dataclass

from tesselite.paper import hexapod, maze

_USUAL = {"maze": "10d", "hexapod": "duty"}  # the default variant of a problem


@dataclass(frozen=True)
class PaperSettings:
    """The paper's settings of CVT-MAP-Elites for a problem, and of the grid, if there was one."""

    n_niches: int
    n_samples: int
    initial: int
    batch_size: int
    evaluations: int
    grid: int | None


def paper_settings(spec: str) -> PaperSettings:
    """The settings for a problem by name; ValueError if the paper has no such experiment."""
    name, _, descriptor = spec.partition(":")
    descriptor = descriptor.partition(",")[0] or _USUAL.get(name, "")
    if name == "maze" and descriptor in maze.PAPER.descriptors:
        m = maze.PAPER
        return PaperSettings(m.n_niches, m.n_samples, m.initial, m.batch_size, m.evaluations, m.grid.get(descriptor))
    if f"{name}:{descriptor}" in hexapod.PAPER:
        h = hexapod.PAPER[f"{name}:{descriptor}"]
        return PaperSettings(h.n_niches, h.n_samples, h.initial, h.batch_size, h.evaluations, h.grid)
    known = [f"maze:{d}" for d in maze.PAPER.descriptors] + list(hexapod.PAPER)
    raise ValueError(f"--paper: the paper has no experiment {spec!r}; it has {', '.join(known)}")
