"""Instructions: memories that tell an agent what to do wait for the user, unless the words are the user's."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from opencode_memory.models import Category, Status, Trust

_INSTRUCTIONS: Final = frozenset({Category.DIRECTIVE, Category.PROCEDURE})
_OWN_PAST: Final = frozenset({Trust.AGENT, Trust.EXTRACTED})


def withhold(memory: dict[str, Any]) -> dict[str, Any]:
    """Return a new memory, converted for the engine, as a candidate if it is an instruction without the user's trust.

    A command that was observed to succeed in a session is a record, not an instruction. A memory with an id comes from
    an export of this store if it keeps the trust of an agent or of learning; then it stays as it was.
    """
    # The engine parses these names without regard to case and spaces.
    category, status, trust = (str(memory[name]).strip().lower() for name in ("category", "status", "trust"))
    if category not in _INSTRUCTIONS or status != Status.ACTIVE or trust == Trust.USER:
        return memory
    is_observed = trust == Trust.EXTRACTED and category == Category.PROCEDURE and _is_observed(memory["metadata"])
    if is_observed or (memory["id"] is not None and trust in _OWN_PAST):
        return memory
    return {**memory, "status": Status.CANDIDATE.value}


def _is_observed(metadata: object) -> bool:
    members = json.loads(metadata) if isinstance(metadata, str) else metadata
    return isinstance(members, Mapping) and members.get("observed") is True
