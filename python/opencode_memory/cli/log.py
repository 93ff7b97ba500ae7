"""Log of a server: to standard error or to a rotating file, as text or JSON. It never contains text of memories."""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from collections.abc import Callable
from logging.handlers import RotatingFileHandler
from typing import TYPE_CHECKING, Any, Final

from opencode_memory.cli.warning_lines import TextLines
from opencode_memory.config.sections import LogFormat
from opencode_memory.errors import StorageError
from opencode_memory.text.json_values import escape_separators

if TYPE_CHECKING:
    from opencode_memory.config.sections import ServerConfig

_TEXT: Final = "%(asctime)s %(levelname)s %(name)s: %(message)s"
_FILE_BYTES: Final = 5_000_000
_FILES: Final = 3
_SPARSE: Final = "uvicorn.error"
_SPARSE_SECONDS: Final = 60.0
_QUIET: Final = ("uvicorn", "mcp", "httpx2", "asyncio")


class JsonLines(logging.Formatter):
    """Formats each record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Format a record."""
        fields: dict[str, Any] = {
            "time": self.formatTime(record),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        return escape_separators(json.dumps(fields, ensure_ascii=False))


class Sparse(logging.Filter):
    """Passes a warning about malformed requests once a minute. Otherwise a client could fill the disk with them.

    Any web page may send such requests, for example by an address with ``https``. An error with a traceback always
    passes.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._passed: dict[str, float] = {}
        """When each text without its values passed. There are as many as calls in the code of the library."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether to log a record."""
        if record.levelno > logging.WARNING or record.exc_info:
            return True
        now, text = self._clock(), str(record.msg)
        if now - self._passed.get(text, -_SPARSE_SECONDS) < _SPARSE_SECONDS:
            return False
        self._passed[text] = now
        return True


class _PrivateFile(RotatingFileHandler):
    """A log file that only its owner can read, because it may contain names of folders and projects."""

    def _open(self) -> Any:
        return open(
            self.baseFilename,
            self.mode,
            encoding=self.encoding,
            opener=lambda path, flags: os.open(path, flags, 0o600),
        )


def start_log(config: ServerConfig) -> None:
    """Set up the log of this process.

    Raises:
        StorageError: If the log file cannot be written.
    """
    handler: logging.Handler = logging.StreamHandler(sys.stderr)
    if config.log_file is not None:
        try:
            config.log_file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            handler = _PrivateFile(config.log_file, maxBytes=_FILE_BYTES, backupCount=_FILES, encoding="utf-8")
        except OSError as error:
            raise StorageError(
                f"cannot write {config.log_file}: {error.strerror}", path=str(config.log_file)
            ) from error
    handler.setFormatter(JsonLines() if config.log_format is LogFormat.JSON else TextLines(_TEXT))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)
    for name in _QUIET:
        # At INFO these libraries log a line for each request.
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.getLogger(_SPARSE).filters[:] = [Sparse()]
