"""Plans for the installation into OpenCode and for its removal. Planning only reads; ``apply_plan`` applies a plan.

A file that the user or another program wrote or changed is never replaced or removed without ``--force``. No file is
written through a symbolic link that leads out of the folder. OpenCode's own configuration is not changed, because
OpenCode finds the plugin by its folder.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from opencode_memory.config.paths import confine
from opencode_memory.errors import ConflictError, StorageError
from opencode_memory.hosts.opencode.manifest import MANIFEST, PLUGIN, digest
from opencode_memory.hosts.opencode.paths import PROJECT_FOLDER
from opencode_memory.hosts.opencode.setup.npm_stub import (
    IGNORE_FILE,
    IGNORE_TEXT,
    MODULES,
    NPM_FILES,
    Stub,
    check_stub,
    explain_wait,
    imported_packages,
    read_object,
)
from opencode_memory.hosts.opencode.setup.receipt import (
    EMPTY,
    PLUGIN_FOLDER,
    RECEIPT,
    Receipt,
    is_own,
    read_receipt,
    render_receipt,
)
from opencode_memory.hosts.opencode.setup.terminal import NAMES, choose_terminal_file, render_terminal

# The manifest contains paths of this machine, which do not belong in a repository.
_PROJECT_IGNORE: Final = "opencode-memory*\n.gitignore\n"


class Action(StrEnum):
    """Kind of change to a file or folder."""

    CREATE = "create"
    REPLACE = "replace"
    REMOVE = "remove"


@dataclass(frozen=True, slots=True)
class SetupStep:
    """One change.

    Attributes:
        action: Kind of the change.
        path: The file or folder.
        text: Complete content that is written or removed; None for a folder.
    """

    action: Action
    path: Path
    text: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Changes for an installation or a removal.

    Attributes:
        folder: The configuration folder.
        steps: The changes, in order; empty if no change is needed.
        left: Added files that stay, because they were changed since.
        waits: Reasons why OpenCode still waits for npm after the plan, by folder.
    """

    folder: Path
    steps: tuple[SetupStep, ...] = ()
    left: tuple[Path, ...] = ()
    waits: Mapping[Path, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Goal of an installation.

    Attributes:
        folder: The configuration folder.
        within: Folder that ``folder`` must not lead out of by a link; None for the user's own configuration.
        files: Text of the plugin's files and of the manifest, by path below the folder.
        reads: All configuration folders that OpenCode reads if it starts here.
        sidebar: Whether OpenCode's terminal shows plans and loops.
    """

    folder: Path
    within: Path | None
    files: Mapping[str, str]
    reads: tuple[Path, ...] = ()
    sidebar: bool = False


def installed_manifest(folder: Path) -> str | None:
    """Return the text of the manifest in a configuration folder; None if the plugin is not installed there."""
    return _read_text(folder / PLUGIN_FOLDER / MANIFEST)


def is_installed(folder: Path) -> bool:
    """Return whether the plugin, or a rest of it, is in a configuration folder."""
    return os.path.lexists(folder / PLUGIN_FOLDER / PLUGIN) or os.path.lexists(folder / RECEIPT)


def plan_setup(wanted: Wanted, *, force: bool = False) -> Plan:
    """Plan the changes that install the plugin and keep OpenCode from waiting for npm.

    Args:
        wanted: The goal.
        force: Whether to replace files that were changed since the installation.

    Raises:
        ConflictError: One of our files was changed, or another program wrote it; or OpenCode would load another plugin.
        InvalidInputError: A symbolic link leads out of the folder.
        StorageError: A file cannot be read.
    """
    folder = wanted.folder
    own = {folder / name: text for name, text in wanted.files.items()}
    _check_links(folder, wanted.within, {path.parent for path in own})
    _check_package(folder / PLUGIN_FOLDER)
    draft = _Draft(read_receipt(folder) or EMPTY)
    if conflicts := [path for path, text in own.items() if not draft.put(path, text, force=force)]:
        raise _describe_conflict(conflicts)
    draft.drop({path for path in draft.paths if is_own(folder, path) and path.name != IGNORE_FILE} - own.keys())
    if wanted.within is not None:
        draft.put_if_missing(folder / PLUGIN_FOLDER / IGNORE_FILE, _PROJECT_IGNORE)
    draft.drop({path for path in draft.paths if path.parent == folder and path.name in NAMES and not wanted.sidebar})
    terminal = choose_terminal_file(folder) if wanted.sidebar else None
    if terminal is not None:
        draft.put(terminal, render_terminal(folder), force=False)
    stubbed = {place: _check_stub(place) for place in dict.fromkeys((folder, *wanted.reads))}
    for place, stub in stubbed.items():
        if stub is Stub.MISSING:
            draft.add_stub(place)
        elif stub is Stub.WRONG:
            draft.remove_stub(place)
    receipt = folder / RECEIPT
    draft.write_receipt(folder, receipt)
    waits = {
        place: _explain_wait(place, stub) for place, stub in stubbed.items() if stub in (Stub.NOT_OURS, Stub.WRONG)
    }
    return Plan(
        folder=folder,
        steps=tuple(draft.steps()),
        waits=MappingProxyType({place: why for place, why in waits.items() if why is not None}),
    )


def plan_undo(folder: Path, *, within: Path | None = None) -> Plan | None:
    """Plan the removal of everything that an installation added; None if there is no valid receipt.

    Raises:
        InvalidInputError: A symbolic link leads out of the folder.
        StorageError: A file cannot be read.
    """
    _check_links(folder, within, {folder / PLUGIN_FOLDER})
    receipt = read_receipt(folder)
    if receipt is None:
        return None
    _check_links(folder, within, {path.parent for path in receipt.files if is_own(folder, path)})
    steps, left = [], []
    for path, sha in receipt.files.items():
        text = _read_text(path)
        if text is not None and digest(text) == sha:
            steps.append(SetupStep(Action.REMOVE, path, text))
        elif os.path.lexists(path):
            left.append(path)
    steps.append(SetupStep(Action.REMOVE, folder / RECEIPT, _read_text(folder / RECEIPT)))
    gone = {step.path for step in steps}
    for made in sorted(receipt.folders, key=lambda path: len(path.parts), reverse=True):
        if _list_children(made) <= gone:
            steps.append(SetupStep(Action.REMOVE, made))
            gone.add(made)
    return Plan(folder=folder, steps=tuple(steps), left=tuple(left))


class _Draft:
    """Collects the steps of an installation and the entries of its receipt."""

    def __init__(self, before: Receipt) -> None:
        # Forget entries that no longer exist.
        self._files = {path: sha for path, sha in before.files.items() if os.path.lexists(path)}
        self._folders = [path for path in before.folders if path.is_dir()]
        self._steps: list[SetupStep] = []

    @property
    def paths(self) -> set[Path]:
        """Files that an installation added, or that this one will add."""
        return set(self._files)

    def steps(self) -> Iterator[SetupStep]:
        """Yield the steps in order: folders, then a first receipt, then the other files.

        If the process is killed, a later run can undo the files that the first receipt lists. An existing receipt is
        replaced last, because until then it tells which files may be replaced.
        """

        def turn(step: SetupStep) -> int:
            if step.action is not Action.CREATE:
                return 2
            return 0 if step.text is None else 1 if step.path.as_posix().endswith(RECEIPT) else 2

        yield from sorted(self._steps, key=turn)

    def put(self, path: Path, text: str, *, force: bool) -> bool:
        """Plan a file with this text. Return False if another file is there that must not be replaced."""
        found = _read_text(path)
        if found != text:
            if os.path.lexists(path):
                if not force and (found is None or self._files.get(path) != digest(found)):
                    return False
                self._steps.append(SetupStep(Action.REPLACE, path, text))
            else:
                self._make_folder(path.parent)
                self._steps.append(SetupStep(Action.CREATE, path, text))
        self._files[path] = digest(text)
        return True

    def drop(self, paths: Iterable[Path]) -> None:
        """Plan the removal of these files, except those that were changed."""
        for path in sorted(paths):
            text = _read_text(path)
            if text is not None and self._files[path] == digest(text):
                self._steps.append(SetupStep(Action.REMOVE, path, text))
                del self._files[path]
        gone = {step.path for step in self._steps if step.action is Action.REMOVE}
        for folder in [path for path in self._folders if path in {path.parent for path in gone}]:
            if _list_children(folder) <= gone:
                self._steps.append(SetupStep(Action.REMOVE, folder))
                self._folders.remove(folder)

    def put_if_missing(self, path: Path, text: str) -> None:
        """Plan a file with this text, unless a file is there."""
        if not os.path.lexists(path):
            self._make_folder(path.parent)
            self._steps.append(SetupStep(Action.CREATE, path, text))
            self._files[path] = digest(text)

    def add_stub(self, place: Path) -> None:
        """Plan a complete stub in a folder where npm never ran."""
        self._make_folder(place / MODULES)
        for name, text in NPM_FILES.items():
            self.put(place / name, text, force=False)
        self.put_if_missing(place / IGNORE_FILE, IGNORE_TEXT)

    def remove_stub(self, place: Path) -> None:
        """Plan the removal of a stub, so that npm installs the packages that the folder needs."""
        for name, text in NPM_FILES.items():
            if os.path.lexists(place / name):
                self._steps.append(SetupStep(Action.REMOVE, place / name, text))
            self._files.pop(place / name, None)
        if (place / MODULES).is_dir():
            self._steps.append(SetupStep(Action.REMOVE, place / MODULES))
        self._folders = [path for path in self._folders if path != place / MODULES]

    def write_receipt(self, folder: Path, path: Path) -> None:
        """Plan the receipt of the state after all steps."""
        text = render_receipt(folder, Receipt(self._files, tuple(self._folders)))
        found = _read_text(path)
        if found != text:
            self._steps.append(SetupStep(Action.CREATE if found is None else Action.REPLACE, path, text))

    def _make_folder(self, folder: Path) -> None:
        planned = {step.path for step in self._steps}
        for missing in reversed(
            [path for path in (folder, *folder.parents) if not path.exists() and path not in planned]
        ):
            self._steps.append(SetupStep(Action.CREATE, missing))
            self._folders.append(missing)


def _check_links(folder: Path, within: Path | None, below: Iterable[Path]) -> None:
    try:
        confine(folder, [within or folder])
        for place in sorted(below):
            confine(place, [folder])
    except RuntimeError as error:
        raise ConflictError(f"a symbolic link in {folder} leads back to itself; move it away") from error


def _check_package(plugin_folder: Path) -> None:
    """Refuse a folder whose package.json makes OpenCode load another file instead of the plugin."""
    package = read_object(plugin_folder / "package.json")
    exports = package.get("exports")
    entry: Any = exports.get("./server") if isinstance(exports, dict) else None
    entry = entry or package.get("main")
    if entry:
        error = ConflictError(f"{plugin_folder / 'package.json'} makes OpenCode load {entry} instead of {PLUGIN}")
        error.hint = "remove `main` and `exports` from that file, or move the file away"
        raise error


def _check_stub(place: Path) -> Stub:
    """Return the state of a folder's stub. A read-only folder, or a link in a repository, is not ours."""
    if place.exists() and not os.access(place, os.W_OK):
        return Stub.NOT_OURS
    if place.name == PROJECT_FOLDER and place.is_symlink():
        return Stub.NOT_OURS
    return check_stub(place)


def _explain_wait(place: Path, stub: Stub) -> str | None:
    if stub is Stub.WRONG:
        file, package = next(imported_packages(place))
        return f"{file.name} imports {package}"
    return explain_wait(place)


def _describe_conflict(paths: Iterable[Path]) -> ConflictError:
    names = " and ".join(map(str, paths))
    error = ConflictError(f"{names} was not installed by opencode-memory, or was changed since")
    error.hint = "check the file; the same command with --force replaces it"
    return error


def _list_children(folder: Path) -> set[Path]:
    """Return the content of a folder. A link or an unreadable folder counts as its own content, so that it stays."""
    try:
        return {folder} if folder.is_symlink() else set(folder.iterdir())
    except OSError:
        return {folder}


def _read_text(path: Path) -> str | None:
    """Return the text of a file; None if the file is missing, a link, or not UTF-8."""
    try:
        mode = path.lstat().st_mode
        return path.read_bytes().decode() if stat.S_ISREG(mode) else None
    except (FileNotFoundError, NotADirectoryError, UnicodeDecodeError):
        return None
    except OSError as error:
        raise StorageError(f"cannot read {path}: {error.strerror or error}", path=str(path)) from error
