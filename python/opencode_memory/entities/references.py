"""References by number: ``!12``, ``#12``, ``&12``, alone or after a path, and ``path@hash``.

A number after one of these signs is a reference only if its surroundings allow no other meaning: a colour, an anchor of
a page, a file descriptor, an HTML entity, a step of a list.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from opencode_memory.entities.around import before, is_word, words_before
from opencode_memory.entities.colours import is_colour
from opencode_memory.entities.files import is_anchored
from opencode_memory.entities.forge import PROJECT_PARTS, Home, complete
from opencode_memory.entities.vocabulary import COUNTED

_MENTION: Final = re.compile(r"[!#&][1-9][0-9]{0,9}(?![0-9])|@[0-9a-fA-F]{7,40}(?![0-9a-fA-F])")
_NAME: Final = re.compile(r"(?P<path>[A-Za-z0-9_./-]*)(?P<sign>[!#&@])(?P<what>[0-9a-fA-F]+)")
_NUMBER: Final = re.compile(r"[1-9][0-9]{0,9}")
_HASH: Final = re.compile(r"[0-9a-f]{7,40}")
_PATH_BACKWARDS: Final = re.compile(r"[A-Za-z0-9_./-]*")
_LONGEST_PATH: Final = 300
_RANGE: Final = re.compile(r"[0-9]{1,10}[-/]")
_GROUP: Final = re.compile(r"_*[A-Za-z][A-Za-z0-9_.-]+[A-Za-z_-]")
_NEVER_BEFORE: Final = frozenset("!#&@$%\\<=?)]}^`")
_FORGE: Final = re.compile(r"git|code|forge")

# Signs of a shell: `command &1`, `2>&1`.
_DESCRIPTORS: Final = frozenset({"&1", "&2"})
_EPICS: Final = frozenset({"epic", "epics"})


def find(text: str, home: Home | None) -> Iterator[tuple[int, str]]:
    """Find the references of a text.

    Args:
        text: Prose, without addresses and code.
        home: The project of the text.
    """
    for match in _MENTION.finditer(text):
        path = _path_before(text, match.start())
        sign, what = match[0][0], match[0][1:]
        wrapped = text.startswith("_", match.end()) and not is_word(text[match.end() + 1 : match.end() + 2])
        if path is None or not (wrapped or _may_end(text, match.end(), sign)):
            continue
        start = match.start() - len(path)
        if wrapped:
            # Emphasis: _!12_
            path = path.lstrip("_")
        if path and not _RANGE.fullmatch(path):
            named = _is_place(text, start, path, match[0], home)
        else:
            named = sign != "@" and _stands_alone(text, start, path, match[0])
            path = ""
        if named and (name := parse(f"{path}{sign}{what}", home)):
            yield start, name


def parse(reference: str, home: Home | None) -> str | None:
    """Return the entity of one reference; None for other texts."""
    match = _NAME.fullmatch(reference)
    if match is None:
        return None
    path, sign, what = match["path"], match["sign"], match["what"].lower()
    if not (_HASH if sign == "@" else _NUMBER).fullmatch(what):
        return None
    if path:
        place = complete(path, home, least=1 if sign == "&" else PROJECT_PARTS)
        return None if place is None else f"{place}{sign}{what}"
    if sign == "@":
        return None
    return f"{'' if home is None else home.group if sign == '&' else home.project}{sign}{what}"


def shorter(name: str, home: Home) -> Iterator[str]:
    """Yield shorter ways to write a name, the shortest first."""
    match = _NAME.fullmatch(name)
    if match is None or not match["path"].startswith(f"{home.host}/"):
        return
    place, thing = match["path"], f"{match['sign']}{match['what']}"
    if match["sign"] != "@" and place == (home.group if match["sign"] == "&" else home.project):
        yield thing
    yield f"{place.removeprefix(f'{home.host}/')}{thing}"


def _path_before(text: str, position: int) -> str | None:
    """Return a possible path before a position, which may be empty; None if it is longer than any path."""
    backwards = text[max(0, position - _LONGEST_PATH) : position][::-1]
    match = _PATH_BACKWARDS.match(backwards)
    length = match.end() if match else 0
    return text[position - length : position] if length < _LONGEST_PATH else None


def _may_end(text: str, position: int, sign: str) -> bool:
    following, beyond = text[position : position + 1], text[position + 1 : position + 2]
    if following == "-":
        return not beyond.isdigit()
    if following in {".", "/"}:
        return not is_word(beyond)
    return not is_word(following) and following not in {"@", "%", "="} and (sign, following) != ("&", ";")


def _is_place(text: str, start: int, path: str, thing: str, home: Home | None) -> bool:
    """Whether a path before a sign and a number, or a hash, belongs to them."""
    sign = thing[0]
    # ~/folder/page#12
    if _is_touched(text, start) or text[start - 1 : start] == "~":
        return False
    first, slash, _ = path.partition("/")
    if not slash:
        # Of the many words that an ampersand may follow, those that look like a group: not Q1&2.
        return sign == "&" and _GROUP.fullmatch(path) is not None
    if sign == "#":
        # The anchor of a document (docs/page.md#12) or of a page (docs.python.org/3/library#12).
        host = first.lower()
        elsewhere = "." in host and not (home is not None and host == home.host)
        return not is_anchored(path) and not (elsewhere and not _FORGE.search(host))
    return sign != "@" or not (thing[1:].isdigit() or thing[1:].isalpha())


def _stands_alone(text: str, start: int, path: str, thing: str) -> bool:
    """Whether a sign and a number refer to something without a path before them."""
    preceding = text[start - 1 : start]
    if path:
        # The end of !12-!14 or !12/!14.
        return preceding in {"!", "#", "&"}
    if _is_touched(text, start):
        return False
    nearest = words_before(text, start, 1)
    if thing[0] == "&":
        return preceding != ">" and (thing not in _DESCRIPTORS or not _EPICS.isdisjoint(nearest))
    if thing[0] == "#":
        counted = not COUNTED.isdisjoint(nearest) and before(text, start).rstrip().lower().endswith(nearest)
        return not counted and not is_colour(text, start, thing[1:])
    return True


def _is_touched(text: str, start: int) -> bool:
    """Return whether the text before a place makes it part of another construct, such as a link's target."""
    preceding = text[start - 1 : start]
    return is_word(preceding) or preceding in _NEVER_BEFORE or text[max(0, start - 2) : start] == "]("
