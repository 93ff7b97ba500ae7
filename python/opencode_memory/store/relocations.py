"""Moves memories to other topics, for sections of notes whose file or heading was renamed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from opencode_memory.models import Category, Memory, Source, Status
from opencode_memory.store import records
from opencode_memory.store.work_trees import WorkTrees

if TYPE_CHECKING:
    from opencode_memory._core import Engine


@dataclass(frozen=True, slots=True, kw_only=True)
class Relocation:
    """The new topic of a memory.

    Attributes:
        memory: The memory as it was read.
        topic: Its new topic.
        source: Its file and line now.
        followers: Ids of memories that are not active, have the same topic and go with it.
        metadata: Members of the metadata to set; None removes one.
        content: Its new text; None to keep the text. A text that the user or another writer has changed stays.
        category: Its new category; None to keep it. A category that the user has set stays.
        revived_as: The status of an archived memory after the move; None leaves it archived.
    """

    memory: Memory
    topic: str
    source: Source
    followers: Sequence[str] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    content: str | None = None
    category: Category | None = None
    revived_as: Status | None = None


class Relocations:
    """Moves of memories to other topics; ``MemoryStore.relocations`` is one.

    Args:
        engine: The engine.
        notify: Is called after a move, so that changed texts are embedded.
        work_trees: The work trees of the client.
    """

    def __init__(self, engine: Engine, notify: Callable[[], None], work_trees: WorkTrees) -> None:
        self._engine = engine
        self._notify = notify
        self._work_trees = work_trees

    def apply(self, project: str | None, relocations: Sequence[Relocation]) -> list[bool]:
        """Move memories of a project, in one transaction and one operation. Two memories can change places.

        Args:
            project: The project of the memories; None for global ones.
            relocations: The moves.

        Returns:
            For each memory whether it has its new topic. It has not if another writer has moved or deleted it
            meanwhile, or if another active memory has the new topic.
        """
        moved = self._engine.relocate(project, [self._to_fields(one) for one in relocations])
        self._notify()
        return moved

    def _to_fields(self, one: Relocation) -> dict[str, Any]:
        text = None
        if one.content is not None:
            entities = records.entities_after_edit(one.memory, one.content, self._work_trees)
            text = (one.memory.key, one.content, entities)
        return {
            "id": one.memory.id,
            "from": one.memory.topic or "",
            "topic": one.topic,
            "followers": list(one.followers),
            "file": one.source.file,
            "line": one.source.line,
            "metadata": json.dumps(dict(one.metadata)),
            "text": text,
            "category": None if one.category is None else one.category.value,
            "revived_as": None if one.revived_as is None else one.revived_as.value,
        }
