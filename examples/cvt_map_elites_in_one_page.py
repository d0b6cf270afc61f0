"""CVT-MAP-Elites on one page: Algorithms 1 to 3 of Vassiliades, Chatzilygeroudis and Mouret (2018), in plain NumPy.

Written to be read. All randomness comes in through arguments: given the library's draws, it fills the same archive.
"""

import numpy as np


def nearest(points, centroids):
    """The index of the centroid nearest to each point, the lowest of equals."""
    return ((points[:, None] - centroids) ** 2).sum(axis=2).argmin(axis=1)


def cvt(samples, centroids, iterations):
    """Algorithm 1: move every centroid to the mean of the samples that are nearest to it, again and again."""
    centroids = centroids.copy()
    for _ in range(iterations):
        labels = nearest(samples, centroids)
        for c in np.unique(labels):
            centroids[c] = samples[labels == c].mean(axis=0)
    return centroids


def map_elites(evaluate, niche_of, initial, parents, vary, evaluations, batch_size):
    """Algorithms 2 (niche_of finds a cell) and 3 (the nearest centroid): {niche: (fitness, features, solution)}."""
    archive = {}  # line 3 of Algorithm 3; a dictionary keeps the order in which niches were first filled

    def add(solutions):
        fitness, features = evaluate(solutions)
        for p, b, x, c in zip(fitness, features, solutions, niche_of(features), strict=True):  # line 14
            if c not in archive or p > archive[c][0]:  # lines 15 and 16
                archive[c] = p, b, x

    add(initial)  # lines 4 to 6
    for first in range(len(initial), evaluations, batch_size):  # lines 7 to 10
        elites = np.array([x for _, _, x in archive.values()])
        x, y = elites[parents(first, min(batch_size, evaluations - first), len(elites))]
        add(vary(first, x, y))
    return archive


def iso_line(x, y, noise, iso=0.01, line=0.2):
    """A normal step in every value and one along the line from x to y; noise holds their normals side by side."""
    return np.clip(x + iso * noise[:, :-1] + line * noise[:, -1:] * (y - x), 0, 1)


def arm(joints):
    """A planar arm: alike joints are best; the features are where the hand is, in the unit square."""
    angles = np.cumsum(2 * np.pi * joints - np.pi, axis=1)
    hand = 0.5 + 0.5 * np.stack([np.cos(angles).mean(axis=1), np.sin(angles).mean(axis=1)], axis=1)
    return 1 - joints.std(axis=1, ddof=1), hand


if __name__ == "__main__":
    rng = np.random.default_rng(1)
    sites = cvt(rng.random((5000, 2)), rng.random((100, 2)), iterations=20)
    pairs, steps = lambda _, n, k: rng.integers(0, k, (2, n)), lambda n: rng.normal(size=(n, 11))
    vary = lambda _, x, y: iso_line(x, y, steps(len(x)))  # noqa: E731
    elites = map_elites(arm, lambda b: nearest(b, sites), rng.random((1000, 10)), pairs, vary, 20_000, 200)
    print(f"{len(elites)} of 100 niches filled, best fitness {max(p for p, _, _ in elites.values()):.4f}")
