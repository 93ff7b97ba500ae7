"""The key-value store: JSON values that expire, in one namespace for each project."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any, Final

from opencode_memory.models import KvEntry
from opencode_memory.store import arguments, records

if TYPE_CHECKING:
    from opencode_memory._core import Engine

DEFAULT_TTL_SECONDS: Final = 7 * 24 * 3600.0


class KeyValues:
    """The key-value pairs of a store; ``MemoryStore.kv`` is one.

    Every method takes ``project``, by default the store's own. Without a project, the global namespace is meant.
    """

    def __init__(self, engine: Engine, project: str | None) -> None:
        self._engine = engine
        self._project = project

    def set(
        self, key: str, value: Any, *, ttl_seconds: float | None = DEFAULT_TTL_SECONDS, project: str | None = None
    ) -> tuple[str, ...]:
        """Set a value.

        Args:
            key: 1 to 512 characters.
            value: Any JSON value, at most 1 MiB as JSON.
            ttl_seconds: Its time to live; None if it never expires.
            project: Its namespace.

        Returns:
            Kinds of secrets that were redacted in it.

        Raises:
            InvalidInputError: The key, the value or the time to live is invalid.
        """
        life = (
            None if ttl_seconds is None else arguments.ttl_ms(arguments.number(ttl_seconds, field="ttl_seconds") or 0)
        )
        written = arguments.json_text(value, field="value")
        return tuple(self._engine.kv_set(self._namespace(project), arguments.text(key, field="key"), written, life))

    def get(self, key: str, default: Any = None, *, project: str | None = None) -> Any:
        """Return a live value, or ``default``."""
        found = self.entry(key, project=project)
        return default if found is None else found.value

    def entry(self, key: str, *, project: str | None = None) -> KvEntry | None:
        """Return a live value with its times, or None."""
        found = self._engine.kv_get(self._namespace(project), arguments.text(key, field="key"))
        return None if found is None else records.kv_entry(found)

    def list(self, prefix: str = "", *, project: str | None = None) -> builtins.list[KvEntry]:
        """Return live values whose key starts with ``prefix``, ordered by key."""
        found = self._engine.kv_list(self._namespace(project), arguments.text(prefix, field="prefix"))
        return [records.kv_entry(value) for value in found]

    def delete(self, key: str, *, project: str | None = None) -> bool:
        """Delete a value; return whether there was a live one."""
        return self._engine.kv_delete(self._namespace(project), arguments.text(key, field="key"))

    def _namespace(self, project: str | None) -> str | None:
        return self._project if project is None else arguments.text(project, field="project")
