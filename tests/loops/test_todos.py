"""Todo lists of OpenCode's sessions: the item at work."""

from __future__ import annotations

from typing import Any

import pytest

from opencode_memory.loops.todos import Todos


def told(session: str, *items: tuple[str, str]) -> dict[str, Any]:
    todos = [{"content": content, "status": status, "priority": "high"} for content, status in items]
    return {"events": [{"type": "todo.updated", "properties": {"sessionID": session, "todos": todos}}]}


def test_item_at_work_is_found_with_its_place() -> None:
    todos = Todos()
    todos.take(told("ses_1", ("Read", "completed"), ("Write\nit", "in_progress"), ("Test", "pending")))
    assert todos.find("ses_1") == "2/3 Write it"
    assert todos.find("ses_2") is None


def test_list_without_an_item_at_work_ends_the_last_one() -> None:
    todos = Todos()
    todos.take(told("ses_1", ("Read", "in_progress")))
    todos.take(told("ses_1", ("Read", "completed")))
    assert todos.find("ses_1") is None


def test_secret_in_an_item_is_redacted() -> None:
    todos = Todos()
    todos.take(told("ses_1", ("Use the key AKIAIOSFODNN7EXAMPLE", "in_progress")))
    assert "AKIAIOSFODNN7EXAMPLE" not in str(todos.find("ses_1"))


def test_only_the_newest_sessions_are_kept() -> None:
    todos = Todos()
    for number in range(500):
        todos.take(told(f"ses_{number}", ("Read", "in_progress")))
    assert todos.find("ses_0") is None
    assert todos.find("ses_499") == "1/1 Read"


@pytest.mark.parametrize(
    "params",
    [None, [], {"events": 3}, {"events": [3, {"type": "todo.updated"}]}, told("ses_1")],
)
def test_damaged_events_are_ignored(params: Any) -> None:
    todos = Todos()
    todos.take(params)
    assert todos.find("ses_1") is None
