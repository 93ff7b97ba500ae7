"""Recall with an embedder behind a server: while it runs, while it is down, and beside the index of sessions."""

from __future__ import annotations

from collections.abc import Callable

from opencode_memory import MemoryStore, NewMemory
from opencode_memory.embedding.calibration import QUESTIONS, TEXTS
from opencode_memory.embedding.served.client import Client
from opencode_memory.embedding.served.embedder import ServedEmbedder
from opencode_memory.embedding.served.settings import ServedModel
from support.embedders import WordEmbedder
from support.embedding_server import MODEL, EmbeddingServer
from support.stores import texts

OpenStore = Callable[..., MemoryStore]


def _served(server: EmbeddingServer) -> ServedEmbedder:
    origin = server.url.removesuffix("/v1")
    model = ServedModel(name=MODEL, dimension=64, url=f"{server.url}/embeddings", origin=origin)
    return ServedEmbedder(model, Client(model), cutter=WordEmbedder())


def test_recall_goes_on_by_words_while_the_server_is_down(open_store: OpenStore) -> None:
    with EmbeddingServer() as server:
        embedder = _served(server)
        store = open_store(project="app", embedder=embedder)
        store.remember("the parser is written in Rust")
        assert store.indexes.embed_pending() == 1
        assert store.stats().pending_embeddings == 0
        assert texts(store.recall("parser Rust")) == ["the parser is written in Rust"]
    store.remember("the lexer is written in Python")
    assert texts(store.recall("lexer Python"))[0] == "the lexer is written in Python"
    assert store.stats().pending_embeddings == 1


def test_waiting_memories_are_embedded_when_the_server_is_back(open_store: OpenStore) -> None:
    store = open_store(project="app")
    store.remember_many([NewMemory(content=f"fact number {number}") for number in range(3)])
    with EmbeddingServer() as server:
        served = open_store(project="app", embedder=_served(server))
        assert served.indexes.embed_pending() == 3
        sent = [request.body["input"] for request in server.received]
        assert sorted(sent[0]) == [f"fact number {number}" for number in range(3)]
        # A command waits for its last memory, so the scale of the model is measured with two requests only.
        assert sent[1:] == [[*TEXTS], [*QUESTIONS]]


def test_vectors_of_another_model_are_noticed_without_a_request(open_store: OpenStore) -> None:
    store = open_store(project="app")
    store.remember("the parser is written in Rust")
    store.indexes.embed_pending()
    with EmbeddingServer() as server:
        mismatch = open_store(project="app", embedder=_served(server)).indexes.mismatch()
    assert mismatch is not None
    assert "openai:words-embed:64@" in mismatch
    assert server.received == []


def test_sessions_are_searched_with_their_own_embedder(open_store: OpenStore) -> None:
    with EmbeddingServer() as server:
        sessions = WordEmbedder("sessions", dimension=32)
        store = open_store(project="app", embedder=_served(server), session_embedder=sessions)
        queue = store.turns._queue
        embedded = queue.embed_query("red fox", of_sessions=True)
        assert embedded is not None
        model, vector = embedded
        assert (model, len(vector)) == ("sessions", 32)
        assert server.received == []
