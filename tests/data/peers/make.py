"""Makes the files beside, with the peers' own code where it can be installed: ribs 0.12, qdax 0.5 and 0.4.

python make.py pyribs     # with ribs and pandas
python make.py qdax       # with qdax: folder qdax-0.5 or, by its own `save`, qdax-0.4
python make.py text       # NumPy only: pymap_elites and sferes2, whose sources say how they write
"""

import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
RANGES = [(-1.0, 1.0), (0.0, 3.0)]  # of different widths: a distance in scaled features is another one
LOW, HIGH = np.transpose(RANGES)


def candidates(rng, n=150, width=3):
    return rng.normal(size=(n, width)), rng.normal(size=n), rng.uniform(LOW - 0.1, HIGH + 0.1, size=(n, 2))


def pyribs():
    from ribs.archives import CVTArchive, GridArchive

    rng = np.random.default_rng(1)
    fields = {"mass": ((), np.float64), "path": ((2,), np.float64), "tag": ((), object)}
    centroids = rng.uniform(LOW, HIGH, size=(30, 2))
    np.save(HERE / "pyribs-centroids.npy", centroids)
    common = {"solution_dim": 3, "ranges": RANGES}
    grid = GridArchive(dims=[5, 7], **common, extra_fields=fields)
    for name, archive in {
        "grid": grid,
        "cvt": CVTArchive(centroids=centroids, **common, extra_fields=fields),
        "annealed": GridArchive(dims=[5, 7], **common, learning_rate=0.1, threshold_min=-3.0),
    }.items():
        solutions, objective, measures = candidates(rng)
        if archive is grid:
            measures[:10, 0] = RANGES[0][0] + 0.4 - 1e-8  # a border of cells that pyribs shifts by 1e-6
        tags = np.array([f"{i}, 'é\"" for i in range(150)], dtype=object)
        extra = {"mass": rng.random(150), "path": rng.random((150, 2)), "tag": tags} if name != "annealed" else {}
        archive.add(solutions, objective, measures, **extra)
        archive.data(return_type="pandas").to_csv(HERE / f"pyribs-{name}.csv", index=name == "cvt")


def qdax():
    import jax.numpy as jnp
    from qdax.core.containers.mapelites_repertoire import MapElitesRepertoire

    rng = np.random.default_rng(2)
    solutions, fitness, descriptors = map(jnp.asarray, candidates(rng))
    centroids = jnp.asarray(rng.uniform(LOW, HIGH, size=(30, 2)))
    repertoire = MapElitesRepertoire.init(solutions, fitness, descriptors, centroids)
    folder = HERE / ("qdax-0.4" if hasattr(repertoire, "save") else "qdax-0.5")
    folder.mkdir(exist_ok=True)
    if hasattr(repertoire, "save"):
        repertoire.save(f"{folder}/")
    else:
        for name in ("genotypes", "fitnesses", "descriptors", "centroids"):
            jnp.save(folder / f"{name}.npy", getattr(repertoire, name))


def text():
    rng = np.random.default_rng(3)
    # pymap_elites, map_elites/common.py: everything by str, a blank behind each value.
    centroids = rng.random((25, 2))
    lines = ["".join(f"{value} " for value in row.tolist()) for row in centroids]
    (HERE / "centroids_25_2.dat").write_text("\n".join(lines) + "\n")
    lines = []
    for niche in rng.permutation(25)[:18]:
        features = centroids[niche] + rng.normal(size=2) * 1e-3
        row = [rng.normal(), *centroids[niche], *features, *rng.random(3)]
        lines.append("".join(f"{float(value)} " for value in row))
    (HERE / "pymap_elites-archive_1000.dat").write_text("\n".join(lines) + "\n")
    # sferes2, module map_elites, stat_map.hpp: offset, cell / shape as float, fitness, genome; six digits.
    shape, lines = (7, 11), []
    for offset in range(77):
        if rng.random() < 0.6:
            cell = [np.float32(i) / np.float32(n) for i, n in zip(np.unravel_index(offset, shape), shape, strict=True)]
            genome = "".join(f"{value:g} " for value in rng.random(3))
            lines.append(f"{offset}    {cell[0]:g} {cell[1]:g}  {rng.normal():g} {genome}")
    (HERE / "sferes2-map_elites.dat").write_text("\n".join(lines) + "\n")
    # sferes2, module cvt_map_elites, stat_map.hpp: three digits of features and fitness, floats in full; no number.
    lines = []
    for niche in np.sort(rng.permutation(25)[:18]):
        features = centroids[niche] + rng.normal(size=2) * 1e-3
        genome = "".join(f"{float(np.float32(value)):.50g} " for value in rng.random(3))
        lines.append(f"{features[0]:.3g} {features[1]:.3g}  {rng.normal():.3g}  {genome}")
    (HERE / "sferes2-cvt_map_elites.dat").write_text("\n".join(lines) + "\n")
    # sferes2, core, qd_container.hpp: the number of the line, 17 digits.
    lines = []
    for line, niche in enumerate(rng.permutation(25)[:18]):
        features = centroids[niche] + rng.normal(size=2) * 1e-3
        genome = "".join(f"{value:.17g} " for value in rng.random(3))
        lines.append(f"{line}    {features[0]:.17g} {features[1]:.17g}  {rng.normal():.17g}         {genome}")
    (HERE / "sferes2-core.dat").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    {"pyribs": pyribs, "qdax": qdax, "text": text}[sys.argv[1]]()
