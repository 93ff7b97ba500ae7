"""Transcript of a session as it is sent: what the user typed, and the agent's answer before each message.

Tool calls, reasoning and files are left out. Private sections, injected memories, secrets and e-mail addresses are
removed before texts are cut, because a cut secret is not recognised.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from opencode_memory._core import redact
from opencode_memory.learning.extraction.events import AssistantText, Feedback, Message, SessionInfo, UserText
from opencode_memory.text.emails import mask_emails
from opencode_memory.text.pasted import MEMORY_TAG, SYSTEM_TAG, strip_private
from opencode_memory.text.unicode import replace_surrogates

MOST_OF_MESSAGE: Final = 1_200
"""Characters of a message of the user that are sent."""
MOST_OF_ANSWER: Final = 700
"""Characters of an answer of the agent that are sent."""
MOST_OF_ALL: Final = 24_000
"""Characters of the messages and answers of one request; the rest of a long session follows in the next request."""
GAP: Final = " … "
_HEAD_OF_MESSAGE: Final = 900
_HEAD_OF_ANSWER: Final = 250
_LONG_BLOCK: Final = 240
_INJECTED: Final = re.compile(
    rf"<\s*((?:project|user|global|opencode)?[-_ ]?(?:{MEMORY_TAG})(?:[-_]\w+)*|{SYSTEM_TAG})\b[^>]*>"
    r".*?(?:<\s*/\s*\1\s*>|\Z)",
    re.IGNORECASE | re.DOTALL,
)
_FENCE: Final = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n]*\n.*?(?:^[ \t]*\1[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_COMMENT: Final = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_BLANKS: Final = re.compile(r"[ \t]+")
_EMPTY_LINES: Final = re.compile(r"\n\s*\n+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One message of the user.

    Attributes:
        message: Its id.
        digest: Its hash; equal for copies in forked sessions.
        at_ms: Time of creation, in UTC milliseconds.
        person: What is sent of it, 1 to ``MOST_OF_MESSAGE`` characters.
        typed: The whole message, without private sections, injected memories, secrets and e-mail addresses.
        answer: What is sent of the agent's last answer before it; empty if there is none.
    """

    message: str
    digest: str
    at_ms: int
    person: str
    typed: str
    answer: str

    @property
    def size(self) -> int:
        """Number of characters that are sent."""
        return len(self.person) + len(self.answer)


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """Messages of a session.

    Attributes:
        turns: Messages of the user, in order.
        closing: What is sent of the agent's last answer after them; empty if there is none.
        left: Number of later messages that did not fit.
    """

    turns: tuple[Turn, ...]
    closing: str
    left: int = 0

    @property
    def text(self) -> str:
        """All that is sent of it."""
        return "\n".join([*(part for turn in self.turns for part in (turn.answer, turn.person)), self.closing])


class TranscriptSource(Protocol):
    """Reads sessions of a host."""

    def read_session(self, session: str) -> tuple[SessionInfo, Sequence[Message], int] | None:
        """Return a session, its complete messages in order, and the time of its last activity in UTC milliseconds.

        None if the session does not exist.
        """
        ...


def build_transcript(messages: Sequence[Message]) -> Transcript:
    """Build the transcript of messages. Messages of the user without own text are left out."""
    turns: list[Turn] = []
    answer = ""
    for message in messages:
        typed = "\n".join(_clean(text) for text in _iterate_typed(message)).strip()
        if typed:
            turns.append(
                Turn(
                    message=message.id,
                    digest=message.digest,
                    at_ms=message.at_ms,
                    person=_cut_middle(_FENCE.sub(_shorten_block, typed), MOST_OF_MESSAGE, _HEAD_OF_MESSAGE),
                    typed=typed,
                    answer=answer,
                )
            )
            answer = ""
        for event in message.events:
            if isinstance(event, AssistantText) and (said := _clean(event.text)):
                answer = _cut_middle(_FENCE.sub(_shorten_block, said), MOST_OF_ANSWER, _HEAD_OF_ANSWER)
    return Transcript(turns=tuple(turns), closing=answer)


def fit(transcript: Transcript, most: int = MOST_OF_ALL) -> Transcript:
    """Return the first turns of a transcript that fit into a number of characters, at least one."""
    size, count = 0, 0
    for turn in transcript.turns:
        size += turn.size
        if count and size > most:
            break
        count += 1
    if count == len(transcript.turns):
        return transcript
    turns, left = transcript.turns[:count], len(transcript.turns) - count
    return Transcript(turns=turns, closing=transcript.turns[count].answer, left=left)


def clean_text(text: str) -> str:
    """Redact secrets and mask e-mail addresses."""
    return mask_emails(redact(replace_surrogates(text))[0])


def _iterate_typed(message: Message) -> Iterator[str]:
    for event in message.events:
        if isinstance(event, UserText | Feedback):
            yield event.text


def _clean(text: str) -> str:
    # Nobody types a comment of HTML; in pasted text it hides instructions from the user.
    own = _COMMENT.sub(" ", _INJECTED.sub("\n", strip_private(text)))
    return _EMPTY_LINES.sub("\n", _BLANKS.sub(" ", clean_text(own))).strip()


def _shorten_block(block: re.Match[str]) -> str:
    """Replace a long block of code by its size; what it says is rarely the user's statement."""
    return block[0] if len(block[0]) <= _LONG_BLOCK else f"[{len(block[0])} characters of code or output]\n"


def _cut_middle(text: str, most: int, head: int) -> str:
    """Cut the middle of a text. Requests stand at the beginning or the end, questions of the agent at the end."""
    text = text.strip()
    if len(text) <= most:
        return text
    return f"{text[:head].rstrip()}{GAP}{text[-(most - head - len(GAP)) :].lstrip()}"
