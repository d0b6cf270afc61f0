"""Plots for your own figures: each draws into matplotlib axes that you give, or into new ones, and returns the axes.

What is drawn can be an archive, a run, a file or the folder of a run; of several runs, medians and quartiles are drawn.
The drawing itself is in the modules beside this one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import numpy as np
import numpy.typing as npt

from tesselite.archive.archive import Archive
from tesselite.archive.evaluation import Direction
from tesselite.archive.figures import best_of
from tesselite.assessment.expected_quality import ExpectedQuality, even_levels, share
from tesselite.assessment.metrics import in_niches
from tesselite.assessment.scenarios import Assessment
from tesselite.emitters.emitter import text_of
from tesselite.problems import by_name, is_built_in
from tesselite.problems.problem import TRAINING
from tesselite.report.archive_map import draw_niches
from tesselite.report.colouring import Colouring
from tesselite.report.comparison_figures import draw_boxes
from tesselite.report.curves import (
    MEASURES,
    Columns,
    draw_curve,
    from_zero,
    label_evaluations,
    over_evaluations,
    share_label,
)
from tesselite.report.labels import unit_of, with_unit
from tesselite.report.pair_plots import add_corner_bar, draw_pairs, pair_components, pairs_size
from tesselite.report.parallel_axes import draw_parallel
from tesselite.report.style import LINES
from tesselite.runs.folder import RunFolder
from tesselite.runs.loading import run_archive
from tesselite.search.map_elites import MapElites, found_by
from tesselite.tessellation.protocol import Tessellation

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.typing import ColorType

    from tesselite.runs.carry_on import Run

__all__ = [
    "archive",
    "best_performance",
    "emitters",
    "expected_quality",
    "niches",
    "pairs",
    "parallel_axes",
    "progress",
]

_LEVELS = 400  # points of a curve of expected quality

Source: TypeAlias = "Archive | Assessment | Run | Tessellation | str | Path | Sequence[Source] | Mapping[str, Source]"
"""What can be drawn; each plot says which of these it takes."""


def archive(
    source: Source,
    ax: Axes | None = None,
    *,
    color: str | npt.ArrayLike = "fitness",
    cmap: str | Colormap | None = None,
    vmin: float | None = None,
    vmax: float | None = None,
    colorbar: bool = True,
    y_down: bool = False,
) -> Axes:
    """Draw an archive: niches of one or two features, `parallel_axes` of more.

    `source` is an archive, a run, a file or the folder of a run; `ax` are your axes, by default those of a new figure.
    `color` is a column of `archive.elites().columns()` (fitness, evaluation, a feature, ...) or a value for each elite
    in niche order; `cmap`, `vmin` and `vmax` are those of matplotlib. In a column of texts, each text has its own
    colour. `colorbar=False` leaves the colour bar out. The axes are in the units of the features, so that you can draw
    on top. With `y_down` the second of two features grows downwards. A population of one or two features is drawn in a
    CVT of as many niches as it has solutions. Returns the axes.

    >>> import tesselite as tl
    >>> found = tl.illuminate(tl.problems.sphere(5), grid=20, evaluations=2_000, seed=1)
    >>> ax = tl.plots.archive(found, cmap="magma")
    >>> ax.get_xlabel()
    'x0'
    """
    shown = _archive_of(source)
    colouring = Colouring.of(shown, color, cmap, vmin, vmax)
    ax = _axes(ax)
    if shown.tessellation.space.n > 2:
        drawn = draw_parallel(ax, shown, colouring)
    else:
        drawn = draw_niches(ax, *_in_niches(shown, colouring), y_down=y_down)
    if colorbar:
        colouring.add_bar(ax, drawn)
    return ax


def parallel_axes(
    source: Source,
    ax: Axes | None = None,
    *,
    features: Sequence[str] | None = None,
    color: str | npt.ArrayLike = "fitness",
    cmap: str | Colormap | None = None,
    vmin: float | None = None,
    vmax: float | None = None,
    colorbar: bool = True,
) -> Axes:
    """Draw a line for each elite across its features, the best on top; returns the axes.

    `features` are the axes, in this order; by default all, or the 24 that vary most. At most 2,000 elites are drawn,
    evenly sampled from worst to best. The other arguments are those of `archive`.
    """
    shown = _archive_of(source)
    colouring = Colouring.of(shown, color, cmap, vmin, vmax)
    ax = _axes(ax)
    drawn = draw_parallel(ax, shown, colouring, features)
    if colorbar:
        colouring.add_bar(ax, drawn)
    return ax


def pairs(
    source: Source,
    ax: Axes | None = None,
    *,
    color: str | npt.ArrayLike = "fitness",
    cmap: str | Colormap | None = None,
    vmin: float | None = None,
    vmax: float | None = None,
    colorbar: bool = True,
) -> npt.NDArray[Any]:
    """Draw the elites along each pair of up to four principal components of their features.

    The panels take the place of `ax`; returns them, shape (c, c). The diagonal counts elites. The other arguments are
    those of `archive`. ValueError for fewer than three elites, or if all have the same features.
    """
    shown = _archive_of(source)
    colouring = Colouring.of(shown, color, cmap, vmin, vmax)
    components = pair_components(shown)
    if components is None:
        raise ValueError("pairs: expected at least three elites that differ in their features")
    axes = _panels(_axes(ax, pairs_size(components)), len(components.shares))
    drawn = draw_pairs(axes, shown, components, colouring)
    if colorbar:
        add_corner_bar(axes, drawn, colouring)
    return axes


def progress(
    source: Source,
    ax: Axes | None = None,
    *,
    measure: str = "qd_score",
    color: ColorType | Sequence[ColorType] | None = None,
    label: str | Sequence[str] | None = None,
) -> Axes:
    """Draw how a run went: coverage, qd_score, best_fitness or mean_fitness (`measure`) over evaluations.

    `source` is a run that has a folder, or the folder; several of them, for their median and quartiles; or a
    dictionary of such by label. `color` is a colour, or one for each label. Returns the axes.
    """
    if measure not in MEASURES:
        raise ValueError(f"measure: expected one of {', '.join(MEASURES)}, got {measure!r}")
    curves = [
        (name, *over_evaluations([_progress_of(run) for run in runs], measure), colour)
        for name, runs, colour in _groups(source, color, label)
    ]
    ax = _axes(ax)
    unit = unit_of(*(quartiles for _, _, quartiles, _ in curves))
    for name, evaluations, quartiles, colour in curves:
        draw_curve(ax, evaluations, quartiles / unit, color=colour, label=name)
    ax.set_ylabel(with_unit(MEASURES[measure], unit))
    label_evaluations(ax)
    from_zero(ax, np.concatenate([quartiles[1] / unit for _, _, quartiles, _ in curves]))
    return _with_legend(ax)


def emitters(source: Source, ax: Axes | None = None) -> Axes:
    """Draw how many of a run's elites each emitter of a mixture or a bandit had found, over evaluations, stacked.

    `source` is a run, or the folder of one. ValueError if it has only one emitter. Returns the axes.
    """
    if _is_path(source):
        archive, state = run_archive(Path(source))
        text, spent = RunFolder.open(Path(source)).read().plan.emitter, int((state or {}).get("evaluations", 0))
    elif isinstance(search := getattr(source, "search", source), MapElites):
        archive, state, text, spent = search.archive, search.state(), text_of(search.emitter), search.evaluations
    else:
        raise ValueError(f"source: expected a run or the folder of one, got {source!r:.80}")
    evaluations = archive.elites().evaluations
    found = found_by(text, state, evaluations)
    if found is None:
        raise ValueError(f"source: expected a run with several emitters (a mixture or a bandit), got {text}")
    names, of = found
    at = np.linspace(0, spent, 201)
    counts = [np.searchsorted(np.sort(evaluations[of == k]), at) for k in range(len(names))]
    ax = _axes(ax)
    ax.stackplot(at, counts, labels=names, colors=[LINES[k % len(LINES)] for k in range(len(names))], alpha=0.75)
    ax.set_ylabel("elites, by the emitter that found them")
    ax.margins(x=0.0)
    label_evaluations(ax)
    return _with_legend(ax)


def expected_quality(
    source: Source,
    ax: Axes | None = None,
    *,
    setting: str = TRAINING,
    color: ColorType | Sequence[ColorType] | None = None,
    label: str | Sequence[str] | None = None,
) -> Axes:
    """Draw the share of elites that reach each fitness: a CDF if fitness is minimised, a CCDF if it is maximised.

    `source` is an archive, a run, a file, the folder of a run or an `Assessment`; several of them, for their median
    and quartiles; or a dictionary of such by label. `setting` is "training", the name of a scenario, or "scenarios"
    for all of them; these need runs that were assessed. Returns the axes.
    """
    ax = _axes(ax)
    groups = _assessed(_groups(source, color, label))
    direction = _same_direction(groups)
    chosen = {name: [_in_setting(fitness, setting) for _, fitness in runs] for name, runs, _ in groups}
    values = np.concatenate([values for runs in chosen.values() for several in runs for values in several])
    values = values[np.isfinite(values)]
    if not len(values):
        raise ValueError(f"source: expected at least one valid elite in {setting!r}, got none")
    unit = unit_of(values)
    levels = even_levels(values.min() / unit, values.max() / unit, _LEVELS)
    for name, _, colour in groups:
        shares = [share(values / unit, levels, direction) for several in chosen[name] for values in several]
        quality = ExpectedQuality(direction, levels, np.array(shares))
        draw_curve(ax, levels, [quality.lower, quality.median, quality.upper], color=colour, label=name)
    ax.set(xlabel=with_unit("x: fitness", unit), ylabel=share_label(direction), ylim=(0.0, 1.02))
    ax.ticklabel_format(axis="x", useOffset=False)
    return _with_legend(ax)


def best_performance(
    source: Source,
    ax: Axes | None = None,
    *,
    color: ColorType | Sequence[ColorType] | None = None,
    label: str | Sequence[str] | None = None,
    settings: Sequence[str] | None = None,
) -> Axes:
    """Draw the best fitness in the training setting and in each scenario, a box over runs.

    `source` is as in `expected_quality`; a box of up to five runs shows each of them. `settings` are the names to draw,
    in this order, all by default: with part of them in each of several axes, many scenarios fit a narrow page. A
    setting in which nothing was assessed says "not computed". Returns the axes.
    """
    from matplotlib.patches import Patch

    ax = _axes(ax)
    groups = _assessed(_groups(source, color, label))
    direction = _same_direction(groups)
    known = list(dict.fromkeys(key for _, runs, _ in groups for _, fitness in runs for key in fitness))
    if settings is None:
        settings = known
    elif not len(settings) or not set(settings) <= set(known):
        raise ValueError(f"settings: expected names among {', '.join(known)}, got {list(settings)!r:.80}")
    faces = [{"facecolor": colour, "edgecolor": "0.2"} for _, _, colour in groups]
    room = 0.8 / len(groups)
    table = [
        [
            np.array([best_of(fitness[setting], direction) for _, fitness in runs if setting in fitness])
            for _, runs, _ in groups
        ]
        for setting in settings
    ]
    unit = unit_of(*(bests for row in table for bests in row))
    for at, row in enumerate(table):
        places = [at + room * (i - (len(groups) - 1) / 2) for i in range(len(groups))]
        draw_boxes(ax, [bests / unit for bests in row], faces, places)
    ax.set_xticks(range(len(settings)), settings, rotation=45 if len(settings) > 6 else 0, parse_math=False)
    better = "lower" if direction == "min" else "higher"
    ax.set(xlim=(-0.6, len(settings) - 0.4), ylabel=with_unit(f"best fitness ({better} is better)", unit))
    ax.ticklabel_format(axis="y", useOffset=False)
    values = np.concatenate([bests[np.isfinite(bests)] / unit for row in table for bests in row])
    if len(values) and values.min() < 0.5 * values.max():  # a distant zero would only squeeze the boxes
        from_zero(ax, values)
    handles = [Patch(label=name, linewidth=0.6, **face) for (name, *_), face in zip(groups, faces, strict=True) if name]
    return _with_legend(ax, handles)


def niches(source: Source, ax: Axes | None = None, *, color: ColorType = "#22577a", centroids: bool = True) -> Axes:
    """Draw the niches of a tessellation, an archive, a run, a file of either, or the folder of a run.

    The borders of one or two features, in their units, with the centroids; of more, the centroids along the two
    features in which they vary most, or the cells of a grid along the two with most cells. `color` is that of borders.
    Returns the axes.
    """
    from tesselite.tessellation.pictures import draw_tessellation

    ax = _axes(ax)
    draw_tessellation(ax, _tessellation_of(source), color=color, centroids=centroids)
    return ax


# -- what is drawn -----------------------------------------------------------------------------------------------------


def _is_path(source: Any) -> TypeGuard[str | os.PathLike[str]]:
    return isinstance(source, str | os.PathLike)


def _archive_of(source: Any) -> Archive:
    """The archive of a source; ValueError for what has none."""
    if isinstance(source, Archive):
        return source
    if _is_path(source):
        path = Path(source)
        return _archive_of_run(path) if path.is_dir() else Archive.load(path)
    if isinstance(found := getattr(source, "archive", None), Archive):  # a run, or a search
        return found
    raise ValueError(f"source: expected an archive, a run, a file or the folder of a run, got {source!r:.80}")


def _in_niches(archive: Archive, colouring: Colouring) -> tuple[Archive, Colouring]:
    """The same; a population in a CVT of as many niches as it has solutions, and the colours of its elites there."""
    if archive.has_niches or not len(archive):
        return archive, colouring
    shown = in_niches(archive, len(archive))
    rows = {number: row for row, number in enumerate(archive.elites().evaluations.tolist())}
    kept = [rows[number] for number in shown.elites().evaluations.tolist()]
    return shown, replace(colouring, values=colouring.values[kept])


def _archive_of_run(folder: Path) -> Archive:
    """Its archive, with the titles of features if the problem is one of ours; a user's is not imported for them."""
    name = RunFolder.open(folder).read().plan.problem
    try:
        problem = by_name(name) if is_built_in(name) else None
    except (ValueError, ImportError):  # a user's of the same name, or one whose package is missing
        problem = None
    return run_archive(folder, problem)[0]


def _tessellation_of(source: Any) -> Tessellation:
    if hasattr(source, "niches_of_unit"):
        return source
    if _is_path(source) and not Path(source).is_dir():
        from tesselite.tessellation.files import load_tessellation

        try:
            return load_tessellation(Path(source))
        except ValueError:
            pass  # it may be an archive
    found = _archive_of(source)
    if not found.has_niches:
        raise ValueError(
            "source: expected niches, got an archive without any; tesselite.plots.archive draws its elites"
        )
    return found.tessellation


def _progress_of(source: Any) -> Columns:
    """The columns of a run's progress.csv."""
    folder = source if _is_path(source) else getattr(source, "folder", None)
    if folder is None:
        raise ValueError(
            f"source: expected the folder of a run, or a run that has one, got {source!r:.80}; a run records its "
            "progress if it is given a folder (out=...)"
        )
    rows = RunFolder.open(Path(folder)).read_progress()
    if not rows:
        raise ValueError(f"source: {folder} has no progress yet")
    return {name: [row[name] for row in rows] for name in rows[0]}


_Fitness = tuple[Direction, dict[str, npt.NDArray[np.float64]]]
_Group = tuple[str | None, list[Any], Any]


def _fitness_of(source: Any) -> _Fitness:
    """The fitness of the elites of a source in each setting: of its assessment, or of its archive in training alone."""
    if _is_path(source) and (file := Path(source) / "assessment.parquet").exists():
        source = Assessment.load(file)
    if isinstance(source, Assessment):
        return source.direction, source.fitness
    found = _archive_of(source)
    return found.direction, {TRAINING: found.elites().fitness}


def _assessed(groups: Sequence[_Group]) -> list[tuple[str | None, list[_Fitness], Any]]:
    """The same groups, with the fitness of elites instead of runs."""
    return [(name, [_fitness_of(run) for run in runs], colour) for name, runs, colour in groups]


def _in_setting(fitness: dict[str, npt.NDArray[np.float64]], setting: str) -> list[npt.NDArray[np.float64]]:
    """The values in a setting, or in each scenario; ValueError if there are none."""
    names = [name for name in fitness if name != TRAINING] if setting == "scenarios" else [setting]
    if not names or any(name not in fitness for name in names):
        raise ValueError(
            f"setting: expected one of {', '.join(fitness)}, got {setting!r}; scenarios need runs that were assessed "
            "(tesselite assess DIR)"
        )
    return [fitness[name] for name in names]


def _same_direction(groups: Sequence[tuple[Any, Sequence[_Fitness], Any]]) -> Direction:
    directions = {direction for _, runs, _ in groups for direction, _ in runs}
    if len(directions) > 1:
        raise ValueError("source: expected runs of the same direction, got some that maximise and some that minimise")
    return directions.pop()


def _groups(source: Any, color: Any, label: Any) -> list[_Group]:
    """Label, runs and colour of each group of a source: one thing, several, or a dictionary of either by label."""
    if isinstance(source, Mapping):
        if label is not None:
            raise ValueError("label: not valid with a dictionary, whose keys are the labels; leave it out")
        named: dict[str | None, list[Any]] = {str(name): _listed(runs) for name, runs in source.items()}
    else:
        named = {label: _listed(source)}
    if not named or not all(named.values()):
        raise ValueError("source: expected at least one run, got none")
    given = [color] if color is None or isinstance(color, str) or len(named) == 1 else list(color)
    return [
        (name, runs, given[i % len(given)] if given[0] is not None else LINES[i % len(LINES)])
        for i, (name, runs) in enumerate(named.items())
    ]


def _listed(source: Any) -> list[Any]:
    """The members of a collection of runs; anything else alone. An archive is a collection of elites, not of runs."""
    several = isinstance(source, Iterable) and not _is_path(source) and not isinstance(source, Archive | Assessment)
    return list(source) if several else [source]


# -- where it is drawn -------------------------------------------------------------------------------------------------


def _axes(ax: Any, inches: tuple[float, float] | None = None) -> Any:
    """The axes that are given, or those of a new figure, of matplotlib's usual size unless `inches` says otherwise.

    ValueError for anything else, such as a figure or an array of axes.
    """
    if ax is not None:
        if not hasattr(ax, "add_collection"):
            raise ValueError(f"ax: expected axes of matplotlib, got {ax!r:.80}; leave it out for a new figure")
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=inches, layout="constrained")[1]


def _panels(ax: Any, n: int) -> npt.NDArray[Any]:
    """Axes (n, n) in the place of one."""
    made, spec = ax.figure, ax.get_subplotspec()
    ax.remove()
    grid = made.add_gridspec(n, n) if spec is None else spec.subgridspec(n, n)
    return np.array([[made.add_subplot(grid[row, column]) for column in range(n)] for row in range(n)])


def _with_legend(ax: Any, handles: Sequence[Any] | None = None) -> Any:
    """The axes, with a legend if anything in them has a label."""
    if handles or (handles is None and ax.get_legend_handles_labels()[1]):
        for text in ax.legend(**({"handles": handles} if handles else {}), frameon=False).get_texts():
            text.set_parse_math(False)  # a dollar sign in a user's label does not begin a formula
    return ax
