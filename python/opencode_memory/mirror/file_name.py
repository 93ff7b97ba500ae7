"""Names of files: a slug of the text and the short id of the memory, for example ``use-pnpm-9c1d7b2e.md``."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from typing import Final

from opencode_memory.mirror.place import ENDING
from opencode_memory.models import Memory
from opencode_memory.text.formatting import short_id

_LONGEST: Final = 48
_READ: Final = 400
_OTHERS: Final = re.compile(r"[^a-z0-9]+")


def slug_of(text: str) -> str:
    """Return a name made of the first words of a text.

    >>> slug_of("Use pnpm, not npm: the lockfile is pnpm's."), slug_of("日本語")
    ('use-pnpm-not-npm-the-lockfile-is-pnpms', 'memory')
    """
    plain = unicodedata.normalize("NFKD", text[:_READ].replace("'", "")).encode("ascii", errors="ignore").decode()
    slug = _OTHERS.sub("-", plain.lower()).strip("-")
    if len(slug) > _LONGEST:
        slug = slug[: _LONGEST + 1].rpartition("-")[0] or slug[:_LONGEST]
    return slug or "memory"


def name_of(memory: Memory, taken: Collection[str]) -> str:
    """Return the name of a memory's new file.

    Args:
        memory: The memory.
        taken: Names of other files, in lower case. Two names that differ only in case are one on some file systems.
    """
    name = f"{slug_of(memory.content)}-{short_id(memory.id)}{ENDING}"
    return name if name not in taken else f"{slug_of(memory.content)}-{memory.id}{ENDING}"
