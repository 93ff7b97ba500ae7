"""Maintenance duties of a worker.

They embed, change and calibrate the embedding model, link, purge, compact, age and consolidate memories.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from opencode_memory.errors import BusyError, EmbeddingBudgetError, EmbeddingError
from opencode_memory.maintenance import consolidation
from opencode_memory.maintenance.ageing import age, was_restored
from opencode_memory.worker.duty import Duty, PostponedError, Work, always, look_every, repeat_every

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

EMBED: Final = "embed"
LINK: Final = "link"
_AT_ONCE: Final = 256
"""Maximum number of memories in one embedding job, so that jobs of other kinds do not wait too long."""
_OTHER_EMBEDS_SECONDS: Final = 1.0
_OTHER_INDEXES_SECONDS: Final = 60.0
_MODEL_FAILS_SECONDS: Final = 60.0
_BUDGET_SECONDS: Final = 600.0
"""Longest time between two looks at a budget of tokens, because the user may raise it."""
_LOOK_SECONDS: Final = 60.0
_STALE_DAYS: Final = 36_500
_MOST_PAIRS: Final = 1000
"""Maximum number of near pairs to look at. Pairs that stay would otherwise take the places of later duplicates."""
_GONE: Final = frozenset({"enrich"})
"""Kinds of earlier versions that no worker does any more."""


def maintenance_duties() -> tuple[Duty, ...]:
    """Return the duties that every worker has."""
    return (
        Duty(kind=EMBED, do=_embed, is_due=_has_unembedded_texts),
        Duty(kind=LINK, do=_link),
        Duty(kind="change_model", do=_change_model, is_due=lambda store: store.indexes.models.can_go_on()),
        Duty(
            kind="calibrate",
            do=_calibrate,
            is_due=look_every(_LOOK_SECONDS, lambda store: not store.indexes.models.is_calibrated()),
        ),
        _recur("purge", timedelta(hours=1), _purge),
        _recur("compact", timedelta(days=1), _compact),
        _recur("age", timedelta(days=1), lambda work: age(work.store, at=work.at)),
        _recur("consolidate", timedelta(days=1), _consolidate),
    )


def _recur(kind: str, period: timedelta, do: Callable[[Work], object]) -> Duty:
    return Duty(kind=kind, do=repeat_every(period, do), is_due=always, retries_after=period)


def _has_unembedded_texts(store: MemoryStore) -> bool:
    return store.indexes.waits_for_vectors(without=_list_failing_keys(store))


def _list_failing_keys(store: MemoryStore) -> frozenset[int]:
    """Return the keys of texts that could not be embedded and therefore have their own job."""
    return frozenset(int(subject) for subject in store.jobs.subjects(EMBED) if subject.isdecimal())


def _embed(work: Work) -> datetime | None:
    """Embed pending texts. A text that fails gets its own job, so that it does not block the others."""
    alone = int(work.job.subject) if work.job.subject.isdecimal() else None
    failed: dict[int, Exception] = {}
    skip = _list_failing_keys(work.store) - {alone}
    try:
        done = work.store.indexes.embed_some(limit=_AT_ONCE, skip=skip, on_failure=failed.__setitem__)
    except EmbeddingError as error:
        # The embedding model fails, not a single memory.
        raise _postpone(error, work.at) from error
    if done is None:
        raise PostponedError("another process is embedding", seconds=_OTHER_EMBEDS_SECONDS)
    if done:
        work.store.jobs.enqueue(LINK)
    for key in failed:
        if key != alone:
            work.store.jobs.enqueue(EMBED, str(key))
    if alone in failed:
        raise failed[alone]
    return work.at if done == _AT_ONCE and alone is None else None


def _change_model(work: Work) -> datetime | None:
    """Go on with a change of the embedding model, in parts, so that jobs of other kinds do not wait too long."""
    if not work.store.indexes.models.can_go_on():
        return None  # Given up, or complete.
    try:
        is_complete = work.store.indexes.models.go_on(limit=_AT_ONCE)
    except EmbeddingError as error:
        raise _postpone(error, work.at) from error
    if is_complete is None:
        raise PostponedError("another process is embedding", seconds=_OTHER_EMBEDS_SECONDS)
    return None if is_complete else work.at


def _calibrate(work: Work) -> None:
    """Measure the scale of a model whose cosines have another one than those of the bundled model."""
    try:
        work.store.indexes.models.calibrate()
    except EmbeddingError as error:
        raise _postpone(error, work.at) from error


def _postpone(error: EmbeddingError, at: datetime) -> PostponedError:
    """Return why a job waits for its model, or for the next budget of tokens."""
    if isinstance(error, EmbeddingBudgetError) and error.until is not None:
        seconds = min(max((error.until - at).total_seconds(), 1.0), _BUDGET_SECONDS)
        return PostponedError(str(error), seconds=seconds, is_warning=True)
    return PostponedError(str(error), seconds=_MODEL_FAILS_SECONDS, is_warning=True)


def _purge(work: Work) -> None:
    """Purge expired data, and jobs of texts that do not exist any more."""
    work.store.maintain()
    jobs = work.store.jobs
    for kind in _GONE:
        for id_ in jobs.subjects(kind).values():
            jobs.drop(id_)
    for subject, id_ in jobs.subjects(EMBED).items():
        if subject.isdecimal() and not work.store.indexes.waits_for_vectors(key=int(subject)):
            jobs.drop(id_)


def _compact(work: Work) -> None:
    """Bring the indexes up to date. While another process writes them, the worker does other jobs."""
    try:
        work.store.indexes.catch_up(waits=False)
    except BusyError as error:
        raise PostponedError("another process writes the indexes", seconds=_OTHER_INDEXES_SECONDS) from error


def _link(work: Work) -> None:
    """Link similar memories; one search for the neighbours of a memory also finds near duplicates."""
    _calibrate(work)  # Limits decide on links.
    while work.store.indexes.link_new():
        work.renew_lease()


def _consolidate(work: Work) -> None:
    """Archive the weaker of two learned duplicates. Memories written by a user or an agent are not touched."""
    for project in (None, *work.store.projects.names()):
        proposal = consolidation.propose(
            work.store, project=project, days_stale=_STALE_DAYS, at=work.at, limit=_MOST_PAIRS
        )
        learned = tuple(pair for pair in proposal.duplicates if _may_archive(work.store, pair))
        proposal = consolidation.Proposal(stale=(), duplicates=learned, contradictions=(), more=0)
        consolidation.apply(work.store, proposal, in_upkeep=True)
        work.renew_lease()


def _may_archive(store: MemoryStore, pair: consolidation.Pair) -> bool:
    """Return whether the weaker duplicate may be archived: it was learned, and neither confirmed nor restored.

    "Never deploy on Fridays" is near to "Never deploy on Mondays", but both hold. So the words have to be the same.
    """
    weaker = pair.archive
    if not weaker.is_learned or weaker.verified_at is not None or not pair.has_same_words():
        return False
    return not any(was_restored(store, memory) for memory in (pair.keep, weaker))
