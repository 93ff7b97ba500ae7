"""An entry of a project brief, and the groups of entries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from opencode_memory.models import Memory

OTHERS: Final = "others"
FOUND_BEFORE: Final = "found"
GROUPS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "reminders": "Reminders that are due:",
        "reviews": "Due for review (ask the user whether it is still true):",
        "directives": "Directives:",
        "session": "Learned in this session:",
        FOUND_BEFORE: "Found for earlier messages of this session:",
        "habits": "Conventions and preferences:",
        "blockers": "Open blockers:",
        "decisions": "Newest decisions:",
        "left_open": "Left open in the last session:",
        "plans": "Plans:",
        "project": "About the project:",
        OTHERS: "Also known:",
    }
)
"""The headings of the groups, in order."""
HEADLINES: Final = "Also known; a line that begins with an id is a headline (get_memory shows it in full):"
"""The heading of ``OTHERS`` if not all of them are shown in full."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A memory of a brief.

    Attributes:
        memory: The memory.
        group: A key of ``GROUPS``.
        worth: How important it is if not everything fits.
        before: Earlier statements on its subject, newest first.
        excerpt: The part of it to show; None for the whole.
        is_aged: Whether its age is shown, because another entry speaks against it.
        later: What the user said later about it, to be quoted.
    """

    memory: Memory
    group: str
    worth: float
    before: tuple[Memory, ...] = ()
    excerpt: str | None = None
    is_aged: bool = False
    later: Memory | None = None
