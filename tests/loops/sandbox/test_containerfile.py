"""The image for containers: its recipe, and with ``SANDBOX_IMAGE`` the programs in the image itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from loops.sandbox.cells import Cell, make_cell

CONTAINERFILE = Path(__file__).resolve().parents[3] / "container" / "Containerfile"
ALLOWED = {"FROM", "RUN", "ENV", "WORKDIR"}
TOOLS = ("node", "npm", "pnpm", "yarn", "bun", "python3", "uv", "rg", "git", "jq", "gcc")


def instructions() -> list[tuple[str, str]]:
    """Return each instruction with its arguments; comments are dropped and continued lines are joined."""
    lines = [line for line in CONTAINERFILE.read_text().splitlines() if line.strip() and not line.startswith("#")]
    whole = re.sub(r"\s*\\\n\s*", " ", "\n".join(lines))
    found = [line.partition(" ") for line in whole.splitlines()]
    return [(name, arguments) for name, _, arguments in found]


def arguments_of(name: str) -> str:
    return "\n".join(arguments for found, arguments in instructions() if found == name)


def test_recipe_has_known_instructions_and_one_base_with_registry_and_tag() -> None:
    assert {name for name, _ in instructions()} <= ALLOWED
    assert re.fullmatch(r"docker\.io/library/debian:[a-z]+-slim", arguments_of("FROM"))


def test_packages_of_registries_have_a_version() -> None:
    runs = arguments_of("RUN")
    [from_npm] = re.findall(r"npm install --global ([^&\n]*)", runs)
    [from_pypi] = re.findall(r"pip install --no-cache-dir ([^&\n]*)", runs)
    assert {name.partition("@")[0] for name in from_npm.split()} == {"pnpm", "yarn", "bun"}
    assert all(re.fullmatch(r"[a-z]+@\d+", name) for name in from_npm.split())
    assert all(re.fullmatch(r"'[a-z-]+==\d[\d.]*\*'", name) for name in from_pypi.split())


def test_recipe_holds_no_secret_and_runs_no_script_of_a_website() -> None:
    text = CONTAINERFILE.read_text()
    assert re.findall(r"(?i)token|password|secret|_auth|index-url|https?:", text) == []
    assert re.findall(r"(curl|wget)[^\n]*\|", text) == []


@pytest.fixture(scope="module", params=["podman", "docker"])
def cell(request: pytest.FixtureRequest) -> Iterator[Cell]:
    """A cell in the image; the test is skipped where there is none."""
    with make_cell(request.param) as made:
        yield made


@pytest.mark.parametrize("tool", TOOLS)
def test_tool_works_without_a_network(cell: Cell, tool: str) -> None:
    ran = cell.run(f"{tool} --version")
    assert (ran.returncode, ran.stdout != "") == (0, True), ran.stderr


def test_compiled_and_scripted_programs_run_in_the_worktree(cell: Cell) -> None:
    source = "int main(void) { return 42; }"
    assert cell.run(f"echo '{source}' > a.c && gcc a.c -o a.out && ./a.out").returncode == 42
    assert cell.run("node -e 'console.log(40 + 2)' && bun -e 'console.log(40 + 2)'").stdout.split() == ["42", "42"]
    ran = cell.run("uv venv --quiet --python python3 env && env/bin/python -c 'print(42)'")
    assert ran.stdout.strip() == "42", ran.stderr
