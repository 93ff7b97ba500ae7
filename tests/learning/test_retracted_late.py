"""Statements that the user retracts after they were stored, because the session was idle or was compacted."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from opencode_memory import MemoryStore
from opencode_memory.learning.extraction.events import Compaction, Event, UndoneMessages
from opencode_memory.learning.learner import Learner
from opencode_memory.learning.undone import note_undone
from support.learning import LEDGER, OTHER, RUFF, SHOP, agent, learn, list_learned, messages, process, user

SCRATCH = user("scratch that")
SQLITE = "We decided to use SQLite for the ledger."
NOW = "We switched from SQLite to PostgreSQL for the ledger."


def say(store: MemoryStore, *events: Event, of: str, is_idle: bool = True) -> None:
    process(store, SHOP, messages(*events, of=of), is_idle=is_idle)


def test_next_message_retracts_what_was_stored(store: MemoryStore) -> None:
    say(store, user(LEDGER), agent("Fine."), of="1")
    assert list_learned(store) == [LEDGER]
    say(store, SCRATCH, of="2", is_idle=False)
    assert list_learned(store) == []


@pytest.mark.parametrize("text", ["Never mind.", "Ignore my last message.", "wrong chat, sorry", "Forget what I said."])
def test_other_remarks_about_the_own_words_retract_what_was_stored(store: MemoryStore, text: str) -> None:
    say(store, user(LEDGER), agent("Fine."), of="1")
    say(store, user(text), of="2", is_idle=False)
    assert list_learned(store) == []


@pytest.mark.parametrize(
    "text",
    [
        "Oh wait, the tests also need Docker.",
        "never mind, I found it",
        "Not really, the button is still missing.",
        "Hmm, no, it is still red.",
        "Let me think about that.",
    ],
)
def test_remark_about_the_work_retracts_only_what_is_not_stored(store: MemoryStore, text: str) -> None:
    say(store, user(LEDGER), agent("Fine."), of="1")
    say(store, user(text), of="2", is_idle=False)
    assert list_learned(store) == [LEDGER]
    process(store, OTHER, messages(user(RUFF), agent("Fine."), user(text), of="3"))
    assert list_learned(store) == [LEDGER]


def test_memory_that_the_retracted_one_replaced_is_active_again(store: MemoryStore) -> None:
    learn(store, user(SQLITE), of="ses_before")
    say(store, user(NOW), of="1")
    assert list_learned(store) == [NOW]
    say(store, SCRATCH, of="2", is_idle=False)
    assert list_learned(store) == [SQLITE]


def test_only_the_named_statement_is_retracted(store: MemoryStore) -> None:
    say(store, user(f"{RUFF} {LEDGER}"), of="1")
    kept = [text for text in list_learned(store) if "ruff" in text]
    say(store, user("Forget what I said about PostgreSQL."), of="2", is_idle=False)
    assert list_learned(store) == kept


def test_message_after_the_next_one_retracts_nothing(store: MemoryStore) -> None:
    say(store, user(LEDGER), of="1")
    say(store, user("Go on, please."), SCRATCH, of="2")
    assert list_learned(store) == [LEDGER]


def test_another_session_retracts_nothing(store: MemoryStore) -> None:
    say(store, user(LEDGER), of="1")
    process(store, OTHER, messages(SCRATCH, of="2"))
    assert list_learned(store) == [LEDGER]


def test_message_that_was_not_read_may_be_what_is_retracted(store: MemoryStore) -> None:
    say(store, user(LEDGER), of="1")
    Learner(store).skip(SHOP, messages(user("The customer is called Acme."), agent("Noted."), of="2"))
    say(store, SCRATCH, of="3")
    assert list_learned(store) == [LEDGER]


def confirm(store: MemoryStore, id: str) -> None:
    store.pin(id)


def edit(store: MemoryStore, id: str) -> None:
    store.edit(id, content="We use PostgreSQL 16 for the ledger.")


def repeat(store: MemoryStore, id: str) -> None:
    assert id in learn(store, user(LEDGER), of="ses_other").active


@pytest.mark.parametrize("change", [confirm, edit, repeat])
def test_memory_that_was_changed_since_stays(store: MemoryStore, change: Callable[[MemoryStore, str], None]) -> None:
    say(store, user(LEDGER), of="1")
    [memory] = store.list(project="app", category="decision")
    change(store, memory.id)
    say(store, SCRATCH, of="2", is_idle=False)
    assert [one.id for one in store.list(project="app", category="decision")] == [memory.id]


def test_retracted_statement_may_be_said_again(store: MemoryStore) -> None:
    say(store, user(LEDGER), of="1")
    say(store, SCRATCH, user(LEDGER), of="2")
    assert list_learned(store) == [LEDGER]


def test_statement_is_stored_again_if_the_retraction_is_removed(store: MemoryStore) -> None:
    say(store, user(LEDGER), of="1")
    say(store, SCRATCH, of="2", is_idle=False)
    note_undone(store, SHOP.id, UndoneMessages(since="msg_2_0000"), project="app")
    note_undone(store, SHOP.id, UndoneMessages(removed=("msg_2_0000",)), project="app")
    say(store, user("Go on, please."), of="3")
    assert list_learned(store) == [LEDGER]


@pytest.mark.parametrize("is_one_batch", [True, False], ids=["one batch", "two batches"])
def test_statement_before_a_compaction_is_retracted(store: MemoryStore, is_one_batch: bool) -> None:
    told = messages(user(LEDGER), Compaction(summary="Done."), SCRATCH)
    for batch in [told] if is_one_batch else [told[:2], told[2:]]:
        process(store, SHOP, batch, is_idle=False)
    assert list_learned(store) == []


def test_retracted_statement_no_longer_counts_as_seen(store: MemoryStore) -> None:
    weak = user("The nightly job copies the ledger to the archive.")
    say(store, weak, of="1")
    say(store, SCRATCH, of="2")
    for session in ("ses_b", "ses_c"):
        learn(store, weak, of=session)
    assert list_learned(store) == []


def test_purge_erases_a_statement_that_may_be_retracted(store: MemoryStore) -> None:
    say(store, user(LEDGER), of="1")
    assert "PostgreSQL" in store.learning.open(SHOP.id)[1]
    [memory] = store.list(project="app", category="decision")
    store.purge(memory.id)
    assert "PostgreSQL" not in store.learning.open(SHOP.id)[1]
