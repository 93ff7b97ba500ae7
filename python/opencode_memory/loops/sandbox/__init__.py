"""Sandbox of loops: commands of the agent see the worktree and the system's programs, and nothing else.

``engines`` builds the command lines, ``shell`` the file that OpenCode runs as its shell, and ``guard`` judges the tools
that work on files outside of the shell.
"""

from __future__ import annotations

from opencode_memory.loops.sandbox.engines import Sandbox, SandboxError, choose_engine, remove_containers, wrap
from opencode_memory.loops.sandbox.guard import find_refusal
from opencode_memory.loops.sandbox.shell import loop_shell, write_loop_shell, write_shim

__all__ = [
    "Sandbox",
    "SandboxError",
    "choose_engine",
    "find_refusal",
    "loop_shell",
    "remove_containers",
    "wrap",
    "write_loop_shell",
    "write_shim",
]
