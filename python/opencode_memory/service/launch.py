"""Builds the command line and the environment of the service.

A service does not inherit the shell of the user who installs it. So the configuration is built a second time with only
the home folder, as the service sees it. Values that differ are passed to the service as options and variables. Values
from the configuration file are not passed, because the service reads that file itself.
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
from opencode_memory.config.setting import PREFIX, Setting
from opencode_memory.config.settings import SETTINGS
from opencode_memory.errors import ConfigError, InvalidInputError

_CONFIG: Final = PREFIX + "CONFIG"
_OPTIONS: Final = MappingProxyType({"data_dir": "--data-dir", "server.host": "--host", "server.port": "--port"})
# Settings of the shell and the terminal: one resident server serves all projects, and prints no colors.
_LEFT_BEHIND: Final = frozenset({"project", "color"})
_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})
# Neither a unit nor a property list can hold these characters. A line break would even start another setting.
_UNFIT: Final = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """Command line and environment of the service.

    Attributes:
        arguments: The absolute path of the program, and its arguments.
        environment: All variables that are set for the service.
    """

    arguments: tuple[str, ...]
    environment: Mapping[str, str]


def plan_launch(
    config: Config, *, python: str, defaults: Mapping[str, str] = _NOTHING, home_variable: str = "HOME"
) -> Launch:
    """Build the command line that starts the running program as a service.

    Args:
        config: The current configuration, with the environment and the options.
        python: Absolute path of the running program's interpreter.
        defaults: Defaults of configuration keys that apply to the service alone.
        home_variable: The variable that tells a service its home folder.

    Raises:
        ConfigError: If a secret comes from the environment, which a service does not inherit, or the port is 0.
        InvalidInputError: If a path contains characters that a service file cannot hold.
    """
    home = _home(config.environment, home_variable)
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
            "server.port is 0 (any free port), but a service needs a port that clients know",
            key="server.port",
            origin=config.origins["server.port"],
        )
    # Services start in the home folder. Without -P, a file there could shadow a Python module.
    arguments = (python, "-P", "-m", "opencode_memory.cli", "serve", *options)
    for text in (*arguments, *environment.values()):
        _validate_text(text)
    return Launch(arguments=arguments, environment=MappingProxyType(environment))


def config_of(launch: Launch, environment: Mapping[str, str], *, home_variable: str = "HOME") -> Config:
    """Build the configuration as the service sees it.

    Args:
        launch: Command line and environment of the service.
        environment: The current environment, whose home folder the service shares.
        home_variable: The variable that tells a service its home folder.

    Raises:
        ConfigError: As for every configuration.
    """
    home = _home(environment, home_variable)
    options = {key: _find_option(launch.arguments, name) for key, name in _OPTIONS.items()}
    return load(environment={**home, **launch.environment}, options=options)


def _home(environment: Mapping[str, str], variable: str) -> dict[str, str]:
    return {variable: environment[variable]} if variable in environment else {}


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
        f"{setting.key} comes from {origin}, which a service does not inherit, and service files must not hold secrets",
        key=setting.key,
        origin=origin,
    )
    error.hint = f"put `{name} = ...` with the same value under [{section}] in {config.file}, readable only by you"
    return error


def _validate_text(text: str) -> None:
    if _UNFIT.search(text):
        raise InvalidInputError(f"{text!r} contains characters that a service file cannot hold", field="path")


def require_interpreter(python: str | None) -> str:
    """Return the path of the running interpreter, and require that it is known.

    Raises:
        InvalidInputError: If Python does not know its own path, for example if it is embedded in another program.
    """
    if not python or not Path(python).is_absolute():
        raise InvalidInputError(
            "Python does not know the path of its own program, so it cannot be started in the background", field="path"
        )
    return python
