"""Searches the sessions of sde-bench for the chats that govern bug reports: ``python -m benches.quality.sde``.

The chats go into the session index, as those of OpenCode do. Printed is how often the right session stands first, and,
for rules that a later chat amends, how often the later chat does. Then each bug report is the first message of a
session, and printed is how often the block beside it quotes the right session.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import opencode_memory
from opencode_memory import MemoryStore
from opencode_memory.config.load import load
from opencode_memory.context.decide import Request, decide
from opencode_memory.embedding import BundledEmbedder
from opencode_memory.models import SessionHit, Sources, Turn
from opencode_memory.store.turns import NewTurn, SessionPage

from .cached_embedder import CachedEmbedder
from .conversations import Conversation, DataError
from .data_sets.sde import SDE, earlier_session
from .run import default_cache

_LIMIT = 20


class Texts:
    """Texts of the turns of a conversation; stands in for OpenCode's database."""

    def __init__(self, conversation: Conversation) -> None:
        self._texts = {turn.id: turn.text for turn in conversation.turns}

    def read(self, turns: Sequence[Turn]) -> list[Turn | None]:
        """Return the turns with their texts."""
        return [replace(turn, text=self._texts[turn.message]) for turn in turns]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the measurement. Return 2 if the data cannot be read."""
    parser = argparse.ArgumentParser(prog="python -m benches.quality.sde", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the data directory")
    parser.add_argument("--verbose", action="store_true", help="print the sessions found for each question")
    options = parser.parse_args(arguments)
    try:
        with CachedEmbedder.open(BundledEmbedder(), default_cache()) as embedder:
            for conversation in SDE.load(options.data / SDE.folder):
                _measure(conversation, embedder, verbose=options.verbose)
    except DataError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _measure(conversation: Conversation, embedder: CachedEmbedder, *, verbose: bool) -> None:
    embedder.prepare(question.text for question in conversation.questions)
    clock_ms = round(conversation.asked_at.timestamp() * 1000)
    first = quoted = 0
    config = load(environment={"HOME": tempfile.gettempdir()})
    with (
        tempfile.TemporaryDirectory(prefix="opencode-memory-sde-") as folder,
        opencode_memory.open(Path(folder), embedder=embedder, background=False, clock_ms=clock_ms) as store,
    ):
        _index(store, conversation)
        for question in conversation.questions:
            hits = store.search(question.text, sources=Sources.SESSIONS, limit=_LIMIT, project="sde")
            found = list(dict.fromkeys(hit.turn.session for hit in hits if isinstance(hit, SessionHit)))
            [wanted] = question.sessions
            first += found[:1] == [wanted]
            decision = decide(
                store,
                Request(
                    session="ses_now",
                    message=f"msg_{question.id}",
                    text=question.text,
                    project="sde",
                    visible=frozenset({f"msg_{question.id}"}),
                ),
                config=config.injection,
                brief=config.brief,
                count=len,
                at=conversation.asked_at,
            )
            quoted += decision.about.get("quoted", {}).get("session") == wanted
            if verbose:
                print(f"{question.id}: {', '.join(found[:5])}; earlier chat {earlier_session(wanted)}")
    print(
        f"{conversation.id}: of {len(conversation.questions)} questions, the right session stands first for {first}, "
        f"and is quoted beside {quoted}"
    )


def _index(store: MemoryStore, conversation: Conversation) -> None:
    store.turns.texts = Texts(conversation)
    pages = [
        SessionPage(
            database="/sde.db",
            session=session,
            project="sde",
            turns=[NewTurn(message=turn.id, speaker=turn.speaker, time=turn.time, text=turn.text) for turn in turns],
        )
        for session, turns in groupby(conversation.turns, key=lambda turn: turn.session)
    ]
    if not store.turns.add(pages):
        raise DataError("the session index was not written")


if __name__ == "__main__":
    sys.exit(main())
