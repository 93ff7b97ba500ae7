"""The recipe of the image in which a server runs for one client."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

CONTAINERFILE = Path(__file__).resolve().parents[1] / "container" / "server" / "Containerfile"


@pytest.fixture
def instructions() -> list[tuple[str, str]]:
    """Each instruction with its arguments; comments are dropped and continued lines are joined."""
    lines = [line for line in CONTAINERFILE.read_text().splitlines() if line.strip() and not line.startswith("#")]
    whole = re.sub(r"\s*\\\n\s*", " ", "\n".join(lines))
    return [(name, arguments) for name, _, arguments in (line.partition(" ") for line in whole.splitlines())]


def test_server_does_not_run_as_root(instructions: list[tuple[str, str]]) -> None:
    names = [name for name, _ in instructions]
    assert names.count("USER") == 1
    assert dict(instructions)["USER"] == "memory"
    assert "RUN" not in names[names.index("USER") :]


def test_store_lies_in_the_volume_which_only_the_server_can_read(instructions: list[tuple[str, str]]) -> None:
    found = dict(instructions)
    assert f"OPENCODE_MEMORY_DATA_DIR={found['VOLUME']}/" in found["ENV"]
    assert any(
        f"--owner=memory --group=memory --mode=0700 {found['VOLUME']}" in run
        for name, run in instructions
        if name == "RUN"
    )


def test_image_has_one_base_and_no_secret(instructions: list[tuple[str, str]]) -> None:
    assert re.fullmatch(r"docker\.io/library/debian:[a-z]+-slim", dict(instructions)["FROM"])
    assert re.findall(r"(?i)token|password|secret|_key|index-url|https?:", CONTAINERFILE.read_text()) == []


def test_image_serves_one_client_over_standard_input(instructions: list[tuple[str, str]]) -> None:
    found = dict(instructions)
    assert (found["ENTRYPOINT"], found["CMD"]) == ('["opencode-memory"]', '["serve", "--stdio"]')
