"""How a feature space is cut into niches: regular grids, Voronoi tessellations, and the construction of CVTs."""

from tesselite.tessellation import samplers
from tesselite.tessellation.cvt import ConstructionRecord, cvt
from tesselite.tessellation.voronoi import VoronoiTessellation

__all__ = ["ConstructionRecord", "VoronoiTessellation", "cvt", "samplers"]
