"""The figures of one run, made from its folder: `tesselite plot RUN`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from tesselite.problems.problem import Problem
from tesselite.report.archive_map import draw_archive
from tesselite.report.growth import draw_growth
from tesselite.report.pair_plots import draw_pairs, pair_components, pairs_size
from tesselite.report.progress import draw_progress
from tesselite.report.style import figure, save
from tesselite.runs.folder import RunFolder
from tesselite.runs.problem import problem_of, run_archive
from tesselite.search.map_elites import saved_changes


def plot_run(
    folder: Path,
    out: Path,
    kind: str = "png",
    say: Callable[[str], object] = lambda _: None,
    features: Sequence[str] | None = None,
) -> list[Path]:
    """Draw a run's progress and archive, and what its problem adds of its own, into `out`; returns the files.

    An archive of more than two features is drawn twice, on parallel axes and by pairs of principal components; of
    niches that grew, the bounds and the elites lost at each change are drawn. `features` chooses the parallel axes; by
    default those of the features that vary most. `say` is called with the reason if the problem cannot be found here
    and so adds nothing.
    """
    place = RunFolder.open(folder)
    plan = place.read().plan
    archive, search = run_archive(folder)
    problem: Problem | None = None
    try:
        problem = problem_of(folder, plan)
    except ValueError as error:
        say(f"without the pictures that are {plan.problem}'s own: {error}")
    files = []
    rows = place.read_progress()
    if rows:
        with figure(13.0, 3.4) as made:
            draw_progress(made, rows, f"{plan.problem}, seed {plan.seed}")
            files.append(save(made, out / f"progress.{kind}"))
    changes = saved_changes(search)
    if changes:
        with figure(13.0, 3.4) as made:
            draw_growth(made, changes, archive.tessellation.space.names, f"{plan.problem}: {plan.niches.label}")
            files.append(save(made, out / f"growth.{kind}"))
    title = f"{plan.problem}: {len(archive):,} of {archive.n_niches:,} niches filled"
    with figure(7.2, 6.0) as made:
        draw_archive(made, archive, title, y_down=problem is not None and problem.y_down, features=features)
        files.append(save(made, out / f"archive.{kind}"))
    components = pair_components(archive)
    if components is not None:
        with figure(*pairs_size(components)) as made:
            draw_pairs(made, archive, components, title)
            files.append(save(made, out / f"archive-pairs.{kind}"))
    return files + (problem.draw(archive, out, kind) if problem is not None else [])
