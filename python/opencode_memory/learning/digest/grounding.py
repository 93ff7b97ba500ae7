"""Whether a verdicts text says what was said: by its words, its names and numbers, and its negations.

Words cannot prove that it does, but what a model makes up, or is talked into by the text that it reads, mostly brings
words of its own. A text that is dropped for nothing costs little: the wording of the rules stays.
"""

from __future__ import annotations

import re
from typing import Final

from opencode_memory._core import terms
from opencode_memory.learning.digest.report import DropReason
from opencode_memory.learning.digest.statements import Statement

_SUPPORTED_SHARE: Final = 0.7
"""Of its different words, how many must occur in the statement or its evidence."""

_RELATED_SHARE: Final = 0.3
"""And how many in the statement alone: an order that is hidden in the evidence is not what the rules marked."""

_DIGIT: Final = re.compile(r"\d")
# A path, an address, a variable, an option; not a word with a hyphen, which people write either way.
_NAME: Final = re.compile(r"\d|[._:@/\\]|^--")
_NEGATION: Final = re.compile(
    r"\b(?:not|never|none|neither|nor|cannot|without|avoid(?:s|ed|ing)?|no(?=\s+\w)|\w+n['\u2019]t|dont|doesnt|wont|cant)\b",
    re.IGNORECASE,
)
# What may become a negation in other words: "no, use X" is "do not use Y".
_OPPOSITION: Final = re.compile(r"\b(?:no|instead|rather|stop|wrong|forbid(?:den)?|refuse[ds]?)\b", re.IGNORECASE)


def find_objection(content: str, statement: Statement) -> DropReason | None:
    """Say what speaks against a verdicts text; None when nothing does."""
    source = f"{statement.content}\n{statement.evidence}"
    prose, names = terms(content)
    words = set(prose)
    source_prose, source_names = terms(source)
    known = {*source_prose, *source_names}
    if not words or len(words & known) < _SUPPORTED_SHARE * len(words):
        return DropReason.UNSUPPORTED
    # A wrong word among many is a matter of style; a wrong version, path or command is a wrong memory.
    if any(term not in known for term in (*filter(_DIGIT.search, prose), *filter(_NAME.search, names))):
        return DropReason.UNSUPPORTED
    stated_prose, stated_names = terms(statement.content)
    if len(words & {*stated_prose, *stated_names}) < _RELATED_SHARE * len(words):
        return DropReason.UNRELATED
    return DropReason.NEGATION if _is_reversed(content, statement.content, source) else None


def _is_reversed(content: str, stated: str, source: str) -> bool:
    if _NEGATION.search(content):
        return not (_NEGATION.search(source) or _OPPOSITION.search(source))
    # "Use pnpm, not npm" and "use pnpm instead of npm" say the same.
    return bool(_NEGATION.search(stated)) and not _OPPOSITION.search(content)
