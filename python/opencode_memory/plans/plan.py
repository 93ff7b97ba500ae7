"""Data of a plan."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class PlanStatus(StrEnum):
    """State of a plan."""

    DRAFT = "draft"
    SUBMITTED = "submitted"
    APPROVED = "approved"
    RUNNING = "running"
    DONE = "done"
    ABANDONED = "abandoned"

    @property
    def is_open(self) -> bool:
        """Whether the plan may still be changed by its author."""
        return self in {PlanStatus.DRAFT, PlanStatus.SUBMITTED}


class Mode(StrEnum):
    """How an approved plan is carried out."""

    HERE = "here"
    NEW = "new"
    LOOP = "loop"
    LOOP_HERE = "loop-here"


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """The user's decision to carry out a plan.

    Attributes:
        mode: How.
        at: The time.
        by: Where the user decided, for example ``command line``.
        message: Id of the message that starts the work, so that it is sent once.
        part: Id of that message's text.
        session: The session in which it is sent; for a new session, None until it is created.
        loop: Id of the loop that carries out the plan.
    """

    mode: Mode
    at: datetime
    by: str
    message: str | None = None
    part: str | None = None
    session: str | None = None
    loop: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A plan.

    Attributes:
        id: Its id, 8 hexadecimal characters.
        project: Its project; None if it has none.
        title: Its title.
        status: Its state.
        text_version: Number of the newest text, from 1.
        revision: Version of this record; changes name it.
        created_at: The time it was written first.
        changed_at: The time of its last change.
        session: The session that wrote it; None for the command line.
        agent: The agent that wrote it.
        directory: Folder of that session.
        remark: The user's remark with which the plan was sent back.
        approval: The approval; None before.
    """

    id: str
    project: str | None
    title: str
    status: PlanStatus
    text_version: int
    revision: int
    created_at: datetime
    changed_at: datetime
    session: str | None = None
    agent: str | None = None
    directory: str | None = None
    remark: str | None = None
    approval: Approval | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanVersion:
    """One text of a plan; a text is never overwritten.

    Attributes:
        number: Its number, from 1.
        text: The Markdown.
        by: The writer: an agent's name, or ``user``.
        why: The reason for the change.
        at: The time.
    """

    number: int
    text: str
    by: str
    why: str
    at: datetime
