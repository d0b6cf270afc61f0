"""Texts in CSV files, which spreadsheets open: none of them is a formula."""

from __future__ import annotations

_BEGINNINGS = ("=", "+", "-", "@", "\t", "\r")


def as_text(text: str) -> str:
    """Text that a spreadsheet would parse as a formula, with an apostrophe before it; other text unchanged.

    Names come from other people's problems and archives, and a formula may fetch or run things when a file is opened.
    """
    if text.startswith(_BEGINNINGS):
        try:
            float(text)
        except ValueError:
            return f"'{text}"
    return text


def from_text(text: str) -> str:
    """The inverse of `as_text`."""
    return text[1:] if text[:1] == "'" and text[1:].startswith(_BEGINNINGS) else text
