"""Many messages at once on one JSON-RPC connection."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import anyio
import anyio.lowlevel

from opencode_memory.server.in_flight import MOST_REQUESTS, TOO_MANY_REQUESTS
from opencode_memory.server.plugin.json_rpc import Peer


def request(id_: int | str) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": id_, "method": "wait"})


def test_requests_beyond_the_limit_are_refused_until_others_are_answered() -> None:
    answers: dict[Any, Any] = {}

    async def both() -> None:
        free, answered = anyio.Event(), anyio.Event()

        async def texts() -> AsyncIterator[str]:
            for number in range(MOST_REQUESTS):
                yield request(number)
            yield request("refused")
            free.set()
            await answered.wait()
            yield request("again")
            while "again" not in answers:
                await anyio.lowlevel.checkpoint()

        async def send(text: str) -> None:
            answer = json.loads(text)
            answers[answer["id"]] = answer.get("result") or answer["error"]["code"]
            if len(answers) > MOST_REQUESTS:
                answered.set()

        async def wait(_: Any) -> str:
            await free.wait()
            return "done"

        with anyio.fail_after(30):
            await Peer(send, requests={"wait": wait}, notifications={}).run(texts())

    anyio.run(both)
    assert answers.pop("refused") == TOO_MANY_REQUESTS
    assert answers == dict.fromkeys([*range(MOST_REQUESTS), "again"], "done")


def test_many_messages_at_once_do_not_occupy_the_event_loop() -> None:
    most, read, seen = 1_000, 0, 0

    async def texts() -> AsyncIterator[str]:
        nonlocal read
        for _ in range(most):
            read += 1
            yield "{}"

    async def send(_: str) -> None:
        pass

    async def look() -> None:
        nonlocal seen
        seen = read

    async def both() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(Peer(send, requests={}, notifications={}).run, texts())
            tasks.start_soon(look)

    anyio.run(both)
    assert read == most
    assert seen < most
