"""Grounding check: compares the words, names, numbers and negations of a rewording with its statement and evidence.

The check cannot prove that a rewording is right. But a text that the LLM invents, or that an instruction hidden in the
evidence makes it write, mostly brings new words. Dropping a good rewording costs little, because the original stays.
"""

from __future__ import annotations

import re
from typing import Final

from opencode_memory._core import terms
from opencode_memory.learning.digest.report import DropReason
from opencode_memory.learning.digest.statements import Statement

_SUPPORTED_SHARE: Final = 0.7
"""Minimum share of the distinct words of a rewording that must occur in the statement or its evidence."""

_RELATED_SHARE: Final = 0.3
"""Minimum share that must occur in the statement alone, since the evidence may contain an injected instruction."""

_DIGIT: Final = re.compile(r"\d")
# A path, URL, variable or option. Hyphenated words do not count, because people write them with and without hyphen.
_NAME: Final = re.compile(r"\d|[._:@/\\]|^--")
_NEGATION: Final = re.compile(
    r"\b(?:not|never|none|neither|nor|cannot|without|avoid(?:s|ed|ing)?|no(?=\s+\w)|\w+n['\u2019]t|dont|doesnt|wont|cant)\b",
    re.IGNORECASE,
)
# Words that may become a negation in a rewording: "no, use X" may become "do not use Y".
_OPPOSITION: Final = re.compile(r"\b(?:no|instead|rather|stop|wrong|forbid(?:den)?|refuse[ds]?)\b", re.IGNORECASE)


def find_objection(content: str, statement: Statement) -> DropReason | None:
    """Return why a rewording must be dropped; None if it is grounded."""
    source = f"{statement.content}\n{statement.evidence}"
    prose, names = terms(content)
    words = set(prose)
    source_prose, source_names = terms(source)
    known = {*source_prose, *source_names}
    if not words or len(words & known) < _SUPPORTED_SHARE * len(words):
        return DropReason.UNSUPPORTED
    # One wrong word among many is a matter of style, but a wrong version, path or command is a wrong memory.
    if any(term not in known for term in (*filter(_DIGIT.search, prose), *filter(_NAME.search, names))):
        return DropReason.UNSUPPORTED
    stated_prose, stated_names = terms(statement.content)
    if len(words & {*stated_prose, *stated_names}) < _RELATED_SHARE * len(words):
        return DropReason.UNRELATED
    return DropReason.NEGATION if _is_reversed(content, statement.content, source) else None


def _is_reversed(content: str, stated: str, source: str) -> bool:
    if _NEGATION.search(content):
        return not (_NEGATION.search(source) or _OPPOSITION.search(source))
    # "Use pnpm, not npm" and "use pnpm instead of npm" mean the same.
    return bool(_NEGATION.search(stated)) and not _OPPOSITION.search(content)
