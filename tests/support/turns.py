"""Turns of sessions for a store, from plain texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from opencode_memory.models import Turn
from opencode_memory.store.memory_store import MemoryStore
from opencode_memory.store.turns import NewTurn, SessionPage

AT: Final = datetime(2026, 3, 1, tzinfo=UTC)


class PlainTexts:
    """Texts of turns by message; stands in for the database of an agent."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.texts = dict(texts)

    def read(self, turns: Sequence[Turn]) -> list[Turn | None]:
        return [replace(turn, text=self.texts[turn.message]) if turn.message in self.texts else None for turn in turns]


def page(session: str, texts: Mapping[str, str], *, project: str | None = "shop", restart: bool = False) -> SessionPage:
    turns = [NewTurn(message=message, speaker="user", time=AT, text=text) for message, text in texts.items()]
    return SessionPage(database="/agent.db", session=session, project=project, restart=restart, turns=turns)


def add(store: MemoryStore, texts: Mapping[str, str], *, project: str | None = "shop") -> None:
    store.turns.texts = PlainTexts(texts)
    assert store.turns.add([page("ses", texts, project=project)])
