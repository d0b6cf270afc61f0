"""The README's shell commands exist, and so does the demonstration; `test_documentation` runs its Python."""

import re
import runpy
from pathlib import Path

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def test_every_command_of_the_readme_exists():
    from tesselite.cli.app import app

    known = {command.name for command in app.registered_commands}
    used = set(re.findall(r"^    tesselite (\w+)", README, flags=re.MULTILINE))
    assert used
    assert used <= known


def test_demo_is_the_command_behind_make_demo():
    assert "examples/demo.py" in (ROOT / "Makefile").read_text()
    assert callable(runpy.run_path(str(ROOT / "examples" / "demo.py"))["main"])  # all its imports exist
