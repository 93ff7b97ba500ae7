"""Provenance of words in a session: typed by the user, or read before from a tool result, a file or a web page.

Both are stored as hashes of word triples, as ``injected_text`` does, so a state holds no readable text. Words belong to
their first source: a text that the user pasted from a tool result does not count as typed, and a file that repeats
what the user typed before does not make the user's statement foreign.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Final

from opencode_memory.learning.extraction.injected_text import hash_triples
from opencode_memory.text.pasted import strip_private

MOST_TYPED: Final = 3_000
MOST_FOREIGN: Final = 3_000
LONGEST_TYPED: Final = 1_200
"""Characters of a message that can be typed. A longer message is mostly pasted, from a place that no tool shows."""
STANDS_FROM: Final = 0.8
"""Share of a quotation's triples that must be known. Less than all, because a word at its edges may be cut."""
_LONGEST_OUTPUT: Final = 12_000
_MOST_WINDOWS: Final = 32
_AROUND: Final = 160
_SIGNS: Final = re.compile(
    r"\b(?:[Aa]lways|ALWAYS|[Nn]ever|NEVER|[Mm]ust|MUST|[Dd]o not|DO NOT|[Dd]on't|[Mm]ake sure|[Ee]nsure|[Ii]nstead of"
    r"|[Rr]emember|REMEMBER|IMPORTANT|[Ii]mportant:|[Ff]rom now on|[Bb]y default|[Pp]refer(?:red)?|[Ss]hould|[Ee]very time"
    r"|[Bb]efore (?:you|each|every)|[Ii]gnore (?:all|any|the|previous)|[Nn]o longer|[Oo]nly use|[Uu]se only"
    r"|[Yy]ou (?:can|may)|[Ff]ree to|[Aa]llowed|[Oo]ptional|[Aa]ny ?more|is (?:fine|ok|okay|over|off)|again)\b"
)
"""Words of a standing instruction, or of one that is lifted. Text of an output without them is not hashed."""
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+|\n+")
_FENCE: Final = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n]*\n.*?(?:^[ \t]*\1[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_QUOTED_LINE: Final = re.compile(r"^\s*(?:>| {4}|\t|\|)")


def add_typed(typed: tuple[int, ...], message: str, foreign: Collection[int]) -> tuple[int, ...]:
    """Add what the user typed in a message; the oldest hashes are dropped first.

    Args:
        typed: Hashes of the earlier messages.
        message: The message, without text of programs.
        foreign: Hashes of what tools have returned so far; sentences that stand there are left out.
    """
    fresh = [triple for sentence in iterate_typed(message, foreign) for triple in hash_triples(sentence)]
    return _add(typed, fresh, MOST_TYPED)


def iterate_typed(message: str, foreign: Collection[int] = ()) -> Iterator[str]:
    """Yield the sentences of a message that the user typed: short, not fenced, not quoted, and not foreign."""
    text = _FENCE.sub("\n", strip_private(message))
    own = "\n".join(line for line in text.split("\n") if not _QUOTED_LINE.match(line)).strip()
    if len(own) > LONGEST_TYPED:
        return
    known = frozenset(foreign)
    for sentence in _SENTENCE_END.split(own):
        if sentence.strip() and not stands_in(sentence, known):
            yield sentence.strip()


def add_foreign(foreign: tuple[int, ...], output: str, typed: Collection[int]) -> tuple[int, ...]:
    """Add the instructions in a tool's output; the oldest hashes are dropped first.

    Only text near the words of an instruction counts, in the first part of the output. So most outputs cost one search.

    Args:
        foreign: Hashes of the earlier outputs.
        output: What a tool returned: the content of a file, a web page, the output of a command.
        typed: Hashes of what the user typed before.
    """
    fresh: list[int] = []
    end, windows = 0, 0
    for match in _SIGNS.finditer(output, 0, _LONGEST_OUTPUT):
        if match.start() < end:
            continue
        start, end = max(end, match.start() - _AROUND), match.end() + _AROUND
        fresh += hash_triples(output[start:end])
        if (windows := windows + 1) == _MOST_WINDOWS:
            break
    if fresh and typed:
        own = frozenset(typed)
        fresh = [triple for triple in fresh if triple not in own]
    return _add(foreign, fresh, MOST_FOREIGN)


def stands_in(quote: str, known: Collection[int]) -> bool:
    """Return whether a quotation stands in texts: nearly all of its word triples are known."""
    own = hash_triples(quote)
    if not own or not known:
        return False
    texts = known if isinstance(known, frozenset | set) else frozenset(known)
    return sum(triple in texts for triple in own) >= STANDS_FROM * len(own)


def _add(known: tuple[int, ...], fresh: list[int], most: int) -> tuple[int, ...]:
    if not fresh:
        return known
    there = frozenset(known)
    new = [triple for triple in dict.fromkeys(fresh) if triple not in there]
    return (*known, *new)[-most:] if new else known
