"""Digest: a language model reads one session and returns what is worth remembering of it.

Nothing is sent before the user agreed. The request holds what the person typed and the last answer before each message,
without secrets and private sections. The answer is untrusted data: every item needs a quote that stands in the session,
and brings no names, numbers or negations of its own. What survives is stored like any other learned memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opencode_memory.learning.digest.budget import BudgetExceeded, DailyBudget, StoredUsage, Usage, UsageLedger
    from opencode_memory.learning.digest.digester import LEAST_MESSAGES, Digester, DigestRequest, judge
    from opencode_memory.learning.digest.errors import DigestError, UnreachableError
    from opencode_memory.learning.digest.prompt import SYSTEM_PROMPT
    from opencode_memory.learning.digest.queue import DigestQueue, Due, Entry, LeaseLostError
    from opencode_memory.learning.digest.report import DigestReport, DroppedItem, DropReason
    from opencode_memory.learning.digest.server_model import ModelAnswer, ServerModel
    from opencode_memory.learning.digest.settings import DigestSettings
    from opencode_memory.learning.digest.transcript import TranscriptSource

__all__ = [
    "LEAST_MESSAGES",
    "SYSTEM_PROMPT",
    "BudgetExceeded",
    "DailyBudget",
    "DigestError",
    "DigestQueue",
    "DigestReport",
    "DigestRequest",
    "DigestSettings",
    "Digester",
    "DropReason",
    "DroppedItem",
    "Due",
    "Entry",
    "LeaseLostError",
    "ModelAnswer",
    "ServerModel",
    "StoredUsage",
    "TranscriptSource",
    "UnreachableError",
    "Usage",
    "UsageLedger",
    "judge",
]

_MODULES = {
    "BudgetExceeded": "budget",
    "DailyBudget": "budget",
    "StoredUsage": "budget",
    "Usage": "budget",
    "UsageLedger": "budget",
    "DigestRequest": "digester",
    "Digester": "digester",
    "LEAST_MESSAGES": "digester",
    "judge": "digester",
    "DigestError": "errors",
    "UnreachableError": "errors",
    "SYSTEM_PROMPT": "prompt",
    "DigestQueue": "queue",
    "Due": "queue",
    "Entry": "queue",
    "LeaseLostError": "queue",
    "DigestReport": "report",
    "DropReason": "report",
    "DroppedItem": "report",
    "ModelAnswer": "server_model",
    "ServerModel": "server_model",
    "DigestSettings": "settings",
    "TranscriptSource": "transcript",
}


def __getattr__(name: str) -> Any:
    """Import a name when it is used. Reading sessions takes a tenth of a second to import, and a server rarely does."""
    import importlib  # noqa: PLC0415  the point of this function is to import late

    if name in _MODULES:
        return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)
