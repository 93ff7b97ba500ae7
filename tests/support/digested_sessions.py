"""Sessions for digests: a store that has learned from them, a clock, and a digester with its queue."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from opencode_memory import Memory, MemoryStore
from opencode_memory.learning.digest.digester import Digester, DigestRequest
from opencode_memory.learning.digest.queue import DigestQueue, Due
from opencode_memory.learning.digest.report import DigestReport
from opencode_memory.learning.extraction.events import Event, Message, SessionInfo
from opencode_memory.learning.learner import Learner
from opencode_memory.learning.switches import Switches
from opencode_memory.models import Category, Status
from support.learning import FOLDER, agent, messages, user
from support.stores import NOW_MS

PROJECT: Final = "app"
INFO: Final = SessionInfo(id="ses_d", directory=FOLDER, title="Invoices")
SPOKEN: Final = (
    user("How could the invoices be rendered?"),
    agent("Two options. A: LaTeX, slow but complete. B: Typst, fast and small."),
    user("take option B for the invoices"),
    agent("Done. The tests failed at first, because the fonts are read only at startup."),
    user("never commit generated files in this repository"),
    agent("Understood."),
)
OPTION: Final = {
    "kind": "decision",
    "text": "Invoices are rendered with Typst, not LaTeX.",
    "quote": "take option B for the invoices",
    "message": 2,
    "supersedes": None,
}
ORDER: Final = {
    "kind": "directive",
    "text": "Never commit generated files.",
    "quote": "never commit generated files in this repository",
    "message": 3,
    "supersedes": None,
}
FINDING: Final = {
    "kind": "fact",
    "text": "Fonts are read only at startup.",
    "quote": "the fonts are read only at startup",
    "message": 3,
    "supersedes": None,
}
SUMMARY: Final = {"done": "Invoices are rendered with Typst.", "decided": "Typst for invoices.", "open": ""}


def write_answer(*items: Any, summary: Any = None) -> str:
    return json.dumps({"items": list(items), "summary": summary or {}})


class Desk:
    """A store with its queue and its digester; the clock moves only by hand."""

    def __init__(self, store: MemoryStore, *, switches: Switches | None = None) -> None:
        self.store = store
        self.now_ms = NOW_MS
        self.queue = DigestQueue(store, now_ms=self.read_clock)
        self.digester = Digester(store, switches=switches or Switches(), now_ms=self.read_clock)

    def read_clock(self) -> int:
        return self.now_ms

    def learn(self, *events: Event, info: SessionInfo = INFO) -> list[Message]:
        told = messages(*(events or SPOKEN), of=info.id, at=NOW_MS - 60_000)
        Learner(self.store).process(info, told, project=PROJECT, at_ms=self.now_ms, is_idle=True)
        return told

    def claim(self, info: SessionInfo = INFO, worker: str = "w") -> Due:
        self.queue.add(info, active_ms=self.now_ms, rest_seconds=0)
        due = self.queue.claim(worker)
        assert due is not None
        return due

    def prepare(self, told: Sequence[Message], due: Due | None = None) -> DigestRequest:
        request = self.digester.prepare(due or self.claim(), told, PROJECT)
        assert request is not None
        return request

    def digest(self, *items: Any, events: Sequence[Event] = SPOKEN, summary: Any = None) -> DigestReport:
        """Learn from a session, and digest it with a given answer."""
        told = self.learn(*events)
        due = self.claim()
        request = self.prepare(told, due)
        return self.accept(due, request, write_answer(*items, summary=summary))

    def accept(self, due: Due, request: DigestRequest, answer: str, tokens: int = 2_000) -> DigestReport:
        return self.digester.accept(due, request, answer, tokens=tokens, model="small")

    def find(self, *status: Status) -> list[Memory]:
        """Return the memories of digests, without summaries."""
        found = self.store.list(project=PROJECT, status=status or (Status.ACTIVE,), limit=200)
        return [
            one for one in found if one.metadata.get("rule") == "digest" and one.category is not Category.CONVERSATION
        ]

    def summaries(self) -> list[str]:
        return [one.content for one in self.store.list(project=PROJECT, category="conversation", limit=50)]
