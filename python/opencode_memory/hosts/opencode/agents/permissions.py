"""The permission rules of the agents.

OpenCode takes the last rule that matches, so each table goes from the general to the special, and its order counts.
Tools have other names depending on the setup: those of the MCP server begin with ``memory_``, those of the plugin with
``memory-``; the rules name both. They are listed one by one: a tool that comes later is denied until somebody has
thought about it.
"""

from __future__ import annotations

from typing import Any, Final

Rules = dict[str, Any]

_READING: Final[Rules] = {
    "*": "deny",
    # Not permissions to do something, but questions to the user, who is to go on being asked.
    "doom_loop": "ask",
    "external_directory": "ask",
    # As OpenCode has it by itself; the denial of everything has taken that away.
    "read": {"*": "allow", "*.env": "ask", "*.env.*": "ask", "*.env.example": "allow"},
    "glob": "allow",
    "grep": "allow",
    "list": "allow",
    "lsp": "allow",
    "skill": "allow",
    # Of the session, not of the project.
    "todowrite": "allow",
}

_RECALLING: Final[Rules] = dict.fromkeys(
    (
        "memory_recall",
        "memory_get_context",
        "memory_get_boot_context",
        "memory_memory_status",
        "memory_get_memory",
        "memory_get_linked_memories",
        "memory_search_history",
        "memory_get_active_sessions",
        "memory_enrich_entity",
        "memory_kv_get",
        "memory_kv_list",
        "memory-read",
        "memory-kv-get",
        "memory-kv-list",
    ),
    "allow",
)

_CURATING: Final[Rules] = dict.fromkeys(
    (
        "memory_remember",
        "memory_edit_memory",
        "memory_link_memories",
        "memory_archive_memory",
        "memory_restore_memory",
        "memory_delete_memory",
        "memory_undo",
        "memory_resolve_blocker",
        "memory_unresolve_blocker",
        "memory_bulk_archive",
        "memory_consolidate_memory",
        "memory-write",
        "memory-edit",
        "memory-delete",
        "memory-health",
    ),
    "allow",
)

# Said although the denial of everything covers them: whoever looks at the agent in OpenCode finds them at the end.
# Tasks are denied altogether, since a subagent has the rights of its own definition, not of who called it, and may be
# the user's own under the name of one of ours.
_NEVER: Final[Rules] = {"edit": "deny", "write": "deny", "apply_patch": "deny", "bash": "deny", "task": "deny"}

CODE: Final[Rules] = {"question": "allow"}
"""What the user allows everybody; a primary agent may also ask."""

ARCHITECT: Final[Rules] = (
    _READING | _RECALLING | {"question": "allow", "webfetch": "allow", "websearch": "allow"} | _NEVER
)
"""It may look things up on the web, which the auditor, who reads the code of strangers, may not."""

AUDITOR: Final[Rules] = _READING | _RECALLING | {"memory_findings": "allow", "memory-findings": "allow"} | _NEVER

LIBRARIAN: Final[Rules] = _READING | _RECALLING | _CURATING | _NEVER
"""It writes memories, and never files: exports are not among its tools."""

READING_COMMANDS: Final[Rules] = {
    "*": "deny",
    **dict.fromkeys(
        (
            "git diff *",
            "git log *",
            "git show *",
            "git status *",
            "git blame *",
            "git ls-files *",
            "git merge-base *",
            "git rev-parse *",
            "git describe *",
            # These also write, depending on what follows.
            "git branch",
            "git branch -a",
            "git branch -r",
            "git branch -v",
            "git branch -vv",
            "git branch --show-current",
            "git tag",
            "git remote -v",
            "git stash list",
            "git worktree list",
        ),
        "allow",
    ),
    # Output into a file, and a program of the configuration that makes the diff. git takes any beginning of an option
    # that is unambiguous.
    "*--ou*": "deny",
    "*--ext*": "deny",
}
"""Rules for ``bash``, sound only where a line is one plain command without quotes and operators."""
