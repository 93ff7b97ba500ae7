"""``opencode-memory config``: shows the configuration with the origin of each value, and changes it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from opencode_memory.cli.command import Group, command
from opencode_memory.cli.context import Invocation
from opencode_memory.cli.output import Styled, dim
from opencode_memory.config.load import Config, config_file, environment
from opencode_memory.config.setting import Setting
from opencode_memory.config.settings import BY_KEY, SETTINGS
from opencode_memory.errors import ConfigError

_COLORS: Final = {"error": "red", "note": "yellow"}


@command("show")
def show(run: Invocation) -> None:
    """Show each value and its origin."""
    config = run.config
    if run.out.as_json:
        values = {
            setting.key: {"value": _public_value(config, setting), "origin": config.origins[setting.key]}
            for setting in SETTINGS
        }
        files = {"file": config.file, "memory_config": config.memory_config}
        run.out.json({**files, "values": values, "notices": config.notices})
        return
    run.out.line(dim(str(config.file)))
    if config.memory_config is not None:
        run.out.line(dim(str(config.memory_config)))
    rows = [
        (setting.key, _format_value(_public_value(config, setting)), config.origins[setting.key])
        for setting in SETTINGS
    ]
    run.out.table(rows, cut=False)
    for notice in config.notices:
        run.out.line(Styled(f"{notice.level:<7}", color=_COLORS[notice.level]), notice.text)
        if notice.hint is not None:
            run.out.line(dim(f"{'':<7}{notice.hint}"))


@command("path")
def path(run: Invocation) -> None:
    """Print the path of the configuration file, which need not exist."""
    file = _find_file(run)
    if run.out.as_json:
        run.out.json({"file": file, "exists": file.exists()})
    else:
        run.out.line(str(file))


@command("set")
@click.argument("key")
@click.argument("value", required=False)
@click.option("--default", "unset", is_flag=True, help="Remove KEY from the file, so that its default applies.")
def set_(run: Invocation, *, key: str, value: str | None, unset: bool) -> None:
    """Set KEY in the configuration file, and keep its comments."""
    from opencode_memory.config.edit import set_value, unset_value  # noqa: PLC0415  loads tomlkit

    if unset == (value is not None):
        raise click.UsageError("give a value, or --default", click.get_current_context())
    file = _find_file(run)
    if value is None:
        unset_value(file, key)
    else:
        set_value(file, key, value, environment=run.config.environment)
    if run.out.as_json:
        run.out.json({"file": file, "key": key})
    else:
        shown = "set" if value is not None and BY_KEY[key].secret else f"set to {value}"
        run.out.line(f"{key} is {shown if value is not None else 'at its default'} in {file}")


config: Final = Group("config", help="Show and change the configuration.", commands=[show, path, set_])


def _find_file(run: Invocation) -> Path:
    """Return the path of the configuration file, also if a value in it is invalid, so that the user can correct it."""
    try:
        return run.config.file
    except ConfigError:
        run.use_defaults()
        return config_file(environment())


def _public_value(config: Config, setting: Setting) -> object:
    """Return the value of a key, or "(set)" for a secret."""
    value = config.value(setting.key)
    return "(set)" if setting.secret and value is not None else value


def _format_value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()  # As `config set` and the file have it.
    return "" if value is None else ", ".join(value) if isinstance(value, tuple) else str(value)
