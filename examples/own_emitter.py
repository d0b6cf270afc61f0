"""An emitter of your own: offspring whose steps grow while they succeed and shrink while they fail.

The search asks it for solutions, reports their results, and stores its state in checkpoints. To resume a run, pass the
emitter again: `tl.resume(DIR, problem, emitter=OneFifth())`.
"""

import numpy as np

import tesselite as tl


class OneFifth(tl.emitters.Emitter):
    """Gaussian steps around uniformly drawn elites; one success in five keeps their length."""

    def __init__(self, sigma=0.1):
        self.sigma = sigma  # of the span of each value

    def ask(self, archive, n, first):
        """n solutions; their randomness depends on the seed and on the number `first` alone."""
        rng = self.generator(first)
        elites = archive.elites().solutions
        span = self.space.high - self.space.low
        parents = elites[rng.integers(len(elites), size=n)]
        return np.clip(
            parents + self.sigma * span * rng.standard_normal(parents.shape), self.space.low, self.space.high
        )

    def tell(self, solutions, evaluated, added):
        """Follow the share of offspring that entered the archive."""
        entered = np.isin(added.status, (tl.Status.NEW, tl.Status.IMPROVED)).mean()
        self.sigma = float(np.clip(self.sigma * np.exp(entered - 0.2), 1e-3, 0.5))

    def state(self):
        """What a checkpoint keeps."""
        return {"sigma": np.array([self.sigma])}

    def restore(self, state):
        """Go back to a checkpoint."""
        self.sigma = float(state["sigma"][0])


if __name__ == "__main__":
    archive = tl.illuminate(tl.problems.arm(10), grid=40, evaluations=50_000, emitter=OneFifth(), seed=1)
    print(f"{len(archive)} of {archive.n_niches} niches filled")
