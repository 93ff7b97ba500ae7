"""``opencode-memory setup --undo`` and the server that the plugin started."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from opencode_memory.cli import stop as stop_command
from opencode_memory.config.load import load
from opencode_memory.server import stop
from opencode_memory.service.managed import Managed
from opencode_memory.service.server_record import find_server
from support.background import Background
from support.bridge import Plugin, until
from support.command_line import CommandLine


@pytest.fixture
def cli(opencode_cli: CommandLine) -> CommandLine:
    opencode_cli.ok("setup", "--digest", "off")
    return opencode_cli


@pytest.fixture
def background(cli: CommandLine) -> Iterator[Background]:
    """Commands in the same home as the command line."""
    running = Background(load(environment=dict(os.environ)))
    yield running
    running.close()


def count_plugins_at(background: Background) -> int | None:
    server = stop.find_running_server(background.config)
    assert server is not None
    return stop.count_plugins(background.config, server)


def is_running(background: Background) -> bool:
    return find_server(background.config.data_dir) is not None


def test_undo_stops_server_that_the_plugin_started(cli: CommandLine, background: Background) -> None:
    started = background.start()
    dry = cli.ok("setup", "--undo", "--dry-run")
    assert f"Would stop the server at {started['url']} (process {started['pid']})." in dry.err
    assert is_running(background)
    done = cli.ok("setup", "--undo")
    assert done.err == f"Stopped the server at {started['url']} (process {started['pid']}).\n"
    assert not is_running(background)


def test_undo_without_server_says_nothing_about_one(cli: CommandLine) -> None:
    assert cli.ok("setup", "--undo").err == ""


def test_json_of_undo_has_the_server(cli: CommandLine, background: Background) -> None:
    started = background.start()
    done = cli.ok("setup", "--undo", "--json")
    assert done.json["server"] == {"url": started["url"], "pid": started["pid"], "kept": None}


def test_undo_keeps_server_that_an_open_opencode_uses(cli: CommandLine, background: Background, tmp_path: Path) -> None:
    url = background.start()["url"]
    with Plugin(url, tmp_path, headers=background.credentials):
        until(lambda: count_plugins_at(background) == 1)
        done = cli.ok("setup", "--undo")
    assert "goes on: 1 open OpenCode uses it. To end it: opencode-memory stop" in done.err
    assert is_running(background)


def test_doctor_names_the_plugin_of_an_open_opencode_that_is_of_another_version(
    cli: CommandLine, background: Background, tmp_path: Path
) -> None:
    url = background.start()["url"]
    advice = "an open OpenCode still runs the plugin of version 0.0.1, but"
    with Plugin(url, tmp_path, headers=background.credentials, hello=False) as plugin:
        plugin.hello(version="0.0.1")
        until(lambda: count_plugins_at(background) == 1)
        told = cli("doctor").out
    assert advice in told
    assert "\n                      restart OpenCode\n" in told
    until(lambda: count_plugins_at(background) == 0)
    assert advice not in cli("doctor").out


def test_undo_keeps_server_that_does_not_tell_its_plugins(
    cli: CommandLine, background: Background, monkeypatch: pytest.MonkeyPatch
) -> None:
    background.start()
    monkeypatch.setattr(stop, "count_plugins", lambda *_: None)
    assert "it does not tell whether an OpenCode uses it" in cli.ok("setup", "--undo").err
    assert is_running(background)


def test_undo_keeps_server_of_a_service(
    cli: CommandLine, background: Background, monkeypatch: pytest.MonkeyPatch
) -> None:
    background.start()
    service = Managed(name="mine.service", stop="systemctl --user stop mine.service", is_ours=False)
    monkeypatch.setattr(stop_command, "find_managing_service", lambda *_: service)
    assert "is the service mine.service" in cli.ok("setup", "--undo").err
    assert is_running(background)


def test_undo_keeps_server_that_the_user_started(cli: CommandLine, background: Background) -> None:
    serving = background.begin("serve", "--no-worker")
    assert serving.stderr is not None
    assert "serves http://" in serving.stderr.readline()
    assert "goes on: the plugin did not start it" in cli.ok("setup", "--undo").err
    assert serving.poll() is None


@pytest.mark.usefixtures("repository")
def test_undo_in_project_keeps_server_of_the_global_plugin(cli: CommandLine, background: Background) -> None:
    background.start()
    cli.ok("setup", "--project", "--force")
    done = cli.ok("setup", "--project", "--undo")
    assert "goes on: the plugin in " in done.err
    assert is_running(background)


def test_undo_that_removes_nothing_stops_no_server(cli: CommandLine, background: Background) -> None:
    cli.ok("setup", "--undo")
    background.start()
    assert cli("setup", "--undo").code == 1
    assert is_running(background)
