"""Replacement of older statements on the same subject: when written, by whom, its undo, and the order of a recall."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from opencode_memory import MemoryStore, Status
from opencode_memory.store.learning_state import SubjectRelation
from support import processes
from support.stores import DAY_MS, NOW_MS, recalled, set_clock, texts

OpenStore = Callable[..., MemoryStore]
OLD, NEW = "Use npm to install packages.", "Use pnpm instead of npm."
FACT, OTHER = "The API supports paging.", "The API does not support paging."


@pytest.fixture
def store(open_store: OpenStore) -> MemoryStore:
    """A store without an embedder, so that words must suffice."""
    return open_store(project="app")


def test_remember_replaces_the_older_statement_and_says_so(store: MemoryStore) -> None:
    old = store.remember(OLD)
    new = store.remember(NEW)
    assert new.replaced == (old.id,)
    before = store.get(old.id)
    assert (before.status, before.superseded_by) == (Status.SUPERSEDED, new.id)
    assert [entry.kind for entry in store.history(old.id)] == ["create", "supersede"]
    assert texts(store.list()) == [NEW]
    assert recalled(store, "use pnpm or npm") == [NEW]


@pytest.mark.parametrize("by_id", [True, False])
def test_undo_of_the_newer_statement_brings_the_older_back(store: MemoryStore, by_id: bool) -> None:
    old, new = store.remember(OLD), store.remember(NEW)
    store.undo(new.id if by_id else None)
    assert texts(store.list()) == [OLD]
    assert store.get(old.id).superseded_by is None


def test_undo_of_the_older_statement_keeps_both(store: MemoryStore) -> None:
    old, _ = store.remember(OLD), store.remember(NEW)
    store.undo(old.id)
    assert sorted(texts(store.list())) == sorted([OLD, NEW])


def test_change_back_and_forth_leaves_the_last_word(store: MemoryStore) -> None:
    for content in ("The API listens on port 8080.", "The API listens on port 9000.", "The API listens on port 8080."):
        store.remember(content)
    assert texts(store.list()) == ["The API listens on port 8080."]


@pytest.mark.parametrize(("first", "second"), [("user", "agent"), ("agent", "extracted"), ("extracted", "tool")])
def test_lower_trust_only_contradicts(store: MemoryStore, first: str, second: str) -> None:
    old = store.remember(OLD, trust=first)
    new = store.remember(NEW, trust=second)
    assert new.replaced == ()
    assert store.get(old.id).status is Status.ACTIVE
    assert [(link.source, link.target) for link in store.links(["contradicts"])] == [(new.id, old.id)]


@pytest.mark.parametrize("protection", [{"pinned": True}, {"topic": "package manager"}])
@pytest.mark.parametrize(("trust", "status"), [("agent", Status.ACTIVE), ("user", Status.SUPERSEDED)])
def test_only_the_user_replaces_a_protected_memory(
    store: MemoryStore, protection: dict[str, Any], trust: str, status: Status
) -> None:
    old = store.remember(OLD, trust="agent", **protection)
    store.remember(NEW, trust=trust)
    assert store.get(old.id).status is status


def test_statement_for_a_while_does_not_replace_a_lasting_one(store: MemoryStore) -> None:
    old = store.remember(OLD)
    store.remember(NEW, expires_at=datetime.fromtimestamp((NOW_MS + DAY_MS) / 1000, UTC))
    assert store.get(old.id).status is Status.ACTIVE


def test_other_project_is_not_touched(store: MemoryStore) -> None:
    other = store.remember(OLD, project="shop")
    assert store.remember(NEW).replaced == ()
    assert store.get(other.id).status is Status.ACTIVE


def test_project_statement_contradicts_a_global_one_without_replacing_it(store: MemoryStore) -> None:
    everywhere = store.remember(OLD, scope="global")
    new = store.remember(NEW)
    assert store.get(everywhere.id).status is Status.ACTIVE
    assert [(link.source, link.target) for link in store.links(["contradicts"])] == [(new.id, everywhere.id)]


def test_conversation_turn_replaces_nothing(store: MemoryStore) -> None:
    old = store.remember(OLD)
    store.remember(NEW, category="conversation", session="s", position=1)
    assert store.get(old.id).status is Status.ACTIVE


def test_candidate_replaces_when_it_is_accepted(store: MemoryStore) -> None:
    old = store.remember(OLD, trust="agent")
    waiting = store.remember(NEW, trust="extracted", status="candidate")
    assert store.get(old.id).status is Status.ACTIVE
    store.restore(waiting.id)
    assert store.get(old.id).status is Status.SUPERSEDED


def test_edit_replaces_another_statement(store: MemoryStore) -> None:
    old = store.remember("The API listens on port 8080.")
    other = store.remember("The metrics server listens on port 7000.")
    store.edit(other.id, content="The API listens on port 7000.")
    assert texts(store.list()) == ["The API listens on port 7000."]
    store.undo(other.id)
    assert store.get(old.id).status is Status.ACTIVE


def test_later_statement_of_one_batch_replaces_the_earlier(store: MemoryStore) -> None:
    old, new = store.remember_many([{"content": OLD}, {"content": NEW}])
    assert (new.replaced, store.get(old.id).superseded_by) == ((old.id,), new.id)


def test_old_session_read_later_does_not_replace_a_newer_word(store: MemoryStore) -> None:
    current = store.remember(NEW)
    learned = store.remember(
        "Use npm, not pnpm.",
        time=datetime.fromtimestamp((NOW_MS - 30 * DAY_MS) / 1000, UTC),
        source={"tool": "opencode", "session": "s", "message": "m"},
    )
    assert store.get(current.id).status is Status.ACTIVE
    assert store.get(learned.id).superseded_by == current.id


def test_memory_of_another_process_is_found_at_once(open_store: OpenStore, tmp_path: Path) -> None:
    store = open_store(tmp_path / "shared", project="app")
    store.count()
    code = """
    import sys, opencode_memory
    with opencode_memory.open(sys.argv[1], project="app") as store:
        print(store.remember(sys.argv[2]).id)
    """
    done = processes.run(code, tmp_path / "shared", OLD)
    assert done.returncode == 0, done.stderr
    assert store.remember(NEW).replaced == (done.stdout.strip(),)


def test_find_same_subject_changes_nothing_and_explains(store: MemoryStore) -> None:
    old = store.remember(OLD)
    found = store.learning.find_same_subject(NEW, "app")
    assert found is not None
    assert (found.id, found.relation, found.content) == (old.id, SubjectRelation.REPLACES, OLD)
    assert found.reason
    assert store.get(old.id).status is Status.ACTIVE
    assert store.learning.find_same_subject(NEW, "shop") is None
    assert store.learning.find_same_subject("Write the tests first.", "app") is None


def test_recall_places_the_later_of_a_contradiction_first(store: MemoryStore) -> None:
    set_clock(store, NOW_MS - DAY_MS)
    store.remember(OTHER)
    set_clock(store, NOW_MS)
    store.remember(FACT)
    # The words of the earlier one match better.
    found = recalled(store, "API does not support paging")
    assert found == [FACT, OTHER]


def test_recall_fetches_the_later_one_and_keeps_the_limit(store: MemoryStore) -> None:
    older = store.remember("Bills are sent by Nora every month.")
    newer = store.remember("Invoicing moved to the finance department.")
    store.link(newer.id, older.id, "contradicts", "another owner")
    hits = store.recall("who sends bills every month", limit=1, explain=True)
    assert [hit.memory.id for hit in hits] == [newer.id]
    hits = store.recall("who sends bills every month", limit=5, explain=True)
    assert [hit.memory.id for hit in hits] == [newer.id, older.id]
    assert [hit.rank for hit in hits] == [1, 2]
    for hit in hits:
        assert hit.explanation is not None
        assert sum(signal.contribution for signal in hit.explanation.signals) == pytest.approx(hit.score)
    store.archive(newer.id)
    assert recalled(store, "who sends bills every month") == ["Bills are sent by Nora every month."]


def test_the_limits_of_a_clause_protect_the_general_statement(store: MemoryStore) -> None:
    old = store.remember("Use npm.")
    store.remember("Use yarn in the docs folder, only there.")
    assert store.get(old.id).status is Status.ACTIVE
