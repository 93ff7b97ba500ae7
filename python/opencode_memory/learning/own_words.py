"""Own words: finds the sentence of the user that an agent's memory repeats, so that the memory counts as theirs.

All words of the memory must stand in that sentence, in the same order, and no negation between them may be missing.
Only small words (articles, pronouns, "please", "should") and the name of the project may be added or left out. So an
agent can complete and shorten a sentence, but cannot add an instruction to it or turn it round.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

from opencode_memory.learning.extraction.gate.judge import judge
from opencode_memory.learning.extraction.gate.language import is_english
from opencode_memory.learning.extraction.gate.verdict import Verdict
from opencode_memory.learning.extraction.injected_text import hash_triples
from opencode_memory.learning.extraction.provenance import iterate_typed
from opencode_memory.learning.extraction.sentences import split_sentences

_WORD: Final = re.compile(r"[\w@#+-]+(?:['./:-][\w@#+-]+)*|[:;.!?]")
_BREAK: Final = re.compile(r"[:;.!?]")
_NOT: Final = "not"
_NEGATION: Final = re.compile(r"not|never|no|without|nor|avoid|stop|cannot|dont|\w+n't")
_SMALL: Final = re.compile(
    r"an?|the|this|that|these|those|there|here|its?|is|are|be|was|were|been|i|me|my|mine|we|us|ours?|you|yours?|he|she"
    r"|they|them|their|one|do|does|did|please|pls|ok|okay|yes|hey|hi|so|and|also|then|just|now|well|actually|to|of|for"
    r"|in|on|at|as|with|should|shall|will|would|could|can|must|needs?|wants?|like|let|let's|user(?:'s)?|team"
    r"|project(?:'s)?|repo|repository|codebase"
)
"""Words that may be added or left out."""
_NAME: Final = r"[\w@#+./-]+(?: [\w@#+./-]+){0,2}?"
_SAME: Final = (
    (re.compile(r"^(?:no|nope|stop|wrong)[,.!:]\s*", re.IGNORECASE), ""),
    (re.compile(r"\b(?:instead of|rather than)(?: using)?\b", re.IGNORECASE), "not"),
    (
        re.compile(
            rf"\b(?:don't|do not|stop|not) us(?:e|ing) ({_NAME})(?:[,;.\u2013\u2014-]+| but)\s*(?:but |please )?"
            rf"(?:(always) )?use ({_NAME})(?=$|[\s,;.!])",
            re.IGNORECASE,
        ),
        r"\2 use \3 not \1",
    ),
)
"""Ways to say the same, each with its usual form: "don't use npm, use pnpm" is "use pnpm, not npm"."""
_BEFORE: Final = ("not", "never", "no", "don't", "dont", "do not", "avoid", "stop", "without")
_LEAST_WORDS: Final = 2
_MOST_SENTENCES: Final = 2
"""A memory may join so many sentences of the user that follow each other."""
_LONGEST: Final = 1_200


def find_own_sentence(
    content: str, messages: Sequence[str], *, foreign: Collection[int] = (), names: Iterable[str] = ()
) -> str | None:
    """Return the user's sentence whose words a text repeats; None if they did not type these words.

    Args:
        content: The text that an agent wants to store.
        messages: What the user typed in the session, oldest first.
        foreign: Hashes of what tools have returned; sentences that stand there are not the user's.
        names: Names that the text may add, for example that of the project.
    """
    own = {part for name in names for part in re.split(r"\W+", name.lower())}
    wanted = [
        word
        for word in _split_words(content)
        if word not in own and not _SMALL.fullmatch(word) and not _BREAK.fullmatch(word)
    ]
    if len(wanted) < _LEAST_WORDS or len(content) > _LONGEST:
        return None
    for message in reversed(messages):
        sentences = list(iterate_typed(message, foreign))
        for size in range(1, _MOST_SENTENCES + 1):
            for start in range(len(sentences) - size + 1):
                sentence = " ".join(sentences[start : start + size])
                if _repeats(wanted, _split_words(sentence)):
                    return sentence
    return None


def is_lasting(sentence: str, messages: Iterable[str]) -> bool:
    """Return whether a sentence holds beyond the work at hand: by its words, or by an order to remember it.

    The rules know English only. A sentence in another language counts as lasting.

    Args:
        sentence: The sentence.
        messages: The messages with it.
    """
    if not is_english(sentence) or any(_judge(sentence)):
        return True
    return any(verdict is not None and verdict.refers_back for message in messages for verdict in _judge(message))


def _judge(text: str) -> Iterator[Verdict | None]:
    return (judge(sentence.text, sentence.core, "") for sentence in split_sentences(text))


def has_typed(content: str, typed: Collection[int]) -> bool:
    """Return whether a text stands word for word in what the user typed, of which only hashes are left."""
    known = frozenset(typed)
    own = hash_triples(content)
    if len(_WORD.findall(content)) <= _LEAST_WORDS or not known or not all(triple in known for triple in own):
        return False
    # "use npm here" also stands in "never use npm here".
    first = " ".join(content.split()[:2])
    return not any(triple in known for negation in _BEFORE for triple in hash_triples(f"{negation} {first}"))


def _repeats(wanted: Sequence[str], typed: Sequence[str]) -> bool:
    """Return whether all wanted words stand in a sentence in order, with all negations up to the last of them."""
    place = 0
    is_negated = False
    for word in typed:
        if place == len(wanted):
            return True
        if word == wanted[place]:
            if is_negated:
                return False
            place += 1
        elif _NEGATION.fullmatch(word):
            is_negated = True
        elif place == 0 and _BREAK.fullmatch(word):
            is_negated = False  # "Don't mix them: use tabs" does not forbid tabs.
    return place == len(wanted)


def _split_words(text: str) -> list[str]:
    """Split a text into words without endings; "don't" and "do not" are the same word."""
    text = text.replace("\u2019", "'")
    for form, usual in _SAME:
        text = form.sub(usual, text)
    return [_stem(word.lower()) for word in _WORD.findall(text)]


def _stem(word: str) -> str:
    if word.endswith("n't") or word in {"dont", "cannot"}:
        return _NOT
    if not word.isalpha() or _SMALL.fullmatch(word) or _NEGATION.fullmatch(word):
        return word
    for ending in ("ing", "ed", "es", "s", "e"):
        stem = word.removesuffix(ending)
        if stem != word and len(stem) > 2:  # noqa: PLR2004  "use" and "bed" keep their letters
            return stem[:-1] if ending in {"ing", "ed"} and stem[-1] == stem[-2] else stem
    return word
