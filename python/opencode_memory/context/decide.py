"""Decides once which memories a message of the user gets, and records the decision in the ledger.

A decision is final: the model sees the same text with a message in every later request, so that the provider's prompt
cache keeps working. "Nothing" is a decision, too. The messages in a request tell what the model still sees. A memory
that was compacted away may therefore be shown again, and a visible memory is not shown twice.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from opencode_memory.context.block import NOTHING, Block, Group, render
from opencode_memory.context.folding import fold, fold_hits
from opencode_memory.context.relevance import POOL, TUNED, query_of, select_relevant
from opencode_memory.context.usefulness import rank_by_usefulness
from opencode_memory.models import Category, Hit, Memory
from opencode_memory.store.ledger import Decision, Shown, State

if TYPE_CHECKING:
    from opencode_memory.config.settings import InjectionConfig
    from opencode_memory.store.memory_store import MemoryStore

DIRECTIVES: Final = "Standing directives:"
FOUND: Final = "Found for this message:"
_SHARE: Final = 0.6
"""Share of the budget that directives leave nothing of to what was found."""
_MOST_DIRECTIVES: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A message of the user without a decision.

    Attributes:
        session: Its session.
        message: Its id.
        text: The user's text; empty if OpenCode itself continues after a compaction.
        project: Its project.
        visible: Ids of the user's messages that the model still sees, including this one.
        is_subagent: Whether an agent, not the user, wrote the message.
    """

    session: str
    message: str
    text: str
    project: str | None
    visible: Collection[str]
    is_subagent: bool = False


def decide(
    store: MemoryStore,
    request: Request,
    *,
    config: InjectionConfig,
    count: Callable[[str], int],
    at: datetime,
    past: Sequence[Decision] | None = None,
) -> Decision:
    """Decide which memories a message gets, or return the earlier decision.

    Args:
        store: The store of the memories and the ledger.
        request: The message.
        config: Budgets.
        count: Counts the tokens of a text.
        at: The current time.
        past: The decisions of the session, if they have been read.
    """
    past = store.ledger.decisions(request.session) if past is None else past
    for decision in past:
        if decision.message == request.message:
            return decision
    reason = "" if config.enabled else "injection is switched off"
    if reason:
        return store.ledger.decide(_nothing(request, reason, at))
    # An offered text that was never confirmed did not arrive, or its process is gone. It is not replayed either.
    seen = [one for one in past if one.message in request.visible and one.state is State.SHOWN]
    in_sight = {shown.memory for one in seen for shown in one.shown}
    with_directives = not any(one.about.get("directives") for one in seen)
    directives = [one for one in _directives(store, request) if one.id not in in_sight] if with_directives else []
    later = store.later([one.id for one in directives])
    folded = fold(directives, store.earlier([one.id for one in (*directives, *later)]), others=later)
    directives = [one.memory for one in folded if one.memory.id not in in_sight]
    found, before = _found(store, request, config.max_results, in_sight | {one.id for one in directives})
    replaced = {one.id for earlier in before.values() for one in earlier}
    directives = [one for one in directives if one.id not in replaced]
    before |= {one.memory.id: one.before for one in folded}
    budget = config.subagent_tokens if request.is_subagent else config.max_tokens
    block = _block(directives, [hit.memory for hit, _ in found], before, budget, count, at)
    if not block.text:
        return store.ledger.decide(_nothing(request, "nothing known is relevant", at))
    why = {hit.memory.id: (hit.score, reason) for hit, reason in found}
    return store.ledger.decide(
        Decision(
            session=request.session,
            message=request.message,
            project=request.project,
            at=at,
            state=State.OFFERED,
            text=block.text,
            tokens=block.tokens,
            shown=tuple(_shown(memory, why) for memory in block.shown),
            about=_about(request) | {"directives": with_directives},
        )
    )


def _block(
    directives: Sequence[Memory],
    found: Sequence[Memory],
    before: Mapping[str, tuple[Memory, ...]],
    budget: int,
    count: Callable[[str], int],
    at: datetime,
) -> Block:
    if budget <= 0:
        return NOTHING
    share = _SHARE if found else 1.0
    groups = [Group(DIRECTIVES, tuple(directives), share), Group(FOUND, tuple(found), before=before)]
    return render([group for group in groups if group.memories], max_tokens=budget, count=count, at=at)


def _directives(store: MemoryStore, request: Request) -> list[Memory]:
    listed = store.list(project=request.project, category=Category.DIRECTIVE, limit=_MOST_DIRECTIVES)
    return [memory for memory in listed if not memory.is_withheld]


def _found(
    store: MemoryStore, request: Request, most: int, in_sight: Collection[str]
) -> tuple[list[tuple[Hit, str]], dict[str, tuple[Memory, ...]]]:
    """Return the hits to show with their reasons, and the earlier statements that are folded into them."""
    query = query_of(request.text)
    if not query:
        return [], {}
    hits = store.recall(query, limit=POOL, project=request.project, explain=True, unasked=True)
    chosen = select_relevant(query, hits, by=replace(TUNED, most=most))
    # Fold before anything is left out: if the model sees an earlier statement, its correction is shown now.
    reasons = {hit.memory.id: why for hit, why in chosen}
    folded = fold_hits([hit for hit, _ in chosen], store.earlier([hit.memory.id for hit in hits]), others=hits)
    found = [
        (hit, reasons.get(hit.memory.id, "changes a relevant memory"))
        for hit, _ in folded
        if hit.memory.id not in in_sight and not hit.memory.is_withheld and not _is_of(hit, request)
    ]
    useful = store.ledger.usefulness([hit.memory.id for hit, _ in found])
    return rank_by_usefulness(found, useful)[:most], {hit.memory.id: before for hit, before in folded}


def _is_of(hit: Hit, request: Request) -> bool:
    """Return whether a memory was learned in this very session, so that the model has its source."""
    source = hit.memory.source
    return source.session == request.session and source.message in request.visible


def _shown(memory: Memory, why: dict[str, tuple[float, str]]) -> Shown:
    score, reason = why.get(memory.id, (0.0, "directive"))
    return Shown(memory=memory.id, key=memory.key, score=score, why=reason)


def _nothing(request: Request, reason: str, at: datetime) -> Decision:
    return Decision(
        session=request.session,
        message=request.message,
        project=request.project,
        at=at,
        state=State.NOTHING,
        about=_about(request) | {"reason": reason},
    )


def _about(request: Request) -> dict[str, Any]:
    return {"kind": "message", "subagent": True} if request.is_subagent else {"kind": "message"}
