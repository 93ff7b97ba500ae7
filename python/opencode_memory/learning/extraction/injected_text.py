"""Injected text: recognises statements that repeat memories given to the session, so that they are not learned again.

Texts are stored as hashes of word triples. That is enough to recognise a repetition, but not to read the text.
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
"""Names of memory tools, both ours and those of other memory systems."""
_OUR_COMMANDS: Final = re.compile(r"(?:^|[\s;&|(/])(?:opencode-memory|ocm-mem)\b")
_OUR_FILE: Final = ".opencode/MEMORY.md"
_EARLIER: Final = re.compile(r"(?:\(|; )before: [^\n]*")
"""Note of a line in a block that names the earlier statement."""


def is_memory_call(tool: str, arguments: Mapping[str, Any]) -> bool:
    """Return whether a tool call accesses a memory: a memory tool, our command line, or the memory file."""
    named = [str(value) for value in arguments.values() if isinstance(value, str)]
    command = arguments.get("command")
    return (
        bool(_OUR_TOOLS.search(tool))
        or any(name.endswith(_OUR_FILE) for name in named)
        or (isinstance(command, str) and bool(_OUR_COMMANDS.search(command) or _OUR_FILE in command))
    )


def hash_triples(text: str) -> tuple[int, ...]:
    """Return the hashes of a text's word triples in order; a shorter text has one hash."""
    words = [word.lower() for word in _WORD.findall(text)]
    if not words:
        return ()
    last = max(1, len(words) - _SIZE + 1)
    return tuple(zlib.crc32(" ".join(words[start : start + _SIZE]).encode()) for start in range(last))


def add_texts(known: tuple[int, ...], texts: Iterable[str]) -> tuple[int, ...]:
    """Add the hashes of texts; the oldest hashes are dropped first. A text that is said again is new again."""
    for text in texts:
        fresh = dict.fromkeys(hash_triples(text))
        known = (*(triple for triple in known if triple not in fresh), *fresh)
    return known[-MOST_HASHES:]


def repeats(text: str, known: Iterable[int], *, least: float = REPEATS_FROM) -> bool:
    """Return whether at least a share of a text's triples is known."""
    own = hash_triples(text)
    injected = frozenset(known)
    return bool(own) and bool(injected) and sum(triple in injected for triple in own) >= least * len(own)


def repeats_last_words(text: str, said: tuple[int, ...]) -> bool:
    """Return whether a text was said as it is, and nothing near to it since.

    A near text shares triples, which ``add_texts`` then moves away from the others.

    >>> said = add_texts((), ["The staging port is 8080.", "The staging port is 9090.", "We use tabs here."])
    >>> repeats_last_words("The staging port is 9090.", said), repeats_last_words("The staging port is 8080.", said)
    (True, False)
    """
    own = tuple(dict.fromkeys(hash_triples(text)))
    if not own or own[0] not in said:
        return False
    start = said.index(own[0])
    return said[start : start + len(own)] == own


def strip_earlier(block: str) -> str:
    """Leave out the earlier statements that a block names. The user who repeats one wants it back.

    >>> strip_earlier("- Push to main. (2 d ago; before: Never push to main.)")
    '- Push to main. (2 d ago'
    """
    return _EARLIER.sub("", block)
