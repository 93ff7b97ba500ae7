"""Frame around the managed part: text outside stays byte for byte, and invalid files are refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencode_memory.errors import ConflictError
from opencode_memory.memory_file.frame import END, NEW, begin, fingerprint, read_frame

BODY = ("", "## Facts", "- one <!-- m:9c1d7b2e f000000 -->")
OTHER = ("", "## Facts", "- two <!-- m:9c1d7b2e f000000 -->")


def with_part(before: bytes, after: bytes, newline: str = "\n") -> bytes:
    return before + newline.join([begin(BODY), *BODY, END]).encode() + after


OUTSIDE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=80).filter(
    lambda text: "opencode-memory:" not in text
)


@given(before=OUTSIDE, after=OUTSIDE, newline=st.sampled_from(["\n", "\r\n"]))
def test_text_outside_stays_byte_for_byte(before: str, after: str, newline: str) -> None:
    first = (before + newline if before else "").encode()
    last = (newline + after).encode() if after else b""
    file = with_part(first, last, newline)
    frame = read_frame(file)
    assert (frame.body, frame.newline, frame.fingerprint) == (BODY, newline, fingerprint(BODY))
    assert frame.with_body(BODY) == file
    changed = frame.with_body(OTHER)
    assert changed.startswith(first)
    assert changed.endswith(last)
    assert read_frame(changed).body == OTHER


@pytest.mark.parametrize("after", [b"", b"\n", b"\r\n", b"\n\n\nnotes", b"\nnotes\n", b"  \r\nmixed\nends\r\n"])
@pytest.mark.parametrize(
    "before", [b"", b"\xef\xbb\xbf", b"\xef\xbb\xbf# Title\r\n", b"# Mine\n\n", b"old mac\rline\n"]
)
def test_byte_order_mark_line_ends_and_a_missing_end_stay(before: bytes, after: bytes) -> None:
    after = after.lstrip(b" ")
    changed = read_frame(with_part(before, after)).with_body(OTHER)
    assert changed.startswith(before)
    assert changed.endswith(END.encode() + after)


def test_part_ends_its_lines_as_the_file_does() -> None:
    changed = read_frame(with_part(b"# Mine\r\n", b"\r\n", "\r\n")).with_body(OTHER)
    assert changed.count(b"\n") == changed.count(b"\r\n")


def test_file_without_marks_has_no_part_and_gets_one_at_its_end() -> None:
    frame = read_frame(b"# Mine\r\n\r\nNo end of line")
    assert frame.body is None
    assert frame.with_body(BODY).startswith(b"# Mine\r\n\r\nNo end of line\r\n\r\n<!-- opencode-memory:begin v2 ")
    assert frame.with_body(BODY).endswith(END.encode() + b"\r\n")
    assert read_frame(b"").with_body(BODY).startswith(b"<!-- opencode-memory:begin")


def test_new_file_can_be_read() -> None:
    frame = read_frame(NEW.with_body(BODY))
    assert (frame.before, frame.body, frame.after) == ("# Project memory\n\n", BODY, "\n")


def test_foreign_lines_go_behind_the_part_and_before_what_is_there() -> None:
    changed = read_frame(with_part(b"", b"\nmine\n")).with_body(OTHER, ["a paragraph", "", "another"])
    assert changed.endswith(f"{END}\n\na paragraph\n\nanother\nmine\n".encode())


def test_fingerprint_does_not_depend_on_line_ends() -> None:
    assert read_frame(with_part(b"", b"\r\n", "\r\n")).body == BODY


BEGIN = begin(BODY)


@pytest.mark.parametrize(
    ("lines", "what"),
    [
        ([BEGIN, "- one"], "end mark .* is missing"),
        (["- one", END], "begin mark .* is missing"),
        ([BEGIN, "- one", END, BEGIN, END], r"begin mark .* several lines \(1, 4\)"),
        ([BEGIN, "- one", END, END], r"end mark .* several lines \(3, 4\)"),
        ([END, "- one", BEGIN], r"end mark \(line 1\) stands before the begin mark \(line 3\)"),
        (["<!-- opencode-memory:begin v1", "-->", END], "line 1, .* damaged"),
        ([BEGIN, "- one", "<!-- opencode-memory:end", "-->"], "line 3, .* damaged"),
        ([BEGIN + " and more", "- one", END], "line 1, .* damaged"),
        (["<!-- opencode-memory:begin v3 0123456789abcdef -->", END], "newer version"),
        ([BEGIN, "<<<<<<< HEAD", "- one", "=======", "- two", ">>>>>>> other", END], "line 2 .* merge"),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_invalid_marks_are_refused_with_a_description(lines: list[str], what: str, newline: str) -> None:
    with pytest.raises(ConflictError, match=what):
        read_frame(newline.join(["mine", *lines, "mine"]).replace("mine" + newline, "", 1).encode())


@pytest.mark.parametrize(
    "data",
    [
        with_part(b"", b"").decode().encode("utf-16"),
        with_part(b"", b"").decode().encode("utf-16-le"),
        with_part(b"caf\xe9\n", b""),
        with_part(b"", b"\n\xff\xfe"),
        with_part(b"a\0b\n", b""),
    ],
)
def test_file_that_is_not_utf_8_is_refused(data: bytes) -> None:
    with pytest.raises(ConflictError, match="UTF-8"):
        read_frame(data)


def test_begin_mark_without_a_fingerprint_gives_an_empty_one() -> None:
    frame = read_frame(f"<!-- opencode-memory:begin v1 -->\n- one\n{END}\n".encode())
    assert (frame.body, frame.fingerprint) == (("- one",), "")
