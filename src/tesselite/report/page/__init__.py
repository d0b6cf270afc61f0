"""The interactive page of one run or several: what it shows is gathered here, how it shows it is in `assets`.

Static figures are in `tesselite.report`, the server that keeps a page up to date in `tesselite.report.live`.
"""

from tesselite.report.page.html import write_report

__all__ = ["write_report"]
