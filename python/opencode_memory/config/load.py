"""Builds the configuration: one frozen tree that also records the origin of each value.

Precedence, from lowest to highest: defaults, ``memory-config.jsonc``, ``memory.toml``, environment variables, options.
``settings.py`` lists all keys; an unknown key is an error with a suggestion. Errors in ``memory-config.jsonc``, which
another program also reads, become notices and never stop a command. Only this module reads ``os.environ``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from opencode_memory.config.embedding import EmbeddingConfig
from opencode_memory.config.forge import ForgeConfig
from opencode_memory.config.opencode_manager import Notice, find
from opencode_memory.config.paths import default_config_file
from opencode_memory.config.sections import (
    SECTIONS,
    BackupConfig,
    BriefConfig,
    Color,
    CompactionConfig,
    Files,
    IdentityConfig,
    InjectionConfig,
    KvConfig,
    LearningConfig,
    LoopConfig,
    MemoryFile,
    OpencodeConfig,
    RecallConfig,
    SandboxConfig,
    ServerConfig,
    SessionConfig,
    TerminalConfig,
)
from opencode_memory.config.setting import PREFIX, Setting, resolve_folder
from opencode_memory.config.settings import BY_KEY, REPLACED, SETTINGS
from opencode_memory.errors import ConfigError
from opencode_memory.text.suggest import did_you_mean, nearest

_OTHER_VARIABLES: Final = frozenset({f"{PREFIX}CONFIG", f"{PREFIX}LOOP_SHELL", f"{PREFIX}OWN_SHELL"})
"""Variables of this program that are no settings: the file, and those that a loop gives to its commands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """The whole configuration.

    Attributes:
        data_dir: Folder of the store.
        project: Name of the project; None to determine it from the folder.
        color: When to color the output.
        recall: Settings of recall.
        embedding: Settings of the embedder.
        kv: Settings of the key-value store.
        backup: Settings of backups.
        identity: Identity of the user.
        brief: Settings of the project brief.
        session: Settings of sessions and claims.
        learning: Settings of learning.
        injection: Settings of the memories that are added to messages in OpenCode.
        compaction: Settings of the memories that are added to compactions in OpenCode.
        opencode: Settings of the plugin in OpenCode.
        loop: Settings of plans and loops.
        sandbox: Settings of the sandbox of loops.
        forge: Settings of forges.
        server: Settings of the server.
        memory_file: Whether a project's memories are also kept in a file.
        max_memory_lines: Maximum number of lines in that file.
        files: Which memories are also kept as one Markdown file each.
        file: Path of the configuration file; it need not exist.
        memory_config: The ``memory-config.jsonc`` that was also read, if any.
        notices: Errors in that file, and keys without effect.
        origins: Key to ``default``, the name of that file, ``file``, or the name of a variable or an option.
        environment: The environment that the configuration was built from, for child processes.
    """

    data_dir: Path
    project: str | None
    color: Color
    recall: RecallConfig
    embedding: EmbeddingConfig
    kv: KvConfig
    backup: BackupConfig
    identity: IdentityConfig
    brief: BriefConfig
    session: SessionConfig
    learning: LearningConfig
    injection: InjectionConfig
    compaction: CompactionConfig
    opencode: OpencodeConfig
    loop: LoopConfig
    terminal: TerminalConfig
    sandbox: SandboxConfig
    forge: ForgeConfig
    server: ServerConfig
    memory_file: MemoryFile
    max_memory_lines: int
    files: Files
    file: Path
    memory_config: Path | None
    notices: tuple[Notice, ...]
    origins: Mapping[str, str]
    environment: Mapping[str, str]

    def value(self, key: str) -> Any:
        """Return the value of a dotted key."""
        found: Any = self
        for part in setting(key).key.split("."):
            found = getattr(found, part)
        return found


def environment() -> dict[str, str]:
    """Return the environment of this process."""
    return dict(os.environ)


def setting(key: str, *, origin: str = "option") -> Setting:
    """Return the setting of a key.

    Raises:
        ConfigError: If there is no such key; the hint names the nearest key.
    """
    if key not in BY_KEY:
        error = ConfigError(f"unknown configuration key {key!r} ({origin})", key=key, origin=origin)
        error.hint = f"{REPLACED[key]} replaces it" if key in REPLACED else did_you_mean(key, BY_KEY)
        raise error
    return BY_KEY[key]


def load(*, environment: Mapping[str, str], options: Mapping[str, str | None] | None = None) -> Config:
    """Build the configuration.

    Args:
        environment: Environment variables, for example those of ``environment``.
        options: Dotted key to the value of the command-line option; None if the option is absent.

    Raises:
        ConfigError: If a key is unknown, a value is invalid, or the file cannot be read.
    """
    file = config_file(environment)
    values = {setting.key: setting.default(environment) for setting in SETTINGS}
    origins = {setting.key: "default" for setting in SETTINGS}
    written_in_file = read_file(file)
    replaced = tuple(_report_replaced(written_in_file, environment))
    from_environment = {key: environment.get(setting.variable) or None for key, setting in BY_KEY.items()}
    in_file = {key: value for key, value in written_in_file.items() if key not in REPLACED}
    layers: tuple[tuple[Mapping[str, Any], Callable[[str], str]], ...] = (
        (in_file, lambda _: "file"),
        (from_environment, lambda key: BY_KEY[key].variable),
        (options or {}, lambda key: "--" + key.replace("_", "-").replace(".", "-")),
    )
    for layer, name_origin in layers:
        for key, written in layer.items():
            if written is not None:
                origins[key] = name_origin(key)
                # An error names the path, because the user has to edit the file.
                origin = str(file) if layer is in_file else origins[key]
                values[key] = validate(key, written, environment=environment, origin=origin)
    memory_config = find(environment)
    notices: tuple[Notice, ...] = ()
    if memory_config is not None:
        from opencode_memory.config.opencode_manager.read import read  # noqa: PLC0415  most users have no such file

        # Read the lowest layer last, because its log file depends on the data_dir that the other layers set.
        found = read(memory_config, environment=environment, data_dir=values["data_dir"])
        notices = found.notices
        for key, value in found.values.items():
            if origins[key] == "default":
                origins[key], values[key] = memory_config.name, value
    return Config(
        **{key: value for key, value in values.items() if "." not in key},
        **{name: kind(**_section(name, values)) for name, kind in SECTIONS.items()},
        file=file,
        memory_config=memory_config,
        notices=(*replaced, *_report_unknown_variables(environment), *notices),
        origins=MappingProxyType(origins),
        environment=MappingProxyType(dict(environment)),
    )


def _report_replaced(written: Mapping[str, Any], environment: Mapping[str, str]) -> Iterator[Notice]:
    """Yield a notice for each key of an earlier version that is set and has no effect."""
    for key, successor in REPLACED.items():
        variable = _variable_of(key)
        origin = "file" if key in written else variable if environment.get(variable) else None
        if origin is not None:
            hint = f"remove {key}"
            if successor.startswith("learning."):
                hint = f"a digest sends what you typed in a session; if you agree, set {successor}"
            yield Notice("note", key, f"{key} has no effect any more ({origin}); {successor} replaces it", hint)


def _report_unknown_variables(environment: Mapping[str, str]) -> Iterator[Notice]:
    """Yield a notice for each variable with our prefix that sets nothing, because its name may be mistyped."""
    known = {setting.variable for setting in SETTINGS}
    ignored = known | _OTHER_VARIABLES | {_variable_of(key) for key in REPLACED}
    for variable in sorted(name for name in environment if name.startswith(PREFIX) and name not in ignored):
        near = nearest(variable, map(str.lower, known))
        hint = "`opencode-memory config show` lists the settings" if near is None else f"did you mean {near.upper()}?"
        yield Notice("note", variable, f"{variable} sets nothing: no setting has this name", hint)


def _variable_of(key: str) -> str:
    return PREFIX + key.replace(".", "_").upper()


def _section(name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    prefix = f"{name}."
    return {key.removeprefix(prefix): value for key, value in values.items() if key.startswith(prefix)}


def config_file(environment: Mapping[str, str]) -> Path:
    """Return the path of the configuration file: ``$OPENCODE_MEMORY_CONFIG``, or the default path."""
    chosen = environment.get(PREFIX + "CONFIG", "").strip()
    return resolve_folder(chosen, environment) if chosen else default_config_file(environment)


def validate(key: str, written: Any, *, environment: Mapping[str, str], origin: str) -> Any:
    """Convert the written form of a key's value, and validate it.

    Raises:
        ConfigError: If the key is unknown or the value is invalid; the message names the origin.
    """
    known = setting(key, origin=origin)
    try:
        return known.read(written, environment)
    except ValueError as error:
        # Never show a secret, even if it is invalid: a secret with a typo still gives most of it away.
        shown = "invalid" if known.secret else repr(written)
        raise ConfigError(f"{key} is {shown} ({origin}); it must be {error}", key=key, origin=origin) from error


def read_file(file: Path) -> dict[str, Any]:
    """Return the dotted keys of a configuration file, or no keys if it does not exist.

    Raises:
        ConfigError: If the file cannot be read or is not TOML.
    """
    if not file.is_file():
        return {}
    import tomllib  # noqa: PLC0415  most users have no configuration file

    try:
        return _flatten(tomllib.loads(file.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"cannot read {file}: {error}", key="", origin=str(file)) from error


def _flatten(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in table.items():
        flat |= _flatten(value, f"{prefix}{name}.") if isinstance(value, dict) else {prefix + name: value}
    return flat
