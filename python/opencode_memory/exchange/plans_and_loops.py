"""Plans and loops in an export: what is carried, and at rest, because an import must not begin any work."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from opencode_memory.errors import InvalidInputError
from opencode_memory.loops import documents as loops
from opencode_memory.plans import plans
from opencode_memory.store.documents import Damaged, Document, sort_out
from opencode_memory.text.problems import describe_first

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

_READERS: Final[Mapping[str, Callable[[Document], object]]] = {
    plans.KIND: plans.to_plan,
    plans.TEXT_KIND: plans.to_version,
    loops.LOOP: loops.to_loop,
    loops.STEP: loops.to_step,
    loops.EVENT: loops.to_event,
    loops.REPORT: loops.to_report,
    loops.SESSION: loops.to_place,
}
EXPORTED: Final = frozenset(_READERS)
"""Kinds of documents that exports carry. Leases and running commands belong to one machine."""
_ENDED: Final = ("completed", "cancelled", "failed")
_WHY: Final = "it was imported; restart it to carry out its plan here"


def at_rest(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document so that no server goes on with it by itself.

    A loop that has not ended becomes a cancelled one. A plan that waits for its execution has to be approved again.

    Raises:
        InvalidInputError: A plan or a loop does not say its state.
    """
    match row:
        case {"kind": "loop", "body": {"state": str(state)} as body}:
            rested: dict[str, str | None] = {"program": None, "host": None, "host_started": None}
            if state not in _ENDED:
                rested |= {"state": "cancelled", "rest": None, "reason": _WHY}
            return {**row, "body": {**body, **rested}}
        case {"kind": "plan", "body": {"status": str(status)} as body}:
            is_waiting = status in {"approved", "running"}
            return {**row, "body": {**body, "status": "submitted", "approval": None}} if is_waiting else dict(row)
        case {"kind": "loop" | "plan" as kind}:
            field = f"{kind}.{'state' if kind == 'loop' else 'status'}"
            raise InvalidInputError(f"{field}: expected a text", field=field)
    return dict(row)


def check_readable(store: MemoryStore) -> None:
    """Check that all plans and loops of a store can be read. One that cannot could not be used.

    Raises:
        InvalidInputError: One cannot be read; the message names it and the field.
    """
    for kind, read in _READERS.items():
        for document in store.documents.list(kind):
            if (found := _find_problem(document, read)) is not None:
                field, problem = found
                raise InvalidInputError(f"{kind} {document.name!r}: {problem}", field=f"{kind}.{field}")


def find_damaged_parts(store: MemoryStore) -> Iterator[Damaged]:
    """Yield what cannot be read of plans and loops: their steps, logs, reports and texts, but not they themselves."""
    for kind, read in _READERS.items():
        if kind not in {plans.KIND, loops.LOOP}:
            yield from sort_out(store.documents.list(kind), read)[1]


def find_refused(store: MemoryStore) -> Iterator[Damaged]:
    """Yield the records of an export that no import accepts, because they cannot be read."""
    for kind, read in _READERS.items():
        yield from sort_out(store.documents.list(kind), read)[1]


def _find_problem(document: Document, read: Callable[[Document], object]) -> tuple[str, str] | None:
    """Return the first field that cannot be read, and a sentence about it. Return None if all can be read."""
    from pydantic import ValidationError  # noqa: PLC0415  only plans and loops need it

    if not isinstance(document.body, Mapping):
        return "body", "body: expected an object"
    try:
        read(document)
    except ValidationError as error:
        return describe_first(error, "body")
    except ValueError as error:
        return "name", f"name: {error}"
    return None
