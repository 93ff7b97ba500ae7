"""Words of an agent: decides whether what an agent stores counts as the user's, is used at once, or waits.

==========================================  =======================================================================
text and category                           stored as
==========================================  =======================================================================
rule in words that the user typed in the    active, with the trust ``user`` and the user's sentence as evidence
session, and that no tool returned before
directive that the user typed as an order   candidate
for the work at hand
other directive or procedure                candidate: not injected, recalled or written to files before the user
                                            accepts it
other convention or preference that stands  candidate, because a file or a web page may have dictated it
in what a tool returned in the session
all other memories                          active, with the trust ``agent``
==========================================  =======================================================================

An MCP client names no session. Its text is compared with all live sessions of its project.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from opencode_memory.models import Category, Memory, RememberResult, RememberStatus, Status, Trust
from opencode_memory.server.call import Call, SessionCall
from opencode_memory.text.emails import mask_emails

INSTRUCTIONS: Final = frozenset({Category.DIRECTIVE, Category.PROCEDURE})
"""Categories that tell an agent to act."""
RULES: Final = INSTRUCTIONS | {Category.CONVENTION, Category.PREFERENCE}
_RULE: Final = "stored by an agent in the user's words"
_LONGEST_EVIDENCE: Final = 240


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of a memory that an agent writes.

    Attributes:
        trust: The trust to store it with.
        status: The status to store it with.
        metadata: The rule and the user's sentence, if they typed the words.
    """

    trust: Trust = Trust.AGENT
    status: Status = Status.ACTIVE
    metadata: dict[str, Any] = field(default_factory=dict)

    @property
    def is_users(self) -> bool:
        """Whether the user typed the words."""
        return self.trust is Trust.USER


@dataclass(frozen=True, slots=True)
class _Heard:
    """What is known of a live session."""

    texts: tuple[str, ...]
    typed: tuple[int, ...]
    foreign: tuple[int, ...]


def find_origin(call: Call, content: str, category: Category) -> Origin:
    """Return the origin of a text that an agent stores."""
    if category not in RULES:
        return Origin()
    heard = tuple(_hear(call))
    sentence = _find_sentence(call, content, heard)
    if sentence is not None and (category is not Category.DIRECTIVE or _is_lasting(sentence, heard)):
        evidence = mask_emails(sentence)[:_LONGEST_EVIDENCE]
        return Origin(Trust.USER, Status.ACTIVE, {"rule": _RULE, "evidence": evidence})
    if category in INSTRUCTIONS or _is_foreign(content, heard):
        return Origin(status=Status.CANDIDATE)
    return Origin()


def store_as(call: Call, origin: Origin, content: str, *, metadata: Mapping[str, Any], **fields: Any) -> RememberResult:
    """Store a memory with its origin.

    A repetition must neither activate an instruction that waits nor make an instruction of an active memory, because
    the same text may be stored with another category. Such a merge is undone.
    """
    result = call.store.remember(
        content,
        trust=origin.trust.value,
        status=origin.status,
        metadata={**metadata, **origin.metadata},
        **fields,
    )
    if result.status is RememberStatus.MERGED and not origin.is_users:
        last = call.store.history(result.id)[-1]
        memory = call.store.get(result.id)
        if last.kind == "merge" and last.before is not None and _is_active_instruction(memory):
            was_one = _is_active_instruction(last.before)
            if not was_one or last.before.category is not memory.category:
                call.store.undo(result.id)
    return result


def _is_active_instruction(memory: Memory) -> bool:
    return memory.status is Status.ACTIVE and memory.category in INSTRUCTIONS


def describe_waiting(memory: Memory) -> str:
    """Tell an agent that a memory waits; empty if it does not wait."""
    if memory.status is not Status.CANDIDATE:
        return ""
    return (
        f"It waits for the user's review: a {memory.category} is used only if they typed it"
        f"{' as a standing order' if memory.category is Category.DIRECTIVE else ''} or accept it."
        " Tell them: `opencode-memory review`."
    )


def _hear(call: Call) -> Iterator[_Heard]:
    from opencode_memory.learning.extraction.session_state import SessionState  # noqa: PLC0415  only for rules

    known = call.state.typed
    if isinstance(call, SessionCall) and call.session is not None:
        sessions = dict([known.of_session(call.session)])
    else:
        sessions = known.of_project(call.client.project)
    for session, texts in sessions.items():
        state = SessionState.from_json(call.store.learning.open(session)[1])
        yield _Heard(texts, state.typed, state.foreign)


def _find_sentence(call: Call, content: str, heard: tuple[_Heard, ...]) -> str | None:
    from opencode_memory.learning.own_words import find_own_sentence, has_typed  # noqa: PLC0415  as above

    names = (call.client.project,) if call.client.project else ()
    for session in heard:
        found = find_own_sentence(content, session.texts, foreign=session.foreign, names=names)
        if found is None and not session.texts and has_typed(content, session.typed):
            found = content  # The server was restarted, so only the hashes of the user's words are left.
        if found is not None:
            return found
    return None


def _is_lasting(sentence: str, heard: tuple[_Heard, ...]) -> bool:
    """Return whether a sentence, or an order to remember it in the same message, holds beyond the work at hand."""
    from opencode_memory.learning.own_words import is_lasting  # noqa: PLC0415  as above

    words = " ".join(sentence.split())
    messages = [text for session in heard for text in session.texts if words in " ".join(text.split())]
    return is_lasting(sentence, messages)


def _is_foreign(content: str, heard: tuple[_Heard, ...]) -> bool:
    from opencode_memory.learning.extraction.provenance import stands_in  # noqa: PLC0415  as above

    return any(stands_in(content, session.foreign) for session in heard)
