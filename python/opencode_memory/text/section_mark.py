"""The mark that an ingest of notes leaves in the metadata of a section's memory, to recognise the section again.

The mark cannot be computed from the stored text, because secrets are redacted and users edit memories.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from opencode_memory.models import INGEST

_SHORT: Final = "~"
_LONG_BYTES: Final = 40
_NUMBER: Final = re.compile(r"~\d+$")


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionMark:
    """A section as it was ingested.

    Attributes:
        fingerprint: Hash of its text and of the front matter that concerns it; empty if no ingest wrote the memory.
        body: Hash of its text without headings, from ``hash_body``; empty if an earlier version wrote the memory.
        gone: Whether an ingest archived the memory because the section was deleted from its file.
    """

    fingerprint: str = ""
    body: str = ""
    gone: bool = False

    def to_metadata(self) -> dict[str, Any]:
        """Return the metadata that the next ingest reads."""
        return {INGEST: {"fingerprint": self.fingerprint, "body": self.body, "gone": self.gone}}


def read_mark(metadata: Mapping[str, Any]) -> SectionMark:
    """Return the mark from the metadata of a memory."""
    found = metadata.get(INGEST)
    if not isinstance(found, dict):
        return SectionMark()
    return SectionMark(
        fingerprint=str(found.get("fingerprint", "")), body=str(found.get("body", "")), gone=found.get("gone") is True
    )


def hash_body(body: str, text: str) -> str:
    """Compute a hash of a section's text without its headings, or with them if it has no other text.

    Blank lines around the text and blanks at the ends of lines do not count: a section that becomes the last one of its
    file loses a line.

    Args:
        body: The section without its headings.
        text: The whole section.
    """
    lines = [line.rstrip() for line in (body if body.strip() else text).splitlines()]
    plain = "\n".join(lines).strip("\n")
    length = len("".join(filter(str.isalnum, plain)).encode(errors="surrogatepass"))
    return f"{_SHORT if length < _LONG_BYTES else ''}{hash_parts(plain)}"


def is_long(body: str) -> bool:
    """Return from the hash of a body whether it is so long that two sections with it are surely the same one."""
    return body != "" and not body.startswith(_SHORT)


def hash_parts(*parts: str) -> str:
    """Compute a hash of texts."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", errors="surrogatepass")).hexdigest()[:32]


def headings_of(topic: str) -> str:
    """Return the headings in the topic of a section, without the number of a repeated one."""
    return _NUMBER.sub("", topic.partition("#")[2])


def title_of(topic: str) -> str:
    """Return the last heading in the topic of a section; empty if it has none."""
    return headings_of(topic).rpartition("/")[2]
