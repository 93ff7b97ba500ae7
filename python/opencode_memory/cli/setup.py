"""``opencode-memory setup``: installs the plugin into OpenCode, and removes it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from opencode_memory.cli.command import command
from opencode_memory.cli.context import Invocation
from opencode_memory.cli.digest_consent import DIGESTS, choose_digest
from opencode_memory.cli.errors import DONE, NOTHING_FOUND
from opencode_memory.cli.output import dim
from opencode_memory.errors import ConflictError, StorageError
from opencode_memory.hosts.opencode import paths

if TYPE_CHECKING:
    from opencode_memory.hosts.opencode.manifest import Choices
    from opencode_memory.hosts.opencode.setup.plan import Plan, SetupStep, Wanted

_OFFERS = ("mcp", "plugin")
_NPM = "npm install @opencode-ai/plugin"


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupRequest:
    """Options of an installation.

    Attributes:
        in_project: Whether to install it for this project only.
        agents: Names of agents, separated by commas, ``all`` or ``none``; None keeps the installed choice.
        tools: The provider of the tools; None keeps the installed choice.
        dry_run: Whether to only show the changes.
        verbose: Whether to show the content of the files, too.
        force: Whether to replace files that were changed since their installation.
        digest: Which model of OpenCode digests sessions; None asks once if the user is there.
    """

    in_project: bool = False
    agents: str | None = None
    tools: str | None = None
    dry_run: bool = False
    verbose: bool = False
    force: bool = False
    digest: str | None = None


def _agent_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    """Complete the last of several names."""
    from opencode_memory.hosts.opencode.agents import AGENTS  # noqa: PLC0415  not needed for help

    before, comma, begun = incomplete.rpartition(",")
    names = [name for name in (*AGENTS, "all", "none") if name not in before.split(",")]
    return [f"{before}{comma}{name}" for name in names if name.startswith(begun)]


@command("setup")
@click.option("--dry-run", is_flag=True, help="List the files without writing them.")
@click.option("-v", "--verbose", is_flag=True, help="With --dry-run: show their content, too.")
@click.option("--project", "in_project", is_flag=True, help="Install for this project only, in its .opencode folder.")
@click.option(
    "--undo",
    is_flag=True,
    help="Remove the files that setup added, except files that were changed since; stop the server.",
)
@click.option(
    "--agents",
    metavar="NAMES",
    shell_complete=_agent_names,
    help="Agents to add: code,architect,auditor,librarian, all or none.  [default: the installed ones]",
)
@click.option(
    "--tools",
    type=click.Choice(_OFFERS),
    help="Provider of the tools: the MCP server or the plugin.  [default: the installed one, or mcp]",
)
@click.option(
    "--digest",
    type=click.Choice(DIGESTS),
    help="Let OpenCode's small model, or that of the session, digest sessions; off for never.  [default: asks once]",
)
@click.option("--force", is_flag=True, help="Replace installed files even if they were changed.")
def setup(
    run: Invocation,
    *,
    dry_run: bool,
    verbose: bool,
    in_project: bool,
    undo: bool,
    agents: str | None,
    tools: str | None,
    digest: str | None,
    force: bool,
) -> int:
    """Install the memory into OpenCode: the plugin, its server, commands, and the agents that you choose.

    Setup adds files to OpenCode's configuration folder, and edits no existing files of yours. A second run changes
    nothing, or updates the plugin; it keeps the chosen agents and tools.
    """
    request = SetupRequest(
        in_project=in_project,
        agents=agents,
        tools=tools,
        dry_run=dry_run,
        verbose=verbose,
        force=force,
        digest=digest,
    )
    if undo:
        if force or agents is not None or tools is not None or digest is not None:
            raise click.UsageError("--undo is valid only with --project and --dry-run", click.get_current_context())
        return uninstall(run, request)
    return install(run, request)


# Here --project is a flag, so the global option for the project's name keeps only its short form -p.
next(option for option in setup.params if option.name == "project").opts = ["-p"]


def install(run: Invocation, request: SetupRequest) -> int:
    """Install the plugin and print the changes."""
    from opencode_memory.config.opencode_manager import migrate  # noqa: PLC0415  as above
    from opencode_memory.hosts.opencode.setup.apply import apply_plan  # noqa: PLC0415  not needed for help
    from opencode_memory.hosts.opencode.setup.plan import plan_setup  # noqa: PLC0415  as above
    from opencode_memory.hosts.opencode.setup.terminal import PLUGIN as TERMINAL  # noqa: PLC0415  as above
    from opencode_memory.hosts.opencode.setup.terminal import choose_terminal_file  # noqa: PLC0415  as above
    from opencode_memory.hosts.opencode.token_file import create_token, remove_token  # noqa: PLC0415  as above

    choices = resolve_choices(run, request)
    plan = plan_setup(collect_files(run, choices, in_project=request.in_project), force=request.force)
    notes = [
        *_check_other_installations(run, request, plan.folder),
        *(_format_wait_note(place, why) for place, why in plan.waits.items()),
    ]
    token = None
    if not request.dry_run:
        # Write the token first. If the store's folder is not writable, setup then fails before it changed OpenCode.
        token = create_token(run.config.data_dir)
        try:
            apply_plan(plan)
        except StorageError:
            remove_token(run.config.data_dir)
            raise
        # Migrate after the plan is applied, because the plan depends on which folders exist.
        if (copied := migrate(run.config.environment)) is not None:
            notes.append(
                f"The configuration of @opencode-manager/memory was copied to {copied} and is read from there."
            )
    notes += _list_server_problems(run)
    if not request.in_project and run.config.terminal.sidebar and choose_terminal_file(plan.folder) is None:
        notes.append(
            f"OpenCode's sidebar shows no memory and no loops, because both tui.json and tui.jsonc are yours: add"
            f" {(plan.folder / TERMINAL).as_uri()} to the list `plugin` of one of them."
        )
    if not request.dry_run:
        notes += choose_digest(run, request.digest)
    if run.out.as_json:
        _print_json(run, request, plan, agents=choices.agents, tools=choices.tools, waits=plan.waits, notes=notes)
        return DONE
    _print_result(run, request, plan, token=token, agents=choices.agents)
    for note in notes:
        run.out.note(note)
    return DONE


def _print_result(
    run: Invocation, request: SetupRequest, plan: Plan, *, token: Path | None, agents: Sequence[str]
) -> None:
    """Print what was changed, or with ``--dry-run`` what would be changed."""
    from opencode_memory.hosts.opencode.token_file import token_file  # noqa: PLC0415  as above

    if not plan.steps:
        run.out.line(f"Nothing to do: the plugin is already installed in {plan.folder}.")
    elif request.dry_run:
        _print_plan(run, plan.steps, verbose=request.verbose)
        if not (file := token_file(run.config.data_dir)).exists():
            run.out.line(f"Would create {file}: a random key, which is never displayed")
            run.out.line()
    else:
        run.out.line(f"Installed the plugin into OpenCode, in {plan.folder}:")
        _print_steps(run, plan)
        if token is not None:
            run.out.line(dim("  create  "), str(token))
        run.out.line(f"Agents: {', '.join(agents) or 'none; `opencode-memory setup --agents all` adds them'}.")
        run.out.line("Restart OpenCode. To check the installation: opencode-memory doctor")


def uninstall(run: Invocation, request: SetupRequest) -> int:
    """Remove the installed files and print the changes; return 1 if there are none, or if changed files remain."""
    from opencode_memory.cli.undo_server import end_server_of_plugin  # noqa: PLC0415  as above
    from opencode_memory.hosts.opencode.setup.apply import apply_plan  # noqa: PLC0415  as above
    from opencode_memory.hosts.opencode.setup.plan import Plan, is_installed, plan_undo  # noqa: PLC0415  as above
    from opencode_memory.hosts.opencode.token_file import remove_token  # noqa: PLC0415  as above

    folder, within = _find_folder(run, in_project=request.in_project)
    plan = plan_undo(folder, within=within)
    if plan is None:
        if is_installed(folder):
            error = ConflictError(f"the plugin in {folder / 'plugin'} has no receipt that lists its files")
            error.hint = "remove the files by hand; or run setup, which writes a receipt, and then setup --undo"
            raise error
        plan = Plan(folder=folder)
    elif not request.dry_run:
        apply_plan(plan)
    server = None
    if plan.steps:
        reads = paths.folders_read(run.config.environment, run.folder)
        remaining = [place for place in reads if is_installed(place) and not (request.dry_run and place == folder)]
        # After the plugin is removed, no OpenCode that opens meanwhile starts the server again.
        server = end_server_of_plugin(run, installed=remaining, dry_run=request.dry_run)
        if not request.dry_run:
            remove_token(run.config.data_dir)
    if run.out.as_json:
        _print_json(run, request, plan, left=plan.left, server=server)
    elif not plan.steps:
        run.out.line(f"There is nothing to remove in {folder}.")
    elif request.dry_run:
        _print_plan(run, plan.steps, verbose=request.verbose)
    else:
        run.out.line(f"Removed the plugin from OpenCode; stored memories are kept. Removed from {folder}:")
        _print_steps(run, plan)
        run.out.line("Restart OpenCode if it runs.")
    if server is not None:
        run.out.note(server.describe(dry_run=request.dry_run))
    for path in plan.left:
        run.out.note(f"{path} was kept, because it was changed after its installation.")
    return NOTHING_FOUND if plan.left or not plan.steps else DONE


def resolve_choices(run: Invocation, request: SetupRequest) -> Choices:
    """Return the choices of a request, and the installed choices where the request has none."""
    from dataclasses import replace  # noqa: PLC0415  as above

    from opencode_memory.hosts.opencode import manifest  # noqa: PLC0415  as above
    from opencode_memory.hosts.opencode.setup.plan import installed_manifest  # noqa: PLC0415  as above

    folder, _ = _find_folder(run, in_project=request.in_project)
    choices = manifest.read_choices(installed_manifest(folder))
    if request.agents is not None:
        choices = replace(choices, agents=manifest.parse_agents(request.agents))
    if request.tools is not None:
        choices = replace(choices, tools=manifest.Offer(request.tools))
    return choices


def collect_files(run: Invocation, choices: Choices, *, in_project: bool) -> Wanted:
    """Return the files of an installation."""
    from opencode_memory.hosts.opencode import manifest  # noqa: PLC0415  as above
    from opencode_memory.hosts.opencode.setup.plan import Wanted  # noqa: PLC0415  as above
    from opencode_memory.hosts.opencode.setup.receipt import PLUGIN_FOLDER  # noqa: PLC0415  as above
    from opencode_memory.server.plugin.tools import TOOLS  # noqa: PLC0415  loads pydantic

    folder, within = _find_folder(run, in_project=in_project)
    plugin = manifest.plugin_files()
    text = manifest.render_manifest(run.config, choices, python=sys.executable, plugin=plugin, tools=TOOLS)
    return Wanted(
        folder=folder,
        within=within,
        files={f"{PLUGIN_FOLDER}/{name}": text for name, text in {**plugin, manifest.MANIFEST: text}.items()},
        reads=paths.folders_read(run.config.environment, run.folder),
        # A project's file would hold paths of this machine.
        sidebar=not in_project and run.config.terminal.sidebar,
    )


def _find_folder(run: Invocation, *, in_project: bool) -> tuple[Path, Path | None]:
    """Return OpenCode's configuration folder, and the folder that must contain it, if any."""
    if in_project:
        return paths.project_folder(run.folder), paths.work_tree_of(run.folder)
    return paths.global_folder(run.config.environment), None


def _check_other_installations(run: Invocation, request: SetupRequest, folder: Path) -> list[str]:
    """Refuse a second installation in a project, because OpenCode would load both. Elsewhere only warn."""
    from opencode_memory.hosts.opencode.setup.plan import is_installed  # noqa: PLC0415  as above

    reads = paths.folders_read(run.config.environment, run.folder)
    others = [place for place in reads if place != folder and is_installed(place)]
    if not others:
        return []
    text = f"the plugin is also installed in {others[0]}, and OpenCode would load both in this folder"
    undo = "opencode-memory setup --undo"
    if others[0] == paths.project_folder(run.folder):
        undo = "opencode-memory setup --project --undo"
    if request.in_project and not request.force:
        error = ConflictError(text)
        error.hint = f"`{undo}` removes the other one; --force installs this one anyway"
        raise error
    return [f"{text[0].upper()}{text[1:]}. `{undo}` removes the other one."]


def _format_wait_note(place: Path, why: str) -> str:
    return f"OpenCode waits for npm at startup because of {place} ({why}). To avoid that, run `{_NPM}` there."


def _list_server_problems(run: Invocation) -> list[str]:
    """Describe the problems of a running server. If none runs, the plugin starts one."""
    from opencode_memory.cli.doctor.checks import Level  # noqa: PLC0415  as above
    from opencode_memory.cli.doctor.server import check_server  # noqa: PLC0415  the doctor imports this module

    found = [check for check in check_server(run) if check.level is Level.PROBLEM]
    return [f"{check.text[0].upper()}{check.text[1:].rstrip('.')}: {check.hint}" for check in found]


def _print_plan(run: Invocation, steps: Sequence[SetupStep], *, verbose: bool) -> None:
    for step in steps:
        kind = "the folder " if step.text is None else ""
        run.out.line(f"Would {step.action} {kind}{step.path}")
        if verbose and step.text is not None:
            run.out.text(f"\n{step.text}")


def _print_steps(run: Invocation, plan: Plan) -> None:
    for step in plan.steps:
        inside = step.path.is_relative_to(plan.folder) and step.path != plan.folder
        name = str(step.path.relative_to(plan.folder)) if inside else str(step.path)
        run.out.line(dim(f"  {step.action:<8}"), name + ("/" if step.text is None else ""))


def _print_json(run: Invocation, request: SetupRequest, plan: Plan, **more: object) -> None:
    steps = plan.steps
    run.out.json({"folder": plan.folder, "dry_run": request.dry_run, "changed": bool(steps), "steps": steps, **more})
