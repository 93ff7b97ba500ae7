"""Facts of sessions in OpenCode's events and answers."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode
from functools import partial
from typing import Any

import anyio
import pytest

from opencode_memory.hosts.opencode.contract import OWN_TITLE
from opencode_memory.server.plugin.opencode_client import (
    OpenCode,
    SessionFacts,
    drop_sessions,
    find_facts,
    has_user_message,
)


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


class Pages:
    """A scripted OpenCode that returns the messages of a session in pages."""

    def __init__(self, count: int, *, has_cursors: bool = True) -> None:
        self.messages = [{"info": {"id": f"msg_{number:04}", "time": {"created": number}}} for number in range(count)]
        self.has_cursors = has_cursors
        self.asked = 0

    async def ask(self, method: str, params: Any, *, seconds: float) -> Any:
        del method, seconds
        self.asked += 1
        end, query = len(self.messages), params["query"]
        if "before" in query:
            if not self.has_cursors:
                return {"status": 400, "body": "{}"}
            padded = query["before"] + "=" * (-len(query["before"]) % 4)
            end = json.loads(urlsafe_b64decode(padded))["time"]
        page = self.messages[max(0, end - int(query["limit"])) : end]
        return {"status": 200, "body": json.dumps(page)}


@pytest.mark.parametrize(
    ("count", "read", "asked"), [(0, 0, 1), (7, 7, 1), (100, 100, 2), (250, 250, 3), (900, 300, 3)]
)
def test_long_session_is_read_in_pages_from_its_end(count: int, read: int, asked: int) -> None:
    pages = Pages(count)
    found = anyio.run(partial(OpenCode(pages).list_latest_messages, "ses_1", most=300))
    assert found == pages.messages[count - read :]
    assert pages.asked == asked


def test_last_page_is_enough_if_the_cursors_are_unknown() -> None:
    pages = Pages(250, has_cursors=False)
    found = anyio.run(partial(OpenCode(pages).list_latest_messages, "ses_1", most=300))
    assert found == pages.messages[-100:]


def test_user_messages_are_recognised_among_events() -> None:
    typed = told("message.updated", id="msg_1", role="user")
    others = [told("message.updated", id="msg_2", role="assistant"), told("session.updated", id="ses_1"), None]
    assert has_user_message({"events": [*others, typed]})
    assert not has_user_message({"events": others})
    assert not has_user_message(None)
