"""Permission rules of the agents.

OpenCode applies the last rule that matches, so each table goes from general to special rules, and the order matters.
Tools of the MCP server begin with ``memory_``, those of the plugin with ``memory-``; the rules name both. The tools are
listed one by one, so that a new tool is denied until it is added here.
"""

from __future__ import annotations

from typing import Any, Final

Rules = dict[str, Any]

_READING: Final[Rules] = {
    "*": "deny",
    # These are not tools but questions to the user. OpenCode must keep asking them.
    "doom_loop": "ask",
    "external_directory": "ask",
    # OpenCode's own defaults, which the denial of all tools has removed.
    "read": {"*": "allow", "*.env": "ask", "*.env.*": "ask", "*.env.example": "allow"},
    "glob": "allow",
    "grep": "allow",
    "list": "allow",
    "lsp": "allow",
    "skill": "allow",
    # The list of tasks belongs to the session, not to the project.
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
        "memory_get_session",
        "memory_search_history",
        "memory_get_active_sessions",
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
        "memory_enrich_entity",
        "memory-write",
        "memory-edit",
        "memory-delete",
        "memory-health",
    ),
    "allow",
)

# Redundant after the denial of all tools, but visible at the end of the agent's rules in OpenCode. Tasks are denied,
# because a subagent has the rights of its own definition and not those of its caller. Also, the user may have defined a
# subagent with the name of one of ours.
_NEVER: Final[Rules] = {"edit": "deny", "write": "deny", "apply_patch": "deny", "bash": "deny", "task": "deny"}

CODE: Final[Rules] = {"question": "allow"}
"""The user's own rules apply. A primary agent may also ask questions."""

_PLANNING: Final[Rules] = dict.fromkeys(
    ("memory-plan", "memory-plan-execute", "memory-loop", "memory-loop-status", "memory-loop-cancel"), "allow"
)

ARCHITECT: Final[Rules] = (
    _READING | _RECALLING | _PLANNING | {"question": "allow", "webfetch": "allow", "websearch": "allow"} | _NEVER
)
"""The architect may use the web. The auditor may not, because it reads untrusted code."""

AUDITOR: Final[Rules] = _READING | _RECALLING | {"memory_findings": "allow", "memory-findings": "allow"} | _NEVER

LIBRARIAN: Final[Rules] = _READING | _RECALLING | _CURATING | _NEVER
"""The librarian writes memories but no files, so exports are not among its tools."""

LOOP_AUDITOR: Final[Rules] = AUDITOR | {
    "memory-loop-report": "allow",
    "doom_loop": "deny",
    "external_directory": "deny",
}
"""Nobody watches the auditor of a loop, so it asks nothing."""

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
            # With other arguments, these commands also write.
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
    # Options that write the output to a file, or run a diff program of the configuration. git accepts every unambiguous
    # prefix of an option.
    "*--ou*": "deny",
    "*--ext*": "deny",
}
"""Rules for ``bash``. They are safe only if a line is one plain command without quotes and operators."""
