"""Figures that others have published for the public benchmarks, with their sources.

All are after 10,000 iterations of 540 evaluations, on 10,000 niches. QD scores are sums over the niches of a fitness
that is at most 100: figures that were published as means, or with a fitness of at most 1, are multiplied accordingly.
"""

from __future__ import annotations

from dataclasses import dataclass

PUBLISHED_EVALUATIONS = 5_400_000
PUBLISHED_RUNS = 20

SOURCES = {
    "pyribs": "pyribs' documentation, example *Sphere Function with Various Algorithms* (docs.pyribs.org, version "
    "0.12): mean ± standard deviation of 20 trials.",
    "DMS": "B. Tjanaka, H. Chen, M. C. Fontaine, S. Nikolaidis (2026), *Discount model search for quality diversity "
    "optimization in high-dimensional measure spaces*, arXiv 2601.01082, table 1, as public summaries of the paper "
    "quote it: means of 20 trials.",
}


@dataclass(frozen=True)
class Published:
    """A row of a published table: coverage in [0, 1] and the QD score, with standard deviations if known."""

    algorithm: str
    source: str
    coverage: float
    qd_score: float
    coverage_sd: float | None = None
    qd_score_sd: float | None = None


def _pyribs(algorithm: str, score: float, sd: float, coverage: float, coverage_sd: float) -> Published:
    return Published(algorithm, "pyribs", coverage / 100, score, coverage_sd / 100, sd)


def _dms(algorithm: str, score: float, coverage: float) -> Published:
    return Published(algorithm, "DMS", coverage / 100, 100.0 * score)


PUBLISHED: dict[str, tuple[Published, ...]] = {
    "lp-sphere": (
        _pyribs("MAP-Elites", 416_111.64, 2_681.37, 50.72, 0.40),
        _pyribs("MAP-Elites (iso+line)", 491_013.92, 1_118.74, 60.44, 0.17),
        _pyribs("ME-MAP-Elites (bandit)", 533_477.98, 15_041.68, 65.28, 2.05),
        _pyribs("CMA-ME (improvement)", 456_678.01, 2_882.10, 55.84, 0.41),
        _pyribs("CMA-ME (random direction, mu)", 512_692.56, 4_070.15, 63.78, 0.61),
        _pyribs("NSLC, CMA-ES", 539_365.47, 2_916.88, 68.20, 0.46),
        _pyribs("CMA-MAE", 633_368.55, 1_504.43, 81.02, 0.27),
        _pyribs("discount model search", 700_776.58, 8_525.05, 95.99, 1.43),
        _pyribs("CMA-MAEGA (with gradients)", 753_834.72, 4.45, 100.0, 0.0),
    ),
    "lp-sphere-10": (
        _dms("CMA-MAE", 608.53, 6.95),
        _dms("discount model search", 6_409.50, 89.21),
    ),
    "lp-sphere-20": (
        _dms("CMA-MAE", 882, 9.1),
        _dms("discount model search", 7_406, 96.0),
    ),
    "lp-sphere-50": (
        _dms("CMA-MAE", 2_327, 24.2),
        _dms("discount model search", 6_991, 87.0),
    ),
    "lp-rastrigin-10": (
        _dms("CMA-MAE", 246.55, 2.98),
        _dms("discount model search", 5_138.81, 88.19),
    ),
}
"""Published figures by benchmark; those of other benchmarks we could not check, so they are left out."""
