"""Damaged copies of valid inputs, for fuzz tests."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

_CORPUS: Final = Path(__file__).parents[1] / "data" / "fuzz"
_PIECES: Final = (
    b"\0", b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\xe2\x80\x8b", b"\\ud800", b"\\u0000", b"\n", b"\r", b"\r\n",
    b'"', b"'", b"{", b"}", b"[", b"]", b",", b":", b"#", b"# ", b"```", b"---\n", b"+++\n", b"//", b"/*", b"<!--", b"-->",
    b"null", b"true", b"NaN", b"-Infinity", b"1e999", b"-0", b"9" * 25, b"9" * 5000, b"[" * 3000, b'{"a":' * 3000, b"=", b" = ",
    b"../../../../etc/passwd", b"x" * 70_000, b"",
)  # fmt: skip


def fuzzing(usual: int) -> settings:
    """Return the settings of a fuzz test: ``usual`` examples, and as many as fit into about ``SOAK_MINUTES``."""
    examples = max(usual, round(float(os.environ.get("SOAK_MINUTES", "0")) * 2 * usual))
    return settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))


def seed_files(kind: str) -> list[Path]:
    """Return the files of the seeds of a kind of input that are kept in the repository."""
    return sorted((_CORPUS / kind).iterdir())


def corpus(kind: str) -> list[bytes]:
    """Return the seeds of a kind of input that are kept in the repository."""
    return [file.read_bytes() for file in seed_files(kind)]


def fuzzed(usual: int, seeds: Sequence[bytes]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give the last argument of a test each seed as it is, and damaged copies."""

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        for seed in seeds:
            test = example(Damaged(seed))(test)
        return fuzzing(usual)(given(damaged(seeds))(test))

    return decorate


class Damaged(bytes):
    """A damaged input, whose representation stays short."""

    __slots__ = ()

    def __repr__(self) -> str:
        return (
            super().__repr__() if len(self) < 2_000 else f"<{len(self)} bytes, which begin with {bytes(self[:40])!r}>"
        )


@st.composite
def damaged(draw: st.DrawFn, seeds: Sequence[bytes], *, flips_only: bool = False) -> Damaged:
    """Draw a seed with a few edits: pieces inserted, ranges removed, repeated or moved, bytes changed, the end cut off.

    Args:
        draw: From hypothesis.
        seeds: Valid inputs.
        flips_only: Whether to change bytes and cut the end only, as a disk does.
    """
    data = draw(st.sampled_from(seeds))
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, len(data)))
        end = min(len(data), at + draw(st.integers(1, 64)))
        kind = draw(st.integers(0, 1) if flips_only else st.integers(0, 5))
        match kind:
            case 0:
                data = data[:at] + bytes([draw(st.integers(0, 255))]) + data[at + 1 :]
            case 1:
                data = data[:at] if draw(st.integers(0, 7)) == 0 else data[:at] + bytes(end - at) + data[end:]
            case 2:
                data = data[:at] + draw(st.sampled_from(_PIECES)) + data[at:]
            case 3:
                data = data[:at] + data[end:]
            case 4:
                data = data[:end] + data[at:end] * draw(st.integers(1, 20)) + data[end:]
            case _:
                to = draw(st.integers(0, len(data)))
                data = data[:to] + data[at:end] + data[to:]
    return Damaged(data)
