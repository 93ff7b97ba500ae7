"""Titles, states, labels and authors of issues and merge requests, fetched from GitHub and GitLab.

Nothing is sent unless the user has set ``forge.enabled`` or runs ``enrich``, and has a token of the forge. What a forge
answers is text of strangers: it is limited, redacted and stored as a fact of the origin ``forge``, which no prompt
contains unless someone asks for it.
"""

from __future__ import annotations

from opencode_memory.forges.enrich import Batch, Due, Enricher, Outcome, Result
from opencode_memory.forges.errors import ForgeError

__all__ = ["Batch", "Due", "Enricher", "ForgeError", "Outcome", "Result"]
