"""Facts of sessions in OpenCode's events and answers."""

from __future__ import annotations

from typing import Any

import pytest

from opencode_memory.hosts.opencode.contract import OWN_TITLE
from opencode_memory.server.plugin.opencode_client import SessionFacts, find_facts


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
