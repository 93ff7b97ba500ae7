"""Keeps loops and their steps in the store.

Each loop is run by the one server that holds its lease. All writes of that server require its lease, so a server that
was thought dead can change nothing. The user's change of the loop's state needs no lease: the server notices it.
"""

from __future__ import annotations

import builtins
import os
import secrets
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from string import ascii_lowercase, digits
from typing import TYPE_CHECKING, Final

from opencode_memory.errors import ConflictError, NotFoundError
from opencode_memory.loops.documents import (
    EVENT,
    LEASE,
    LOOP,
    REPORT,
    RUN,
    SESSION,
    STEP,
    Event,
    Holder,
    Report,
    change_of,
    event_change,
    numbered,
    step_change,
    to_event,
    to_holder,
    to_loop,
    to_place,
    to_process,
    to_report,
    to_step,
)
from opencode_memory.loops.model import Loop, LoopState, Step
from opencode_memory.loops.process import ProcessId, identify
from opencode_memory.store.documents import Change, Damaged, Document, Matches, sort_out
from opencode_memory.text.clock import to_ms
from opencode_memory.text.json_values import to_json

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

_ID_BYTES: Final = 4
_TRIES: Final = 20
_NAME_CHARACTERS: Final = 40
_BEFORE_NO_MARK: Final = frozenset(("", " ", *ascii_lowercase, *digits))
"""Characters after which a mark is dropped, because marks belong to letters of other scripts; "" is the start."""


class LostLeaseError(ConflictError):
    """Another server runs the loop now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The right to run a loop.

    Attributes:
        loop: Id of the loop.
        owner: The server.
        version: Version of its record; each write requires it.
    """

    loop: str
    owner: str
    version: int


class Loops:
    """The loops of a store."""

    def __init__(self, store: MemoryStore) -> None:
        self._documents = store.documents

    def new_id(self) -> str:
        """Return an id that no loop has."""
        for _ in range(_TRIES):
            id_ = secrets.token_hex(_ID_BYTES)
            if self._documents.get(LOOP, id_) is None:
                return id_
        raise ConflictError("no free id was found for the loop; try again")

    def list_all(self) -> builtins.list[Loop]:
        """Return the loops of all projects, the newest first. Only the server and its owner may see them.

        Loops whose records are damaged are left out; ``damaged`` returns them.
        """
        found, _ = sort_out(self._documents.list(LOOP), to_loop)
        return sorted(found, key=lambda loop: loop.created_at, reverse=True)

    def damaged(self) -> builtins.list[Damaged]:
        """Return the loops of all projects whose records cannot be read."""
        return sort_out(self._documents.list(LOOP), to_loop)[1]

    def damaged_in(self, project: str | None) -> builtins.list[Damaged]:
        """Return the damaged loops of a project, and those without one, which the user can name in no other place."""
        return [damaged for damaged in self.damaged() if damaged.document.project in {project, None}]

    def find_damaged(self, part: str, project: str | None) -> Damaged | None:
        """Return the damaged loop of ``damaged_in`` whose id starts with this part.

        Return None if there is none, or if the part also names another loop.
        """
        return self._match(part, project).only_damaged

    def list(self, project: str | None) -> builtins.list[Loop]:
        """Return the loops of a project, or those without one; the newest first."""
        return [loop for loop in self.list_all() if loop.project == project]

    def get(self, id: str) -> Loop:
        """Return a loop by its whole id.

        Raises:
            NotFoundError: There is none.
            CorruptStoreError: Its record is damaged.
        """
        found = self._documents.get(LOOP, id)
        if found is None:
            raise NotFoundError(f"there is no loop {id!r}", id=id)
        return found.read(to_loop)

    def find(self, part: str, project: str | None) -> Loop:
        """Return the loop of a project with this name, or whose id starts with it; of equal names the newest.

        A damaged loop has no name, so a loop of that name comes before it.

        Raises:
            NotFoundError: There is none, or several.
            CorruptStoreError: Its record is damaged.
        """
        hint = "opencode-memory loop list shows names and ids"
        return self._match(part, project).get_only(part, kind="loop", repair=describe_removal, hint=hint)

    def write(
        self,
        loop: Loop,
        step: Step | None = None,
        *,
        lease: Lease | None = None,
        why: str | None = None,
        at: datetime,
        also: Iterable[Change] = (),
    ) -> Loop:
        """Write a loop, and a step of it, in one transaction; return the loop with its new revision.

        Args:
            loop: The loop.
            step: The step.
            lease: The lease of the server; None for a change by the user.
            why: A line for the log of the loop.
            at: The current time.
            also: Other documents to write.

        Raises:
            LostLeaseError: Another server has the lease.
            ConflictError: Another writer was faster.
        """
        changes = [change_of(loop), *also]
        if step is not None:
            changes.append(step_change(step, loop.project))
        if why is not None:
            changes.append(event_change(loop, why, at=at))
        self._write(changes, lease)
        return replace(loop, revision=loop.revision + 1, changed_at=at)

    def write_step(self, step: Step, *, project: str | None, lease: Lease, also: Iterable[Change] = ()) -> Step:
        """Write a step, and return it with its new revision.

        Raises:
            LostLeaseError: Another server has the lease.
        """
        self._write([step_change(step, project), *also], lease)
        return replace(step, revision=step.revision + 1)

    def steps(self, loop: str) -> builtins.list[Step]:
        """Return the steps of a loop, the first one first.

        Raises:
            CorruptStoreError: The record of a step is damaged.
        """
        return [document.read(to_step) for document in self._documents.list(STEP, prefix=f"{loop}/")]

    def step(self, loop: str, number: int) -> Step | None:
        """Return a step of a loop; None if there is none.

        Raises:
            CorruptStoreError: Its record is damaged.
        """
        found = self._documents.get(STEP, numbered(loop, number))
        return None if found is None else found.read(to_step)

    def last_step(self, loop: Loop) -> Step | None:
        """Return the last step of a loop; None if there is none, or if its record is damaged."""
        found = self._documents.get(STEP, numbered(loop.id, loop.steps))
        readable, _ = sort_out([] if found is None else [found], to_step)
        return readable[0] if readable else None

    def events(self, loop: str) -> builtins.list[Event]:
        """Return the log of a loop, the first line first.

        Raises:
            CorruptStoreError: A line is damaged.
        """
        found = self._documents.list(EVENT, prefix=f"{loop}/")
        return [document.read(to_event) for document in found]

    def acquire(self, loop: str, owner: str, *, at: datetime, seconds: float) -> Lease | None:
        """Take the lease of a loop, unless another server holds it, which is not known to be dead."""
        found = self._documents.get(LEASE, loop)
        holder = _holder_of(found)
        if holder is not None and holder.owner != owner and self.is_held(loop, at=at):
            return None
        return self._hold(loop, owner, found.version if found else 0, at=at, seconds=seconds)

    def dead_holder(self, loop: str) -> ProcessId | None:
        """Return the server that holds the lease of a loop if it is known to be dead; None otherwise."""
        holder = _holder_of(self._documents.get(LEASE, loop))
        process = None if holder is None else holder.process
        return process if process is not None and process.is_known_dead else None

    def is_held(self, loop: str, *, at: datetime) -> bool:
        """Return whether a server that is not known to be dead holds the lease of a loop."""
        holder = _holder_of(self._documents.get(LEASE, loop))
        if holder is None or holder.until <= to_ms(at):
            return False
        return holder.process is None or not holder.process.is_known_dead

    def renew(self, lease: Lease, *, at: datetime, seconds: float) -> Lease:
        """Extend a lease.

        Raises:
            LostLeaseError: Another server has it.
        """
        renewed = self._hold(lease.loop, lease.owner, lease.version, at=at, seconds=seconds)
        if renewed is None:
            raise LostLeaseError(f"another server runs the loop {lease.loop}")
        return renewed

    def release(self, lease: Lease) -> None:
        """Give a lease back; nothing if another server has it."""
        change = Change(kind=LEASE, name=lease.loop, expected=lease.version, deletes=True)
        try:
            self._documents.write([change])
        except ConflictError:
            return

    def note_run(self, process: ProcessId, lease: Lease) -> None:
        """Record the process group of a command before it begins.

        Raises:
            LostLeaseError: Another server has the lease.
        """
        found = self._documents.get(RUN, lease.loop)
        expected = 0 if found is None else found.version
        body = {"process": to_json(process)}
        self._write([Change(kind=RUN, name=lease.loop, expected=expected, body=body)], lease)

    def noted_run(self, loop: str) -> ProcessId | None:
        """Return the process group of the last command of a loop, which may have ended; None if there was none."""
        found = self._documents.get(RUN, loop)
        return None if found is None else found.read(to_process)

    def of_session(self, session: str) -> tuple[Loop, Step] | None:
        """Return the loop and the step to which a session belongs; None if it belongs to none."""
        found = self._documents.get(SESSION, session)
        if found is None:
            return None
        place = found.read(to_place)
        step = self.step(place.loop, place.step)
        return None if step is None else (self.get(step.loop), step)

    def report(self, step: Step, report: Report) -> None:
        """Record what the model of a step reports. A later report replaces an earlier one.

        Raises:
            ConflictError: Another report came at the same time.
        """
        name = numbered(step.loop, step.number)
        found = self._documents.get(REPORT, name)
        change = Change(kind=REPORT, name=name, expected=found.version if found else 0, body=to_json(report))
        self._documents.write([change])

    def reported(self, step: Step) -> Report | None:
        """Return what the model of a step has reported; None if nothing."""
        found = self._documents.get(REPORT, numbered(step.loop, step.number))
        return None if found is None else found.read(to_report)

    def _match(self, part: str, project: str | None) -> Matches[Loop]:
        """Return the newest loop with this name, or else all loops whose id starts with it, and the damaged ones."""
        wanted, known = part.strip().lower(), self.list(project)
        named = [loop for loop in known if loop.name in {wanted, _to_name(part)}]
        if named or not wanted:
            return Matches(readable=named[:1], damaged=[])
        return Matches(
            readable=[loop for loop in known if loop.id.startswith(wanted)],
            damaged=[loop for loop in self.damaged_in(project) if loop.document.name.startswith(wanted)],
        )

    def _hold(self, loop: str, owner: str, version: int, *, at: datetime, seconds: float) -> Lease | None:
        body = {"owner": owner, "until": to_ms(at) + round(seconds * 1000), "process": to_json(identify(os.getpid()))}
        try:
            [held] = self._documents.write([Change(kind=LEASE, name=loop, expected=version, body=body)])
        except ConflictError:
            return None
        return Lease(loop=loop, owner=owner, version=held)

    def _write(self, changes: builtins.list[Change], lease: Lease | None) -> None:
        if lease is not None:
            changes.append(Change(kind=LEASE, name=lease.loop, expected=lease.version))
        try:
            self._documents.write(changes)
        except ConflictError as error:
            holder = None if lease is None else _holder_of(self._documents.get(LEASE, lease.loop))
            if lease is not None and (holder is None or holder.owner != lease.owner):
                raise LostLeaseError(f"another server runs the loop {lease.loop}") from error
            raise


def _holder_of(document: Document | None) -> Holder | None:
    """Return who holds a lease; None for nobody.

    A damaged lease names nobody. Another server may take it, and then each write of the former holder is refused.
    """
    readable, _ = sort_out([] if document is None else [document], to_holder)
    return readable[0] if readable else None


def describe_removal(document: Document) -> str:
    """Return what the user can do about a damaged loop."""
    return (
        "`opencode-memory backup restore` brings back the records of a backup;"
        f" `opencode-memory loop cancel {document.name}{document.project_option}` removes this record,"
        " and keeps branch and folder"
    )


def name_of(title: str, taken: Iterable[LoopState | str]) -> str:
    """Return a name for a loop, made of a title, that none of ``taken`` has.

    >>> name_of("Parse *empty* files!", ()), name_of("A", ("a", "a-2")), name_of("Größe prüfen", ())
    ('parse-empty-files', 'a-3', 'grosse-prufen')
    >>> name_of("Проверь файлы", ()), name_of("空のファイルを読む", ()), name_of("⚠", ())
    ('проверь-файлы', '空のファイルを読む', 'loop')
    """
    name = _to_name(title) or "loop"
    known, number = set(map(str, taken)), 2
    if name not in known:
        return name
    while f"{name}-{number}" in known:
        number += 1
    return f"{name}-{number}"


def _to_name(title: str) -> str:
    """Return a title as a part of a branch's name: words of letters and digits, or nothing.

    Latin letters lose their accents. Letters of other scripts stay.
    """
    words = ""
    for character in unicodedata.normalize("NFKC", title.casefold()):
        # A letter with an accent becomes the letter and the accent.
        letter = "".join(part for part in unicodedata.normalize("NFKD", character) if not unicodedata.combining(part))
        is_mark = unicodedata.category(character).startswith("M")
        if letter.isascii() and letter.isalnum():
            words += letter
        elif character.isalnum() or (is_mark and words[-1:] not in _BEFORE_NO_MARK):
            words += character  # Other scripts write vowels as marks, without which a word is another one.
        elif not is_mark and unicodedata.category(character) != "Cf":
            words += " "
    return "-".join(words.split())[:_NAME_CHARACTERS].strip("-")
