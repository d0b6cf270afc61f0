"""The archive beyond two features as pair plots of its principal components.

Cells in two dimensions and parallel axes are in `tesselite.report.archive_map`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tesselite.archive.archive import Archive
from tesselite.assessment.metrics import bounded_space
from tesselite.report.colouring import Colouring, best_on_top
from tesselite.report.labels import short
from tesselite.report.principal_axes import Components, principal_components

_COMPONENTS = 4
_PANEL_INCHES, _MARGIN_INCHES = 2.1, 1.2
_FEWEST_ELITES = 3
_POINTS_SHOWN = 20_000
_POINTS_AS_VECTORS = 2_000  # in SVG and PDF; more are an image, which programs open faster
_MOST_BARS = 40
_SMALL_INCHES, _SMALL_FONT = 1.4, 6.5  # panels narrower than this have shorter labels, in points
_BAR_COLOUR = "#8a8a8a"
_NAMES_SHOWN = 3


def pair_components(archive: Archive) -> Components | None:
    """Up to four principal components of the elites' unit-scaled features; None for fewer than three elites, or if all
    have the same features.
    """
    space, features = bounded_space(archive), archive.elites().features
    if len(features) < _FEWEST_ELITES:
        return None
    found = principal_components(space.to_unit(features), min(_COMPONENTS, space.n))
    n = found.n_varying
    return Components(found.places[:, :n], found.shares[:n], found.axes[:n]) if n else None


def pairs_size(components: Components) -> tuple[float, float]:
    """Width and height in inches of the figure for `draw_pairs`."""
    n = len(components.shares)
    return max(6.4, _PANEL_INCHES * n + _MARGIN_INCHES), _PANEL_INCHES * n + _MARGIN_INCHES


def draw_pairs(axes: Any, archive: Archive, components: Components, colouring: Colouring) -> Any:
    """Draw the elites along each pair of c components into axes (c, c), the best on top.

    The lower triangle shows pairs, the diagonal histograms. At most 20,000 points are drawn, evenly sampled from worst
    to best; histograms count all. Returns what a colour bar needs, None for a single component.
    """
    order = best_on_top(archive, _POINTS_SHOWN)
    n = len(components.shares)
    small = _are_small(axes)
    words = ("comp.", "") if small else ("component", " of variance")
    labels = [f"{words[0]} {i + 1}\n{_percent(share)}{words[1]}" for i, share in enumerate(components.shares)]
    limits = [_limits(components.places[:, i]) for i in range(n)]
    shown: Any = None
    for row in range(n):
        for column in range(n):
            ax = axes[row, column]
            if column > row:
                ax.set_axis_off()
                continue
            ax.set(xlim=limits[column])
            if small:
                ax.tick_params(labelsize=_SMALL_FONT)
                ax.xaxis.label.set_size(_SMALL_FONT)
                ax.yaxis.label.set_size(_SMALL_FONT)
            ax.locator_params(nbins=2 if small else 4)
            if row == n - 1:
                ax.set_xlabel(labels[column])
            else:
                ax.tick_params(labelbottom=False)
            if column == row:
                _draw_histogram(ax, components.places[:, row], counts=not small)
                continue
            shown = ax.scatter(
                components.places[order, column],
                components.places[order, row],
                c=colouring.values[order],
                s=float(np.clip(9000.0 / len(order), 1.5, 18.0)),
                linewidths=0,
                rasterized=len(order) > _POINTS_AS_VECTORS,
                **colouring.look,
            )
            ax.set_ylim(limits[row])
            if column == 0:
                ax.set_ylabel(labels[row])
            else:
                ax.tick_params(labelleft=False)
    return shown


def add_corner_bar(axes: Any, shown: Any, colouring: Colouring) -> None:
    """Put the colour bar of `draw_pairs` into the empty upper corner of its axes."""
    if shown is None:
        return
    wide = len(axes) > 2  # the corner is two panels wide
    corner = axes[0, -1].inset_axes((-1.0 if wide else 0.1, 0.45, 2.0 if wide else 0.9, 0.1))
    corner.set_in_layout(False)  # there is room; the columns must not be widened
    colouring.add_bar(corner, shown, ax=None, cax=corner, orientation="horizontal")
    corner.locator_params(axis="x", nbins=4 if wide and not _are_small(axes) else 2)
    if _are_small(axes):
        corner.tick_params(labelsize=_SMALL_FONT)
        for text in (corner.xaxis.label, corner.xaxis.get_offset_text()):
            text.set_size(_SMALL_FONT)


def pairs_texts(archive: Archive, components: Components) -> tuple[str, str]:
    """How much of the variance the components hold, and the features with the largest weights in each."""
    n, total = len(components.shares), _percent(float(components.shares.sum()))
    held = f"{total} of the variance of features in {n} component{'s' if n > 1 else ''}"
    return held, _weights(archive.tessellation.space.titles, components)


def _are_small(axes: Any) -> bool:
    """Whether labels have to be short."""
    return bool(axes[0, 0].get_window_extent().width < _SMALL_INCHES * axes[0, 0].figure.dpi)


def _draw_histogram(ax: Any, places: npt.NDArray[np.float64], *, counts: bool) -> None:
    """The distribution of elites along a component; their number is on the right, or nowhere without `counts`."""
    ax.hist(places, bins=int(np.clip(np.sqrt(len(places)), 5, _MOST_BARS)), color=_BAR_COLOUR)
    if not counts:
        ax.set_yticks([])
        return
    ax.spines[["left", "right"]].set_visible((False, True))
    ax.yaxis.tick_right()
    ax.yaxis.set_label_position("right")
    ax.set_ylabel("elites")


def _limits(places: npt.NDArray[np.float64]) -> tuple[float, float]:
    low, high = float(places.min()), float(places.max())
    margin = 0.04 * (high - low)
    return low - margin, high + margin


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.0995 else f"{100 * share:.2g} %"


def _weights(titles: tuple[str, ...], components: Components) -> str:
    """The features with the largest weights in each component, a line for each."""
    lines = ["largest weights of the components"]
    for i, axis in enumerate(components.axes):
        largest = np.argsort(-np.abs(axis), kind="stable")[:_NAMES_SHOWN]
        weights = [f"{axis[j]:+.2f}".replace("-", "\N{MINUS SIGN}") for j in largest]
        lines.append(f"{i + 1}: " + ", ".join(f"{w} {short(titles[j])}" for w, j in zip(weights, largest, strict=True)))
    return "\n".join(lines)
