"""Categories of sections whose note does not name one.

Only unambiguous names are used: a heading ``Decisions``, a folder ``adr``, a file ``CONVENTIONS.md``. Directives are
never guessed, because agents would follow them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Final

from opencode_memory.models import Category

DEFAULT: Final = Category.CONTEXT

_NAMES: Final = {
    Category.DECISION: "decision decisions adr adrs decision-record decision-records architecture-decisions",
    Category.CONVENTION: "convention conventions coding-conventions styleguide style-guide coding-style",
    Category.PREFERENCE: "preference preferences",
    Category.PROCEDURE: "procedure procedures runbook runbooks howto howtos how-to how-tos playbook playbooks",
    Category.SOLUTION: "solution solutions troubleshooting",
    Category.BLOCKER: "blocker blockers",
    Category.PLAN: "plan plans roadmap",
    Category.IDEA: "idea ideas",
}
_BY_NAME: Final = {name: category for category, names in _NAMES.items() for name in names.split()}


def guess_category(file: PurePosixPath, headings: Sequence[str]) -> Category:
    """Return the category of the nearest unambiguous name: headings from the innermost, then file, then folders.

    Args:
        file: The note's path within its project.
        headings: Titles from the outermost to the section's own.
    """
    names = [*reversed(headings), file.stem, *reversed(file.parent.parts)]
    for name in names:
        plain = re.sub(r"[\W_]+", "-", name.lower()).strip("-")
        if plain in _BY_NAME:
            return _BY_NAME[plain]
        if plain.startswith("how-to-"):
            return Category.PROCEDURE
    return DEFAULT
