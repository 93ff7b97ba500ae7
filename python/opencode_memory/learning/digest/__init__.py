"""The optional memory model: it improves what the rules marked, and nothing else.

Off unless the person names a model. What goes out is what the rules marked, without secrets; what comes back is data:
every statement is checked against the evidence, and none of it gains trust, a topic, a project or the rank of a
directive. Nothing is written here, so a failure costs nothing: what the rules found stays as they found it.
"""

from __future__ import annotations

from opencode_memory.learning.digest.budget import BudgetExceeded, Usage, UsageLedger
from opencode_memory.learning.digest.digester import Digester
from opencode_memory.learning.digest.errors import DigestError, UnreachableError
from opencode_memory.learning.digest.report import MAX_CONTENT, Completed, DigestReport, DropReason, Verdict
from opencode_memory.learning.digest.settings import DigestSettings
from opencode_memory.learning.digest.statements import MAX_ID, MAX_STATEMENTS, Statement

__all__ = [
    "MAX_CONTENT",
    "MAX_ID",
    "MAX_STATEMENTS",
    "BudgetExceeded",
    "Completed",
    "DigestError",
    "DigestReport",
    "DigestSettings",
    "Digester",
    "DropReason",
    "Statement",
    "UnreachableError",
    "Usage",
    "UsageLedger",
    "Verdict",
]
