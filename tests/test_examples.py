"""The README's Python snippets run as they stand, and its shell commands exist."""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
SNIPPETS = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)


def test_readme_has_its_three_examples():
    assert len(SNIPPETS) >= 3


@pytest.mark.parametrize("number", range(len(SNIPPETS)))
def test_readme_snippet_runs(number, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec(compile(SNIPPETS[number], f"README snippet {number}", "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out.strip()


def test_every_command_of_the_readme_exists():
    from tesselite.cli.app import app

    known = {command.name for command in app.registered_commands}
    used = set(re.findall(r"^    tesselite (\w+)", README, flags=re.MULTILINE))
    assert used
    assert used <= known


def test_demo_is_the_command_behind_make_demo():
    assert "examples/demo.py" in (ROOT / "Makefile").read_text()
    assert callable(runpy.run_path(str(ROOT / "examples" / "demo.py"))["main"])  # all that it imports is there
