"""What is known of the last requests: the answer about each item, and which hosts are left alone until when.

Both are values of the key-value store that expire. Any client may have written them, so an invalid value counts as
none.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from opencode_memory.forges.client import is_etag
from opencode_memory.forges.errors import ForgeError
from opencode_memory.forges.item import Item, parse_item
from opencode_memory.store import reserved_keys
from opencode_memory.text.clock import to_ms

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

PREFIX: Final = reserved_keys.FORGE
_KEEP_SECONDS: Final = 90 * 86_400.0
_FIRST_PAUSE_SECONDS: Final = 60.0
_LONGEST_PAUSE_SECONDS: Final = 6 * 3600.0
_LONGEST_ASKED_MS: Final = 86_400_000
"""No pause is longer: ``http_client/retry_after.py`` limits what a server may ask for to a day."""
_MOST_FAILURES: Final = 20
_DIGEST_CHARACTERS: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedItem:
    """The last answer about an item.

    Attributes:
        item: The item; None if the forge has none, or gave no usable answer.
        etag: Its ETag.
        checked_ms: When the forge was asked.
    """

    item: Item | None
    etag: str | None
    checked_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """Time during which a host is left alone.

    Attributes:
        until_ms: Its end.
        failures: Number of failures in a row.
        reason: The last of them.
        refused: Digest of the token that the host refused; None if it did not refuse a token.
    """

    until_ms: int
    failures: int
    reason: str
    refused: str | None = None


class ForgeCache:
    """Answers and pauses of a store, in the global namespace of its key-value store."""

    def __init__(self, store: MemoryStore) -> None:
        self._kv = store.for_project(None).kv

    def get(self, name: str) -> CachedItem | None:
        """Return the last answer about an item."""
        match self._kv.get(f"{PREFIX}item/{name}"):
            case {"checked": int(checked), "etag": str() | None as etag, "item": item}:
                parsed = parse_item(item)
                # Without the item, a "not modified" would be of no use.
                return CachedItem(
                    item=parsed, etag=etag if parsed is not None and is_etag(etag) else None, checked_ms=checked
                )
        return None

    def put(self, name: str, *, item: Item | None, etag: str | None, at: datetime) -> None:
        """Store an answer about an item."""
        value = {"checked": to_ms(at), "etag": etag, "item": None if item is None else item.to_json()}
        self._kv.set(f"{PREFIX}item/{name}", value, ttl_seconds=_KEEP_SECONDS)

    def pause_of(self, host: str, *, token: str | None, at: datetime) -> Pause | None:
        """Return the pause of a host; None if it may be asked. A host that refused another token may be asked."""
        pause = self._read_pause(host)
        # After a clock was set back, a pause from the future must not last until then.
        if pause is None or not 0 < pause.until_ms - to_ms(at) <= _LONGEST_ASKED_MS:
            return None
        is_other = pause.refused is not None and token is not None and pause.refused != _digest(token)
        return None if is_other else pause

    def pause(self, host: str, error: ForgeError, *, token: str, at: datetime) -> None:
        """Leave a host alone after a failure: as long as it asked for, or twice as long after each failure in a row."""
        before = self._read_pause(host)
        failures = min(1 + (before.failures if before is not None else 0), _MOST_FAILURES)
        growing = min(_FIRST_PAUSE_SECONDS * 2.0 ** (failures - 1), _LONGEST_PAUSE_SECONDS)
        seconds = growing if error.wait_seconds is None else error.wait_seconds
        refused = _digest(token) if error.is_of_token else None
        self.pause_for(host, seconds, str(error), failures=failures, refused=refused, at=at)

    def pause_for(
        self, host: str, seconds: float, reason: str, *, failures: int = 0, refused: str | None = None, at: datetime
    ) -> None:
        """Leave a host alone for a time."""
        until = to_ms(at + timedelta(seconds=seconds))
        value = {"until": until, "failures": failures, "reason": reason, "refused": refused}
        self._kv.set(f"{PREFIX}host/{host}", value, ttl_seconds=seconds + 2 * _LONGEST_PAUSE_SECONDS)

    def end_pause(self, host: str) -> None:
        """Forget the failures of a host that answers."""
        self._kv.delete(f"{PREFIX}host/{host}")

    def _read_pause(self, host: str) -> Pause | None:
        match self._kv.get(f"{PREFIX}host/{host}"):
            case {"until": int(until), "failures": int(failures), "reason": str(reason), **more}:
                refused = more.get("refused")
                return Pause(
                    until_ms=until,
                    failures=max(failures, 0),
                    reason=reason,
                    refused=refused if isinstance(refused, str) else None,
                )
        return None


def _digest(token: str) -> str:
    """Return a part of a token's hash, which tells it from another one and does not reveal it."""
    return hashlib.sha256(token.encode()).hexdigest()[:_DIGEST_CHARACTERS]
