"""The tokenizer of a model in a folder, run by the ``tokenizers`` library."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from opencode_memory.embedding.folder.extra import missing_library
from opencode_memory.embedding.tokenization import encodable
from opencode_memory.errors import ModelNotFoundError

if TYPE_CHECKING:
    from pathlib import Path

    from tokenizers import Tokenizer


class FolderTokenization:
    """A tokenizer that loads itself at the first text; safe from threads.

    Texts are encoded one at a time, because the library's batch call starts threads that a later ``fork`` would trip
    over.

    Args:
        file: The ``tokenizer.json`` of the model.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._loaded: Tokenizer | None = None

    def ids(self, text: str) -> list[int]:
        """Encode a whole text, with the special tokens that frame it.

        Raises:
            EmbeddingError: The library is not installed.
            ModelNotFoundError: The file is missing or damaged.
        """
        if self._loaded is None:
            with self._lock:
                if self._loaded is None:
                    self._loaded = _load(self._file)
        return self._loaded.encode(encodable(text)).ids


def _load(file: Path) -> Tokenizer:
    try:
        from tokenizers import Tokenizer  # noqa: PLC0415  part of an extra
    except ImportError as error:
        raise missing_library("tokenizers", error) from error
    try:
        return Tokenizer.from_file(str(file))
    except Exception as error:  # the library raises bare Exception
        message = f"the tokenizer file {file} is damaged: {error}"
        raise ModelNotFoundError(message) from error
