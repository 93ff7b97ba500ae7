"""Embedder that asks an OpenAI-compatible server: the wire format, refusals, retries and settings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from opencode_memory.config.embedding import EmbeddingProvider
from opencode_memory.config.load import load
from opencode_memory.embedding import BundledEmbedder
from opencode_memory.embedding.factory import build_embedders
from opencode_memory.embedding.served.client import PAUSES, REST_SECONDS, Client
from opencode_memory.embedding.served.embedder import LONGEST_QUERY, MOST_TEXTS, ServedEmbedder
from opencode_memory.embedding.served.settings import ServedModel, read_model
from opencode_memory.embedding.served.wire import render_request
from opencode_memory.errors import ConfigError, EmbeddingError, InvalidInputError
from support.embedding_server import MODEL, EmbeddingServer, Reply

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"


class Scene:
    """A client whose pauses are recorded, with a clock that the test moves."""

    def __init__(self, server: EmbeddingServer, **changes: Any) -> None:
        self.pauses: list[float] = []
        self.seconds = 0.0
        origin = server.url.removesuffix("/v1")
        given = ServedModel(name=MODEL, dimension=64, url=f"{server.url}/embeddings", origin=origin)
        self.model = replace(given, **changes)
        client = Client(self.model, pause=self.pauses.append, now=lambda: self.seconds)
        self.embedder = ServedEmbedder(self.model, client, cutter=BundledEmbedder())


def _edit(place: int, **members: Any) -> Any:
    def change(answer: dict[str, Any]) -> dict[str, Any]:
        answer["data"][place].update(members)
        return answer

    return change


def _reorder(answer: dict[str, Any]) -> dict[str, Any]:
    answer["data"].reverse()
    return answer


# -- wire format


def test_request_has_the_format_and_vectors_have_length_one() -> None:
    with EmbeddingServer() as server:
        vectors = Scene(server, key="k-1", text_prefix="text: ").embedder.embed(["red fox", "blue sea"])
    assert vectors.shape == (2, 64)
    assert vectors.format == "f"
    assert np.allclose(np.linalg.norm(np.asarray(vectors), axis=1), 1)
    (request,) = server.received
    assert request.path == "/v1/embeddings"
    assert request.headers["Authorization"] == "Bearer k-1"
    assert request.body == {"model": MODEL, "input": ["text: red fox", "text: blue sea"], "encoding_format": "float"}


def test_many_texts_are_sent_in_batches_in_their_order() -> None:
    texts = [f"text {number}" for number in range(MOST_TEXTS + 3)]
    with EmbeddingServer() as server:
        scene = Scene(server)
        vectors = scene.embedder.embed(texts)
        assert [len(request.body["input"]) for request in server.received] == [MOST_TEXTS, 3]
        assert server.inputs == texts
        assert np.array_equal(np.asarray(vectors)[MOST_TEXTS:][:1], scene.embedder.embed([texts[MOST_TEXTS]]))


def test_no_texts_need_no_request() -> None:
    with EmbeddingServer() as server:
        assert len(Scene(server).embedder.embed([])) == 0
    assert server.received == []


def test_query_has_its_own_prefix_and_is_cached() -> None:
    with EmbeddingServer() as server:
        embedder = Scene(server, query_prefix="query: ").embedder
        assert np.array_equal(embedder.embed_query("red fox"), embedder.embed_query("red fox"))
    assert server.inputs == ["query: red fox"]


def test_secret_at_the_cut_of_a_long_query_is_redacted_before_it_is_sent() -> None:
    with EmbeddingServer() as server:
        embedder = Scene(server).embedder
        embedder.embed_query("a " * (LONGEST_QUERY // 2 - 6) + SECRET)
        embedder.embed([f"the token is {SECRET}"])
    assert len(server.inputs[0]) <= LONGEST_QUERY
    assert not any(SECRET[:8] in text for text in server.inputs)


def test_private_part_is_not_sent() -> None:
    with EmbeddingServer() as server:
        embedder = Scene(server).embedder
        embedder.embed_query("the fox <private>of Mrs Smith</private> is red")
        embedder.embed(["the sea <private>near home</private>"])
        with pytest.raises(EmbeddingError, match="private"):
            embedder.embed_query("<private>all of it")
    assert len(server.inputs) == 2
    assert not any("Smith" in text or "home" in text for text in server.inputs)


# -- refused answers


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply(change=_edit(0, embedding=[1.0] * 63)), "63 dimensions instead of 64"),
        (Reply(change=_edit(1, embedding=[0.0] * 64)), "a vector of zeros"),
        (Reply(change=_edit(1, embedding=[float("nan")] * 64)), "is not JSON"),
        (Reply(change=_edit(1, embedding=[True] * 64)), "not a list of numbers"),
        (Reply(change=_edit(1, embedding="AAAA")), "not a list of numbers"),
        (Reply(change=_edit(1, embedding=[10**400] * 64)), "too large"),
        (Reply(change=_edit(1, index=0)), "indexes 0 to 1"),
        (Reply(change=_edit(1, index=True)), "indexes 0 to 1"),
        (Reply(change=_reorder), "indexes 0 to 1"),
        (Reply(change=lambda answer: {**answer, "data": answer["data"][:1]}), "(1 vectors)"),
        (Reply(change=lambda answer: {**answer, "data": "none"}), "no list `data`"),
        (Reply(change=lambda answer: [answer]), "no list `data`"),
        (Reply(body=b"<html>"), "is not JSON"),
        (Reply(body=b"\xff"), "is not JSON"),
        (Reply(body=b'{"data": [{"index": 0, "embedding": [1e999]}]}'), "(1 vectors)"),
    ],
)
def test_answer_that_cannot_be_stored_is_refused(reply: Reply, reason: str) -> None:
    with EmbeddingServer(reply) as server, pytest.raises(EmbeddingError) as raised:
        Scene(server).embedder.embed(["red fox", "blue sea"])
    assert reason in str(raised.value)
    assert raised.value.hint


def test_number_that_overflows_is_refused() -> None:
    numbers = ", ".join(["1e999"] * 64).encode()
    reply = Reply(body=b'{"data": [{"index": 0, "embedding": [' + numbers + b"]}]}")
    with EmbeddingServer(reply) as server, pytest.raises(EmbeddingError, match="not finite"):
        Scene(server).embedder.embed(["red fox"])


# -- retries


@pytest.mark.parametrize("status", [429, 500, 503])
def test_busy_server_is_asked_again_after_growing_pauses(status: int) -> None:
    with EmbeddingServer(*[Reply(status=status)] * len(PAUSES)) as server:
        scene = Scene(server)
        assert len(scene.embedder.embed(["red fox"])) == 1
    assert scene.pauses == list(PAUSES)


def test_delay_that_the_server_asks_for_is_kept() -> None:
    with EmbeddingServer(Reply(status=429, headers={"Retry-After": "3"})) as server:
        scene = Scene(server)
        scene.embedder.embed(["red fox"])
    assert scene.pauses == [3.0]


def test_long_delay_is_not_waited_for_and_the_server_rests() -> None:
    with EmbeddingServer(Reply(status=429, headers={"Retry-After": "900"})) as server:
        scene = Scene(server)
        for _ in range(2):
            with pytest.raises(EmbeddingError, match="status 429"):
                scene.embedder.embed(["red fox"])
        with pytest.raises(EmbeddingError, match="gets no request"):
            scene.embedder.embed_query("red fox")
        assert len(server.received) == 1
        scene.seconds = REST_SECONDS
        scene.embedder.embed_query("red fox")
    assert scene.pauses == []


def test_refused_request_is_not_repeated_and_hides_answer_and_key() -> None:
    with EmbeddingServer(Reply(status=401, body=b"wrong key k-1 for red fox")) as server:
        scene = Scene(server, key="k-1")
        with pytest.raises(EmbeddingError) as raised:
            scene.embedder.embed(["red fox"])
    assert (len(server.received), scene.pauses) == (1, [])
    assert "status 401" in str(raised.value)
    assert "k-1" not in str(raised.value) + repr(scene.model)
    assert "red fox" not in str(raised.value)


def test_query_is_tried_once() -> None:
    with EmbeddingServer(Reply(status=503)) as server:
        scene = Scene(server)
        with pytest.raises(EmbeddingError, match="status 503"):
            scene.embedder.embed_query("red fox")
    assert (len(server.received), scene.pauses) == (1, [])


def test_server_that_does_not_run_delays_nothing() -> None:
    with EmbeddingServer() as server:
        scene = Scene(server)
    with pytest.raises(EmbeddingError, match="cannot connect"):
        scene.embedder.embed(["red fox"])
    assert scene.pauses == []


# -- identity and settings


def test_id_changes_exactly_if_vectors_stop_being_comparable() -> None:
    model = ServedModel(name="m", dimension=64, url="http://127.0.0.1:1/v1/embeddings", origin="http://127.0.0.1:1")
    changes: list[dict[str, Any]] = [{"name": "n"}, {"dimension": 32}, {"query_prefix": "q: "}, {"text_prefix": "q: "}]
    assert len({model.model_id, *(replace(model, **change).model_id for change in changes)}) == 1 + len(changes)
    assert model.model_id.startswith("openai:m:64@")
    assert replace(model, url="http://127.0.0.1:2/v1/embeddings", key="k").model_id == model.model_id


def _settings(tmp_path: Path, **values: str) -> ServedModel:
    given = {"provider": "openai", "model": "m", "base_url": "http://127.0.0.1:11434/v1/", "dimensions": "64", **values}
    environment = {f"OPENCODE_MEMORY_EMBEDDING_{name.upper()}": value for name, value in given.items()}
    environment |= {"HOME": str(tmp_path), "MY_KEY": "from-variable", "BAD_KEY": "a b"}
    config = load(environment=environment)
    return read_model(config.embedding, config.environment)


def test_settings_are_read(tmp_path: Path) -> None:
    model = _settings(tmp_path, query_prefix="query: ", api_key_env="MY_KEY")
    assert model.url == "http://127.0.0.1:11434/v1/embeddings"
    assert (model.query_prefix, model.key) == ("query: ", "from-variable")


def test_key_is_read_from_a_private_file_only(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("from-file\n")
    file.chmod(0o644)
    with pytest.raises(InvalidInputError, match="other users can read"):
        _settings(tmp_path, api_key_file=str(file))
    file.chmod(0o600)
    assert _settings(tmp_path, api_key_file=str(file)).key == "from-file"


@pytest.mark.parametrize(
    ("values", "error", "text"),
    [
        ({"model": ""}, ConfigError, "embedding.model is not set"),
        ({"base_url": ""}, InvalidInputError, r"may not be sent to api\.openai\.com"),
        ({"dimensions": "0"}, ConfigError, "embedding.dimensions is not set"),
        ({"base_url": "http://example.org/v1"}, InvalidInputError, "must use https"),
        ({"base_url": "https://example.org/v1"}, InvalidInputError, "may not be sent to example.org"),
        (
            {"base_url": "https://example.org/v1", "allowed_host": "www.example.org"},
            InvalidInputError,
            "may not be sent to example.org",
        ),
        ({"base_url": "http://example.org/v1", "allowed_host": "example.org"}, InvalidInputError, "must use https"),
        ({"provider": "voyage", "base_url": ""}, InvalidInputError, r"may not be sent to api\.voyageai\.com"),
        ({"base_url": "http://127.0.0.1.example.org/v1"}, InvalidInputError, "must use https"),
        ({"api_key_env": "NO_KEY"}, InvalidInputError, "NO_KEY is not set"),
        ({"api_key_env": "BAD_KEY"}, InvalidInputError, "visible ASCII"),
    ],
)
def test_unusable_setting_is_refused(tmp_path: Path, values: dict[str, str], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        _settings(tmp_path, **values)


def test_allowed_host_is_sent_texts_over_https(tmp_path: Path) -> None:
    model = _settings(tmp_path, base_url="https://Example.org/v1", allowed_host="example.org")
    assert (model.url, model.is_loopback) == ("https://example.org/v1/embeddings", False)


def test_voyage_is_told_queries_from_texts() -> None:
    with EmbeddingServer() as server:
        embedder = Scene(server, provider=EmbeddingProvider.VOYAGE).embedder
        embedder.embed(["red fox"])
        embedder.embed_query("blue sea")
    text, query = (request.body for request in server.received)
    assert text == {"model": MODEL, "input": ["red fox"], "input_type": "document", "output_dimension": 64}
    assert query == {"model": MODEL, "input": ["blue sea"], "input_type": "query", "output_dimension": 64}
    model = replace(Scene(server).model, provider=EmbeddingProvider.VOYAGE, dimension=1024)
    assert "output_dimension" not in render_request(model, ["red fox"])
    assert model.model_id.startswith("voyage:")


def test_voyage_has_its_address(tmp_path: Path) -> None:
    model = _settings(tmp_path, provider="voyage", base_url="", allowed_host="api.voyageai.com")
    assert model.url == "https://api.voyageai.com/v1/embeddings"


def test_bundled_model_runs_beside_a_server_that_may_not_be_used(tmp_path: Path) -> None:
    environment = {"HOME": str(tmp_path)}
    given = {"MODEL": "m", "BASE_URL": "https://example.org/v1", "DIMENSIONS": "64"}
    environment |= {f"OPENCODE_MEMORY_EMBEDDING_{name}": value for name, value in given.items()}
    assert build_embedders(load(environment=environment).embedding, environment).others == ()
    environment["OPENCODE_MEMORY_EMBEDDING_ALLOWED_HOST"] = "example.org"
    others = build_embedders(load(environment=environment).embedding, environment).others
    assert [embedder.model_id.partition(":")[0] for embedder in others] == ["openai", "voyage"]


def test_sessions_stay_on_the_bundled_model(tmp_path: Path) -> None:
    environment = {"HOME": str(tmp_path)}
    local = build_embedders(load(environment=environment).embedding, environment)
    assert local.of_memories is local.of_sessions
    served = {"PROVIDER": "openai", "MODEL": "m", "BASE_URL": "http://127.0.0.1:1/v1", "DIMENSIONS": "64"}
    environment |= {f"OPENCODE_MEMORY_EMBEDDING_{name}": value for name, value in served.items()}
    both = build_embedders(load(environment=environment).embedding, environment)
    assert both.of_memories.model_id.startswith("openai:m:64@")
    assert both.of_sessions.model_id == local.of_sessions.model_id
