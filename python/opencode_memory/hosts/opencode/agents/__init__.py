"""The four agents that a person may choose, as OpenCode's ``agent.<name>`` wants them.

``architect`` and ``auditor`` only read, and that is a matter of permission rules, not of what their prompts say:
everything is denied by ``*``, and what reads is allowed again (``permissions.py``). No tool that writes is offered.

The shell is closed to both in ``AGENTS``. OpenCode's rules judge the commands that its parser finds in a line, one by
one, so no list of allowed commands keeps ``> file`` or ``{ git log; } > file`` from writing. ``with_reading_shell``
opens it for some commands of git, and is for whoever refuses such lines first: the plugin, by ``agents.ts``.

Nothing here disables or hides an agent of the user's, or says which one is the default.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Any, Final

from opencode_memory.hosts.opencode.agents import permissions

READ_ONLY: Final = ("architect", "auditor")
"""The agents that change nothing."""


def _prompt(name: str) -> str:
    return files(__name__).joinpath(f"{name}.md").read_text(encoding="utf-8").strip()


AGENTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "code": {
        "description": "Writes code with the project's memory: looks up what is known, and keeps what was decided.",
        "mode": "primary",
        "prompt": _prompt("code"),
        "permission": permissions.CODE,
    },
    "architect": {
        "description": "Plans without changing anything: reads code and the project's memory, and designs the steps.",
        "mode": "primary",
        "temperature": 0.0,
        "prompt": _prompt("architect"),
        "permission": permissions.ARCHITECT,
    },
    "auditor": {
        "description": (
            "Reviews changes without touching anything. Give it what to review (a diff, commits, a branch, files) and "
            "what it was meant to do; it knows the project's conventions and decisions, and keeps its findings."
        ),
        "mode": "subagent",
        "temperature": 0.0,
        "prompt": _prompt("auditor"),
        "permission": permissions.AUDITOR,
    },
    "librarian": {
        "description": (
            "Looks after the project's memory: answers what is known about a subject from many memories, settles "
            "contradictions, merges duplicates, corrects what is out of date. Changes no files."
        ),
        "mode": "subagent",
        "prompt": _prompt("librarian"),
        "permission": permissions.LIBRARIAN,
    },
}
"""By name. What is in here is JSON."""


def with_reading_shell() -> dict[str, dict[str, Any]]:
    """Return the agents with the shell open to the read-only ones for commands of git that read.

    Only for a caller that also refuses every line of the shell that is more than one plain command.
    """
    agents = {name: dict(agent) for name, agent in AGENTS.items()}
    for name in READ_ONLY:
        agents[name]["permission"] = agents[name]["permission"] | {"bash": permissions.READING_COMMANDS}
    return agents
