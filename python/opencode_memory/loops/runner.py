"""Runs the steps of one loop. Each step is stored before it is carried out, and can be carried out again.

So after any death the next owner of the lease carries out the same step: a worktree that exists is used, a message that
was sent is not sent twice, a check runs again, and a commit without changes is none.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio
from anyio import to_thread

from opencode_memory._core import redact
from opencode_memory.config.sections import SandboxMode
from opencode_memory.errors import ConflictError, OpencodeMemoryError
from opencode_memory.loops.command import KEPT_CHARACTERS, Ran, run_all
from opencode_memory.loops.earlier import describe_earlier
from opencode_memory.loops.git import GitError, no_push_environment
from opencode_memory.loops.host import Host
from opencode_memory.loops.lease import LEASE_SECONDS, HeldLease
from opencode_memory.loops.left_over import end_children, end_group
from opencode_memory.loops.message_ids import message_id, part_id
from opencode_memory.loops.model import Loop, LoopState, Place, Rest, Spent, Step, StepKind, StepState
from opencode_memory.loops.process import ProcessId
from opencode_memory.loops.prompts import audit_prompt, code_prompt
from opencode_memory.loops.records import Lease, Loops, LostLeaseError
from opencode_memory.loops.sandbox import Sandbox, choose_engine, loop_shell, remove_containers, wrap, write_loop_shell
from opencode_memory.loops.session_step import RestError, SessionStep
from opencode_memory.loops.start import end_plan
from opencode_memory.loops.transition import Facts, advance, rest
from opencode_memory.loops.unexpected import describe_error, unwrap
from opencode_memory.loops.worktree import (
    BRANCHES,
    Worktree,
    create,
    find_repository,
    in_place,
)
from opencode_memory.plans import Plans, PlanText, read_plan
from opencode_memory.reviews import Finding, Findings
from opencode_memory.text import clock
from opencode_memory.text.display import one_line
from opencode_memory.text.unicode import replace_surrogates

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

_NOTE_CHARACTERS: Final = 300
_WATCH_SECONDS: Final = 1.0
_MOST_CONFLICTS: Final = 10
_log: Final = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class Runner:
    """Runs one loop.

    Attributes:
        store: The store.
        id: Id of the loop.
        owner: This server.
        find_host: Returns the process of OpenCode for a loop; opens one if it may; None if there is none.
        wake: Is set when something happened to a session of the loop.
    """

    store: MemoryStore
    id: str
    owner: str
    find_host: Callable[[Loop], Awaitable[Host | None]]
    wake: anyio.Event = field(default_factory=anyio.Event)
    look_seconds: float = 5.0
    stall_seconds: float = 600.0
    _lease: HeldLease | None = None
    _conflicts: int = 0

    @property
    def loops(self) -> Loops:
        """The records."""
        return Loops(self.store)

    def notify(self) -> None:
        """Tell the runner that something happened."""
        self.wake.set()

    async def run(self) -> None:
        """Run the loop until it rests or ends, or another server has it.

        Raises:
            OpencodeMemoryError: The store cannot be written, so the reason cannot be recorded.
        """
        taken = await to_thread.run_sync(self._acquire)
        if taken is None:
            _log.info("another server runs the loop %s", self.id)
            return
        self._lease = HeldLease(self.loops, taken)
        problem: OpencodeMemoryError | None = None
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._keep_lease, tasks.cancel_scope)
                try:
                    goes_on = await self._record_errors(self._end_left_run)
                    while goes_on:
                        goes_on = await self._record_errors(self._carry_out_next)
                except OpencodeMemoryError as error:
                    problem = error
                tasks.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                await to_thread.run_sync(self._held.release)
        if problem is not None:
            raise problem  # Outside of the tasks, because they would raise a group of errors.

    def _acquire(self) -> Lease | None:
        """Take the lease. What a dead holder has called meanwhile has come to its end before."""
        dead = self.loops.dead_holder(self.id)
        if dead is not None and end_children(dead):
            _log.info("waited for git, which a dead server had called for the loop %s", self.id)
        return self.loops.acquire(self.id, self.owner, at=clock.now(), seconds=LEASE_SECONDS)

    async def _end_left_run(self) -> bool:
        await to_thread.run_sync(self._end_left_run_now)
        return True

    def _end_left_run_now(self) -> None:
        """End a command of the loop that an earlier server has left running, before it runs again."""
        left = self.loops.noted_run(self.id)
        if left is None:
            return
        if end_group(left):
            _log.info("ended a command of the loop %s that an earlier server had left", self.id)
        loop = self.loops.get(self.id)
        remove_containers(SandboxMode(loop.sandbox), loop.id)

    async def _keep_lease(self, scope: anyio.CancelScope) -> None:
        while True:
            await anyio.sleep(LEASE_SECONDS / 3)
            try:
                await to_thread.run_sync(lambda: self._held.renew(at=clock.now(), seconds=LEASE_SECONDS))
            except LostLeaseError:
                _log.warning("another server runs the loop %s now", self.id)
                scope.cancel()
                return
            except OpencodeMemoryError as error:
                # The lease lasts for two more attempts. If another server takes it then, every write is refused.
                _log.warning("the lease of the loop %s is not renewed: %s", self.id, error)

    @property
    def _held(self) -> HeldLease:
        if self._lease is None:
            raise LostLeaseError(f"this server does not run the loop {self.id}")
        return self._lease

    async def _record_errors(self, work: Callable[[], Awaitable[bool]]) -> bool:
        """Work on the loop; return whether it goes on. An error stops the loop, and is recorded as its reason.

        Without the record, the keeper would start the loop again and again, and the user would not know why.
        """
        try:
            goes_on = await work()
            self._conflicts = 0
        except LostLeaseError:
            return False
        except RestError as error:
            await self._rest(error.kind, error.reason)
        except ConflictError as error:
            # If the user has changed the loop, the next round reads the change. A conflict that returns has another
            # cause.
            self._conflicts += 1
            if self._conflicts < _MOST_CONFLICTS:
                return True
            await self._rest(Rest.ERROR, str(error))
        except GitError as error:
            await self._rest_after(error)
        except OpencodeMemoryError as error:
            await self._rest(Rest.ERROR, str(error))
        except Exception as error:  # noqa: BLE001  logged with its traceback, and recorded
            _log.exception("the loop %s failed", self.id)
            await self._rest_after(unwrap(error))
        else:
            return goes_on
        return False

    async def _carry_out_next(self) -> bool:
        """Plan or carry out one step. Return whether the loop goes on."""
        loop = await to_thread.run_sync(lambda: self.loops.get(self.id))
        if loop.state is not LoopState.RUNNING:
            return False
        step = await to_thread.run_sync(lambda: self.loops.step(loop.id, loop.steps))
        if loop.worktree is not None and loop.config_mark is None:
            loop = await self._accept_config(loop)
        if step is None or step.state is StepState.DONE:
            return await self._plan(loop, step)
        return await self._watch(loop, step)

    async def _accept_config(self, loop: Loop) -> Loop:
        """Record git's settings as they are. From now on a change of them stops the loop."""
        mark = await to_thread.run_sync(lambda: self._worktree(loop).read_config_mark())
        return await self._write(replace(loop, config_mark=mark))

    async def _rest_after(self, error: Exception) -> None:
        """Record an error with the step, and how the loop goes on."""
        loop = await to_thread.run_sync(lambda: self.loops.get(self.id))
        step = await to_thread.run_sync(lambda: self.loops.step(loop.id, loop.steps))
        after = "the work after " if step is not None and step.state is StepState.DONE else ""
        where = "the start" if step is None else f"{after}step {step.number} ({step.kind})"
        todo = f"when it is mended: opencode-memory loop resume {loop.name}"
        await self._rest(Rest.ERROR, f"{where} failed: {describe_error(error)}; {todo}")

    async def _rest(self, kind: Rest, reason: str) -> None:
        """Record that the loop cannot go on, unless the user has decided otherwise meanwhile."""
        with suppress(ConflictError):
            loop = await to_thread.run_sync(lambda: self.loops.get(self.id))
            if loop.state is LoopState.RUNNING:
                rested = rest(loop, kind, one_line(redact(replace_surrogates(reason))[0], KEPT_CHARACTERS))
                await self._write(rested, why=f"{rested.state}: {rested.reason}")

    async def _plan(self, loop: Loop, last: Step | None) -> bool:
        """Write what follows from the last step."""
        findings = await to_thread.run_sync(lambda: self._findings(loop))
        move = advance(loop, last, Facts(open_findings=[finding.id for finding in findings]))
        if move.kind is None:
            await self._write(move.loop, why=f"{move.loop.state}: {move.why}")
            if move.loop.state.has_ended:
                await to_thread.run_sync(lambda: end_plan(self.store, move.loop))
            return False
        at = clock.now()
        following = replace(move.loop, steps=loop.steps + 1)
        prompt = await self._prompt(following, move.kind, move.why, last, findings)
        step = Step(
            loop=loop.id,
            number=following.steps,
            kind=move.kind,
            iteration=following.iteration,
            section=following.section,
            started_at=at,
            prompt=prompt,
            message=message_id(at) if prompt else None,
            part=part_id(at) if prompt else None,
        )
        await self._write(following, step, why=f"{move.kind} (iteration {following.iteration}): {move.why}")
        return True

    async def _prompt(
        self, loop: Loop, kind: StepKind, why: str, last: Step | None, findings: Sequence[Finding]
    ) -> str:
        if not kind.asks_model:
            return ""
        plan = await to_thread.run_sync(lambda: self._read_plan(loop))
        lines = [finding.line_of_text for finding in findings]
        if kind is StepKind.CODE:
            earlier = (
                await to_thread.run_sync(lambda: describe_earlier(self.store, loop)) if loop.iteration <= 1 else ()
            )
            is_own = loop.place is Place.WORKTREE
            return code_prompt(
                loop,
                plan,
                why=why,
                last=last.outcome if last else {},
                findings=lines,
                earlier=earlier,
                submodules=await to_thread.run_sync(self._worktree(loop).submodules) if is_own else (),
            )
        diff = await to_thread.run_sync(self._worktree(loop).diff)
        return audit_prompt(loop, plan, diff=redact(diff)[0], findings=lines)

    async def _watch(self, loop: Loop, step: Step) -> bool:
        """Carry out a step; stop when the user pauses or cancels the loop."""
        work = await self._session_step(loop, step) if step.kind.asks_model else None
        if work is not None:
            loop = work.loop
        problem: Exception | None = None
        is_stopped = False
        async with anyio.create_task_group() as tasks:

            async def look() -> None:
                nonlocal is_stopped, problem
                try:
                    while not is_stopped:
                        await anyio.sleep(_WATCH_SECONDS)
                        current = await to_thread.run_sync(lambda: self.loops.get(self.id))
                        is_stopped = current.state is not LoopState.RUNNING
                except Exception as error:  # noqa: BLE001  raised below, outside of the tasks
                    problem, is_stopped = error, True
                tasks.cancel_scope.cancel()

            tasks.start_soon(look)
            try:
                await self._carry_out(loop, step, work)
            except Exception as error:  # noqa: BLE001  as above
                problem = error
            tasks.cancel_scope.cancel()
        if is_stopped and work is not None:
            with anyio.CancelScope(shield=True):
                await work.abort()
        if problem is not None:
            raise problem
        return not is_stopped

    async def _carry_out(self, loop: Loop, step: Step, work: SessionStep | None) -> None:
        begun = time.monotonic()
        match step.kind:
            case StepKind.PREPARE:
                loop, outcome = await self._prepare(loop)
            case StepKind.CHECK:
                loop, outcome = await self._check(loop, step)
            case StepKind.FINAL_CHECK:
                outcome = await self._final_check(loop)
            case StepKind.FINISH:
                outcome = await to_thread.run_sync(lambda: self._finish(loop))
            case _:
                if work is None:
                    return
                step, outcome = await work.run()
                loop, outcome = await self._after_turn(loop, step, outcome)
        spent = step.spent + Spent(seconds=time.monotonic() - begun)
        done = replace(step, state=StepState.DONE, outcome=outcome, spent=spent, ended_at=clock.now())
        await self._write(replace(loop, spent=loop.spent + spent), done)

    async def _session_step(self, loop: Loop, step: Step) -> SessionStep:
        host = await self.find_host(loop)
        if host is None:
            raise RestError(Rest.HOST, "no OpenCode is open in this project; the loop goes on when one is")
        if (loop.host, loop.host_started) != (host.pid, host.started):
            loop = replace(loop, host=host.pid, host_started=host.started)
            loop = await self._write(loop)
        return SessionStep(
            loops=self.loops,
            host=host,
            loop=loop,
            step=step,
            lease=self._held,
            wake=self._fresh_wake,
            output="*/opencode/tool-output/*",
            look_seconds=self.look_seconds,
            stall_seconds=self.stall_seconds,
        )

    def _fresh_wake(self) -> anyio.Event:
        self.wake = anyio.Event()
        return self.wake

    async def _prepare(self, loop: Loop) -> tuple[Loop, dict[str, Any]]:
        try:
            made, branch, base = await to_thread.run_sync(lambda: self._make_worktree(loop))
        except OpencodeMemoryError as error:
            return loop, {"exit": 1, "said": str(error)}
        loop = replace(loop, worktree=str(made.path), branch=branch, base=base, head=base, config_mark=made.config_mark)
        try:
            loop = await to_thread.run_sync(lambda: self._prepare_sandbox(loop, made))
        except OpencodeMemoryError as error:
            return loop, {"exit": 1, "said": str(error)}
        if loop.setup is None:
            return loop, {"exit": 0}
        # The setup installs dependencies, so it runs before the sandbox, with the network.
        ran = await self._run(replace(loop, sandbox=SandboxMode.OFF.value), (loop.setup,), made.path)
        if ran.exit == 0 and loop.place is Place.WORKTREE:
            await to_thread.run_sync(made.remember_setup)
        last = ran.output.strip().rpartition("\n")[2]
        said = f"`{loop.setup}` ended with {ran.exit}: {last}" if ran.exit else last
        return loop, {**_outcome(ran), "said": one_line(redact(said)[0], _NOTE_CHARACTERS)}

    def _make_worktree(self, loop: Loop) -> tuple[Worktree, str, str]:
        repository = find_repository(Path(loop.directory))
        base = loop.base or repository.head
        if loop.place is Place.IN_PLACE:
            made = in_place(repository, base=base)
            return made, loop.branch or made.git.run("rev-parse", "--abbrev-ref", "HEAD"), base
        name = Path(loop.directory).name or "tree"
        # The shell of a sandbox is beside the worktree and has this name.
        path = loop_shell(self.store.data_dir, loop.id).with_name(f"{name}-tree" if name == "bash" else name)
        branch = loop.branch or f"{BRANCHES}{loop.name}-{loop.id[:4]}"
        made = create(repository, path, branch, base=base, takes_changes=loop.takes_changes, copies=loop.copies)
        return made, branch, base

    def _prepare_sandbox(self, loop: Loop, made: Worktree) -> Loop:
        """Choose the engine, and write the shell that OpenCode runs in the loop's sessions."""
        engine = choose_engine(SandboxMode(loop.sandbox))
        loop = replace(loop, sandbox=engine.value)
        if engine is not SandboxMode.OFF:
            write_loop_shell(self.store.data_dir, self._sandbox(loop, made.path, made.common))
        return loop

    @staticmethod
    def _sandbox(loop: Loop, folder: Path, common: Path) -> Sandbox:
        return Sandbox(
            engine=SandboxMode(loop.sandbox),
            loop=loop.id,
            worktree=folder,
            common=common,
            network=loop.network,
            image=loop.image,
            folders=tuple(map(Path, loop.folders)),
        )

    def _worktree(self, loop: Loop) -> Worktree:
        repository = find_repository(Path(loop.directory))
        path = Path(loop.worktree or loop.directory)
        if not path.is_dir():
            raise RestError(Rest.ERROR, f"the folder {path} of the loop has gone; cancel the loop, then restart it")
        return Worktree(
            path=path,
            branch=loop.branch if loop.place is Place.WORKTREE else None,
            base=loop.base or repository.head,
            common=repository.common,
            config_mark=loop.config_mark or "",
        )

    async def _after_turn(self, loop: Loop, step: Step, outcome: dict[str, Any]) -> tuple[Loop, dict[str, Any]]:
        """Commit what the coding step has changed, and add what the model reported."""
        report = await to_thread.run_sync(lambda: self.loops.reported(step))
        tree = self._worktree(loop)
        if step.kind is StepKind.AUDIT:
            verdict = None if report is None else report.verdict
            said = "" if report is None else report.text
            outcome = {**outcome, "text": redact(str(outcome.get("text", "")))[0]}
            loop, now = await self._take_changes(loop, step, tree, "audit")
            return loop, {**outcome, "verdict": verdict, "report": said, "tree": now}
        said = report.text if report is not None else str(outcome.get("text", "")).partition("\n")[0]
        note = one_line(redact(said)[0] or "no summary", _NOTE_CHARACTERS)
        outcome = {**outcome, "note": note, "text": redact(str(outcome.get("text", "")))[0]}
        if loop.place is Place.WORKTREE and outcome.get("result") == "done":
            head = await self._commit(step, tree, f"{loop.name}: iteration {step.iteration}\n\n{note}")
            outcome["commit"] = head if head != loop.head else None
            loop = replace(loop, head=head)
        return replace(loop, notes=(*loop.notes, f"{step.iteration}: {note}")), outcome

    async def _take_changes(self, loop: Loop, step: Step, tree: Worktree, during: str) -> tuple[Loop, str]:
        """Commit what was changed during a check or an audit, so that the branch has all files that an audit sees."""
        if loop.place is Place.IN_PLACE:
            return loop, await to_thread.run_sync(tree.tree)
        await to_thread.run_sync(tree.remove_products)
        now = await to_thread.run_sync(tree.tree)
        head = await to_thread.run_sync(lambda: tree.committed(now))
        if head is None:
            message = f"{loop.name}: changes during the {during} of iteration {step.iteration}"
            head = await self._commit(step, tree, message)
        return replace(loop, head=head), now

    async def _commit(self, step: Step, tree: Worktree, message: str) -> str:
        """Commit all changes on the loop's branch, and return the newest commit.

        Raises:
            RestError: The changes may not be committed, or a commit would not keep all of them.
        """
        if await to_thread.run_sync(tree.changes_configuration):
            said = "the step changed OpenCode's configuration in the worktree, from which OpenCode runs code"
            raise RestError(Rest.ERROR, f"{said}; look at {tree.path}, then resume or cancel the loop")
        if lost := await to_thread.run_sync(tree.lost_work):
            raise RestError(Rest.ERROR, _describe_lost(lost, step, tree.path))
        return await to_thread.run_sync(lambda: tree.commit_all(message))

    async def _check(self, loop: Loop, step: Step) -> tuple[Loop, dict[str, Any]]:
        tree = self._worktree(loop)
        ran = await self._run(loop, loop.commands, tree.path)
        loop, now = await self._take_changes(loop, step, tree, "check")
        return loop, {**_outcome(ran), "tree": now}

    async def _final_check(self, loop: Loop) -> dict[str, Any]:
        """Run the commands on a fresh checkout, so that no file that the loop has not committed makes them succeed."""
        tree = self._worktree(loop)
        if loop.place is Place.IN_PLACE:
            return _outcome(await self._run(loop, loop.commands, tree.path))
        # It is emptied first, so it must not be the worktree of a repository with this name.
        folder = tree.path.with_name("fresh" if tree.path.name == "final" else "final")
        commit, source = loop.head or loop.base or "HEAD", Path(loop.directory)
        context = tree.fresh_checkout(commit, folder, source=source, copies=loop.copies)
        await to_thread.run_sync(context.__enter__)
        try:
            if loop.setup is not None:
                ran = await self._run(replace(loop, sandbox=SandboxMode.OFF.value), (loop.setup,), folder)
                if ran.exit != 0:
                    return _outcome(ran)
            return _outcome(await self._run(loop, loop.commands, folder))
        finally:
            with anyio.CancelScope(shield=True):
                await to_thread.run_sync(lambda: context.__exit__(None, None, None))

    def _finish(self, loop: Loop) -> dict[str, Any]:
        if loop.place is Place.IN_PLACE:
            return {"said": "the changes are in your folder, not committed"}
        how = f"git merge {loop.branch}"
        if not loop.removes_worktree:
            return {"said": f"done on branch {loop.branch} ({how}); its folder is {loop.worktree}"}
        tree = self._worktree(loop) if Path(loop.worktree or loop.directory).is_dir() else None
        left = None if tree is None else tree.remove()  # It is gone if the server died after it had removed it.
        if tree is not None and left is not None:
            return {"said": f"done on branch {loop.branch} ({how}); the folder {tree.path} was left: {left}"}
        return {"said": f"done on branch {loop.branch}; merge it with: {how}"}

    async def _run(self, loop: Loop, commands: Sequence[str], folder: Path) -> Ran:
        """Run commands, in the sandbox if there is one."""
        if loop.sandbox == SandboxMode.OFF:
            ran = await run_all(commands, folder, environment=no_push_environment(), on_start=self._note_run)
        else:
            common = await to_thread.run_sync(lambda: find_repository(Path(loop.directory)).common)
            sandbox = self._sandbox(loop, folder, common)
            try:
                ran = await run_all(
                    commands,
                    folder,
                    wrap=wrap(sandbox, folder),
                    environment=no_push_environment(),
                    on_start=self._note_run,
                )
            finally:
                with anyio.CancelScope(shield=True):
                    await to_thread.run_sync(lambda: remove_containers(sandbox.engine, loop.id))
        return replace(ran, output=redact(ran.output)[0])

    async def _note_run(self, group: ProcessId) -> None:
        await to_thread.run_sync(lambda: self._held.note_run(group))

    def _findings(self, loop: Loop) -> list[Finding]:
        return list(Findings(self.store.kv, loop.project, loop.branch).open()) if loop.branch else []

    def _read_plan(self, loop: Loop) -> PlanText:
        plans = Plans(self.store, loop.project)
        return read_plan(plans.text(plans.get(loop.plan)))

    async def _write(self, loop: Loop, step: Step | None = None, *, why: str | None = None) -> Loop:
        at = clock.now()
        return await to_thread.run_sync(lambda: self._held.write(loop, step, why=why, at=at))


def _describe_lost(lost: Sequence[str], step: Step, folder: Path) -> str:
    return (
        f"step {step.number} ({step.kind}) changed what the loop does not keep: {', '.join(lost)}. A loop commits the"
        f" files of the repository, but none of a submodule or of another repository inside of it. Look at {folder}:"
        " commit and push them there, or remove them, then resume the loop"
    )


def _outcome(ran: Ran) -> dict[str, Any]:
    return {"exit": ran.exit, "command": ran.command, "output": ran.output[-KEPT_CHARACTERS:]}
