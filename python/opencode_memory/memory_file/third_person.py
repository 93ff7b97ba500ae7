"""Puts a statement of the user about themselves into the third person, as a page of memories is read by others.

Only statements whose form is known are changed: "I", perhaps an adverb, and a verb of a list. A text that says "I" or
"me" again, or that quotes or contains code, stays as it is. Only the display changes, never the memory.
"""

from __future__ import annotations

import re
from typing import Final

_ADVERB: Final = r"(?P<adverb>(?:always|never|usually|often|also|only|really|generally|mostly|rarely|strongly)\s+)?"
_VERB: Final = (
    r"(?P<verb>prefer|use|like|love|hate|dislike|want|need|work|live|think|believe|keep|avoid|expect|maintain|own|"
    r"write|read|run|test|commit|deploy|develop|review|speak|start|trust|depend|rely|format|name|switch|lead|manage)"
)
_STARTS: Final = re.compile(rf"I\s+{_ADVERB}{_VERB}\b(?!['’])")  # noqa: RUF001  a typographic apostrophe
_OTHERS: Final = (
    (re.compile(r"I(?:\s+am|['’]m)\b"), "The user is"),  # noqa: RUF001  a typographic apostrophe
    (re.compile(r"I(?:\s+have|['’]ve)\b"), "The user has"),  # noqa: RUF001  a typographic apostrophe
    (re.compile(r"I\s+(?:do\s+not|don['’]t)\b"), "The user does not"),  # noqa: RUF001  a typographic apostrophe
    (re.compile(r"I\s+(?P<modal>can|cannot|will|would|should|must)\b"), r"The user \g<modal>"),
)
_OWN: Final = re.compile(r"\bmy\b")
_LEFT: Final = re.compile(r"\b(?:I|me|mine|myself|My)\b|[`\"“”«»]")


def third_person(text: str) -> str:
    """Put a statement into the third person.

    >>> third_person("I prefer pnpm, and my tests stand in tests/.")
    'The user prefers pnpm, and their tests stand in tests/.'
    >>> third_person("I never use tabs"), third_person("I'm in Berlin"), third_person("Use tabs")
    ('The user never uses tabs', 'The user is in Berlin', 'Use tabs')
    >>> third_person("I prefer what I know")
    'I prefer what I know'
    """
    match = _STARTS.match(text)
    if match is not None:
        start, end = f"The user {match['adverb'] or ''}{match['verb']}s", match.end()
        start = start.removesuffix("relys") + "relies" if match["verb"] == "rely" else start
    else:
        found = ((pattern.match(text), shown) for pattern, shown in _OTHERS)
        match, shown = next(((match, shown) for match, shown in found if match is not None), (None, ""))
        if match is None:
            return text
        start, end = match.expand(shown), match.end()
    rest = text[end:]
    return text if _LEFT.search(rest) else start + _OWN.sub("their", rest)
