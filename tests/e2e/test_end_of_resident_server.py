"""How the resident server ends: when it is asked to, at once and cleanly; when it is killed, without a loss."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from e2e.acknowledged import MANY, Writer, assert_all_there, of_session, session
from e2e.agents import connected
from e2e.repositories import repository
from e2e.served import Served
from support.mcp import HANDSHAKE, Roots

PROJECT = "forge.example/team/shop"
PATIENCE_SECONDS = 30
AT_MOST_SECONDS = 2


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return repository(tmp_path / "shop", remote=f"https://{PROJECT}.git")


def end(served: Served, how: signal.Signals, shop: Path) -> tuple[int, float, dict[str, str]]:
    """End a server while a session is open, a writer is at work, and embeddings are pending.

    Returns its exit code, how many seconds it took, and what it had acknowledged.
    """
    with connected(served.url, mode=HANDSHAKE, list_roots_callback=Roots(shop)) as agent:
        acknowledged = of_session(agent.ok("log_session", **session()).data)
        with Writer(served.url, shop) as writer:
            assert writer.wrote.wait(PATIENCE_SECONDS)
            assert agent.ok("memory_status").data["pending_embeddings"] > 0
            begun = time.monotonic()
            served.send(how)
            code = served.wait(PATIENCE_SECONDS)
            seconds = time.monotonic() - begun
    return code, seconds, acknowledged | writer.acknowledged


def test_when_it_is_asked_to_it_ends_cleanly_within_two_seconds_and_loses_nothing(served: Served, shop: Path) -> None:
    code, seconds, acknowledged = end(served, signal.SIGTERM, shop)
    assert code == 0, served.said
    assert seconds < AT_MOST_SECONDS
    assert served.wait_for_all(PATIENCE_SECONDS), "its worker is still there"
    assert not [line for line in served.said if "ERROR" in line or "Traceback" in line]
    assert len(acknowledged) > MANY
    assert_all_there(served.data_dir, PROJECT, acknowledged)


def test_when_it_is_killed_nothing_is_lost_and_nobody_is_left_behind(served: Served, shop: Path) -> None:
    code, _, acknowledged = end(served, signal.SIGKILL, shop)
    assert code == -signal.SIGKILL
    assert served.wait_for_all(PATIENCE_SECONDS), "its worker is still there"
    assert_all_there(served.data_dir, PROJECT, acknowledged)


def test_the_next_server_has_what_a_killed_one_acknowledged(served: Served, shop: Path) -> None:
    _, _, acknowledged = end(served, signal.SIGKILL, shop)
    last = list(acknowledged)[-1]
    with Served(served.data_dir.parent) as next_one, connected(next_one.url, list_roots_callback=Roots(shop)) as agent:
        found = agent.ok("recall", query=acknowledged[last], limit=20).data["memories"]
        assert last in [memory["id"] for memory in found]
        # One more may have been written and not acknowledged any more.
        assert agent.ok("memory_status").data["memories"]["project"] - len(acknowledged) in (0, 1)
