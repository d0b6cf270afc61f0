"""A solution space of your own: orders in which to visit places, and the shortest tours of every kind.

Kinds of tours differ in where they are halfway. Run it by `tesselite run own_solutions:tours --niches 200`.
"""

import numpy as np

import tesselite as tl

PLACES = np.random.default_rng(0).random((12, 2))


class Orders:
    """Rows are permutations of 0 to n - 1."""

    def __init__(self, n):
        self.width, self.dtype = n, np.dtype(np.int64)

    def random(self, n, rng):
        """n random orders, (n, width)."""
        return rng.permuted(np.tile(np.arange(self.width), (n, 1)), axis=1)

    def validate(self, solutions):
        """The rows, if all are orders."""
        rows = np.ascontiguousarray(solutions, dtype=self.dtype)
        if rows.ndim != 2 or not (np.sort(rows, axis=1) == np.arange(self.width)).all():
            raise ValueError(f"solutions: expected orders of 0 to {self.width - 1}, got {solutions!r:.80}")
        return rows

    def vary(self, parents, rng):
        """Each child is its parent with a part turned round."""
        children = parents.copy()
        for child in children:
            first, last = np.sort(rng.integers(0, self.width + 1, 2))
            child[first:last] = child[first:last][::-1]
        return children


@tl.problem(solutions=Orders(len(PLACES)), features={"x": (0, 1), "y": (0, 1)}, direction="min", floor=12.0)
def tours(order):
    """The length of the tour, and where it is halfway."""
    places = PLACES[order]
    steps = np.diff(places, axis=0, append=places[:1])
    return np.hypot(*steps.T).sum(), places[len(places) // 2]


if __name__ == "__main__":
    archive = tl.illuminate(tours, n_niches=200, evaluations=20_000, seed=1)
    print(f"{len(archive)} tours; the shortest: {archive.best.fitness:.3f}, {archive.best.solution.tolist()}")
