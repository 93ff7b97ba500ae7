"""Permissions of a loop's sessions: denials only, so that the user's own rules stay in force.

OpenCode applies the last rule that matches, and rules of a session come last. An allowance of everything would lift
what the user has denied.
"""

from __future__ import annotations

from typing import Any, Final

_DENIED_TOOLS: Final = (
    "question",
    "doom_loop",
    "plan_enter",
    "plan_exit",
    "memory-plan",
    "memory-plan-execute",
    "memory-loop",
    "memory-loop-cancel",
)
_DENIED_EDITS: Final = (".git", ".git/*", "*/.git/*", "*.opencode/*", "*opencode.json*")
_DENIED_COMMANDS: Final = ("git push*", "git remote add*", "git remote set-url*", "git config*")


def session_rules(*, output: str) -> list[dict[str, str]]:
    """Return the rules of a loop's session.

    Args:
        output: Pattern of the files in which OpenCode keeps long outputs of tools. The agent must be able to read them.
    """
    return [
        *(_rule(tool, "*", "deny") for tool in _DENIED_TOOLS),
        *(_rule("edit", pattern, "deny") for pattern in _DENIED_EDITS),
        *(_rule("bash", pattern, "deny") for pattern in _DENIED_COMMANDS),
        _rule("external_directory", "*", "deny"),
        # This lifts only our own denial: OpenCode allows these files by itself.
        _rule("external_directory", output, "allow"),
    ]


def refusal(asked: dict[str, Any]) -> dict[str, str]:
    """Return the answer to a question of permission, because no user watches a loop. The model reads its sentence."""
    kind = str(asked.get("permission") or asked.get("type") or "this")
    return {
        "reply": "reject",
        "message": (
            f"Nobody watches this loop, so {kind[:60]!r} is not allowed. Go on without it, or say in your last message"
            " what a person has to do."
        ),
    }


def _rule(permission: str, pattern: str, action: str) -> dict[str, str]:
    return {"permission": permission, "pattern": pattern, "action": action}
