"""The tokenizer of the bundled model makes the tokens of the ``tokenizers`` library, which the model was trained with."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import BertProcessing

from opencode_memory.embedding import find_model
from opencode_memory.embedding.tokenization import Tokenization

PAGES = Path(__file__).parents[2] / "docs"
PARTS = (
    *("[CLS]", "[SEP]", "[MASK]", "[PAD]", "[UNK]", "[cls]", "[", "LS", "]", "##a", "a" * 99, "a" * 100, "a" * 101),
    *(
        "e\u0301",
        "\u00e9",
        "\u00df",
        "\u0130",
        "\u1e9e",
        "\ufb01",
        "\u2163",
        "\u0345",
        "\u200b",
        "\ufeff",
        "\u00ad",
        "\ufffd",
    ),
    *(
        "\ud55c\uad6d",
        "\u6771\u4eac",
        "\U0001f642",
        "\U0001f469\u200d\U0001f467",
        "\t",
        "\r\n",
        "  ",
        "\0",
        "\x7f",
        ".",
        "-",
        "_",
    ),
    *("the", "unbelievable", "snake_case", "0xDEADBEEF", "1,024", " "),
)


@pytest.fixture(scope="module")
def ours() -> Tokenization:
    return Tokenization(find_model().vocabulary)


@pytest.fixture(scope="module")
def original() -> Tokenizer:
    tokens = find_model().vocabulary.path.read_text(encoding="utf-8").split("\n")[:-1]
    ids = {token: number for number, token in enumerate(tokens)}
    tokenizer = Tokenizer(WordPiece(ids, unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = BertNormalizer()
    tokenizer.pre_tokenizer = BertPreTokenizer()
    tokenizer.post_processor = BertProcessing(("[SEP]", ids["[SEP]"]), ("[CLS]", ids["[CLS]"]))
    tokenizer.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    return tokenizer


@given(text=st.lists(st.sampled_from(PARTS) | st.text(max_size=8), max_size=12).map("".join))
def test_tokens_of_any_text_are_those_of_the_library(ours: Tokenization, original: Tokenizer, text: str) -> None:
    assert ours.ids(text) == original.encode(text).ids


def test_tokens_of_each_character_are_those_of_the_library(ours: Tokenization, original: Tokenizer) -> None:
    characters = [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code <= 0xDFFF]
    # Between letters, a character also shows whether it ends a word.
    texts = [
        f"a{''.join(f'{character}b ' for character in characters[start : start + 64])}"
        for start in range(0, len(characters), 64)
    ]

    assert [text for text in texts if ours.ids(text) != original.encode(text).ids] == []


def test_tokens_of_the_documentation_are_those_of_the_library(ours: Tokenization, original: Tokenizer) -> None:
    pages = [page.read_text(encoding="utf-8") for page in PAGES.glob("*.md")]

    assert pages
    assert [page[:40] for page in pages if ours.ids(page) != original.encode(page).ids] == []


@given(
    words=st.lists(
        st.sampled_from(["Caf\u00e9", "\u6771\u4eac", "x_1", "don't", "[SEP]", "\U0001f642", "a" * 101]), max_size=8
    )
)
def test_places_of_words_are_those_of_the_library(ours: Tokenization, original: Tokenizer, words: list[str]) -> None:
    text = "  ".join(words)
    encoding = original.encode(text, add_special_tokens=False)
    spans = [(word.start, word.end) for word in ours.words(text)]

    assert sum(word.tokens for word in ours.words(text)) == len(encoding.ids)
    assert {start for start, _ in spans} <= {start for start, _ in encoding.offsets}
    assert {end for _, end in spans} <= {end for _, end in encoding.offsets}
    assert [start for start, _ in spans] == sorted({start for start, _ in spans})
