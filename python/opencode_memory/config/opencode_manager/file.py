"""Where ``memory-config.jsonc`` is, where it was before, and copying it from there to here, once.

The file at the old place is only ever read. What was copied is noted beside our own configuration file, so that who
deletes the copy is rid of it.
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
"""Most bytes that are read. The parser takes up to two seconds for so many, and the file that they ship has 2,400."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Places:
    """The file, the place it had before, and the note that it was copied from there."""

    file: Path
    before: Path
    note: Path


def find(environment: Mapping[str, str]) -> Path | None:
    """Return the file to read: the one at its place, or else the one at the old place if that was never copied."""
    places = _find_places(environment)
    if places is None:
        return None
    if os.path.lexists(places.file):
        return places.file
    return places.before if os.path.lexists(places.before) and not os.path.lexists(places.note) else None


def migrate(environment: Mapping[str, str]) -> Path | None:
    """Copy the file from its old place to the present one, byte for byte, unless there is one or it was done before.

    A failure is logged and costs nothing: the old file is read in its place until another time.

    Returns:
        The copy; None when none was made.
    """
    places = _find_places(environment)
    if places is None or os.path.lexists(places.note) or not os.path.lexists(places.before):
        return None
    try:
        copied = None if os.path.lexists(places.file) else _create(places.file, read_bounded(places.before))
        # Also where both files are there already: whoever then deletes the newer one does not want the older one.
        _create(places.note, _render_note(places).encode("utf-8", "backslashreplace"))
    except (OSError, ValueError) as error:
        import logging  # noqa: PLC0415  few commands load it

        logging.getLogger(__name__).warning(
            "cannot copy %s to %s: %s", places.before, places.file, describe_error(error)
        )
        return None
    return copied


def read_bounded(file: Path) -> bytes:
    """Return what is in a file.

    Raises:
        OSError: It cannot be read.
        ValueError: It is no regular file, or too large.
    """
    # A pipe would be waited for, and a device never ends.
    if not stat.S_ISREG(file.stat().st_mode):
        raise ValueError("it is not a regular file")
    with file.open("rb") as handle:
        content = handle.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise ValueError(f"it has more than {MAX_BYTES:,} bytes, and no more are read")
    return content


def describe_error(error: OSError | ValueError) -> str:
    """Return what an error says, without the path that is named anyway."""
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)


def _find_places(environment: Mapping[str, str]) -> _Places | None:
    try:
        ours = default_config_file(environment).parent
        data = default_data_dir(environment).parent.parent
    except ConfigError:
        # Without a home there is no such file; whoever configures everything by variables needs none.
        return None
    return _Places(
        file=ours.parent / "opencode" / "memory-config.jsonc",
        before=data / "opencode" / "memory" / "config.json",
        note=ours / "memory-config.migrated",
    )


def _render_note(places: _Places) -> str:
    return (
        f"{places.before}\nis not read any more, and not copied again: its successor is\n{places.file}\n"
        "Delete this note to have it copied again where that file is missing.\n"
    )


def _create(file: Path, content: bytes) -> Path | None:
    """Write a new file for its owner only, complete or not at all; None when there is one by now."""
    import tempfile  # noqa: PLC0415  once in the life of an installation

    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=file.parent, prefix=f".{file.name}.") as temporary:
        temporary.write(content)
        temporary.flush()
        os.fsync(temporary.fileno())
        try:
            # Unlike a rename, a link never replaces a file that somebody wrote just now.
            os.link(temporary.name, file)
        except FileExistsError:
            return None
    return file
