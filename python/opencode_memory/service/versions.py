"""Compares versions of opencode-memory: of a running server, of a plugin, and of this program."""

from __future__ import annotations

import re

import opencode_memory


def is_older(version: str | None) -> bool:
    """Return whether a version is older than the running program; False if it is not a release number."""
    found, own = _parse(version or ""), _parse(opencode_memory.__version__)
    return found is not None and own is not None and found < own


def _parse(version: str) -> tuple[int, ...] | None:
    return tuple(map(int, version.split("."))) if re.fullmatch(r"\d{1,6}(\.\d{1,6}){1,3}", version) else None
