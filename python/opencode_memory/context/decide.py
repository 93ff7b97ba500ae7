"""Decides once which memories a message of the user gets, and records the decision in the ledger.

A decision is final: the model sees the same text with a message in every later request, so that the provider's prompt
cache keeps working. "Nothing" is a decision, too. The messages in a request tell what the model still sees. The first
block that the model sees holds the project brief. A memory that was compacted away may therefore be shown again, and a
memory that the model sees in full is not shown twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from opencode_memory.context.block import HEAD, HEAD_MORE, Block, Group, fit_groups, render
from opencode_memory.context.brief import NO_BRIEF, Brief, fit_brief, render_brief
from opencode_memory.context.brief_entries import BriefRequest, collect_entries
from opencode_memory.context.entry import FOUND_BEFORE, OTHERS
from opencode_memory.context.folding import fold_hits
from opencode_memory.context.headline import SHORT_WORDS, format_headline
from opencode_memory.context.in_sight import IN_COMMAND, InSight, find_in_sight
from opencode_memory.context.later_words import find_said_later
from opencode_memory.context.loaded_text import LoadedText, read_statements
from opencode_memory.context.quote import SAID, find_quote, quote_group
from opencode_memory.context.reasons import BEFORE, FOUND_AGAIN, HEADLINE, IN_BRIEF, LATER, find_found_before
from opencode_memory.context.relevance import POOL, TUNED, query_of, select_hits
from opencode_memory.context.usefulness import is_wrong, rank_by_usefulness
from opencode_memory.models import Hit, Memory
from opencode_memory.store.ledger import Decision, Shown, State

if TYPE_CHECKING:
    from pathlib import Path

    from opencode_memory.config.sections import BriefConfig, InjectionConfig
    from opencode_memory.models import Turn
    from opencode_memory.store.memory_store import MemoryStore

FOUND: Final = "Found for this message:"
FURTHER: Final = "Perhaps also (headlines; get_memory shows them in full):"
CREATED: Final = "created"
"""Key of the time of a message in ``Decision.about``. It is the same in a fork of the session."""
_WIDE: Final = 128
"""The number of candidates that a recall has at most."""
_MOST_FURTHER: Final = 2
"""Maximum number of headlines beside a message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A message of the user without a decision.

    Attributes:
        session: Its session.
        message: Its id.
        text: The user's text; empty if OpenCode itself continues after a compaction.
        project: Its project.
        visible: Ids of the user's messages that the model still sees, including this one.
        created: Time of creation of the message, in Unix milliseconds; None if it is unknown.
        summary: Text of the session's last summary, if the model sees it in place of earlier messages.
        is_subagent: Whether an agent, not the user, wrote the message.
        in_command: The memories that the answer of a slash command shows in the message: by id, the version of each.
        find_loaded: Finds the files that OpenCode loads by itself; called only if a brief is made.
    """

    session: str
    message: str
    text: str
    project: str | None
    visible: frozenset[str]
    created: int | None = None
    summary: str = ""
    is_subagent: bool = False
    in_command: Mapping[str, int] = field(default_factory=dict)
    find_loaded: Callable[[], Iterable[Path]] = tuple


def decide(
    store: MemoryStore,
    request: Request,
    *,
    config: InjectionConfig,
    brief: BriefConfig,
    count: Callable[[str], int],
    at: datetime,
    past: Sequence[Decision] | None = None,
) -> Decision:
    """Decide which memories a message gets, or return the earlier decision.

    Args:
        store: The store of the memories and the ledger.
        request: The message.
        config: Budgets of the memories that are found for the message.
        brief: Budgets of the project brief.
        count: Counts the tokens of a text.
        at: The current time.
        past: The decisions of the session, if they have been read.
    """
    past = store.ledger.decisions(request.session) if past is None else past
    for decision in past:
        if decision.message == request.message:
            return decision
    if not config.enabled:
        return store.ledger.decide(_decide_nothing(request, "injection is switched off", at))
    composed = _compose(store, request, past, config=config, brief=brief, count=count, at=at)
    if not composed.block.text:
        return store.ledger.decide(_decide_nothing(request, "nothing known is relevant", at))
    return store.ledger.decide(_decide_block(request, composed, at))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """The hits to show beside a message.

    Attributes:
        hits: The hits, best first.
        reasons: Why each is shown, by its id.
        before: Earlier statements that are folded into a memory, by its id.
        later: What the user said later about a memory, by its id.
        further: Hits that are probably not relevant, best first.
    """

    hits: tuple[Hit, ...]
    reasons: Mapping[str, str]
    before: Mapping[str, tuple[Memory, ...]]
    later: Mapping[str, Memory]
    further: tuple[Hit, ...]

    @property
    def memories(self) -> tuple[Memory, ...]:
        """The memories of the hits."""
        return tuple(hit.memory for hit in self.hits)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Composed:
    """A block for a message, and its parts.

    Attributes:
        block: The block; its text is empty if nothing is to be shown.
        found: What was found for the message.
        begins: The brief that the block begins with; ``NO_BRIEF`` if the model sees one already.
        quote: What the user said in an earlier session, if it takes the place of memories.
    """

    block: Block
    found: _Found
    begins: Brief
    quote: Turn | None


def _compose(
    store: MemoryStore,
    request: Request,
    past: Sequence[Decision],
    *,
    config: InjectionConfig,
    brief: BriefConfig,
    count: Callable[[str], int],
    at: datetime,
) -> _Composed:
    """Compose the block of a message; the arguments are those of ``decide``."""
    visible = [decision for decision in past if decision.message in request.visible]
    in_sight = find_in_sight(visible, request.in_command)
    seen = [decision for decision in visible if decision.state is State.SHOWN]
    hits = _recall(store, request)
    found = _find(store, request, hits, config.max_results, in_sight)
    room = config.subagent_tokens if request.is_subagent else config.max_tokens
    has_brief = any(decision.about.get("brief") for decision in seen)
    begins = NO_BRIEF
    known = LoadedText()
    if not has_brief:
        asked = _request_brief(request, hits, past, in_sight)
        beside = Group(FOUND, found.memories, before=found.before, later=found.later)
        tokens = brief.subagent_tokens if request.is_subagent else brief.max_tokens
        begins = _brief(store, asked, beside, tokens=tokens, room=room, count=cache(count), at=at)
        known = _list_known(asked.loaded, begins)
    in_full = {memory.id for memory in begins.full}
    memories = tuple(memory for memory in found.memories if memory.id not in in_full)
    quote = _find_quote(store, request, past, known) if config.quotes and not found.hits else None
    shown = Group(FOUND, memories, before=found.before, later=found.later)
    groups = [shown if quote is None else quote_group(quote, at=at)]
    if memories:
        groups.append(_group_further(found, begins, seen))
    if begins.lines:
        block = render_brief(begins, groups, max_tokens=room, count=count, at=at)
    else:
        block = render(groups, max_tokens=room, count=count, at=at, head=HEAD_MORE if has_brief else HEAD)
    return _Composed(block=block, found=found, begins=begins, quote=quote)


def _recall(store: MemoryStore, request: Request) -> list[Hit]:
    query = query_of(request.text)
    if not query:
        return []
    hits = store.recall(query, limit=POOL, project=request.project, explain=True, unasked=True)
    if any(hit.memory.is_from_forge for hit in hits):
        # Titles of issues share their words with the memories about them, and must not take the place of memories.
        more = store.recall(query, limit=_WIDE, project=request.project, explain=True, unasked=True)
        hits = [hit for hit in more if not hit.memory.is_from_forge][:POOL]
    return hits


def _find(store: MemoryStore, request: Request, hits: Sequence[Hit], most: int, in_sight: InSight) -> _Found:
    selection = select_hits(query_of(request.text), hits, by=replace(TUNED, most=most))
    # Fold before anything is left out: if the model sees an earlier statement, its correction is shown now.
    reasons = {hit.memory.id: why for hit, why in selection.relevant}
    earlier = store.earlier([hit.memory.id for hit in hits])
    folded = fold_hits([hit for hit, _ in selection.relevant], earlier, others=hits)
    further = [hit for hit, _ in fold_hits(selection.further, earlier, others=hits)]

    def may_show(hit: Hit) -> bool:
        return hit.memory not in in_sight and not hit.memory.is_on_request and not _is_of(hit.memory, request)

    found = [
        (hit, reasons.setdefault(hit.memory.id, "changes a relevant memory")) for hit, _ in folded if may_show(hit)
    ]
    useful = store.ledger.usefulness([hit.memory.id for hit in (*(hit for hit, _ in found), *further)])
    ranked = rank_by_usefulness(found, useful)[:most]
    return _Found(
        hits=tuple(hit for hit, _ in ranked),
        reasons=reasons,
        before={hit.memory.id: before for hit, before in folded},
        later=find_said_later(store, [hit.memory for hit, _ in ranked], request.project),
        further=tuple(hit for hit in further if may_show(hit) and not is_wrong(useful.get(hit.memory.id))),
    )


def _request_brief(request: Request, hits: Sequence[Hit], past: Sequence[Decision], in_sight: InSight) -> BriefRequest:
    """Return what the brief of a message is to show first, and what it leaves out."""
    return BriefRequest(
        project=request.project,
        # In the order of the hits, because the brief also serves later messages about the same part of the project.
        near={hit.memory.id: 1 - place / POOL for place, hit in enumerate(hits)},
        query=query_of(request.text) or query_of(request.summary),
        known=in_sight,
        # Without a summary, earlier messages are out of sight because the user has undone them.
        found_before=find_found_before(past) if request.summary else (),
        loaded=read_statements(request.find_loaded()),
        session=request.session,
        visible=request.visible,
    )


def _list_known(loaded: LoadedText, begins: Brief) -> LoadedText:
    """Return the statements that stand in a brief or in loaded files, also in the words of the session."""
    texts = (text for memory in begins.full for text in (memory.content, memory.metadata.get("evidence")))
    return loaded.with_texts(text for text in texts if isinstance(text, str))


def _find_quote(store: MemoryStore, request: Request, past: Sequence[Decision], known: LoadedText) -> Turn | None:
    """Find what the user said in an earlier session; only for the first message of a session of the user."""
    if request.is_subagent or any(decision.message in request.visible for decision in past):
        return None
    return find_quote(store, request.text, session=request.session, project=request.project, known=known)


def _group_further(found: _Found, begins: Brief, seen: Sequence[Decision]) -> Group:
    """Return the headlines to show beside a message that gets memories, without those in sight."""
    known = {shown.memory for decision in seen for shown in decision.shown}
    known.update(memory.id for memory in (*found.memories, *begins.full, *begins.headlines))
    known.update(memory.id for before in found.before.values() for memory in before)
    memories = [hit.memory for hit in found.further if hit.memory.id not in known][:_MOST_FURTHER]
    headlines = {memory.id: format_headline(memory, most_words=SHORT_WORDS) for memory in memories}
    return Group(FURTHER, tuple(memories), headlines=headlines)


def _brief(
    store: MemoryStore,
    request: BriefRequest,
    beside: Group,
    *,
    tokens: int,
    room: int,
    count: Callable[[str], int],
    at: datetime,
) -> Brief:
    """Render the brief, without lines of memories that follow in full beside the message.

    Args:
        store: The store.
        request: What the brief is for.
        beside: The memories that were found for the message.
        tokens: Budget of the brief.
        room: Budget of the memories beside the message.
        count: Counts the tokens of a text.
        at: The current time.
    """
    entries = collect_entries(store, request, at=at)
    first = fit_brief(entries, request.lines, budget=tokens, count=count, at=at)
    _, fitting = fit_groups((beside,), room, count, at)
    leaves_brief = {id_ for group in (FOUND_BEFORE, OTHERS) for id_ in first.groups.get(group, ())}
    left_out = leaves_brief.intersection(memory.id for memory in fitting)
    if not left_out:
        return first
    entries = [entry for entry in entries if entry.memory.id not in left_out]
    return fit_brief(entries, request.lines, budget=tokens, count=count, at=at)


def _is_of(memory: Memory, request: Request) -> bool:
    """Return whether a memory was learned in this very session, so that the model has its source."""
    source = memory.source
    return source.session == request.session and source.message in request.visible


def _list_shown(memories: Iterable[Memory], found: _Found, begins: Brief) -> Iterator[Shown]:
    """Yield each memory of which a block quotes any words, so that a purge finds the block."""
    scores = {hit.memory.id: hit.score for hit in found.hits}
    reasons = dict(found.reasons)
    reasons |= {memory.id: IN_BRIEF for memory in begins.full}
    reasons |= dict.fromkeys(begins.groups.get(FOUND_BEFORE, ()), FOUND_AGAIN)
    reasons |= {memory.id: HEADLINE for memory in begins.headlines}
    reasons = {hit.memory.id: HEADLINE for hit in found.further} | reasons
    folded = {**found.before, **begins.before}
    quoted = {memory.id: memory for memory in memories}
    for memory in quoted.values():
        yield Shown(memory=memory.id, key=memory.key, score=scores.get(memory.id, 0.0), why=reasons[memory.id])
    others = {statement.id: (statement, BEFORE) for id_ in quoted for statement in folded.get(id_, ())}
    others |= {later.id: (later, LATER) for id_, later in found.later.items() if id_ in quoted}
    for memory, why in others.values():
        if memory.id not in quoted:
            yield Shown(memory=memory.id, key=memory.key, score=0.0, why=why)


def _decide_block(request: Request, composed: _Composed, at: datetime) -> Decision:
    block, begins, quote = composed.block, composed.begins, composed.quote
    about = _about(request)
    if begins.lines:
        about["brief"] = begins.tokens
    if quote is not None and SAID in block.text.split("\n"):
        about["quoted"] = {"session": quote.session, "message": quote.message}
    return Decision(
        session=request.session,
        message=request.message,
        project=request.project,
        at=at,
        state=State.OFFERED,
        text=block.text,
        tokens=block.tokens,
        shown=tuple(_list_shown(block.shown, composed.found, begins)),
        about=about,
    )


def _decide_nothing(request: Request, reason: str, at: datetime) -> Decision:
    return Decision(
        session=request.session,
        message=request.message,
        project=request.project,
        at=at,
        state=State.NOTHING,
        about=_about(request) | {"reason": reason},
    )


def _about(request: Request) -> dict[str, Any]:
    about: dict[str, Any] = {"kind": "message"}
    if request.is_subagent:
        about["subagent"] = True
    if request.created is not None:
        about[CREATED] = request.created
    if request.in_command:
        about[IN_COMMAND] = dict(request.in_command)
    return about
