"""Corrections: the user rejects a tool that the agent used and names the alternative, for example "no, pnpm"."""

from __future__ import annotations

import re
from typing import Final

from opencode_memory.learning.extraction.candidate import LONGEST_EVIDENCE, Candidate, shorten
from opencode_memory.learning.extraction.gate.work_at_hand import is_about_work_at_hand
from opencode_memory.learning.extraction.scope import is_for_all_projects
from opencode_memory.learning.extraction.sentences import Sentence
from opencode_memory.learning.extraction.subjects import find_alternatives, normalise_statement
from opencode_memory.models import Category

_NO: Final = re.compile(
    r"^(?:no+|nope|nah|wrong|stop|wait|hey|not like that|argh|ugh)\b[,.!:; -]*(?:no\b[, ]*)?(?:please )?", re.IGNORECASE
)
_MOST_WORDS: Final = 16


def find_correction(sentence: Sentence, action: str, *, is_denied: bool = False) -> Candidate | None:
    """Return the correction that a sentence contains, if any.

    Only tools of a known kind count, such as package managers: then it is certain what the choice replaces.

    Args:
        sentence: Sentence of the user.
        action: The last action or text of the agent.
        is_denied: Whether the user rejected the action already, without the word "no".
    """
    denied = _NO.match(sentence.text)
    if not (denied or is_denied) or not action or sentence.is_question:
        return None
    rest = sentence.text[denied.end() :] if denied else sentence.text
    if len(rest.split()) > _MOST_WORDS or is_about_work_at_hand(rest):
        return None
    taken = dict(find_alternatives(action))
    named = find_alternatives(rest)
    chosen = [(kind, name) for kind, name in sorted(named) if kind in taken and (kind, taken[kind]) != (kind, name)]
    if len(chosen) != 1:
        return None
    kind, name = chosen[0]
    content = f"Use {name}, not {taken[kind]}."
    return Candidate(
        category=Category.PREFERENCE,
        content=content,
        confidence=0.8,
        rule="correction",
        evidence=shorten(sentence.text, LONGEST_EVIDENCE),
        normal_form=normalise_statement(Category.PREFERENCE, content),
        is_persons=True,
        is_global=is_for_all_projects(sentence.text),
        # The last word counts, also if it is the first one again.
        may_repeat=True,
    )
