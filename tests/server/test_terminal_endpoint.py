"""``/terminal``: what OpenCode's terminal shows of the memory, and what the person does there."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from starlette.applications import Starlette
from starlette.routing import Route

from opencode_memory import Trust
from opencode_memory.server.terminal_endpoint import TerminalEndpoint, describe
from opencode_memory.store.ledger import Decision, Shown, State
from support.asgi import OUR_HOST, ask, body_messages, http_scope
from support.mcp import World

TOKEN = (b"authorization", b"Bearer t0ken")


@dataclass
class Terminal:
    """A terminal in a folder."""

    world: World
    folder: Path

    def call(
        self, body: Any = None, *, raw: bytes | None = None, token: tuple[bytes, bytes] = TOKEN, **query: str
    ) -> tuple[int, dict[str, Any]]:
        endpoint = TerminalEndpoint(self.world.state, token="t0ken")
        app = Starlette(routes=[Route("/terminal", endpoint.handle, methods=["GET", "POST"])])
        asked = urlencode({"directory": str(self.folder), **query}).encode()
        scope = http_scope((OUR_HOST, token), path="/terminal", query_string=asked)
        sent = raw if raw is not None else b"" if body is None else json.dumps(body).encode()
        method = "POST" if raw is not None or body is not None else "GET"
        answer = ask(app, {**scope, "method": method}, body_messages(sent))
        return answer.status, json.loads(answer.body)

    @property
    def project(self) -> str:
        return self.world.state.projects.ensure(self.folder)

    def learn(self, text: str, **more: Any) -> str:
        store = self.world.store.acting_as(Trust.EXTRACTED)
        return store.remember(text, project=self.project, trust="extracted", **more).id

    def lines(self, **query: str) -> list[str]:
        return [line["text"] for line in self.call(**query)[1]["lines"]]

    def change(self, id: str, action: str, **more: Any) -> tuple[int, dict[str, Any]]:
        """Choose an action in the dialog of a memory."""
        version = describe(self.world.store, self.world.store.get(id))["version"]
        return self.call({"memory": id, "version": version, "action": action, **more})

    def said(self, body: Any) -> str:
        status, answer = self.call(body)
        assert status == 200, answer
        said: str = answer["said"]
        return said


@pytest.fixture
def terminal(world: World, folder: Path) -> Terminal:
    world.store.remember("A first one.", project=world.state.projects.ensure(folder))
    return Terminal(world, folder)


def test_token_is_required(terminal: Terminal) -> None:
    for token in ((b"x", b"y"), (b"authorization", b"Bearer wrong"), (b"authorization", b"t0ken")):
        assert terminal.call(token=token)[0] == 401
        assert terminal.call({"undo": True}, token=token)[0] == 401


def test_lines_say_what_waits_what_is_beside_and_what_was_learned(terminal: Terminal) -> None:
    terminal.learn("The tests need Redis.")
    terminal.learn("Always be brief.", category="directive")
    known = terminal.world.store.remember("We deploy on Thursdays.", project=terminal.project).id
    gone = terminal.world.store.remember("Gone.", project=terminal.project).id
    shown = (Shown(memory=known, key=1, score=1.0, why="x"), Shown(memory=gone, key=1, score=1.0, why="x"))
    terminal.world.store.ledger.decide(Decision(session="ses_1", message="m", state=State.SHOWN, shown=shown))
    terminal.world.store.delete(gone)
    status, answer = terminal.call(session="ses_1")
    assert status == 200
    assert answer["title"].startswith("Memory ")
    texts = [line["text"] for line in answer["lines"]]
    assert texts[:2] == ["1 beside this session", "1 waits for review"]
    assert terminal.lines(session="ses_other")[0] == "1 waits for review"
    assert terminal.call({"list": "beside", "session": "ses_1"})[1]["memories"][0]["title"] == "We deploy on Thursdays."


def test_messages_tell_what_was_learned_since_and_nothing_twice(terminal: Terminal) -> None:
    terminal.learn("Before.")
    first = terminal.call()[1]
    assert first["toasts"] == []
    terminal.learn("The tests need Redis.")
    terminal.world.store.acting_as(Trust.USER).remember("By the person.", project=terminal.project)
    second = terminal.call(since=str(first["last"]))[1]
    assert second["toasts"] == ["remembered: The tests need Redis."]
    assert terminal.call(since=str(second["last"]))[1]["toasts"] == []
    assert terminal.call(since="x" * 100)[0] == 200


@pytest.mark.parametrize("how", ["undo", "archive", "delete"])
def test_learned_line_goes_with_its_memory(terminal: Terminal, how: str) -> None:
    id = terminal.learn("The tests need Redis.")
    assert terminal.lines() == ["remembered: The tests need Redis."]
    getattr(terminal.world.store, how)(id)
    assert terminal.lines() == ["remembered: A first one."]


def test_message_of_a_replacement_names_both(terminal: Terminal) -> None:
    store = terminal.world.store.acting_as(Trust.EXTRACTED)
    store.remember("The database is SQLite.", project=terminal.project, trust="extracted")
    last = terminal.call()[1]["last"]
    store.remember("The database is PostgreSQL instead of SQLite.", project=terminal.project, trust="extracted")
    [toast] = terminal.call(since=str(last))[1]["toasts"]
    assert toast == "replaced: The database is SQLite. → The database is PostgreSQL instead of SQLite."


def test_other_projects_stay_unseen(terminal: Terminal, tmp_path: Path) -> None:
    terminal.world.store.acting_as(Trust.EXTRACTED).remember("Secret of the bank.", project="bank", trust="extracted")
    said = json.dumps(
        [
            terminal.call(),
            *(terminal.call({"list": name, "query": "secret bank"}) for name in ("newest", "search", "review")),
        ]
    )
    assert "bank." not in said


@pytest.mark.parametrize(
    ("action", "wanted"), [("archive", "archived"), ("pin", "active"), ("accept", "active"), ("reject", "archived")]
)
def test_each_action_is_the_users(terminal: Terminal, action: str, wanted: str) -> None:
    id = terminal.learn("Always be brief.", category="directive" if action in {"accept", "reject"} else "fact")
    assert terminal.change(id, action)[0] == 200
    assert terminal.world.store.get(id).status == wanted
    assert terminal.world.store.history(id)[-1].actor is Trust.USER
    assert "Undone" in terminal.said({"undo": True})


def test_edit_needs_a_text(terminal: Terminal) -> None:
    id = terminal.learn("The tests need Redis.")
    for text in ("", "  ", None, 3):
        status, answer = terminal.change(id, "edit", text=text)
        assert (status, "action:" in answer["error"]) == (400, True)
    assert terminal.change(id, "edit", text=" The tests need Valkey. ")[1]["said"] == "Changed."
    assert terminal.world.store.get(id).content == "The tests need Valkey."


def test_accepted_edit_of_a_waiting_memory_confirms_it(terminal: Terminal) -> None:
    id = terminal.learn("Always be brief.", category="directive")
    terminal.change(id, "edit", text="Answer in one sentence.")
    memory = terminal.world.store.get(id)
    assert (memory.content, memory.is_confirmed) == ("Answer in one sentence.", True)


@pytest.mark.parametrize("action", ["accept", "reject", "edit", "restore", "pin"])
def test_action_on_a_memory_that_an_agent_has_changed_since_is_refused(terminal: Terminal, action: str) -> None:
    id = terminal.learn("Always be brief.", category="directive", status="candidate")
    [shown] = terminal.call({"list": "review"})[1]["memories"]
    changed = terminal.world.store.acting_as(Trust.AGENT).edit(id, content="Always push to main.")
    asked = {"memory": id, "version": shown["version"], "action": action, "text": "Be brief."}
    status, answer = terminal.call(asked)
    assert (status, "changed since" in answer["error"]) == (400, True)
    assert terminal.world.store.get(id) == changed


def test_dialog_offers_what_can_be_done(terminal: Terminal) -> None:
    terminal.learn("Always be brief.", category="directive", metadata={"rule": "x", "evidence": "be brief, always"})
    [memory] = terminal.call({"list": "review"})[1]["memories"]
    assert [action["value"] for action in memory["actions"]] == ["accept", "reject", "edit", "pin"]
    assert "said as: be brief, always" in memory["facts"]
    found = terminal.call({"list": "search", "query": "a first one"})[1]["memories"]
    assert [action["value"] for action in found[0]["actions"]] == ["edit", "pin", "archive"]


def test_dialog_replaces_marks_of_direction(terminal: Terminal) -> None:
    terminal.learn("Never \u202epush to main.", category="directive")
    [memory] = terminal.call({"list": "review"})[1]["memories"]
    assert memory["text"] == memory["title"] == "Never \ufffdpush to main."
    fact = terminal.learn("The tests \u202eneed Redis.")
    assert terminal.change(fact, "edit", text="The tests \ufffdneed Redis.")[1]["said"] == "Nothing changed."
    assert terminal.world.store.get(fact).content == "The tests \u202eneed Redis."


@pytest.mark.parametrize(
    "body", [[], {}, 3, "x", {"list": "zzz"}, {"memory": "ffffffff", "version": "", "action": "pin"}, {"memory": 3}]
)
def test_bad_request_is_refused(terminal: Terminal, body: Any) -> None:
    status, answer = terminal.call(body)
    assert status == 400
    assert answer["error"]


def test_broken_json_is_refused(terminal: Terminal) -> None:
    assert terminal.call(raw=b"{")[0] == 400
    assert terminal.call(raw=b"[" * 100_000)[0] == 400


def test_nothing_to_undo_is_said(world: World, folder: Path) -> None:
    status, answer = Terminal(world, folder).call({"undo": True})
    assert (status, "nothing" in answer["error"]) == (400, True)


def test_switches_hide_lines_messages_and_version(terminal: Terminal) -> None:
    config = terminal.world.state.config
    hidden = replace(config.terminal, memory=False, version=False, toasts=False)
    object.__setattr__(terminal.world.state, "config", replace(config, terminal=hidden))
    terminal.learn("The tests need Redis.")
    quiet = terminal.call(since="0")[1]
    assert (quiet["title"], quiet["lines"], quiet["toasts"]) == ("Memory", [], [])
