"""Acknowledged writes of a server, and the check that the store still has them after its end."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, Self

import httpx2

import opencode_memory
from e2e.messages import ACCEPT, answered, call

MANY = 100
"""As many memories as one call of ``log_session`` may write; to embed them takes longer than a server may take to end."""
_PATIENCE_SECONDS = 30


def text(name: str) -> str:
    """A text that the model takes a while to embed."""
    return " ".join([f"What the walrus said to the carpenter, part {name}, while they were walking close at hand."] * 8)


def session() -> dict[str, Any]:
    """Arguments of ``log_session`` that write ``MANY`` memories at once."""
    texts = [text(f"S{number}") for number in range(MANY)]
    return {"summary": texts[0], "learnings": texts[1:]}


def of_session(data: dict[str, Any]) -> dict[str, str]:
    """Return the ids and texts of the memories that ``log_session`` acknowledged."""
    arguments = session()
    texts = [arguments["summary"], *arguments["learnings"]]
    return {memory["id"]: text for memory, text in zip(data["memories"], texts, strict=True)}


class Writer:
    """A client that writes without pause until the server ends, and records the acknowledged writes.

    Args:
        url: The address of the server.
        folder: Where it works.
    """

    def __init__(self, url: str, folder: Path) -> None:
        self.acknowledged: dict[str, str] = {}
        self.wrote = threading.Event()
        self._url = url
        self._headers = ACCEPT | {"x-opencode-directory": str(folder)}
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join(_PATIENCE_SECONDS)
        assert not self._thread.is_alive()

    def _run(self) -> None:
        with httpx2.Client(headers=self._headers, timeout=_PATIENCE_SECONDS) as client:
            while True:
                content = text(f"W{len(self.acknowledged)}")
                try:
                    answer = client.post(self._url, json=call("remember", content=content, category="fact"))
                except httpx2.TransportError:
                    return
                if answer.status_code != 200 or '"result"' not in answer.text:
                    return
                self.acknowledged[answered(answer.text)["id"]] = content
                self.wrote.set()


def assert_all_there(data_dir: Path, project: str, acknowledged: dict[str, str]) -> None:
    """Open the store of an ended server and check that it has all acknowledged memories."""
    with opencode_memory.open(data_dir, project=project, background=False) as store:
        changed = [id for id, written in acknowledged.items() if store.get(id).content != written]
        assert not changed, changed
        last = list(acknowledged)[-1]
        assert last in {hit.memory.id for hit in store.recall(acknowledged[last], limit=20)}
        assert store.indexes.verify().ok
