"""The review in a terminal: one pending memory at a time, and one key for each decision."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import click

from opencode_memory.cli.context import Invocation
from opencode_memory.cli.editor import keep_if_refused
from opencode_memory.cli.memories import format_facts
from opencode_memory.cli.output import bold, dim
from opencode_memory.errors import ConflictError, InvalidInputError, NotFoundError
from opencode_memory.learning.rejections import undo_operation
from opencode_memory.learning.review import accept, is_waiting, reject
from opencode_memory.models import Memory, ScopeKind
from opencode_memory.text.formatting import format_count

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

_LINES: Final = 8
_KEYS: Final = "a accept   e edit   r reject   j next   k previous   u undo   q quit"
_NEXT: Final = frozenset({"j", "s", "n", " ", "\x1b[B", "\x1b[C"})
_PREVIOUS: Final = frozenset({"k", "p", "\x1b[A", "\x1b[D"})
_QUIT: Final = frozenset({"q", "\x1b", "\x03", "\x04"})


@dataclass(slots=True)
class Decisions:
    """What was decided.

    Attributes:
        accepted: Ids of accepted memories.
        rejected: Ids of rejected memories.
        last: What can be undone: of each decision its place in the list, its id, and its operation.
    """

    accepted: list[str] = field(default_factory=list)
    rejected: list[str] = field(default_factory=list)
    last: list[tuple[int, str, int]] = field(default_factory=list)


def decide_each(
    run: Invocation, store: MemoryStore, waiting: Sequence[Memory], *, read: Callable[[], str] | None = None
) -> Decisions:
    """Show the pending memories one by one, until each is decided or the user quits.

    Args:
        run: The run of the command.
        store: The store.
        waiting: The pending memories.
        read: Reads one key.
    """
    read = read or click.getchar
    left, place, done = list(waiting), 0, Decisions()
    said = ""
    while left:
        place = min(max(place, 0), len(left) - 1)
        memory = left[place]
        click.clear()
        print_waiting(run, memory, f"{place + 1} of {len(left)}")
        run.out.line("")
        run.out.line(dim(said or _KEYS))
        said = ""
        try:
            key = read()
        except (KeyboardInterrupt, EOFError):
            break
        if key in _QUIT:
            break
        if key in _NEXT:
            place += 1
        elif key in _PREVIOUS:
            place -= 1
        elif key == "u":
            said, place = _undo(store, left, done, place)
        elif key in {"a", "r", "e"}:
            writes = store.in_one_operation()
            try:
                said = _decide(writes, memory, key, done)
            except (ConflictError, InvalidInputError, NotFoundError) as error:
                said = f"{error}{f'; {error.hint}' if error.hint else ''}. {_KEYS}"
                _read_again(store, left, place)
            if said:
                continue
            if writes.operation is not None:
                done.last.append((place, memory.id, writes.operation))
            del left[place]
        else:
            said = f"{key!r} is no key. {_KEYS}"
    click.clear()
    if left:
        run.out.note(f"{format_count(len(left), 'memory')} left to decide.")
    return done


def _decide(store: MemoryStore, memory: Memory, key: str, done: Decisions) -> str:
    """Do what a key says; return why nothing was done, or nothing."""
    if key == "a":
        done.accepted.append(accept(store, memory).id)
    elif key == "r":
        done.rejected += [archived.id for archived in reject(store, memory)]
    else:
        text = click.edit(memory.content)
        if text is None or not text.strip():
            return f"Not changed. {_KEYS}"
        with keep_if_refused(text):
            done.accepted.append(accept(store, memory, text.strip()).id)
    return ""


def _read_again(store: MemoryStore, left: list[Memory], place: int) -> None:
    """Show the present text of a memory next; leave the memory out if it is not pending any more."""
    try:
        left[place] = store.get(left[place].id)
    except NotFoundError:
        del left[place]
        return
    if not is_waiting(left[place]):
        del left[place]


def _undo(store: MemoryStore, left: list[Memory], done: Decisions, place: int) -> tuple[str, int]:
    """Take the last decision back; return what to say, and the place to show."""
    if not done.last:
        return f"Nothing was decided yet. {_KEYS}", place
    before, id_, operation = done.last.pop()
    try:
        undo_operation(store, operation)
    except (ConflictError, NotFoundError) as error:
        return f"{error}. {_KEYS}", place
    left.insert(before, store.get(id_))
    for decided in (done.accepted, done.rejected):
        if id_ in decided:
            decided.remove(id_)
    return f"Undone. {_KEYS}", before


def print_waiting(run: Invocation, memory: Memory, number: str) -> None:
    """Print a pending memory with its evidence."""
    where = "" if memory.scope is ScopeKind.GLOBAL or run.config.project == memory.project else " "
    run.out.line(bold(f"{number}{where} "), dim(format_facts(memory, at=run.started_at)))
    run.out.excerpt(memory.content, indent="    ", lines=_LINES)
    evidence, rule = memory.metadata.get("evidence"), memory.metadata.get("rule")
    if isinstance(evidence, str) and evidence.strip() and evidence.strip() != memory.content.strip():
        run.out.excerpt(f"said: {evidence}", indent="    ", lines=2)
    if isinstance(rule, str):
        sure = "" if memory.confidence is None else f", confidence {memory.confidence:.2f}"
        run.out.line(dim(f"    because of: {rule}{sure}"))
