"""The tokenizer of a model: texts to token ids, and to the words that ``chunking`` cuts between.

It never truncates. The library behind it is imported and its file read at the first text that needs it. Texts are
encoded one at a time, because the library's batch call starts threads of its own that a later ``fork`` would trip over;
encoding is about 1 % of the time of an embedding.
"""

from __future__ import annotations

import re
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Final

from opencode_memory.embedding.chunking import Word
from opencode_memory.errors import EmbeddingError, ModelNotFoundError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from opencode_memory.embedding.registry import ModelFile

_LONE_SURROGATES: Final = re.compile("[\ud800-\udfff]")


class Tokenization:
    """A tokenizer that loads itself; safe from threads."""

    def __init__(self, file: ModelFile | Path) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._loaded: Tokenizer | None = None

    def ids(self, text: str) -> list[int]:
        """Encode a whole text, with the special tokens that frame it.

        Raises:
            EmbeddingError: The tokenizer could not be loaded.
        """
        return self._tokenizer().encode(_encodable(text)).ids

    def words(self, text: str) -> list[Word]:
        """Return the words of a text in order; characters that make no token are between them.

        Raises:
            EmbeddingError: The tokenizer could not be loaded.
        """
        encoding = self._tokenizer().encode(_encodable(text), add_special_tokens=False)
        words: list[Word] = []
        current: int | None = None
        for number, (start, end) in zip(encoding.word_ids, encoding.offsets, strict=True):
            if words and number is not None and number == current:
                words[-1] = Word(words[-1].start, end, words[-1].tokens + 1)
            else:
                words.append(Word(start, end, 1))
            current = number
        return words

    def _tokenizer(self) -> Tokenizer:
        if self._loaded is None:
            with self._lock:
                if self._loaded is None:
                    self._loaded = self._load()
        return self._loaded

    def _load(self) -> Tokenizer:
        if isinstance(self._file, Path):
            path = self._file
        else:
            self._file.check_size()
            path = self._file.path
        try:
            from tokenizers import Tokenizer  # noqa: PLC0415 - the command line starts faster without it
        except ImportError as error:
            message = f"the tokenizers library cannot be imported: {error}"
            raise EmbeddingError(message) from error
        try:
            return Tokenizer.from_file(str(path))
        except Exception as error:  # the library raises bare Exception
            message = f"the tokenizer file {path} is damaged: {error}"
            raise ModelNotFoundError(message) from error


def _encodable(text: str) -> str:
    """Replace lone surrogates, which have no UTF-8 form; one for one, so that offsets still fit the text."""
    return text if text.isascii() else _LONE_SURROGATES.sub("\ufffd", text)
