"""Pages about the whole: the review queue, the log, what sessions were shown, projects, health."""

from __future__ import annotations

from contextlib import suppress
from itertools import islice
from typing import Final

from opencode_memory.context.lateness import DESCRIPTIONS, HINTS, cause_of
from opencode_memory.errors import NotFoundError
from opencode_memory.learning.review import list_waiting
from opencode_memory.models import Memory, Trust
from opencode_memory.server.pages.asked import Asked, Page, read_number, unknown

_WAITING: Final = 20
_OPERATIONS: Final = 50
_SESSIONS: Final = 100


def show_waiting(asked: Asked) -> Page:
    """Show the memories that wait for a decision."""
    found = list(islice(list_waiting(asked.store, everywhere=True), _WAITING + 1))
    values = {"memories": found[:_WAITING], "has_more": len(found) > _WAITING}
    return Page(template="review.html", values=values)


def show_log(asked: Asked) -> Page:
    """Show operations, the newest first."""
    mine = asked.text("all") != "yes"
    before = asked.text("before")
    found = asked.store.operations.list(
        actor=Trust.USER if mine else None,
        before=read_number(before, field="before") if before else None,
        limit=_OPERATIONS + 1,
    )
    values = {"operations": found[:_OPERATIONS], "has_more": len(found) > _OPERATIONS, "mine": mine}
    return Page(template="log.html", values=values)


def show_sessions(asked: Asked) -> Page:
    """Show the sessions beside whose messages memories were shown."""
    return Page(template="sessions.html", values={"sessions": asked.store.ledger.sessions(limit=_SESSIONS)})


def show_session(asked: Asked) -> Page:
    """Show what a session was shown, what it cost in tokens, and what helped."""
    store, id_ = asked.store, asked.path["id"]
    decisions = store.ledger.decisions(id_)
    if not decisions:
        raise unknown("session with shown memories", id_)
    known: dict[str, Memory] = {}
    for decision in decisions:
        for shown in decision.shown:
            with suppress(NotFoundError):
                known[shown.memory] = store.get(shown.memory)
    causes = [cause for cause in dict.fromkeys(map(cause_of, decisions)) if cause is not None]
    values = {
        "session": id_,
        "project": decisions[0].project,
        "decisions": decisions,
        "known": known,
        "tokens": sum(decision.tokens for decision in decisions),
        "late": [(DESCRIPTIONS[cause], HINTS[cause]) for cause in causes],
    }
    return Page(template="session.html", values=values)


def show_projects(asked: Asked) -> Page:
    """Show the projects with their marks."""
    projects = sorted(asked.store.projects.list(), key=lambda project: (-project.memories, project.name))
    return Page(template="projects.html", values={"projects": projects})


def show_health(asked: Asked) -> Page:
    """Show the health of the store and of the background process."""
    values = {"health": asked.state.health(), "stats": asked.store.stats(), "data_dir": asked.store.data_dir}
    return Page(template="health.html", values=values)
