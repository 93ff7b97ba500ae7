"""Places on a forge: the project that a text belongs to, and whether a path names a host, a group or a project.

The rule that keeps names stable: a path is complete when it begins with a host and has enough parts after it, and what
is completed here is complete from then on.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_HOST: Final = re.compile(r"localhost|(?:[a-z0-9_-]+\.)+(?:[a-z]{2,}|xn--[a-z0-9-]+)|[0-9]{1,3}(?:\.[0-9]{1,3}){3}")
_PART: Final = re.compile(r"\.?[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_-])?")
_LETTER: Final = re.compile(r"[a-z]")
_LONGEST: Final = 512

PROJECT_PARTS: Final = 2
"""An owner or group, and the project."""


@dataclass(frozen=True, slots=True)
class Home:
    """The location of a text's own project, in lower case.

    Attributes:
        host: ``gitlab.com``.
        path: ``group/project``, of at least two parts.
    """

    host: str
    path: str

    @property
    def project(self) -> str:
        """``gitlab.com/group/project``."""
        return f"{self.host}/{self.path}"

    @property
    def group(self) -> str:
        """``gitlab.com/group``, which epics belong to."""
        return self.project.rpartition("/")[0]


def home_of(project: str | None) -> Home | None:
    """Read a project's name as ``host/path``; None for a name of any other form.

    >>> home_of("gitlab.com/Acme/Shop")
    Home(host='gitlab.com', path='acme/shop')
    """
    if project is None or len(project) > _LONGEST:
        return None
    host, *parts = project.strip().lower().split("/")
    # An alias of a host in an ssh configuration has no dot, so the host is not required to look like one.
    if len(parts) < PROJECT_PARTS or not _PART.fullmatch(host) or not are_parts(parts):
        return None
    return Home(host, "/".join(parts))


def is_host(text: str) -> bool:
    """Whether a text in lower case is a host by its looks: ``gitlab.com``, ``localhost``, ``10.0.0.1``."""
    return len(text) <= _LONGEST and _HOST.fullmatch(text) is not None


def are_parts(parts: Sequence[str]) -> bool:
    """Whether parts in lower case, without a host, make the path of a group or a project."""
    return all(map(_PART.fullmatch, parts)) and any(map(_LETTER.search, parts))


def complete(path: str, home: Home | None, *, least: int) -> str | None:
    """Put the host before a path that has none.

    Args:
        path: As written, with or without a host.
        home: Where it was written.
        least: Parts that the path must have beside the host.

    Returns:
        ``host/path`` in lower case, ``path`` when no host is known, None when it is no path of a forge.
    """
    if len(path) > _LONGEST:
        return None
    first, *rest = parts = path.lower().split("/")
    hosted = is_host(first) or (home is not None and first == home.host)
    if hosted and len(rest) >= least:
        return "/".join(parts) if are_parts(rest) else None
    # `example.com/page#12` is a place on a page, not an issue.
    if is_host(first) or len(parts) < least or not are_parts(parts):
        return None
    return "/".join(parts) if home is None else "/".join((home.host, *parts))
