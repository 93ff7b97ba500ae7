"""Reads the text of a message that is searched: the words that the user typed, or the answer of the agent.

Tool calls and their output, reasoning and summaries of compactions are left out, and so is everything that this or
another memory put into the message. Private sections are removed when a message is read.
"""

from __future__ import annotations

from typing import Final

from opencode_memory._core import redact
from opencode_memory.learning.extraction.authored_text import strip_injected
from opencode_memory.learning.extraction.events import AssistantText, Feedback, Message, UserText

USER: Final = "user"
ASSISTANT: Final = "assistant"


def read_turn(message: Message) -> tuple[str, str] | None:
    """Return the speaker of a message and what was said, with secrets redacted; None if nothing was said."""
    said = [event for event in message.events if isinstance(event, UserText | Feedback | AssistantText)]
    is_user = any(isinstance(event, UserText) for event in said)
    # A refusal with a reason stands in a message of the agent. It is the user's word, but not the message's.
    wanted = [event.text for event in said if isinstance(event, UserText if is_user else AssistantText)]
    text = redact("\n\n".join(filter(None, (strip_injected(text).strip() for text in wanted))))[0]
    return ((USER if is_user else ASSISTANT), text) if text.strip() else None
