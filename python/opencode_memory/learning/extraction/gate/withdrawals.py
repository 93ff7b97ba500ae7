"""Withdrawals: "forget the rule about pnpm", "the linter rule no longer applies". They name a statement, not its words."""

from __future__ import annotations

import re
from typing import Final

_LONGEST: Final = 300
_START: Final = (
    r"^(?:(?:ok(?:ay)?|so|and|but|then|also|please|pls|you can|you may|let'?s|we can|we should|i want you to)[,:]? )*"
)
_NOUN: Final = (
    r"(?:rules?|conventions?|directives?|instructions?|preferences?|guidelines?|polic(?:y|ies)|memor(?:y|ies)"
    r"|requirements?|bans?|embargo|freeze|limits?|caps?|restrictions?|standing orders?)"
)
_OURS: Final = r"(?:the|that|this|my|our|your)"
_ABOUT: Final = r"(?:about|on|regarding|concerning|for|of|to|that says|saying|that)"
_FORGET: Final = r"(?:forget|disregard|never ?mind|scratch)(?: about)?"
_SAID: Final = (
    r"(?:what(?:ever)?|everything|all|anything) (?:that )?(?:i|we)(?:'ve| have)? (?:\w+ )?"
    r"(?:said|told you|mentioned|wrote|decided)(?: \w+)?"
)
_DROP: Final = r"(?:ignore|drop|scrap|remove|delete|retire|lift)"
_FOR_GOOD: Final = r",? (?:from now on|any ?more|for good|permanently|altogether)"
_END: Final = r"(?:,? (?:please|again|now|completely|from now on|any ?more|for good|permanently|altogether))*[.!]*$"
_VOID: Final = (
    r"(?:no longer (?:applies|apply|holds?|counts?)|(?:does|do)(?:n'?t| not) (?:apply|hold|count) any ?more"
    r"|(?:is|are) (?:void|obsolete|withdrawn|lifted|retired|off the table)(?: now)?)"
)
_FORMS: Final = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"{_START}{_FORGET} {_OURS} (?:[\w-]+ )?{_NOUN} {_ABOUT} (?P<what>.+?){_END}",
        rf"{_START}{_FORGET} {_OURS} (?P<what>[^,;:]{{2,60}}?) {_NOUN}(?:[,;:(].*|{_END})",
        rf"{_START}{_FORGET} {_SAID} (?:about|on|regarding) (?P<what>.+?){_END}",
        rf"{_START}{_FORGET} everything about (?P<what>.+?){_END}",
        # Without a word of duration, these may be about a rule in a file, or for once.
        rf"{_START}{_DROP} {_OURS} (?:[\w-]+ )?{_NOUN} {_ABOUT} (?P<what>.+?){_FOR_GOOD}[.!]*$",
        rf"{_START}{_DROP} {_OURS} (?P<what>[^,;:]{{2,60}}?) {_NOUN}{_FOR_GOOD}[.!]*$",
        rf"{_START}{_DROP} {_OURS} memor(?:y|ies) {_ABOUT} (?P<what>.+?){_END}",
        rf"{_START}(?:the|that|my|our) {_NOUN} {_ABOUT} (?P<what>.+?) {_VOID}{_END}",
        rf"{_START}(?:the|that|my|our) (?P<what>[^,;:]{{2,60}}?) {_NOUN} {_VOID}{_END}",
    )
)
_DETAIL: Final = re.compile(r"[,;:(].*|\s+(?:because|since|as|it|we|and|but|so|for now|for this)\b.*", re.IGNORECASE)
"""What follows the subject: a reason, or another sentence."""
_ONCE: Final = re.compile(
    r"\b(?:for now|for this|this (?:time|once|one)|today|tonight|just (?:this )?once|until|unless|except|only|if|when)\b",
    re.IGNORECASE,
)


def find_withdrawal(core: str) -> str | None:
    """Return the subject of the earlier statement that a sentence withdraws for good; None if it withdraws none.

    >>> find_withdrawal("Please forget the rule about pnpm, it was a mistake.")
    'pnpm'
    >>> find_withdrawal("Forget the rule about pnpm for now.")

    Args:
        core: The sentence without introductory words.
    """
    if len(core) > _LONGEST or _ONCE.search(core):
        return None
    for form in _FORMS:
        if (found := form.match(core)) is not None:
            return _DETAIL.sub("", found["what"]).strip(" \"'`.") or None
    return None
