"""Cold starts: the first message gets its memories, however OpenCode is started, and a turn keeps its head."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from e2e.cold_start import Kind, start_cold, stop_server
from e2e.plugged import Plugged
from e2e.repositories import SHOP, repository
from e2e.scripted_model import ScriptedModel

DIRECTIVE = "Always run the linter before committing."
QUESTION = "How do I build the walrus archive?"


@dataclass(frozen=True)
class Cold:
    """A home whose memory server does not run."""

    plugged: Plugged
    model: ScriptedModel
    shop: Path


@pytest.fixture(scope="module")
def cold(opencode_binary: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cold]:
    folder = tmp_path_factory.mktemp("cold")
    shop = repository(folder / "shop", remote=f"https://{SHOP}.git")
    with ScriptedModel() as model:
        plugged = Plugged.set_up(opencode_binary, folder / "home", model.url, starts=True)
        plugged.remember(shop, DIRECTIVE, "directive")
        try:
            yield Cold(plugged, model, shop)
        finally:
            stop_server(plugged)


@pytest.mark.parametrize("kind", Kind)
def test_first_message_after_a_cold_start_has_its_block(cold: Cold, kind: Kind) -> None:
    turn = start_cold(cold.plugged, kind, cold.shop, cold.model, QUESTION)
    assert turn.has_block
    assert DIRECTIVE in "\n".join(turn.requests[0].user_parts)
    # On a busy machine the tools may come with the next message, but never within the turn.
    assert turn.is_stable


def test_server_that_comes_late_keeps_the_head_of_the_turn(cold: Cold) -> None:
    stop_server(cold.plugged)
    written = cold.plugged.manifest.read_text()
    cold.plugged.manifest.write_text(written.replace('"serve"', '"no-such-command"'))

    def comes() -> tuple[str, dict[str, str]]:
        cold.plugged.memory("serve", "--detach")
        return "bash", {"command": "sleep 2", "description": "wait"}

    try:
        with cold.plugged.running(cold.shop) as opencode:
            cold.model.script(comes, "With make.", "Again.")
            session = opencode.session()
            opencode.prompt(session, QUESTION)
            opencode.prompt(session, "And the linter?")
    finally:
        cold.plugged.manifest.write_text(written)
    first, second, later = cold.model.requests
    assert (first.system, first.tools) == (second.system, second.tools)
    assert not any(tool.startswith("memory_") for tool in first.tools)
    assert any(tool.startswith("memory_") for tool in later.tools)
