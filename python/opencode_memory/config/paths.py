"""Where files live, and whether a path stays where it may be.

Pure functions of a mapping of environment variables (the XDG rules) and of the file system; nothing is created here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from opencode_memory.errors import ConfigError, InvalidInputError

APPLICATION: Final = "opencode-memory"
EXPORTS: Final = "exports"
"""Folder in a data directory for the exports of clients; it holds nothing of the store."""


def default_data_dir(environment: Mapping[str, str]) -> Path:
    """Return the store's folder: ``$XDG_DATA_HOME/opencode-memory/store``.

    The folder above belongs to other programs as well (the predecessor of the same name keeps its database there), so
    the store has one of its own and never touches what lies beside it.
    """
    return _base(environment, "XDG_DATA_HOME", ".local/share") / APPLICATION / "store"


def default_config_file(environment: Mapping[str, str]) -> Path:
    """Return the configuration file: ``$XDG_CONFIG_HOME/opencode-memory/memory.toml``.

    Not ``config.toml``: that name in this folder belongs to the predecessor, whose keys are not ours.
    """
    return _base(environment, "XDG_CONFIG_HOME", ".config") / APPLICATION / "memory.toml"


def confine(path: Path, roots: Iterable[Path]) -> Path:
    """Resolve a path, symbolic links included, and require that it lies under one of the roots.

    Args:
        path: What was asked for; it need not exist.
        roots: Folders that may be used; they are resolved too.

    Returns:
        The resolved path.

    Raises:
        InvalidInputError: The path leads out of every root.
    """
    resolved = path.resolve()
    allowed = [root.resolve() for root in roots]
    if any(resolved == root or root in resolved.parents for root in allowed):
        return resolved
    places = ", ".join(str(root) for root in allowed) or "no folder"
    raise InvalidInputError(f"{path} leads outside the allowed folders ({places})", field="path")


def _base(environment: Mapping[str, str], variable: str, below_home: str) -> Path:
    configured = Path(environment.get(variable, ""))
    # The XDG specification has relative values ignored: they would move the store with the working folder.
    if configured.is_absolute():
        return configured
    home = environment.get("HOME") or environment.get("USERPROFILE")
    if not home:
        message = f"neither {variable} nor HOME is set, so there is no place for {APPLICATION}"
        raise ConfigError(message, key=variable, origin="environment")
    return Path(home) / below_home
