"""Transcripts with labels: reads the files of a data folder.

``sessions.json.gz`` maps each project, ``owner+name``, to its sessions. The labels are JSON lines: ``messages.jsonl``
(messages of people that are worth keeping or not), ``memories.jsonl`` (judged memories of an earlier version) and
``standing.jsonl`` (judged sentences with words of standing orders).
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from ..conversations import DataError

SESSIONS: Final = "sessions.json.gz"
OTHER_LANGUAGES: Final = "other-languages.json.gz"
PERSON: Final = "user"
SUMMARY: Final = "summary"

_Label = TypeVar("_Label")
_NO_NAME: Final = re.compile(r"[^a-z0-9]")


@dataclass(frozen=True, slots=True)
class Message:
    """One message.

    Attributes:
        id: Unique in all transcripts.
        role: ``user`` (a person), ``assistant`` or ``summary`` (of a compaction).
        at_ms: When it was written, UTC milliseconds.
        text: Its text; for an agent, all texts between its tool calls.
        parts: Parts of an agent's message: ``["text", TEXT]`` or ``["tool", {"tool", "input", "output", …}]``.
    """

    id: str
    role: str
    at_ms: int
    text: str
    parts: tuple[tuple[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Session:
    """One conversation. ``project`` is ``owner+name``."""

    id: str
    project: str
    title: str
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class LabelledMessage:
    """A message of a person with its label: ``keep``, ``doubtful`` or ``nothing``.

    Attributes:
        id: Id of the message.
        session: Id of its session.
        label: The label.
        sample: How the message was chosen: ``random`` or ``typed``.
        phrases: A right memory contains one of these.
    """

    id: str
    session: str
    label: str
    sample: str
    phrases: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class JudgedText:
    """A memory or a sentence that was judged: ``useful``, ``partly`` or ``noise``. ``message`` is None if unknown."""

    text: str
    session: str
    message: str | None
    label: str


@dataclass(frozen=True, slots=True)
class Transcripts:
    """Sessions of the chosen projects, and the labels that belong to them."""

    sessions: tuple[Session, ...]
    messages: tuple[LabelledMessage, ...] = ()
    memories: tuple[JudgedText, ...] = ()
    standing: tuple[JudgedText, ...] = ()

    @property
    def projects(self) -> tuple[str, ...]:
        """Names of the projects, in their order."""
        return tuple(dict.fromkeys(session.project for session in self.sessions))

    @property
    def people(self) -> int:
        """Number of messages of people."""
        return sum(message.role == PERSON for session in self.sessions for message in session.messages)


def read(folder: Path, *, only: AbstractSet[str] = frozenset(), without: AbstractSet[str] = frozenset()) -> Transcripts:
    """Read the transcripts and labels of a folder.

    Args:
        folder: Contains the four files.
        only: Projects to read; empty for all.
        without: Projects to leave out.

    Raises:
        DataError: A file is missing or has another layout, or a project does not exist.
    """
    sessions = read_sessions(folder / SESSIONS)
    projects = {session.project for session in sessions}
    if unknown := sorted((only | without) - projects):
        raise DataError(f"unknown projects: {', '.join(unknown)}; there are {', '.join(sorted(projects))}")
    chosen = tuple(
        session for session in sessions if session.project not in without and (not only or session.project in only)
    )
    ids = {session.id for session in chosen}
    return Transcripts(
        sessions=chosen,
        messages=tuple(label for label in _lines(folder / "messages.jsonl", _labelled) if label.session in ids),
        memories=tuple(label for label in _lines(folder / "memories.jsonl", _memory) if label.session in ids),
        standing=tuple(label for label in _lines(folder / "standing.jsonl", _sentence) if label.session in ids),
    )


def read_sessions(path: Path) -> tuple[Session, ...]:
    """Read a file of transcripts, compressed with gzip if its name ends so.

    Raises:
        DataError: The file is missing or has another layout.
    """
    try:
        content = path.read_bytes()
        found = json.loads(gzip.decompress(content) if path.suffix == ".gz" else content)
        return tuple(_sessions(found))
    except FileNotFoundError as error:
        raise DataError(f"{path} does not exist") from error
    except (OSError, EOFError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise DataError(f"{path}: not a file of transcripts: {error!r}") from error


def session_id(project: str, number: int) -> str:
    """Return the id of a session, as in the labels: letters and digits of the project, and four digits."""
    return f"ses_{_NO_NAME.sub('', project.lower())[:14]}{number:04}"


def _sessions(found: dict[str, Sequence[dict[str, Any]]]) -> Iterator[Session]:
    count = 0
    for project, sessions in found.items():
        for position, session in enumerate(sessions):
            messages = []
            for message in session["messages"]:
                count += 1
                messages.append(_message(message, f"msg_{count:010}"))
            name = session_id(project, session.get("k", position))
            yield Session(name, project, session["title"], tuple(messages))


def _message(found: dict[str, Any], default_id: str) -> Message:
    parts = tuple((kind, value) for kind, value in found.get("parts", ()))
    text = found["text"] if "text" in found else "\n\n".join(value for kind, value in parts if kind == "text")
    return Message(found.get("id") or default_id, found["role"], found["at"], text, parts)


def _lines(path: Path, convert: Callable[[dict[str, Any]], _Label]) -> Iterator[_Label]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise DataError(f"{path} does not exist") from error
    # A message may contain other line separators, at which splitlines would cut it.
    for number, line in enumerate(text.split("\n"), 1):
        if line:
            try:
                yield convert(json.loads(line))
            except (KeyError, TypeError, ValueError) as error:
                raise DataError(f"{path}, line {number}: not a label: {error!r}") from error


def _labelled(found: dict[str, Any]) -> LabelledMessage:
    return LabelledMessage(found["message"], found["session"], found["label"], found["set"], tuple(found["evidence"]))


def _memory(found: dict[str, Any]) -> JudgedText:
    return JudgedText(found["content"], found["session"], found.get("message"), found["label"])


def _sentence(found: dict[str, Any]) -> JudgedText:
    return JudgedText(found["text"], found["session"], found["message"], found["label"])
