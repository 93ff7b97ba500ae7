"""Recognises files by their path or name.

The disk is not read, so a file is recognised by its form: its name ends like files of sources, documents or settings,
or is known, such as ``Makefile``. A name that is also a site or a product (``docs.rs``, ``Node.js``) is not a file.
Paths are kept as written but for ``./``, ``x/..`` and the line after them; absolute paths are kept entirely.
``work_trees`` shortens those below the work trees of a client.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from heapq import merge
from typing import Final

from opencode_memory.entities.vocabulary import FILES, NAMED_LIKE_PROJECTS, SOURCES, WITH_FOLDER

_RUN: Final = re.compile(r"(?:[^\W\u2e80-\U0010ffff]|[./+~@$%-])+")
_WHOLE: Final = re.compile(
    r"(?P<path>(?:[\w./+~@-]|\([\w.-]+\)|\[+[\w.-]+\]+)+)(?::[0-9]+(?:[:-][0-9]+)*|::\S+|#L?[0-9]+(?:-L?[0-9]+)?)?"
)
_BRACKET: Final = re.compile(r"[(\[]")
_LONGEST: Final = 512
# Characters that may surround a name without a dot and a slash.
_AROUND: Final = "_@-~."
_NEVER_BEFORE: Final = frozenset("\\#&?")
# `**/app.py`, `${ROOT}/app.py`, `C:/app.py` and `…/app.py` go on to the left.
_NEVER_BEFORE_ROOT: Final = frozenset("*}])>:…")
# Variables: $HOME/app.py, %TEMP%/app.py.
_VARIABLES: Final = frozenset("$%")

_VARIANT: Final = re.compile(r"(?:\.env|Dockerfile|Containerfile)\.[A-Za-z][A-Za-z0-9_-]*")
_NO_FILE: Final = re.compile(
    r"""(?:.*\.)?(?:actix|blessed|diesel|docs|rocket|rustup|serde|tokio)\.rs|(?:.*\.)?(?:astral|brew|bun|helm)\.sh
    |(?:alpine|angular|backbone|chart|d3|discord|electron|ember|express|knockout|moment|nest|next|nextauth|node|nuxt|p5
    |react|solid|stripe|tensorflow|three|vue)\.js|(?:llama|whisper)\.cpp|\.(?:d|min|module|spec|stories|test)\.\w+""",
    re.IGNORECASE | re.VERBOSE,
)
_DOMAIN: Final = re.compile(
    r"www\..*|[^.].*\.(?:ai|be|ch|co|com|de|dev|edu|es|eu|fr|gov|info|io|it|net|nl|org|page|rs|uk|us)", re.IGNORECASE
)


def find(text: str, quoted: Mapping[int, str]) -> Iterator[tuple[int, str]]:
    """Find the files of a text.

    Args:
        text: Without addresses and fenced code.
        quoted: Code in lines, by place; only there a path may have brackets.
    """
    bracketed = ((place, code) for place, code in quoted.items() if _BRACKET.search(code))
    whole = ((place, name) for place, code in bracketed if (name := parse(code)))
    yield from merge(_find_unquoted(text), whole)


def parse(reference: str) -> str | None:
    """Return the file of one reference, possibly with a line behind it; None for other texts."""
    match = _WHOLE.fullmatch(reference)
    return _name(match["path"]) if match else None


def is_anchored(path: str) -> bool:
    """Return whether ``#12`` after a path is a position in a file, not an issue of a project (``vercel/next.js``)."""
    *folders, name = path.split("/")
    ending = name.rpartition(".")[2].lower()
    return ending in WITH_FOLDER and "." in name and not (len(folders) == 1 and ending in NAMED_LIKE_PROJECTS)


def _find_unquoted(text: str) -> Iterator[tuple[int, str]]:
    for match in _RUN.finditer(text):
        run = match[0]
        if "." not in run and "/" not in run and run.strip(_AROUND) not in FILES:
            # Nearly every word of prose; the rest of the way would be the same for each of them.
            continue
        if len(run) > _LONGEST or not _VARIABLES.isdisjoint(run):
            continue
        path = run.rstrip(".-~")
        if path.startswith("_") and path.endswith("_"):
            # Emphasis; the underscores of __init__.py are not at its end.
            path = path.strip("_")
        if not _belongs_elsewhere(text, match.start(), match.end(), path) and (name := _name(path)) is not None:
            yield match.start(), name


def _belongs_elsewhere(text: str, start: int, end: int, path: str) -> bool:
    """Return whether the characters around a path make it a part of another construct."""
    before, after, beyond = text[start - 1 : start], text[end : end + 1], text[end + 1 : end + 2]
    if before in _NEVER_BEFORE or (path.startswith("/") and before in _NEVER_BEFORE_ROOT):
        return True
    if before == ":" and path[:1].isdigit():
        # What precedes is a host, and this begins with its port.
        return True
    if after == "(":
        # A bare name is called: the `json` of a response.
        return "/" not in path
    if after in {"#", "!"} and beyond.isdigit():
        return not is_anchored(path)
    return after == "\\"


def _name(path: str) -> str | None:
    if len(path) > _LONGEST:
        return None
    # OpenCode mentions files with an @.
    path = _plain(path.removeprefix("@"))
    folder, slash, name = path.rpartition("/")
    first = path.partition("/")[0]
    if path.startswith(("@", "-", "+", "//")) or (path.startswith("~") and first != "~"):
        return None
    if (folder and _DOMAIN.fullmatch(first)) or (not slash and "@" in path):
        return None
    if _NO_FILE.fullmatch(name) and (not folder or _NO_FILE.fullmatch(first)):
        return None
    return path if _is_file(name, WITH_FOLDER if slash else SOURCES) else None


def _is_file(name: str, endings: frozenset[str]) -> bool:
    """Whether the last part of a path is a file by its looks."""
    if name in FILES or _VARIANT.fullmatch(name):
        return True
    stem, _, ending = name.rpartition(".")
    if ending.lower() not in endings:
        return False
    # At 5 p.m: a letter alone is no ending of a letter alone.
    return any(map(str.isalnum, stem)) and (len(ending) > 1 or len(stem) > 1 or endings is WITH_FOLDER)


def _plain(path: str) -> str:
    """Drop what does not change which file a relative path means."""
    if path.startswith("/"):
        return path
    parts: list[str] = []
    for part in path.split("/"):
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        elif part not in {"", "."}:
            parts.append(part)
    return "/".join(parts)
