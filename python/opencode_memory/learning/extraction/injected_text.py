"""What a memory gave to the session, so that nothing that mostly repeats it is learned as if it were new.

Texts are kept as hashes of their word triples: enough to tell a repetition, too little to read.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Mapping
from typing import Any, Final

MOST_HASHES: Final = 6000
REPEATS_FROM: Final = 0.5
_WORD: Final = re.compile(r"[\w'-]+")
_SIZE: Final = 3
_OUR_TOOLS: Final = re.compile(
    r"(?:^|_)(?:memory|memories|opencode[-_]memory|mem)(?:_|-|$)|^recall$|^remember$", re.IGNORECASE
)
"""Names of tools that come from a memory, ours or another's."""
_OUR_COMMANDS: Final = re.compile(r"(?:^|[\s;&|(/])(?:opencode-memory|ocm-mem)\b")
_OUR_FILE: Final = ".opencode/MEMORY.md"


def is_memory_call(tool: str, arguments: Mapping[str, Any]) -> bool:
    """Say whether a tool call talks to a memory: one of its tools, its command line, or the file that it writes."""
    named = [str(value) for value in arguments.values() if isinstance(value, str)]
    command = arguments.get("command")
    return (
        bool(_OUR_TOOLS.search(tool))
        or any(name.endswith(_OUR_FILE) for name in named)
        or (isinstance(command, str) and bool(_OUR_COMMANDS.search(command) or _OUR_FILE in command))
    )


def hash_triples(text: str) -> tuple[int, ...]:
    """Return the hashes of a text's word triples, in order; of fewer words, one of all of them."""
    words = [word.lower() for word in _WORD.findall(text)]
    if not words:
        return ()
    last = max(1, len(words) - _SIZE + 1)
    return tuple(zlib.crc32(" ".join(words[start : start + _SIZE]).encode()) for start in range(last))


def add_texts(known: tuple[int, ...], texts: Iterable[str]) -> tuple[int, ...]:
    """Add texts to what was given; the oldest is forgotten first."""
    fresh = [triple for text in texts for triple in hash_triples(text)]
    return tuple(dict.fromkeys((*known, *fresh)))[-MOST_HASHES:] if fresh else known


def repeats(text: str, known: Iterable[int]) -> bool:
    """Say whether a text mostly repeats what was given."""
    own = hash_triples(text)
    injected = frozenset(known)
    return bool(own) and bool(injected) and sum(triple in injected for triple in own) >= REPEATS_FROM * len(own)
