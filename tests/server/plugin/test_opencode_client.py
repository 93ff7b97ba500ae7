"""Facts of sessions in OpenCode's events and answers."""

from __future__ import annotations

from typing import Any

import pytest

from opencode_memory.hosts.opencode.contract import OWN_TITLE
from opencode_memory.server.plugin.opencode_client import SessionFacts, drop_sessions, find_facts


def told(kind: str, **info: Any) -> dict[str, Any]:
    return {"type": kind, "properties": {"info": info}}


def test_facts_of_sessions_are_read_from_events() -> None:
    events = [
        told("session.created", id="ses_1", title="A title"),
        told("session.updated", id="ses_2", parentID="ses_1"),
        told("session.created", id="ses_3", title=f"{OWN_TITLE}a loop"),
        told("message.updated", id="msg_1", parentID="ses_1"),
    ]
    assert dict(find_facts({"events": events})) == {
        "ses_1": SessionFacts(),
        "ses_2": SessionFacts(parent="ses_1"),
        "ses_3": SessionFacts(is_ours=True),
    }


@pytest.mark.parametrize(
    "params",
    [
        None,
        [],
        {"events": {}},
        {"events": [None, 1, {"type": "session.created"}, {"type": "session.created", "properties": {"info": []}}]},
        {"events": [told("session.created", id=7)]},
    ],
)
def test_invalid_events_have_no_facts(params: Any) -> None:
    assert list(find_facts(params)) == []


def test_invalid_parent_is_ignored() -> None:
    events = [told("session.created", id="ses_1", parentID=""), told("session.created", id="ses_2", parentID=3)]
    assert set(dict(find_facts({"events": events})).values()) == {SessionFacts()}


def test_events_of_own_sessions_are_dropped_wherever_they_name_their_session() -> None:
    own = [
        told("session.created", id="ses_1", title="ours"),
        {"type": "session.idle", "properties": {"sessionID": "ses_1"}},
        told("message.updated", id="msg_1", sessionID="ses_1"),
        {"type": "message.part.updated", "properties": {"part": {"id": "prt_1", "sessionID": "ses_1"}}},
    ]
    others = [told("message.updated", id="ses_1", sessionID="ses_2"), {"type": "session.idle"}, None, 1]
    params = {"directory": "/shop", "events": [*own, *others]}
    assert drop_sessions(params, lambda session: session == "ses_1") == {"directory": "/shop", "events": others}
    assert drop_sessions(params, lambda _: False) is params
    assert drop_sessions(None, lambda _: True) is None
    assert drop_sessions({"events": {}}, lambda _: True) == {"events": {}}
