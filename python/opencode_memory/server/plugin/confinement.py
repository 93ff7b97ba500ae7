"""What a session of a loop may do in the shell and with files. Its subagents may do the same."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opencode_memory.loops.git import no_push_environment
from opencode_memory.loops.model import Loop
from opencode_memory.loops.records import Loops
from opencode_memory.loops.sandbox import find_refusal, loop_shell
from opencode_memory.loops.sandbox.shell import VARIABLE

if TYPE_CHECKING:
    from opencode_memory.server.plugin.protocol import GuardParams
    from opencode_memory.store.memory_store import MemoryStore


@dataclass(frozen=True, slots=True)
class Confinement:
    """The restrictions of a session.

    Attributes:
        env: Variables for its commands.
        confined: Whether it belongs to a loop.
        sandboxed: Whether its commands run in a sandbox.
    """

    env: dict[str, str] = field(default_factory=dict)
    confined: bool = False
    sandboxed: bool = False


def find_loop(store: MemoryStore, session: str) -> Loop | None:
    """Return the loop of a session; None if it belongs to none."""
    found = Loops(store).of_session(session)
    return None if found is None else found[0]


def confine(store: MemoryStore, loop: Loop | None) -> Confinement:
    """Return the restrictions of a loop's sessions; none for other sessions."""
    if loop is None:
        return Confinement()
    env = no_push_environment()
    is_sandboxed = loop.sandbox != "off"
    if is_sandboxed:
        env[VARIABLE] = str(loop_shell(store.data_dir, loop.id))
    return Confinement(env=env, confined=True, sandboxed=is_sandboxed)


def judge_call(loop: Loop | None, asked: GuardParams) -> str | None:
    """Return why a call of a tool is refused; None if it is allowed."""
    if loop is None or loop.sandbox == "off":
        return None
    arguments: Any = asked.arguments
    if not isinstance(arguments, dict):
        return f"{asked.tool[:80]}: the arguments are no object"
    return find_refusal(asked.tool, arguments, Path(loop.worktree or loop.directory), network=loop.network)
