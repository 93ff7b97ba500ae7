"""Injection in the real OpenCode under unusual orders of events and concurrency."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.server import ServerConnection, serve

from e2e.plugged import Instance, MemoryServer, Plugged, until
from e2e.plugin_hooks import Hooks, texts, user
from e2e.repositories import SHOP, repository
from e2e.scripted_model import Request, ScriptedModel

DIRECTIVE = "Always run the linter before committing."
WALRUS = "The walrus build needs make -j1: parallel builds corrupt the archive."
PENGUIN = "The penguin service is deployed with `deployctl push penguin --canary`, never on Fridays."
BUILD = "How do I build the walrus archive?"
DEPLOY = "How do I deploy the penguin service?"
TAG = "<project-memory>"
LOOK = ("bash", {"command": "echo look", "description": "look"})
# Without a configured small model, OpenCode creates the title after the turn has begun.
SLOW = """
export default {
  id: "slow",
  server: async () => ({
    "experimental.provider.small_model": async () => { while (!existsSync("%s")) await new Promise((go) => setTimeout(go, 20)) },
  }),
}
"""


@dataclass(frozen=True)
class World:
    """A home with OpenCode and the plugin, and the scripted model."""

    plugged: Plugged
    model: ScriptedModel
    server: MemoryServer
    shop: Path


@pytest.fixture(scope="module")
def world(opencode_binary: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("attacked")
    shop = repository(folder / "shop", remote=f"https://{SHOP}.git")
    with ScriptedModel() as model:
        # The brief has room for the directive alone, so that messages find the other memories.
        plugged = Plugged.set_up(opencode_binary, folder / "home", model.url, brief_max_tokens="110")
        plugged.remember(shop, DIRECTIVE, "directive")
        plugged.remember(shop, WALRUS, "procedure")
        plugged.remember(shop, PENGUIN, "procedure")
        with plugged.served() as server:
            yield World(plugged, model, server, shop)


@pytest.fixture(scope="module")
def instance(world: World) -> Iterator[Instance]:
    with world.plugged.running(world.shop) as running:
        yield running


@pytest.fixture
def opencode(world: World, instance: Instance) -> Instance:
    # Another test may have restarted the server.
    world.server.until_warm()
    return instance


def blocks(request: Request) -> list[str]:
    """The blocks in a request, in the order of its messages."""
    return [text for text in request.user_parts if text.startswith(TAG)]


@pytest.mark.parametrize("said_before", [True, False])
def test_message_after_an_empty_compaction_gets_its_block(world: World, opencode: Instance, said_before: bool) -> None:
    world.model.script("With make -j1.")
    session = opencode.session()
    if said_before:
        opencode.prompt(session, BUILD)
        opencode.compact(session)
    opencode.compact(session)
    world.model.script(LOOK, "Done.")
    opencode.prompt(session, BUILD)
    first, second = world.model.requests
    assert len(blocks(first)) == 1
    assert WALRUS in blocks(first)[0]
    assert second.messages[: len(first.messages)] == first.messages


def test_each_of_the_prompts_that_wait_while_a_turn_runs_is_looked_up(world: World, opencode: Instance) -> None:
    has_begun, may_end = threading.Event(), threading.Event()

    def works() -> Any:
        has_begun.set()
        assert may_end.wait(30)
        return LOOK

    world.model.script(works, "Both are answered.")
    session = opencode.session()

    def queue(text: str) -> None:
        opencode.post(f"/session/{session}/prompt_async", {"parts": [{"type": "text", "text": text}]})

    def written() -> list[str]:
        messages = opencode.get(f"/session/{session}/message")
        return [message["parts"][0]["text"] for message in messages if message["info"]["role"] == "user"]

    queue("hello")
    assert has_begun.wait(30)
    for text in (BUILD, DEPLOY, "thanks"):
        queue(text)
    until(lambda: len(written()) == 4, f"not everything was queued: {written()}")
    may_end.set()
    until(lambda: len(world.model.requests) == 2, "nobody was asked again")
    first, second = world.model.requests
    assert len(blocks(first)) == 1
    [before, block] = blocks(second)
    assert [before] == blocks(first)
    assert WALRUS in block
    assert PENGUIN in block


def test_unanswered_message_is_searched_with_the_next_one(world: World, opencode: Instance) -> None:
    world.model.script("Gladly.")
    session = opencode.session()
    note = {"parts": [{"type": "text", "text": BUILD}], "noReply": True}
    opencode.post(f"/session/{session}/message", note)
    opencode.prompt(session, "go on")
    [block] = blocks(world.model.requests[0])
    assert WALRUS in block


def test_a_title_that_is_made_late_has_no_block(world: World, tmp_path: Path) -> None:
    may_go = tmp_path / "go"
    written = world.plugged.opencode.home / "config" / "opencode" / "opencode.json"
    kept = written.read_text()
    slow = world.plugged.plugin.with_name("slow.ts")
    slow.write_text('import { existsSync } from "node:fs"\n' + SLOW % may_go)
    written.write_text(json.dumps({name: value for name, value in json.loads(kept).items() if name != "small_model"}))
    try:
        with world.plugged.running(world.shop) as opencode:
            world.server.until_warm()
            world.model.script(LOOK, "With make -j1.")
            opencode.prompt(opencode.session(title=None), BUILD)
            assert world.model.asides == []
            may_go.touch()
            until(lambda: bool(world.model.asides), "no title was asked for")
    finally:
        slow.unlink()
        written.write_text(kept)
    assert len(blocks(world.model.requests[0])) == 1
    [title] = world.model.asides
    assert BUILD in "\n".join(title.users)
    assert TAG not in "\n".join(title.users)


def test_shown_blocks_return_after_a_late_server_start(world: World, opencode: Instance) -> None:
    world.model.script("With make -j1.")
    session = opencode.session()
    opencode.prompt(session, BUILD)
    first = world.model.requests[0].messages
    world.server.kill()
    with world.plugged.running(world.shop) as after:
        world.model.script("Nobody is there.", "I remember.", "Yes.")
        try:
            after.prompt(session, "thanks")
        finally:
            world.server.start()
        world.server.until_warm(2)
        after.prompt(session, "and now?")
        after.prompt(session, DEPLOY)
    alone, back, last = world.model.requests
    assert blocks(alone) == []
    assert back.messages[: len(first)] == first
    assert last.messages[: len(back.messages)] == back.messages
    # A visible memory is not shown again, and this one is visible.
    assert [WALRUS in block for block in blocks(last)] == [True, False]
    assert PENGUIN in blocks(last)[1]


@contextmanager
def listening(plugged: Plugged, heard: list[dict[str, Any]]) -> Iterator[None]:
    """A server that has a block for every message, and records its notifications."""

    def listens(connection: ServerConnection) -> None:
        for text in connection:
            message = json.loads(text)
            heard.append(message)
            answers = {
                "hello": {"protocol": 1, "events": ["message.part.updated"], "deadline_ms": 5000},
                "messages": {"blocks": {message["params"].get("message", {}).get("id", ""): f"{TAG}x"}},
                "flush": {},
            }
            if "id" in message:
                result = answers[message["method"]]
                connection.send(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}))

    plugged.data_dir.mkdir(parents=True, exist_ok=True)
    (plugged.data_dir / "server.token").write_text("token")
    with serve(listens, "127.0.0.1", plugged.port, max_size=None) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield
        server.shutdown()
        thread.join()


@pytest.fixture
def heard() -> list[dict[str, Any]]:
    return []


@pytest.fixture
def hooks(opencode_binary: Path, tmp_path: Path, shop: Path, heard: list[dict[str, Any]]) -> Iterator[Hooks]:
    plugged = Plugged.set_up(opencode_binary, tmp_path / "home", "http://127.0.0.1:9/v1")
    with listening(plugged, heard), Hooks(plugged, shop) as loaded:
        until(lambda: any(message["method"] == "hello" for message in heard), "it never came")
        tries = map("msg_try_{}".format, count())
        until(lambda: len(texts(loaded.send("ses_0", user(next(tries), "?")))[0]) == 2, "it was never answered")
        yield loaded


def test_that_a_block_was_shown_is_said_again_before_the_next_decision(hooks: Hooks, heard: list[Any]) -> None:
    first, second = user("msg_1", BUILD), user("msg_2", DEPLOY)
    hooks.send("ses_1", first)
    assert len(texts(hooks.send("ses_1", first, second))[1]) == 2
    hooks.call("dispose")
    of_session = [message for message in heard if message["params"].get("sessionID") == "ses_1"]
    said = [(message["method"], message["params"].get("messageID")) for message in of_session]
    shown = ("settled", "msg_1")
    assert said == [("messages", None), shown, shown, ("messages", None), ("settled", "msg_2")]
    assert {message["params"]["state"] for message in of_session if message["method"] == "settled"} == {"shown"}


def test_large_files_are_not_sent_to_the_server(hooks: Hooks, heard: list[Any]) -> None:
    heard.clear()
    file = {"id": "prt_1", "messageID": "msg_1", "type": "file", "url": "data:image/png;base64," + "A" * 1_000_000}
    properties = {"sessionID": "ses_1", "part": file, "text": "data: the user's own words"}
    hooks.call("event", {"event": {"type": "message.part.updated", "properties": properties}})
    hooks.send("ses_1", user("msg_1", f"first {'and ' * 1_000_000} last"))
    hooks.call("dispose")
    assert len(json.dumps(heard)) < 200_000
    [told] = [message["params"]["events"] for message in heard if message["method"] == "events"]
    assert told[0]["properties"] == {**properties, "part": {**file, "url": "data:"}}
    [asked] = [message["params"]["message"]["text"] for message in heard if message["method"] == "messages"]
    assert asked.startswith("first")
    assert asked.endswith("last")
