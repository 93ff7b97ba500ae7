"""A memory whose vector is still missing is found first by its own words, among many embedded memories."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from benches.quality.needles import generate_notes
from opencode_memory import MemoryStore
from support import processes
from support.stores import open_store, recalled

EMBEDDED = 2_000
NEW = (
    "The job runner fails with a broken lease when the disk of the import wizard is full.",
    "Never restart the upload queue while the label printer is busy; ask the grumblewort first.",
    "The settings dialog uses pandas for sorting since the old one leaked.",
)
_WRITE = """
import sys
from support.stores import open_store
with open_store(sys.argv[1], project="app") as store:
    for text in sys.argv[2:]:
        store.remember(text)
"""


@pytest.fixture(scope="module")
def partly_embedded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryStore]:
    """A store that was open and had answered before another process wrote ``NEW`` without vectors."""
    folder = tmp_path_factory.mktemp("data") / "store"
    with open_store(folder, project="app") as store:
        store.remember_many({"content": note} for note in generate_notes(EMBEDDED))
        store.indexes.embed_pending()
        store.indexes.catch_up()
        store.recall("upload queue")
        assert processes.run(_WRITE, folder, *NEW).returncode == 0
        yield store


@pytest.mark.parametrize("text", NEW)
def test_text_written_by_another_process_finds_its_memory_first(partly_embedded: MemoryStore, text: str) -> None:
    assert recalled(partly_embedded, text, limit=1) == [text]


def test_word_that_only_the_new_memory_has_finds_it_first(partly_embedded: MemoryStore) -> None:
    assert recalled(partly_embedded, "grumblewort", limit=1) == [NEW[1]]


def test_edited_text_finds_its_memory_first_before_it_is_embedded_again(partly_embedded: MemoryStore) -> None:
    (hit,) = partly_embedded.recall("the photo gallery", limit=1)
    edited = "The photo gallery shows at most 40 quibblesnap pictures when the proxy restarts."
    partly_embedded.edit(hit.memory.id, content=edited)
    assert recalled(partly_embedded, edited, limit=1) == [edited]
    assert recalled(partly_embedded, "quibblesnap", limit=1) == [edited]
