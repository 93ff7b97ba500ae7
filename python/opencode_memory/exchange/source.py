"""The text of an import, which can be read several times and is never held in memory as a whole.

An import reads its source three times: its beginning to detect the format, all of it to find errors, and
again to write.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final, TextIO

from opencode_memory.errors import InvalidInputError, StorageError

_HEAD_CHARACTERS: Final = 4096


@dataclass(frozen=True, slots=True)
class TextSource:
    """A text that can be read repeatedly from its start."""

    name: str
    stream: IO[str]

    def head(self) -> str:
        """Return the beginning, without a byte order mark."""
        self.stream.seek(0)
        return self._read(_HEAD_CHARACTERS).removeprefix("\ufeff")

    def whole(self) -> str:
        """Return the whole text, without a byte order mark."""
        self.stream.seek(0)
        return self._read(-1).removeprefix("\ufeff")

    def lines(self) -> Iterator[str]:
        r"""Yield the lines with their ends; only ``\n`` ends a line."""
        self.stream.seek(0)
        try:
            for number, line in enumerate(self.stream):
                yield line.removeprefix("\ufeff") if number == 0 else line
        except UnicodeDecodeError as error:
            raise self._not_utf8(error) from error

    def json(self) -> Any:
        """Parse the whole text as JSON.

        Raises:
            InvalidInputError: It is not JSON; the message names the place.
        """
        try:
            return json.loads(self.whole())
        except json.JSONDecodeError as error:
            raise self.wrong(f"is not JSON: {error.msg}", line=error.lineno) from error
        except ValueError as error:
            # Python refuses to read a number of more than 4300 digits.
            raise self.wrong(f"holds a number that is too long: {error}") from error
        except RecursionError as error:
            raise self.wrong("is nested too deeply") from error

    def wrong(self, problem: str, *, line: int | None = None, field: str = "source") -> InvalidInputError:
        """Return an error that names the problem and its place in this text."""
        place = self.name if line is None else f"{self.name}, line {line}"
        return InvalidInputError(f"{place}: {problem}", field=field)

    def _read(self, characters: int) -> str:
        try:
            return self.stream.read(characters)
        except UnicodeDecodeError as error:
            raise self._not_utf8(error) from error

    def _not_utf8(self, error: UnicodeDecodeError) -> InvalidInputError:
        return self.wrong(f"is not UTF-8 (byte 0x{error.object[error.start]:02x})")


@contextmanager
def open_source(source: Path | str | TextIO) -> Iterator[TextSource]:
    """Open a file or a stream; a source that cannot be read twice, such as a pipe, is copied first.

    Raises:
        StorageError: The file cannot be read.
        InvalidInputError: A pipe holds bytes that are not UTF-8.
    """
    with ExitStack() as stack:
        if isinstance(source, Path | str):
            name = str(source)
            try:
                stream: IO[str] = stack.enter_context(Path(source).open(encoding="utf-8", newline="\n"))
            except OSError as error:
                unreadable = StorageError(f"cannot read {source}: {error.strerror}", path=name)
                unreadable.hint = "give the path of an export; a relative path begins in the current folder"
                raise unreadable from error
        else:
            name, stream = str(getattr(source, "name", "the given text")), source
        yield TextSource(name, stream if stream.seekable() else stack.enter_context(_copy(name, stream)))


def _copy(name: str, stream: IO[str]) -> IO[str]:
    # Not a spooled file: if it is interrupted while it is created, it warns when it is collected.
    copy = tempfile.TemporaryFile(  # noqa: SIM115  the caller closes it
        "w+", encoding="utf-8", newline="\n", errors="surrogatepass"
    )
    try:
        shutil.copyfileobj(stream, copy)
    except UnicodeDecodeError as error:
        raise InvalidInputError(
            f"{name}: is not UTF-8 (byte 0x{error.object[error.start]:02x})", field="source"
        ) from error
    return copy
