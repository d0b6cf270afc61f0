"""Figures and pages of runs and archives. Metrics are computed in `tesselite.assessment`."""
