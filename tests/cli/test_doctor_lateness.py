"""``opencode-memory doctor``: messages that got no memories because the server was late."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from opencode_memory import MemoryStore
from opencode_memory.context.lateness import Cause
from opencode_memory.store.ledger import Decision, State
from opencode_memory.text import clock
from opencode_memory.text.clock import to_ms
from support.command_line import CommandLine
from support.stores import open_store, set_clock


@pytest.fixture
def store(cli: CommandLine) -> Iterator[MemoryStore]:
    """The store that the commands open."""
    cli.ok("remember", "something else")
    with open_store(cli.folder.parent / "data" / "opencode-memory" / "store", project="app") as store:
        yield store


def decide(store: MemoryStore, message: str, state: State, *, days_ago: float = 0, **about: object) -> None:
    set_clock(store, to_ms(clock.now() - timedelta(days=days_ago)))
    store.ledger.decide(Decision(session="ses_1", message=message, state=state, about={"kind": "message", **about}))


def lateness(cli: CommandLine) -> list[dict[str, str | None]]:
    checks = cli("doctor", "--json").json["checks"]
    return [check for check in checks if check["name"] == "lateness"]


def test_late_messages_are_counted_with_the_remedy_of_the_most_frequent_cause(
    cli: CommandLine, store: MemoryStore
) -> None:
    assert lateness(cli) == []
    for number in range(3):
        decide(store, f"msg_{number}", State.LATE, cause=Cause.STARTING)
    decide(store, "msg_3", State.LATE)
    decide(store, "msg_4", State.NOTHING)
    decide(store, "msg_5", State.LATE, days_ago=8, cause=Cause.LOST)
    store.ledger.decide(Decision(session="ses_1", message="compaction:1", state=State.SHOWN, about={"kind": "other"}))
    [check] = lateness(cli)
    assert check["level"] == "note"
    assert check["text"] == (
        "4 of 5 messages in 7 days got no memories: the server was not ready yet (3); the server answered too late (1)"
    )
    assert "first_deadline_ms" in str(check["hint"])


def test_messages_in_time_are_all_right(cli: CommandLine, store: MemoryStore) -> None:
    decide(store, "msg_1", State.NOTHING)
    [check] = lateness(cli)
    assert (check["level"], check["hint"]) == ("ok", None)
    assert str(check["text"]).startswith("1 message in 7 days")
