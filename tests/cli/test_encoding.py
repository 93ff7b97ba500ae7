"""Encodings of the standard streams."""

from __future__ import annotations

from io import BytesIO, TextIOWrapper

import pytest

from opencode_memory.cli import choose_encoding

TEXT = "Größe · 価格"


class Terminal(BytesIO):
    def isatty(self) -> bool:
        return True


class Input(BytesIO):
    def writable(self) -> bool:
        return False


def write(raw: BytesIO, platform: str) -> bytes:
    stream = TextIOWrapper(raw, encoding="cp1252")
    choose_encoding(stream, platform)
    stream.write(TEXT)
    stream.flush()
    return raw.getvalue()


def test_pipe_of_windows_gets_utf_8() -> None:
    assert write(BytesIO(), "win32") == TEXT.encode()


@pytest.mark.parametrize(("raw", "platform"), [(Terminal(), "win32"), (BytesIO(), "linux")])
def test_other_streams_keep_their_encoding_and_escape_what_it_lacks(raw: BytesIO, platform: str) -> None:
    assert write(raw, platform) == "Größe · ".encode("cp1252") + b"\\u4fa1\\u683c"


def test_pipe_of_windows_is_read_as_utf_8() -> None:
    stream = TextIOWrapper(Input(TEXT.encode()), encoding="cp1252")
    choose_encoding(stream, "win32")
    assert stream.read() == TEXT


def test_errors_of_input_are_not_hidden() -> None:
    stream = TextIOWrapper(Input(b"\xff"), encoding="utf-8")
    choose_encoding(stream, "linux")
    with pytest.raises(UnicodeDecodeError):
        stream.read()
