"""The memory that states an item, and the blockers that a closed item may have resolved."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Final

from opencode_memory.forges.item import Item, parse_item
from opencode_memory.models import FORGE, Category, Memory, Scope, Source, Status, Trust

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

_TOPIC: Final = "forge:"
_OFFERED: Final = "offered"
_MOST: Final = 100
_SEEN: Final = (Status.ACTIVE, Status.ARCHIVED, Status.SUPERSEDED)
_MOST_FACTS: Final = 20_000


def find_fact(store: MemoryStore, name: str, project: str | None) -> Memory | None:
    """Return the fact about an item in a project, also if the user has archived or merged it."""
    found = store.list(scope=Scope.owned_by(project), entity=name, tag=FORGE, status=_SEEN, limit=_MOST)
    found.sort(key=lambda memory: memory.status is not Status.ACTIVE)
    return next((memory for memory in found if memory.topic == _TOPIC + name), None)


def store_fact(store: MemoryStore, name: str, item: Item, *, project: str | None, is_asked: bool) -> Memory | None:
    """Write the fact about an item, unless it is known.

    Args:
        store: The store.
        name: Canonical name of the item.
        item: The item.
        project: The project whose memories name it.
        is_asked: Whether someone asked for it. Otherwise a fact that the user archived stays archived. A fact whose
            text the user changed stays as it is.

    Returns:
        The fact; None if it stays archived.
    """
    fact = find_fact(store, name, project)
    text = item.describe(name)
    if fact is not None and fact.status is not Status.ACTIVE:
        if not is_asked:
            return None
        fact = store.restore(fact.id)[0]
    if fact is not None and (fact.content == text or not _is_ours(fact, name)):
        return fact
    metadata = item.to_json()
    if fact is not None and item.is_done and _OFFERED in fact.metadata:
        metadata[_OFFERED] = fact.metadata[_OFFERED]
    written = store.remember(
        text,
        category=Category.FACT,
        scope=Scope.owned_by(project),
        topic=_TOPIC + name,
        entities=[name],
        tags=[FORGE],
        trust=Trust.TOOL,
        source=Source(tool=FORGE),
        metadata=metadata,
    )
    return store.get(written.id)


def _is_ours(fact: Memory, name: str) -> bool:
    """Return whether the text of a fact is unchanged since it was fetched."""
    item = parse_item(fact.metadata)
    is_fetched = fact.source.tool == FORGE and fact.trust in (Trust.TOOL, Trust.IMPORTED)
    return is_fetched and item is not None and fact.content == item.describe(name)


def find_blockers(store: MemoryStore, name: str, project: str | None) -> Iterator[Memory]:
    """Yield the unresolved blockers about an item in a project."""
    for memory in store.list(project=project, category=Category.BLOCKER, entity=name, limit=_MOST):
        if not memory.is_resolved:
            yield memory


def offer_to_resolve(store: MemoryStore, fact: Memory, blockers: Iterable[Memory], *, at: datetime) -> None:
    """Make blockers due for review, each once while the item of the fact stays closed.

    The project brief then asks whether a blocker is still true, and `remind list` shows it.
    """
    offered = fact.metadata.get(_OFFERED)
    known = [str(id_) for id_ in offered] if isinstance(offered, list) else []
    new = [blocker for blocker in blockers if blocker.id not in known]
    for blocker in new:
        if blocker.review_after is None or blocker.review_after > at:
            store.reminders.set(blocker.id, at, is_review=True)
    if new:
        ids = [*known, *(blocker.id for blocker in new)][-_MOST:]
        store.edit(fact.id, metadata={**fact.metadata, _OFFERED: ids})


def read_known_names(store: MemoryStore, project: str | None) -> frozenset[str]:
    """Return the names of the items about which a project has or had a fact."""
    found = store.list(scope=Scope.owned_by(project), tag=FORGE, status=_SEEN, limit=_MOST_FACTS)
    return frozenset((memory.topic or "").removeprefix(_TOPIC) for memory in found)
