"""Exact nearest-centroid indexes; what a niche is and how centroids are placed lives a level up."""

from tesselite.tessellation.nearest.index import Index, build_index

__all__ = ["Index", "build_index"]
