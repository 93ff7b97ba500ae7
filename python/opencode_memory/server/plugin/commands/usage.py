"""How a command is used, for whoever typed it without what it needs."""

from __future__ import annotations

from typing import Final

_USAGE: Final = {
    "remember": "/remember [--global] [CATEGORY:] TEXT, for example /remember decision: we use SQLite",
    "recall": "/recall QUESTION",
    "forget": "/forget ID, or /forget WORDS to find the id",
}


def format_usage(command: str, consequence: str) -> str:
    """Say what a model is to tell the person."""
    return (
        f"The user typed /{command} with nothing behind it, so {consequence}. Tell them in one line how it is used:"
        f" {_USAGE[command]}. Do nothing else."
    )
