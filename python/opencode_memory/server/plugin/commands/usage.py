"""Usage of slash commands, for a user who typed a command without its arguments."""

from __future__ import annotations

from typing import Final

_USAGE: Final = {
    "remember": "/remember [--global] [CATEGORY:] TEXT, for example /remember decision: we use SQLite",
    "recall": "/recall QUESTION",
    "forget": "/forget ID, or /forget WORDS to find the id",
}


def format_usage(command: str, consequence: str) -> str:
    """Tell the model to explain the usage of a command to the user."""
    return (
        f"The user typed /{command} without arguments, so {consequence}. Tell them the usage in one line:"
        f" {_USAGE[command]}. Do nothing else."
    )
