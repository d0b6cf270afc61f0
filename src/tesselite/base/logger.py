"""The logger `tesselite`: what a run does, for programs that collect logs.

It has no handler but a null one, so nothing is shown unless the user configures logging. People watch the display.
"""

from __future__ import annotations

import logging

log = logging.getLogger("tesselite")
log.addHandler(logging.NullHandler())
