"""Converts loops, their steps, logs, reports and leases to documents of the store, and back."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any, Final, TypeVar

from opencode_memory.loops.model import Loop, Step, StepKind, Trouble
from opencode_memory.loops.process import ProcessId
from opencode_memory.store.documents import Change, Document
from opencode_memory.text.clock import to_ms
from opencode_memory.text.json_values import to_json

if TYPE_CHECKING:
    from pydantic import TypeAdapter

LOOP: Final = "loop"
STEP: Final = "loop-step"
EVENT: Final = "loop-event"
LEASE: Final = "loop-lease"
SESSION: Final = "loop-session"
REPORT: Final = "loop-report"
RUN: Final = "loop-run"
FOLDER: Final = "loop-folder"
NAMES: Final = "loop-names"
_LOOP_STORED: Final = frozenset({"id", "project", "revision", "created_at", "changed_at"})
_FINAL: Final = "final"
"""The kind of a final check in a stored complaint."""
_STEP_STORED: Final = frozenset({"loop", "number", "revision"})
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A change of a loop's state, for people.

    Attributes:
        at: The time.
        text: The change.
    """

    at: datetime
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A report of a model about its step, made with the tool.

    Attributes:
        verdict: ``clean`` or ``dirty``; None for a note of a coding step.
        text: Its words.
    """

    verdict: str | None
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """Who holds the lease of a loop.

    Attributes:
        owner: The server.
        until: End of the lease, in milliseconds since 1970.
        process: Its process; None in leases of earlier versions.
    """

    owner: str
    until: int
    process: ProcessId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepPlace:
    """The step to which a session belongs.

    Attributes:
        loop: Id of the loop.
        step: Number of the step.
    """

    loop: str
    step: int


def session_change(session: str, step: Step) -> Change:
    """Return the change that notes to which step a session belongs."""
    place = StepPlace(loop=step.loop, step=step.number)
    return Change(kind=SESSION, name=session, expected=0, body=to_json(place))


def event_change(loop: Loop, why: str, *, at: datetime) -> Change:
    """Return the change that adds a line to the log of a loop."""
    name = f"{loop.id}/{to_ms(at):015}-{secrets.token_hex(2)}"
    return Change(kind=EVENT, name=name, expected=0, body=to_json(Event(at=at, text=why)), project=loop.project)


def change_of(loop: Loop) -> Change:
    """Return the change that writes a loop."""
    body = {**_body(loop, _LOOP_STORED), "trouble": _format_trouble(loop.trouble)}
    return Change(kind=LOOP, name=loop.id, expected=loop.revision, body=body, project=loop.project)


def folder_name(directory: str) -> str:
    """Return the name of the document of a folder in which loops work."""
    return hashlib.sha256(directory.encode()).hexdigest()


def folder_change(loop: Loop, expected: int) -> Change:
    """Return the change that notes which loop was started last in a user's own folder."""
    body = {"loop": loop.id}
    return Change(kind=FOLDER, name=folder_name(loop.directory), expected=expected, body=body, project=loop.project)


def names_name(project: str | None) -> str:
    """Return the name of the document whose version changes when a loop of a project gets its name."""
    return hashlib.sha256((project or "").encode()).hexdigest()


def names_change(loop: Loop, expected: int) -> Change:
    """Return the change that notes which loop of a project was named last."""
    name = names_name(loop.project)
    return Change(kind=NAMES, name=name, expected=expected, body={"loop": loop.id}, project=loop.project)


def to_folder_loop(document: Document) -> str:
    """Return the id of the loop that was started last in a user's own folder."""
    return str(document.body["loop"])


def step_change(step: Step, project: str | None) -> Change:
    """Return the change that writes a step."""
    name = numbered(step.loop, step.number)
    return Change(kind=STEP, name=name, expected=step.revision, body=_body(step, _STEP_STORED), project=project)


def numbered(loop: str, number: int) -> str:
    """Return the name of a step's documents."""
    return f"{loop}/{number:06}"


def to_loop(document: Document) -> Loop:
    """Return the loop of a document."""
    given: Mapping[str, Any] = document.body
    loop: Loop = _adapter(Loop).validate_python(
        {
            **given,
            "trouble": _to_trouble(given.get("trouble")),
            "id": document.name,
            "project": document.project,
            "revision": document.version,
            "created_at": document.created_at,
            "changed_at": document.updated_at,
        }
    )
    return loop


def _format_trouble(trouble: Trouble | None) -> str:
    """Return the text ``TREE:KIND:HASH`` of a complaint, which a running server of an earlier version reads, too."""
    if trouble is None:
        return ""
    kind = _FINAL if trouble.kind is StepKind.FINAL_CHECK else trouble.kind
    return f"{trouble.tree}:{kind}:{trouble.said}"


def _to_trouble(stored: Any) -> Any:
    """Return the complaint of a stored text."""
    if not isinstance(stored, str):
        return stored
    tree, _, rest = stored.partition(":")
    kind, _, said = rest.partition(":")
    named = StepKind.FINAL_CHECK if kind == _FINAL else kind
    return {"kind": named, "said": said, "tree": None if tree == "None" else tree} if said else None


def to_step(document: Document) -> Step:
    """Return the step of a document.

    Raises:
        ValueError: Its name has no number.
    """
    loop, _, number = document.name.partition("/")
    if not number.isdecimal():
        raise ValueError(f"{number[:64]!r} is not the number of a step")
    given: Mapping[str, Any] = document.body
    step: Step = _adapter(Step).validate_python(
        {**given, "loop": loop, "number": int(number), "revision": document.version}
    )
    return step


def to_event(document: Document) -> Event:
    """Return the line of a loop's log that a document has."""
    event: Event = _adapter(Event).validate_python(document.body)
    return event


def to_report(document: Document) -> Report:
    """Return the report of a document."""
    report: Report = _adapter(Report).validate_python(document.body)
    return report


def to_place(document: Document) -> StepPlace:
    """Return the step to which the session of a document belongs."""
    place: StepPlace = _adapter(StepPlace).validate_python(document.body)
    return place


def to_holder(document: Document) -> Holder:
    """Return the holder that the document of a lease names."""
    holder: Holder = _adapter(Holder).validate_python(document.body)
    return holder


def to_process(document: Document) -> ProcessId | None:
    """Return the process that a document names. Documents of earlier versions name none; return None for them."""
    given = _adapter(dict).validate_python(document.body).get("process")
    return None if given is None else _adapter(ProcessId).validate_python(given)


def _body(record: Loop | Step, stored: frozenset[str]) -> dict[str, Any]:
    return {field.name: to_json(getattr(record, field.name)) for field in fields(record) if field.name not in stored}


@cache
def _adapter(kind: type[_T]) -> TypeAdapter[_T]:
    from pydantic import TypeAdapter  # noqa: PLC0415  only loops need it

    return TypeAdapter(kind)
