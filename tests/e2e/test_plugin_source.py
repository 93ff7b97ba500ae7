"""Source of the plugin: types, format, dependencies, and hooks that may raise errors."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest

SOURCE = Path(str(files("opencode_memory.hosts.opencode"))) / "plugin"
SETTINGS = Path(__file__).with_name("plugin_tools")
VETOES = {"shell.env", "tool", "tool.execute.before"}
"""Hooks whose errors reach OpenCode: a tool reports its failure, and the read-only shell refuses a command."""


@pytest.fixture
def workshop(plugin_tools: Path, tmp_path: Path) -> Path:
    """A folder with the plugin and all that checks it."""
    shutil.copytree(SOURCE, tmp_path / "plugin")
    for settings in ("tsconfig.json", "biome.json"):
        shutil.copy(SETTINGS / settings, tmp_path)
    (tmp_path / "node_modules").symlink_to(plugin_tools / "node_modules")
    return tmp_path


def check(workshop: Path, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [workshop / "node_modules" / ".bin" / program, *arguments],
        cwd=workshop,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_its_types_are_those_of_opencode(workshop: Path) -> None:
    ran = check(workshop, "tsc", "--project", ".")
    assert ran.returncode == 0, ran.stdout
    plugin = workshop / "plugin" / "opencode-memory.ts"
    plugin.write_text(plugin.read_text().replace("event: ({ event })", "event: ({ evnt })"))
    assert check(workshop, "tsc", "--project", ".").returncode != 0


def test_it_is_linted_and_formatted(workshop: Path) -> None:
    ran = check(workshop, "biome", "ci", "--colors=off", "plugin")
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_plugin_measures_durations_with_a_monotonic_clock() -> None:
    # The clock of the day may be set back, and a pause would then last as long.
    wall = [file.name for file in SOURCE.rglob("*.ts*") if re.search(r"\bDate\b", file.read_text(encoding="utf-8"))]
    assert wall == []


def test_plugin_has_no_run_time_dependency_and_one_export() -> None:
    sources = {file: file.read_text(encoding="utf-8") for file in SOURCE.rglob("*.ts")}
    assert len(sources) > 1
    imported = {
        (what, where)
        for text in sources.values()
        for what, where in re.findall(r"^import (type )?[^\"]*? from \"([^\"]+)\"", text, re.MULTILINE)
    }
    assert {where for what, where in imported if not what and not where.startswith((".", "node:"))} == set()
    [exports] = [text.count("\nexport ") for file, text in sources.items() if file.parent == SOURCE]
    assert exports == 1


def test_only_tools_and_shells_raise_errors() -> None:
    text = (SOURCE / "opencode-memory.ts").read_text(encoding="utf-8")
    body = text[text.index("): Promise<Hooks> {") : text.index("\n}\n", text.index("): Promise<Hooks> {"))]
    hooks = dict(re.findall(r"^    \"?([\w.]+)\"?: (.*)", body, re.MULTILINE))
    assert len(hooks) > len(VETOES)
    assert {name for name, value in hooks.items() if not re.search(r"\b(attempt|guarded)\(", value)} == VETOES


def test_its_tools_are_pinned() -> None:
    wanted = json.loads((SETTINGS / "package.json").read_text())["dependencies"]
    locked = json.loads((SETTINGS / "package-lock.json").read_text())["packages"]
    assert {name: locked[f"node_modules/{name}"]["version"] for name in wanted} == wanted
