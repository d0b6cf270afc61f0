"""The logger `tesselite`: what a run does, for programs that collect logs.

It has only a null handler, so nothing is shown unless the user configures logging.
"""

from __future__ import annotations

import logging

log = logging.getLogger("tesselite")
log.addHandler(logging.NullHandler())
