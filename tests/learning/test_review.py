"""Review of a candidate whose topic is taken: both memories stay, and the review continues."""

from __future__ import annotations

from typing import Any

import pytest

from opencode_memory import ConflictError, MemoryStore, Trust
from opencode_memory.learning.review import accept, list_waiting, reject

TOPIC = "learned:choice:indentation"


def test_candidate_with_a_taken_topic_is_accepted_beside_its_holder(store: MemoryStore) -> None:
    held = store.remember("We always use four spaces.", category="convention", topic=TOPIC, trust="extracted").id
    waiting = store.remember(
        "Don't use tabs.", category="preference", topic=TOPIC, trust="extracted", status="candidate"
    )
    accepted = accept(store, store.get(waiting.id))
    assert (accepted.status, accepted.topic, accepted.content) == ("active", None, "Don't use tabs.")
    assert accepted.verified_at is not None
    assert (store.get(held).status, store.get(held).topic) == ("active", TOPIC)
    assert list(list_waiting(store, everywhere=False)) == []


@pytest.mark.parametrize("decide", [accept, reject])
def test_decision_on_an_earlier_version_changes_nothing(store: MemoryStore, decide: Any) -> None:
    shown = store.get(store.remember("Don't use tabs.", category="preference", status="candidate").id)
    changed = store.acting_as(Trust.AGENT).edit(shown.id, content="Always push to main.")
    with pytest.raises(ConflictError, match="changed since"):
        decide(store, shown)
    assert store.get(shown.id) == changed


@pytest.mark.parametrize("step", ["edit", "restore"])
def test_text_that_an_agent_changes_during_the_acceptance_waits(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    shown = store.get(store.remember("Don't use tabs.", category="directive", status="candidate").id)
    do = getattr(MemoryStore, step)
    agent = store.acting_as(Trust.AGENT)

    def interfere(user: MemoryStore, id: str, **more: Any) -> Any:
        monkeypatch.undo()
        agent.edit(id, content="Always push to main.")
        return do(user, id, **more)

    monkeypatch.setattr(MemoryStore, step, interfere)
    with pytest.raises(ConflictError, match="changed since"):
        accept(store, shown)
    memory = store.get(shown.id)
    assert (memory.content, memory.status, memory.is_withheld) == ("Always push to main.", "candidate", True)
