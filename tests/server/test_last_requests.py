"""Requests in flight of a client of standard input: their number is limited, and all are answered before the end."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from opencode_memory.server import stdio
from opencode_memory.server.in_flight import MOST_REQUESTS, TOO_MANY_REQUESTS
from opencode_memory.server.stdio import serve_lines
from opencode_memory.server.tool_calls import ToolCalls
from opencode_memory.server.unanswered import Unanswered
from support.mcp import World

WHO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
BEGINNING: list[dict[str, Any]] = [
    {"jsonrpc": "2.0", "id": "first", "method": "initialize", "params": WHO},
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
]
REQUESTS = 40


def remember(number: int) -> dict[str, Any]:
    arguments = {"content": f"The walrus {number} sleeps in room {number}.", "category": "fact"}
    return {
        "jsonrpc": "2.0",
        "id": number,
        "method": "tools/call",
        "params": {"name": "remember", "arguments": arguments},
    }


def cancelled(number: int | str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}}


def serve(world: World, folder: Path, messages: list[dict[str, Any]]) -> list[int | str]:
    """Serve a client that sends these messages and ends; return the ids of the answers."""
    answered: list[int | str] = []

    async def lines() -> AsyncIterator[str]:
        for message in messages:
            yield json.dumps(message)

    async def write(line: str) -> None:
        answered.append(json.loads(line)["id"])

    anyio.run(serve_lines, ToolCalls(world.state, folder=folder), lines(), write)
    return answered


def test_requests_before_the_end_of_the_input_are_carried_out_and_answered(world: World, tmp_path: Path) -> None:
    answered = serve(world, tmp_path, [*BEGINNING, *map(remember, range(REQUESTS))])
    assert set(answered) == {"first", *range(REQUESTS)}
    assert world.store.count(project="*") == REQUESTS


def test_each_of_several_requests_with_one_id_is_answered(world: World, tmp_path: Path) -> None:
    answered = serve(world, tmp_path, [*BEGINNING, *({**remember(number), "id": 7} for number in range(REQUESTS))])
    assert answered == ["first", *[7] * REQUESTS]
    assert world.store.count(project="*") == REQUESTS


def test_end_of_the_input_does_not_wait_for_ever(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def wait(_: Unanswered) -> None:
        await anyio.sleep_forever()

    monkeypatch.setattr(Unanswered, "wait", wait)
    monkeypatch.setattr(stdio, "_LAST_SECONDS", 0.01)
    assert serve(world, tmp_path, BEGINNING) == ["first"]


@pytest.mark.parametrize("named", [1, "1"])
def test_cancelled_request_delays_neither_the_end_nor_a_replacement(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: int | str
) -> None:
    async def run(*_: Any) -> Any:
        await anyio.sleep_forever()

    async def both() -> None:
        unanswered = Unanswered()

        async def lines() -> AsyncIterator[str]:
            for message in (*BEGINNING, remember(1)):
                yield json.dumps(message)
            with anyio.move_on_after(0) as limit:
                await unanswered.wait()
            assert limit.cancelled_caught
            yield json.dumps(cancelled(named))

        async def write(_: str) -> None:
            pass

        with anyio.fail_after(30):
            await serve_lines(ToolCalls(world.state, folder=tmp_path), lines(), write, unanswered=unanswered)
            await unanswered.wait()

    monkeypatch.setattr(ToolCalls, "run", run)
    monkeypatch.setattr(stdio, "_LAST_SECONDS", 600.0)
    anyio.run(both)


def test_request_waits_until_it_is_answered_or_cancelled() -> None:
    async def count_waits() -> list[bool]:
        unanswered, waits = Unanswered(), []
        for note, message in (
            (unanswered.note_read, {"id": 1, "method": "ping"}),
            (unanswered.note_read, {"id": "1", "method": "ping"}),
            (unanswered.note_written, {"id": 1, "method": "roots/list"}),
            (unanswered.note_written, {"id": 1, "result": {}}),
            (unanswered.note_read, {"method": "notifications/cancelled", "params": {"requestId": "1"}}),
            (unanswered.note_written, {"id": 7, "result": {}}),
        ):
            note(json.dumps(message))
            note("no JSON")
            with anyio.move_on_after(0) as limit:
                await unanswered.wait()
            waits.append(limit.cancelled_caught)
        return waits

    assert anyio.run(count_waits) == [True, True, True, True, False, False]


def test_requests_with_one_id_count_each() -> None:
    async def fill() -> list[bool]:
        unanswered, are_full = Unanswered(), []
        for _ in range(MOST_REQUESTS):
            are_full.append(unanswered.is_full)
            unanswered.note_read(json.dumps(remember(7)))
        are_full.append(unanswered.is_full)
        unanswered.note_written(json.dumps({"id": 7, "result": {}}))
        return [*are_full, unanswered.is_full]

    assert anyio.run(fill) == [*[False] * MOST_REQUESTS, True, False]


def test_requests_beyond_the_limit_are_refused_until_others_are_answered_or_cancelled(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused: list[int] = []
    may_answer = anyio.Event()
    answered = {"first": anyio.Event(), 1: anyio.Event()}

    async def run(_: ToolCalls, _tool: Any, arguments: dict[str, Any], _folders: Any) -> Any:
        if arguments != remember(1)["params"]["arguments"]:
            await anyio.sleep_forever()
        await may_answer.wait()
        raise OSError("no space left")

    async def messages() -> AsyncIterator[dict[str, Any]]:
        yield BEGINNING[0]
        await answered["first"].wait()
        yield BEGINNING[1]
        for number in range(MOST_REQUESTS):
            yield remember(number)
        yield remember(1000)
        yield cancelled(0)
        yield remember(1001)
        yield remember(1002)
        may_answer.set()
        await answered[1].wait()
        yield remember(1003)
        yield remember(1004)

    async def lines() -> AsyncIterator[str]:
        async for message in messages():
            yield json.dumps(message)

    async def write(line: str) -> None:
        message = json.loads(line)
        if message.get("error", {}).get("code") == TOO_MANY_REQUESTS:
            refused.append(message["id"])
        elif message["id"] in answered:
            answered[message["id"]].set()

    monkeypatch.setattr(ToolCalls, "run", run)
    monkeypatch.setattr(stdio, "_LAST_SECONDS", 0.01)
    anyio.run(serve_lines, ToolCalls(world.state, folder=tmp_path), lines(), write)
    assert refused == [1000, 1002, 1004]
