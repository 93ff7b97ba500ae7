"""End of the resident server: at once and cleanly after a signal, and without a loss if it is killed."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from e2e.acknowledged import MANY, Writer, assert_all_there, of_session, session
from e2e.agents import connected
from e2e.repositories import repository
from e2e.served import Served
from support.mcp import HANDSHAKE, Roots

PROJECT = "forge.example/team/shop"
PATIENCE_SECONDS = 30
TIMED_OUT = ("a call took longer than", "timeout graceful shutdown exceeded")
"""Lines of the log for a wait that ended by its time limit: for running calls, and for open connections."""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return repository(tmp_path / "shop", remote=f"https://{PROJECT}.git")


def end(served: Served, how: signal.Signals, shop: Path) -> tuple[int, dict[str, str]]:
    """End a server while a session is open, a writer is at work, and embeddings are pending.

    Returns its exit code and the memories that it had acknowledged, by id.
    """
    with connected(served.url, mode=HANDSHAKE, list_roots_callback=Roots(shop)) as agent:
        acknowledged = of_session(agent.ok("log_session", **session()).data)
        with Writer(served.url, shop) as writer:
            assert writer.wrote.wait(PATIENCE_SECONDS)
            assert agent.ok("memory_status").data["pending_embeddings"] > 0
            served.send(how)
            code = served.wait(PATIENCE_SECONDS)
    return code, acknowledged | writer.acknowledged


def test_server_that_gets_sigterm_ends_before_any_time_limit_and_loses_nothing(served: Served, shop: Path) -> None:
    code, acknowledged = end(served, signal.SIGTERM, shop)
    assert code == 0, served.said
    assert served.wait_for_all(PATIENCE_SECONDS), "its worker is still there"
    assert not [line for line in served.said if "ERROR" in line or "Traceback" in line]
    assert not [line for line in served.said if any(timed_out in line for timed_out in TIMED_OUT)]
    assert len(acknowledged) > MANY
    assert_all_there(served.data_dir, PROJECT, acknowledged)


def test_killed_server_loses_no_write_and_leaves_no_process(served: Served, shop: Path) -> None:
    code, acknowledged = end(served, signal.SIGKILL, shop)
    assert code == -signal.SIGKILL
    assert served.wait_for_all(PATIENCE_SECONDS), "its worker is still there"
    assert_all_there(served.data_dir, PROJECT, acknowledged)


def test_next_server_has_acknowledged_writes_of_a_killed_one(served: Served, shop: Path) -> None:
    _, acknowledged = end(served, signal.SIGKILL, shop)
    last = list(acknowledged)[-1]
    with Served(served.data_dir.parent) as next_one, connected(next_one.url, list_roots_callback=Roots(shop)) as agent:
        found = agent.ok("recall", query=acknowledged[last], limit=20).data["memories"]
        assert last in [memory["id"] for memory in found]
        # One more may have been written and not acknowledged any more.
        assert agent.ok("memory_status").data["memories"]["project"] - len(acknowledged) in (0, 1)
