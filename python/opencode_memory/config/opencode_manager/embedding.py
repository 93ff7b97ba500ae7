"""Converts the section ``embedding`` of ``memory-config.jsonc``.

The file describes a server. A server on this machine is used at once. One on another machine is used only after the
user allowed texts to be sent there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from opencode_memory.config.embedding import MOST_DIMENSIONS, EmbeddingProvider
from opencode_memory.config.value_kinds import ValueKind
from opencode_memory.errors import InvalidInputError
from opencode_memory.http_client.address import Address, parse_address

NAMED: Final = ""
"""Entry of the converted keys that holds the names of the keys that are in the file."""
ONLY_SERVERS: Final = "it applies if `embedding.provider` is openai or voyage, and the value is valid"
NOT_YET: Final = (
    "only a server on this machine with a model and its dimensions is used at once; `opencode-memory embedding use` "
    "changes to another one, and asks before it sends texts"
)
_NEEDED: Final = frozenset({"embedding.model", "embedding.dimensions"})


def provider(given: Mapping[str, Any], _data_dir: Path) -> str | None:
    """Return the provider if it is a server of this machine that the file describes; None otherwise."""
    is_described = given[NAMED] >= _NEEDED and _fits(given["embedding.dimensions"])
    address = _address(given)
    if given["embedding.provider"] != EmbeddingProvider.OPENAI or not is_described or address is None:
        return None
    return EmbeddingProvider.OPENAI if address.is_loopback else None


def of_server(name: str, kind: ValueKind) -> Callable[[Mapping[str, Any], Path], Any]:
    """Return a function that returns the value of a key if the file describes a server, and the value is of a kind."""
    return lambda given, _data_dir: None if _is_local(given) else kind.validate(given[name])


def dimensions(given: Mapping[str, Any], _data_dir: Path) -> int | None:
    """Return the length of the vectors of a server."""
    size: int = given["embedding.dimensions"]
    return None if _is_local(given) or not _fits(size) else size


def base_url(given: Mapping[str, Any], _data_dir: Path) -> str | None:
    """Return the address of a server."""
    return None if _is_local(given) or _address(given) is None else given["embedding.baseUrl"].strip()


def _fits(size: int) -> bool:
    return size <= MOST_DIMENSIONS


def _is_local(given: Mapping[str, Any]) -> bool:
    return bool(given["embedding.provider"] == EmbeddingProvider.LOCAL)


def _address(given: Mapping[str, Any]) -> Address | None:
    try:
        return parse_address(given["embedding.baseUrl"], field="embedding.baseUrl", about="the server", form="a URL")
    except InvalidInputError:
        return None
