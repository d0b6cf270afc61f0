"""Figures of a comparison: box plots per setting, filled niches and spread, expected quality, progress.

The numbers come from `tesselite.assessment.comparison`. Groups of one family share a hue, and get darker in order, so
that colour-blind readers and black-and-white print can tell them apart. Figures 4 to 7 and 9 to 14 of the paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from tesselite.assessment.comparison import Comparison, Group, Measure
from tesselite.problems.problem import TRAINING, DrawScenario
from tesselite.report.curves import draw_curve, from_zero, label_evaluations, over_evaluations, share_label
from tesselite.report.labels import unit_of, with_unit
from tesselite.report.style import PAGE_INCHES, figure, save

_HUES = ("Blues", "Oranges", "Greens", "Greys", "Purples")
_ALONE = (0.72, 0.45, 0.95)  # shades of families of one group: the second round of hues is lighter, the third darker
_FEW_RUNS = 5  # and each is drawn
_MOST_IN_A_ROW = 6  # panels
_SMALLEST_SHARE = 1e-4  # at most 10,000 elites of an archive are assessed


@dataclass(frozen=True)
class Mark:
    """A published number for a group, drawn beside ours as a diamond."""

    group: str
    measure: Measure
    value: float


def _draw_mark(ax: Any, x: float, mark: Mark, shades: dict[str, Any]) -> None:
    look = {"markerfacecolor": shades[mark.group], "markeredgecolor": "black", "markeredgewidth": 1.0}
    ax.plot([x], [mark.value], linestyle="", marker="D", markersize=6, zorder=5, clip_on=False, **look)


def _mark_boxes(
    ax: Any,
    groups: Sequence[Group],
    marks: Sequence[Mark],
    kind: str,
    setting: str | None,
    shades: dict[str, Any],
    *,
    average: bool = False,
) -> None:
    """Draw the marks of a kind and a setting, each at the place of its group's box."""
    names = [group.name for group in groups]
    for mark in marks:
        measure = mark.measure
        if (measure.kind, measure.setting, measure.average) == (kind, setting, average):
            _draw_mark(ax, names.index(mark.group) + 1, mark, shades)


def colours(groups: Sequence[Group]) -> dict[str, Any]:
    """A colour for each group: a hue for each family, from light to dark within it."""
    import matplotlib

    families = list(dict.fromkeys(group.family for group in groups))
    chosen: dict[str, Any] = {}
    for number, family in enumerate(families):
        members = [group.name for group in groups if group.family == family]
        alone = _ALONE[number // len(_HUES) % len(_ALONE)]
        shades = np.linspace(0.42, 0.95, len(members)) if len(members) > 1 else [alone]
        hue = matplotlib.colormaps[_HUES[number % len(_HUES)]]
        chosen.update({name: hue(float(shade)) for name, shade in zip(members, shades, strict=True)})
    return chosen


def draw_boxes(ax: Any, values: Sequence[Any], faces: Sequence[dict[str, Any]], places: Sequence[float]) -> None:
    """One box at each place: median, quartiles, whiskers to the last value within 1.5 quartile ranges, outliers.

    In a box of few runs, each run is also a dot. Runs that are infinitely bad cannot be drawn; their number is written
    above their box. A missing box is marked "not computed".
    """
    above = {"rotation": 90, "ha": "center", "va": "top", "fontsize": 6, "color": "0.35"}
    for place, of_group in zip(places, values, strict=True):
        failed = int(np.isinf(of_group).sum())
        said = f"{failed} of {len(of_group)} failed" if failed else "" if len(of_group) else "not computed"
        if said:
            ax.text(place, 0.99, said, transform=ax.get_xaxis_transform(), **above)
    width = 0.75 * (min(np.diff(places)) if len(places) > 1 else 1.0)
    drawn = ax.boxplot(
        [np.asarray(v)[np.isfinite(v)] for v in values],
        positions=list(places),
        widths=width,
        patch_artist=True,
        medianprops={"color": "black", "linewidth": 1.3},
        flierprops={"marker": "+", "markersize": 3, "markeredgecolor": "0.35"},
        boxprops={"linewidth": 0.6},
        whiskerprops={"linewidth": 0.6},
        capprops={"linewidth": 0.6},
    )
    for place, box, face, of_group in zip(places, drawn["boxes"], faces, values, strict=True):
        box.set(**face)
        finite = np.asarray(of_group)[np.isfinite(of_group)]
        if len(finite) <= _FEW_RUNS:
            look = {"markerfacecolor": face["facecolor"], "markeredgecolor": face["edgecolor"], "markeredgewidth": 0.8}
            ax.plot(np.full(len(finite), place), finite, linestyle="", marker="o", markersize=4, zorder=4, **look)


def _boxes(ax: Any, groups: Sequence[Group], values: Sequence[Any], shades: dict[str, Any]) -> None:
    """One box for each group."""
    draw_boxes(ax, values, [_face(group, shades) for group in groups], range(1, len(groups) + 1))
    ax.set_xticks([])
    ax.set_xlim(0.4, len(groups) + 0.6)


def _face(group: Group, shades: dict[str, Any]) -> dict[str, Any]:
    """How a group's boxes look: filled, or hatched if it is ours."""
    if group.ours:
        return {"facecolor": "white", "edgecolor": shades[group.name], "hatch": "/////"}
    return {"facecolor": shades[group.name], "edgecolor": "0.2"}


def _line(group: Group) -> Literal["-", "--"]:
    """How a group's curves are drawn: dashed if it is ours."""
    return "--" if group.ours else "-"


def _legend(
    made: Any,
    groups: Sequence[Group],
    shades: dict[str, Any],
    columns: int,
    *,
    marked: bool = False,
    lines: bool = False,
) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = [
        Line2D([], [], color=shades[group.name], linestyle=_line(group), linewidth=1.6, label=group.label)
        if lines
        else Patch(linewidth=0.6, label=group.label, **_face(group, shades))
        for group in groups
    ]
    if marked:
        handles.append(Line2D([], [], linestyle="", marker="D", color="white", markeredgecolor="black", label="paper"))
    legend = made.legend(
        handles=handles, loc="outside lower center", ncols=min(columns, len(handles)), frameon=False, fontsize=8
    )
    for text in legend.get_texts():
        text.set_parse_math(False)  # a dollar sign in a user's name does not begin a formula


def draw_best(
    made: Any,
    comparison: Comparison,
    draw_scenario: DrawScenario | None = None,
    *,
    overall: bool = False,
    marks: Sequence[Mark] = (),
) -> None:
    """Best fitness in each setting, a panel each, with a drawing of the setting above it.

    At most six panels are in a row, so that many settings fit the width of a page. `overall` adds a last panel made
    from the medians of all settings, as in the paper's appendix; marks of an average over scenarios add one of the mean
    of each run.
    """
    shades = colours(comparison.groups)
    settings = comparison.settings
    data = {name: [comparison.bests(group, name) for group in comparison.groups] for name in settings}
    means = any(mark.measure.average for mark in marks)
    panels: list[str | None] = [*settings, *[None] * (overall or means)]
    boxes: list[Any] = []
    for name, (above, ax) in zip(
        panels, _panels_in_rows(made, len(panels), drawn=draw_scenario is not None), strict=True
    ):
        if draw_scenario is not None and name is not None:
            draw_scenario(above, None if name == TRAINING else name)
        if boxes:
            ax.sharey(boxes[0])
        boxes.append(ax)
        if name is not None:
            values = data[name]
        elif means:
            values = [comparison.values(group, Measure("best", "", average=True)) for group in comparison.groups]
        else:
            values = [np.array([comparison.expected_best(g, s) for s in settings]) for g in comparison.groups]
        _boxes(ax, comparison.groups, values, shades)
        _mark_boxes(ax, comparison.groups, marks, "best", name, shades, average=name is None)
        last = f"mean of {len(comparison.scenarios)} scenarios" if means else "all"
        shown = comparison.training_name if name == TRAINING else name if name is not None else last
        ax.set_title(shown, fontsize=9 if len(panels) < 10 else 8, parse_math=False)
        ax.grid(axis="y", alpha=0.25)
    from_zero(boxes[0], np.concatenate([v[np.isfinite(v)] for values in data.values() for v in values]))
    better = "lower is better" if comparison.direction == "min" else "higher is better"
    made.supylabel(f"best {comparison.fitness_name} ({better})", fontsize=10)
    _legend(made, comparison.groups, shades, 4, marked=any(mark.measure.kind == "best" for mark in marks))


def _rows_of(n: int) -> tuple[int, int]:
    """Rows and columns for n panels."""
    rows = -(-n // _MOST_IN_A_ROW)
    return rows, -(-n // rows)


def _panels_in_rows(made: Any, n: int, *, drawn: bool) -> list[tuple[Any, Any]]:
    """The axes of n panels, each with one for a drawing above it (None unless `drawn`); only the first have numbers."""
    rows, columns = _rows_of(n)
    heights = ([1, 3] if drawn else [1]) * rows
    grid = made.subplots(len(heights), columns, squeeze=False, height_ratios=heights)
    panels = []
    for place in range(rows * columns):
        row, column = divmod(place, columns)
        above, ax = (grid[2 * row, column], grid[2 * row + 1, column]) if drawn else (None, grid[row, column])
        if above is not None:
            above.set_axis_off()
        if place >= n:
            ax.set_axis_off()
            continue
        ax.tick_params(labelleft=column == 0)
        panels.append((above, ax))
    return panels


def draw_niches_and_spread(
    made: Any, comparison: Comparison, marks: Sequence[Mark] = (), *, logarithmic: bool = False
) -> None:
    """Share of filled niches, and spread, a box for each group; `logarithmic` adds what lies on zero in the first."""
    shades = colours(comparison.groups)
    filled, again = f"Share of filled niches{comparison.on}", "The same, logarithmic"
    data = {
        kind: [comparison.values(group, Measure(kind, "")) for group in comparison.groups]
        for kind in ("coverage", "spread")
    }
    shares = np.concatenate(data["coverage"])
    low = logarithmic and 0.0 < float(shares.min()) < 0.02
    panels = [("coverage", filled), *[("coverage", again)] * low, ("spread", "Spread of elites")]
    for ax, (kind, title) in zip(made.subplots(1, len(panels)), panels, strict=True):
        _boxes(ax, comparison.groups, data[kind], shades)
        _mark_boxes(ax, comparison.groups, marks, kind, None, shades)
        ax.set_title(title, fontsize=9 if low else None)
        if title == again:
            ax.set_yscale("log")
            ax.set_ylim(None, 1.3)
        elif kind == "coverage":
            ax.set_ylim(0.0, 1.02)  # dots on top are not cut
        else:
            from_zero(ax, np.concatenate(data[kind]))
        ax.grid(axis="y", alpha=0.25)
    kinds = [kind for kind, _ in panels]
    _legend(made, comparison.groups, shades, 4, marked=any(mark.measure.kind in kinds for mark in marks))


def draw_quality(made: Any, comparison: Comparison, *, logarithmic: bool = False, marks: Sequence[Mark] = ()) -> None:
    """Expected quality: the median share of solutions that reach each fitness level.

    One column for the setting of the search (over runs) and one for the scenarios (over runs x scenarios). A second,
    `logarithmic` row shows what lies on zero in the first.
    """
    shades = colours(comparison.groups)
    panels: dict[str, tuple[str, ...]] = {comparison.training_name: (TRAINING,)}
    if len(comparison.settings) > 1:
        panels[f"all {len(comparison.scenarios)} scenarios"] = comparison.scenarios
    name = "CDF" if comparison.direction == "min" else "Complementary CDF"
    grid = made.subplots(1 + logarithmic, len(panels), squeeze=False, sharex=True, sharey="row")
    marked = [mark for mark in marks if mark.measure.kind == "share"]
    grid[0, 0].set_ylim(0.0, 1.02)
    if logarithmic:
        grid[1, 0].set_yscale("log")
        grid[1, 0].set_ylim(_SMALLEST_SHARE, 1.3)
    for column, (title, settings) in zip(grid.T, panels.items(), strict=True):
        column[0].set_title(f"{name}, {title}")
        column[-1].set_xlabel(f"x: {comparison.fitness_name}")
        for ax in column:
            for group in comparison.groups:
                middle = comparison.quality(group, settings).median
                draw_curve(ax, comparison.levels, [middle] * 3, color=shades[group.name], linestyle=_line(group))
            for mark in marked:
                of_panel = (mark.measure.setting,) if mark.measure.setting else comparison.scenarios
                if of_panel == settings and mark.value >= ax.get_ylim()[0]:  # a logarithmic axis has no zero
                    _draw_mark(ax, mark.measure.x, mark, shades)
            if len(comparison.levels) > 1:
                ax.set_xlim(comparison.levels[0], comparison.levels[-1])
            ax.grid(alpha=0.25)
    for row in grid:
        row[0].set_ylabel(f"{share_label(comparison.direction)}, median")
    _legend(made, comparison.groups, shades, 4, marked=bool(marked), lines=True)


def draw_progress(made: Any, comparison: Comparison, kind: str = "best_fitness") -> None:
    """Median over runs of the best fitness (or another column of the progress) with a band between the quartiles."""
    shades = colours(comparison.groups)
    ax = made.subplots()
    scale = comparison.scale if kind in ("best_fitness", "mean_fitness", "qd_score") else 1.0
    drawn = []
    for group in comparison.groups:
        evaluations, quartiles = over_evaluations([trial.progress for trial in group.trials], kind)
        drawn.append(quartiles[1] * scale)
        draw_curve(ax, evaluations, quartiles * scale, color=shades[group.name], linestyle=_line(group))
    names = {"best_fitness": f"best {comparison.fitness_name}", "coverage": "share of filled niches"}
    ax.set_ylabel(names.get(kind, kind))
    label_evaluations(ax)
    from_zero(ax, np.concatenate(drawn))
    ax.grid(alpha=0.25)
    _legend(made, comparison.groups, shades, 3, lines=True)


def comparison_figures(
    comparison: Comparison,
    out: Path,
    kind: str = "png",
    *,
    draw_scenario: DrawScenario | None = None,
    overall: bool = False,
    logarithmic: bool = False,
    marks: Sequence[Mark] = (),
) -> list[Path]:
    """Draw everything a comparison shows into files in `out`, with marks of its groups; returns them."""
    # Marks are the paper's numbers, which are never this huge.
    unit = unit_of(comparison.levels, *(comparison.bests(g, s) for g in comparison.groups for s in comparison.settings))
    comparison = replace(
        comparison, scale=comparison.scale / unit, fitness_name=with_unit(comparison.fitness_name, unit)
    )
    files = []
    rows, _ = _rows_of(len(comparison.settings) + (overall or any(mark.measure.average for mark in marks)))
    with figure(PAGE_INCHES, 1.2 + rows * (2.3 if draw_scenario else 1.9)) as made:
        draw_best(made, comparison, draw_scenario, overall=overall, marks=marks)
        files.append(save(made, out / f"best_performance.{kind}"))
    with figure(PAGE_INCHES, 3.8) as made:
        draw_niches_and_spread(made, comparison, marks, logarithmic=logarithmic)
        files.append(save(made, out / f"niches_and_spread.{kind}"))
    with figure(PAGE_INCHES, 6.8 if logarithmic else 4.2) as made:
        draw_quality(made, comparison, logarithmic=logarithmic, marks=marks)
        files.append(save(made, out / f"expected_quality.{kind}"))
    # Over time, niches are the runs' own: where they differ, so do their shares.
    for name in ("best_fitness",) if comparison.on else ("best_fitness", "coverage"):
        if all(trial.progress["evaluations"] for group in comparison.groups for trial in group.trials):
            with figure(PAGE_INCHES, 5.0) as made:
                draw_progress(made, comparison, name)
                files.append(save(made, out / f"progress_{name}.{kind}"))
    return files
