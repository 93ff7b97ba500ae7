"""What a service starts, and with which settings.

A service does not inherit the shell of the person who installs it. So the configuration is built once as the service
will see it, with the home alone, and what is different here is carried along; what the configuration file says is not,
since the service reads that file itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from opencode_memory.config.load import Config, load
from opencode_memory.config.paths import default_config_file
from opencode_memory.config.settings import PREFIX, SETTINGS, Setting
from opencode_memory.errors import ConfigError, InvalidInputError

_CONFIG: Final = PREFIX + "CONFIG"
_OPTIONS: Final = MappingProxyType({"data_dir": "--data-dir", "server.host": "--host", "server.port": "--port"})
# They belong to the shell and the terminal: one resident server serves all projects, and paints nothing.
_LEFT_BEHIND: Final = frozenset({"project", "color"})
_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})
# Neither a unit nor a property list can hold them; a line break would even begin a setting of its own.
_UNFIT: Final = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """What is started.

    Attributes:
        arguments: The program, by its absolute path, and its arguments.
        environment: What is set for it, and nothing else of the environment here.
    """

    arguments: tuple[str, ...]
    environment: Mapping[str, str]


def plan_launch(config: Config, *, python: str, defaults: Mapping[str, str] = _NOTHING) -> Launch:
    """Work out how the running program is started as a service.

    Args:
        config: The configuration here, with the environment and the options.
        python: The interpreter of the running program, by its absolute path.
        defaults: Key to what holds for the service when nobody configures that key.

    Raises:
        ConfigError: A secret is in the environment, which no service inherits, or the port is any free one.
        InvalidInputError: A path holds characters that no service file can hold.
    """
    home = {"HOME": config.environment["HOME"]} if "HOME" in config.environment else {}
    environment: dict[str, str] = {}
    if config.file != default_config_file(home):
        environment[_CONFIG] = str(config.file)
    inherited = load(environment={**home, **environment})
    options: list[str] = []
    for setting in SETTINGS:
        value = config.value(setting.key)
        if config.origins[setting.key] == "default":
            value = defaults.get(setting.key, value)
        if setting.key in _LEFT_BEHIND or value is None or value == inherited.value(setting.key):
            continue
        if setting.secret:
            raise _secret_error(setting, config)
        if setting.key in _OPTIONS:
            options += [_OPTIONS[setting.key], str(value)]
        else:
            environment[setting.variable] = _format_value(value)
    if config.server.port == 0:
        raise ConfigError(
            "server.port is 0, any free port; a service needs one that clients know",
            key="server.port",
            origin=config.origins["server.port"],
        )
    # -P: without it a file of the home, in which services start, could take the place of a module.
    arguments = (python, "-P", "-m", "opencode_memory.cli", "serve", *options)
    for text in (*arguments, *environment.values()):
        _validate_text(text)
    return Launch(arguments=arguments, environment=MappingProxyType(environment))


def config_of(launch: Launch, environment: Mapping[str, str]) -> Config:
    """Build the configuration as the service sees it.

    Args:
        launch: How it is started.
        environment: The environment here, of which the service shares the home.

    Raises:
        ConfigError: As for every configuration.
    """
    home = {"HOME": environment["HOME"]} if "HOME" in environment else {}
    options = {key: _find_option(launch.arguments, name) for key, name in _OPTIONS.items()}
    return load(environment={**home, **launch.environment}, options=options)


def _find_option(arguments: Sequence[str], name: str) -> str | None:
    return next((value for option, value in pairwise(arguments) if option == name), None)


def _format_value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(value) if isinstance(value, tuple) else str(value)


def _secret_error(setting: Setting, config: Config) -> ConfigError:
    origin = config.origins[setting.key]
    section, _, name = setting.key.rpartition(".")
    error = ConfigError(
        f"{setting.key} comes from {origin}, which a service does not see, and no service file may hold a secret",
        key=setting.key,
        origin=origin,
    )
    error.hint = f"put `{name} = ...` with the same value under [{section}] in {config.file}, for your eyes alone"
    return error


def _validate_text(text: str) -> None:
    if _UNFIT.search(text):
        raise InvalidInputError(f"{text!r} holds characters that no service file can hold", field="path")


def require_interpreter(python: str | None) -> str:
    """Return the interpreter that runs this, or say that it is not known.

    Raises:
        InvalidInputError: Python does not know where it is, as when it is embedded in another program.
    """
    if not python or not Path(python).is_absolute():
        raise InvalidInputError(
            "Python does not say where its own program is, so no service can start it", field="path"
        )
    return python
