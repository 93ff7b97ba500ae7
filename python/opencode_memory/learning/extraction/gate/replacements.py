"""Choices and replacements: "we go with X instead of Y", "not X any more", "switched to X", "forget X, use Y".

A choice counts if it names what is chosen. Choices of an option ("option B"), of a size or a colour, and choices that
begin with "this" or "your" are left out.
"""

from __future__ import annotations

import re
from typing import Final

from opencode_memory.learning.extraction.gate.subjects_of_work import is_about_look
from opencode_memory.learning.extraction.gate.verdict import Verdict
from opencode_memory.learning.extraction.gate.work_at_hand import is_about_work_at_hand
from opencode_memory.learning.extraction.subjects import find_alternatives
from opencode_memory.models import Category

_TERM: Final = r"[`'\"(]?[\w@#+./-]+[`'\")]?"
_NAMES: Final = rf"(?:{_TERM}\s+){{0,4}}?{_TERM}"
_OVER: Final = (
    r"(?:(?: here| everywhere)?,? (?:and )?(?:not|never)(?: with)?|,? instead of|,? rather than|,? over|"
    r",? in place of)"
)
_USE: Final = (
    r"(?:use|using|run|go with|going with|stick with|sticking with|choose|pick|take|deploy (?:to|on)|write|have)"
)
_LEAD: Final = r"^(?:(?:ok(?:ay)?|and|also|so|but|no|nope|yes|please|pls|then|now|actually|let'?s|lets|just|we(?:'ll| will|'re| are| should| must| want to| need to)?|i(?:'ll| will| want to|'d like to| want us to| want you to)?|you should|to)[,:!]?\s+)*"

_USE_NOT: Final = re.compile(
    rf"{_LEAD}(?:{_USE}) (?P<new>{_NAMES}){_OVER} (?P<old>{_NAMES})(?P<rest>(?: (?:for|in|on|to|as|when|because|"
    r"since|so)\b.*|[,;(].*)?)[.!]*$",
    re.IGNORECASE,
)
_INSTEAD_OF: Final = re.compile(
    rf"{_LEAD}(?:instead of|rather than) (?:using |use )?(?P<old>{_NAMES}),? (?:we (?:should |will |'ll )?|let'?s |"
    rf"please )?(?:use|go with|take) (?P<new>{_NAMES})(?P<rest>(?: (?:for|in|on|to|as|when|because)\b.*|"
    r"[,;(].*)?)[.!]*$",
    re.IGNORECASE,
)
_FORGET: Final = re.compile(
    rf"{_LEAD}(?:forget(?: about)?|drop|ditch|scrap|no more|don'?t use|do not use|stop using|"
    rf"not) (?P<old>{_NAMES})[,;.–—-]+\s*(?:and )?(?:just |please |we(?:'ll| will)? |let'?s |instead )*(?:use|"
    rf"go with|switch to|take|it'?s) (?P<new>{_NAMES})(?P<rest>(?: (?:for|in|on|to|as|instead|when|because)\b.*|"
    r"[,;(].*)?)[.!]*$",
    re.IGNORECASE,
)
_WRONG: Final = re.compile(
    rf"{_LEAD}(?:(?:choosing|using|picking) )?(?!the\b|my\b|our\b|an?\b)(?P<old>{_NAMES}) (?:is|are|was|were) "
    r"(?:simply |just |clearly )?(?:wrong|a mistake|a bad (?:idea|choice)|the wrong (?:choice|tool|one|database|"
    r"library|package manager))[,;:.–—-]+\s*(?:so |and |please |we(?:'ll| should| must| will)? |let'?s )*"
    rf"always (?P<verb>use|run|go with|take|write) (?P<new>{_NAMES})(?: instead)?(?P<rest>(?: (?:for|in|on|to|as|when|"
    r"because|before|after)\b.*|[,;(].*)?)[.!]*$",
    re.IGNORECASE,
)
"""Only with "always": without it, "X was wrong, use Y" mostly is about the edit at hand."""
_RIGHT_NAME: Final = re.compile(
    r"^(?:(?:no+|nope|nah|oops|ups|wait|correction|sorry|actually|i mean)\b[\s,:;.!–—-]*)*"
    rf"(?:(?:it|that)(?:'?s| is| should be| must be)|i meant(?: to say)?) (?P<new>{_NAMES}),? (?:and )?not (?P<old>{_NAMES})[.!]*$",
    re.IGNORECASE,
)
_CLAUSE: Final = re.compile(
    r"^(?:if|when(?:ever)?|wherever|where|why|how|while|unless|until|once|because|since|as|though|although|whether|maybe|"
    r"perhaps|probably)\b|"
    r"\b(?:i|you|he|she|it|we|they|who|someone|somebody|everyone|everybody|that|which)\b|"
    r"\b(?:said|says?|thinks?|thought|tells?|told|claims?|claimed|believes?|feels?|felt|guess|knows?|knew)\b",
    re.IGNORECASE,
)
"""Words before a name that make it a condition, or what somebody says: "you said npm was wrong"."""
_GO_WITH: Final = re.compile(
    rf"{_LEAD}(?:go(?:ing)? (?:with|w/|for)|stick(?:ing)? (?:with|to)|stay(?:ing)? (?:with|on)|settl(?:e|ing) on|"
    rf"standardi[sz](?:e|ing) on|keep(?:ing)? using) (?P<new>{_NAMES})(?P<over>{_OVER} .+)?(?P<rest>(?: (?:for|in|"
    r"as|everywhere|from|because|since)\b.*|[,;(].*)?)[.!]*$",
    re.IGNORECASE,
)
_SWITCH: Final = re.compile(
    r"(?:^(?:please )?(?=(?:switch|move|migrate) (?:everything|all)\b)|\b(?:we|i|we've|i've|let'?s)(?:'re| are|"
    r" have|'ll| will| just| now)* )"
    r"(?:switch(?:ed|ing)?|mov(?:e|ed|ing)|migrat(?:e|ed|ing)|chang(?:ed|ing)) (?:everything |"
    rf"all of it )?(?:over )?(?:from (?P<old>{_NAMES}) )?to (?P<new>{_NAMES})(?: (?:for|instead|because|since)\b.*|"
    r"[.!,;].*)?$",
    re.IGNORECASE,
)
_NO_LONGER: Final = re.compile(
    r"\bwe (?:no longer|don'?t|do not|won'?t|will not|are not|aren'?t|are no longer) (?:use|using|support|"
    r"supporting|maintain|need|rely on|deploy|ship|target|call|run|store|generate|accept|"
    r"plan)\b.*\b(?:any ?more|no longer)\b"
    r"|\bwe no longer (?:use|support|maintain|need|rely on|deploy|ship|target|do|have|call|run|store|"
    r"generate|accept)\b"
    r"|\bwe(?: drop| dropped| are dropping|'re dropping| have dropped|'ve dropped|(?: have|'ve)? (?:retired|"
    r"deprecated|abandoned|replaced)) (?!this\b|that\b|it\b)[\w`]"
    r"|\bno [\w.+#/-]+ after all\b|^(?:(?-i:[A-Z])[\w.+#/-]+|"
    r"[\w.+#/-]+(?= it is then))(?: it is)(?: then)?\b(?=\s*(?:[,.!;]|$|for\b))"
    r"|^(?:and |so |but )?we(?:'re| are) (?:not (?:doing|using|supporting|building|shipping|targeting)|"
    r"(?:going to|gonna) (?:only |just )?(?:support|use|keep|target|ship) only|going to only \w+) (?!this|that|"
    r"it\b|them)\w"
    r"|^(?:please )?(?:don'?t|do not|stop) \w+ .{3,80}\bany ?more[.!]*$",
    re.IGNORECASE,
)
_DECIDED: Final = re.compile(
    r"^(?:\w+,? )?decided[:,] \w|\b(?:we|i|the team)(?: just| finally)? (?:chose|picked|went (?:with|"
    r"for)) (?!it\b|that\b|this\b|the (?:wrong|first|second)\b).{2,60}\b(?:over|instead of|because|since|"
    r"rather than)\b"
    r"|\b(?:we|i|we've|i've|(?:the |our )(?:team|client|customer|boss|management))(?: have| 've)?(?: just| now|"
    r" finally| already| both| all)* (?:decided|agreed|settled|opted|committed|chose|concluded)\s+(?:on|to|that|"
    r"against|for|not to)\b"
    r"|^(?:the )?(?:final )?decision(?: is|:| was to)\s+\w|\bit(?:'s| is) (?:now )?decided\b",
    re.IGNORECASE,
)
_PREFER: Final = re.compile(
    r"\b(?:i|we) (?:much |strongly |really |generally |usually |always |personally |do )*(?:prefer|"
    r"favou?r) (?!that|this|it|the\b(?!.*\b(?:over|to|than)\b)|a\b|to (?:have|see|keep)\b|previous|if|option|your)"
    r"|\b(?:i|we)(?:'d| would) always (?:go for|use|pick|choose|take)\b"
    r"|\b(?:i|we)(?:'d| would) (?:much |really |always )*(?:rather|prefer)\b.{4,120}\b(?:than|over|instead of)\b",
    re.IGNORECASE,
)
_CONTRAST: Final = re.compile(
    r"\bwe (?:don'?t|do not|never) (?!see|get|know|have any|find|need)(?:even |"
    r"really )?\w+ .{2,60}[,;.–—-]+ ?(?:and |but |instead )?we (?!don'?t|do not|should|need|see|get|can|could|"
    r"have to)\w+ ",
    re.IGNORECASE,
)
_WITH_INSTEAD: Final = re.compile(
    r"\b(?:we|i)(?:'ll| will| want to|'d like to| are going to|'re going to| should)? (?:use|set up|go with|"
    r"switch to|do|take|adopt)\b.{2,80}\binstead\b",
    re.IGNORECASE,
)
_LEAST_WORDS_OF_PREFERENCE: Final = 4
_NOT_A_NAME: Final = re.compile(
    r"^(?:#[0-9a-f]{3,8}|\d+[a-z%]{0,3}|option|approach|variant|alternative|your|that|this|these|those|it|them|"
    r"plan|number|#?\d+[.):]?$|[a-d]$|"
    r"[1-9a-d] |recommend|suggest|the (?:first|second|third|latter|former|same|plan|option|other|recommended|"
    r"simple|simplest|default|next|basic|cheapest)|"
    r"a|an|both|one|any|another|first|everything|what|whatever|more|less|having|the one)\b|%|\bpx\b|\bbigger|"
    r"smaller\b|\boption\b",
    re.IGNORECASE,
)
_NAME_LIKE: Final = re.compile(r"[`._/#@]\w|\w[._/]\w|\d|[a-z][A-Z]|(?<!^)\b[A-Z][a-zA-Z]+|`")
_CAPITAL: Final = re.compile(r"^[A-Z][\w+#.-]+$")
_IDENTIFIER: Final = re.compile(r"^`?(?:[a-z]+[A-Z]\w*|[a-z]+_\w+|[\w.]+\(\S*)`?$")
_GIT: Final = re.compile(r"\b(?:branch|checkout|tab|view|mode|screen|page|window|directory|folder)\b", re.IGNORECASE)


def find_replacement(sentence: str, before: str = "") -> Verdict | None:
    """Return the choice or replacement that a sentence states, if any.

    Args:
        sentence: The sentence.
        before: The sentence before, which "instead" may refer to.
    """
    if is_about_work_at_hand(sentence) or is_about_look(sentence):
        return None
    for form in (_USE_NOT, _INSTEAD_OF, _FORGET):
        found = form.match(sentence)
        if found and _are_names(found["new"], found["old"]):
            rest = found["rest"].strip().rstrip(".!")
            text = f"Use {found['new'].strip(' .,;')}, not {found['old'].strip(' .,;')}{'' if rest[:1] in ',;' or not rest else ' '}{rest}."
            return Verdict(category=Category.CONVENTION, rule="replacement", text=text)
    wrong = _WRONG.match(sentence)
    if wrong:
        new, old, rest = (wrong[name].strip(" .,;!") for name in ("new", "old", "rest"))
        # The capital of the beginning of a sentence makes no name.
        if _are_names(new, old[0].lower() + old[1:]):
            text = f"Always {wrong['verb'].lower()} {new}, not {old}{f' {rest}' if rest else ''}."
            return Verdict(category=Category.CONVENTION, rule="replacement", text=text)
    going = _GO_WITH.match(sentence)
    if going and (_is_name(going["new"]) or (going["over"] and _is_choice(going["new"]))):
        return Verdict(category=Category.DECISION, rule="choice", text=sentence)
    switched = _SWITCH.search(sentence)
    if switched and _is_name(switched["new"]) and not _GIT.search(sentence):
        return Verdict(category=Category.DECISION, rule="replacement", text=sentence)
    if _NO_LONGER.search(sentence):
        return Verdict(category=Category.DECISION, rule="not any more", text=sentence)
    if _DECIDED.search(sentence):
        return Verdict(category=Category.DECISION, rule="decided", text=sentence)
    if _WITH_INSTEAD.search(sentence) and re.search(
        r"\b(?:not|no longer|n't|drop|stop)\b|n't\b", before, re.IGNORECASE
    ):
        return Verdict(category=Category.DECISION, rule="replacement", text=f"{before.rstrip()} {sentence}")
    if _PREFER.search(sentence) and len(sentence.split()) >= _LEAST_WORDS_OF_PREFERENCE:
        return Verdict(category=Category.PREFERENCE, rule="preference", text=sentence)
    if _CONTRAST.search(sentence):
        return Verdict(category=Category.CONVENTION, rule="we do this, not that", text=sentence)
    return None


def find_right_name(sentence: str) -> tuple[str, str] | None:
    """Return the right name and the wrong one of a sentence that only corrects a name; None if it does not.

    >>> find_right_name("Correction: it's `make verify`, not `make check`.")
    ('`make verify`', '`make check`')
    >>> find_right_name("It's slow, not broken.")
    """
    found = _RIGHT_NAME.match(sentence.replace("’", "'"))
    if found is None:
        return None
    new, old = (found[name].strip(" .,;!") for name in ("new", "old"))
    return (new, old) if _are_names(new, old) else None


def _are_names(new: str, old: str) -> bool:
    if _CLAUSE.search(new) or _CLAUSE.search(old):
        return False  # "We deploy on Tuesdays and we never deploy on Fridays" names nothing.
    if _IDENTIFIER.match(new.strip()) and _IDENTIFIER.match(old.strip()):
        return False  # "Use getUser instead of fetchUser" is an edit.
    return _is_choice(new) and _is_choice(old) and (_is_name(new) or _is_name(old))


def _is_choice(text: str) -> bool:
    return not _NOT_A_NAME.search(text.strip("`'\"() "))


def _is_name(text: str) -> bool:
    text = text.strip()
    if not _is_choice(text):
        return False
    return bool(_NAME_LIKE.search(text) or _CAPITAL.match(text.split()[0]) or find_alternatives(text))
