"""Separates a statement from the clauses around it: the announcement of a correction, and the task that follows.

People write "the API is on port 8090 now, fix the proxy" and "forget the Tuesdays, releases are cut on Thursdays" as
one sentence. Only one of its clauses is lasting.
"""

from __future__ import annotations

import re
from typing import Final

INVERTED: Final = ", not the other way round"
"""End of a statement that reverses an earlier one."""
_OPENING: Final = r"((?:^|[.!?\n]\s*)(?:no|ok|okay|sorry|actually|hm+|ah|oh|wait)?[,.!]?\s*"
_ANNOUNCEMENT: Final = re.compile(
    rf"{_OPENING}(?:(?:please )?(?:forget|ignore|disregard|scrap|scratch) (?:about )?(?:what (?:i|we) (?:said|told you|wrote)|that|this|it|the|my)\b"
    r"[^,;:.!?\n]{0,60}|i(?:'ve| have)? changed my mind(?: about [^,;:.!?\n]{1,40})?))\s*[,;:–—-]+\s+(?=\w)",
    re.IGNORECASE,
)
_INVERSION: Final = re.compile(
    rf"{_OPENING})(?:no, )?(?:it'?s |it is |that'?s )?(?:exactly |just )?(?:the )?(?:other|wrong) way (?:round|around)\s*[,;:–—-]+\s+"
    r"(\w(?:[^.!?\n]|\.(?=\w))*)",
    re.IGNORECASE,
)
_BREAK: Final = re.compile(r"\s*(?:[,;]|\s[-–—]{1,2})\s+")
_LINK: Final = re.compile(r"^(?:(?:so|and|then|now|please|pls|also|therefore)\b[\s,]*)+", re.IGNORECASE)
_TASK: Final = re.compile(
    r"(?:(?:can|could|would|will) (?:you|we)|let'?s|i need you to"
    r"|fix|update|rename|put|change|write|rewrite|add|correct|adapt|adjust|bump|send|mail|check|recheck|run|rerun|create|make|move"
    r"|remove|delete|drop|replace|set|look|have a look|take a look|plan|tell|ping|open|push|commit|merge|deploy|build|rebuild|test"
    r"|install|configure|refactor|reformat|format|migrate|clean|show|find|see|try|finish|implement|convert|point|edit|regenerate"
    r"|restart|review|document|generate|switch)\b",
    re.IGNORECASE,
)
_TELLS: Final = re.compile(
    r"n['’]t\b|\b(?:not|never|no|always|only|every|each|all|any|without|instead|because|since|as|so|due|must|should|has|have"
    r"|had|is|are|was|were|may|than|which|that|where|when|whenever|if|unless|until|before|after|from now on"
    r"|let'?s (?:use|go with|stick|keep|have|call|try|drop|switch|move to)|(?:replace|switch|migrate|convert|rename)\b.* (?:to|with|by))\b"
    r"|[:\d]",
    re.IGNORECASE,
)
"""Words of a task that may say more than what is to be done: a reason, a limit, a value, a rule or a choice."""
_POLITE_END: Final = re.compile(r",? +(?:please|pls|thanks|thank you|thx)[.!?]*$", re.IGNORECASE)
_MOST_WORDS_OF_TASK: Final = 15
_SUBORDINATE: Final = re.compile(
    r"(?:if|when|whenever|once|after|before|while|since|because|although|unless|until|given|assuming|suppose|should|were|to)\b",
    re.IGNORECASE,
)
_LEAST_WORDS: Final = 3
_MOST_WORDS: Final = 25


def separate_announcements(prose: str) -> str:
    """End the announcement of a correction with a full stop, so that the statement behind it is its own sentence.

    "The other way round: A before B" becomes "A before B, not the other way round", which stands alone.
    """
    return _INVERSION.sub(rf"\1\2{INVERTED}", _ANNOUNCEMENT.sub(r"\1. ", prose))


def is_only_task(sentence: str) -> bool:
    """Return whether a sentence only orders work, and says nothing that holds afterwards.

    >>> is_only_task("add an endpoint for invoices"), is_only_task("fix the build, it needs -j1")
    (True, False)
    >>> is_only_task("let's fix it"), is_only_task("let's use tabs"), is_only_task("replace Redis with Valkey")
    (True, False, False)
    """
    clauses = [_LINK.sub("", clause.strip()) for clause in _BREAK.split(_POLITE_END.sub("", sentence))]
    is_short = len(sentence.split()) <= _MOST_WORDS_OF_TASK
    return is_short and all(map(_TASK.match, clauses)) and not _TELLS.search(sentence)


def cut_task(sentence: str) -> str:
    """Return the statement at the beginning of a sentence whose last clause is a task; otherwise the whole sentence.

    The statement ends at the first comma. A sentence that begins with a condition or a task is returned whole.
    """
    clauses = _BREAK.split(sentence)
    head = clauses[0].strip()
    if len(clauses) == 1 or not _LEAST_WORDS <= len(head.split()) <= _MOST_WORDS:
        return sentence
    if _SUBORDINATE.match(head) or _TASK.match(_LINK.sub("", head)):
        return sentence
    last = _LINK.sub("", clauses[-1])
    return head if _TASK.match(last) else sentence
