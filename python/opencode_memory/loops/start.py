"""Starts, pauses, resumes and cancels loops: the one place for tools, commands and dialogs."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from opencode_memory._core import redact
from opencode_memory.config.sections import SandboxMode
from opencode_memory.errors import ConflictError, InvalidInputError, NotFoundError
from opencode_memory.loops.documents import (
    FOLDER,
    NAMES,
    change_of,
    folder_change,
    folder_name,
    names_change,
    names_name,
)
from opencode_memory.loops.git import Git
from opencode_memory.loops.model import Limits, Loop, LoopState, Options, Place, Rest
from opencode_memory.loops.records import Loops, name_of
from opencode_memory.loops.retention import forget_damaged
from opencode_memory.loops.transition import reached_limit, rest, resume
from opencode_memory.loops.worktree import BRANCHES, Repository, find_repository
from opencode_memory.plans import Approval, Mode, Plan, Plans, PlanText, read_plan
from opencode_memory.platform import system
from opencode_memory.store.documents import Change, Damaged

if TYPE_CHECKING:
    from opencode_memory.config.load import Config
    from opencode_memory.store.memory_store import MemoryStore

_ITERATIONS_OF_A_SECTION: Final = 3
_TRIES: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What the user wants of a loop beyond the configuration.

    Attributes:
        directory: A folder of the repository.
        by: Where the user decided.
        in_place: Whether it works in the user's own folder.
        options: What the user chose for this loop.
        program: Program of OpenCode that the server may start for it.
    """

    directory: Path
    by: str
    in_place: bool = False
    options: Options = field(default_factory=Options)
    program: str | None = None


def check_start(store: MemoryStore, wish: Wish, *, config: Config) -> Repository:
    """Return the repository in which a loop would be started.

    Raises:
        InvalidInputError: Loops are off, the folder is in no repository with a commit, it would have a sandbox, or the
            command that prepares the worktree has a secret.
        ConflictError: Another loop works in the user's own folder, in which this one is to work, the folder is the
            worktree of a loop, or a branch of the repository prevents the branch of the loop.
    """
    _refuse_disabled(config)
    _sandbox_of(wish, config)
    _refuse_secret(wish.options.setup)
    repository = find_repository(wish.directory)
    if not wish.in_place:
        _refuse_branch(repository)
    _refuse_second(store, wish, repository)
    return repository


def _refuse_branch(repository: Repository) -> None:
    """Refuse a repository in which git can make no branch of a loop, whose names begin with ``loop/``."""
    prefix = BRANCHES.removesuffix("/")
    if Git(work_tree=repository.folder).succeeds("show-ref", "--verify", "--quiet", f"refs/heads/{prefix}"):
        error = ConflictError(f"the branch {prefix} in {repository.folder} leaves no name for a branch of the loop")
        error.hint = f"give it another name: git branch -m {prefix} NAME"
        raise error


def _refuse_second(store: MemoryStore, wish: Wish, repository: Repository) -> None:
    """Refuse a second loop in the user's own folder, and any in the worktree of another loop.

    The worktree is removed when the other loop ends, and this one could not go on.
    """
    for loop in Loops(store).list_all():
        if loop.state.has_ended:
            continue
        if loop.place is Place.WORKTREE and loop.worktree == str(repository.folder):
            error = ConflictError(f"{repository.folder} is the worktree of the loop {loop.name}, which is {loop.state}")
            error.hint = f"start the loop in {loop.directory}"
            raise error
        if wish.in_place and loop.place is Place.IN_PLACE and loop.directory == str(repository.folder):
            error = ConflictError(f"the loop {loop.name} works in {repository.folder}, where only one loop may work")
            error.hint = f"wait for it, or end it: opencode-memory loop cancel {loop.name}"
            raise error


def start_loop(store: MemoryStore, plan: Plan, wish: Wish, *, config: Config, at: datetime) -> Loop:
    """Approve a submitted plan for a loop, and create the loop in the same transaction.

    A plan that has a loop already returns that loop.

    Raises:
        InvalidInputError: No loop is possible here; see ``check_start``.
        ConflictError: The plan is not submitted or was approved in another way, or another loop works in the folder.
    """
    _refuse_disabled(config)
    loops, plans = Loops(store), Plans(store, plan.project)
    mode = Mode.LOOP_HERE if wish.in_place else Mode.LOOP
    if plan.approval is not None and plan.approval.loop is not None and plan.approval.mode is mode:
        return loops.get(plan.approval.loop)
    repository = check_start(store, wish, config=config)
    folder = store.documents.get(FOLDER, folder_name(str(repository.folder)))
    # Again, because another process may have started a loop before the version was read.
    _refuse_second(store, wish, repository)
    loop = _build_loop(loops.new_id(), plan, read_plan(plans.text(plan)), wish, repository, config=config, at=at)
    # Of two processes that start loops in one folder at once, the slower one finds another version.
    also = [folder_change(loop, 0 if folder is None else folder.version)] if wish.in_place else []
    try:
        _approve(store, plan, loop, Approval(mode=mode, at=at, by=wish.by, loop=loop.id), also)
    except ConflictError:
        _refuse_second(store, wish, repository)
        raise
    return loops.get(loop.id)


def _build_loop(
    id: str, plan: Plan, read: PlanText, wish: Wish, repository: Repository, *, config: Config, at: datetime
) -> Loop:
    """Build the loop of a plan from the user's wish and the configuration."""
    settings, chosen = config.loop, wish.options
    most = settings.max_iterations or max(settings.default_iterations, _ITERATIONS_OF_A_SECTION * len(read.sections))
    return Loop(
        id=id,
        name="",  # ``_approve`` gives it one that no other loop has.
        project=plan.project,
        plan=plan.id,
        directory=str(repository.folder),
        place=Place.IN_PLACE if wish.in_place else Place.WORKTREE,
        commands=read.commands,
        sections=len(read.sections),
        limits=Limits(
            iterations=chosen.iterations or most,
            seconds=settings.max_hours * 3600.0,
            tokens=settings.max_tokens or None,
            cost=settings.max_cost or None,
        ),
        created_at=at,
        min_audits=settings.min_audits if chosen.min_audits is None else chosen.min_audits,
        audits=settings.audits if chosen.audits is None else chosen.audits,
        code_model=chosen.model or settings.model or settings.execution_model,
        audit_model=config.opencode.auditor_model,
        setup=chosen.setup or settings.setup,
        copies=settings.copy,
        takes_changes=chosen.takes_changes,
        sandbox=_sandbox_of(wish, config),
        network=config.sandbox.network,
        image=config.sandbox.image,
        folders=tuple(str(Path(folder).expanduser()) for folder in config.sandbox.folders),
        program=wish.program,
        removes_worktree=settings.remove_worktree,
        options=chosen,
        base=repository.head,
    )


def _approve(store: MemoryStore, plan: Plan, loop: Loop, approval: Approval, also: list[Change]) -> None:
    """Name a loop, and write it with the approval of its plan.

    Two processes that start loops in one project at once would choose the same name, so the slower one chooses again.

    Raises:
        ConflictError: The plan or the folder of the loop was changed meanwhile.
    """
    for _ in range(_TRIES):
        chosen = store.documents.get(NAMES, names_name(loop.project))
        taken = [other.name for other in Loops(store).list(loop.project)]
        named = replace(loop, name=name_of(loop.options.name or plan.title, taken))
        changes = [change_of(named), names_change(named, 0 if chosen is None else chosen.version), *also]
        try:
            Plans(store, plan.project).approve(plan, approval, also=changes)
        except ConflictError:
            now = store.documents.get(NAMES, names_name(loop.project))
            if (now and now.version) == (chosen and chosen.version):
                raise
        else:
            return
    raise ConflictError("other loops of this project start at the same time; try again")


def _refuse_disabled(config: Config) -> None:
    if not config.loop.enabled:
        raise InvalidInputError("loop.enabled: loops are switched off", field="loop.enabled")
    if not system().runs_loops:
        raise InvalidInputError("loop.enabled: loops run on Linux and macOS, not on Windows", field="loop.enabled")


def _refuse_secret(setup: str | None) -> None:
    """Refuse a command with a secret: the record of the loop would keep it."""
    _, kinds = redact(setup or "")
    if kinds:
        error = InvalidInputError(f"setup: the command has a secret ({', '.join(kinds)})", field="setup")
        error.hint = "let the command read the secret from a file or from a variable"
        raise error


def _sandbox_of(wish: Wish, config: Config) -> SandboxMode:
    chosen = wish.options.sandbox
    if wish.in_place and chosen not in {None, SandboxMode.OFF}:
        raise InvalidInputError("sandbox: a loop in your own folder has none", field="sandbox")
    if config.sandbox.mode is SandboxMode.OFF and chosen not in {None, SandboxMode.OFF}:
        # Without it, setup has not given OpenCode the shell of the sandbox, and each command would be refused.
        error = InvalidInputError("sandbox: sandbox.mode is off, so OpenCode has no sandbox", field="sandbox")
        error.hint = (
            f"opencode-memory config set sandbox.mode {chosen}, then opencode-memory setup, and restart OpenCode"
        )
        raise error
    return SandboxMode.OFF if wish.in_place else chosen or config.sandbox.mode


def pause_loop(store: MemoryStore, loop: Loop, *, at: datetime) -> Loop:
    """Stop a running loop after the step at work is aborted; ``resume_loop`` goes on.

    Raises:
        ConflictError: The loop has ended.
    """
    return _change(store, loop, lambda found: rest(found, Rest.PERSON, "paused by you"), "paused", at=at)


def cancel_loop(store: MemoryStore, loop: Loop, *, at: datetime, by: str = "you") -> Loop:
    """End a loop for good, and give its plan up. Its branch and its folder stay.

    Args:
        store: The store.
        loop: The loop.
        at: The current time.
        by: Who cancels it, in the words of its reason.

    Raises:
        ConflictError: The loop has ended.
    """
    cancelled = _change(
        store,
        loop,
        lambda found: replace(found, state=LoopState.CANCELLED, rest=None, reason=f"cancelled by {by}"),
        "cancelled",
        at=at,
    )
    end_plan(store, cancelled)
    return cancelled


def remove_damaged(store: MemoryStore, damaged: Damaged) -> None:
    """Delete the records of a loop that cannot be read, and give its plan up. Its branch and its folder stay.

    Raises:
        ConflictError: Another process has changed the loop meanwhile.
    """
    forget_damaged(store, damaged)
    plans = Plans(store, damaged.document.project)
    for plan in plans.list():
        if plan.approval is not None and plan.approval.loop == damaged.document.name:
            with suppress(ConflictError):
                plans.note_end(plan, is_done=False)


def end_plan(store: MemoryStore, loop: Loop) -> None:
    """Record with the plan of an ended loop that it is done, or was given up. A plan that was deleted is left."""
    plans = Plans(store, loop.project)
    with suppress(NotFoundError, ConflictError):
        plans.note_end(plans.get(loop.plan), is_done=loop.state is LoopState.COMPLETED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Raised:
    """New limits of a loop; None keeps one.

    Attributes:
        iterations: Coding steps.
        hours: Time at work.
        tokens: Tokens without cached ones.
        cost: Cost in US dollars.
    """

    iterations: int | None = None
    hours: float | None = None
    tokens: int | None = None
    cost: float | None = None

    def over(self, limits: Limits) -> Limits:
        """Return limits with these changes."""
        return Limits(
            iterations=limits.iterations if self.iterations is None else self.iterations,
            seconds=limits.seconds if self.hours is None else self.hours * 3600.0,
            tokens=limits.tokens if self.tokens is None else self.tokens,
            cost=limits.cost if self.cost is None else self.cost,
        )


def resume_loop(
    store: MemoryStore, loop: Loop, *, at: datetime, raised: Raised | None = None, program: str | None = None
) -> Loop:
    """Let a resting loop go on. A running one gets the new limits, and goes on as it is.

    Args:
        store: The store.
        loop: The loop.
        at: The current time.
        raised: New limits; None to keep all.
        program: Program of OpenCode that the server may start for it from now on.

    Raises:
        ConflictError: The loop has ended.
        InvalidInputError: A limit is still reached.
    """

    def change(found: Loop) -> Loop:
        changed = found if raised is None else replace(found, limits=raised.over(found.limits))
        if found.state is LoopState.RUNNING:
            return changed
        limit = reached_limit(changed)
        if found.rest is Rest.LIMIT and limit is not None:
            error = InvalidInputError(f"limit: {limit}; raise it to go on", field="limit")
            error.hint = f"opencode-memory loop resume {found.name} --iterations N, --hours N, --tokens N or --cost N"
            raise error
        # The user accepts the configuration of git as it is now. Otherwise a changed one would stop the loop again.
        return replace(resume(changed), config_mark=None, program=program or found.program)

    why = "limits changed" if loop.state is LoopState.RUNNING else "resumed"
    return _change(store, loop, change, why, at=at)


def _change(store: MemoryStore, loop: Loop, change: Changed, why: str, *, at: datetime) -> Loop:
    loops = Loops(store)
    for _ in range(_TRIES):
        if loop.state.has_ended:
            raise ConflictError(f"the loop {loop.name} is {loop.state} and cannot be {why}")
        changed = change(loop)
        if (changed.state, changed.rest, changed.limits) == (loop.state, loop.rest, loop.limits):
            return loop
        try:
            return loops.write(changed, why=why, at=at)
        except ConflictError:
            loop = loops.get(loop.id)  # Its server was faster.
    raise ConflictError(f"the loop {loop.name} changes too fast; try again")


if TYPE_CHECKING:
    from collections.abc import Callable

    Changed = Callable[[Loop], Loop]
