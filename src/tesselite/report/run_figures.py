"""The figures of one run or archive, as files: `tesselite plot`. Each is made of the functions in `plots`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from tesselite.archive.archive import Archive
from tesselite.assessment.metrics import in_niches
from tesselite.problems.problem import Problem
from tesselite.report import plots
from tesselite.report.archive_map import painted
from tesselite.report.curves import MEASURES
from tesselite.report.niche_changes import draw_growth, draw_pictures, pictures_size
from tesselite.report.pair_plots import pair_components, pairs_size, pairs_texts
from tesselite.report.style import LINES, PAGE_INCHES, figure, save
from tesselite.runs.folder import RunFolder, not_linked
from tesselite.runs.loading import problem_of, run_archive
from tesselite.search.map_elites import saved_changes


def plot_run(
    folder: str | Path,
    out: str | Path | None = None,
    kind: str = "png",
    say: Callable[[str], object] = lambda _: None,
    features: Sequence[str] | None = None,
) -> list[Path]:
    """Draw a run's progress, its archive and its problem's own pictures into `out`; returns the files.

    The figures go to DIR/figures unless `out` is given.

    An archive of more than two features is drawn twice, on parallel axes and by pairs of principal components. If
    niches grew, the bounds and the elites lost at each change are drawn, and, with two features, the niches. `features`
    selects the parallel axes; by default the features that vary most. `say` is called with the reason if something is
    omitted.
    """
    folder = Path(folder)
    out = not_linked(folder / "figures") if out is None else Path(out)
    place = RunFolder.open(folder)
    plan = place.read().plan
    problem: Problem | None = None
    try:
        problem = problem_of(folder, plan)
    except ValueError as error:
        say(f"the pictures of {plan.problem} itself are left out: {error}")
    y_down = problem is not None and problem.y_down
    archive, search = run_archive(folder, problem)
    filled = f"{len(archive):,} of {archive.n_niches:,} niches filled"
    title = f"{plan.problem}: {filled if archive.has_niches else f'{len(archive):,} solutions'}"
    if len(archive) and not archive.has_niches and archive.tessellation.space.n <= 2:
        archive = in_niches(archive, len(archive))
        say(f"the run has no niches; the archive is drawn in a CVT of {archive.n_niches:,}")
    files = []
    if rows := place.read_progress():
        files.append(_draw_progress(folder, rows, f"{plan.problem}, seed {plan.seed}", out / f"progress.{kind}"))
    changes = saved_changes(search)
    if changes:
        with figure(13.0, 3.4) as made:
            draw_growth(made, changes, archive.tessellation.space.titles, f"{plan.problem}: {plan.niches.label}")
            files.append(save(made, out / f"growth.{kind}"))
        pictures = place.read_pictures(len(changes))
        for picture in pictures.values():
            picture.tessellation.space.titled(archive.tessellation.space)
        if pictures:
            with figure(*pictures_size(pictures)) as made:
                shown = f"{plan.problem}: niches right after changes, {len(pictures)} of {len(changes)}"
                draw_pictures(made, pictures, changes, shown, y_down=y_down)
                files.append(save(made, out / f"niches-at-changes.{kind}"))
        elif archive.tessellation.space.n != 2:
            say(f"niches at changes are drawn for two features only; there are {archive.tessellation.space.n}")
        else:
            say("no pictures of niches at changes are kept in this run")
    files += plot_archive(archive, out, kind, title, features, say, y_down=y_down)
    return files + (problem.draw(archive, out, kind) if problem is not None else [])


def _draw_progress(folder: Path, rows: Sequence[dict[str, float | None]], title: str, file: Path) -> Path:
    """Draw each measure that a run's rows of progress have in a panel of its own; returns the file."""
    panels = [name for name in MEASURES if any(row[name] is not None for row in rows)]
    height = -(-len(panels) // 2)
    with figure(PAGE_INCHES, 2.6 * height) as made:
        for at, (name, colour) in enumerate(zip(panels, LINES, strict=False), start=1):
            ax = plots.progress(folder, made.add_subplot(height, 2, at), measure=name, color=colour)
            ax.grid(alpha=0.25)
        made.suptitle(title, parse_math=False)
        return save(made, file)


def plot_archive(
    archive: Archive,
    out: Path,
    kind: str,
    title: str,
    features: Sequence[str] | None = None,
    say: Callable[[str], object] = lambda _: None,
    *,
    y_down: bool = False,
) -> list[Path]:
    """Draw an archive into files in `out`; returns them. See `plot_run`."""
    files = []
    n = archive.tessellation.space.n
    why = painted(archive.tessellation, len(archive)) if n == 2 and features is None else ""
    if why and kind != "png":
        say(f"niches are pixels in archive.{kind}: {why}")
    with figure(7.2, 6.0) as made:
        ax = made.subplots()
        if features is not None:
            plots.parallel_axes(archive, ax, features=features)
        else:
            plots.archive(archive, ax, y_down=y_down)
        if features is None and n == 2:
            ax.set_box_aspect(1.0)
        ax.set_title(title, parse_math=False)
        files.append(save(made, out / f"archive.{kind}"))
    components = pair_components(archive) if n > 2 else None
    if components is not None:
        with figure(*pairs_size(components)) as made:
            plots.pairs(archive, made.subplots())
            held, weights = pairs_texts(archive, components)
            made.suptitle(f"{title}\n{held}", parse_math=False)
            made.supxlabel(weights, fontsize=8, parse_math=False)
            files.append(save(made, out / f"archive-pairs.{kind}"))
    return files
