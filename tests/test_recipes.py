"""The recipes of the documentation run as they stand, one after the other."""

import re
from pathlib import Path

RECIPES = (Path(__file__).parent.parent / "docs" / "recipes.md").read_text()


def test_recipes_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "recipes"}
    snippets = re.findall(r"```python\n(.*?)```", RECIPES, flags=re.DOTALL)
    assert len(snippets) >= 3
    for number, snippet in enumerate(snippets):
        exec(compile(snippet, f"recipe {number}", "exec"), names)
