"""What ``doctor --fix`` does by itself: only what any command would do again, and what takes nothing away."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from opencode_memory.cli.checks import Check
from opencode_memory.cli.context import Invocation


class Cure(StrEnum):
    """What helps."""

    SETUP = "setup"
    SETUP_PROJECT = "setup --project"
    START = "serve --detach"
    CHMOD = "chmod"


@dataclass(frozen=True, slots=True)
class Remedy:
    """What helps, and where.

    Attributes:
        cure: What helps.
        path: The file or folder whose permissions are set.
        mode: The permissions.
    """

    cure: Cure
    path: Path | None = None
    mode: int | None = None


@dataclass(frozen=True, slots=True)
class Curable(Check):
    """A check that went wrong, and what is sure to help.

    Attributes:
        remedy: What helps.
    """

    remedy: Remedy | None = None


def apply(run: Invocation, remedy: Remedy) -> str:
    """Apply a remedy and say what was done.

    Raises:
        OpencodeMemoryError: It could not be done.
        OSError: The same, for permissions.
    """
    if remedy.path is not None and remedy.mode is not None:
        remedy.path.chmod(remedy.mode)
        return f"chmod {remedy.mode:o} {remedy.path}"
    if remedy.cure is Cure.START:
        from opencode_memory.cli.detach import start  # noqa: PLC0415  only here

        start(run.config)
        return "opencode-memory serve --detach"
    return _set_up(run, in_project=remedy.cure is Cure.SETUP_PROJECT)


def _set_up(run: Invocation, *, in_project: bool) -> str:
    from opencode_memory.cli.setup import SetupRequest, chosen, wanted  # noqa: PLC0415  only here
    from opencode_memory.opencode.carry_out import carry_out  # noqa: PLC0415  only here
    from opencode_memory.opencode.installation import plan_setup  # noqa: PLC0415  only here

    request = SetupRequest(in_project=in_project)
    carry_out(plan_setup(wanted(run, chosen(run, request), in_project=in_project)))
    return f"opencode-memory setup{' --project' if in_project else ''}; restart OpenCode"
