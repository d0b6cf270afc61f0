"""The site's sources: every public name is in the reference, every page has a place. `make docs` builds the site."""

import inspect
import re
from pathlib import Path

import tesselite as tl

DOCS = Path(__file__).parent.parent / "docs"


def test_reference_has_every_public_name():
    public = set()
    for name in tl.__all__:
        value = getattr(tl, name)
        public |= {f"{name}.{inner}" for inner in value.__all__} if inspect.ismodule(value) else {name}
    pages = "".join(page.read_text() for page in (DOCS / "reference").glob("*.md"))
    listed = re.findall(r"^\.\. auto\w+:: tesselite\.(\S+)$", pages, flags=re.MULTILINE)
    assert set(public) - set(listed) == set(), "add these to a page in docs/reference"
    assert sorted(listed) == sorted(public)


def test_every_page_is_in_a_table_of_contents():
    pages = {page.relative_to(DOCS).with_suffix("").as_posix() for page in DOCS.rglob("*.md")} - {"index"}
    listed = set()
    for page in DOCS.rglob("*.md"):
        for block in re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(), flags=re.DOTALL):
            for entry in re.findall(r"^(?!:)(?:.*<)?([\w/.-]+?)>?$", block, flags=re.MULTILINE):
                listed.add((page.parent / entry).resolve().relative_to(DOCS.parent).as_posix().removeprefix("docs/"))
    assert pages <= listed


def test_every_tutorial_is_a_notebook():
    pages = [page for page in (DOCS / "tutorials").glob("*.md") if page.stem != "index"]
    assert [page.stem for page in pages if not page.read_text().startswith("---\nfile_format: mystnb\n")] == []
