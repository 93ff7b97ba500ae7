"""Help of every command, compared with docs/cli.md, and its import cost."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from opencode_memory.cli.command import Command, Group
from opencode_memory.cli.commands import SECTIONS, application
from opencode_memory.cli.options import COLORS
from opencode_memory.config.sections import Color
from support.command_line import CommandLine

DOCUMENT = Path(__file__).parents[2] / "docs" / "cli.md"
LAYOUT: dict[str, Any] = {"max_content_width": 100, "terminal_width": 100, "help_option_names": ["-h", "--help"]}
INTRODUCTION = """\
# The command line

After reading this page, you can look up every command and option.

It shows the help of `opencode-memory`, which is also installed as `ocm-mem` and `ocm-memory`. A test compares this page
with the output of `--help`; `UPDATE_DOCS=1 pytest tests/cli/test_help.py` updates it.

Exit codes: 0 for success, also of a list without entries. 1 if what you search or name is not found, if there is nothing
to undo, stop or remove, for a failed check, and for your "no" to a question. 2 for wrong usage or an error, 130 for an
interrupt; only `serve` ends with 0 then. With `--json`, a command prints one JSON document to standard output, and an
error as one JSON document to standard error.
"""


def walk_commands(group: click.Group, context: click.Context) -> Iterator[tuple[click.Context, click.Command]]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        inner = click.Context(command, parent=context, info_name=name, **LAYOUT)
        yield inner, command
        if isinstance(command, click.Group):
            yield from walk_commands(command, inner)


def render_help() -> str:
    root = click.Context(application, info_name="opencode-memory", **LAYOUT)
    parts = [INTRODUCTION, f"```text\n{application.get_help(root)}\n```\n"]
    parts += [
        f"## {inner.command_path.removeprefix('opencode-memory ')}\n\n```text\n{command.get_help(inner)}\n```\n"
        for inner, command in walk_commands(application, root)
    ]
    return "\n".join(parts)


@pytest.mark.parametrize(
    ("typed", "ours"),
    [("search", "recall"), ("uninstall", "setup --undo"), ("forget", "delete"), ("recal", "recall")],
)
def test_name_of_another_program_suggests_our_command(cli: CommandLine, typed: str, ours: str) -> None:
    answer = cli(typed, "x")
    assert (answer.code, f"did you mean '{ours}'?" in answer.err) == (2, True)


def test_other_names_suggest_commands_that_exist() -> None:
    known = {name for commands in SECTIONS.values() for name in commands}
    others = application.other_names
    assert {ours.split()[0] for ours in others.values()} <= known
    assert known.isdisjoint(others)


def test_documentation_matches_help() -> None:
    if os.environ.get("UPDATE_DOCS"):
        DOCUMENT.write_text(render_help(), encoding="utf-8")
    assert DOCUMENT.read_text(encoding="utf-8") == render_help()


def test_every_command_has_help_and_global_options() -> None:
    root = click.Context(application, info_name="opencode-memory")
    for inner, command in walk_commands(application, root):
        assert isinstance(command, Command | Group), inner.command_path
        assert command.name == inner.info_name
        assert command.help, inner.command_path
        assert {"as_json", "project", "folder", "data_dir", "color"} <= {option.name for option in command.params}
        for option in command.params:
            assert not isinstance(option, click.Option) or option.help, (inner.command_path, option.name)


def test_short_help_is_one_short_sentence() -> None:
    for section in SECTIONS.values():
        for _, about in section.values():
            assert about.endswith(".")
            assert len(about) <= 60


def test_help_imports_no_heavy_modules() -> None:
    program = (
        "import sys; from opencode_memory.cli import main; assert main(['--help']) == 0; "
        "heavy = {'numpy', 'onnxruntime', 'tokenizers', 'tomlkit', 'tomllib', 'sqlite3', 'subprocess', 'tempfile',"
        " 'difflib', 'opencode_memory._core', 'opencode_memory.store.memory_store'}; "
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, stdout=subprocess.DEVNULL)


def test_color_option_has_the_values_of_the_setting() -> None:
    assert [color.value for color in Color] == list(COLORS)
