"""Scope of a statement: whether the user wants it in all their projects, in any language that has cues."""

from __future__ import annotations

import re
from typing import Final

from opencode_memory.learning.extraction.gate.fragments import ALL_PROJECTS
from opencode_memory.learning.extraction.languages.cues import read_cues

_ENGLISH: Final = re.compile(rf"\b(?:global(?:ly)? (?:rule|preference)\b|{ALL_PROJECTS})", re.IGNORECASE)
_HERE: Final = re.compile(
    r"\b(?:unlike|except|other (?:projects?|repos?|repositor(?:y|ies)|code ?bases?)|(?:in|for) this (?:project|repo|repository"
    r"|code ?base|one)|here)\b",
    re.IGNORECASE,
)
"""Words of a statement about one project that names the others for comparison."""
_WIDENS: Final = re.compile(
    r"(?:and |so )?(?:that|this|it)(?:['’]?s| is| goes| holds| applies| counts)\b", re.IGNORECASE
)
_MOST_WORDS: Final = 12


def widens_the_sentence_before(core: str) -> bool:
    """Return whether a sentence only says that the one before it holds in all projects of the user.

    >>> widens_the_sentence_before("That's a rule for all my projects.")
    True
    >>> widens_the_sentence_before("That's a rule for all tests.")
    False
    """
    return bool(_WIDENS.match(core)) and len(core.split()) <= _MOST_WORDS and is_for_all_projects(core)


def is_for_all_projects(text: str) -> bool:
    """Return whether the user wants what a text says in all their projects.

    "In all projects" does not say so: it may mean the projects of one repository.
    """
    if _HERE.search(text):
        return False
    return bool(_ENGLISH.search(text)) or any(cues.everywhere.search(text) for cues in read_cues().values())
