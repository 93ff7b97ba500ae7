"""Finds ``memory-config.jsonc`` and copies it once from its old location.

The file at the old location is only ever read. A note beside our own configuration file records the copy. So the file
stays deleted if the user deletes the copy.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from opencode_memory.config.paths import default_config_file, default_data_dir
from opencode_memory.errors import ConfigError

MAX_BYTES: Final = 64 * 1024
"""Maximum size of the file. The parser takes up to two seconds for this size; the shipped file has 2,400 bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Places:
    """The paths of the file, of the file at its old location, and of the note about the copy."""

    file: Path
    before: Path
    note: Path


def find(environment: Mapping[str, str]) -> Path | None:
    """Return the file to read: the current one, or else the one at the old location unless it was ever copied."""
    places = _find_places(environment)
    if places is None:
        return None
    if os.path.lexists(places.file):
        return places.file
    return places.before if os.path.lexists(places.before) and not os.path.lexists(places.note) else None


def migrate(environment: Mapping[str, str]) -> Path | None:
    """Copy the file byte for byte from its old location, unless a file exists or it was copied before.

    A failure is only logged. The file at the old location stays in use, and a later call tries again.

    Returns:
        The path of the copy; None if there was no copy to make.
    """
    places = _find_places(environment)
    if places is None or os.path.lexists(places.note) or not os.path.lexists(places.before):
        return None
    try:
        copied = None if os.path.lexists(places.file) else _create(places.file, read_bounded(places.before))
        # Also write the note if both files exist: a user who then deletes the newer one does not want the older one.
        _create(places.note, _render_note(places).encode("utf-8", "backslashreplace"))
    except (OSError, ValueError) as error:
        import logging  # noqa: PLC0415  few commands load it

        logging.getLogger(__name__).warning(
            "cannot copy %s to %s: %s", places.before, places.file, describe_error(error)
        )
        return None
    return copied


def read_bounded(file: Path) -> bytes:
    """Return the content of a file.

    Raises:
        OSError: If it cannot be read.
        ValueError: If it is not a regular file, or is too large.
    """
    # Reading a FIFO would block, and a device may never return EOF.
    if not stat.S_ISREG(file.stat().st_mode):
        raise ValueError("it is not a regular file")
    with file.open("rb") as handle:
        content = handle.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise ValueError(f"it has more than {MAX_BYTES:,} bytes, the maximum")
    return content


def describe_error(error: OSError | ValueError) -> str:
    """Return the message of an error without its path, which the caller names."""
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)


def _find_places(environment: Mapping[str, str]) -> _Places | None:
    try:
        ours = default_config_file(environment).parent
        data = default_data_dir(environment).parent.parent
    except ConfigError:
        # Without a home there is no default location. A user may still configure everything by variables.
        return None
    return _Places(
        file=ours.parent / "opencode" / "memory-config.jsonc",
        before=data / "opencode" / "memory" / "config.json",
        note=ours / "memory-config.migrated",
    )


def _render_note(places: _Places) -> str:
    return (
        f"{places.before}\nwas replaced by\n{places.file}\nand is no longer read or copied.\n"
        "Delete this note to copy it again if the new file is missing.\n"
    )


def _create(file: Path, content: bytes) -> Path | None:
    """Create a file for its owner only, complete or not at all; return None if it exists by now."""
    import tempfile  # noqa: PLC0415  once in the life of an installation

    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=file.parent, prefix=f".{file.name}.") as temporary:
        temporary.write(content)
        temporary.flush()
        os.fsync(temporary.fileno())
        try:
            # Unlike a rename, a link never replaces a file that another process has just written.
            os.link(temporary.name, file)
        except FileExistsError:
            return None
    return file
