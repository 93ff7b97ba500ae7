"""Session extraction: turns the messages of one session into candidates, one message at a time.

The functions are pure: the same state and message give the same result, and sessions share no state. Candidates stay
pending in the state until the user's next message or until the session is idle, because the user may retract them. The
state names those that were stored without a next message, because that message may still retract them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from opencode_memory._core import redact
from opencode_memory.learning.extraction import blockers, injected_text, provenance, tool_calls
from opencode_memory.learning.extraction.authored_text import extract_authored_text
from opencode_memory.learning.extraction.candidate import Candidate
from opencode_memory.learning.extraction.choices import is_choice
from opencode_memory.learning.extraction.events import (
    AssistantText,
    Compaction,
    Event,
    Feedback,
    Message,
    SessionEnd,
    SessionInfo,
    ToolCall,
    UserText,
)
from opencode_memory.learning.extraction.feedback import extract_from_refusal
from opencode_memory.learning.extraction.findings import MOST_PER_SESSION, extract_from_agent
from opencode_memory.learning.extraction.forks import has_copied_goal
from opencode_memory.learning.extraction.languages.cues import MEASURED
from opencode_memory.learning.extraction.remember_section import extract_from_summary
from opencode_memory.learning.extraction.session_state import SessionState
from opencode_memory.learning.extraction.statements import (
    Context,
    extract_from_user,
    is_role_play,
    list_retracted,
)
from opencode_memory.learning.extraction.summary import describe_goal, describe_outcome, summarize_session
from opencode_memory.learning.extraction.undo import begin_turn, forget_statements, split_pending
from opencode_memory.models import Category
from opencode_memory.text.pasted import strip_private

_ACTION: Final = 1500
_OFFER_LASTS: Final = 1
"""Maximum number of user messages between an offer and the choice."""
_ASKS_THE_USER: Final = "question"
"""OpenCode's tool whose output holds the user's answers."""
_OFFERS: Final = re.compile(
    r"^[ \t]*(?:\*\*)?(?:option |variant |approach )?(?:[1-4a-dA-D])[.):]\s|\boptions?\b|\balternatives?\b|\beither\b.+\bor\b|\bcould (?:also )?(?:use|go|do)\b|\bor (?:we|you) could\b|\?[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Known:
    """Knowledge from the store and the configuration that extraction needs.

    Attributes:
        blockers: Open blockers of the project.
        languages: Codes of the languages that are learned from.
    """

    blockers: tuple[blockers.OpenBlocker, ...] = field(default=())
    languages: frozenset[str] = MEASURED


NOTHING: Final = Known()


def step(
    info: SessionInfo,
    state: SessionState,
    message: Message,
    known: Known = NOTHING,
    *,
    is_copy: bool = False,
) -> tuple[SessionState, tuple[Candidate, ...]]:
    """Process one message.

    Args:
        info: The session.
        state: State of the session before the message.
        message: A complete message that was not processed yet.
        known: Knowledge from the store and the configuration.
        is_copy: Whether the message was copied from the session that this one was forked from.

    Returns:
        The new state, and the candidates that are ready to be stored.
    """
    ready: list[Candidate] = []
    if any(isinstance(event, UserText) for event in message.events):
        state = begin_turn(state, message.id)
    for raw in message.events:
        event = _redact(raw)
        state, released = _release(state, event, message.id)
        ready += released
        before = state
        state, found = _process_event(info, state, event, known)
        state = state if state.goal == before.goal else replace(state, goal_from=message.id)
        state = state if state.outcome == before.outcome else replace(state, outcome_from=message.id)
        if state.pretending != before.pretending:
            state = replace(state, pretending_from=message.id if state.pretending else "")
        if isinstance(event, UserText | Feedback) and not info.parent:
            found = tuple(_mark_foreign(candidate, state.foreign) for candidate in found)
            state = replace(state, typed=provenance.add_typed(state.typed, event.text, state.foreign))
        placed = [candidate.with_source(message.id, message.at_ms, is_copy=is_copy) for candidate in found]
        state = _hold(state, [candidate for candidate in placed if not _is_repeated(candidate, state)])
    return replace(state, latest=max(state.latest, message.id)).trim(), tuple(ready)


def end(info: SessionInfo, state: SessionState, *, at_ms: int) -> tuple[SessionState, tuple[Candidate, ...]]:
    """Finish an idle session: all pending candidates and its summary are ready."""
    message = Message(id="", at_ms=at_ms, events=(SessionEnd(),), digest="")
    state, ready = step(info, state, message)
    # While messages are undone, no summary is written: a redo may bring them back.
    is_closed = info.parent is None and state.own > 0 and state.undone_since is None
    closing = summarize_session(info.id, state) if is_closed else None
    # An undo of the newest message takes the summary back as well.
    return state, ready if closing is None else (*ready, closing.with_source(state.latest, at_ms))


def _release(state: SessionState, event: Event, message: str) -> tuple[SessionState, tuple[Candidate, ...]]:
    """Return the candidates that are to be stored after an event.

    The user's next message may still retract those that are stored because the session is idle or was compacted.
    """
    if not isinstance(event, UserText | SessionEnd | Compaction):
        return state, ()
    ready, waiting = split_pending(state)
    # If two candidates have the same topic, the later one wins.
    last = {candidate.topic: candidate for candidate in ready}
    ready = tuple(one for one in ready if one.topic is None or one is last[one.topic])
    said = tuple(candidate for candidate in ready if candidate.is_persons)
    if not isinstance(event, UserText):
        return replace(state, pending=waiting, released=(*state.released, *said)), ready
    gone = list_retracted(event.text, said, state.released)
    state = forget_statements(state, (candidate.content for candidate in gone))
    retracted = (*state.retracted, *((message, candidate) for candidate in gone))
    state = replace(state, pending=waiting, released=(), retracted=retracted)
    return state, tuple(candidate for candidate in ready if candidate not in gone)


def _process_event(
    info: SessionInfo, state: SessionState, event: Event, known: Known
) -> tuple[SessionState, tuple[Candidate, ...]]:
    match event:
        case UserText():
            return _process_user_text(info, state, event.text, known)
        case AssistantText():
            return _process_agent_text(state, event.text)
        case Feedback():
            action = f"{event.tool} {event.input.get('command', '')}"
            found = () if info.parent else extract_from_refusal(event.text, action, known.languages)
            return replace(state, action=action), found
        case ToolCall():
            return _process_tool_call(info, state, event)
        case Compaction() if not info.parent and not state.pretending:
            return state, extract_from_summary(event.summary, state)
        case _:
            return state, ()


def _process_user_text(
    info: SessionInfo, state: SessionState, text: str, known: Known
) -> tuple[SessionState, tuple[Candidate, ...]]:
    own = extract_authored_text(text)
    state = replace(state, injected=injected_text.add_texts(state.injected, own.injected))
    if info.parent:
        return state, ()  # In a subagent's session the user text comes from an agent.
    pretending = is_role_play(text, before=state.pretending)
    offer = state.offer if state.offered_ago <= _OFFER_LASTS else ""
    found = () if pretending else extract_from_user(text, Context(state.action, offer, known.languages))
    mine = (blockers.OpenBlocker(topic, content) for topic, content in state.blockers)
    over = blockers.find_resolutions(text, {blocker.topic: blocker for blocker in (*known.blockers, *mine)}.values())
    goal = state.goal
    if not goal or has_copied_goal(state):
        goal = describe_goal(own.text) or goal
    state = replace(state, offer="" if any(map(is_choice, found)) else state.offer, offered_ago=state.offered_ago + 1)
    return replace(state, goal=goal, action="", pretending=pretending), (*over, *_without_resolved(found, over))


def _process_agent_text(state: SessionState, text: str) -> tuple[SessionState, tuple[Candidate, ...]]:
    text = strip_private(text)
    outcome = describe_outcome(text) or state.outcome
    action = f"{state.action}\n{text}"[-_ACTION:]
    is_open = not state.pretending and state.findings < MOST_PER_SESSION
    found = extract_from_agent(text, state.files) if is_open else ()
    if _OFFERS.search(text):
        state = replace(state, offer=text[-_ACTION:], offered_ago=0)
    return replace(state, outcome=outcome, action=action, findings=state.findings + len(found)), found


def _process_tool_call(
    info: SessionInfo, state: SessionState, call: ToolCall
) -> tuple[SessionState, tuple[Candidate, ...]]:
    if injected_text.is_memory_call(call.tool, call.input):
        texts = [call.output, *(value for value in call.input.values() if isinstance(value, str))]
        return replace(state, injected=injected_text.add_texts(state.injected, texts)), ()
    if call.tool != _ASKS_THE_USER:
        state = replace(state, foreign=provenance.add_foreign(state.foreign, call.output, state.typed))
    written = " ".join(str(value) for value in call.input.values() if isinstance(value, str))
    state = replace(state, action=f"{state.action}\n{call.tool} {written[:400]}"[-_ACTION:])
    return tool_calls.step(state, call, directory=info.directory)


def _hold(state: SessionState, found: list[Candidate]) -> SessionState:
    if not found:
        return state
    open_ones = {
        **dict(state.blockers),
        **{
            candidate.topic: candidate.content
            for candidate in found
            if candidate.category is Category.BLOCKER and candidate.topic
        },
    }
    over = {candidate.topic for candidate in found if "resolved" in candidate.tags}
    state = replace(state, blockers=tuple((topic, text) for topic, text in open_ones.items() if topic not in over))
    said = injected_text.add_texts(
        state.proposed,
        (
            candidate.content
            for candidate in found
            if not candidate.is_weak and (candidate.is_persons or candidate.category is Category.FACT)
        ),
    )
    return replace(state, pending=(*state.pending, *found), proposed=said)


def _is_repeated(candidate: Candidate, state: SessionState) -> bool:
    """Return whether a candidate repeats an injected memory or an earlier statement of this session.

    An agent repeats what it mostly has the words of. The user may change one word: "the staging port is 9090".
    """
    if candidate.may_repeat:
        return False
    if candidate.is_persons:
        return _is_repeated_by_person(candidate, state)
    # The wording of a solution is ours; its evidence comes from the session.
    text = candidate.content if candidate.category is not Category.SOLUTION else candidate.evidence
    # A statement with a topic may be repeated after another statement has replaced it.
    said = state.proposed if candidate.topic is None else ()
    return injected_text.repeats(text, state.injected) or injected_text.repeats(text, said)


def _is_repeated_by_person(candidate: Candidate, state: SessionState) -> bool:
    text = candidate.with_instead(()).content
    # A statement with a topic may be repeated after another statement has replaced it.
    if candidate.topic is None and injected_text.repeats_last_words(text, state.proposed):
        return True
    # A near statement since then has changed the injected memory, which the user wants back.
    was_changed = injected_text.repeats(text, state.proposed)
    return not was_changed and injected_text.repeats(text, state.injected, least=1.0)


def _mark_foreign(candidate: Candidate, foreign: tuple[int, ...]) -> Candidate:
    """Mark a statement that the user pasted from what a tool returned earlier in the session."""
    return replace(candidate, is_foreign=provenance.stands_in(candidate.evidence.rstrip("…"), foreign))


def _redact(event: Event) -> Event:
    """Redact secrets before texts are truncated, because a truncated secret is not recognised."""
    match event:
        case UserText() | AssistantText():
            return replace(event, text=redact(event.text)[0])
        case Feedback():
            return replace(event, text=redact(event.text)[0], input=_redact_input(event.input))
        case ToolCall():
            return replace(
                event,
                input=_redact_input(event.input),
                output=redact(event.output)[0],
                error=redact(event.error)[0],
            )
        case _:
            return event


def _redact_input(given_to: Mapping[str, Any]) -> dict[str, Any]:
    return {name: redact(value)[0] if isinstance(value, str) else value for name, value in given_to.items()}


def _without_resolved(found: tuple[Candidate, ...], over: tuple[Candidate, ...]) -> tuple[Candidate, ...]:
    """Leave out candidates that repeat the resolution of a blocker."""
    return tuple(candidate for candidate in found if not any(candidate.evidence == done.evidence for done in over))
