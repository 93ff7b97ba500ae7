"""API keys of servers that the user has configured: keys in files, and keys that fit into a header."""

from __future__ import annotations

from pathlib import Path

from opencode_memory.errors import InvalidInputError
from opencode_memory.platform import system


def is_sendable(key: str) -> bool:
    """Return whether a key fits into a header. The HTTP library would quote any other key in its error."""
    return bool(key) and key.isascii() and key.isprintable() and " " not in key


def read_key_file(file: Path | None, *, field: str) -> str | None:
    """Read the key in a file that only its owner can read; None if no file is configured.

    Args:
        file: The path of the user.
        field: Name of the setting, for errors.

    Raises:
        InvalidInputError: The file cannot be read, other users can read it, or it is empty.
    """
    if file is None:
        return None
    name = field.rpartition(".")[2]
    try:
        is_open = system().may_others_read(file)
        key = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise InvalidInputError(f"{name}: {file} cannot be read: {reason}", field=field) from error
    if is_open:
        problem = InvalidInputError(f"{name}: other users can read {file}", field=field, limit="mode 0600")
        problem.hint = f"chmod 600 {file}"
        raise problem
    if not key:
        raise InvalidInputError(f"{name}: {file} is empty", field=field)
    return key
