"""The record of a folder: which version of each file was written or read last.

It is the base of the three-way comparison, and a file of its own in the folder of the store, because ten thousand
entries would not fit into a value of the store. It holds names and hashes, no texts. If it is missing or damaged, no
change counts as one by the user. A lock on it keeps two processes from synchronizing one folder at a time.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from opencode_memory.errors import BusyError, StorageError
from opencode_memory.files.atomic import PRIVATE_FOLDER, write_atomically
from opencode_memory.memory_file.git_state import Head
from opencode_memory.mirror.page import Fields
from opencode_memory.mirror.place import Place, Sign, place_at
from opencode_memory.platform import system

FOLDER: Final = "mirror"
_VERSION: Final = 1
_MOST_BYTES: Final = 64 << 20
_DIGEST_CHARACTERS: Final = 16
_SIGN_PARTS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """The last known version of one file.

    Attributes:
        id: The memory.
        digest: Digest of the file as both sides agreed on it last; empty if they never did.
        base: The fields of that version, as digests: text, category, labels, pin.
        memory: Digest of the memory that the file was compared with; empty if there was none.
        sign: The sign of the file; None if it has to be read to be sure.
        held: Digest of a version by another author, or ``MISSING`` if another author removed the file. It stays so
            until the memory changes. Empty if there is no such version.
        waits: Id of the candidate that holds that version for review; empty if there is none.
    """

    id: str
    digest: str
    base: tuple[str, str, str, str]
    memory: str
    sign: Sign | None
    held: str = ""
    waits: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """The last versions of all files of a folder.

    Attributes:
        head: The position of ``HEAD`` of its repository at that time.
        files: The files, by name.
        team: Digests of the shared files that were read, by name.
    """

    head: Head
    files: Mapping[str, Entry]
    team: Mapping[str, str]


MISSING: Final = "-"
NO_BASE: Final = ("", "", "", "")
NO_FILES: Final[Mapping[str, Entry]] = MappingProxyType({})


def digest(data: bytes) -> str:
    """Return the digest of a version of a file."""
    return hashlib.sha256(data).hexdigest()[:_DIGEST_CHARACTERS]


def base_of(fields: Fields) -> tuple[str, str, str, str]:
    """Return the digests of the fields of a version."""
    return (
        digest(fields.content.encode(errors="surrogatepass")),
        fields.category or "",
        digest("\n".join(fields.tags).encode(errors="surrogatepass")),
        "1" if fields.pinned else "",
    )


def record_path(data_dir: Path, place: Place) -> Path:
    """Return the file of a place's record."""
    return data_dir / FOLDER / f"{place.key}.json"


@contextmanager
def locked(data_dir: Path, place: Place) -> Iterator[None]:
    """Lock the record of a place.

    Raises:
        BusyError: Another process synchronizes the folder.
        StorageError: The folder of the store cannot be written.
    """
    path = record_path(data_dir, place).with_suffix(".lock")
    try:
        path.parent.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
        descriptor = system().open(path, os.O_RDWR | os.O_CREAT)
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror}", path=str(path)) from error
    try:
        if not system().try_lock(descriptor):
            raise BusyError(f"another process synchronizes {place.path}; try again")
        yield
    finally:
        os.close(descriptor)


def read_record(data_dir: Path, place: Place) -> Record | None:
    """Return the record of a place; None if there is none, or if it is unreadable."""
    value = _load(record_path(data_dir, place))
    if value is None or value.get("path") != str(place.path):
        return None
    try:
        head = Head(_text(value["branch"]), _text(value["commit"]))
        files = {str(name): _entry(row) for name, row in value["files"].items()}
        team = {str(name): str(found) for name, found in value["team"].items()}
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    return Record(head=head, files=files, team=team)


def write_record(data_dir: Path, place: Place, record: Record) -> None:
    """Write the record of a place.

    Raises:
        StorageError: The file system refuses.
    """
    path = record_path(data_dir, place)
    value = {
        "version": _VERSION,
        "path": str(place.path),
        "top": str(place.top),
        "project": place.project,
        "branch": record.head.branch,
        "commit": record.head.commit,
        "files": {name: _row(entry) for name, entry in record.files.items()},
        "team": dict(record.team),
    }
    try:
        write_atomically(path, json.dumps(value, ensure_ascii=True, separators=(",", ":")).encode())
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror}", path=str(path)) from error


def recorded_top(path: Path) -> Path | None:
    """Return the work tree of a record; None for the global memories, or if the record is unreadable."""
    value = _load(path)
    if value is None or not isinstance(value.get("top"), str) or not isinstance(value.get("project"), str):
        return None
    return Path(value["top"])


def recorded_places(data_dir: Path) -> Iterator[Place]:
    """Yield the places that have a readable record."""
    for path in sorted((data_dir / FOLDER).glob("*.json")):
        value = _load(path)
        if value is None or not isinstance(value.get("top"), str) or not isinstance(value.get("project"), str | None):
            continue
        place = place_at(Path(value["top"]), value["project"])
        if record_path(data_dir, place) == path:
            yield place


def _load(path: Path) -> dict[str, Any] | None:
    try:
        with path.open("rb") as file:
            value = json.loads(file.read(_MOST_BYTES))
    except (OSError, ValueError, RecursionError):
        # Without a usable record, changes are proposals, so nothing is lost.
        return None
    return value if isinstance(value, dict) and value.get("version") == _VERSION else None


def _row(entry: Entry) -> list[Any]:
    return [entry.id, entry.digest, entry.base, entry.memory, entry.sign, entry.held, entry.waits]


def _entry(row: Any) -> Entry:
    id_, found, base, memory, sign, held, waits = row
    text, category, tags, pinned = map(str, base)
    times = None if sign is None else tuple(map(int, sign))
    if times is not None and len(times) != _SIGN_PARTS:
        raise ValueError("a sign has three numbers")
    return Entry(
        id=str(id_),
        digest=str(found),
        base=(text, category, tags, pinned),
        memory=str(memory),
        sign=None if times is None else (times[0], times[1], times[2]),
        held=str(held),
        waits=str(waits),
    )


def _text(value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise TypeError("not a text")
    return value
