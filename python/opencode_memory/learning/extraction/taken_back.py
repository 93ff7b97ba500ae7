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
_BEHIND: Final = (
    r"please|pls|plz|then|now|too|again|for|from|and|but|because|since|as|was|is|all|completely|entirely|altogether|actually|"
    r"sorry|thanks|instead|after|until|not"
)
_ALONE: Final = rf"(?:{_STOP}|(?=\s+(?:{_BEHIND}|it|i|we|you|they)\b))"
"""What stands behind a pronoun that is no article: not "warning", as in "this warning"."""
_CLOSES: Final = (
    rf"(?:{_STOP}|(?=\s+(?:{_BEHIND}|i (?:said|asked|wrote|mentioned|was|misspoke|made|mixed|meant)|it(?:'s| is| was) (?:a |not |"
    r"wrong|nonsense|rubbish))\b))"
)
"""The same behind "that", which also begins a clause: "ignore that it fails"."""
_WHICH: Final = r"(?:(?:very |whole |entire )?(?:last|previous|earlier|first|second|other|above) )?"
_RULE: Final = rf"{_WHICH}(?:message|instruction|order|rule|directive|convention|statement|sentence|request|wish)s?\b"
_SAID: Final = rf"(?:{_RULE}|{_WHICH}(?:one|msg|remark|idea|thought|part|bit)s?\b)"
"""Words for something said, as in "that last message"."""
_MINE: Final = rf"my (?:{_SAID}|{_WHICH}(?:suggestion|question)s?\b)"
"""The agent and its tools make suggestions and ask questions as well."""
_LAST: Final = r"(?:last|previous|earlier)"
_THAT: Final = rf"(?:(?:(?:that|this) {_SAID}|{_MINE}|the {_LAST} {_SAID})(?! from\b){_ALONE}|that{_CLOSES}|this{_ALONE}|(?:my|the) last{_STOP})"
_IT: Final = rf"it{_ALONE}"
_NAMED: Final = rf"(?: \w+)? (?:about|on|regarding|concerning) (?!(?:that|this|it|them){_STOP})"
"""What names the subject of the statement that is meant, which may be an earlier one."""
_WHAT_I_SAID: Final = (
    rf"(?:that |what |anything |everything |all )?i (?:just |have |ever )*(?:said|wrote|told you)\b(?!{_NAMED})"
)
_NOT: Final = r"(?<!don't )(?<!dont )(?<!not )(?<!never )"
_ANSWERS: Final = (
    rf"(?:{_STOP}|(?=\s+(?:wait|no|nope|i|we|you|it|that|this|let|please|pls|don't|do|never|always|use|from|leave|keep|not|"
    r"the|actually|sorry|scratch|forget)\b))"
)
_NO: Final = rf"no+{_ANSWERS}"
"""A "no" that answers, instead of one before a noun."""
_WRONG: Final = (
    r"(?:(?:completely |totally |just |all |simply )?(?:wrong|nonsense|rubbish|a mistake|an error|a joke|not right|not true|"
    r"incorrect|premature|too (?:quick|early)))"
)
_DROP: Final = r"(?:ignore|forget|disregard|scrap|scratch)"
"""What is done to words. "That's wrong, undo it" is about an edit."""
_IN_MEMORY: Final = r"(?:in|to|into|as) (?:(?:your|the|my|a) )?(?:memory|memories|rule|directive|convention)"
_SORRY: Final = r"(?:oops|ups|sorry|oh|ah|argh|my bad)"
_ELSEWHERE: Final = r"(?:chat|window|project|repo|session|tab)"
_CLEAR: Final = (
    rf"(?:scratch|strike|cancel|belay|ignore|disregard) {_THAT}",
    # "Undo that" may be about an edit.
    rf"(?:undo|revoke|retract|withdraw) (?:that|this|my|the(?= last| previous| earlier)) {_RULE}(?! from\b){_ALONE}",
    rf"(?:ignore|disregard|forget) {_WHAT_I_SAID}",
    # At the beginning of a sentence, these words name an earlier statement.
    rf"(?<=, )(?:ignore|disregard|forget) (?:that|this|my) {_RULE} (?:about|on|for)",
    rf"disregard{_STOP}",
    rf"scratch {_IT}",
    rf"{_NOT}forget (?:about )?{_THAT}",
    rf"(?:never ?mind|nvm) (?:{_THAT}|{_WHAT_I_SAID})",
    rf"^(?:(?:{_SORRY}|ok|no),? )*(?:never ?mind|nvm|forget it)(?:,? (?:please|sorry|thanks))?\W*$",
    rf"(?:do not|don'?t|no need to) (?:remember|memori[sz]e|learn) (?:{_THAT}|{_IT})",
    # "Don't store it" may be about a value in a program.
    rf"(?:do not|don'?t|no need to) (?:record|save|store|keep) (?:that|this|it) {_IN_MEMORY}\b",
    rf"(?:that|this|it)(?:'s| is| was) {_WRONG},? (?:so |please |just |let'?s |sorry,? )*{_DROP} (?:it|that|this){_ALONE}",
    rf"(?:that|this|it) was {_WRONG},? (?:sorry|my bad|my fault){_STOP}",
    rf"(?:{_MINE}|(?:that|the) {_LAST} (?:instruction|order|rule|directive|convention)) (?:is|was) {_WRONG}",
    rf"i (?:did not|didn'?t) mean (?:that|this){_STOP}",
    rf"i (?:spoke too soon|misspoke){_STOP}",
    # "It opens the wrong window" and "you cloned the wrong repo" are complaints.
    rf"^(?:{_SORRY},? )*wrong (?:chat|session|terminal){_STOP}",
    rf"^(?:{_SORRY},? )+wrong {_ELSEWHERE}{_STOP}",
    rf"^wrong {_ELSEWHERE},? (?:sorry|(?:please )?(?:ignore|disregard)|never ?mind){_STOP}",
    rf"(?:^(?:{_SORRY},? )*|(?:that|this|it|message) was )(?:meant|intended) for (?:another|a different|the other) {_ELSEWHERE}{_STOP}",
    rf"(?:^|(?:just|only|i'm|i am|i was) )(?:kidding|joking){_STOP}|jk{_STOP}|^jk",
    r"i take (?:it|that) back(?! to\b)",
    r"i mixed (?:it|that|this) up",
    rf"i was wrong about (?:that|this|it){_ALONE}",
    "that was a joke",
)
"""Remarks about what the user has said."""
_OF_THE_MOMENT: Final = (
    rf"ignore me{_ALONE}",
    rf"{_NOT}forget (?:about )?{_IT}",
    rf"(?:never ?mind|nvm)(?:{_STOP}| {_IT}|{_ALONE})",
    r"on second thoughts?(?!,? (?:also|and)\b)",
    rf"let'?s not (?:do (?:that|this|it)\b)?(?: then)?,? ?after all{_STOP}",
    rf"i was wrong(?:{_STOP}|(?= (?:there|sorry|and|it|i|the)\b))",
    rf"my mistake{_STOP}",
    rf"no wait{_ANSWERS}|wait,? {_NO}|(?:actually|hold on|hmm),? {_NO}|hold on,? that{_ALONE}|actually,? nope",
    rf"actually,? (?:wait(?! for| until| till)|hold(?: on| that)?{_STOP})",
    rf"not really{_STOP}|oh wait|don'?t actually(?: do (?:{_THAT}|{_IT})|{_STOP})",
    r"let me (?:rethink|think about) (?:that|it|this)",
)
"""Remarks that may also answer the agent, or be about the work: "never mind, I found it", "oh wait, the CI needs it, too"."""
_CLEARLY: Final = re.compile(rf"\b(?:{'|'.join(_CLEAR)})(?!\w)", re.IGNORECASE)
_TAKEN_BACK: Final = re.compile(rf"\b(?:{'|'.join((*_CLEAR, *_OF_THE_MOMENT))})(?!\w)", re.IGNORECASE)
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
    return len(text.split()) <= _MOST_WORDS and bool(_TAKEN_BACK.search(text.replace("’", "'")))


def is_about_own_words(text: str) -> bool:
    """Return whether a remark that takes something back can only be about what the user has said.

    >>> is_about_own_words("Ignore that."), is_about_own_words("Oh wait, the tests need Docker.")
    (True, False)
    """
    return bool(_CLEARLY.search(text.replace("’", "'")))


def says_wrong(text: str) -> bool:
    """Return whether a sentence only says that something was wrong. It may be about the agent's answer, or precede a remark."""
    return bool(_SAYS_WRONG.match(text.replace("’", "'")))
