"""The memories that a model sees in full, in the messages of a session that are still visible."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from opencode_memory.context.block import escape
from opencode_memory.context.reasons import NOT_IN_FULL
from opencode_memory.models import Memory
from opencode_memory.store.ledger import Decision, State

IN_COMMAND: Final = "in_command"
"""Key in ``Decision.about`` of the memories that a slash command shows in its message: by id, the version of each."""
_COMPARED: Final = 200
"""Characters of a memory that are looked for in a block, which may cut it behind them."""


@dataclass(frozen=True, slots=True)
class InSight:
    """Memories that a model sees in full. A memory whose text was edited since is not among them.

    Attributes:
        blocks: By the id of a memory the version of its text, and the newest block that shows it; empty if the answer
            of a slash command shows it.
    """

    blocks: Mapping[str, tuple[int, str]] = field(default_factory=dict)

    def __contains__(self, memory: object) -> bool:
        if not isinstance(memory, Memory) or memory.id not in self.blocks:
            return False
        key, block = self.blocks[memory.id]
        # Other tags make a new version, too, and are no reason to show the text again.
        return key == memory.key or _flatten(escape(memory.content))[:_COMPARED] in _flatten(block)


def find_in_sight(visible: Iterable[Decision], in_command: Mapping[str, int]) -> InSight:
    """Return the memories that the model sees in full: in blocks, and in answers of slash commands.

    Args:
        visible: The decisions on the messages that the model sees, oldest first.
        in_command: The memories in the message at hand, as in ``IN_COMMAND``.
    """
    blocks: dict[str, tuple[int, str]] = {}
    for decision in visible:
        # A command's answer is part of its message, also if the message got no block, or got it too late.
        blocks |= {id_: (key, "") for id_, key in decision.about.get(IN_COMMAND, {}).items()}
        # An offered text that was never confirmed did not arrive, or its process is gone. It is not replayed either.
        if decision.state is State.SHOWN:
            shown_in_full = (shown for shown in decision.shown if shown.why not in NOT_IN_FULL)
            blocks |= {shown.memory: (shown.key, decision.text) for shown in shown_in_full}
    return InSight(blocks | {id_: (key, "") for id_, key in in_command.items()})


def _flatten(text: str) -> str:
    return " ".join(text.split())
