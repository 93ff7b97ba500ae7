"""Record of the server of a store: a file in the data directory, which the server locks for as long as it runs.

The kernel releases the lock when the process ends, also after a crash. So a record without a lock is outdated, and a
process id that another program took over is never mistaken for the server. The lock also makes a second server fail.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from opencode_memory.errors import ConflictError, StorageError
from opencode_memory.platform import system
from opencode_memory.platform.system import PRIVATE_FILE
from opencode_memory.text.addresses import format_url

RECORD_FILE: Final = "server.json"
_MOST_BYTES: Final = 4_096
_FILE_BYTES: Final = 1_024
"""Size of the file. A record has about 100 bytes; a version and an address have at most a few hundred."""
_PATIENCE_SECONDS: Final = 1.0
_PAUSE_SECONDS: Final = 0.02
_MOST_PORT: Final = 65_535


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerRecord:
    """The server of a store.

    Attributes:
        pid: Its process id.
        host: The address that it binds.
        port: Its port.
        version: Its version.
        detached: Whether ``serve --detach`` started it, as OpenCode's plugin does.
    """

    pid: int
    host: str
    port: int
    version: str
    detached: bool

    @property
    def url(self) -> str:
        """The URL for clients of this machine."""
        return format_url(self.host, self.port)


def find_server(data_dir: Path) -> ServerRecord | None:
    """Return the record of the server that runs for a store; None if none runs.

    Raises:
        ConflictError: A process holds the lock, but its record cannot be read.
        StorageError: The file cannot be opened.
    """
    until = time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            descriptor = system().open(data_dir / RECORD_FILE, os.O_RDONLY)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise _storage_error(data_dir, error) from error
        try:
            if system().try_lock(descriptor, shared=True):
                return None
            record = _parse(system().read_start(descriptor, _MOST_BYTES))
        finally:
            os.close(descriptor)
        if record is not None:
            return record
        # The server holds the lock for a moment before it writes its record, and after it erased the record.
        if time.monotonic() > until:
            raise ConflictError(f"a server of {data_dir} is starting or ending; {RECORD_FILE} there has no address yet")
        time.sleep(_PAUSE_SECONDS)


def refuse_second_server(data_dir: Path) -> None:
    """Raise an error with the address of the server if one runs for this store.

    Raises:
        ConflictError: A server runs.
    """
    if (running := find_server(data_dir)) is not None:
        raise _second_server(data_dir, running)


@contextmanager
def hold_record(data_dir: Path, record: ServerRecord) -> Iterator[None]:
    """Write the record of this process, and hold its lock until the context ends.

    Args:
        data_dir: The folder of the store, which must exist.
        record: The record.

    Raises:
        ConflictError: Another server of this store runs; the message has its address.
        StorageError: The file cannot be written.
    """
    try:
        descriptor = system().open(data_dir / RECORD_FILE, os.O_RDWR | os.O_CREAT)
    except OSError as error:
        raise _storage_error(data_dir, error) from error
    try:
        _lock(descriptor, data_dir)
        try:
            system().set_mode(descriptor, PRIVATE_FILE)
            _write(descriptor, json.dumps(asdict(record)).encode())
        except OSError as error:
            raise _storage_error(data_dir, error) from error
        try:
            yield
        finally:
            with suppress(OSError):  # The lock decides, so an outdated record does no harm.
                _write(descriptor, b"")
    finally:
        os.close(descriptor)


def _lock(descriptor: int, data_dir: Path) -> None:
    # A process that looks for the server also holds the lock for a moment.
    until = time.monotonic() + _PATIENCE_SECONDS
    while not system().try_lock(descriptor):
        refuse_second_server(data_dir)
        if time.monotonic() > until:
            raise ConflictError(f"other processes hold the lock of {data_dir / RECORD_FILE}")
        time.sleep(_PAUSE_SECONDS)


def _write(descriptor: int, record: bytes) -> None:
    """Replace the record. The file keeps its size, so that a full disk has space for the next record."""
    system().write_start(descriptor, record.ljust(_FILE_BYTES))
    os.ftruncate(descriptor, _FILE_BYTES)


def _parse(data: bytes) -> ServerRecord | None:
    """Parse a record; return None if it is not complete."""
    try:
        fields = json.loads(data)
    except (ValueError, RecursionError):
        return None
    types = {"pid": int, "host": str, "port": int, "version": str, "detached": bool}
    if not isinstance(fields, dict) or fields.keys() != types.keys():
        return None
    if any(type(fields[name]) is not kind for name, kind in types.items()):
        return None
    record = ServerRecord(**fields)
    # The server of a container is its first process.
    return record if record.pid > 0 and 0 < record.port <= _MOST_PORT else None


def _second_server(data_dir: Path, running: ServerRecord) -> ConflictError:
    error = ConflictError(
        f"opencode-memory {running.version} already serves {data_dir} at {running.url} (process {running.pid})"
    )
    error.hint = "use that server, or end it: `opencode-memory stop`"
    return error


def _storage_error(data_dir: Path, error: OSError) -> StorageError:
    file = data_dir / RECORD_FILE
    return StorageError(f"cannot open {file}: {error.strerror or error}", path=str(file))
