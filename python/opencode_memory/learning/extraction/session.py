"""From a session's messages to candidates, one message after the other.

A pure function: the same state and message give the same result, and two sessions share nothing. What is found waits in
the state until the person has said the next thing, or the session rests: they may take it back.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from opencode_memory._core import redact
from opencode_memory.learning.extraction import blockers, injected_text, tool_calls
from opencode_memory.learning.extraction.authored_text import extract_authored_text, strip_private
from opencode_memory.learning.extraction.candidate import Candidate, shorten
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
from opencode_memory.learning.extraction.sentences import split_sentences
from opencode_memory.learning.extraction.session_state import SessionState
from opencode_memory.learning.extraction.statements import (
    Context,
    extract_from_agent,
    extract_from_user,
    is_retraction,
    is_role_play,
)
from opencode_memory.learning.extraction.summary import summarize_session
from opencode_memory.models import Category

_GOAL: Final = 300
_ACTION: Final = 1500
_OFFER_LASTS: Final = 1
"""Messages of the person between an offer and their choice."""
_OFFERS: Final = re.compile(
    r"^[ \t]*(?:\*\*)?(?:option |variant |approach )?(?:[1-4a-dA-D])[.):]\s|\boptions?\b|\balternatives?\b|\beither\b.+\bor\b|\bcould (?:also )?(?:use|go|do)\b|\bor (?:we|you) could\b|\?[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Known:
    """What the store knows and a session needs.

    Attributes:
        blockers: Blockers of the project that are open.
    """

    blockers: tuple[blockers.OpenBlocker, ...] = field(default=())


NOTHING: Final = Known()


def step(
    info: SessionInfo,
    state: SessionState,
    message: Message,
    known: Known = NOTHING,
    *,
    is_copy: bool = False,
) -> tuple[SessionState, tuple[Candidate, ...]]:
    """Take in one message.

    Args:
        info: The session.
        state: What is open in it.
        message: A complete message that has not counted yet.
        known: What the store knows.
        is_copy: Whether the message was copied from the session that this one was forked from.

    Returns:
        What is open then, and what is ready to be written.
    """
    ready: list[Candidate] = []
    for raw in message.events:
        event = _redact(raw)
        state, released = _release(state, event)
        ready += released
        state, found = _process_event(info, state, event, known)
        placed = [one.with_source(message.id, message.at_ms, is_copy=is_copy) for one in found]
        state = _hold(state, [one for one in placed if not _is_repeated(one, state)])
    return state.trim(), tuple(ready)


def end(info: SessionInfo, state: SessionState, *, at_ms: int) -> tuple[SessionState, tuple[Candidate, ...]]:
    """Let a session rest: everything that waits is ready, and so is its summary."""
    message = Message(id="", at_ms=at_ms, events=(SessionEnd(),), digest="")
    state, ready = step(info, state, message)
    told = None if info.parent or not state.own else summarize_session(info.id, state)
    return state, ready if told is None else (*ready, told.with_source("", at_ms))


def _release(state: SessionState, event: Event) -> tuple[SessionState, tuple[Candidate, ...]]:
    """Say what is ready now that this has happened: it was not taken back."""
    if isinstance(event, UserText) and is_retraction(event.text):
        kept = tuple(one for one in state.pending if not one.is_persons)
        gone = frozenset(one for it in state.pending if it.is_persons for one in injected_text.hash_triples(it.content))
        return replace(state, pending=(), proposed=tuple(one for one in state.proposed if one not in gone)), kept
    if isinstance(event, UserText | SessionEnd | Compaction):
        return replace(state, pending=()), state.pending
    return state, ()


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
            return replace(state, action=action), () if info.parent else extract_from_refusal(event.text, action)
        case ToolCall():
            return _process_tool_call(info, state, event)
        case _:
            return state, ()


def _process_user_text(
    info: SessionInfo, state: SessionState, text: str, known: Known
) -> tuple[SessionState, tuple[Candidate, ...]]:
    own = extract_authored_text(text)
    state = replace(state, injected=injected_text.add_texts(state.injected, own.injected))
    if info.parent:
        return state, ()  # An agent speaks there, in the name of the person.
    pretending = is_role_play(text, before=state.pretending)
    offer = state.offer if state.offered_ago <= _OFFER_LASTS else ""
    found = () if pretending else extract_from_user(text, Context(state.action, offer))
    mine = (blockers.OpenBlocker(topic, content) for topic, content in state.blockers)
    over = blockers.find_resolutions(text, {one.topic: one for one in (*known.blockers, *mine)}.values())
    goal = state.goal or shorten(own.text, _GOAL)
    state = replace(state, offer="" if any(map(is_choice, found)) else state.offer, offered_ago=state.offered_ago + 1)
    return replace(state, goal=goal, action="", pretending=pretending), (*over, *_without_resolved(found, over))


def _process_agent_text(state: SessionState, text: str) -> tuple[SessionState, tuple[Candidate, ...]]:
    text = strip_private(text)
    said = split_sentences(extract_authored_text(text).text)
    outcome = shorten(" ".join(one.text for one in said[:2]), _GOAL) or state.outcome
    action = f"{state.action}\n{text}"[-_ACTION:]
    found = () if state.pretending else extract_from_agent(text)
    if _OFFERS.search(text):
        state = replace(state, offer=text[-_ACTION:], offered_ago=0)
    return replace(state, outcome=outcome, action=action), found


def _process_tool_call(
    info: SessionInfo, state: SessionState, call: ToolCall
) -> tuple[SessionState, tuple[Candidate, ...]]:
    if injected_text.is_memory_call(call.tool, call.input):
        texts = [call.output, *(value for value in call.input.values() if isinstance(value, str))]
        return replace(state, injected=injected_text.add_texts(state.injected, texts)), ()
    written = " ".join(str(value) for value in call.input.values() if isinstance(value, str))
    state = replace(state, action=f"{state.action}\n{call.tool} {written[:400]}"[-_ACTION:])
    return tool_calls.step(state, call, directory=info.directory)


def _hold(state: SessionState, found: list[Candidate]) -> SessionState:
    if not found:
        return state
    # Of two that have the same topic the later one holds.
    topics = {one.topic for one in found if one.topic is not None}
    open_ones = {
        **dict(state.blockers),
        **{one.topic: one.content for one in found if one.category is Category.BLOCKER and one.topic},
    }
    over = {one.topic for one in found if "resolved" in one.tags}
    state = replace(state, blockers=tuple((topic, text) for topic, text in open_ones.items() if topic not in over))
    kept = tuple(one for one in state.pending if one.topic not in topics)
    said = injected_text.add_texts(
        state.proposed, (one.content for one in found if one.is_persons or one.category is Category.FACT)
    )
    return replace(state, pending=(*kept, *found), proposed=said)


def _is_repeated(candidate: Candidate, state: SessionState) -> bool:
    """Say whether a candidate mostly repeats what a memory gave, or what this session has said already."""
    if candidate.may_repeat:
        return False
    # The words of a solution are ours; what it is about is its evidence.
    text = candidate.content if candidate.category is not Category.SOLUTION else candidate.evidence
    # What has a topic replaces what was said about it, and may be said again after something else was.
    said = state.proposed if candidate.topic is None else ()
    return injected_text.repeats(text, state.injected) or injected_text.repeats(text, said)


def _redact(event: Event) -> Event:
    """Replace secrets before anything is cut: a part of one is not recognised."""
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
    """Leave out what says again that a blocker is over."""
    return tuple(one for one in found if not any(one.evidence == done.evidence for done in over))
