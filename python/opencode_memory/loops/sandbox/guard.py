"""Judges the calls of tools in a sandboxed session that do not go through the shell.

OpenCode's file tools run outside of the sandbox and follow symbolic links. So the real path of a file decides, that of
its nearest existing folder if it is new. Tools that are not known are refused, because they may do anything.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

_PATHS: Final = ("filePath", "path", "file", "workdir")
_FILE_TOOLS: Final = frozenset({"read", "write", "edit", "multiedit", "glob", "grep", "list", "lsp", "bash"})
_PATCH: Final = frozenset({"apply_patch", "patch"})
_HARMLESS: Final = frozenset({"todowrite", "todoread", "task", "skill", "invalid"})
_WEB: Final = frozenset({"webfetch", "websearch", "codesearch"})
_READS: Final = frozenset({"read", "glob", "grep", "list", "lsp"})
_PATCHED: Final = re.compile(r"^\*\*\* (?:Add File|Update File|Delete File|Move to): (.+)$", re.MULTILINE)
_OUTPUTS: Final = ("opencode", "tool-output")
_HIDDEN: Final = re.compile(r"(?:\.git|\.opencode|opencode\.jsonc?)", re.IGNORECASE)


def find_refusal(tool: str, arguments: Mapping[str, Any], worktree: Path, *, network: bool) -> str | None:
    """Return why a call is refused; None if it is allowed.

    Args:
        tool: Name of the tool.
        arguments: Its arguments.
        worktree: The folder of the loop.
        network: Whether the network may be used.
    """
    if tool in _HARMLESS or tool.startswith(("memory-", "memory_")):
        return None
    if tool in _WEB:
        return None if network else f"{tool}: the sandbox of this loop has no network"
    if tool not in _FILE_TOOLS | _PATCH:
        return f"{tool}: this tool works outside of the sandbox, so loops may not use it"
    for path in _find_paths(tool, arguments):
        refusal = _judge(path, worktree, reads=tool in _READS)
        if refusal is not None:
            return f"{tool}: {refusal}"
    return None


def _find_paths(tool: str, arguments: Mapping[str, Any]) -> Iterator[str]:
    if tool in _PATCH:
        text = next((value for value in arguments.values() if isinstance(value, str)), "")
        yield from (match.strip() for match in _PATCHED.findall(text))
        return
    for name in _PATHS:
        value = arguments.get(name)
        if isinstance(value, str):
            yield value
    pattern = arguments.get("pattern")
    if tool == "glob" and isinstance(pattern, str):
        # A pattern may begin with a path.
        yield pattern.split("*", 1)[0].split("{", 1)[0] or "."


def _judge(given: str, worktree: Path, *, reads: bool) -> str | None:
    if "\0" in given:
        return "a path cannot contain NUL"
    if given.startswith("~"):
        return f"{given} is outside of the worktree"
    root = Path(os.path.realpath(worktree))
    try:
        real = Path(os.path.realpath(worktree / given))
    except (OSError, ValueError) as error:
        return f"{given} cannot be looked up: {error}"
    if reads and _is_output(real):
        return None
    if not real.is_relative_to(root):
        return f"{given} leads outside of the worktree"
    if not reads and any(_HIDDEN.fullmatch(part) for part in real.relative_to(root).parts):
        return f"{given} belongs to git or to OpenCode's configuration, which a loop may not change"
    return None


def _is_output(real: Path) -> bool:
    """Return whether a file is one in which OpenCode keeps a long output of a tool."""
    return real.parent.name == _OUTPUTS[1] and real.parent.parent.name == _OUTPUTS[0]
