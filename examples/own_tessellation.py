"""A tessellation of your own: rings and sectors around the middle of two features, found by compiled code.

Its name is own_tessellation:Rings: `tesselite run arm --tessellation own_tessellation:Rings:rings=8 -o runs/mine`
finds it in the current folder, and so do `tesselite resume` and `report`.
"""

import math

from numba import njit

import tesselite as tl


@njit
def find(points, floats, ints, niches):
    """The ring, then the sector, of each unit-scaled point; what lies outside belongs to the outermost ring."""
    rings, sectors = ints
    for i in range(len(points)):
        x, y = points[i, 0] - 0.5, points[i, 1] - 0.5
        ring = min(int(2.0 * rings * math.hypot(x, y)), rings - 1)
        sector = int((math.atan2(y, x) / (2.0 * math.pi) + 0.5) * sectors) % sectors
        niches[i] = ring * sectors + sector


class Rings(tl.Tessellation):
    """`rings` of equal width, each of as many `sectors`."""

    def __init__(self, space, rings=10, sectors=24):
        self.space, self.rings, self.sectors = space, rings, sectors
        self.n_niches = rings * sectors
        self._lookup = tl.lookup(find, ints=[rings, sectors])

    @property
    def lookup(self):
        """Leave it out and write `niches_of_unit(self, unit)` with NumPy, if speed does not matter."""
        return self._lookup

    def to_dict(self):
        """The arguments that recreate it."""
        return {"rings": self.rings, "sectors": self.sectors}


if __name__ == "__main__":
    from own_tessellation import Rings  # the name by which other processes find it

    arm = tl.problems.arm(10)
    archive = tl.illuminate(arm, tessellation=Rings(arm.features), evaluations=50_000, seed=1)
    print(f"{len(archive)} of {archive.n_niches} niches filled")
