"""An operator of your own, compiled into the search loop: uniform crossover with a little noise.

Its name is own_operator:crossover: `tesselite run arm --grid 40 --variation own_operator:crossover -o runs/mine` finds
it in the current folder, and so does `tesselite resume`.
"""

from numba import njit

import tesselite as tl


@tl.variation.operator(n_parents=2)
@njit
def crossover(parents, low, high, random):
    """Each value of the child comes from either parent, and moves by a hundredth of its span."""
    child = parents[0]
    for j in range(len(child)):
        if random.uniform[j] < 0.5:
            child[j] = parents[1, j]
        child[j] += 0.01 * (high[j] - low[j]) * random.normal[j]
    return child


if __name__ == "__main__":
    from own_operator import crossover  # the name by which other processes find it

    archive = tl.illuminate(tl.problems.arm(10), grid=40, evaluations=50_000, variation=crossover, seed=1)
    print(f"{len(archive)} of {archive.n_niches} niches filled by {crossover}")
