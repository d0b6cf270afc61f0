"""Pictures of the niches right after changes: the archive at that time, without its solutions. They are taken for two
features only. At most twelve are kept, evenly over the changes: when there are more, every second one is removed, so
that the choice does not depend on interruptions.
"""

from __future__ import annotations

import numpy as np

from tesselite.archive.archive import Archive

_AT_MOST = 12


def kept_changes(n_changes: int) -> range:
    """The numbers of the changes whose pictures are kept."""
    step = 1
    while -(-n_changes // step) > _AT_MOST:
        step *= 2
    return range(0, n_changes, step)


def picture_of(archive: Archive) -> Archive | None:
    """The same niches, with the fitness and the features of their elites; None unless there are two features."""
    space = archive.tessellation.space
    if space.n != 2 or space.scales:  # a file cannot hold scales of the user's own
        return None
    elites = archive.in_order_of_filling()
    picture = Archive(archive.tessellation, 1, dtype=np.int8, direction=archive.direction, floor=archive.floor)
    picture.add(np.zeros((len(elites), 1), np.int8), elites.fitness, elites.features)
    return picture
