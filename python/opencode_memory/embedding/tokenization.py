"""The tokenizer of the bundled model: texts to token ids, and to the words that ``chunking`` cuts between.

It never truncates. The vocabulary is read at the first text that needs it.
"""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING, Final

from opencode_memory.embedding.chunking import Word

if TYPE_CHECKING:
    from opencode_memory._core import Tokenizer
    from opencode_memory.embedding.registry import ModelFile

_LONE_SURROGATES: Final = re.compile("[\ud800-\udfff]")


class Tokenization:
    """A tokenizer that loads itself; safe from threads.

    Args:
        vocabulary: The file with one token on each line.
    """

    def __init__(self, vocabulary: ModelFile) -> None:
        self._vocabulary = vocabulary
        self._lock = threading.Lock()
        self._loaded: Tokenizer | None = None

    def ids(self, text: str) -> list[int]:
        """Encode a whole text, with the special tokens that frame it.

        Raises:
            ModelNotFoundError: The vocabulary is missing or damaged.
        """
        return self._tokenizer().ids(encodable(text))

    def words(self, text: str) -> list[Word]:
        """Return the words of a text in order; characters that make no token are between them.

        Raises:
            ModelNotFoundError: The vocabulary is missing or damaged.
        """
        return list(map(Word._make, self._tokenizer().words(encodable(text))))

    def _tokenizer(self) -> Tokenizer:
        if self._loaded is None:
            with self._lock:
                if self._loaded is None:
                    self._vocabulary.check_size()
                    from opencode_memory._core import Tokenizer  # noqa: PLC0415  importing it costs more than the rest

                    self._loaded = Tokenizer(self._vocabulary.path)
        return self._loaded


def encodable(text: str) -> str:
    """Replace lone surrogates, which have no UTF-8 form; one for one, so that offsets still fit the text."""
    return text if text.isascii() else _LONE_SURROGATES.sub("\ufffd", text)
