"""The optional memory model: it improves what the rules marked, and nothing else.

Off unless the person names a model. What goes out is what the rules marked, without secrets; what comes back is data:
every statement is checked against the evidence, and none of it gains trust, a topic, a project or the rank of a
directive. Nothing is written here, so a failure costs nothing: what the rules found stays as they found it.
"""

from __future__ import annotations

from opencode_memory.learning.digest.budget import BudgetSpent, Ledger, Spent
from opencode_memory.learning.digest.digester import Distiller
from opencode_memory.learning.digest.errors import DistillationError, UnreachableError
from opencode_memory.learning.digest.model_settings import DistillerSettings
from opencode_memory.learning.digest.outcome import LONGEST_DISTILLED, Completed, Distilled, DistilReport, DropReason
from opencode_memory.learning.digest.statements import LONGEST_ID, MOST_MARKED, Marked

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
