"""Receipt of an installation: lists the added files and folders, so that a removal takes exactly those.

The receipt's folder may have come with another person's repository. So only entries that an installation can add are
trusted: our files by their names, and npm stubs by their exact content.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from opencode_memory.hosts.opencode.manifest import digest
from opencode_memory.hosts.opencode.setup.npm_stub import IGNORE_FILE, IGNORE_TEXT, MODULES, NPM_FILES
from opencode_memory.hosts.opencode.setup.terminal import NAMES, render_terminal
from opencode_memory.platform import system
from opencode_memory.platform.system import WITHOUT_WAITING

NAME: Final = "opencode-memory.receipt.json"
PLUGIN_FOLDER: Final = "plugin"
RECEIPT: Final = f"{PLUGIN_FOLDER}/{NAME}"
STUB_TEXTS: Final[Mapping[str, str]] = MappingProxyType({**NPM_FILES, IGNORE_FILE: IGNORE_TEXT})
_OWN_NAMES: Final = "opencode-memory"
_VERSION: Final = 1
_MAX_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Receipt:
    """Added files and folders, by absolute paths.

    Attributes:
        files: Hash of the written content by path.
        folders: Created folders, parents first.
    """

    files: Mapping[Path, str]
    folders: tuple[Path, ...]


EMPTY: Final = Receipt(files=MappingProxyType({}), folders=())


def read_receipt(folder: Path) -> Receipt | None:
    """Read the receipt in a configuration folder; None if there is no valid one."""
    try:
        # Do not follow a symbolic link. Otherwise a removal could delete files that another receipt lists.
        with os.fdopen(system().open(folder / RECEIPT, os.O_RDONLY | WITHOUT_WAITING), "rb") as file:
            read = json.loads(file.read(_MAX_BYTES))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(read, dict) or read.get("version") != _VERSION:
        return None
    files = {path: sha for path, sha in _files(folder, read.get("files")) if _is_plausible(folder, path, sha)}
    near = {above for path in files for above in path.parents} | {path.parent / MODULES for path in files}
    folders = [folder / name for name in _list(read.get("folders")) if isinstance(name, str)]
    return Receipt(MappingProxyType(files), tuple(path for path in folders if path in near))


def render_receipt(folder: Path, receipt: Receipt) -> str:
    """Return the text of a receipt."""
    written = {
        "version": _VERSION,
        "files": {_name(folder, path): sha for path, sha in receipt.files.items()},
        "folders": [_name(folder, path) for path in receipt.folders],
    }
    return json.dumps(written, ensure_ascii=False, indent=2) + "\n"


def is_own(folder: Path, path: Path) -> bool:
    """Return whether a path is, by its name, a file of the plugin. The receipt itself is not."""
    place, *names = path.relative_to(folder).parts if path.is_relative_to(folder) else ("",)
    if place != PLUGIN_FOLDER or not names or names == [NAME]:
        return False
    return names == [IGNORE_FILE] or names[0].startswith(_OWN_NAMES)


def _is_plausible(folder: Path, path: Path, sha: str) -> bool:
    if is_own(folder, path):
        return True
    if path.parent == folder and path.name in NAMES:
        return sha == digest(render_terminal(folder))
    # A stub may be in any folder. A file with the same bytes can be removed without loss.
    return path.name in STUB_TEXTS and sha == digest(STUB_TEXTS[path.name])


def _files(folder: Path, written: Any) -> Iterator[tuple[Path, str]]:
    for name, sha in written.items() if isinstance(written, dict) else ():
        if isinstance(sha, str) and "\0" not in name and ".." not in Path(name).parts:
            # Joining keeps an absolute name as it is.
            yield folder / name, sha


def _list(written: Any) -> list[Any]:
    return written if isinstance(written, list) else []


def _name(folder: Path, path: Path) -> str:
    return str(path.relative_to(folder)) if path.is_relative_to(folder) else str(path)
