"""Remarks by which the user takes back what they have just said: "ignore that", "never mind", "wait, no".

The same words begin tasks: "ignore this warning", "never mind the tests", "wait, no test covers this". So a pronoun must
stand alone, and a noun must be a word for something said.
"""

from __future__ import annotations

import re
from typing import Final

_MOST_WORDS: Final = 16
"""Words of a remark. A longer sentence is a statement."""
_STOP: Final = r"(?=\W*$|\s*[,.;:!?()–—-])"
_ALONE: Final = (
    rf"(?:{_STOP}|(?=\s+(?:please|pls|plz|then|now|too|again|for|from|and|but|because|since|as|it|i|we|you|they|was|is|one|"
    r"all|completely|entirely|altogether|actually|sorry|thanks|instead|after|until|not)\b))"
)
"""What stands behind a pronoun that is no article: not "warning", as in "this warning"."""
_WHICH: Final = r"(?:(?:very |whole |entire )?(?:last|previous|earlier|first|second|other|above) )?"
_RULE: Final = rf"{_WHICH}(?:message|instruction|order|rule|directive|convention|statement|sentence|request|wish)s?\b"
_SAID: Final = rf"(?:{_RULE}|{_WHICH}(?:one|msg|remark|idea|suggestion|thought|question|part|bit)s?\b)"
"""Words for something said, as in "that last message"."""
_LAST_SAID: Final = rf"(?:last|previous|earlier) {_SAID}"
_THAT: Final = rf"(?:(?:that|this) {_SAID}|(?:that|this){_ALONE}|my {_SAID}|(?:my|the) last{_STOP}|the {_LAST_SAID})"
_IT: Final = rf"it{_ALONE}"
_WHAT_I_SAID: Final = r"(?:that |what |anything |everything |all )?i (?:just |have |ever )*(?:said|wrote|told you)\b"
_NOT: Final = r"(?<!don't )(?<!dont )(?<!not )(?<!never )"
_NO: Final = (
    rf"no+(?:{_STOP}|(?=\s+(?:wait|no|nope|i|we|you|it|that|this|let|please|pls|don't|do|never|always|use|from|leave|keep|not|"
    r"the|actually|sorry|scratch|forget)\b))"
)
"""A "no" that answers, instead of one before a noun."""
_WRONG: Final = (
    r"(?:(?:completely |totally |just |all |simply )?(?:wrong|nonsense|rubbish|a mistake|an error|a joke|not right|not true|"
    r"incorrect|premature|too (?:quick|early)))"
)
_DROP: Final = r"(?:ignore|forget|drop|disregard|scrap|scratch|cancel|undo)"
_FORMS: Final = (
    rf"(?:scratch|strike|cancel|belay|ignore|disregard) {_THAT}",
    # "Undo that" may be about an edit.
    rf"(?:undo|revoke|retract|withdraw) (?:that|this|my|the(?= last| previous| earlier)) {_RULE}",
    rf"(?:ignore|disregard|forget) {_WHAT_I_SAID}",
    rf"ignore me{_ALONE}",
    rf"disregard{_STOP}",
    rf"scratch {_IT}",
    rf"{_NOT}forget (?:about )?(?:{_THAT}|{_IT})",
    rf"(?:never ?mind|nvm)(?:{_STOP}| (?:{_THAT}|{_IT}|{_WHAT_I_SAID})|{_ALONE})",
    rf"(?:do not|don'?t|no need to) (?:remember|memori[sz]e|record|save|store|learn|keep) (?:{_THAT}|{_IT})",
    r"on second thoughts?(?!,? (?:also|and)\b)",
    rf"let'?s not (?:do (?:that|this|it)\b)?(?: then)?,? ?after all{_STOP}",
    rf"(?:that|this|it)(?:'s| is| was) {_WRONG},? (?:so |please |just |let'?s |sorry,? )*{_DROP} (?:it|that|this){_ALONE}",
    rf"(?:that|this|it) was {_WRONG},? (?:sorry|my bad|my fault){_STOP}",
    rf"(?:my|that|the) {_LAST_SAID} (?:is|was) {_WRONG}",
    rf"i (?:did not|didn'?t) mean (?:that|this){_ALONE}",
    rf"i (?:spoke too soon|misspoke){_STOP}",
    rf"wrong (?:chat|window|project|repo|session|tab|terminal){_STOP}",
    r"(?:meant|intended) for (?:another|a different|the other) (?:chat|window|project|repo|session|tab)",
    r"(?:just |only )?(?:kidding|joking)|jk",
    r"i take (?:it|that) back(?! to\b)",
    r"i mixed (?:it|that|this) up",
    rf"i was wrong(?:{_STOP}|(?= (?:about|there|sorry|and|it|i|the)\b))",
    rf"my mistake{_STOP}",
    rf"no wait(?! for| until| till)|wait,? {_NO}|(?:actually|hold on|hmm),? {_NO}|hold on,? that{_ALONE}|actually,? nope",
    r"actually,? (?:wait(?! for| until| till)|scratch|forget|hold)",
    rf"that was a joke|not really{_STOP}|oh wait|nah forget|don'?t actually",
    r"let me (?:rethink|think about) (?:that|it|this)",
)
_TAKEN_BACK: Final = re.compile(rf"\b(?:{'|'.join(_FORMS)})(?!\w)", re.IGNORECASE)
_SAYS_WRONG: Final = re.compile(
    rf"(?:(?:oh|sorry|hm+|no|wait|oops|ok),? )*(?:that|this|it)(?:'s| is| was) {_WRONG}(?:,? sorry)?\W*$", re.IGNORECASE
)


def is_taken_back(text: str) -> bool:
    """Return whether a sentence takes back the statement before it.

    >>> is_taken_back("Sorry, ignore that.")
    True
    >>> is_taken_back("Ignore that warning.")
    False
    """
    return bool(_TAKEN_BACK.search(text.replace("’", "'"))) and len(text.split()) <= _MOST_WORDS


def says_wrong(text: str) -> bool:
    """Return whether a sentence only says that something was wrong. It may be about the agent's answer, or precede a remark."""
    return bool(_SAYS_WRONG.match(text.replace("’", "'")))
