"""A long text is cut into substrings that fit, overlap, and leave nothing out."""

from __future__ import annotations

import sys
import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencode_memory.embedding import BundledEmbedder, find_model
from opencode_memory.embedding.chunking import MAX_CHUNKS, OVERLAP, Word, cut, surely_fits
from opencode_memory.embedding.tokenization import Tokenization

WINDOW = find_model().window
CONTENT = WINDOW - 2

# Whatever could upset offsets: letters that are dropped or become several, scripts without spaces, special tokens.
ALPHABET = [
    *"ab .\n,-_/😀語é각ﬁ\u0301\u200b\u00adİß",
    "word ",
    "Ends here. ",
    "[SEP]",
    "\n\n",
    "x" * 120,
    "\ud800",
    "。",
]
TEXTS = st.builds(
    lambda parts, times: "".join(parts) * times,
    st.lists(st.sampled_from(ALPHABET), max_size=40),
    st.integers(min_value=1, max_value=40),
)


@pytest.fixture(scope="module")
def embedder() -> BundledEmbedder:
    return BundledEmbedder()


@pytest.fixture(scope="module")
def tokenization() -> Tokenization:
    return Tokenization(find_model().vocabulary)


def covers(text: str, chunks: list[str]) -> bool:
    """Whether the chunks can be laid on the text so that each starts later than the one before and leaves no gap.

    A text that repeats itself holds a chunk at several places; all of them are followed.
    """
    places = [0] if text.startswith(chunks[0]) else []
    for before, chunk in pairwise(chunks):
        ends = range(places[0] + 1, places[-1] + len(before) + 1) if places else range(0)
        places = [
            start
            for start in ends
            if text.startswith(chunk, start) and any(place < start <= place + len(before) for place in places)
        ]
    return any(place + len(chunks[-1]) == len(text) for place in places)


@given(text=TEXTS)
def test_chunks_are_substrings_that_cover_the_text(embedder: BundledEmbedder, text: str) -> None:
    chunks = embedder.chunk(text)

    assert covers(text, chunks)


@given(text=TEXTS)
def test_every_chunk_fits_the_window(embedder: BundledEmbedder, tokenization: Tokenization, text: str) -> None:
    assert all(len(tokenization.ids(chunk)) <= WINDOW for chunk in embedder.chunk(text))


@given(text=TEXTS)
def test_a_text_is_cut_exactly_when_it_does_not_fit(
    embedder: BundledEmbedder, tokenization: Tokenization, text: str
) -> None:
    assert (embedder.chunk(text) == [text]) == (len(tokenization.ids(text)) <= WINDOW)


@given(text=st.text(max_size=300) | TEXTS)
def test_a_text_that_surely_fits_does_fit(tokenization: Tokenization, text: str) -> None:
    if surely_fits(text, CONTENT):
        assert len(tokenization.ids(text)) <= WINDOW


def test_no_character_makes_more_tokens_than_its_bytes(tokenization: Tokenization) -> None:
    changing = [
        character
        for character in map(chr, range(sys.maxunicode + 1))
        if len(unicodedata.normalize("NFD", character)) > 1 or len(character.lower()) > 1
    ]

    assert len(changing) > 10_000
    for character in changing:
        assert sum(word.tokens for word in tokenization.words(character)) <= len(character.encode())


def test_hangul_is_not_taken_for_short() -> None:
    assert surely_fits("a" * CONTENT, CONTENT)
    assert not surely_fits("각" * 100, CONTENT)


def test_cuts_prefer_paragraphs_then_lines_then_sentences_then_spaces() -> None:
    def first_piece(*gaps: str) -> str:
        """Join 21 words with spaces but for the last gaps before the window of 20 is full."""
        separators = [" "] * (20 - len(gaps)) + list(gaps)
        text, words = "", []
        for index, separator in enumerate([*separators, ""]):
            word = f"w{index}."[: -1 if not separator.startswith("_") else None]
            words.append(Word(len(text), len(text) + len(word), 1))
            text += word + separator.replace("_", "")
        return cut(text, words, window=20)[0]

    assert first_piece(" ", " ", " ").endswith("w19 ")
    assert first_piece(" ", "_ ", " ", " ").endswith("w17. ")
    assert first_piece("\n", "_ ", " ", " ").endswith("w16\n")
    assert first_piece("\n\n", "\n", "_ ", " ").endswith("w16\n\n")


def test_neighbouring_chunks_share_about_a_sentence(embedder: BundledEmbedder, tokenization: Tokenization) -> None:
    text = " ".join(f"Sentence number {number} says something about {number * 37}." for number in range(200))

    chunks = embedder.chunk(text)
    assert covers(text, chunks)

    for before, after in pairwise(chunks):
        shared = text[text.index(after) : text.index(before) + len(before)]
        assert shared.startswith("Sentence number")
        assert OVERLAP // 2 < sum(word.tokens for word in tokenization.words(shared)) <= OVERLAP


def test_lone_surrogates_do_not_shift_the_cuts(embedder: BundledEmbedder) -> None:
    chunks = embedder.chunk("\ud800" * 7 + "word " * 400)

    assert len(chunks) == 2
    assert chunks[0].endswith("word ")
    assert chunks[1].startswith("word ")


def test_one_megabyte_of_one_word_is_one_chunk(embedder: BundledEmbedder) -> None:
    assert embedder.chunk("x" * 1_000_000) == ["x" * 1_000_000]


def test_the_number_of_chunks_is_bounded_and_they_span_the_text(embedder: BundledEmbedder) -> None:
    text = "".join(f"{number}!" for number in range(20_000))

    chunks = embedder.chunk(text)

    assert len(chunks) == MAX_CHUNKS
    assert text.startswith(chunks[0])
    assert text.endswith(chunks[-1])


def test_the_longest_prose_that_is_allowed_is_covered(embedder: BundledEmbedder) -> None:
    text = ("The engine writes the change log first; the index follows when it has time to do so. " * 1_200)[:100_000]

    assert covers(text, embedder.chunk(text))


def test_words_of_one_character_text_keep_their_places() -> None:
    words = [Word(0, 1, 2), Word(1, 2, 2), Word(2, 3, 2)]

    assert cut("abc", words, window=6) == ["abc"]
    assert cut("abc", words, window=4) == ["ab", "c"]
