"""The configuration: one frozen tree, built once, in which each value knows where it came from.

Defaults give way to the file, the file to the environment, the environment to options. Only keys that something reads
exist; an unknown one is an error with a suggestion. This is the only module that looks at ``os.environ``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from opencode_memory.errors import ConfigError
from opencode_memory.paths import default_config_file, default_data_dir
from opencode_memory.suggest import did_you_mean

PREFIX: Final = "OPENCODE_MEMORY_"
_DAY_SECONDS: Final = 86_400


class Color(StrEnum):
    """When output is coloured."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallConfig:
    """How many hits a recall gives."""

    limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingConfig:
    """How the bundled model runs; ``threads`` 0 means one for each core."""

    threads: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KvConfig:
    """How long a value of the key-value store lives by default; 0 means for ever."""

    default_ttl_seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupConfig:
    """How many backups made without a path are kept; 0 means all."""

    keep: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """The whole configuration.

    Attributes:
        data_dir: Folder of the store.
        project: Name of the project; None to find it from the folder.
        color: When output is coloured.
        recall: Settings of recall.
        embedding: Settings of the embedder.
        kv: Settings of the key-value store.
        backup: Settings of backups.
        file: Where the configuration file is, or would be.
        origins: Key to ``default``, ``file``, the name of an environment variable, or of an option.
        environment: The environment that the configuration was built from, for child processes.
    """

    data_dir: Path
    project: str | None
    color: Color
    recall: RecallConfig
    embedding: EmbeddingConfig
    kv: KvConfig
    backup: BackupConfig
    file: Path
    origins: Mapping[str, str]
    environment: Mapping[str, str]

    def value(self, key: str) -> Any:
        """Return the value of a dotted key."""
        found: Any = self
        for part in setting(key).key.split("."):
            found = getattr(found, part)
        return found


@dataclass(frozen=True, slots=True)
class Setting:
    """A key that may be configured.

    Attributes:
        key: Dotted name in the file; the environment variable follows from it.
        about: What it does, in a few words.
        default: From the environment to the value that holds when nobody sets the key.
        read: From what was written to the value; raises ``ValueError`` that says what is accepted.
    """

    key: str
    about: str
    default: Callable[[Mapping[str, str]], Any]
    read: Callable[[Any, Mapping[str, str]], Any]

    @property
    def variable(self) -> str:
        """Name of the environment variable."""
        return PREFIX + self.key.replace(".", "_").upper()


def _text(value: Any, _environment: Mapping[str, str]) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("a text that is not empty")
    return value.strip()


def _folder(value: Any, environment: Mapping[str, str]) -> Path:
    text = _text(value, environment)
    if text == "~" or text.startswith("~/"):
        text = environment.get("HOME", "~") + text[1:]
    return Path(text).absolute()


def _whole_number(least: int, most: int) -> Callable[[Any, Mapping[str, str]], int]:
    def read(value: Any, _environment: Mapping[str, str]) -> int:
        try:
            # True is an int in Python, but not a number in a configuration file.
            number = least - 1 if isinstance(value, bool | float) else int(value)
        except (TypeError, ValueError):
            number = least - 1
        if not least <= number <= most:
            raise ValueError(f"a whole number from {least} to {most}")
        return number

    return read


def _color(value: Any, _environment: Mapping[str, str]) -> Color:
    try:
        return Color(value)
    except ValueError as error:
        raise ValueError("auto, always or never") from error


def _default_color(environment: Mapping[str, str]) -> Color:
    return Color.NEVER if environment.get("NO_COLOR") else Color.AUTO


SETTINGS: Final = (
    Setting("data_dir", "folder of the store", default_data_dir, _folder),
    Setting("project", "project to use instead of the one of the folder", lambda _: None, _text),
    Setting("color", "auto, always or never; NO_COLOR is honoured", _default_color, _color),
    Setting("recall.limit", "hits of a recall", lambda _: 10, _whole_number(1, 1000)),
    Setting("embedding.threads", "threads of the embedder, 0 for all cores", lambda _: 0, _whole_number(0, 256)),
    Setting(
        "kv.default_ttl_seconds",
        "life of a key-value pair in seconds, 0 for ever",
        lambda _: 7 * _DAY_SECONDS,
        _whole_number(0, 10**10),
    ),
    Setting("backup.keep", "backups to keep, 0 for all", lambda _: 10, _whole_number(0, 10_000)),
)
_BY_KEY: Final = MappingProxyType({setting.key: setting for setting in SETTINGS})


def environment() -> dict[str, str]:
    """Return the environment of this process."""
    return dict(os.environ)


def setting(key: str, *, origin: str = "option") -> Setting:
    """Return the setting of a key.

    Raises:
        ConfigError: There is no such key; the hint names the nearest.
    """
    if key not in _BY_KEY:
        error = ConfigError(f"unknown configuration key {key!r} ({origin})", key=key, origin=origin)
        error.hint = did_you_mean(key, _BY_KEY)
        raise error
    return _BY_KEY[key]


def load(*, environment: Mapping[str, str], options: Mapping[str, str | None] | None = None) -> Config:
    """Build the configuration.

    Args:
        environment: Environment variables, such as those of ``environment``.
        options: Dotted key to what was given on the command line; None where nothing was.

    Raises:
        ConfigError: A key is unknown, a value is not acceptable, or the file cannot be read.
    """
    file = config_file(environment)
    values = {setting.key: setting.default(environment) for setting in SETTINGS}
    origins = {setting.key: "default" for setting in SETTINGS}
    from_environment = {key: environment.get(setting.variable) or None for key, setting in _BY_KEY.items()}
    layers: tuple[tuple[Mapping[str, Any], Callable[[str], str]], ...] = (
        (read_file(file), lambda _: "file"),
        (from_environment, lambda key: _BY_KEY[key].variable),
        (options or {}, lambda key: "--" + key.replace("_", "-").replace(".", "-")),
    )
    for layer, name_origin in layers:
        for key, written in layer.items():
            if written is not None:
                origins[key] = name_origin(key)
                values[key] = check(key, written, environment=environment, origin=origins[key])
    return Config(
        data_dir=values["data_dir"],
        project=values["project"],
        color=values["color"],
        recall=RecallConfig(limit=values["recall.limit"]),
        embedding=EmbeddingConfig(threads=values["embedding.threads"]),
        kv=KvConfig(default_ttl_seconds=values["kv.default_ttl_seconds"]),
        backup=BackupConfig(keep=values["backup.keep"]),
        file=file,
        origins=MappingProxyType(origins),
        environment=MappingProxyType(dict(environment)),
    )


def config_file(environment: Mapping[str, str]) -> Path:
    """Return the file that is read: ``$OPENCODE_MEMORY_CONFIG``, or the one in the XDG folder."""
    chosen = environment.get(PREFIX + "CONFIG")
    return _folder(chosen, environment) if chosen else default_config_file(environment)


def check(key: str, written: Any, *, environment: Mapping[str, str], origin: str) -> Any:
    """Turn what was written for a key into its value.

    Raises:
        ConfigError: The key is unknown or the value not acceptable; it says where that was written.
    """
    known = setting(key, origin=origin)
    try:
        return known.read(written, environment)
    except ValueError as error:
        raise ConfigError(f"{key} is {written!r} ({origin}); it must be {error}", key=key, origin=origin) from error


def read_file(file: Path) -> dict[str, Any]:
    """Return the dotted keys of a configuration file; none when it does not exist.

    Raises:
        ConfigError: The file cannot be read or is not TOML.
    """
    if not file.is_file():
        return {}
    import tomllib  # noqa: PLC0415  most people have no configuration file

    try:
        return _flatten(tomllib.loads(file.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"cannot read {file}: {error}", key="", origin=str(file)) from error


def _flatten(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in table.items():
        flat |= _flatten(value, f"{prefix}{name}.") if isinstance(value, dict) else {prefix + name: value}
    return flat
