"""Grounding check: compares the names, numbers, words and negations of an item with its quote and what stood beside it.

The check cannot prove that an item is right. But a text that the model invents, or that an instruction in the
transcript makes it write, mostly brings new words. Dropping a good item costs little: its session can still be found.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import Final

from opencode_memory._core import terms
from opencode_memory.learning.digest.report import DropReason
from opencode_memory.learning.extraction.gate.language import is_english

_SUPPORTED_SHARE: Final = 0.5
"""Minimum share of the distinct words of a text that must stand in its source. Wording in the third person brings some
words of its own."""
_DIGIT: Final = re.compile(r"\d")
# A path, URL, variable or option. Hyphenated words do not count, because people write them with and without hyphen.
_NAME: Final = re.compile(r"\d|[._:@/\\]|^--")
_PROPER: Final = re.compile(r"(?<![.!?:;\"'(\[{`*-] )(?<!^)(?<![\w.-])([A-Z][\w+#]*)")
_NEGATION: Final = re.compile(
    r"\b(?:not|never|none|neither|nor|cannot|without|avoid(?:s|ed|ing)?|no(?=\s+\w)|\w+n['\u2019]t|dont|doesnt|wont|cant"
    r"|stop(?:s|ped)?|forbids?|forbidden|refuses?|rejects?|rather than|instead of|no longer"
    r"|nicht|nie|niemals|keine?[rnms]?|pas|jamais|nunca|jamás|não|sin|ohne|sans|senza)\b|[不没別别勿无]",
    re.IGNORECASE,
)
# Words that may become a negation in the text: "no, use X" may become "do not use Y".
_OPPOSITION: Final = re.compile(
    r"\b(?:no|non|nein|instead|rather|stop|wrong|only|just|switch(?:ed|ing)?|replace[ds]?|revert|undo|remove[ds]?"
    r"|drop(?:ped)?|forbid(?:den)?|refuse[ds]?|anymore|any more|exclusively|unused)\b",
    re.IGNORECASE,
)
_CLAUSE_WORDS: Final = 6
_CLAUSE_TERMS: Final = 2
_CLAUSE_END: Final = re.compile(r"[,.;:!?()\n]")
# Words that a report about a session uses itself.
_OWN_WORDS: Final = frozenset(terms("The person user agent team project wants prefers prefer use uses should must")[0])


def find_objection(text: str, quote: str, source: str, names_from: str = "") -> DropReason | None:
    """Return why an item must be dropped; None if it is grounded.

    Args:
        text: The item's text.
        quote: Its quote, which stands in the transcript.
        source: The quote's message and what stood beside it.
        names_from: More text that names and numbers may come from, because "that file" may have been named long before.
    """
    source = f"{quote}\n{source}"
    known = _collect_terms(source)
    known_names = known | _collect_terms(names_from)
    prose, names = terms(text)
    words = set(prose) - _OWN_WORDS - set(names)
    # One wrong word among many is a matter of style, but a wrong version, path or name is a wrong memory.
    if any(term not in known_names for term in (*filter(_DIGIT.search, prose), *filter(_NAME.search, names))):
        return DropReason.NAMES
    if any(name not in known_names for name in _list_proper_names(text)):
        return DropReason.NAMES
    if len(words & known) < _SUPPORTED_SHARE * len(words) or not (words or names):
        return DropReason.UNSUPPORTED
    return DropReason.NEGATION if _is_reversed(text, quote, source) else None


def measure_share(text: str, source: str) -> float:
    """Return the share of a text's distinct words and names that stand in a source, from 0 to 1."""
    words = {*chain.from_iterable(terms(text))} - _OWN_WORDS
    return len(words & _collect_terms(source)) / len(words) if words else 0.0


def _collect_terms(source: str) -> frozenset[str]:
    prose, names = terms(source)
    return frozenset((*prose, *names))


def _list_proper_names(text: str) -> Iterator[str]:
    """Yield the terms of capitalised words within the sentences of an English text."""
    if not is_english(text):
        return
    for match in _PROPER.finditer(text):
        found = terms(match[1])[0]
        yield from (term for term in found[:1] if term not in _OWN_WORDS)


def _is_reversed(text: str, quote: str, source: str) -> bool:
    if _NEGATION.search(text):
        return not (_NEGATION.search(source) or _OPPOSITION.search(source))
    if _OPPOSITION.search(text):
        return False
    said = set(terms(text)[0])
    return any(clause and said.issuperset(clause) for clause in _iterate_negated_clauses(quote))


def _iterate_negated_clauses(quote: str) -> Iterator[list[str]]:
    """Yield the first terms after each negation in its clause: what is negated."""
    for match in _NEGATION.finditer(quote):
        rest = _CLAUSE_END.split(quote[match.end() :], maxsplit=1)[0]
        yield terms(" ".join(rest.split()[:_CLAUSE_WORDS]))[0][:_CLAUSE_TERMS]
