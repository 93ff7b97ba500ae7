"""What an earlier loop of the same plan left: its reports, and the findings that are open on its branch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from opencode_memory.errors import NotFoundError
from opencode_memory.loops.model import Loop, LoopState
from opencode_memory.loops.records import Loops
from opencode_memory.plans import Plans
from opencode_memory.reviews import Findings

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

_NOTES: Final = 10


def describe_earlier(store: MemoryStore, loop: Loop) -> list[str]:
    """Return lines about the last loop of a plan with the same title that ended without being completed.

    The new loop has a branch of its own, on which the findings of the old one are not open. Without these lines, its
    model would repeat what the old one has tried.
    """
    plans = Plans(store, loop.project)
    title = _title(plans, loop)
    for earlier in Loops(store).list(loop.project):
        if earlier.id == loop.id or earlier.created_at > loop.created_at or not earlier.state.has_ended:
            continue
        if title is None or _title(plans, earlier) != title:
            continue
        if earlier.state is LoopState.COMPLETED:
            return []
        findings = Findings(store.kv, earlier.project, earlier.branch).open() if earlier.branch else ()
        branch = "it made no branch" if earlier.branch is None else f"its branch is {earlier.branch}"
        return [
            f"it ended as {earlier.state}: {earlier.reason}; {branch}",
            *earlier.notes[-_NOTES:],
            *(f"open finding: {finding.line_of_text}" for finding in findings),
        ]
    return []


def _title(plans: Plans, loop: Loop) -> str | None:
    """Return the title of a loop's plan; None if the plan was deleted."""
    try:
        return plans.get(loop.plan).title
    except NotFoundError:
        return None
