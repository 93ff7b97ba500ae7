"""Every command block of the README and of docs/ runs, in its own home folder and without a network.

Some commands are replaced, because they cannot run here as they stand:

* ``pip install .`` asks pip whether this package is installed; the wheel is built and installed in CI.
* ``make TARGET`` becomes ``make --dry-run TARGET``.
* ``python -m benches...`` becomes ``--help``, which has to list each option of the documented command.
* ``python -m pytest`` only collects the tests, of which there has to be at least one.
* ``service install`` becomes a dry run. docs/service.md as a whole is run by tests/service, with a fake systemd.

If a ``console`` block shows output, the command has to print it; ids and ages may differ. ``ID`` stands for the id of a memory, and ``SESSION`` for a session of OpenCode.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections import Counter
from pathlib import Path

import pytest

from docs.blocks import RUN_UNTIL_STOPPED, Block, blocks, split_words, table_commands
from docs.machine import DOCUMENTS, ROOT, SESSION, Machine, normalize

README = ROOT / "README.md"
SERVICE = ROOT / "docs" / "service.md"
ALL = [block for file in DOCUMENTS if file != SERVICE for block in blocks(file)]
SHELL = [block for block in ALL if block.language in {"sh", "console"}]
QUICKSTART = ROOT / "docs" / "quickstart.md"
"""A reader runs its blocks one after the other, so the test does the same, on an empty machine."""
SKIPPED = {"docs/benchmarks.md": 4, "docs/learning.md": 2}
"""Number of blocks that are not run, by document."""
FINDS_NOTHING = {
    "opencode-memory loop list --all",
    "opencode-memory review",
    "opencode-memory review --list",
    "opencode-memory backup list",
    "opencode-memory why",
}
"""Commands that may end with 1, because the machine holds nothing that they list."""
LANGUAGES = {"", "sh", "console", "python", "toml", "json", "jsonc", "text", "markdown"}


def run_command(machine: Machine, command: str) -> str:
    """Run one documented command as this test suite can, check its exit code, and return its output."""
    if command in RUN_UNTIL_STOPPED:
        machine.run_until_stopped(command, answers=RUN_UNTIL_STOPPED[command])
        return ""
    words = split_words(command)
    match words:
        case ["pip", "install", *_] if "." in words:
            return machine.ok("pip install --no-deps ocm-memory")
        case ["make", *targets]:
            return machine.ok(shlex.join(["make", "--dry-run", *targets]), folder=ROOT)
        case ["python", "-m", module, *options] if module.startswith(("benches.", "scripts.")):
            return check_options(machine, ["python", "-m", module], options)
        case ["python", script, *options] if script.startswith("scripts/"):
            return check_options(machine, ["python", script], options)
        case ["python", "-m", "pytest", *_]:
            return machine.ok(f"{command} --collect-only --quiet", folder=ROOT)
        case ["opencode-memory", "service", "install", *_]:
            return machine.ok(f"{command} --dry-run")
    ran = machine.run(fill_in(machine, command))
    assert ran.returncode in ((0, 1) if command in FINDS_NOTHING else (0,)), f"{command}\n{ran.stdout}"
    return ran.stdout


def check_options(machine: Machine, command: list[str], options: list[str]) -> str:
    """Check that a script exists and has the options that a document names. Return its help."""
    shown = machine.ok(shlex.join([*command, "--help"]), folder=ROOT)
    for option in options:
        assert not option.startswith("--") or option in shown, f"{shlex.join(command)} has no {option}"
    return shown


def fill_in(machine: Machine, command: str) -> str:
    """Replace placeholders by ids that exist."""
    if re.search(r"\bID\b", command):
        memories = json.loads(machine.ok("opencode-memory --json list"))["memories"]
        command = re.sub(r"\bID\b", memories[0]["id"], command)
    return re.sub(r"\bSESSION\b", SESSION, command)


@pytest.mark.parametrize("block", [block for block in SHELL if not block.skipped and block.file != QUICKSTART], ids=str)
def test_command_block_runs(block: Block, machine: Machine) -> None:
    run_block(machine, block)


def test_blocks_of_the_quickstart_run_one_after_the_other(tmp_path: Path) -> None:
    machine = Machine.prepare(tmp_path / "home")
    for block in SHELL:
        if block.file == QUICKSTART:
            run_block(machine, block)


def run_block(machine: Machine, block: Block) -> None:
    """Run the commands of a block, and compare the output that the document shows."""
    assert block.steps
    rows: list[str] = []
    try:
        for step in block.steps:
            out = run_command(machine, step.command)
            rows += [step.row, *(out.splitlines() if step.output else ())]
    finally:
        machine.stop_server()
    if any(step.output for step in block.steps):
        check_output(block, "".join(f"{row}\n" for row in rows))


def check_output(block: Block, current: str) -> None:
    """Compare the output in a document with that of today; with ``UPDATE_DOCS=1`` write it."""
    if os.environ.get("UPDATE_DOCS") and normalize(block.text) != normalize(current):
        text = block.file.read_text(encoding="utf-8")
        block.file.write_text(text.replace(block.text, current), encoding="utf-8")
        return
    assert normalize(block.text) == normalize(current)


@pytest.mark.parametrize("command", table_commands(README))
def test_command_of_the_readme_table_runs(command: str, machine: Machine) -> None:
    try:
        if "--undo" in command:
            machine.ok("opencode-memory setup")
        run_command(machine, command)
    finally:
        machine.stop_server()


@pytest.mark.parametrize("block", [block for block in blocks(README) if block.language == "python"], ids=str)
def test_python_block_runs(block: Block, machine: Machine) -> None:
    out = machine.ok(f"python -c {shlex.quote(block.text)}")
    assert "PostgreSQL" in out


def test_readme_names_one_command_for_each_wish() -> None:
    assert len(table_commands(README)) >= 10
    assert len(README.read_text(encoding="utf-8").splitlines()) < 120


def test_skipped_blocks_are_known_and_have_reasons() -> None:
    skipped = [block for block in SHELL if block.skipped]
    assert Counter(block.file.relative_to(ROOT).as_posix() for block in skipped) == SKIPPED
    assert all(len(block.skipped) > len("needs npm") for block in skipped)


def test_every_block_names_a_known_language() -> None:
    assert {str(block) for block in ALL if block.language not in LANGUAGES} == set()


def test_service_document_is_run_by_the_tests_of_the_service() -> None:
    users = [file for file in (ROOT / "tests" / "service").rglob("*.py") if '"service.md"' in file.read_text()]
    assert users
