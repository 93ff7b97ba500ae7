"""The memories that a model sees in full, in the blocks of a session that are still visible."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from opencode_memory.context.block import escape
from opencode_memory.context.reasons import NOT_IN_FULL
from opencode_memory.models import Memory
from opencode_memory.store.ledger import Decision

_COMPARED: Final = 200
"""Characters of a memory that are looked for in a block, which may cut it behind them."""


@dataclass(frozen=True, slots=True)
class InSight:
    """Memories that a model sees in full. A memory whose text was edited since is not among them.

    Attributes:
        blocks: By the id of a memory the version of its text, and the newest block that shows it.
    """

    blocks: Mapping[str, tuple[int, str]] = field(default_factory=dict)

    def __contains__(self, memory: object) -> bool:
        if not isinstance(memory, Memory) or memory.id not in self.blocks:
            return False
        key, block = self.blocks[memory.id]
        # Other tags make a new version, too, and are no reason to show the text again.
        return key == memory.key or _flatten(escape(memory.content))[:_COMPARED] in _flatten(block)


def find_in_sight(seen: Iterable[Decision]) -> InSight:
    """Return the memories that these blocks show in full.

    Args:
        seen: The decisions whose blocks the model sees, oldest first.
    """
    return InSight(
        {
            shown.memory: (shown.key, decision.text)
            for decision in seen
            for shown in decision.shown
            if shown.why not in NOT_IN_FULL
        }
    )


def _flatten(text: str) -> str:
    return " ".join(text.split())
