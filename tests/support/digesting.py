"""Models behind scripted servers, with a fixed clock."""

from __future__ import annotations

import socket
from contextlib import ExitStack
from datetime import UTC, date, datetime
from typing import Any, Final, Self

from opencode_memory.learning.digest.budget import BudgetExceeded, Usage
from opencode_memory.learning.digest.server_model import ModelAnswer, ServerModel
from opencode_memory.learning.digest.settings import DigestSettings
from support.model_server import MODEL, ModelServer, Reply

NOW: Final = datetime(2026, 10, 3, 21, 30, tzinfo=UTC)
TODAY: Final = NOW.date()
KEY: Final = "local-key-0123456789abcdef"
SYSTEM: Final = "Read the session."
TEXT: Final = "use pnpm, not npm"


class Notebook:
    """Usage of the budget, kept in memory."""

    def __init__(self) -> None:
        self.days: dict[date, Usage] = {}

    def load(self, day: date) -> Usage:
        return self.days.get(day, Usage())

    def save(self, day: date, spent: Usage) -> None:
        self.days[day] = spent


class Clock:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now


class Scene:
    """Servers, and digesters that share a budget and a clock."""

    def __init__(self) -> None:
        self.ledger = Notebook()
        self.clock = Clock()
        self._opened = ExitStack()
        # Bound but not listening: connections are refused, and no other process can take the port.
        bound = self._opened.enter_context(socket.socket())
        bound.bind(("127.0.0.1", 0))
        self.closed_port: int = bound.getsockname()[1]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def serve(self, *script: Reply) -> ModelServer:
        return self._opened.enter_context(ModelServer(*script))

    def make(self, server: ModelServer | str, **settings: Any) -> ServerModel:
        url = server if isinstance(server, str) else server.url
        chosen = DigestSettings(**{"model": MODEL, "url": url, **settings})
        return ServerModel(chosen, self.ledger, clock=self.clock)


def ask(model: ServerModel) -> ModelAnswer | BudgetExceeded:
    return model.ask(SYSTEM, TEXT)
