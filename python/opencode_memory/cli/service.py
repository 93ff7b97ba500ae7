"""``opencode-memory service``: runs the server as a background service of the user."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Final

import click

from opencode_memory.cli.command import Group, command
from opencode_memory.cli.context import Invocation
from opencode_memory.cli.errors import DONE, NOTHING_FOUND
from opencode_memory.config.load import Config
from opencode_memory.errors import ConflictError
from opencode_memory.platform import system
from opencode_memory.service import find_supervisor
from opencode_memory.service.install import ServiceOutcome, install, plan_install, plan_uninstall, uninstall
from opencode_memory.service.launch import config_of, plan_launch, require_interpreter
from opencode_memory.service.manager import Runner, Supervisor, make_runner
from opencode_memory.service.port_holder import (
    PortHolder,
    explain_holder,
    explain_incumbent,
    find_incumbent,
    find_port_holder,
    hint_for_holder,
)
from opencode_memory.service.shell import follow, join
from opencode_memory.service.unit_file import Change, read_own

_DRY_RUN: Final = click.option(
    "--dry-run", is_flag=True, help="Show the file and the commands without changing anything."
)
_WRITTEN: Final = {Change.CREATED: "Wrote", Change.REPLACED: "Replaced", Change.UNCHANGED: "Unchanged:"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceRequest:
    """Supervisor of the service, the function that runs its commands, and whether to only show the changes."""

    supervisor: Supervisor
    run_command: Runner
    dry_run: bool = False


@command("install")
@_DRY_RUN
def install_(run: Invocation, *, dry_run: bool) -> int:
    """Start the server in the background, now and at every login.

    The service keeps the settings of this shell (options and OPENCODE_MEMORY_ variables), and reads the configuration
    file itself. A second installation changes nothing, or applies changed settings.
    """
    return install_service(run, _build_request(run, dry_run=dry_run))


def install_service(run: Invocation, request: ServiceRequest) -> int:
    """Install the service and print the changes; return 1 if it could not be started."""
    supervisor = request.supervisor
    home_variable = supervisor.home_variable
    python = require_interpreter(sys.executable)
    launch = plan_launch(run.config, python=python, defaults=supervisor.defaults, home_variable=home_variable)
    effective = config_of(launch, run.config.environment, home_variable=home_variable)
    notes = _find_conflicts(run, request, effective)
    outcome = (
        plan_install(supervisor, launch) if request.dry_run else install(supervisor, launch, run=request.run_command)
    )
    if run.out.as_json:
        _print_json(run, request, outcome, notes=notes)
    elif request.dry_run:
        _print_plan(run, outcome, "Would not change" if outcome.change is Change.UNCHANGED else "Would write")
    else:
        run.out.line(f"{_WRITTEN[outcome.change]} {outcome.path}")
        if _print_steps(run, outcome, "The file was written, but the server was not started."):
            run.out.line(f"The server runs in the background, now and after every login: {_url(effective)}")
            run.out.line("To check that it answers: opencode-memory service status")
    for note in notes:
        run.out.note(note)
    return NOTHING_FOUND if outcome.left else DONE


@command("uninstall")
@_DRY_RUN
def uninstall_(run: Invocation, *, dry_run: bool) -> int:
    """Stop the server and remove its service. Memories and configuration are kept."""
    return uninstall_service(run, _build_request(run, dry_run=dry_run))


def uninstall_service(run: Invocation, request: ServiceRequest) -> int:
    """Remove the service and print the changes; return 1 if there is none, or if it may still run."""
    supervisor = request.supervisor
    outcome = plan_uninstall(supervisor) if request.dry_run else uninstall(supervisor, run=request.run_command)
    if run.out.as_json:
        _print_json(run, request, outcome)
    elif outcome is None:
        run.out.line(f"There is no service: {supervisor.path} does not exist.")
    elif request.dry_run:
        _print_plan(run, outcome, "Would remove")
    else:
        run.out.line(f"Removed {outcome.path}")
        _print_steps(run, outcome, "The server may still be running.")
    return NOTHING_FOUND if outcome is None or outcome.left else DONE


@command("status")
def status(run: Invocation) -> int:
    """Show whether the service is installed, runs and answers. Exits with 1 if it does not."""
    return print_status(run, _build_request(run))


def print_status(run: Invocation, request: ServiceRequest) -> int:
    """Print the state of the service; return 1 if it does not run or its server does not answer."""
    supervisor = request.supervisor
    try:
        text, foreign = read_own(supervisor.path), False
    except ConflictError:
        text, foreign = None, True
    effective = run.config
    if text is not None:
        effective = config_of(supervisor.parse(text), run.config.environment, home_variable=supervisor.home_variable)
    state = supervisor.state(request.run_command)
    holder = find_port_holder(effective.server.host, effective.server.port)
    answers = holder is not None and _is_own(holder) and holder.http_status is not None
    runs = text is not None and answers and state.active is not False
    logs = follow(effective.server.log_file) if effective.server.log_file else supervisor.logs
    if run.out.as_json:
        run.out.json(
            {
                "running": runs,
                "path": supervisor.path,
                "installed": text is not None,
                "foreign": foreign,
                "service": state,
                "url": _url(effective),
                "answers": answers,
                "holder": holder,
                "logs": logs,
            }
        )
        return DONE if runs else NOTHING_FOUND
    run.out.table(
        [
            ("file", _describe_file(supervisor, text is not None, foreign=foreign)),
            ("service", state.text + (", enabled" if state.enabled else "")),
            ("server", _describe_server(holder, effective, answers=answers)),
            ("logs", logs),
        ],
        cut=False,
    )
    if holder is not None and not answers:
        run.out.note(f"hint: {hint_for_holder(holder, effective.server.port)}")
    return DONE if runs else NOTHING_FOUND


service: Final = Group(
    "service", help="Run the server in the background from login.", commands=[install_, uninstall_, status]
)


def _build_request(run: Invocation, *, dry_run: bool = False) -> ServiceRequest:
    environment = run.config.environment
    supervisor = find_supervisor(sys.platform, environment, uid=system().user_id())
    return ServiceRequest(supervisor=supervisor, run_command=make_runner(environment), dry_run=dry_run)


def _find_conflicts(run: Invocation, request: ServiceRequest, effective: Config) -> list[str]:
    """Describe the predecessor's files, and any process other than this service that holds the port."""
    notes = []
    holder = find_port_holder(effective.server.host, effective.server.port)
    if holder is not None and not (holder.is_ours and _is_this_service(request, holder)):
        hint = hint_for_holder(holder, effective.server.port)
        notes.append(
            f"{explain_holder(holder, effective.server.host, effective.server.port)} {hint[0].upper()}{hint[1:]}."
        )
    found = find_incumbent(run.config.environment)
    if found is not None and not (holder is not None and holder.is_incumbent):
        notes.append(explain_incumbent(found, port=effective.server.port))
    return notes


def _is_this_service(request: ServiceRequest, holder: PortHolder) -> bool:
    """Return whether a port's holder is the installed service.

    A dry run does not query the supervisor, and assumes that it is.
    """
    if request.dry_run or holder.pid is None:
        return request.dry_run
    return holder.pid == request.supervisor.state(request.run_command).pid


def _is_own(holder: PortHolder) -> bool:
    # Another user's server has another store, even if it reports the same name.
    return holder.is_ours and holder.uid in (None, system().user_id())


def _url(effective: Config) -> str:
    host = f"[{effective.server.host}]" if ":" in effective.server.host else effective.server.host
    return f"http://{host}:{effective.server.port}"


def _describe_file(supervisor: Supervisor, installed: bool, *, foreign: bool) -> str:
    if installed:
        return str(supervisor.path)
    if foreign:
        return f"{supervisor.path}, which was not written by `opencode-memory service install`"
    return "not installed; run `opencode-memory service install`"


def _describe_server(holder: PortHolder | None, effective: Config, *, answers: bool) -> str:
    if holder is None:
        return f"no answer at {_url(effective)}"
    if not answers:
        return explain_holder(holder, effective.server.host, effective.server.port)
    unwell = "" if holder.http_status == 200 else f", but reports a problem (see {_url(effective)}/health)"  # noqa: PLR2004
    return f"opencode-memory {holder.version or ''} answers at {_url(effective)}{unwell}"


def _print_plan(run: Invocation, outcome: ServiceOutcome, verb: str) -> None:
    run.out.line(f"{verb} {outcome.path}:")
    run.out.text(f"\n{outcome.text}")
    for step in outcome.steps:
        run.out.line(f"Would run {join(step.command)}")


def _print_steps(run: Invocation, outcome: ServiceOutcome, failure: str) -> bool:
    """Print the commands that ran, and those to run later because one failed."""
    for step in outcome.steps:
        if step.code == 0:
            run.out.line(f"Ran {join(step.command)}")
        elif step.code is not None:
            run.out.line(f"{join(step.command)} failed: {step.said or f'exit code {step.code}'}")
    if outcome.left:
        run.out.line(f"{failure} Run these commands later, in a login session (not through su or sudo):")
        for left in outcome.left:
            run.out.line(f"  {join(left)}")
    return not outcome.left


def _print_json(
    run: Invocation, request: ServiceRequest, outcome: ServiceOutcome | None, *, notes: list[str] | None = None
) -> None:
    done = {} if outcome is None else {"text": outcome.text, "change": outcome.change, "commands": outcome.steps}
    left = [] if outcome is None else outcome.left
    run.out.json(
        {"path": request.supervisor.path, "dry_run": request.dry_run, **done, "left": left, "notes": notes or []}
    )
