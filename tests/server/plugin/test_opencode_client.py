"""What OpenCode says of its sessions, in events and in answers."""

from __future__ import annotations

from typing import Any

import pytest

from opencode_memory.server.plugin.opencode_client import OWN_TITLE, SessionFacts, find_facts


def told(kind: str, **info: Any) -> dict[str, Any]:
    return {"type": kind, "properties": {"info": info}}


def test_events_tell_who_began_a_session() -> None:
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
def test_what_is_no_event_tells_nothing(params: Any) -> None:
    assert list(find_facts(params)) == []


def test_a_parent_that_is_none_is_no_parent() -> None:
    events = [told("session.created", id="ses_1", parentID=""), told("session.created", id="ses_2", parentID=3)]
    assert set(dict(find_facts({"events": events})).values()) == {SessionFacts()}
