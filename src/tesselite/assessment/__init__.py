"""The quality of archives: metrics, assessment in held-out scenarios, statistics over runs, comparison of groups.

Figures are drawn in `tesselite.report`. Vassiliades, Chatzilygeroudis, Mouret (2018), section III.
"""
