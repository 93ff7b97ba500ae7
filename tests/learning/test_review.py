"""Review of a candidate whose topic is taken: both memories stay, and the review continues."""

from __future__ import annotations

from opencode_memory import MemoryStore
from opencode_memory.learning.review import accept, list_waiting

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
