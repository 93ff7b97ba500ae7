"""The optional memory model: it improves what the rules marked, and nothing else.

Off unless the person names a model. What goes out is what the rules marked, without secrets; what comes back is data:
every statement is checked against the evidence, and none of it gains trust, a topic, a project or the rank of a
directive. Nothing is written here, so a failure costs nothing: what the rules found stays as they found it.
"""

from __future__ import annotations

from opencode_memory.distillation.budget import BudgetSpent, Ledger, Spent
from opencode_memory.distillation.distiller import Distiller
from opencode_memory.distillation.errors import DistillationError, UnreachableError
from opencode_memory.distillation.marked import LONGEST_ID, MOST_MARKED, Marked
from opencode_memory.distillation.report import LONGEST_DISTILLED, Completed, Distilled, DistilReport, DropReason
from opencode_memory.distillation.settings import DistillerSettings

__all__ = [
    "LONGEST_DISTILLED",
    "LONGEST_ID",
    "MOST_MARKED",
    "BudgetSpent",
    "Completed",
    "DistilReport",
    "DistillationError",
    "Distilled",
    "Distiller",
    "DistillerSettings",
    "DropReason",
    "Ledger",
    "Marked",
    "Spent",
    "UnreachableError",
]
