"""The four agents that the user may choose, in the form of OpenCode's ``agent.<name>``.

``architect`` and ``auditor`` only read. Permission rules enforce that, not prompts: ``*`` denies all tools, and tools
that only read are allowed again (``permissions.py``). These agents are offered no tool that writes.

In ``AGENTS``, both have no shell. OpenCode's rules judge each command that its parser finds in a line, so no list of
allowed commands can stop ``> file`` or ``{ git log; } > file``. ``with_reading_shell`` allows some git commands. It is
only for a caller that refuses such lines first, which the plugin does in ``agents.ts``.

The agents of the user are never disabled or hidden, and the default agent is not changed.

``HIDDEN`` has the agents that digest sessions and audit in loops. They are always there. Their mode is ``primary``, as
that of OpenCode's own hidden agents, because a hidden subagent would still be offered to every model by the tool
``task``.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Any, Final

from opencode_memory.hosts.opencode.agents import permissions
from opencode_memory.hosts.opencode.contract import AUDIT_AGENT, DIGEST_AGENT

READ_ONLY: Final = ("architect", "auditor")
"""Agents that only read."""


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
"""Agents by name, as JSON values."""

HIDDEN: Final[Mapping[str, Mapping[str, Any]]] = {
    DIGEST_AGENT: {
        "description": "Digests a session into memories. opencode-memory runs it after the session.",
        "mode": "primary",
        "hidden": True,
        "temperature": 0.0,
        "prompt": _prompt("digest"),
        "permission": {"*": "deny"},
    },
    AUDIT_AGENT: {
        "description": "Audits the changes of a loop. opencode-memory runs it in sessions of its own.",
        "mode": "primary",
        "hidden": True,
        "temperature": 0.0,
        "prompt": _prompt("auditor"),
        "permission": permissions.LOOP_AUDITOR,
    },
}
"""Agents of opencode-memory itself by name, as JSON values."""


def with_reading_shell() -> dict[str, dict[str, Any]]:
    """Return the agents; the read-only ones may use the shell for git commands that only read.

    Use it only if every shell line that is more than one plain command is refused.
    """
    agents = {name: dict(agent) for name, agent in AGENTS.items()}
    for name in READ_ONLY:
        agents[name]["permission"] = agents[name]["permission"] | {"bash": permissions.READING_COMMANDS}
    return agents
