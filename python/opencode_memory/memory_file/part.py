"""Parses the managed part: bullets below headings, and other lines.

The parser follows the writer's intention more than the Markdown standard: a bullet continues as long as its lines are
indented, and marks override indentation. Every line that is not a bullet, a known heading or blank is returned as
foreign, so that no text is lost when the part is written again.
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
    """The parsed managed part.

    Attributes:
        bullets: Its bullets, in order, without empty bullets that have no mark.
        foreign: Other lines, in order, with the blank lines between them.
    """

    bullets: tuple[Bullet, ...]
    foreign: tuple[str, ...]


def read_part(lines: Sequence[str]) -> Part:
    """Parse the lines between the two marks of the managed part, without line ends."""
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
    """Return the end of a bullet: before the next line that is not indented, and before a bullet with a mark."""
    end = start + 1
    for at in range(start + 1, len(lines)):
        line = lines[at]
        if not line.strip():
            continue  # A blank line belongs to the bullet only if an indented line follows.
        if not _INDENTED.match(line) or (has_mark(line) and starts_bullet(line, nested=True)):
            break
        end = at + 1
    return end


def _fence_end(lines: Sequence[str], start: int) -> int | None:
    """Return the end of a fenced block; None if none begins, or if it would contain a bullet with a mark."""
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
