"""The shipped model gives the vectors of the original, whatever is embedded beside a text and from whichever thread."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pytest

from opencode_memory import _core
from opencode_memory.embedding import BundledEmbedder, bundled, find_model
from opencode_memory.errors import EmbeddingError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from opencode_memory.embedding.base import Embedder, Vectors

Array: TypeAlias = "npt.NDArray[np.float32]"

GOLDEN = json.loads((Path(__file__).parent.parent / "data" / "embedding_golden.json").read_text(encoding="utf-8"))
TEXTS = [entry["text"] for entry in GOLDEN]


@pytest.fixture(scope="module")
def embedder() -> BundledEmbedder:
    return BundledEmbedder(threads=2)


class CountingEncoder:
    """Stands in for the model: the vector of a text is the unit vector of its length in tokens; counts its runs."""

    def __init__(self) -> None:
        self.runs = 0

    def embed(self, rows: Sequence[Sequence[int]]) -> Vectors:
        self.runs += 1
        vectors = np.zeros((len(rows), 384), np.float32)
        vectors[np.arange(len(rows)), [len(row) for row in rows]] = 1
        return vectors.data.cast("B").cast("f", vectors.shape)


@pytest.fixture
def encoder(monkeypatch: pytest.MonkeyPatch) -> CountingEncoder:
    counting = CountingEncoder()
    monkeypatch.setattr(_core, "Encoder", lambda _: counting)
    return counting


def cosines(first: npt.ArrayLike, second: npt.ArrayLike) -> Array:
    return np.asarray((np.asarray(first) * np.asarray(second)).sum(axis=1))


def test_vectors_are_those_of_the_original(embedder: BundledEmbedder) -> None:
    vectors = embedder.embed(TEXTS)

    assert cosines(vectors, [entry["vector"] for entry in GOLDEN]).min() > 0.999_99


@pytest.mark.parametrize("level", _core.Encoder.levels())
def test_vectors_are_those_of_the_original_on_each_level_of_the_processor(
    embedder: BundledEmbedder, level: str
) -> None:
    encoder = _core.Encoder(find_model().weights.path, level=level)
    vectors = encoder.embed([embedder._tokenization.ids(text) for text in TEXTS])

    assert encoder.level == level
    assert cosines(vectors, [entry["vector"] for entry in GOLDEN]).min() > 0.999_99


@pytest.mark.parametrize("level", _core.Encoder.levels())
def test_text_without_tokens_gets_zeros_and_changes_no_other(level: str) -> None:
    encoder = _core.Encoder(find_model().weights.path, level=level)
    alone, empty = np.asarray(encoder.embed([[101, 2023, 102]])), [0.0] * 384

    assert np.asarray(encoder.embed([[], [101, 2023, 102], []])).tolist() == [empty, alone[0].tolist(), empty]
    assert np.asarray(encoder.embed([[]])).tolist() == [empty]
    assert len(encoder.embed([])) == 0


def test_unknown_level_of_the_processor_is_refused() -> None:
    with pytest.raises(ValueError, match="avx1024"):
        _core.Encoder(find_model().weights.path, level="avx1024")


def test_vectors_are_read_only_float32_rows_of_length_one(embedder: Embedder) -> None:
    vectors = embedder.embed(TEXTS)

    assert vectors.format == "f"
    assert vectors.readonly
    assert vectors.shape == (len(TEXTS), embedder.dimension)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)


def test_company_in_a_batch_does_not_change_a_vector(embedder: BundledEmbedder) -> None:
    texts = TEXTS + [" ".join(TEXTS[0].split()[:count]) for count in range(1, 16)]

    together = embedder.embed(texts)
    alone = np.concatenate([embedder.embed([text]) for text in texts])

    assert cosines(together, alone).min() > 0.999_99


def test_vectors_come_in_the_order_of_the_texts(embedder: BundledEmbedder) -> None:
    forwards = embedder.embed(TEXTS)
    backwards = np.asarray(embedder.embed(TEXTS[::-1]))

    assert cosines(forwards, backwards[::-1]).min() > 0.999_99


def test_no_texts_give_no_rows() -> None:
    vectors = BundledEmbedder().embed([])

    assert len(vectors) == 0
    assert vectors.format == "f"


@pytest.mark.parametrize(
    "text", ["", " \n", "\ud800", "\udfff and text", "a\0b", "\u200b", "[PAD] [SEP]", "x" * 1_000_000]
)
def test_odd_texts_have_a_vector(embedder: BundledEmbedder, text: str) -> None:
    assert np.linalg.norm(embedder.embed([text])) == pytest.approx(1, abs=1e-5)


def test_a_lone_surrogate_counts_as_an_unknown_character(embedder: BundledEmbedder) -> None:
    with_surrogate, without = np.asarray(embedder.embed(["before \ud800 after", "before \ufffd after"]))

    assert with_surrogate @ without == pytest.approx(1, abs=1e-5)


def test_a_text_beyond_the_window_is_represented_to_its_end(embedder: BundledEmbedder) -> None:
    beginning = "The migration moves every table to the new schema. " * 40
    ending = "My grandmother grows red tomatoes in her garden. " * 40

    whole, cut_off = np.asarray(embedder.embed([beginning + ending, beginning]))
    query = np.asarray(embedder.embed_query("gardening and vegetables"))

    assert whole @ query > cut_off @ query + 0.1
    assert np.linalg.norm(whole) == pytest.approx(1, abs=1e-5)


def test_a_long_text_has_the_weighted_mean_of_its_chunks(embedder: BundledEmbedder) -> None:
    text = "".join(f"Paragraph {number} is about {TEXTS[number % 4]}\n\n" for number in range(60))
    chunks = embedder.chunk(text)
    weights = [len(embedder._tokenization.ids(chunk)) for chunk in chunks]
    mean = np.average(np.asarray(embedder.embed(chunks)), axis=0, weights=weights)

    between = np.asarray(embedder.embed(["short", text, "short"]))

    assert between[1] == pytest.approx(mean / np.linalg.norm(mean), abs=1e-4)
    assert between[0] == pytest.approx(between[2], abs=1e-4)


def test_a_paraphrase_is_nearer_than_another_subject(embedder: BundledEmbedder) -> None:
    question = np.asarray(embedder.embed_query("which database holds the data?"))
    answer, other = np.asarray(embedder.embed(["All data is kept in SQLite.", "The logo is blue."]))

    assert question @ answer > question @ other + 0.2


def test_a_query_has_the_vector_of_its_text(embedder: BundledEmbedder) -> None:
    assert np.asarray(embedder.embed_query(TEXTS[1])) == pytest.approx(
        np.asarray(embedder.embed([TEXTS[1]]))[0], abs=1e-5
    )


def test_a_query_is_embedded_once(encoder: CountingEncoder) -> None:
    embedder = BundledEmbedder()

    first = embedder.embed_query("asked twice")
    second = embedder.embed_query("asked twice")

    assert encoder.runs == 1
    assert second is first


def test_a_cached_query_cannot_be_changed_by_its_reader(encoder: CountingEncoder) -> None:
    del encoder
    with pytest.raises(TypeError, match="read-only"):
        BundledEmbedder().embed_query("mine")[0] = 2


def test_the_query_cache_forgets_the_oldest(encoder: CountingEncoder) -> None:
    embedder = BundledEmbedder()
    for number in range(bundled.QUERY_CACHE_SIZE + 1):
        embedder.embed_query(f"query {number}")
    filled = encoder.runs

    embedder.embed_query(f"query {bundled.QUERY_CACHE_SIZE}")
    assert encoder.runs == filled
    embedder.embed_query("query 0")
    assert encoder.runs == filled + 1


def test_a_huge_query_is_neither_cached_nor_read_whole(encoder: CountingEncoder) -> None:
    embedder = BundledEmbedder(threads=1)
    query = "what about this? " * 20_000

    first = embedder.embed_query(query)
    second = embedder.embed_query(query)

    assert second is not first
    assert encoder.runs <= 2 * bundled.MAX_QUERY_CHUNKS


def test_progress_counts_up_to_the_number_of_texts(encoder: CountingEncoder) -> None:
    del encoder
    reports: list[tuple[int, int]] = []

    BundledEmbedder(threads=2).embed(["a text " * 20] * 100, progress=lambda done, total: reports.append((done, total)))

    assert reports[-1] == (100, 100)
    assert len(reports) > 1
    assert reports == sorted(reports)


def test_an_interrupted_call_leaves_an_embedder_that_works(embedder: BundledEmbedder) -> None:
    def interrupt(_: int, __: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        embedder.embed(TEXTS * 5, progress=interrupt)

    assert embedder.embed(TEXTS).shape == (len(TEXTS), 384)


@pytest.mark.parametrize("value", [np.nan, np.inf, 0.0, 2.0])
def test_an_unusable_vector_is_an_error(
    monkeypatch: pytest.MonkeyPatch, encoder: CountingEncoder, value: float
) -> None:
    def embed(rows: Sequence[Sequence[int]]) -> Vectors:
        vectors = np.eye(len(rows), 384, dtype=np.float32)
        vectors[-1] *= 0
        vectors[-1, 0] = value
        return vectors.data.cast("B").cast("f", vectors.shape)

    monkeypatch.setattr(encoder, "embed", embed)
    with pytest.raises(EmbeddingError, match="not of length 1"):
        BundledEmbedder().embed(["good", "bad"])


@pytest.mark.parametrize(
    ("ids", "reason"), [([99_999_999], "99999999"), ([101] * 513, "513"), ([101, 30_522, 102], "30522")]
)
def test_a_text_that_the_model_cannot_read_is_an_error_of_ours(ids: list[int], reason: str) -> None:
    with pytest.raises(EmbeddingError, match=reason):
        _core.Encoder(find_model().weights.path).embed([[101, 102], ids])


def test_threads_share_one_load_and_get_their_own_results(
    monkeypatch: pytest.MonkeyPatch, embedder: BundledEmbedder
) -> None:
    loads: list[_core.Encoder] = []
    original = _core.Encoder

    def load(path: Path) -> _core.Encoder:
        loads.append(original(path))
        return loads[-1]

    monkeypatch.setattr(_core, "Encoder", load)
    shared = BundledEmbedder(threads=2)
    start = threading.Barrier(8)
    results: dict[int, Array] = {}

    def work(number: int) -> None:
        start.wait()
        results[number] = np.asarray(shared.embed(TEXTS[number:] + TEXTS[:number]))

    workers = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()

    assert len(loads) == 1
    expected = np.asarray(embedder.embed(TEXTS))
    for number, vectors in results.items():
        assert cosines(vectors, np.roll(expected, -number, axis=0)).min() > 0.999_99


def test_threads_must_be_at_least_one() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        BundledEmbedder(threads=0)
