"""A new server ends the server of its store that has another address or an older version."""

from __future__ import annotations

from typing import Any

import pytest

import opencode_memory
from opencode_memory.cli.detach import start
from opencode_memory.config.load import Config, load
from opencode_memory.errors import ConflictError
from opencode_memory.server.replace import end_replaced_server
from opencode_memory.service.managed import Managed
from opencode_memory.service.versions import is_older
from support.background import Background, health_of
from support.services import free_port


def at_port(config: Config, port: int) -> Config:
    return load(environment={**config.environment, "OPENCODE_MEMORY_PORT": str(port)})


def run_as_service(pid: int) -> Managed:
    return Managed(name="opencode-memory-serve", stop=f"stop {pid}", is_ours=True)


@pytest.fixture
def first(background: Background) -> Any:
    """The JSON of the start of a server at the configured port."""
    return background.start()


def test_changed_port_ends_the_server_at_the_earlier_port(background: Background, config: Config, first: Any) -> None:
    changed = at_port(config, free_port())
    second = background.start(OPENCODE_MEMORY_PORT=str(changed.server.port))
    old = {name: first[name] for name in ("pid", "url", "version")}
    assert (second["started"], second["replaced"]) == (True, old)
    assert (health_of(config), health_of(changed)["pid"]) == (None, second["pid"])


def test_output_names_ended_server_and_the_step_for_the_plugin(background: Background, first: Any) -> None:
    code, out, err = background.run("serve", "--detach", "--no-worker", OPENCODE_MEMORY_PORT=str(free_port()))
    assert code == 0
    assert out.startswith(f"Stopped the earlier server at {first['url']} (process {first['pid']}).\n")
    assert "opencode-memory setup" in err


def test_plugin_of_earlier_port_does_not_end_the_configured_server(
    background: Background, config: Config, first: Any
) -> None:
    # The plugin passes the port of its setup as an option.
    code, out, err = background.run("serve", "--detach", "--port", str(free_port()))
    assert (code, out) == (2, "")
    assert f"runs at {first['url']} (process {first['pid']})" in err
    assert "opencode-memory setup" in err
    assert health_of(config)["pid"] == first["pid"]


def test_service_at_another_address_is_not_ended(config: Config, first: Any) -> None:
    changed = at_port(config, free_port())
    with pytest.raises(ConflictError, match="is the service opencode-memory-serve"):
        end_replaced_server(changed, is_configured=True, find_service=run_as_service)
    assert health_of(config)["pid"] == first["pid"]


def test_newer_program_replaces_server_of_older_version(
    background: Background, config: Config, first: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert end_replaced_server(config, is_configured=True, find_service=lambda _: None) is None
    monkeypatch.setattr(opencode_memory, "__version__", "99.0.0")
    assert end_replaced_server(config, is_configured=True, find_service=run_as_service) is None
    assert health_of(config)["pid"] == first["pid"]
    replaced = end_replaced_server(config, is_configured=True, find_service=lambda _: None)
    assert replaced is not None
    assert replaced.server.pid == first["pid"]
    assert replaced.inherited is not None
    replaced.inherited.close()
    assert health_of(config) is None


def test_detached_start_replaces_older_version(config: Config, first: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opencode_memory, "__version__", "99.0.0")
    second = start(config, with_worker=False)
    assert second.replaced is not None
    assert (second.started, second.replaced.pid) == (True, first["pid"])
    assert health_of(config)["pid"] == second.pid


@pytest.mark.parametrize(
    ("version", "older"),
    [("0.0.1", True), ("0.0", True), ("99.0.0", False), (None, False), ("", False), ("0.0.1rc1", False), ("1", False)],
)
def test_only_release_numbers_are_compared(version: str | None, older: bool) -> None:
    assert is_older(version) is older
    assert is_older(opencode_memory.__version__) is False
