"""Learning from a plugin's events, outcomes of shown memories, and the context of compactions."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from opencode_memory.context.compaction import PROMPT, collect_for_compaction
from opencode_memory.errors import StorageError
from opencode_memory.hosts.opencode.contract import OWN_TITLE
from opencode_memory.learning.extraction.remember_section import REQUEST
from opencode_memory.learning.switches import pause
from opencode_memory.server.server_state import Background
from opencode_memory.store.ledger import Decision
from opencode_memory.text.formatting import short_id
from support.bridge import (
    DIRECTIVE,
    PROJECT,
    QUESTION,
    WALRUS,
    OpenCode,
    Plugin,
    answered,
    began,
    idle,
    known,
    said,
    until,
)
from support.mcp import Resident, World
from support.stores import NOW_MS, open_store

LEDGER = "We decided to use PostgreSQL for the ledger."
BEES = "gitlab.com/group/bees"
FINDING = "It turns out that the staging database listens on port 5433 and not 5432."
TAKEN_UP = "I build the walrus archive with make -j1, since parallel builds corrupt it."
EVERY = ["active", "candidate", "superseded", "archived"]


def everything(world: World) -> set[str]:
    return {memory.content for memory in world.store.list(project="*", status=EVERY, limit=1000)}


def compacted(plugin: Plugin, session: str = "ses_1") -> str:
    """Return the context of a compaction with OpenCode's own prompt."""
    answer = plugin.ask("compacting", sessionID=session)
    assert answer.keys() == {"context"}
    return "\n".join(text for text in answer["context"] if text != REQUEST)


def summarised(message: str, text: str, *, created: int) -> list[dict[str, Any]]:
    """The agent wrote the summary of the session."""
    events = answered(message, text, created=created)
    for event in events:
        if "info" in event["properties"]:
            event["properties"]["info"] |= {"summary": True, "mode": "compaction", "agent": "compaction"}
    return events


def outcomes(world: World, session: str = "ses_1") -> dict[str, str | None]:
    return {
        shown.memory: shown.outcome for decision in world.store.ledger.decisions(session) for shown in decision.shown
    }


# Learning


def test_session_is_learned_from_when_it_rests(world: World, plugin: Plugin, folder: Path) -> None:
    plugin.happens(
        began(folder), *said("msg_1", LEDGER, created=NOW_MS), *answered("msg_2", "Fine.", created=NOW_MS + 1)
    )
    plugin.happens(idle())
    assert everything(world) == set()
    [job] = world.store.jobs.list()
    assert (job.kind, job.subject) == ("rest", "ses_1")
    compacted(plugin)
    assert everything(world) == {LEDGER}
    [memory] = world.store.list(project=PROJECT)
    assert (memory.source.session, memory.source.message, memory.trust) == ("ses_1", "msg_1", "user")


def test_memory_is_learned_into_the_sessions_project(world: World, server: Resident, folder: Path) -> None:
    bees = world.repository("bees")
    with Plugin(server.url, folder) as ours, Plugin(server.url, bees) as theirs:
        for plugin, session, text in (
            (ours, "ses_1", LEDGER),
            (theirs, "ses_2", "We decided to use SQLite for the bees."),
        ):
            spoken = said("msg_1", text, created=NOW_MS, session=session)
            plugin.happens(began(plugin.folder, session), *spoken, idle(session))
            compacted(plugin, session)
    learned = {project: {memory.content for memory in world.store.list(project=project)} for project in (PROJECT, BEES)}
    assert learned == {PROJECT: {LEDGER}, BEES: {"We decided to use SQLite for the bees."}}


def test_own_session_is_not_learned_from(world: World, plugin: Plugin, folder: Path) -> None:
    spoken = said("msg_1", LEDGER, created=NOW_MS)
    plugin.happens(began(folder, title=f"{OWN_TITLE}digest"), *spoken, idle())
    compacted(plugin)
    assert (everything(world), world.store.jobs.list()) == (set(), [])


def test_invalid_events_are_skipped(world: World, plugin: Plugin, folder: Path) -> None:
    odd: tuple[Any, ...] = (None, [], {}, {"events": "x"}, {"events": [1]}, {"directory": 1, "events": []})
    for params in odd:
        plugin.tell("events", params)
    plugin.happens(began(folder), *said("msg_1", LEDGER, created=NOW_MS), idle())
    compacted(plugin)
    assert everything(world) == {LEDGER}


def agent_repeats(plugin: Plugin, text: str, created: int = NOW_MS) -> None:
    """The agent says something in answer to the question, and the user goes on."""
    plugin.happens(
        began(plugin.folder),
        *said("msg_1", "How is staging reached?", created=created),
        *answered("msg_2", text, created=created + 1),
        *said("msg_3", "Thanks.", created=created + 2),
        idle(),
    )
    compacted(plugin)


def test_injected_block_is_not_learned_from_the_agent(world: World, plugin: Plugin) -> None:
    again = FINDING
    agent_repeats(plugin, again)
    assert everything(world) != set(), "where nobody gave it, it is learned"
    world.store.purge([memory.id for memory in world.store.list(project=PROJECT, status=EVERY)])
    known(world, FINDING, "directive")
    for session in ("ses_2",):
        assert FINDING in plugin.shown("msg_5", "How is staging reached?", session=session)
        plugin.flush()
        plugin.happens(
            began(plugin.folder, session),
            *said("msg_5", "How is staging reached?", created=NOW_MS, session=session),
            *answered("msg_6", again, created=NOW_MS + 1, session=session),
            *said("msg_7", "Thanks.", created=NOW_MS + 2, session=session),
            idle(session),
        )
        compacted(plugin, session)
    assert everything(world) == {FINDING}


def test_injected_block_is_not_learned_from_the_user(world: World, plugin: Plugin, folder: Path) -> None:
    known(world, f"{LEDGER} It has been so since March.", "directive")
    assert LEDGER in plugin.shown("msg_1", "hello")
    plugin.flush()
    plugin.happens(
        began(folder), *said("msg_1", "hello", created=NOW_MS), *said("msg_2", LEDGER, created=NOW_MS + 1), idle()
    )
    compacted(plugin)
    assert everything(world) == {f"{LEDGER} It has been so since March."}


def test_a_command_that_was_typed_is_not_learned_again(world: World, plugin: Plugin, folder: Path) -> None:
    told = plugin.ask("command", sessionID="ses_1", command="remember", arguments=f"decision: {LEDGER}")["text"]
    plugin.happens(began(folder), *said("msg_1", told, created=NOW_MS), idle())
    compacted(plugin)
    [memory] = world.store.list(project=PROJECT, status=EVERY)
    assert (memory.content, memory.trust) == (LEDGER, "user")


def test_paused_session_is_never_learned_from(world: World, server: Resident, plugin: Plugin, folder: Path) -> None:
    events = [began(folder), *said("msg_1", LEDGER, created=NOW_MS)]
    pause(world.store, "ses_1", paused=True)
    plugin.happens(*events)
    compacted(plugin)
    pause(world.store, "ses_1", paused=False)
    with Plugin(server.url, folder) as later:
        later.happens(*events, idle())
        compacted(later)
    assert everything(world) == set()


def test_disabled_learning_still_records_outcomes(tmp_path: Path) -> None:
    with World(tmp_path, learning__enabled="false") as world:
        folder = world.repository("walrus")
        walrus = known(world, WALRUS)
        with world.serve() as server, Plugin(server.url, folder) as plugin:
            plugin.shown("msg_1", QUESTION)
            plugin.flush()
            plugin.happens(
                began(folder), *said("msg_1", QUESTION, created=NOW_MS), *said("msg_2", LEDGER, created=NOW_MS + 1)
            )
            plugin.happens(*answered("msg_3", TAKEN_UP, created=NOW_MS + 2), idle())
            compacted(plugin)
        assert outcomes(world) == {walrus: "used"}
        assert everything(world) == {WALRUS}


def test_worker_is_woken_only_by_writes(tmp_path: Path) -> None:
    woken: list[bool] = []
    with World(tmp_path, background=Background(wake=lambda: woken.append(True))) as world:
        folder = world.repository("walrus")
        with world.serve() as server, Plugin(server.url, folder) as plugin:
            plugin.happens(began(folder), *said("msg_1", LEDGER, created=NOW_MS), idle())
            plugin.offered("msg_1", LEDGER)
            plugin.ask("tool", sessionID="ses_1", tool="memory-read", arguments={})
            assert woken == []
            plugin.happens(*said("msg_2", "And now?", created=NOW_MS + 1), idle())
            assert len(woken) == 1
            plugin.happens(*said("msg_3", "We decided to use Redis for the cache.", created=NOW_MS + 2), idle())
            assert len(woken) == 1
            compacted(plugin)
            assert len(woken) == 2
            given = {"content": "The walrus sleeps", "scope": "decision"}
            plugin.ask("tool", sessionID="ses_1", tool="memory-write", arguments=given)
            assert len(woken) == 3
            plugin.ask("command", sessionID="ses_1", command="remember", arguments="the walrus wakes")
            assert len(woken) > 3


# Outcomes of shown memories


def test_used_memory_is_recorded_once_per_session(world: World, plugin: Plugin, folder: Path) -> None:
    directive, walrus = known(world, DIRECTIVE, "directive"), known(world, WALRUS)
    plugin.shown("msg_1", QUESTION)
    plugin.flush()
    plugin.happens(
        began(folder), *said("msg_1", QUESTION, created=NOW_MS), *answered("msg_2", TAKEN_UP, created=NOW_MS + 1)
    )
    assert outcomes(world) == {directive: None, walrus: None}
    for _ in range(3):
        plugin.happens(idle())
    assert outcomes(world) == {directive: None, walrus: "used"}
    assert world.store.ledger.usefulness([walrus])[walrus].used == 1
    plugin.happens(
        *said("msg_3", "Again?", created=NOW_MS + 2), *answered("msg_4", TAKEN_UP, created=NOW_MS + 3), idle()
    )
    world.store.maintain()
    assert world.store.get(walrus).uses == 1


def test_action_before_a_block_does_not_count_as_use(world: World, plugin: Plugin, folder: Path) -> None:
    walrus = known(world, WALRUS)
    plugin.happens(
        began(folder), *said("msg_1", "go", created=NOW_MS), *answered("msg_2", TAKEN_UP, created=NOW_MS + 1)
    )
    plugin.happens(idle())
    plugin.shown("msg_3", QUESTION, visible=["msg_1"])
    plugin.flush()
    plugin.happens(
        *said("msg_3", QUESTION, created=NOW_MS + 2), *answered("msg_4", "Done.", created=NOW_MS + 3), idle()
    )
    assert outcomes(world) == {walrus: None}


def test_memory_that_was_not_shown_gets_no_outcome(world: World, plugin: Plugin, folder: Path) -> None:
    walrus = known(world, WALRUS)
    plugin.offered("msg_1", QUESTION)
    plugin.settle("msg_1", "late")
    plugin.flush()
    plugin.happens(
        began(folder),
        *said("msg_1", QUESTION, created=NOW_MS),
        *answered("msg_2", TAKEN_UP, created=NOW_MS + 1),
        idle(),
    )
    assert outcomes(world) == {walrus: None}
    world.store.maintain()
    assert world.store.get(walrus).uses == 0


def test_words_of_the_user_are_no_use_of_a_memory_however_they_are_spread(
    world: World, plugin: Plugin, folder: Path
) -> None:
    walrus = known(world, WALRUS)
    plugin.shown("msg_1", QUESTION)
    plugin.flush()
    plugin.happens(
        began(folder),
        *said("msg_1", "Do parallel builds corrupt the walrus archive?", "And what of make -j1?", created=NOW_MS),
        *answered("msg_2", TAKEN_UP, created=NOW_MS + 1),
        idle(),
    )
    assert outcomes(world) == {walrus: None}


def test_memory_archived_after_it_was_shown_is_contradicted(world: World, plugin: Plugin, folder: Path) -> None:
    walrus = known(world, WALRUS)
    plugin.shown("msg_1", QUESTION)
    plugin.flush()
    plugin.happens(began(folder), *said("msg_1", QUESTION, created=NOW_MS))
    world.pass_time(5)
    world.store.archive([walrus], reason="it is built with ninja now")
    plugin.happens(*answered("msg_2", TAKEN_UP, created=NOW_MS + 1), idle())
    assert outcomes(world) == {walrus: "contradicted"}
    # The outcome does not change afterwards.
    plugin.happens(
        *said("msg_3", "Sure?", created=NOW_MS + 2), *answered("msg_4", TAKEN_UP, created=NOW_MS + 3), idle()
    )
    assert outcomes(world) == {walrus: "contradicted"}


def test_maintenance_or_undo_does_not_contradict_a_memory(world: World, plugin: Plugin, folder: Path) -> None:
    duplicate, restored = known(world, WALRUS), known(world, "Ask before the walrus archive is built.", "directive")
    older = known(world, "The walrus archive needs a build with one job in the evening.", trust="agent")
    plugin.shown("msg_1", QUESTION)
    plugin.flush()
    plugin.happens(began(folder), *said("msg_1", QUESTION, created=NOW_MS))
    unknown = {duplicate: None, restored: None, older: None}
    assert outcomes(world) == unknown
    world.pass_time(5)
    with open_store(world.folder / "data", actor="extracted", clock_ms=NOW_MS + 5_000) as worker:
        worker.archive([duplicate], reason="duplicate of another")
    world.store.archive([restored])
    world.store.restore([restored])
    newer = known(world, "the walrus archive needs build with one job in the evening", trust="agent")
    world.store.indexes.link_new()
    assert (world.store.get(older).status, world.store.get(older).superseded_by) == ("superseded", newer)
    plugin.happens(*answered("msg_2", "It is done.", created=NOW_MS + 1), idle())
    assert outcomes(world) == unknown


def test_memory_contradicted_twice_is_not_shown(world: World, plugin: Plugin, folder: Path) -> None:
    walrus = known(world, WALRUS)
    for number in range(2):
        session = f"ses_{number}"
        assert WALRUS in plugin.shown("msg_1", QUESTION, session=session)
        plugin.flush()
        plugin.happens(began(folder, session), *said("msg_1", QUESTION, created=NOW_MS, session=session))
        world.pass_time(5)
        world.store.archive([walrus])
        plugin.happens(*answered("msg_2", "It is not so.", created=NOW_MS + 1, session=session), idle(session))
        world.pass_time(5)
        world.store.restore([walrus])
    assert plugin.shown("msg_1", QUESTION, session="ses_9") == ""


def test_a_turn_that_is_cut_short_by_a_compaction_is_judged_as_well(world: World, plugin: Plugin, folder: Path) -> None:
    walrus = known(world, WALRUS)
    plugin.shown("msg_1", QUESTION)
    plugin.flush()
    plugin.happens(
        began(folder), *said("msg_1", QUESTION, created=NOW_MS), *answered("msg_2", TAKEN_UP, created=NOW_MS + 1)
    )
    compacted(plugin)
    assert outcomes(world) == {walrus: "used"}


def test_learning_continues_if_judging_fails(
    world: World, plugin: Plugin, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> Any:
        raise StorageError("the disk refused", path="store.db")

    known(world, WALRUS)
    plugin.shown("msg_1", QUESTION)
    plugin.flush()
    monkeypatch.setattr(world.store.ledger, "note", broken)
    plugin.happens(
        began(folder), *said("msg_1", LEDGER, created=NOW_MS), *answered("msg_2", TAKEN_UP, created=NOW_MS + 1), idle()
    )
    compacted(plugin)
    assert LEDGER in everything(world)


# Compactions


def headings(text: str) -> list[str]:
    return [line for line in text.split("\n") if line.endswith(":") and not line.startswith(("-", " "))]


def test_compaction_lists_memories_by_importance(world: World, plugin: Plugin, folder: Path) -> None:
    texts = {
        "directive": DIRECTIVE,
        "convention": "Amounts are kept in cents.",
        "preference": "The user likes short answers.",
        "decision": "The API speaks JSON.",
        "blocker": "The staging server is down.",
    }
    for category, content in texts.items():
        known(world, content, category, project=None if category == "preference" else PROJECT)
    known(world, "The licence was missing.", "blocker", tags=["resolved"])
    known(world, "The canteen opens at noon.")
    world.store.sessions.claim("ses_1", "shop#7", project=PROJECT)
    world.store.sessions.claim("ses_2", "shop#8", project=PROJECT)
    finding = {"action": "record", "text": "The total is wrong for refunds", "severity": "bug"}
    assert not plugin.ask("tool", sessionID="ses_1", tool="memory-findings", arguments=finding)["is_error"]
    plugin.happens(began(folder), *said("msg_1", LEDGER, created=NOW_MS))
    text = compacted(plugin)
    assert headings(text) == [
        "Directives:",
        "Learned in this session:",
        "Conventions and preferences:",
        "Open blockers:",
        "Newest decisions:",
        "Claimed by this session:",
        "Open findings of reviews:",
        "Also known:",
    ]
    for wanted in (*texts.values(), LEDGER, "shop#7", "refunds"):
        assert text.count(wanted) == 1, wanted
    for unwanted in ("licence", "shop#8"):
        assert unwanted not in text
    decision = list(world.store.ledger.decisions("ses_1"))[-1]
    assert decision.message.startswith("compaction:")
    assert (decision.about["kind"], len(decision.about["memories"])) == ("compaction", 7)
    assert decision.tokens == world.state.count_tokens(text)


def test_compaction_learns_from_recent_messages_first(world: World, plugin: Plugin, folder: Path) -> None:
    plugin.tell("events", {"directory": str(folder), "events": [began(folder), *said("msg_1", LEDGER, created=NOW_MS)]})
    assert LEDGER in compacted(plugin)


def test_compaction_does_not_wait_for_slow_learning(
    world: World, plugin: Plugin, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known(world, DIRECTIVE, "directive")
    leave, entered = threading.Event(), threading.Event()
    write = world.store.learning.write

    def slow(*arguments: Any, **named: Any) -> Any:
        entered.set()
        assert leave.wait(60)
        return write(*arguments, **named)

    monkeypatch.setattr(world.store.learning, "write", slow)
    plugin.happens(began(folder), *said("msg_1", LEDGER, created=NOW_MS))
    try:
        assert DIRECTIVE in compacted(plugin)
        assert entered.is_set()
    finally:
        leave.set()
    # It was not given up.
    until(lambda: LEDGER in everything(world))


def test_compaction_without_memories_only_asks_for_statements(world: World, plugin: Plugin) -> None:
    assert plugin.ask("compacting", sessionID="ses_1") == {"context": [REQUEST]}
    assert world.store.ledger.decisions("ses_1") == []


def test_compaction_asks_for_no_statements_that_nobody_would_read(
    world: World, plugin: Plugin, folder: Path, tmp_path: Path
) -> None:
    pause(world.store, "ses_1", paused=True)
    plugin.happens(began(folder, "ses_2", parentID="ses_0"))
    for session in ("ses_1", "ses_2"):
        assert plugin.ask("compacting", sessionID=session) == {"context": []}
    assert plugin.ask("compacting", sessionID="ses_3") == {"context": [REQUEST]}
    with World(tmp_path / "off", learning__enabled="false") as other, other.serve() as server:
        walrus = other.repository("walrus")
        with Plugin(server.url, walrus) as theirs:
            assert theirs.ask("compacting", sessionID="ses_1") == {"context": []}


def test_statement_of_a_summary_is_learned_if_the_user_typed_its_quote(
    world: World, plugin: Plugin, folder: Path
) -> None:
    lines = (
        '- decision: The export shows amounts with four digits. — "amounts with four digits"',
        '- decision: The export is signed by Ann. — "the export is signed by Ann"',
    )
    section = "\n".join(("## Remember", *lines))
    typed = "Hmm, the office rejected it once more: amounts with four digits, that is how it has to look."
    plugin.happens(
        began(folder),
        *said("msg_1", typed, created=NOW_MS),
        *answered("msg_2", "So the export is signed by Ann.", created=NOW_MS + 1),
        *summarised("msg_3", section, created=NOW_MS + 2),
        idle(),
    )
    compacted(plugin)
    [learned] = world.store.list(project=PROJECT)
    assert learned.content == "The export shows amounts with four digits."
    assert (learned.category, learned.metadata["evidence"]) == ("decision", "amounts with four digits")
    assert learned.source.message == "msg_3"


def test_compaction_budget_keeps_the_most_important(world: World) -> None:
    directive = known(world, DIRECTIVE, "directive")
    for number in range(30):
        known(world, f"Convention {number}: amounts are kept in cents and never in floating point.", "convention")
    decision = known(world, "The API speaks JSON.", "decision")
    count = world.state.count_tokens
    for budget, has in (
        (0, set()),
        (60, set()),
        (120, {directive}),
        (300, {directive, decision}),
        (4000, {directive, decision}),
    ):
        block = collect_for_compaction(
            world.store, session="ses_1", project=PROJECT, max_tokens=budget, count=count, at=world.now
        )
        assert block.tokens == count(block.text) <= budget
        assert {memory.id for memory in block.shown} & {directive, decision} == has


def test_compaction_shows_what_the_session_found(world: World, plugin: Plugin) -> None:
    known(world, WALRUS)
    assert WALRUS in plugin.shown("msg_1", QUESTION)
    [context, _] = plugin.ask("compacting", sessionID="ses_1")["context"]
    assert f"Found for earlier messages of this session:\n- {WALRUS}" in context


def test_a_compaction_may_be_switched_off(tmp_path: Path) -> None:
    with World(tmp_path, compaction__enabled="false", compaction__custom_prompt="true") as world:
        folder = world.repository("walrus")
        known(world, DIRECTIVE, "directive")
        with world.serve() as server, Plugin(server.url, folder) as plugin:
            assert plugin.ask("compacting", sessionID="ses_1") == {"context": []}
            assert DIRECTIVE in plugin.shown("msg_1", "hello")


def summary(text: str) -> dict[str, Any]:
    return {"info": {"role": "assistant", "summary": True}, "parts": [{"type": "text", "text": text}]}


def prompted(folder: Path, opencode: OpenCode, *, knows: str = DIRECTIVE) -> tuple[dict[str, Any], list[Decision]]:
    """Return our prompt for a compaction and the recorded decision."""
    with World(folder, compaction__custom_prompt="true") as world:
        repository = world.repository("walrus")
        if knows:
            known(world, knows, "directive")
        with world.serve() as server, Plugin(server.url, repository, opencode=opencode) as plugin:
            answer = plugin.ask("compacting", sessionID="ses_1")
        return answer, world.store.ledger.decisions("ses_1")


def test_a_prompt_of_ours_holds_the_memories_and_the_summary_before_it(tmp_path: Path) -> None:
    messages = [
        summary("The first."),
        {"info": {"role": "user"}, "parts": []},
        summary("The walrus is built.</previous-summary>"),
        {"info": {"role": "assistant"}, "parts": [{"type": "text", "text": "No summary."}]},
    ]
    answer, noted = prompted(tmp_path, OpenCode(messages={"ses_1": messages}))
    assert answer["context"] == []
    prompt = answer["prompt"]
    assert prompt.startswith(PROMPT)
    assert DIRECTIVE in prompt
    assert prompt.endswith("<previous-summary>\nThe walrus is built.&lt;/previous-summary>\n</previous-summary>")
    assert "The first." not in prompt
    assert len(noted) == 1


def test_custom_prompt_without_previous_summary_omits_it(tmp_path: Path) -> None:
    odd = [
        None,
        {},
        {"info": {"summary": True}, "parts": []},
        {"info": {"summary": "yes", "role": "assistant"}, "parts": []},
    ]
    answer, _ = prompted(tmp_path, OpenCode(messages={"ses_1": odd}))
    assert "previous-summary" not in answer["prompt"]
    assert DIRECTIVE in answer["prompt"]


def test_custom_prompt_is_used_without_memories(tmp_path: Path) -> None:
    answer, noted = prompted(tmp_path, OpenCode(messages={"ses_1": [summary("The first.")]}), knows="")
    assert answer["prompt"].startswith(PROMPT)
    assert "The first." in answer["prompt"]
    assert noted == []


def test_where_the_summary_before_is_not_known_the_prompt_stays_opencodes(tmp_path: Path) -> None:
    answer, noted = prompted(tmp_path, OpenCode(is_silent=True))
    assert "prompt" not in answer
    assert DIRECTIVE in answer["context"][0]
    assert len(noted) == 1


def test_session_learns_and_gets_blocks_after_a_compaction(world: World, plugin: Plugin, folder: Path) -> None:
    walrus = known(world, WALRUS)
    assert WALRUS in plugin.shown("msg_1", QUESTION)
    plugin.flush()
    plugin.happens(began(folder), *said("msg_1", f"{QUESTION} {LEDGER}", created=NOW_MS))
    text = compacted(plugin)
    assert LEDGER in text
    block = plugin.shown("msg_5", "", summary=f"The walrus archive is built. {LEDGER}")
    assert short_id(walrus) in block
    assert LEDGER in block
