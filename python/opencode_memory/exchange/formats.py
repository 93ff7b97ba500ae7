"""The formats of exports and imports, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from opencode_memory.errors import InvalidInputError
from opencode_memory.exchange import markdown, native_json, opencode_manager, semantic_memory
from opencode_memory.exchange.foreign import ForeignExport
from opencode_memory.exchange.source import TextSource
from opencode_memory.text.suggest import did_you_mean

if TYPE_CHECKING:
    pass

EXPORT_FORMATS: Final = (native_json.NAME, markdown.NAME)
FOREIGN_FORMATS: Final[dict[str, tuple[Callable[[str], bool], Callable[[TextSource], ForeignExport]]]] = {
    semantic_memory.NAME: (semantic_memory.recognises, semantic_memory.read),
    opencode_manager.JSON_NAME: (opencode_manager.recognises_json, opencode_manager.read_json),
    opencode_manager.MARKDOWN_NAME: (opencode_manager.recognises_markdown, opencode_manager.read_markdown),
}
IMPORT_FORMATS: Final = (*EXPORT_FORMATS, *FOREIGN_FORMATS)


def check_format(name: str | None, known: tuple[str, ...]) -> None:
    """Refuse an unknown format; None stands for any format."""
    if name is not None and name not in known:
        error = InvalidInputError(f"unknown format {name!r}", field="format")
        error.hint = did_you_mean(name, known)
        raise error
