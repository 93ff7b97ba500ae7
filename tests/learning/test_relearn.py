"""Relearning: memories of earlier rules are judged again, in one change that can be undone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from opencode_memory import MemoryStore
from opencode_memory.hosts.opencode.feed.database import OpenCodeDatabase
from opencode_memory.hosts.opencode.feed.session_pages import SessionPages
from opencode_memory.learning.extraction.rules_version import RULES
from opencode_memory.learning.relearn.offer import OFFER, take_offer
from opencode_memory.learning.relearn.run import Proposal, apply, propose, undo_run
from opencode_memory.models import Category, Status
from support.learning import RUFF, agent, learn, user
from support.opencode import LONG_AFTER_MS, FakeOpenCode
from support.relearning import store_old
from support.stores import open_store

NOISE = "The header looks a bit off on the second page."
RULE = "Never change the seed files by hand."
FINDING = "SQLite ignores foreign keys by default because the pragma is off for each new connection."
PASTED = "Always use the walrus theme."


@pytest.fixture
def history(tmp_path: Path) -> Iterator[FakeOpenCode]:
    with FakeOpenCode(tmp_path / "opencode.db") as fake:
        fake.session("ses_old")
        yield fake


@pytest.fixture
def pages(history: FakeOpenCode) -> Iterator[SessionPages]:
    with OpenCodeDatabase(history.path) as database:
        yield SessionPages(database, now_ms=LONG_AFTER_MS)


def archived(proposal: Proposal) -> list[str]:
    return [verdict.id for verdict in proposal.archive]


def reasons(proposal: Proposal) -> dict[str, str]:
    return {verdict.id: verdict.reason for verdict in proposal.keep}


# Judging


def test_statement_that_a_rule_still_finds_is_kept(
    store: MemoryStore, history: FakeOpenCode, pages: SessionPages
) -> None:
    history.user("ses_old", "msg_1", f"{NOISE} {RULE}", at=1_000)
    noise, rule = store_old(store, NOISE), store_old(store, RULE, category="directive")
    proposal = propose(store, pages)
    assert archived(proposal) == [noise]
    assert list(reasons(proposal)) == [rule]
    assert proposal.unread == 0


def test_statement_in_a_language_that_is_off_now_is_kept(
    store: MemoryStore, history: FakeOpenCode, pages: SessionPages
) -> None:
    text = "Verwende immer kurze Namen für Branches."
    history.user("ses_old", "msg_1", text, at=1_000)
    rule = store_old(store, text, category="directive")
    assert list(reasons(propose(store, pages))) == [rule]
    assert list(reasons(propose(store, None))) == [rule]


def test_context_of_the_session_decides(store: MemoryStore, history: FakeOpenCode, pages: SessionPages) -> None:
    history.user("ses_old", "msg_1", f"```\n{PASTED}\n```\nwhat does it mean?", at=1_000)
    pasted = store_old(store, PASTED, category="directive")
    assert archived(propose(store, pages)) == [pasted]
    assert archived(propose(store, None)) == [], "its sentence alone looks like a standing order"


def test_same_words_in_another_message_are_no_evidence(
    store: MemoryStore, history: FakeOpenCode, pages: SessionPages
) -> None:
    history.user("ses_old", "msg_1", f"What does `{RULE}` mean?", at=1_000)
    history.user("ses_old", "msg_2", RULE, at=2_000)
    quoted = store_old(store, RULE, category="convention")
    assert archived(propose(store, pages)) == [quoted]


def test_session_that_is_gone_is_judged_by_the_evidence(store: MemoryStore, pages: SessionPages) -> None:
    noise, rule = store_old(store, NOISE), store_old(store, RULE, category="directive")
    proposal = propose(store, pages)
    assert (archived(proposal), list(reasons(proposal)), proposal.unread) == ([noise], [rule], 1)


def test_weak_statement_is_kept_if_three_sessions_have_it(
    store: MemoryStore, history: FakeOpenCode, pages: SessionPages
) -> None:
    text = "The nightly job writes its report into the shared bucket."
    contents = (text, "A bucket gets reports.", "Night after night someone shares numbers.")
    ids = []
    for number, content in enumerate(contents):
        session = history.session(f"ses_{number}")
        # A copy of a message in a fork is no repetition, so the texts differ.
        history.user(session, "msg_1" + str(number), f"Look at ticket {number}. {text}", at=1_000 + number)
        source = {"tool": "opencode", "session": session, "message": f"msg_1{number}"}
        ids.append(store_old(store, content, evidence=text, source=source))
    assert archived(propose(store, pages)) == []
    history.connection.execute("DELETE FROM session WHERE id = 'ses_2'")
    assert set(ids[:2]) <= set(archived(propose(store, pages)))


def test_candidate_of_earlier_rules_is_judged(store: MemoryStore, pages: SessionPages) -> None:
    noise = store_old(store, NOISE, status="candidate")
    rule = store_old(store, RULE, category="directive", status="candidate")
    apply(store, propose(store, pages))
    assert (store.get(noise).status, store.get(rule).status) == (Status.ARCHIVED, Status.CANDIDATE)


def test_active_instruction_of_an_agent_is_archived(
    store: MemoryStore, history: FakeOpenCode, pages: SessionPages
) -> None:
    history.agent("ses_old", "msg_1", RULE, at=1_000)
    rule = store_old(store, RULE, category="directive")
    assert archived(propose(store, pages)) == [rule]


def test_active_instruction_from_a_web_page_is_archived(
    store: MemoryStore, history: FakeOpenCode, pages: SessionPages
) -> None:
    fetched = {
        "type": "tool",
        "tool": "webfetch",
        "callID": "call_1",
        "state": {"status": "completed", "input": {"url": "https://example.com"}, "output": RULE, "metadata": {}},
    }
    info = {"role": "assistant", "mode": "build", "finish": "stop", "time": {"created": 900, "completed": 900}}
    history.message("ses_old", "msg_0", info, [fetched, {"type": "step-finish", "reason": "stop"}], at=900)
    history.user("ses_old", "msg_1", RULE, at=1_000)
    rule = store_old(store, RULE, category="directive")
    proposal = propose(store, pages)
    assert [(verdict.id, verdict.reason) for verdict in proposal.archive] == [
        (rule, "an instruction that the user did not type")
    ]


@pytest.mark.parametrize(
    ("command", "is_kept"), [("make -j1 archive", True), ("make 2>&1 | tail -3", False), ("ls -la", False)]
)
def test_command_without_its_session(store: MemoryStore, command: str, *, is_kept: bool) -> None:
    metadata = {"rule": "succeeded 3 times", "evidence": command}
    store_old(store, f"`{command}`", category="procedure", metadata=metadata)
    assert bool(archived(propose(store))) is not is_kept


# What is never archived


def test_confirmed_pinned_edited_accepted_and_used_memories_are_kept(store: MemoryStore) -> None:
    texts = [f"{NOISE} Number {number} of it." for number in range(5)]
    ids = [store_old(store, text) for text in texts[:4]]
    ids.append(store_old(store, texts[4], status="candidate"))
    store.edit(ids[0], verified=True)
    store.pin(ids[1])
    store.edit(ids[2], content="The header on page 2 is wrong.")
    store.note_uses([ids[3]])
    store.maintain()
    store.restore(ids[4])
    proposal = propose(store)
    assert archived(proposal) == []
    # An edit by the user also confirms the memory.
    assert [reasons(proposal)[id_] for id_ in ids[:4]] == ["confirmed", "pinned", "confirmed", "used"]
    assert ids[4] in reasons(proposal)


def test_successor_of_a_superseded_memory_is_kept(store: MemoryStore) -> None:
    old = store_old(store, "The port is 5432.", topic="learned:choice:port")
    new = store_old(store, "The port is 5433.", topic="learned:choice:port")
    assert (old == new) or new in reasons(propose(store))


@pytest.mark.parametrize(
    "fields",
    [
        {"category": "conversation"},
        {"metadata": {"rule": "digest", "evidence": NOISE}},
        {"metadata": {"rule": "because", "evidence": NOISE, "rules": RULES}},
        {"metadata": {}, "trust": "user"},
        {"metadata": {}, "trust": "agent"},
        {"source": {"tool": "markdown"}},
    ],
)
def test_memory_that_no_earlier_rule_learned_is_not_judged(store: MemoryStore, fields: dict[str, Any]) -> None:
    store_old(store, NOISE, **fields)
    assert propose(store) == Proposal(archive=(), keep=(), unread=0)


def test_memory_learned_now_is_not_judged(store: MemoryStore) -> None:
    learn(store, user(RUFF), agent("Fine."))
    [memory] = store.list(category=[category for category in Category if category is not Category.CONVERSATION])
    assert memory.metadata["rules"] == RULES
    assert propose(store) == Proposal(archive=(), keep=(), unread=0)


# Applying


def test_proposal_changes_nothing(store: MemoryStore) -> None:
    noise = store_old(store, NOISE)
    before = store.history(noise)
    propose(store)
    assert (store.get(noise).status, store.history(noise)) == (Status.ACTIVE, before)


def test_second_run_archives_nothing(store: MemoryStore) -> None:
    store_old(store, NOISE)
    rule = store_old(store, RULE, category="directive")
    assert len(apply(store, propose(store))) == 1
    again = propose(store)
    assert (archived(again), list(reasons(again))) == ([], [rule])
    assert apply(store, again) == ()


def test_kept_words_of_the_user_count_as_theirs_until_undone(
    store: MemoryStore, history: FakeOpenCode, pages: SessionPages
) -> None:
    history.user("ses_old", "msg_1", RULE, at=1_000)
    rule = store_old(store, RULE, category="directive")
    assert store.get(rule).is_withheld
    apply(store, propose(store, pages))
    kept = store.get(rule)
    assert (kept.content, kept.trust, kept.is_withheld) == (RULE, "user", False)
    assert propose(store, pages) == Proposal(archive=(), keep=(), unread=0)
    undo_run(store)
    assert store.get(rule).trust == "extracted"


def test_kept_finding_of_the_agent_does_not_count_as_the_users(
    store: MemoryStore, history: FakeOpenCode, pages: SessionPages
) -> None:
    history.agent("ses_old", "msg_1", FINDING, at=1_000)
    finding = store_old(store, FINDING)
    proposal = propose(store, pages)
    assert list(reasons(proposal)) == [finding]
    apply(store, proposal)
    assert store.get(finding).trust == "extracted"


def test_sentence_without_its_session_does_not_prove_that_the_user_typed_it(store: MemoryStore) -> None:
    rule = store_old(store, RULE, category="directive")
    apply(store, propose(store))
    assert store.get(rule).trust == "extracted"


def test_memory_confirmed_after_the_proposal_is_kept(store: MemoryStore) -> None:
    noise, more = store_old(store, NOISE), store_old(store, f"{NOISE} And the footer.")
    proposal = propose(store)
    store.edit(noise, verified=True)
    assert apply(store, proposal) == (more,)
    assert store.get(noise).status is Status.ACTIVE


def test_one_undo_takes_back_a_whole_run(store: MemoryStore) -> None:
    ids = [store_old(store, f"{NOISE} Number {number}.") for number in range(3)]
    apply(store, propose(store))
    assert {store.get(id_).status for id_ in ids} == {Status.ARCHIVED}
    store.undo()
    assert {store.get(id_).status for id_ in ids} == {Status.ACTIVE}


def test_undo_of_the_run_leaves_other_changes_alone(store: MemoryStore) -> None:
    first, second, waiting = (
        store_old(store, NOISE),
        store_old(store, f"{NOISE} Two."),
        store_old(store, f"{NOISE} Three.", status="candidate"),
    )
    mine = store_old(store, f"{NOISE} Four.")
    store.archive(mine, reason="not needed")
    apply(store, propose(store))
    store.restore(second)
    store.remember("Something else.")
    assert set(undo_run(store)) == {first, waiting}
    states = [store.get(id_).status for id_ in (first, second, waiting, mine)]
    assert states == [Status.ACTIVE, Status.ACTIVE, Status.CANDIDATE, Status.ARCHIVED]
    assert undo_run(store) == ()


def test_restored_memory_is_kept_by_the_next_run(store: MemoryStore) -> None:
    noise = store_old(store, NOISE)
    apply(store, propose(store))
    store.restore(noise)
    assert archived(propose(store)) == []


def test_archived_memory_may_be_learned_again(store: MemoryStore) -> None:
    rule = store_old(store, RUFF, category="directive", metadata={"rule": "because", "evidence": NOISE})
    apply(store, propose(store))
    assert store.get(rule).status is Status.ARCHIVED
    assert learn(store, user(RUFF), agent("Fine.")).active


def test_interrupted_run_changes_nothing(store: MemoryStore) -> None:
    ids = [
        store_old(store, f"{NOISE} {number}.", source={"tool": "opencode", "session": f"ses_{number}"})
        for number in range(3)
    ]

    def interrupt(done: int, _total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        propose(store, progress=interrupt)
    assert {store.get(id_).status for id_ in ids} == {Status.ACTIVE}
    assert take_offer(store) == OFFER


# The offer


def test_relearning_is_offered_once(store: MemoryStore) -> None:
    store_old(store, NOISE)
    assert [take_offer(store), take_offer(store)] == [OFFER, None]


def test_relearning_is_not_offered_after_it_was_done(store: MemoryStore) -> None:
    store_old(store, RULE, category="directive")
    apply(store, propose(store))
    assert take_offer(store) is None


def test_relearning_is_not_offered_to_a_new_store(tmp_path: Path) -> None:
    with open_store(tmp_path / "new", project="app") as store:
        learn(store, user(RUFF), agent("Fine."))
        assert take_offer(store) is None
