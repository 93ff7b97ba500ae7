"""Command line and environment of the service."""

from __future__ import annotations

from pathlib import Path

import pytest

from opencode_memory.config.load import Config, load
from opencode_memory.errors import ConfigError, InvalidInputError
from opencode_memory.service.launch import config_of, plan_launch, require_interpreter

PYTHON = "/opt/python/bin/python3"
SERVE = (PYTHON, "-P", "-m", "opencode_memory.cli", "serve")


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path)}


def write_config(environment: dict[str, str], text: str) -> None:
    file = Path(environment["HOME"]) / ".config" / "opencode-memory" / "memory.toml"
    file.parent.mkdir(parents=True)
    file.write_text(text)


def test_launch_without_settings_has_no_options(home: dict[str, str]) -> None:
    launch = plan_launch(load(environment=home), python=PYTHON)
    assert launch.arguments == SERVE
    assert launch.environment == {}


def test_launch_has_options_and_variables_but_no_file_values(home: dict[str, str]) -> None:
    write_config(home, '[server]\nhost = "127.0.0.2"\nrate_limit = 5\n')
    environment = home | {
        "OPENCODE_MEMORY_PORT": "9911",
        "OPENCODE_MEMORY_SERVER_CROSS_PROJECT": "yes",
        "OPENCODE_MEMORY_SERVER_ALLOWED_HOSTS": "a.example, b.example",
        "OPENCODE_MEMORY_SERVER_LOG_FORMAT": "json",
    }
    launch = plan_launch(load(environment=environment, options={"data_dir": "/srv/memory"}), python=PYTHON)
    assert launch.arguments == (*SERVE, "--data-dir", "/srv/memory", "--port", "9911")
    assert launch.environment == {
        "OPENCODE_MEMORY_SERVER_CROSS_PROJECT": "true",
        "OPENCODE_MEMORY_SERVER_ALLOWED_HOSTS": "a.example,b.example",
        "OPENCODE_MEMORY_SERVER_LOG_FORMAT": "json",
    }


def test_variable_equal_to_file_value_is_omitted(home: dict[str, str]) -> None:
    write_config(home, '[server]\nport = 9911\napi_key = "k"\n')
    environment = home | {"OPENCODE_MEMORY_PORT": "9911", "OPENCODE_MEMORY_API_KEY": "k"}
    launch = plan_launch(load(environment=environment), python=PYTHON)
    assert (launch.arguments, dict(launch.environment)) == (SERVE, {})


def test_xdg_folders_of_shell_become_options(home: dict[str, str]) -> None:
    environment = home | {"XDG_DATA_HOME": "/data", "XDG_CONFIG_HOME": "/etc/jo"}
    launch = plan_launch(load(environment=environment), python=PYTHON)
    assert launch.arguments == (*SERVE, "--data-dir", "/data/opencode-memory/store")
    assert launch.environment == {"OPENCODE_MEMORY_CONFIG": "/etc/jo/opencode-memory/memory.toml"}


def test_project_and_color_are_omitted(home: dict[str, str]) -> None:
    environment = home | {"OPENCODE_MEMORY_PROJECT": "shop", "NO_COLOR": "1"}
    launch = plan_launch(load(environment=environment), python=PYTHON)
    assert (launch.arguments, dict(launch.environment)) == (SERVE, {})


@pytest.mark.parametrize("in_file", ["", '[server]\napi_key = "another"\n'])
def test_api_key_of_shell_is_refused_and_hidden(home: dict[str, str], in_file: str) -> None:
    write_config(home, in_file)
    config = load(environment=home | {"OPENCODE_MEMORY_API_KEY": "s3cret"})
    with pytest.raises(ConfigError, match="service files must not hold secrets") as caught:
        plan_launch(config, python=PYTHON)
    assert "[server] in " in str(caught.value.hint)
    assert "s3cret" not in f"{caught.value} {caught.value.hint}"


@pytest.mark.parametrize("path", ["/a\nExecStartPre=/bin/evil", "/a\x1b[31m", "/\udcff"])
def test_path_with_control_characters_is_refused(home: dict[str, str], path: str) -> None:
    with pytest.raises(InvalidInputError, match="a service file cannot hold"):
        plan_launch(load(environment=home, options={"data_dir": path}), python=PYTHON)


def test_port_zero_is_refused(home: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="needs a port that clients know"):
        plan_launch(load(environment=home | {"OPENCODE_MEMORY_PORT": "0"}), python=PYTHON)


def test_supervisor_defaults_yield_to_configuration(home: dict[str, str]) -> None:
    defaults = {"server.log_file": "/logs/serve.log"}
    launch = plan_launch(load(environment=home), python=PYTHON, defaults=defaults)
    assert launch.environment == {"OPENCODE_MEMORY_SERVER_LOG_FILE": "/logs/serve.log"}
    write_config(home, '[server]\nlog_file = "/mine.log"\n')
    assert plan_launch(load(environment=home), python=PYTHON, defaults=defaults).environment == {}


def test_service_configuration_equals_current_one(home: dict[str, str]) -> None:
    write_config(home, "[server]\nrate_limit = 5\n")
    environment = home | {
        "XDG_DATA_HOME": "/data",
        "OPENCODE_MEMORY_HOST": "::1",
        "OPENCODE_MEMORY_PORT": "9911",
        "OPENCODE_MEMORY_SERVER_ALLOWED_ORIGINS": "http://a,http://b",
        "OPENCODE_MEMORY_EMBEDDING_THREADS": "3",
        "OPENCODE_MEMORY_BOOT_PLANS": "off",
        "OPENCODE_MEMORY_SERVER_LOG_FILE": "/x y.log",
    }
    here = load(environment=environment)
    there = config_of(plan_launch(here, python=PYTHON), environment)
    for name in ("data_dir", "server", "embedding", "brief", "recall", "file"):
        assert _field(there, name) == _field(here, name)


@pytest.mark.parametrize("python", [None, "", "python3"])
def test_unknown_interpreter_path_is_refused(python: str | None) -> None:
    with pytest.raises(InvalidInputError, match="cannot be started in the background"):
        require_interpreter(python)


def _field(config: Config, name: str) -> object:
    return getattr(config, name)
