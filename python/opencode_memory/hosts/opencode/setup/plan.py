"""What an installation into OpenCode, or its removal, consists of: plans, made by looking, without writing anything.

A file that somebody else wrote or changed is never replaced or removed unless that is asked for, and nothing is written
through a symbolic link to a place outside of the folder. OpenCode's own configuration is not touched: it finds the
plugin by its folder. ``carry_out`` does what a plan says.
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
    imported_packages,
    look,
    read_object,
    why_it_waits,
)
from opencode_memory.hosts.opencode.setup.receipt import (
    NOTHING,
    PLUGIN_FOLDER,
    RECEIPT,
    Receipt,
    is_own,
    read_receipt,
    render_receipt,
)

# Paths of this machine are in the manifest; nobody wants them in a repository.
_PROJECT_IGNORE: Final = "opencode-memory*\n.gitignore\n"


class Action(StrEnum):
    """What happens to a file or folder."""

    CREATE = "create"
    REPLACE = "replace"
    REMOVE = "remove"


@dataclass(frozen=True, slots=True)
class Step:
    """One change.

    Attributes:
        action: What happens.
        path: To what.
        text: The whole content that is written, or goes; None for a folder.
    """

    action: Action
    path: Path
    text: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is to be done.

    Attributes:
        folder: The folder of configuration that it is about.
        steps: What changes, in its order; nothing when all is as it should be.
        left: Files that were added here and stay, since somebody changed them.
        waits: Folder to why OpenCode waits for npm because of it, for all that is planned.
    """

    folder: Path
    steps: tuple[Step, ...] = ()
    left: tuple[Path, ...] = ()
    waits: Mapping[Path, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is to be there.

    Attributes:
        folder: The folder of configuration.
        within: The folder that it may not lead out of; None when it is the person's own.
        files: The plugin and its manifest: path below the folder to text.
        reads: All folders of configuration that OpenCode reads where it is started now.
    """

    folder: Path
    within: Path | None
    files: Mapping[str, str]
    reads: tuple[Path, ...] = ()


def installed_manifest(folder: Path) -> str | None:
    """Return the text of the manifest in a folder of configuration; None when nothing is installed there."""
    return _text(folder / PLUGIN_FOLDER / MANIFEST)


def is_installed(folder: Path) -> bool:
    """Say whether the plugin, or what is left of it, is in a folder of configuration."""
    return os.path.lexists(folder / PLUGIN_FOLDER / PLUGIN) or os.path.lexists(folder / RECEIPT)


def plan_setup(wanted: Wanted, *, force: bool = False) -> Plan:
    """Work out what has to change for the plugin to be there, and OpenCode not to wait for npm.

    Args:
        wanted: What is to be there.
        force: Whether files that somebody changed are replaced.

    Raises:
        ConflictError: A file of ours was changed, or is somebody else's; or OpenCode would load another one instead.
        InvalidInputError: A symbolic link leads out of the folder.
        StorageError: A file cannot be read.
    """
    folder = wanted.folder
    own = {folder / name: text for name, text in wanted.files.items()}
    _check_links(folder, wanted.within, {path.parent for path in own})
    _check_package(folder / PLUGIN_FOLDER)
    draft = _Draft(read_receipt(folder) or NOTHING)
    if conflicts := [path for path, text in own.items() if not draft.put(path, text, force=force)]:
        raise _changed(conflicts)
    draft.drop({path for path in draft.paths if is_own(folder, path) and path.name != IGNORE_FILE} - own.keys())
    if wanted.within is not None:
        draft.put_if_missing(folder / PLUGIN_FOLDER / IGNORE_FILE, _PROJECT_IGNORE)
    stubbed = {place: _stub(place) for place in dict.fromkeys((folder, *wanted.reads))}
    for place, stub in stubbed.items():
        if stub is Stub.LAY:
            draft.lay(place)
        elif stub is Stub.WRONG:
            draft.take_up(place)
    receipt = folder / RECEIPT
    draft.write_receipt(folder, receipt)
    waits = {place: _why(place, stub) for place, stub in stubbed.items() if stub in (Stub.NOT_OURS, Stub.WRONG)}
    return Plan(
        folder=folder,
        steps=tuple(draft.steps()),
        waits=MappingProxyType({place: why for place, why in waits.items() if why is not None}),
    )


def plan_undo(folder: Path, *, within: Path | None = None) -> Plan | None:
    """Work out how what was added is taken away; None when there is no receipt that says what.

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
        text = _text(path)
        if text is not None and digest(text) == sha:
            steps.append(Step(Action.REMOVE, path, text))
        elif os.path.lexists(path):
            left.append(path)
    steps.append(Step(Action.REMOVE, folder / RECEIPT, _text(folder / RECEIPT)))
    gone = {step.path for step in steps}
    for made in sorted(receipt.folders, key=lambda path: len(path.parts), reverse=True):
        if _children(made) <= gone:
            steps.append(Step(Action.REMOVE, made))
            gone.add(made)
    return Plan(folder=folder, steps=tuple(steps), left=tuple(left))


class _Draft:
    """Collects the steps of an installation, and what its receipt has to say."""

    def __init__(self, before: Receipt) -> None:
        # What is gone needs nobody to remove it.
        self._files = {path: sha for path, sha in before.files.items() if os.path.lexists(path)}
        self._folders = [path for path in before.folders if path.is_dir()]
        self._steps: list[Step] = []

    @property
    def paths(self) -> set[Path]:
        """The files that are there and were added here, or will be."""
        return set(self._files)

    def steps(self) -> Iterator[Step]:
        """Yield the folders first, so that there is a place for each file, and a first receipt before what it lists.

        Whatever a killed process leaves behind can be undone then. A receipt that is replaced comes last: until then
        the old one says what may be replaced.
        """

        def turn(step: Step) -> int:
            if step.action is not Action.CREATE:
                return 2
            return 0 if step.text is None else 1 if step.path.as_posix().endswith(RECEIPT) else 2

        yield from sorted(self._steps, key=turn)

    def put(self, path: Path, text: str, *, force: bool) -> bool:
        """Have a file with this text; False when there is another one that is not ours to replace."""
        found = _text(path)
        if found != text:
            if os.path.lexists(path):
                if not force and (found is None or self._files.get(path) != digest(found)):
                    return False
                self._steps.append(Step(Action.REPLACE, path, text))
            else:
                self._make(path.parent)
                self._steps.append(Step(Action.CREATE, path, text))
        self._files[path] = digest(text)
        return True

    def drop(self, paths: Iterable[Path]) -> None:
        """Have none of these files any more, but for what somebody changed."""
        for path in sorted(paths):
            text = _text(path)
            if text is not None and self._files[path] == digest(text):
                self._steps.append(Step(Action.REMOVE, path, text))
                del self._files[path]
        gone = {step.path for step in self._steps if step.action is Action.REMOVE}
        for folder in [path for path in self._folders if path in {path.parent for path in gone}]:
            if _children(folder) <= gone:
                self._steps.append(Step(Action.REMOVE, folder))
                self._folders.remove(folder)

    def put_if_missing(self, path: Path, text: str) -> None:
        """Have a file, with this text where there is none."""
        if not os.path.lexists(path):
            self._make(path.parent)
            self._steps.append(Step(Action.CREATE, path, text))
            self._files[path] = digest(text)

    def lay(self, place: Path) -> None:
        """Have a complete stub in a folder where npm has not been."""
        self._make(place / MODULES)
        for name, text in NPM_FILES.items():
            self.put(place / name, text, force=False)
        self.put_if_missing(place / IGNORE_FILE, IGNORE_TEXT)

    def take_up(self, place: Path) -> None:
        """Remove a stub, so that npm installs what the folder needs."""
        for name, text in NPM_FILES.items():
            if os.path.lexists(place / name):
                self._steps.append(Step(Action.REMOVE, place / name, text))
            self._files.pop(place / name, None)
        if (place / MODULES).is_dir():
            self._steps.append(Step(Action.REMOVE, place / MODULES))
        self._folders = [path for path in self._folders if path != place / MODULES]

    def write_receipt(self, folder: Path, path: Path) -> None:
        """Have the receipt say what is there after all steps."""
        text = render_receipt(folder, Receipt(self._files, tuple(self._folders)))
        found = _text(path)
        if found != text:
            self._steps.append(Step(Action.CREATE if found is None else Action.REPLACE, path, text))

    def _make(self, folder: Path) -> None:
        planned = {step.path for step in self._steps}
        for missing in reversed([one for one in (folder, *folder.parents) if not one.exists() and one not in planned]):
            self._steps.append(Step(Action.CREATE, missing))
            self._folders.append(missing)


def _check_links(folder: Path, within: Path | None, below: Iterable[Path]) -> None:
    try:
        confine(folder, [within or folder])
        for place in sorted(below):
            confine(place, [folder])
    except RuntimeError as error:
        raise ConflictError(f"a symbolic link in {folder} leads back to itself; move it away") from error


def _check_package(plugin_folder: Path) -> None:
    """Refuse where OpenCode would take another file for ours: that of a package beside it."""
    package = read_object(plugin_folder / "package.json")
    exports = package.get("exports")
    entry: Any = exports.get("./server") if isinstance(exports, dict) else None
    entry = entry or package.get("main")
    if entry:
        error = ConflictError(f"{plugin_folder / 'package.json'} has OpenCode load {entry} instead of {PLUGIN}")
        error.hint = "take `main` and `exports` out of that file, or move it away"
        raise error


def _stub(place: Path) -> Stub:
    """Say how a folder is with npm, and leave alone what another user, or a link in a repository, has put there."""
    if place.exists() and not os.access(place, os.W_OK):
        return Stub.NOT_OURS
    if place.name == PROJECT_FOLDER and place.is_symlink():
        return Stub.NOT_OURS
    return look(place)


def _why(place: Path, stub: Stub) -> str | None:
    if stub is Stub.WRONG:
        file, package = next(imported_packages(place))
        return f"{file.name} imports {package}"
    return why_it_waits(place)


def _changed(paths: Iterable[Path]) -> ConflictError:
    names = " and ".join(map(str, paths))
    error = ConflictError(f"{names} is not what was installed here: somebody wrote or changed it")
    error.hint = "look what it is; the same command with --force replaces it"
    return error


def _children(folder: Path) -> set[Path]:
    """Return what is in a folder; what is none, or may not be looked into, counts as its own content and so stays."""
    try:
        return {folder} if folder.is_symlink() else set(folder.iterdir())
    except OSError:
        return {folder}


def _text(path: Path) -> str | None:
    """Return the text of a file; None for none, for a link, and for what is no text."""
    try:
        mode = path.lstat().st_mode
        return path.read_bytes().decode() if stat.S_ISREG(mode) else None
    except (FileNotFoundError, NotADirectoryError, UnicodeDecodeError):
        return None
    except OSError as error:
        raise StorageError(f"cannot read {path}: {error.strerror or error}", path=str(path)) from error
