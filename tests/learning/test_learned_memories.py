"""Tests of the predicate that recognises learned memories."""

from __future__ import annotations

import pytest

from opencode_memory import MemoryStore

QUOTED = {"rule": "always", "evidence": "Always use tabs."}


@pytest.mark.parametrize(
    ("trust", "metadata", "is_learned"),
    [
        ("extracted", {}, True),
        ("user", QUOTED, True),
        ("user", {}, False),
        ("user", {"rule": "always"}, False),
        ("agent", {"evidence": "Always use tabs."}, False),
    ],
)
def test_memory_with_rule_and_quote_is_learned(
    store: MemoryStore, trust: str, metadata: dict[str, str], is_learned: bool
) -> None:
    result = store.remember("Use tabs, not spaces.", category="convention", trust=trust, metadata=metadata)
    assert store.get(result.id).is_learned is is_learned
