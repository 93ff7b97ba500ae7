"""Key prefixes of this program's own state in the key-value store.

Agents and the user share the key-value store with this program. A client that could write such a key could, for
example, switch learning on again, or make an unchanged memory file look edited by the user. Therefore the tools of
agents hide these keys, and neither the tools nor the command line set or delete them.
"""

from __future__ import annotations

from typing import Final

from opencode_memory.errors import InvalidInputError

PROGRAM: Final = "opencode-memory:"
"""Switches and off times of learning, the usage of the digest, the fact sheet, and the offer to relearn."""
MEMORY_FILE: Final = "memory_file:"
"""The last version of each memory file."""
REVIEW_FINDING: Final = "review-finding:"
"""Findings of reviews, which have tools of their own."""
FORGE: Final = "forge/"
"""Answers of forges, and hosts that are left alone."""
_PREFIXES: Final = (PROGRAM, MEMORY_FILE, REVIEW_FINDING, FORGE)


def is_reserved(key: str) -> bool:
    """Return whether a key belongs to this program."""
    return key.startswith(_PREFIXES)


def refuse_reserved(key: str) -> None:
    """Refuse to set or delete a key that belongs to this program.

    Raises:
        InvalidInputError: The key has a reserved prefix.
    """
    if not is_reserved(key):
        return
    error = InvalidInputError(f"key: {key[:80]!r} is reserved for opencode-memory's own state", field="key")
    error.hint = f"choose a key that does not begin with {', '.join(_PREFIXES[:-1])} or {_PREFIXES[-1]}"
    raise error
