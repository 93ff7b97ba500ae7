"""Edits of the configuration file that keep its comments, its order and its formatting."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from opencode_memory.config.load import setting, validate
from opencode_memory.config.settings import REPLACED
from opencode_memory.errors import ConfigError
from opencode_memory.files.atomic import PRIVATE_FILE, write_atomically


def set_value(file: Path, key: str, written: str, *, environment: Mapping[str, str]) -> None:
    """Write one key into the configuration file, and create the file if it does not exist.

    Raises:
        ConfigError: If the key is unknown, the value is invalid, or the file cannot be read or written.
    """
    value = validate(key, written, environment=environment, origin="config set")
    *tables, name = key.split(".")
    document = _read(file)
    place: MutableMapping[str, Any] = document
    for table in tables:
        place = place.setdefault(table, tomlkit.table())
        if not isinstance(place, MutableMapping):
            raise ConfigError(f"{table!r} in {file} is not a table", key=key, origin=str(file))
    place[name] = list(value) if isinstance(value, tuple) else value if isinstance(value, int) else str(value)
    _write(file, tomlkit.dumps(document))


def unset_value(file: Path, key: str) -> bool:
    """Remove one key from the configuration file, so that its default applies; return False if it was not set."""
    *tables, name = (key if key in REPLACED else setting(key).key).split(".")
    document = _read(file)
    place: Any = document
    for table in tables:
        place = place.get(table) if isinstance(place, MutableMapping) else None
    if not isinstance(place, MutableMapping) or name not in place:
        return False
    del place[name]
    _write(file, tomlkit.dumps(document))
    return True


def _read(file: Path) -> tomlkit.TOMLDocument:
    if file.exists() and not file.is_file():
        raise ConfigError(f"cannot edit {file}: it is not a regular file", key="", origin=str(file))
    try:
        return tomlkit.parse(file.read_text(encoding="utf-8") if file.exists() else "")
    except (OSError, UnicodeDecodeError, TOMLKitError) as error:
        raise ConfigError(f"cannot read {file}: {error}", key="", origin=str(file)) from error


def _write(file: Path, text: str) -> None:
    """Replace the file atomically, so that a crash leaves either the old file or the new file."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        # A configuration file is often a symbolic link into a dotfiles repository. Replacing the link would detach it.
        target = Path(os.path.realpath(file))
        mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else PRIVATE_FILE
        write_atomically(target, text.encode(), mode=mode)
    except OSError as error:
        raise ConfigError(f"cannot write {file}: {error.strerror}", key="", origin=str(file)) from error
