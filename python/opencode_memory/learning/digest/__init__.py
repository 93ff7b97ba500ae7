"""Digest: an optional LLM that rewords or rejects statements which the rules found.

The step is off unless the user configures an LLM. It receives the statements of the rules, with secrets redacted. Its
answer is untrusted data: each verdict is checked against the evidence, and cannot change trust, topic or project, or
create a directive. This package does not write to the store, so after a failure the statements stay as they were.
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
