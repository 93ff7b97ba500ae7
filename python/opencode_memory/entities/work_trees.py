"""Rewrites paths below a work tree as paths relative to it, so that ``/work/app/x.py`` and ``x.py`` are one file."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from typing import Final
from urllib.parse import unquote

_SCHEME: Final = "file:"


def relative(reference: str, work_trees: Iterable[str]) -> str:
    """Return the path of a file relative to the innermost work tree that contains it.

    References to files outside of the work trees, and all other references, are returned unchanged. The disk is not
    read.

    >>> relative("/work/app/src/./x.py:3", ["/work/app"])
    'src/x.py:3'
    >>> relative("file:///work/app/my%20notes.md", ["/work/app"])
    'my notes.md'
    >>> relative("/work/app/../other/x.py", ["/work/app"])
    '/work/app/../other/x.py'
    """
    path = _absolute_path(reference)
    if path is None:
        return reference
    whole = posixpath.normpath(path)
    for tree in sorted(work_trees, key=len, reverse=True):
        if tree != "/" and whole.startswith(f"{tree}/"):
            return whole.removeprefix(f"{tree}/")
    return reference


def is_file_address(reference: str) -> bool:
    """Return whether a reference is an address of a local file."""
    return reference[: len(_SCHEME)].lower() == _SCHEME


def _absolute_path(reference: str) -> str | None:
    if is_file_address(reference):
        rest = reference[len(_SCHEME) :]
        if rest.startswith("//"):
            rest = rest[2:].removeprefix("localhost")
        path = unquote(rest)
    else:
        # OpenCode mentions files with an @.
        path = reference.removeprefix("@")
    return path if path.startswith("/") and not path.startswith("//") else None
