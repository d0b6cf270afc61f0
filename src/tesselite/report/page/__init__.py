"""The interactive page of one run or several: its data are gathered here, its scripts and styles are in `assets`.

Static figures are in `tesselite.report`, the server that keeps a page up to date in `tesselite.report.live`.
"""

from tesselite.report.page.html import write_report

__all__ = ["write_report"]
