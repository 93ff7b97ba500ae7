"""Whether a message is English, the only language that the gate knows."""

from __future__ import annotations

import re
from typing import Final

_WORD: Final = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
COMMON_WORDS: Final = frozenset(
    _WORD.findall(
        "the a an to of and is in it its you your that for on with this be are we our i my not do does don't dont should "
        "can have has as but if use when what all from by at or so no now please always never only before after each every any "
        "until without then them they new make run never must will would he she his her which who how there here just more "
        "don doesn shouldn isn let want need keep put add write test tests code"
    )
)
"""The commonest words of English messages, in lower case."""
_OTHERS: Final = frozenset(
    _WORD.findall(
        "le les des une est pas je nous vous que qui dans pour avec sur cette c'est il faut tu mais où et du au "
        "gli che non sono per della nel questo questa lo con dei dal el los las por para como esta esto está pero "
        "os não um uma com isso você mas der die das und ist nicht ich wir ein eine zu mit auf den dem het een niet voor "
        "jest nie się na że jak je se že tak pro ale och det att inte som är"
    )
)
_FOREIGN_LETTERS: Final = 0.08
_MOST_READ: Final = 400
"""Words that are looked at."""


def is_english(text: str) -> bool:
    """Return whether a text is English, judged by its letters and its commonest words."""
    letters = foreign = english = others = 0
    for word in _WORD.findall(text)[:_MOST_READ]:
        plain = word.lower().replace("’", "'")
        letters += len(plain)
        foreign += 0 if plain.isascii() else sum(not letter.isascii() for letter in plain)
        english += plain in COMMON_WORDS
        others += plain in _OTHERS
    return english > others and foreign <= _FOREIGN_LETTERS * letters
