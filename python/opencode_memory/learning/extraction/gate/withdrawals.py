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
_AGREED: Final = r"(?:rule|convention|directive|instruction|preference|guideline|policy|requirement|ban|embargo|freeze|standing order)s?"
"""What people agree on. A limit or a memory may be one of a program."""
_IN_TOOL: Final = (
    r"(?!(?:[\w-]+ )*(?:es-?lint|stylelint|ruff|pylint|clippy|biome|sonar|firewall|iptables|nginx|routing|routes?|redirect"
    r"|rewrite|ingress|network|access|iam|rls|alert|css|scss|make|build|cache|proxy|validation|business)\b)"
)
"""Not the names of things with rules of their own: "the firewall rule"."""
_OURS: Final = r"(?:the|that|this|my|our|your)"
_ABOUT: Final = r"(?:about|on|regarding|concerning|for|of|to|that says|saying|that)"
_FORGET: Final = r"(?:forget|disregard|never ?mind|scratch)(?: about)?"
_SAY: Final = r"(?:said|told you|mentioned|wrote|decided)"
_SAID: Final = rf"(?:what(?:ever)?|everything|all|anything) (?:that )?(?:i|we)(?:'ve| have)? (?:\w+ )?{_SAY}(?: \w+)?"
_DROP: Final = r"(?:ignore|drop|scrap|remove|delete|retire|lift)"
_END_IT: Final = r"(?:drop|scrap|abandon|ditch|nix|axe|rescind|revoke|repeal|withdraw|unlearn|take back)"
_FOR_GOOD: Final = r",? (?:from now on|any ?more|for good|permanently|altogether)"
_END: Final = r"(?:,? (?:please|again|now|completely|from now on|any ?more|for good|permanently|altogether))*[.!]*$"
_ENDED: Final = r"(?:void|obsolete|withdrawn|lifted|retired|rescinded|revoked|abolished|off the table)"
_VOID: Final = (
    r"(?:no longer (?:applies|apply|holds?|counts?|exists?)|(?:does|do)(?:n'?t| not) (?:apply|hold|count|exist) any ?more"
    rf"|(?:is|are|was|were|has been|have been) {_ENDED}(?: now)?|(?:is|are) no longer (?:valid|in force|binding)"
    r"|(?:is|are)(?: not|n'?t) (?:valid|in force|binding|a thing) (?:any ?more|any longer))"
)
_WRONG: Final = (
    rf"(?:{_VOID}|(?:is|was|turned out(?: to be)?) (?:simply |just |all )?(?:wrong|false|incorrect|not true|a mistake"
    r"|an error|nonsense|outdated))"
)
_THING: Final = r"(?:thing|stuff|bit|part)"
_AND_SO: Final = r"(?:[,;] .*|[.!]*)$"
_SUBJECT: Final = r"(?P<what>[^,;:]{2,60}?)"
_OF: Final = r"(?:about|on|regarding|concerning)"
_WORD: Final = rf"(?:[\w-]+ )?(?:{_NOUN}|note|advice|guidance|remark)"
_LEARNED: Final = (
    r"(?:what|everything|all|anything) (?:that )?you (?:remember|know|noted|stored|saved|learned) (?:about|of|on)"
)
_IGNORE_IT: Final = rf"(?:ignore|forget|disregard|scrap) (?:my {_WORD}|what i {_SAY})\b"
_MY_FAULT: Final = r"(?:i was wrong|i(?:'ve| have)? changed my mind)\b"
_WRONG_THING: Final = rf"{_START}(?:the|that|this) {_THING} (?:about|with|on) {_SUBJECT} {_WRONG}{_AND_SO}"
_FORMS: Final = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"{_START}{_FORGET} {_OURS} (?:[\w-]+ )?{_NOUN} {_ABOUT} (?P<what>.+?){_END}",
        rf"{_START}{_FORGET} {_OURS} {_SUBJECT} {_NOUN}(?:[,;:(].*|{_END})",
        rf"{_START}(?:{_FORGET}|ignore) {_SAID} (?:about|on|regarding) (?P<what>.+?){_END}",
        rf"{_START}{_FORGET} everything about (?P<what>.+?){_END}",
        # Without a word of duration, these may be about a rule in a file, or for once.
        rf"{_START}{_DROP} {_OURS} (?:[\w-]+ )?{_NOUN} {_ABOUT} (?P<what>.+?){_FOR_GOOD}[.!]*$",
        rf"{_START}{_DROP} {_OURS} {_SUBJECT} {_NOUN}{_FOR_GOOD}[.!]*$",
        rf"{_START}{_DROP} {_OURS} memor(?:y|ies) {_ABOUT} (?P<what>.+?){_END}",
        rf"{_START}{_END_IT} {_OURS} {_IN_TOOL}{_SUBJECT} {_AGREED}{_END}",
        rf"{_START}(?:forget|erase|delete|remove) {_LEARNED} (?P<what>.+?){_END}",
        rf"{_START}(?:the|that|my|our) {_NOUN} {_ABOUT} (?P<what>.+?) {_VOID}{_END}",
        rf"{_START}(?:the|that|my|our) {_IN_TOOL}{_SUBJECT} {_NOUN} {_VOID}{_END}",
        rf"{_START}(?:the|that|our) {_IN_TOOL}{_SUBJECT} (?:freeze|embargo|ban) is over{_END}",
        rf"{_START}(?:what i(?:'ve| have)? {_SAY}|my {_WORD}) {_OF} {_SUBJECT} {_WRONG}{_AND_SO}",
        rf"{_START}(?:the|that) {_SUBJECT} {_THING} (?:that )?i {_SAY}(?: about)? {_WRONG}{_AND_SO}",
        rf"{_START}i(?:'ve| have)? changed my mind {_OF} {_SUBJECT}{_AND_SO}",
        rf"{_START}i was wrong (?:about|on) {_SUBJECT}{_AND_SO}",
        rf"^(?:about|regarding|concerning|as for|re|wrt) {_SUBJECT}[,:] (?:please )?(?:{_IGNORE_IT}|{_MY_FAULT}).*",
        _WRONG_THING,
    )
)
_OF_ANYBODY: Final = re.compile(_WRONG_THING, re.IGNORECASE)
_DETAIL: Final = re.compile(r"[,;:(].*|\s+(?:because|since|as|it|we|and|but|so|for now|for this)\b.*", re.IGNORECASE)
"""What follows the subject: a reason, or another sentence."""
_WHICH: Final = re.compile(
    r"(?:(?:very|last|previous|earlier|old|new|first|second|other|above|whole|entire|same)\s*)+", re.IGNORECASE
)
"""What names no subject: "forget the last rule"."""
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
            subject = _DETAIL.sub("", found["what"]).strip(" \"'`.")
            return None if not subject or _WHICH.fullmatch(subject) else subject
    return None


def is_about_own_words(core: str) -> bool:
    """Return whether a sentence that withdraws something can only be about words of the user.

    >>> is_about_own_words("Forget the rule about modals."), is_about_own_words("The part about modals is wrong.")
    (True, False)

    Args:
        core: The sentence without introductory words.
    """
    return not _OF_ANYBODY.match(core)
