"""Default paths of the store and the configuration file, and confinement of paths to allowed folders.

Pure functions of environment variables (the XDG rules) and of the file system. This module creates no files.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from opencode_memory.errors import ConfigError, InvalidInputError

APPLICATION: Final = "opencode-memory"
EXPORTS: Final = "exports"
"""Folder in a data directory for the exports of clients. It holds no files of the store."""
_WINDOWS_ELOOP: Final = 1921
"""``ERROR_CANT_RESOLVE_FILENAME``."""


def default_data_dir(environment: Mapping[str, str]) -> Path:
    """Return the default folder of the store: ``$XDG_DATA_HOME/opencode-memory/store``.

    The parent folder is shared: the predecessor of the same name keeps its database there. So the store has a folder of
    its own and never touches the files beside it.
    """
    return _base(environment, "XDG_DATA_HOME", ".local/share") / APPLICATION / "store"


def default_config_file(environment: Mapping[str, str]) -> Path:
    """Return the default configuration file: ``$XDG_CONFIG_HOME/opencode-memory/memory.toml``.

    The name is not ``config.toml``, because that file in this folder belongs to the predecessor and has other keys.
    """
    return _base(environment, "XDG_CONFIG_HOME", ".config") / APPLICATION / "memory.toml"


def confine(path: Path, roots: Iterable[Path]) -> Path:
    """Resolve a path with its symbolic links and require that it is inside one of the roots.

    Args:
        path: The requested path; it need not exist.
        roots: The allowed folders; they are also resolved.

    Returns:
        The resolved path.

    Raises:
        InvalidInputError: If the path is outside all roots.
        RuntimeError: If a symbolic link in the path leads back to itself.
    """
    _refuse_circle(path)
    resolved = path.resolve()
    allowed = [root.resolve() for root in roots]
    if any(resolved == root or root in resolved.parents for root in allowed):
        return resolved
    places = ", ".join(str(root) for root in allowed) or "no folder"
    raise InvalidInputError(f"{path} leads outside the allowed folders ({places})", field="path")


def _refuse_circle(path: Path) -> None:
    """Raise the error that ``Path.resolve`` raises before Python 3.13 for a link that leads back to itself."""
    try:
        path.stat()
    except OSError as error:
        if error.errno == errno.ELOOP or getattr(error, "winerror", None) == _WINDOWS_ELOOP:
            raise RuntimeError(f"a symbolic link in {path} leads back to itself") from error


def _base(environment: Mapping[str, str], variable: str, below_home: str) -> Path:
    configured = Path(environment.get(variable, ""))
    # The XDG specification ignores relative values. Otherwise the store would move with the working folder.
    if configured.is_absolute():
        return configured
    home = environment.get("HOME") or environment.get("USERPROFILE")
    if not home:
        message = f"cannot find the folder of {APPLICATION}: neither {variable} nor HOME is set"
        raise ConfigError(message, key=variable, origin="environment")
    return Path(home) / below_home
