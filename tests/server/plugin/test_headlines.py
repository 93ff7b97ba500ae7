"""Headlines beside messages: what they name, when there are none, and what becomes of them."""

from __future__ import annotations

from dataclasses import replace

from opencode_memory.config.sections import BriefConfig, InjectionConfig
from opencode_memory.context.block import HEAD, HEAD_MORE
from opencode_memory.context.decide import FURTHER, Request, decide
from opencode_memory.context.headline import format_headline
from opencode_memory.context.reasons import HEADLINE
from opencode_memory.store.ledger import Decision, State
from support.bridge import DIRECTIVE, LONG, PROJECT, QUESTION, WALRUS, known
from support.mcp import World
from support.stores import DAY_MS, NOW_MS

FROGS = (
    "The walrus archive is copied to the museum of frogs by a job that begins every night at three.",
    "The walrus archive belongs to the museum of frogs since the merger of the two museums last year.",
    "The walrus archive has a licence from the museum of frogs that has to be renewed in each March.",
)


def ask(
    world: World,
    message: str,
    text: str,
    *visible: str,
    injection: InjectionConfig | None = None,
    brief: BriefConfig | None = None,
) -> Decision:
    """Decide on a message and show the result; without other settings, one memory in full and no brief."""
    decision = decide(
        world.store,
        Request(session="ses_1", message=message, text=text, project=PROJECT, visible=frozenset({message, *visible})),
        config=injection or replace(world.config.injection, max_results=1),
        brief=brief or replace(world.config.brief, max_tokens=0),
        count=world.state.count_tokens,
        at=world.now,
    )
    world.store.ledger.settle("ses_1", message, State.SHOWN)
    return decision


def test_memory_in_sight_as_a_headline_is_shown_in_full_when_it_is_relevant(world: World) -> None:
    known(world, DIRECTIVE, "directive")
    long = known(world, LONG)
    for number in range(30):
        known(world, f"Something else of number {number}, which is about the canteen")
    # No room for the whole memory.
    brief = replace(world.config.brief, max_tokens=world.state.count_tokens(HEAD) + 120)

    settings = {"injection": world.config.injection, "brief": brief}
    world.store.pin([long])
    first = ask(world, "msg_1", "hello", **settings)
    assert [shown.why for shown in first.shown if shown.memory == long] == ["headline"]
    assert f"{long[-6:]} walrus archive is built with" in first.text
    built = "How is the walrus archive built on the build server?"
    later = ask(world, "msg_2", built, "msg_1", **settings)
    assert LONG in later.text
    assert HEAD_MORE in later.text
    assert ask(world, "msg_3", built, "msg_1", "msg_2", **settings).shown == ()


def test_further_memories_are_headlines_beside_a_relevant_one(world: World) -> None:
    walrus = known(world, WALRUS)
    frogs = [known(world, text) for text in FROGS]
    first = ask(world, "msg_1", QUESTION)
    assert first.shown[0].memory == walrus
    further = {shown.memory for shown in first.shown[1:]}
    assert further
    assert further <= {*frogs}
    assert {shown.why for shown in first.shown[1:]} == {HEADLINE}
    lines = first.text.split("\n")
    assert set(lines[lines.index(FURTHER) + 1 : -1]) == {
        format_headline(world.store.get(id_), most_words=6) for id_ in further
    }


def test_headline_beside_a_message_is_not_repeated_but_may_become_a_memory_in_full(world: World) -> None:
    known(world, WALRUS)
    for text in FROGS:
        known(world, text)
    first = ask(world, "msg_1", QUESTION)
    named = {shown.memory for shown in first.shown if shown.why == HEADLINE}
    text = world.store.get(min(named)).content
    later = ask(world, "msg_2", text, "msg_1")
    assert text in later.text
    assert named.isdisjoint(shown.memory for shown in later.shown if shown.why == HEADLINE)


def test_message_without_relevant_memories_gets_no_headlines(world: World) -> None:
    for text in FROGS:
        known(world, text)
    assert ask(world, "msg_1", "Who pays for the canteen of the museum?").shown == ()


def test_message_whose_relevant_memories_are_in_sight_gets_no_headlines(world: World) -> None:
    known(world, WALRUS)
    for text in FROGS:
        known(world, text)
    first = ask(world, "msg_1", QUESTION)
    assert len(first.shown) < len([WALRUS, *FROGS])
    assert ask(world, "msg_2", QUESTION, "msg_1").shown == ()


def test_replaced_statement_is_no_headline(world: World) -> None:
    walrus = known(world, WALRUS)
    # A batch of this size is compared only when it is read, so that both statements are active.
    filler = [f"{'abcdefgh'[number % 8] * 4} {number}" for number in range(70)]
    ports = ["The walrus archive listens on port 8080.", "The walrus archive listens on port 9000."]
    made = world.store.remember_many(
        {"content": text, "project": PROJECT, "time": NOW_MS - (100 - place) * DAY_MS}
        for place, text in enumerate([*ports, *filler])
    )
    old, new = (result.id for result in made[:2])
    shown = [one.memory for one in ask(world, "msg_1", QUESTION).shown]
    assert shown[0] == walrus
    assert new in shown
    assert old not in shown
