"""What stands in the managed part: bullets below headings, and whatever else somebody wrote there.

Read as a person means it, not to the letter of Markdown: a bullet goes on as long as its lines are indented, and marks
decide over indentation. Every line that is neither a bullet, a heading of ours nor blank is handed back as foreign, so
that nothing is lost when the part is written anew.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from opencode_memory.memory_file.bullet import Bullet, has_mark, read_bullet, starts_bullet
from opencode_memory.memory_file.headings import Heading, heading_named, title_of

_FENCE: Final = re.compile(r" {0,3}(?P<fence>`{3,}|~{3,})(?P<rest>.*)")
_INDENTED: Final = re.compile(r"(?: {2,}|\t)")


@dataclass(frozen=True, slots=True)
class Part:
    """The managed part, read.

    Attributes:
        bullets: Its bullets, in order; empty ones without a mark are left out.
        foreign: Lines that have no place in it, in order, blank lines between them kept.
    """

    bullets: tuple[Bullet, ...]
    foreign: tuple[str, ...]


def read_part(lines: Sequence[str]) -> Part:
    """Read the lines between the two marks of the managed part, without their ends."""
    bullets: list[Bullet] = []
    foreign: list[str] = []
    heading: Heading | None = None
    follows_foreign = True
    at = 0
    while at < len(lines):
        line = lines[at]
        end, is_foreign = at + 1, False
        if (title := title_of(line)) is not None:
            heading = heading_named(title)
            is_foreign = heading is None
        elif (fence_end := _fence_end(lines, at)) is not None:
            end, is_foreign = fence_end, True
        elif starts_bullet(line, nested=has_mark(line)):
            end = _bullet_end(lines, at)
            bullet = read_bullet(lines[at:end], heading)
            if bullet.text or bullet.mark:
                bullets.append(bullet)
        else:
            is_foreign = bool(line.strip())
        if is_foreign:
            foreign += [*([] if follows_foreign or not foreign else [""]), *lines[at:end]]
        follows_foreign = is_foreign
        at = end
    return Part(tuple(bullets), tuple(foreign))


def _bullet_end(lines: Sequence[str], start: int) -> int:
    """Return where a bullet ends: before what is not indented, and before another bullet with a mark."""
    end = start + 1
    for at in range(start + 1, len(lines)):
        line = lines[at]
        if not line.strip():
            continue  # Belongs to the bullet only when an indented line follows.
        if not _INDENTED.match(line) or (has_mark(line) and starts_bullet(line, nested=True)):
            break
        end = at + 1
    return end


def _fence_end(lines: Sequence[str], start: int) -> int | None:
    """Return where a fenced block ends; None when none begins, or when it would swallow a bullet of ours."""
    opening = _FENCE.fullmatch(lines[start])
    if opening is None:
        return None
    for at in range(start + 1, len(lines)):
        if has_mark(lines[at]):
            return None
        closing = _FENCE.fullmatch(lines[at])
        if closing is not None and closing["fence"].startswith(opening["fence"]) and not closing["rest"].strip():
            return at + 1
    return None
