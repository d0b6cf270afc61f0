"""Texts as files."""

from __future__ import annotations

from pathlib import Path

from tesselite.base.atomic import write_atomically


def write_text(path: Path, text: str) -> None:
    """Write a text in UTF-8 atomically, into a folder that is made if need be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, lambda part: part.write_text(text, encoding="utf-8"))
