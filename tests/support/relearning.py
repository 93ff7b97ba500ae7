"""Memories as earlier rules stored them."""

from __future__ import annotations

import uuid
from typing import Any

from opencode_memory import MemoryStore
from opencode_memory.models import NewMemory


def store_old(store: MemoryStore, text: str, *, evidence: str | None = None, **fields: Any) -> str:
    """Store a memory as the earlier rules did, and return its id.

    A given id marks it as a memory of this store's own past. Otherwise a directive would wait for review.
    """
    defaults: dict[str, Any] = {
        "id": str(uuid.uuid4()),
        "category": "fact",
        "trust": "extracted",
        "confidence": 0.8,
        "source": {"tool": "opencode", "session": "ses_old", "message": "msg_1"},
        "metadata": {"rule": "is particular", "evidence": evidence or text},
    }
    [result] = store.remember_many([NewMemory(content=text, **(defaults | fields))])
    return result.id
