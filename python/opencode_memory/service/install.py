"""Installs and removes the service, and reports which commands ran and which are left for the user."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from opencode_memory.service.launch import Launch
from opencode_memory.service.manager import Command, CommandResult, Runner, Supervisor
from opencode_memory.service.unit_file import Change, make_folder, plan_change, read_own, remove, write

_PAUSES_SECONDS: Final = (0.2, 0.5, 1.0, 2.0, 4.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceStep:
    """A command and its result; a code of None means that it was not run."""

    command: Command
    code: int | None = None
    said: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceOutcome:
    """Result of an installation or a removal, or the plan for one.

    Attributes:
        path: The file of the service.
        text: Its content, or its last content.
        change: The change of the file.
        steps: The commands in order. After a failed command, no further command is run.
        left: The commands to run later, because a command failed.
    """

    path: Path
    text: str
    change: Change
    steps: tuple[ServiceStep, ...]
    left: tuple[Command, ...] = ()


def plan_install(supervisor: Supervisor, launch: Launch) -> ServiceOutcome:
    """Plan an installation without changing anything.

    Raises:
        ConflictError: If a file of the same name exists that this package did not write.
        StorageError: If it cannot be read.
    """
    text = supervisor.render(launch)
    change = plan_change(supervisor.path, text)
    commands = supervisor.commands_to_start(changed=change is Change.REPLACED, loaded=change is not Change.CREATED)
    return ServiceOutcome(path=supervisor.path, text=text, change=change, steps=_plan_steps(commands))


def install(
    supervisor: Supervisor, launch: Launch, *, run: Runner, pause: Callable[[float], None] = time.sleep
) -> ServiceOutcome:
    """Write the file and start the service, now and at every login. A second installation changes nothing.

    Args:
        supervisor: The supervisor of services.
        launch: Command line and environment of the service.
        run: Runs the commands.
        pause: Waits for a number of seconds between attempts.

    Raises:
        ConflictError: If a file of the same name exists that this package did not write.
        StorageError: If it cannot be read or written.
    """
    plan = plan_install(supervisor, launch)
    for folder in supervisor.folders:
        make_folder(folder)
    if plan.change is not Change.UNCHANGED:
        write(supervisor.path, plan.text)
    # The service may still be loaded although its file is new: the user may have removed the old file by hand.
    loaded = supervisor.state(run).loaded
    changed = plan.change is Change.REPLACED or (plan.change is Change.CREATED and bool(loaded))
    commands = supervisor.commands_to_start(changed=changed, loaded=loaded)
    steps = tuple(_run_all(commands, run=run, retry_exit_code=supervisor.retry_exit_code, pause=pause))
    left = tuple(step.command for step in steps if step.code != 0)
    return ServiceOutcome(path=plan.path, text=plan.text, change=plan.change, steps=steps, left=left)


def plan_uninstall(supervisor: Supervisor) -> ServiceOutcome | None:
    """Plan a removal without changing anything; return None if there is no service.

    Raises:
        ConflictError: If this package did not write the file.
        StorageError: If it cannot be read.
    """
    text = read_own(supervisor.path)
    if text is None:
        return None
    commands = (*supervisor.commands_to_stop(loaded=True), *supervisor.commands_to_forget())
    return ServiceOutcome(path=supervisor.path, text=text, change=Change.REMOVED, steps=_plan_steps(commands))


def uninstall(supervisor: Supervisor, *, run: Runner) -> ServiceOutcome | None:
    """Stop the service and remove its file.

    The file is removed even if the service could not be stopped. Otherwise it would start again at the next login.

    Raises:
        ConflictError: If this package did not write the file.
        StorageError: If it cannot be read or removed.
    """
    plan = plan_uninstall(supervisor)
    if plan is None:
        return None
    stopped = tuple(_run_all(supervisor.commands_to_stop(loaded=supervisor.state(run).loaded), run=run))
    remove(supervisor.path, supervisor.links)
    if any(step.code != 0 for step in stopped):
        steps, left = stopped, supervisor.commands_to_stop_removed()
    else:
        forgotten = tuple(_run_all(supervisor.commands_to_forget(), run=run))
        steps, left = stopped + forgotten, tuple(step.command for step in forgotten if step.code != 0)
    return ServiceOutcome(path=plan.path, text=plan.text, change=plan.change, steps=steps, left=left)


def _run_all(
    commands: Iterable[Command],
    *,
    run: Runner,
    retry_exit_code: int | None = None,
    pause: Callable[[float], None] = time.sleep,
) -> Iterable[ServiceStep]:
    went_well = True
    for command in commands:
        if not went_well:
            yield ServiceStep(command=command)
            continue
        ran = _run_with_retries(command, run=run, retry_exit_code=retry_exit_code, pause=pause)
        went_well = ran.code == 0
        yield ServiceStep(command=command, code=ran.code, said=ran.output)


def _run_with_retries(
    command: Command, *, run: Runner, retry_exit_code: int | None, pause: Callable[[float], None]
) -> CommandResult:
    ran = run(command)
    for seconds in _PAUSES_SECONDS:
        if retry_exit_code is None or ran.code != retry_exit_code:
            break
        pause(seconds)
        ran = run(command)
    return ran


def _plan_steps(commands: Iterable[Command]) -> tuple[ServiceStep, ...]:
    return tuple(ServiceStep(command=command) for command in commands)
