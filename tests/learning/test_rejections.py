"""Tests of rejections: a statement that a person deleted, archived or rejected is not learned again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from opencode_memory import BusyError, MemoryStore, NotFoundError, StorageError
from opencode_memory.learning.extraction.candidate import Candidate
from opencode_memory.learning.rejections import (
    are_sections_rejected,
    is_rejected,
    record_rejection,
    rejecting,
    undo,
)
from opencode_memory.learning.review import reject
from opencode_memory.models import INGEST, Category
from support.learning import LEDGER, RUFF, learn, list_learned, user
from support.stores import open_store

EVERY = ["active", "candidate", "superseded", "archived"]


def propose(content: str, evidence: str = "", category: Category = Category.CONVENTION) -> Candidate:
    return Candidate(
        category=category, content=content, confidence=0.9, rule="test", evidence=evidence or content, is_persons=True
    )


def delete(store: MemoryStore, id: str) -> None:
    with rejecting(store, [id]):
        store.delete(id)


def archive(store: MemoryStore, id: str) -> None:
    with rejecting(store, [id]):
        store.archive(id)


def purge(store: MemoryStore, id: str) -> None:
    with rejecting(store, [id]):
        store.purge(id)


def reject_in_review(store: MemoryStore, id: str) -> None:
    reject(store, store.get(id))


def test_statement_of_a_note_that_was_learned_too_is_rejected_as_both(store: MemoryStore) -> None:
    (id_,) = learn(store, user(RUFF)).active[:1]
    store.edit(id_, topic="file:a.md#", metadata={**store.get(id_).metadata, INGEST: {"fingerprint": "f"}})
    delete(store, id_)
    assert is_rejected(store, propose(RUFF), "app")
    assert are_sections_rejected(store, [("file:a.md#", "f"), ("file:a.md#", "g")], "app") == [True, False]


@pytest.mark.parametrize("away", [delete, archive, purge, reject_in_review])
@pytest.mark.parametrize(
    "again",
    [
        RUFF,
        "From now on please always run ruff before you commit!",
        "from now on, always run `ruff` before committing",
        "From now on always run ruff before each commit.",
    ],
)
def test_statement_put_away_is_not_learned_again(
    store: MemoryStore, away: Callable[[MemoryStore, str], None], again: str
) -> None:
    (id_,) = learn(store, user(RUFF)).active[:1]
    away(store, id_)

    learn(store, user(again), of="ses_b")

    assert [text for text in list_learned(store, status=["active", "candidate"]) if "ruff" in text] == []


@pytest.mark.parametrize("away", [delete, archive])
def test_statement_is_learned_again_after_undo(store: MemoryStore, away: Callable[[MemoryStore, str], None]) -> None:
    (id_,) = learn(store, user(RUFF)).active[:1]
    away(store, id_)
    assert is_rejected(store, propose(RUFF), "app")

    undo(store, id_)

    assert not is_rejected(store, propose(RUFF), "app")


@pytest.mark.parametrize("change", ["archive", "delete", "purge"])
def test_failed_change_leaves_no_rejection(store: MemoryStore, change: str) -> None:
    (id_,) = learn(store, user(RUFF)).active[:1]
    for _ in range(2):
        with pytest.raises(NotFoundError), rejecting(store, [id_, "unknown"]):
            getattr(store, change)([id_, "unknown"])
        assert not is_rejected(store, propose(RUFF), "app")
    delete(store, id_)
    assert is_rejected(store, propose(RUFF), "app")
    undo(store, id_)
    assert not is_rejected(store, propose(RUFF), "app")


def test_failure_after_the_change_keeps_the_rejection(store: MemoryStore) -> None:
    (first, second) = learn(store, user(RUFF), user(LEDGER)).active[:2]

    def fail_halfway() -> NoReturn:
        store.delete(first)
        raise StorageError("the disk is full")

    with pytest.raises(StorageError), rejecting(store, [first, second]):
        fail_halfway()
    assert is_rejected(store, propose(RUFF), "app")
    assert not is_rejected(store, propose(LEDGER), "app")


def test_rejection_that_cannot_be_withdrawn_does_not_hide_the_failure(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    (id_,) = learn(store, user(RUFF)).active[:1]

    def refuse(*_: object) -> NoReturn:
        raise BusyError("the store is held")

    def fail() -> NoReturn:
        monkeypatch.setattr(store.learning, "write", refuse)
        raise StorageError("the disk is full") from OSError("no space left")

    with pytest.raises(StorageError) as failure, rejecting(store, [id_]):
        fail()
    assert str(failure.value.__cause__) == "no space left"
    assert failure.value.__notes__ == ["a rejection stays, because it could not be withdrawn: the store is held"]


def test_undo_leaves_the_rejection_of_a_later_wording(store: MemoryStore) -> None:
    (id_,) = learn(store, user(RUFF)).active[:1]
    archive(store, id_)
    delete(store, id_)

    undo(store, id_)

    assert is_rejected(store, propose(RUFF), "app")


def test_undo_of_what_rules_archived_withdraws_no_rejection(store: MemoryStore) -> None:
    (id_,) = learn(store, user(RUFF)).active[:1]
    record_rejection(store, store.get(id_))
    with open_store(store.data_dir, actor="extracted") as rules:
        rules.archive(id_)

    undo(store, id_)

    assert is_rejected(store, propose(RUFF), "app")


def test_statement_put_away_in_one_project_is_learned_in_another(store: MemoryStore) -> None:
    (id_,) = learn(store, user(RUFF)).active[:1]
    delete(store, id_)
    learn(store, user(RUFF), of="ses_b", project="else")
    assert RUFF in list_learned(store, project="else")


def test_global_statement_put_away_is_not_learned_in_any_project(store: MemoryStore) -> None:
    said = store.remember(
        RUFF, category="directive", scope="global", metadata={"rule": "standing order", "evidence": RUFF}
    )
    delete(store, said.id)
    assert is_rejected(store, propose(RUFF), "app")
    assert is_rejected(store, propose(RUFF), None)


@pytest.mark.parametrize(
    ("deleted", "later"),
    [
        ("Use npm for packages.", "Use pnpm for packages."),
        ("Use npm for packages.", "Do not use npm for packages."),
        ("Never push to main.", "Push to main."),
        ("The API listens on port 4000.", "The API listens on port 5000."),
        (RUFF, LEDGER),
        ("Use tabs.", "Use tabs in Go files."),
    ],
)
def test_other_statement_is_still_learned(store: MemoryStore, deleted: str, later: str) -> None:
    said = store.remember(deleted, category="convention", metadata={"rule": "test", "evidence": deleted})
    delete(store, said.id)
    assert is_rejected(store, propose(deleted), "app")
    assert not is_rejected(store, propose(later), "app")


def test_reworded_statement_from_the_same_sentence_is_not_learned_again(store: MemoryStore) -> None:
    said = store.remember(
        "Packages are installed with pnpm, not npm.",
        category="preference",
        metadata={"rule": "digest", "evidence": "no, pnpm for all packages of us please"},
    )
    delete(store, said.id)
    again = propose("In this project pnpm replaces npm.", "No: pnpm for all packages of us please.")
    assert is_rejected(store, again, "app")


def test_memory_that_was_not_learned_leaves_no_rejection(store: MemoryStore) -> None:
    said = store.remember(RUFF, category="directive")
    record_rejection(store, store.get(said.id))
    assert not is_rejected(store, propose(RUFF), "app")


def test_rejection_keeps_no_text(store: MemoryStore, data_dir: Path) -> None:
    said = store.remember(
        "The walrus listens quietly.", category="fact", metadata={"rule": "test", "evidence": "The walrus listens."}
    )
    purge(store, said.id)
    store.close()
    content = b"".join(file.read_bytes() for file in data_dir.rglob("*") if file.is_file())
    assert b"walrus" not in content
