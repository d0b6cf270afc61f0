"""Check a built site: every internal link has a target, and every public name and method has an entry.

python tools/check_site.py build/site
"""

from __future__ import annotations

import inspect
import re
import sys
import zlib
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import tesselite


class _Page(HTMLParser):
    """The links of a page and the places in it that links can name."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.places: set[str] = {"", "top"}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.links.add(value)
            elif name == "id" and value:
                self.places.add(value)


def _pages(site: Path) -> list[Path]:
    return [file for file in site.rglob("*.html") if "_static" not in file.parts]  # the theme's own templates


def broken_links(site: Path) -> list[str]:
    """Broken links between files of the site, each with its page."""
    pages = {file.resolve(): _Page(file.read_text(encoding="utf-8")) for file in _pages(site)}
    broken = []
    for file, page in pages.items():
        for link in sorted(page.links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            known = pages.get(target)
            if not target.exists() or (known is not None and unquote(parts.fragment) not in known.places):
                broken.append(f"{file.relative_to(site.resolve())}: {link}")
    return broken


def missing_names(site: Path) -> list[str]:
    """Public names and methods that have no entry in the site's index of objects."""
    inventory = (site / "objects.inv").read_bytes().split(b"\n", 4)[4]
    listed = set(re.findall(r"^(\S+) py:", zlib.decompress(inventory).decode(), flags=re.MULTILINE))
    wanted = []
    for name in tesselite.__all__:
        value = getattr(tesselite, name)
        if inspect.ismodule(value):
            wanted += [f"tesselite.{name}.{inner}" for inner in value.__all__]
            continue
        wanted.append(f"tesselite.{name}")
        if inspect.isclass(value) and not name.islower():  # small letters: written as a function (`tl.expanding`)
            wanted += [f"tesselite.{name}.{part}" for part, of in vars(value).items() if _is_method(part, of)]
    return [name for name in wanted if name not in listed]


def _is_method(name: str, value: object) -> bool:
    kinds = (property, classmethod, staticmethod)
    return not name.startswith("_") and (inspect.isfunction(value) or isinstance(value, kinds))


def main() -> int:
    """Print errors; the exit code is 1 if there are any."""
    site = Path(sys.argv[1])
    wrong = [f"broken link in {link}" for link in broken_links(site)]
    wrong += [f"no entry in docs/reference for {name}" for name in missing_names(site)]
    print("\n".join(wrong), file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
