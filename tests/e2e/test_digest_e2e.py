"""Digests in the real OpenCode: a session at rest is read once by the user's model, and no trace of that is left.

One home serves the whole file, because OpenCode and the server take seconds to start. The scripted model answers the
hidden agent as a test wants.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

import opencode_memory
from e2e.plugged import Instance, MemoryServer, Plugged, until
from e2e.repositories import SHOP, repository
from e2e.scripted_model import Request, ScriptedModel
from opencode_memory.hosts.opencode.agents import HIDDEN
from opencode_memory.hosts.opencode.contract import DIGEST_AGENT, OWN_TITLE
from opencode_memory.learning.digest.queue import DigestQueue, Entry

RULES = "Use the house style of the harbour."
WORK = ("Show me the invoices of the harbour.", "Thanks, now the second page.")
"""Messages without a lasting statement. They fill a session up to the three messages that a digest needs."""
KILLED = {
    "before the answer": ("The lock is oiled in March.", "the lock is oiled in March"),
    "after the answer": ("Tugboats burn diesel.", "the tugboats here burn diesel"),
    "after storing": ("Containers are counted by hand.", "containers are counted by hand"),
}
"""A statement and its quote for each moment at which the server is killed."""


@dataclass
class World:
    """A home with OpenCode and the plugin, its server, and the scripted model."""

    plugged: Plugged
    model: ScriptedModel
    server: MemoryServer
    shop: Path
    running: ExitStack = field(default_factory=ExitStack)
    instance: Instance | None = None

    def start(self) -> Instance:
        """Start OpenCode in the shop, unless it runs."""
        if self.instance is None:
            self.instance = self.running.enter_context(self.plugged.running(self.shop))
            self.server.until_warm()
        return self.instance

    def stop(self) -> None:
        """End this OpenCode, if it runs."""
        self.running.close()
        self.instance = None

    def listed(self) -> list[dict[str, Any]]:
        """The memories of the shop, without summaries of sessions."""
        return [memory for memory in self.plugged.listed(self.shop) if memory["category"] != "conversation"]

    def digested(self) -> list[str]:
        """The texts that digests have stored."""
        return [memory["content"] for memory in self.listed() if memory["metadata"].get("rule") == "digest"]

    @contextmanager
    def away(self) -> Iterator[None]:
        """Kill the server, and start it again at the end of the block, for the tests that follow."""
        self.server.kill()
        try:
            yield
        finally:
            self.server.start()
            self.server.until_warm()

    def entry(self, session: str) -> Entry | None:
        """The state of a session in the queue."""
        with opencode_memory.open(self.plugged.data_dir, read_only=True) as store:
            entries = DigestQueue(store, now_ms=lambda: 0).entries()
        return next((entry for entry in entries if entry.session == session), None)

    def until_settled(self, session: str) -> Entry:
        """Wait until a session wants no digest. A message that is read late makes it due again for a moment."""
        found: list[Entry] = []

        def is_settled() -> bool:
            entry = self.entry(session)
            found[:] = [entry] if entry is not None and entry.due_ms is None else []
            return bool(found)

        until(is_settled, "the session is still due")
        return found[0]

    def talk(self, opencode: Instance, *texts: str) -> str:
        """Have a session in which the user sends messages, and return its id."""
        session = opencode.session()
        self.model.script(*["Done."] * len(texts))
        for text in texts:
            opencode.prompt(session, text)
        return session


@pytest.fixture(scope="module")
def world(opencode_binary: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("digest")
    shop = repository(folder / "shop", remote=f"https://{SHOP}.git")
    (shop / "AGENTS.md").write_text(RULES)
    with ScriptedModel() as model:
        plugged = Plugged.set_up(
            opencode_binary,
            folder / "home",
            model.url,
            # `opencode run --continue` announces its session too late for the live feed. The database has its messages.
            learning_sources="live,opencode",
            learning_poll_seconds="1",
            learning_rest_seconds="1",
            learning_digest="small",
            learning_digest_rest_seconds="1",
        )
        with plugged.served() as server:
            world = World(plugged, model, server, shop)
            yield world
            world.stop()


@pytest.fixture
def opencode(world: World) -> Instance:
    return world.start()


def content(request: Request) -> dict[str, Any]:
    """The session in a request for a digest."""
    text = request.users[-1]
    decoded: dict[str, Any] = json.JSONDecoder().raw_decode(text, text.index('{"messages"'))[0]
    return decoded


def reply(*items: dict[str, Any]) -> Callable[[Request], str]:
    """Answer every request for a digest with these items."""
    whole = [{"message": None, "supersedes": None, **item} for item in items]
    summary = {"done": "The invoices were shown.", "decided": "", "open": ""}
    return lambda _: json.dumps({"items": whole, "summary": summary})


def decide(text: str, quote: str, **more: Any) -> dict[str, Any]:
    return {"kind": "decision", "text": text, "quote": quote, **more}


def count_requests(world: World, quote: str) -> int:
    """Count the requests for the session in which a quote was typed. Other sessions may be tried again meanwhile."""
    return sum(asks_about(request, quote) for request in world.model.digests)


def asks_about(request: Request, quote: str) -> bool:
    """Return whether a request is for the session in which a quote was typed."""
    return quote in str(content(request)["messages"])


def children(opencode: Instance) -> list[str]:
    return [session["id"] for session in opencode.get("/session") if session["title"].startswith(OWN_TITLE)]


def test_session_at_rest_is_digested_once_and_leaves_no_session(world: World, opencode: Instance) -> None:
    typed = "The harbour sends its invoices as XML since May, by the way."
    world.model.script_digest(
        reply(
            decide("The harbour sends invoices as XML.", "The harbour sends its invoices as XML since May"),
            decide("The harbour pays in euros.", "the harbour always pays its invoices in euros"),
        )
    )
    session = world.talk(opencode, *WORK, typed)
    until(lambda: "The harbour sends invoices as XML." in world.digested(), "no digest was stored")
    assert "The harbour pays in euros." not in world.digested()

    [request] = [request for request in world.model.digests if "XML since May" in str(content(request)["messages"])]
    assert (request.system, request.tools) == (HIDDEN[DIGEST_AGENT]["prompt"], [])
    assert [message["person"] for message in content(request)["messages"]] == [*WORK, typed]
    until(lambda: children(opencode) == [], "the child was not deleted")
    assert session in [found["id"] for found in opencode.get("/session")]
    assert DIGEST_AGENT not in json.dumps(opencode.get(f"/session/{session}/message"))
    # The hidden agent is not offered to other agents either.
    assert all(DIGEST_AGENT not in json.dumps(asked.body) for asked in world.model.requests)
    entry = world.until_settled(session)
    assert entry.requests == 1
    assert entry.tokens > 0


def test_later_decision_supersedes_the_earlier_one(world: World, opencode: Instance) -> None:
    earlier = world.plugged.remember(world.shop, "The warehouse sends its lists as XML.", "decision")

    def answer(request: Request) -> str:
        known = content(request).get("memories", {})
        old = [name for name, text in known.items() if "as XML" in text]
        return reply(decide("The warehouse sends its lists as JSON.", "it sends JSON from today", supersedes=old))(
            request
        )

    world.model.script_digest(answer)
    world.talk(opencode, *WORK, "About the lists of the warehouse, forget XML: it sends JSON from today.")
    until(lambda: "The warehouse sends its lists as JSON." in world.digested(), "no digest was stored")
    until(lambda: earlier not in [memory["id"] for memory in world.listed()], "the earlier decision is still active")


def test_digest_is_given_up_when_the_user_writes_and_made_later(world: World, opencode: Instance) -> None:
    asked, leave = threading.Event(), threading.Event()
    item = decide("The crane belongs to Ann.", "the crane belongs to Ann since Monday")

    def hang(request: Request) -> str:
        if not asks_about(request, "the crane belongs to Ann"):
            return reply()(request)
        asked.set()
        leave.wait(30)
        return reply(item)(request)

    world.model.script_digest(hang)
    world.talk(opencode, *WORK, "Note that the crane belongs to Ann since Monday.")
    assert asked.wait(30)
    [child] = children(opencode)
    world.model.script("Hello.")
    assert opencode.prompt(opencode.session(), "Hello") == "Hello."
    until(lambda: child not in children(opencode), "the child still works")
    assert "The crane belongs to Ann." not in world.digested()
    leave.set()
    until(lambda: "The crane belongs to Ann." in world.digested(), "the digest was not made later")
    assert count_requests(world, "the crane belongs to Ann") == 2


@pytest.mark.parametrize(
    ("answer", "said"),
    [("I found three decisions.", "JSON"), (500, "gave no answer"), (401, "failed")],
    ids=["no JSON", "repeated error", "refused"],
)
def test_failure_of_the_model_is_recorded_and_seen_by_nobody(
    world: World, opencode: Instance, answer: str | int, said: str
) -> None:
    before = world.digested()
    world.model.script_digest(lambda _: answer)
    session = world.talk(opencode, *WORK, "The pilot has the key of the gate.")

    def has_failed() -> bool:
        entry = world.entry(session)
        return entry is not None and said in entry.error

    until(has_failed, "the failure was not recorded")
    until(lambda: children(opencode) == [], "the child was not deleted")
    assert world.digested() == before
    assert len(opencode.get(f"/session/{session}/message")) == 6


@pytest.mark.parametrize("moment", KILLED)
def test_killed_server_doubles_no_memory_and_leaves_no_session(world: World, opencode: Instance, moment: str) -> None:
    text, quote = KILLED[moment]
    asked, leave = threading.Event(), threading.Event()

    def answer(request: Request) -> str:
        if not asks_about(request, quote):
            return reply()(request)
        asked.set()
        if moment == "before the answer":
            leave.wait(30)
        elif moment == "after the answer" and count_requests(world, quote) == 1:
            world.server.kill()
        return reply(decide(text, quote))(request)

    world.model.script_digest(answer)
    session = world.talk(opencode, *WORK, f"Please note that {quote}.")
    assert asked.wait(30)
    if moment == "after storing":
        until(lambda: text in world.digested(), "no digest was stored")
    world.server.kill()
    before = count_requests(world, quote)
    leave.set()
    world.server.start()
    until(lambda: text in world.digested(), "no digest was stored")
    until(lambda: children(opencode) == [], "a child was left behind")
    assert world.digested().count(text) == 1
    assert count_requests(world, quote) == before + (moment != "after storing")
    world.server.until_warm()
    world.until_settled(session)


def test_section_of_a_compaction_is_read(world: World, opencode: Instance) -> None:
    world.model.script_digest(reply())
    typed = "Hmm, the buoys are painted green in spring, that is how the office looks at it."
    session = world.talk(opencode, typed)
    lines = (
        '- fact: The buoys are painted green in spring. — "the buoys are painted green in spring"',
        '- fact: The buoys are painted red in autumn. — "the buoys are painted red in autumn"',
    )
    world.model.summary = "\n".join(("## Objective", "- Paint the buoys.", "", "## Remember", *lines))
    opencode.compact(session)
    [asked] = [aside for aside in world.model.asides if aside.wants_summary]
    assert "## Remember" in asked.users[-1]
    assert "## Next Move" in asked.users[-1]

    def contents() -> list[str]:
        return [memory["content"] for memory in world.listed()]

    until(lambda: "The buoys are painted green in spring." in contents(), "the section was not read")
    assert "The buoys are painted red in autumn." not in contents()


def test_budget_of_the_day_stops_digests(world: World, opencode: Instance) -> None:
    settings = {**world.plugged.settings, "OPENCODE_MEMORY_LEARNING_DIGEST_CALLS_PER_DAY": "1"}
    world.model.script_digest(reply())

    def is_used_up(session: str) -> bool:
        entry = world.entry(session)
        return entry is not None and "used up" in entry.error

    def is_digested(session: str) -> bool:
        entry = world.entry(session)
        return entry is not None and entry.requests == 1 and entry.due_ms is None

    with world.away(), replace(world.plugged, settings=settings).served() as limited:
        limited.until_warm()
        # The first session uses up the budget, unless an earlier test did.
        first = world.talk(opencode, *WORK, "The tide table hangs at the door.")
        until(lambda: is_digested(first) or is_used_up(first), "the first session was not looked at")
        second = world.talk(opencode, *WORK, "The bell is rung at noon.")
        until(lambda: is_used_up(second), "the budget stopped nothing")
    assert count_requests(world, "The tide table") <= 1
    assert count_requests(world, "The bell is rung") == 0


def test_session_of_opencode_run_is_digested_once_by_two_later_instances(world: World, opencode: Instance) -> None:
    text, quote = "The ferry leaves at six.", "the ferry leaves at six in summer"
    world.talk(opencode, *WORK)
    world.stop()
    world.model.script("Done.")
    # A digest that begins while `opencode run` ends is lost.
    leave = threading.Event()
    world.model.script_digest(lambda _: str(leave.wait(30)))
    world.plugged.opencode.session(world.shop, f"By the way, {quote}.", goes_on=True)
    world.model.script_digest(reply(decide(text, quote)))
    leave.set()
    assert text not in world.digested()
    with ExitStack() as running:
        for _ in range(2):
            running.enter_context(world.plugged.running(world.shop))
        world.server.until_warm(2)
        until(lambda: text in world.digested(), "the next start made no digest")
    assert count_requests(world, quote) == 1
