"""Where a memory comes from: file, line and headings of a note, or session and date of a statement."""

from __future__ import annotations

import re
from typing import Final

from opencode_memory.models import Memory
from opencode_memory.text.display import one_line

_SEPARATOR: Final = " > "
_COPY: Final = re.compile(r"~\d+$")
_NAME_BYTES: Final = 120
_HEADINGS_BYTES: Final = 200


def find_headings(memory: Memory) -> tuple[str, ...]:
    """Return the headings above a section of a note, outermost first, from its topic; empty for other memories."""
    if memory.topic is None or memory.source.file is None:
        return ()
    file, _, path = memory.topic.partition("#")
    is_note = file.endswith(f":{memory.source.file}")
    # A number tells equal headings of one file apart.
    path = _COPY.sub("", path)
    return tuple(heading for heading in path.split("/") if heading) if is_note else ()


def describe_source(memory: Memory) -> str:
    """Say on one line where a memory comes from; empty if it was stored directly. The text is not escaped.

    Examples: ``docs/deploy.md:12 > Deploying > Rollback``, ``session ses_1, 2026-09-21``.
    """
    source = memory.source
    if source.file is not None:
        place = one_line(source.file, _NAME_BYTES) + (f":{source.line}" if source.line is not None else "")
        headings = one_line(_SEPARATOR.join(find_headings(memory)), _HEADINGS_BYTES)
        return place + (f"{_SEPARATOR}{headings}" if headings else "")
    session = memory.session or source.session
    if session is None:
        return ""
    return f"session {one_line(session, _NAME_BYTES)}, {memory.time.astimezone():%Y-%m-%d}"
