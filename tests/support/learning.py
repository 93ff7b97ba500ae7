"""Helpers to describe sessions and to check what is learned from them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from opencode_memory import MemoryStore
from opencode_memory.hosts.opencode.feed.history_reader import OpenCodeReading
from opencode_memory.learning.extraction.candidate import Candidate
from opencode_memory.learning.extraction.events import (
    AssistantText,
    Event,
    Feedback,
    Message,
    SessionInfo,
    ToolCall,
    UserText,
)
from opencode_memory.learning.extraction.session import end, step
from opencode_memory.learning.extraction.session_state import SessionState
from opencode_memory.learning.learner import Learner
from opencode_memory.learning.switches import Switches
from opencode_memory.models import Category, Status
from opencode_memory.projects.resolver import ProjectResolver
from support.opencode import FakeOpenCode
from support.stores import NOW_MS

FOLDER: Final = "/home/ann/shop"
SESSION: Final = SessionInfo(id="ses_a", directory=FOLDER)
RUFF: Final = "From now on always run ruff before you commit."
LEDGER: Final = "We decided to use PostgreSQL for the ledger."
SMALL: Final = "I prefer small commits."
BLOCKED: Final = "We are blocked: the missing AWS credentials stop every deployment."
UNBLOCKED: Final = "The AWS credentials arrived."
SHOP: Final = SessionInfo(id="ses_a", directory=FOLDER)
OTHER: Final = SessionInfo(id="ses_b", directory=FOLDER)
SORT: Final = "Sort imports by length."
COMPLAINT: Final = "E   ValueError: boom"


def user(text: str) -> UserText:
    return UserText(text=text)


def agent(text: str) -> AssistantText:
    return AssistantText(text=text)


def bash(command: str, exit: int | None = 0, output: str = "", **input: Any) -> ToolCall:
    return ToolCall(tool="bash", input={"command": command, **input}, exit=exit, output=output)


def fail(command: str, output: str = COMPLAINT) -> ToolCall:
    return bash(command, 1, output)


def edit(file: str = "src/app.py", old: str = "a = 1", new: str = "a = 2") -> ToolCall:
    return ToolCall(tool="edit", input={"filePath": f"{FOLDER}/{file}", "oldString": old, "newString": new})


def refuse(text: str, command: str = "npm install") -> Feedback:
    return Feedback(tool="bash", input={"command": command}, text=text)


def message(name: str, *events: Event, at: int = 1_000, digest: str | None = None) -> Message:
    return Message(id=f"msg_{name}", at_ms=at, events=events, digest=digest or f"digest of {name}")


def messages(*events: Event, of: str = "a", at: int = 1_000) -> list[Message]:
    """Return one message for each event."""
    return [message(f"{of}_{number:04}", event, at=at + number) for number, event in enumerate(events)]


def run_steps(
    told: Iterable[Message], state: SessionState | None = None, info: SessionInfo = SESSION
) -> tuple[SessionState, list[Candidate]]:
    """Process messages; return the new state and the candidates that are ready."""
    state = state or SessionState()
    ready: list[Candidate] = []
    for one in told:
        state, more = step(info, state, one)
        ready += more
    return state, ready


def find_candidates(*events: Event, info: SessionInfo = SESSION) -> list[Candidate]:
    """Return all candidates of a session, including its summary."""
    state, ready = run_steps([*messages(*events)], info=info)
    _, rest = end(info, replace_own(state, len(events)), at_ms=9_000)
    return [*ready, *rest]


def replace_own(state: SessionState, own: int) -> SessionState:
    """Set the number of own messages, as the learner does."""
    return replace(state, own=own)


def learn_texts(*events: Event, info: SessionInfo = SESSION, least: float = 0.4) -> list[str]:
    """Return the texts of confident candidates, without summaries and weak statements."""
    return [
        one.content
        for one in find_candidates(*events, info=info)
        if one.category is not Category.CONVERSATION and one.confidence >= least and not one.is_weak
    ]


def filter_category(candidates: Iterable[Candidate], category: Category) -> list[Candidate]:
    return [one for one in candidates if one.category is category]


def interleave(parts: Sequence[Sequence[Any]], order: Iterable[int]) -> list[tuple[int, Any]]:
    """Merge sequences in an order; the rest is appended."""
    left = [list(part) for part in parts]
    taken = [(number, left[number].pop(0)) for number in order if left[number]]
    return [*taken, *itertools.chain.from_iterable([(n, one) for one in part] for n, part in enumerate(left))]


def learn(
    store: MemoryStore, *events: Event, of: str = "ses_a", project: str | None = "app", is_idle: bool = True
) -> Any:
    """Process a session in one batch, with messages of its own."""
    info = SessionInfo(id=of, directory=FOLDER)
    return process(store, info, messages(*events, of=of), project=project, is_idle=is_idle)


def process(store: MemoryStore, info: SessionInfo, told: Sequence[Message], **options: Any) -> Any:
    return Learner(store).process(info, told, **({"project": "app", "at_ms": NOW_MS, "is_idle": True} | options))


def list_learned(store: MemoryStore, *, status: str | list[str] = "active", project: str | None = "app") -> list[str]:
    """Return the texts of learned memories in alphabetical order, without summaries."""
    listed = store.list(project=project, status=status, limit=1_000)
    return sorted(one.content for one in listed if one.category is not Category.CONVERSATION)


def list_all(store: MemoryStore, project: str = "app") -> list[tuple[Any, ...]]:
    """Return all memories of a project in a form that is comparable between stores."""
    listed = store.list(project=project, scope="project", status=[*Status], limit=1_000)
    return sorted(
        (one.content, one.category, one.status, one.topic or "", one.source.session or "", one.confidence or 0)
        for one in listed
    )


def say(fake: FakeOpenCode, session: str, *texts_of_user: str, at: int = 1_000) -> None:
    for number, text in enumerate(texts_of_user):
        fake.user(session, f"msg_{session}_{at + 2 * number:08}", text, at=at + 2 * number)
        fake.agent(session, f"msg_{session}_{at + 2 * number + 1:08}", "Done.", at=at + 2 * number + 1)


def make_reader(store: MemoryStore, path: Path, **options: Any) -> OpenCodeReading:
    defaults: dict[str, Any] = {"projects": ProjectResolver(store, {}), "switches": Switches(), "rest_ms": 0}
    return OpenCodeReading(store, path, **(defaults | options))


def find_project(store: MemoryStore) -> str:
    return ProjectResolver(store, {}).of_session(FOLDER) or ""


def list_learned_everywhere(store: MemoryStore) -> list[str]:
    listed = store.list(project="*", limit=1_000)
    return sorted(one.content for one in listed if one.category is not Category.CONVERSATION)
