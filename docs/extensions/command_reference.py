"""The directive `commands`: every command of the shell with its arguments and options, from the commands themselves."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import typer
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from tesselite import cli
from tesselite.cli.app import app as shell


class Commands(SphinxDirective):
    """A section for each command; takes no arguments."""

    def run(self) -> list[nodes.Node]:
        """The sections, parsed from Markdown; made again when a command changes."""
        for file in Path(cli.__file__).parent.rglob("*.py"):
            self.env.note_dependency(str(file))
        return self.parse_text_to_nodes("\n".join(command_lines()), allow_section_headings=True)


def command_lines() -> list[str]:
    """The reference of all commands in Markdown."""
    group: Any = typer.main.get_command(shell)
    lines: list[str] = []
    for name, command in group.commands.items():
        context = typer.Context(command, info_name=f"tesselite {name}")
        usage = " ".join(command.collect_usage_pieces(context))
        lines += [f"## {name}", "", "```{code-block} text", f"tesselite {name} {usage}", "```", ""]
        lines += [_text(command.help or ""), ""]
        for parameter in command.params:
            record = parameter.get_help_record(context)
            if record is not None:  # None: hidden
                lines += [f"`{record[0]}`", f": {_text(record[1])}", ""]
    return lines


def _text(help_text: str) -> str:
    """Help as Markdown: one line for each paragraph, nothing that is taken for markup."""
    paragraphs = [" ".join(part.split()) for part in re.split(r"\n\s*\n", help_text)]
    return "\n\n".join(re.sub(r"([*_<\[\]{}])", r"\\\1", paragraph) for paragraph in paragraphs)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True}
