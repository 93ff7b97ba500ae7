"""Lines for people of what the package logs, without characters that could rewrite the terminal that shows them."""

from __future__ import annotations

import logging
from typing import Final

from opencode_memory.text.display import replace_controls

_WARNING: Final = "warning: %(message)s"


class TextLines(logging.Formatter):
    """Formats a record for people, without characters that could rewrite the terminal that shows the log."""

    def format(self, record: logging.LogRecord) -> str:
        """Format a record."""
        return replace_controls(super().format(record))


def clean_warnings() -> None:
    """Let the warnings of a command without a log be clean lines.

    A warning may name a folder, a note or a session, whose name is of somebody else.
    """
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(TextLines(_WARNING))
