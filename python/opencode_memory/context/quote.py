"""Quotes what the user said in an earlier session, beside a first message for which no memory is relevant.

Only words that the user typed are quoted: an answer of an agent, and pasted text, may repeat a poisoned file. If an
agent's answer is nearest, the user's words before it are quoted. Words that only ask or order a task, or say what the
model sees anyway, are not quoted. Only the first message that the model sees gets a quotation, because within a project
most messages are near to an earlier one.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING, Final

from opencode_memory.context.block import Group, escape
from opencode_memory.context.loaded_text import LoadedText
from opencode_memory.context.relevance import is_echo, query_of, typed_of
from opencode_memory.models import SessionHit, Sources, Turn
from opencode_memory.text.clock import age
from opencode_memory.text.display import cut, one_line

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

SAID: Final = "The user said in an earlier session:"
LEAST_RELEVANCE: Final = 0.5
"""Below it, the nearest turn is too often about something else; docs/quality.md has the figures."""
_SEARCHED: Final = 10
_FOLLOWING: Final = 6
_PRECEDING: Final = 6
_TITLE: Final = 60
_BYTES: Final = 600
_ASKS: Final = re.compile(
    r"(?:what|where|when|which|who|whose|why|how)(?:['\u2019]?s)?\b.*\?\W*$", re.IGNORECASE | re.DOTALL
)
"""A question that only asks. "Could we round half up?" may be a decision."""
_LEAST_WORDS: Final = 3
"""Words of a sentence that says something: not "good morning"."""
_USER: Final = "user"


def find_quote(store: MemoryStore, text: str, *, session: str, project: str | None, known: LoadedText) -> Turn | None:
    """Return what the user said in another session about the subject of a message; None if nothing is near enough.

    Args:
        store: The store with the session index.
        text: The message.
        session: Its session.
        project: Its project.
        known: The statements that the model sees anyway.
    """
    query = query_of(text)
    if not query:
        return None
    for hit in store.search(query, sources=Sources.SESSIONS, limit=_SEARCHED, project=project):
        if not isinstance(hit, SessionHit) or hit.turn.session == session:
            continue
        is_near = (hit.relevance or 0.0) >= LEAST_RELEVANCE
        said: Turn | None = hit.turn
        if hit.turn.speaker != _USER:
            said = _find_request(store, hit.turn) if is_near else None
        elif not is_near:
            return None
        if said is None:
            continue
        if is_echo(query, typed_of(said.text)):
            # The same was asked before, so what the user said next tells how it went on.
            later = (turn for turn in _read_following(store, said) if not is_echo(query, typed_of(turn.text)))
            return next((turn for turn in later if _says_more(turn, known)), None)
        if _says_more(said, known):
            return said
    return None


def _says_more(turn: Turn, known: LoadedText) -> bool:
    """Return whether the user said more than a task, a question, a greeting, and what is known."""
    # Slow to import, and few messages need them.
    from opencode_memory.learning.extraction.clauses import is_only_task  # noqa: PLC0415
    from opencode_memory.learning.extraction.sentences import split_sentences  # noqa: PLC0415

    typed = typed_of(turn.text)
    # A sentence behind this length is cut off in the block.
    sentences = split_sentences(cut(typed, _BYTES)[0])
    told = (one.core for one in sentences if not _ASKS.match(one.core) and len(one.core.split()) >= _LEAST_WORDS)
    return not all(is_only_task(said) or known.says(said) for said in told)


def _find_request(store: MemoryStore, turn: Turn) -> Turn | None:
    """Return the last words of the user before an agent's turn, which answers them."""
    earlier = store.turns.around(turn, before=_PRECEDING, after=0)
    return next((spoken for spoken in reversed(earlier) if spoken.speaker == _USER and query_of(spoken.text)), None)


def _read_following(store: MemoryStore, turn: Turn) -> list[Turn]:
    later = store.turns.around(turn, before=0, after=_FOLLOWING)
    return [
        spoken
        for spoken in later
        if spoken.speaker == _USER and spoken.position > turn.position and query_of(spoken.text)
    ]


def quote_group(turn: Turn, *, at: datetime) -> Group:
    """Return a turn as a group of a block."""
    said = cut(" ".join(escape(typed_of(turn.text)).split()), _BYTES)[0]
    facts = f"{age(turn.time, at=at)}, session “{one_line(turn.title, _TITLE)}”, {turn.message}"
    return Group(SAID, lines=(f"[{facts}] {said}",))
