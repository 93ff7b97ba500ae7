"""Remark on memories that a command leaves without vectors."""

from __future__ import annotations

from opencode_memory.text.formatting import format_count


def describe_rest(waiting: int) -> str:
    """Describe the memories that an embedding left, and how it goes on."""
    return (
        f"{format_count(waiting, 'memory')} without vectors, found by their words until then. "
        "The server and later commands go on; `opencode-memory reindex` does it now."
    )
