"""Data of a loop and its steps."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from opencode_memory.config.sections import SandboxMode


class LoopState(StrEnum):
    """State of a loop."""

    RUNNING = "running"
    WAITING = "waiting"
    """It needs the user: no progress, or a provider that refuses."""
    PAUSED = "paused"
    """The user, a limit or an ended OpenCode stopped it."""
    COMPLETED = "completed"
    CANCELLED = "cancelled"
    FAILED = "failed"

    @property
    def has_ended(self) -> bool:
        """Whether the loop never goes on."""
        return self in {LoopState.COMPLETED, LoopState.CANCELLED, LoopState.FAILED}


class Rest(StrEnum):
    """What a loop that rests needs."""

    HOST = "host"
    """An OpenCode in its project; then it goes on by itself."""
    LIMIT = "limit"
    PERSON = "person"
    PROVIDER = "provider"
    PROGRESS = "progress"
    ERROR = "error"


class StepKind(StrEnum):
    """Work of a step."""

    PREPARE = "prepare"
    CODE = "code"
    CHECK = "check"
    AUDIT = "audit"
    FINAL_CHECK = "final_check"
    FINISH = "finish"

    @property
    def asks_model(self) -> bool:
        """Whether a model does the work, in a session of its own."""
        return self in {StepKind.CODE, StepKind.AUDIT}


class StepState(StrEnum):
    """State of a step."""

    PLANNED = "planned"
    SENT = "sent"
    DONE = "done"


class Place(StrEnum):
    """Where a loop works."""

    WORKTREE = "worktree"
    IN_PLACE = "in_place"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """A complaint of a check or an audit about the files of a loop.

    Attributes:
        kind: The step that complained.
        said: Hash of the complaint.
        tree: The files, as the id of a git tree; None if they are not known.
    """

    kind: StepKind
    said: str
    tree: str | None

    def is_about_the_same(self, other: Trouble | None) -> bool:
        """Return whether another complaint says the same, perhaps about other files."""
        return other is not None and (other.kind, other.said) == (self.kind, self.said)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of a loop. A loop that reaches one is paused before its next coding step.

    Attributes:
        iterations: Coding steps.
        seconds: Time at work.
        tokens: Input and output tokens without cached ones; None for no limit.
        cost: Cost as OpenCode counts it, in US dollars; None for no limit.
    """

    iterations: int
    seconds: float
    tokens: int | None
    cost: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """Use of a model by a loop or a step.

    Attributes:
        input: Input tokens that were not cached.
        output: Output tokens.
        cached: Input tokens from the provider's cache.
        cost: Cost in US dollars.
        seconds: Time at work.
    """

    input: int = 0
    output: int = 0
    cached: int = 0
    cost: float = 0.0
    seconds: float = 0.0

    @property
    def tokens(self) -> int:
        """Tokens that count against the limit."""
        return self.input + self.output

    def __add__(self, other: Spent) -> Spent:
        return Spent(
            input=self.input + other.input,
            output=self.output + other.output,
            cached=self.cached + other.cached,
            cost=self.cost + other.cost,
            seconds=self.seconds + other.seconds,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Options of one loop that the user gave when starting it. ``loop restart`` uses them again.

    An option that is None is taken from the configuration.

    Attributes:
        name: Its name; None for one made of the plan's title.
        iterations: Limit of coding steps.
        takes_changes: Whether uncommitted changes come along.
        setup: Command that prepares the worktree.
        audits: Whether an auditor reviews each change.
        min_audits: Clean audits that it needs at least.
        model: Model that codes, as ``provider/model``.
        sandbox: Mode of the sandbox.
    """

    name: str | None = None
    iterations: int | None = None
    takes_changes: bool = False
    setup: str | None = None
    audits: bool | None = None
    min_audits: int | None = None
    model: str | None = None
    sandbox: SandboxMode | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """A loop.

    Attributes:
        id: Its id, 8 hexadecimal characters.
        name: Its name, unique among the loops of a project that have not ended.
        project: Its project.
        plan: Id of its plan.
        directory: Main folder of the user's repository.
        place: Where it works.
        commands: The verification commands.
        sections: Number of sections of the plan.
        limits: Its limits.
        created_at: The time it was started.
        min_audits: Clean audits that it needs at least.
        audits: Whether an auditor reviews each change.
        code_model: Model that codes, as ``provider/model``; None for OpenCode's default.
        audit_model: Model that audits.
        setup: Command that prepares the worktree; None for none.
        copies: Patterns of ignored files to copy into the worktree.
        takes_changes: Whether uncommitted changes are taken along.
        sandbox: Engine of the sandbox, for example ``bwrap``.
        network: Whether commands in the sandbox may use the network.
        image: Image of a container.
        folders: More folders that the sandbox shows, read-only.
        program: Program of OpenCode that the server may start for it; None if it waits for an OpenCode that is open.
        removes_worktree: Whether its worktree is removed at the end if all is committed.
        options: The options that the user gave.
        state: Its state.
        rest: What it needs to go on; None if it does not rest.
        reason: Why it is not running; empty if it is.
        worktree: The folder in which it works; None before it is prepared.
        branch: Its branch.
        base: The commit from which it started.
        head: Its newest commit.
        tree: The files that were checked last, as the id of a git tree.
        config_mark: Hash of git's settings that may run a program; None until it is prepared, and after the user has
            resumed it, who accepts the settings as they are then.
        iteration: Number of its coding step, from 1.
        section: Number of its section, from 1.
        clean_audits: Clean audits since the last change.
        trouble: What the last check or audit complained about; None if it did not.
        stalls: How often in a row nothing changed and the complaint was the same.
        changing_audits: Audits in a row during which files were changed.
        complaints: How often each open finding was reported.
        notes: What was done, a line for each coding step.
        steps: Number of its steps.
        host: Process id of the OpenCode that runs its sessions.
        host_started: Start time of that process, in clock ticks.
        spent: What it has used.
        revision: Version of this record; changes name it.
        changed_at: The time of its last change.
    """

    id: str
    name: str
    project: str | None
    plan: str
    directory: str
    place: Place
    commands: tuple[str, ...]
    sections: int
    limits: Limits
    created_at: datetime
    min_audits: int = 1
    audits: bool = True
    code_model: str | None = None
    audit_model: str | None = None
    setup: str | None = None
    copies: tuple[str, ...] = ()
    takes_changes: bool = False
    sandbox: str = "off"
    network: bool = False
    image: str = ""
    folders: tuple[str, ...] = ()
    program: str | None = None
    removes_worktree: bool = True
    options: Options = field(default_factory=Options)
    state: LoopState = LoopState.RUNNING
    rest: Rest | None = None
    reason: str = ""
    worktree: str | None = None
    branch: str | None = None
    base: str | None = None
    head: str | None = None
    tree: str | None = None
    config_mark: str | None = None
    iteration: int = 0
    section: int = 1
    clean_audits: int = 0
    trouble: Trouble | None = None
    stalls: int = 0
    changing_audits: int = 0
    complaints: dict[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    steps: int = 0
    host: int | None = None
    host_started: int | None = None
    spent: Spent = field(default_factory=Spent)
    revision: int = 0
    changed_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A step of a loop. It is written before it is carried out, and carried out again after any death.

    Attributes:
        loop: Id of its loop.
        number: Its number, from 1.
        kind: Its work.
        iteration: The coding step to which it belongs.
        section: The section of the plan.
        state: Its state.
        started_at: The time it was planned.
        prompt: What the model is asked; empty if no model is asked.
        message: Id of the message that asks it, so that it is sent once.
        part: Id of that message's text.
        session: The session; None until it is created.
        attempts: How often the message was sent.
        asked_again: Whether the auditor was reminded of its verdict.
        outcome: The result; empty until it is done.
        spent: What it has used.
        ended_at: The time it was done.
        revision: Version of this record.
    """

    loop: str
    number: int
    kind: StepKind
    iteration: int
    section: int
    started_at: datetime
    state: StepState = StepState.PLANNED
    prompt: str = ""
    message: str | None = None
    part: str | None = None
    session: str | None = None
    attempts: int = 0
    asked_again: bool = False
    outcome: dict[str, Any] = field(default_factory=dict)
    spent: Spent = field(default_factory=Spent)
    ended_at: datetime | None = None
    revision: int = 0
