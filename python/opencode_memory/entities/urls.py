"""Finds addresses in a text and the entities that they lead to, on GitLab, GitHub, and forges built like them.

Only the shape of an address matters, so a forge on any host is recognised. Ports, users, queries and fragments are
dropped, as they are from the name of a project.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from opencode_memory.entities.forge import PROJECT_PARTS, Home, are_parts, is_host

_SCHEME_END: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*$")
_SCHEME_CHARS: Final = 16
_REST: Final = re.compile(r"(?:[^\s<>\"`|\\\x00-\x1f\x7f-\U0010ffff]|[^\W\x00-\x7f])+")
_BRACKETS: Final = re.compile(r"[()\[\]{}]")
_OPENING: Final = {")": "(", "]": "[", "}": "{"}
_TRAILING: Final = ".,;:!?*_~'"

_ADDRESS: Final = re.compile(
    r"https?://(?:[^/@?#]*@)?(?P<host>[^/:?#@]+)(?::[0-9]*)?/(?P<path>[^?#]*)(?:[?#].*)?", re.IGNORECASE | re.DOTALL
)
_NUMBER: Final = re.compile(r"[1-9][0-9]{0,9}(?![0-9A-Za-z_-])")
_HASH: Final = re.compile(r"[0-9a-fA-F]{7,40}(?![0-9A-Za-z_-])")
_SIGILS: Final = {
    "merge_requests": "!",
    "issues": "#",
    "work_items": "#",
    "pull": "#",
    "pulls": "#",
    "commit": "@",
    "commits": "@",
}
_SIGILS_OF_GROUPS: Final = {"epics": "&", "work_items": "&"}
# Below these lie files and texts of users, where a folder may be called `issues`.
_CONTENT: Final = frozenset({"blob", "tree", "raw", "blame", "edit", "src", "wiki", "wikis", "releases", "compare"})
# GitLab nests groups 20 deep.
_MOST_PARTS: Final = 32
_NO_OWNERS: Final = frozenset({"api", "search", "users", "orgs", "groups", "explore", "dashboard", "help"})


def locate(text: str) -> Iterator[tuple[int, str]]:
    """Find the addresses of a text, of any scheme, without the punctuation that follows them."""
    position = end = 0
    while (colon := text.find("://", position)) >= 0:
        scheme = _SCHEME_END.search(text[max(position, colon - _SCHEME_CHARS) : colon])
        position = colon + 3
        if scheme is None:
            continue
        if end < position:
            # Once for all the addresses that touch each other, or a row of them would be read again and again.
            rest = _REST.match(text, position)
            end = rest.end() if rest else position
        if end > position:
            start = colon - len(scheme[0])
            url = _without_punctuation(text, start, end)
            position = max(position, start + len(url))
            yield start, url


def find(addresses: Iterable[tuple[int, str]], home: Home | None) -> Iterator[tuple[int, str]]:
    """Return the entities that the addresses of a text lead to."""
    for place, url in addresses:
        if name := parse(url, home):
            yield place, name


def parse(url: str, home: Home | None) -> str | None:
    """Return the entity that an address leads to; None if it leads to none."""
    match = _ADDRESS.fullmatch(url)
    if match is None:
        return None
    host = match["host"].lower().rstrip(".").removeprefix("www.")
    # A host without a dot cannot be told from a group later, unless it is our own.
    if host.startswith("api.") or not (is_host(host) or (home is not None and host == home.host)):
        return None
    parts = [part for part in match["path"].split("/", _MOST_PARTS) if part]
    return _of_group(host, parts) if parts[:1] == ["groups"] else _of_project(host, parts)


def _of_project(host: str, parts: Sequence[str]) -> str | None:
    if "-" in parts:
        dash = parts.index("-")
        return _name_thing(host, parts[:dash], parts[dash + 1 :], _SIGILS, PROJECT_PARTS)
    for number, part in enumerate(parts[PROJECT_PARTS:], PROJECT_PARTS):
        if part in _CONTENT:
            return None
        if name := _name_thing(host, parts[:number], parts[number:], _SIGILS, PROJECT_PARTS):
            return name
        if host == "github.com":
            return None
    return None


def _of_group(host: str, parts: Sequence[str]) -> str | None:
    path = [part for part in parts[1:] if part != "-"]
    for number in range(1, len(path) - 1):
        if name := _name_thing(host, path[:number], path[number:], _SIGILS_OF_GROUPS, 1):
            return name
    return None


def _name_thing(
    host: str, place: Sequence[str], thing: Sequence[str], sigils: dict[str, str], least: int
) -> str | None:
    """Name a thing at a place, given the parts of its address, such as ``issues`` and ``12``."""
    sigil = sigils.get(thing[0]) if len(thing) > 1 else None
    if sigil is None:
        return None
    _, which, *more = thing
    if which == "incident" and more:
        which = more[0]
    found = (_HASH if sigil == "@" else _NUMBER).match(which)
    place = [part.lower() for part in place]
    if found is None or len(place) < least or place[0] in _NO_OWNERS or not are_parts(place):
        return None
    return f"{host}/{'/'.join(place)}{sigil}{found[0].lower()}"


def _without_punctuation(text: str, start: int, end: int) -> str:
    """Drop the end of a sentence, and a bracket that was opened before the address with all that follows it."""
    opened: list[str] = []
    for bracket in _BRACKETS.finditer(text, start, end):
        if bracket[0] not in _OPENING:
            opened.append(bracket[0])
        elif not opened or opened.pop() != _OPENING[bracket[0]]:
            end = bracket.start()
            break
    return text[start:end].rstrip(_TRAILING)
