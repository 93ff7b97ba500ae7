"""Applies the fixes of ``doctor --fix``. Each fix is safe to repeat and removes nothing."""

from __future__ import annotations

from opencode_memory.cli.context import Invocation
from opencode_memory.cli.doctor.checks import Fix, FixKind
from opencode_memory.platform import system


def apply(run: Invocation, fix: Fix) -> str:
    """Apply a fix and return the equivalent command.

    Raises:
        OpencodeMemoryError: If the fix failed.
        OSError: If permissions could not be changed.
    """
    if fix.path is not None and fix.mode is not None:
        system().make_private(fix.path)
        return f"chmod {fix.mode:o} {fix.path}"
    if fix.kind is FixKind.START:
        from opencode_memory.cli.detach import start  # noqa: PLC0415  only here

        start(run.config)
        return "opencode-memory serve --detach"
    return _set_up(run, in_project=fix.kind is FixKind.SETUP_PROJECT)


def _set_up(run: Invocation, *, in_project: bool) -> str:
    from opencode_memory.cli.setup import SetupRequest, collect_files, resolve_choices  # noqa: PLC0415  only here
    from opencode_memory.hosts.opencode.setup.apply import apply_plan  # noqa: PLC0415  only here
    from opencode_memory.hosts.opencode.setup.plan import plan_setup  # noqa: PLC0415  only here

    request = SetupRequest(in_project=in_project)
    apply_plan(plan_setup(collect_files(run, resolve_choices(run, request), in_project=in_project)))
    return f"opencode-memory setup{' --project' if in_project else ''}; restart OpenCode"
