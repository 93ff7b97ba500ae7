"""Names of messages and sessions that a digest covers, in the list of processed messages.

The learner writes them as well: what was said while learning was off is never digested, and its own summary of a
session does not replace the one of a digest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opencode_memory.learning.extraction.events import Message


def name_message(digest: str) -> str:
    """Return the name of a message that was digested, or must not be; ``digest`` is ``Message.digest``."""
    return f"digested:{digest}"


def name_messages(messages: Sequence[Message]) -> list[str]:
    """Return the names of several messages, each once."""
    return list(dict.fromkeys(name_message(message.digest) for message in messages))


def name_summary(session: str) -> str:
    """Return the name of a session whose summary comes from a digest."""
    return f"summarised:{session}"
