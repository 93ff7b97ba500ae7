"""Findings of code reviews, kept until they are resolved."""

from __future__ import annotations

from opencode_memory.reviews.branch import DETACHED, NO_BRANCH, branch_of
from opencode_memory.reviews.findings import (
    PREFIX,
    Finding,
    Findings,
    FindingStatus,
    Recorded,
    Seen,
    Severity,
    open_findings,
)
from opencode_memory.reviews.similarity import same_words

__all__ = [
    "DETACHED",
    "NO_BRANCH",
    "PREFIX",
    "Finding",
    "FindingStatus",
    "Findings",
    "Recorded",
    "Seen",
    "Severity",
    "branch_of",
    "open_findings",
    "same_words",
]
