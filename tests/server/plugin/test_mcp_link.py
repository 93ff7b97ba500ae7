"""Connecting OpenCode to our MCP server: only if it is missing, and never in the middle of a turn."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from support.bridge import OpenCode, Plugin
from support.mcp import Resident

CONNECT = ("POST", "/mcp/memory/connect")
FAILED = {"memory": {"status": "failed"}}


def begin(plugin: Plugin, session: str = "ses_1", *, left_out: bool = False) -> bool:
    answer: dict[str, bool] = plugin.ask("turn", sessionID=session, left_out=left_out)
    return answer["settled"]


@pytest.mark.parametrize(("state", "left_out"), [("failed", False), ("failed", True), ("disabled", True)])
def test_missing_server_is_connected_before_a_turn(
    server: Resident, folder: Path, state: str, *, left_out: bool
) -> None:
    opencode = OpenCode(mcp={"memory": {"status": state}})
    with Plugin(server.url, folder, opencode=opencode) as plugin:
        plugin.offered("msg_1", "Hello")
        assert CONNECT not in opencode.asked
        assert begin(plugin, left_out=left_out)
        assert opencode.asked.count(CONNECT) == 1
        assert begin(plugin, left_out=left_out)
        assert opencode.asked.count(CONNECT) == 1


@pytest.mark.parametrize("state", [None, {"status": "connected"}, {"status": "disabled"}, "failed", 1])
def test_server_in_another_state_is_left_alone(server: Resident, folder: Path, state: Any) -> None:
    opencode = OpenCode(mcp={"memory": state})
    with Plugin(server.url, folder, opencode=opencode) as plugin:
        assert begin(plugin)
    assert CONNECT not in opencode.asked


def test_server_is_not_connected_while_a_session_is_at_work(server: Resident, folder: Path) -> None:
    opencode = OpenCode(mcp=dict(FAILED), active={"ses_2": {"type": "busy"}})
    with Plugin(server.url, folder, opencode=opencode) as plugin:
        assert not begin(plugin)
        assert CONNECT not in opencode.asked
        opencode.active.clear()
        assert begin(plugin)
    assert opencode.asked.count(CONNECT) == 1


def test_session_that_has_just_begun_counts_as_at_work(server: Resident, folder: Path) -> None:
    opencode = OpenCode(mcp=dict(FAILED), active={"ses_9": {"type": "busy"}})
    with Plugin(server.url, folder, opencode=opencode) as plugin:
        assert not begin(plugin, "ses_1")
        # OpenCode does not report the first session as active yet.
        opencode.active.clear()
        assert not begin(plugin, "ses_2")
    assert CONNECT not in opencode.asked


def test_two_turns_that_begin_together_connect_once(server: Resident, folder: Path) -> None:
    connecting, both_asked = threading.Event(), threading.Event()

    class SlowOpenCode(OpenCode):
        def answer(self, method: str, params: Mapping[str, Any]) -> Any:
            if params.get("path") == CONNECT[1]:
                connecting.set()
                assert both_asked.wait(10)
            return super().answer(method, params)

    opencode = SlowOpenCode(mcp=dict(FAILED))
    with Plugin(server.url, folder, opencode=opencode) as plugin:
        first = plugin.begin("turn", {"sessionID": "ses_1", "left_out": False})
        assert connecting.wait(10)
        second = plugin.begin("turn", {"sessionID": "ses_2", "left_out": False})
        both_asked.set()
        assert first.result(10) == second.result(10) == {"settled": True}
    assert opencode.asked.count(CONNECT) == 1


def test_silent_opencode_leaves_it_for_the_next_turn(server: Resident, folder: Path) -> None:
    opencode = OpenCode(mcp=dict(FAILED), is_silent=True)
    with Plugin(server.url, folder, opencode=opencode) as plugin:
        assert not begin(plugin)
        opencode.is_silent = False
        assert begin(plugin)
