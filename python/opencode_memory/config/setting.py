"""One configuration key: its purpose, its default and its valid values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from opencode_memory.config.value_kinds import FOLDER, ValueKind

PREFIX: Final = "OPENCODE_MEMORY_"


@dataclass(frozen=True, slots=True)
class Setting:
    """A configuration key.

    Attributes:
        key: Dotted name in the file. The environment variable is derived from it unless ``named`` is set.
        about: Purpose, in a few words.
        default: Returns the default value for an environment.
        kind: The valid values.
        named: The environment variable without its prefix, if it differs from the key.
        secret: Whether to hide the value in all output.
    """

    key: str
    about: str
    default: Callable[[Mapping[str, str]], Any]
    kind: ValueKind
    named: str | None = None
    secret: bool = False

    @property
    def variable(self) -> str:
        """The name of the environment variable."""
        return PREFIX + (self.named or self.key.replace(".", "_").upper())

    def read(self, written: Any, environment: Mapping[str, str]) -> Any:
        """Convert the written form of a value, and validate it.

        Raises:
            ValueError: If the value is invalid; the message describes the valid values.
        """
        value = self.kind.read(written)
        if value is None:
            raise ValueError(self.kind.accepts)
        return resolve_folder(value, environment) if self.kind is FOLDER else value


def resolve_folder(written: str, environment: Mapping[str, str]) -> Path:
    """Return an absolute path; a leading ``~`` is the home of that environment."""
    if written == "~" or written.startswith("~/"):
        written = environment.get("HOME", "~") + written[1:]
    return Path(written).absolute()


def always(value: Any) -> Callable[[Mapping[str, str]], Any]:
    """Return a default that does not depend on the environment."""
    return lambda _environment: value
