"""The doctor's checks of OpenCode, and their fixes."""

from __future__ import annotations

import json
import os
import signal
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import opencode_memory
from opencode_memory.cli import detach
from opencode_memory.hosts.opencode.setup import apply
from opencode_memory.hosts.opencode.setup.npm_stub import explain_wait
from support.command_line import CommandLine
from support.services import HEALTH, free_port, health_server
from support.trees import tree

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="the user of a socket is known only on Linux")
START = detach.start
RunDoctor = Callable[..., list[tuple[str, str, str | None]]]


@pytest.fixture
def cli(opencode_cli: CommandLine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> CommandLine:
    """The command line without an installed OpenCode; it starts no servers."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(detach, "start", lambda _: None)
    return opencode_cli


@pytest.fixture
def config_folder(tmp_path: Path) -> Path:
    """OpenCode's configuration folder."""
    return tmp_path / "config" / "opencode"


@pytest.fixture
def run_doctor(cli: CommandLine) -> RunDoctor:
    """Function that runs the doctor and returns level, text and hint of the named checks."""

    def ask(*subjects: str, options: tuple[str, ...] = ()) -> list[tuple[str, str, str | None]]:
        answer = cli("doctor", "--json", *options).json
        problems = [check for check in answer["checks"] if check["level"] == "problem"]
        assert answer["ok"] is not bool(problems)
        return [
            (check["level"], check["text"], check["hint"]) for check in answer["checks"] if check["name"] in subjects
        ]

    return ask


def write_opencode(folder: Path, says: str, *, then: str = "") -> None:
    """Write an `opencode` program that prints its version."""
    file = folder / "bin" / "opencode"
    file.write_text(f"#!/bin/sh\n{then}\necho '{says}'\n")
    file.chmod(0o755)


def test_missing_opencode_is_a_single_note(run_doctor: RunDoctor) -> None:
    assert run_doctor("opencode", "plugin", "npm", "server", "token") == [
        ("note", "`opencode` is not on the PATH", None)
    ]


@pytest.mark.parametrize(
    ("says", "level", "text"),
    [
        ("1.18.33", "ok", "OpenCode 1.18.33, "),
        ("opencode v1.0.2-beta.1", "ok", "OpenCode 1.0.2-beta.1, "),
        ("2.0.1", "note", "OpenCode 2.0.1: the plugin supports 1.x"),
        ("hello", "note", "does not report its version"),
    ],
)
def test_opencode_version_is_reported(run_doctor: RunDoctor, tmp_path: Path, says: str, level: str, text: str) -> None:
    write_opencode(tmp_path, says)
    found, plugin = run_doctor("opencode", "plugin")
    assert found[0] == level
    assert text in found[1]
    assert plugin == ("note", "the plugin is not installed", "opencode-memory setup")


def test_version_check_creates_no_folders(run_doctor: RunDoctor, tmp_path: Path) -> None:
    write_opencode(
        tmp_path, "1.18.33", then="PATH=/usr/bin:/bin; mkdir -p $XDG_CONFIG_HOME/opencode $XDG_DATA_HOME/opencode"
    )
    before = tree(tmp_path)
    assert run_doctor("opencode")[0][0] == "ok"
    assert tree(tmp_path) == before


def test_opencode_that_cannot_run_is_a_note(run_doctor: RunDoctor, tmp_path: Path) -> None:
    write_opencode(tmp_path, "", then="exit 3")
    assert run_doctor("opencode")[0][:1] == ("note",)
    (tmp_path / "bin" / "opencode").write_text("#!/nowhere\n")
    assert "does not report its version" in run_doctor("opencode")[0][1]


def test_intact_installation_is_ok(cli: CommandLine, run_doctor: RunDoctor, config_folder: Path) -> None:
    cli.ok("setup", "--agents", "code")
    version, port = opencode_memory.__version__, os.environ["OPENCODE_MEMORY_PORT"]
    plugin, server = run_doctor("plugin", "npm", "server", "token")
    assert plugin == ("ok", f"{config_folder / 'plugin'}, {version}, agents: code, tools: mcp", None)
    assert server == (
        "note",
        f"no server runs at http://127.0.0.1:{port}; the plugin starts it when needed",
        "opencode-memory serve --detach",
    )


def edit_manifest(file: Path, **values: Any) -> None:
    """Change a manifest and its receipt, as if another version had written both."""
    import hashlib

    text = json.dumps({**json.loads(file.read_text()), **values})
    file.write_text(text)
    receipt = file.with_name("opencode-memory.receipt.json")
    answer = json.loads(receipt.read_text())
    answer["files"]["plugin/opencode-memory.json"] = hashlib.sha256(text.encode()).hexdigest()
    receipt.write_text(json.dumps(answer))


def test_plugin_of_another_version_is_a_fixable_problem(
    cli: CommandLine, run_doctor: RunDoctor, config_folder: Path
) -> None:
    cli.ok("setup")
    edit_manifest(config_folder / "plugin" / "opencode-memory.json", version="0.0.1")
    [(level, text, hint)] = run_doctor("plugin")
    assert (level, hint) == ("problem", "opencode-memory setup")
    assert (
        text
        == f"the plugin in {config_folder / 'plugin'} has version 0.0.1, but {opencode_memory.__version__} is installed"
    )
    [(level, *_)] = run_doctor("plugin", options=("--fix",))
    assert level == "ok"


def test_plugin_with_outdated_settings_is_a_problem(
    cli: CommandLine, run_doctor: RunDoctor, config_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli.ok("setup")
    monkeypatch.setenv("OPENCODE_MEMORY_PORT", str(free_port()))
    [(level, text, hint)] = run_doctor("plugin")
    assert (level, hint) == ("problem", "opencode-memory setup")
    assert text.endswith("was installed with other settings than the current ones (start, url, mcp)")


def test_missing_plugin_file_or_python_is_a_problem(
    cli: CommandLine, run_doctor: RunDoctor, config_folder: Path
) -> None:
    cli.ok("setup")
    (config_folder / "plugin" / "opencode-memory.ts").unlink()
    [(level, text, _)] = run_doctor("plugin")
    assert (level, text) == ("problem", f"{config_folder / 'plugin'} is not complete: opencode-memory.ts is missing")
    cli.ok("setup")
    for start in (["/gone/python", "-P", "-m", "x"], ["/usr/bin/env", "A=b", "/gone/python", "-P"]):
        edit_manifest(config_folder / "plugin" / "opencode-memory.json", start=start)
        [(level, text, hint)] = run_doctor("plugin")
        assert (level, hint) == ("problem", "opencode-memory setup")
        assert text == "the plugin cannot start the server: /gone/python does not exist"
    cli.ok("doctor", "--fix")
    assert run_doctor("plugin")[0][0] == "ok"


def test_edited_plugin_is_a_problem_and_not_replaced(
    cli: CommandLine, run_doctor: RunDoctor, config_folder: Path
) -> None:
    cli.ok("setup")
    plugin = config_folder / "plugin" / "opencode-memory.ts"
    plugin.write_text("// mine")
    [(level, text, hint)] = run_doctor("plugin", options=("--fix",))
    assert level == "problem"
    assert "was not installed by opencode-memory, or was changed since" in text
    assert hint is not None
    assert hint.endswith("opencode-memory setup --force")
    assert plugin.read_text() == "// mine"


def test_two_installations_in_one_folder_are_a_problem(
    cli: CommandLine, repository: Path, run_doctor: RunDoctor, config_folder: Path
) -> None:
    cli.ok("setup", "--project")
    cli.ok("setup")
    *plugins, twice = run_doctor("plugin")
    assert [level for level, *_ in plugins] == ["ok", "ok"]
    assert twice == (
        "problem",
        f"OpenCode loads the plugin twice in this folder: from {config_folder} and from {cli.folder / '.opencode'}",
        "opencode-memory setup --project --undo",
    )


def test_fix_adds_npm_stub_to_project_folder(
    cli: CommandLine, repository: Path, run_doctor: RunDoctor, config_folder: Path
) -> None:
    cli.ok("setup")
    here = cli.folder / ".opencode"
    here.mkdir()
    [(level, text, hint)] = run_doctor("npm")
    assert (level, hint) == ("note", "opencode-memory setup")
    assert text == f"OpenCode waits for npm at startup because of {here}"
    assert run_doctor("npm", options=("--fix",)) == []
    assert explain_wait(here) is None
    cli.ok("setup", "--undo")
    assert list(here.iterdir()) == []


def test_fix_creates_no_second_installation(
    cli: CommandLine, run_doctor: RunDoctor, config_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli.ok("setup")
    mine = tmp_path / "mine"
    mine.mkdir()
    monkeypatch.setenv("OPENCODE_CONFIG_DIR", str(mine))
    assert run_doctor("npm", options=("--fix",)) == [
        ("note", f"OpenCode waits for npm at startup because of {mine}", None)
    ]
    assert list(mine.iterdir()) == []


def test_npm_files_of_user_stay_and_command_is_named(
    cli: CommandLine, run_doctor: RunDoctor, config_folder: Path
) -> None:
    config_folder.mkdir(parents=True)
    (config_folder / "package.json").write_text("{}")
    cli.ok("setup")
    [(level, text, hint)] = run_doctor("npm", options=("--fix",))
    assert level == "note"
    assert text == f"OpenCode waits for npm at startup because of {config_folder}: no packages are installed there"
    assert hint == f"npm install @opencode-ai/plugin  (in {config_folder})"


def test_other_plugin_that_needs_npm_is_a_problem(cli: CommandLine, run_doctor: RunDoctor, config_folder: Path) -> None:
    cli.ok("setup")
    theirs = config_folder / "plugin" / "theirs.ts"
    theirs.write_text('import { tool } from "@opencode-ai/plugin"')
    [(level, text, hint)] = run_doctor("npm")
    assert (level, hint) == ("problem", "opencode-memory setup")
    assert text.startswith(
        f"{theirs} imports @opencode-ai/plugin, but a stub in {config_folder} keeps OpenCode from installing it"
    )
    [(level, text, _)] = run_doctor("npm", options=("--fix",))
    assert (level, text) == (
        "note",
        f"OpenCode waits for npm at startup because of {config_folder}: theirs.ts imports @opencode-ai/plugin",
    )


def use_port(monkeypatch: pytest.MonkeyPatch, port: int, cli: CommandLine) -> None:
    monkeypatch.setenv("OPENCODE_MEMORY_PORT", str(port))
    cli.ok("setup")


def test_running_server_is_ok_and_its_token_is_checked(
    cli: CommandLine, run_doctor: RunDoctor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = tmp_path / "data" / "opencode-memory" / "store" / "server.token"
    with health_server({**HEALTH, "version": opencode_memory.__version__}) as port:
        use_port(monkeypatch, port, cli)
        token.unlink()
        server, missing = run_doctor("server", "token")
        assert server == (
            "ok",
            f"opencode-memory {opencode_memory.__version__} answers at http://127.0.0.1:{port}",
            None,
        )
        assert missing[0] == "problem"
        assert missing[1].startswith(f"{token} does not exist, so the server rejects the plugin")
        cli.ok("remember", "x")
        token.write_text("secret")
        token.chmod(0o644)
        [(level, text, hint)] = run_doctor("token")
        assert (level, text, hint) == ("problem", f"other users may read {token} (644)", f"chmod 600 {token}")
        assert run_doctor("token", options=("--fix",)) == []
    assert stat.S_IMODE(token.stat().st_mode) == 0o600


def test_all_checks_have_the_same_json_fields(cli: CommandLine) -> None:
    cli.ok("setup")
    checks = cli("doctor", "--json").json["checks"]
    assert {tuple(check) for check in checks} == {("name", "level", "text", "hint", "fixable")}
    assert [check["name"] for check in checks if check["fixable"]] == ["server"]


@pytest.mark.usefixtures("real_server")
def test_rejected_token_is_a_problem(cli: CommandLine, run_doctor: RunDoctor, tmp_path: Path) -> None:
    token = tmp_path / "data" / "opencode-memory" / "store" / "server.token"
    cli.ok("setup")
    cli.ok("doctor", "--fix")
    assert run_doctor("token") == []
    token.write_text("another")
    [(level, text, hint)] = run_doctor("token")
    assert (level, f"rejects the key in {token}" in text) == ("problem", True)
    assert "&& opencode-memory serve --detach" in str(hint)


def test_mcp_server_with_our_name_is_a_note(cli: CommandLine, run_doctor: RunDoctor, config_folder: Path) -> None:
    config_folder.mkdir(parents=True)
    file = config_folder / "opencode.jsonc"
    file.write_text('{ // mine\n "mcp": {"memory": {"type": "local", "command": ["npx", "server-memory"]},},\n}')
    cli.ok("setup")
    [(level, text, hint)] = run_doctor("mcp")
    assert (level, text) == (
        "note",
        f"{file} has another MCP server named 'memory', so our tools are not available",
    )
    assert "setup --tools plugin" in str(hint)
    cli.ok("setup", "--tools", "plugin")
    assert run_doctor("mcp") == []


@pytest.mark.parametrize(
    "server",
    [
        {"type": "local", "command": ["opencode-memory", "serve", "--stdio"]},
        {"type": "remote", "url": "http://127.0.0.1:PORT/mcp"},
    ],
)
def test_own_mcp_entry_of_user_is_accepted(
    cli: CommandLine, run_doctor: RunDoctor, config_folder: Path, server: dict[str, Any]
) -> None:
    config_folder.mkdir(parents=True)
    text = json.dumps({"mcp": {"memory": server}}).replace("PORT", os.environ["OPENCODE_MEMORY_PORT"])
    (config_folder / "opencode.json").write_text(text)
    cli.ok("setup")
    assert run_doctor("mcp") == []


@pytest.mark.parametrize("text", ["{", "[]", '{"mcp": 1}', "", '{"mcp": {"memory": 1}', "\x00"])
def test_unreadable_opencode_configuration_is_ignored(
    cli: CommandLine, run_doctor: RunDoctor, config_folder: Path, text: str
) -> None:
    config_folder.mkdir(parents=True)
    (config_folder / "opencode.json").write_text(text)
    cli.ok("setup")
    assert run_doctor("mcp") == []


@pytest.mark.parametrize(
    ("document", "status", "text"),
    [
        ({**HEALTH, "version": "0.0.1"}, 200, "has version 0.0.1, but "),
        ({**HEALTH, "version": opencode_memory.__version__}, 503, "the server reports a problem"),
        ({**HEALTH, "task_failed": True, "problems": ["broken"]}, 503, "the server refuses clients: broken"),
        ({"status": "ok"}, 200, "is held by another program"),
        ({"status": "ok", "server": "opencode-memory"}, 200, "is held by opencode-semantic-memory"),
    ],
)
def test_other_server_on_port_is_a_problem(
    cli: CommandLine, run_doctor: RunDoctor, monkeypatch: pytest.MonkeyPatch, document: dict, status: int, text: str
) -> None:
    with health_server(document, status=status) as port:
        use_port(monkeypatch, port, cli)
        [(level, answer, hint)] = run_doctor("server", options=("--fix",))
    assert (level, text in answer) == ("problem", True)
    assert "serve --detach" in str(hint) or "take another port" in str(hint)


@on_linux
def test_port_of_another_user_is_a_problem(
    cli: CommandLine, run_doctor: RunDoctor, monkeypatch: pytest.MonkeyPatch
) -> None:
    with health_server(HEALTH) as port:
        use_port(monkeypatch, port, cli)
        monkeypatch.setattr(os, "geteuid", lambda: 4_000_000_000)
        [(level, text, hint)] = run_doctor("server")
    assert level == "problem"
    assert "of the user " in text
    assert "take another port" in (hint or "")


@pytest.fixture
def real_server(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Allow a test to start a server in the background, and stop it afterwards."""
    monkeypatch.setattr(detach, "start", START)
    yield
    from opencode_memory.service.port_holder import find_port_holder

    holder = find_port_holder("127.0.0.1", int(os.environ["OPENCODE_MEMORY_PORT"]))
    assert holder is not None
    with suppress(ProcessLookupError):
        os.killpg(holder.pid, signal.SIGKILL)
    os.waitpid(holder.pid, 0)


@pytest.mark.usefixtures("real_server")
def test_fix_starts_server_and_sets_permissions(cli: CommandLine, tmp_path: Path) -> None:
    cli.ok("setup")
    cli.ok("remember", "x")
    data_dir = tmp_path / "data" / "opencode-memory" / "store"
    data_dir.chmod(0o755)
    assert cli("doctor").code == 1
    answer = cli.ok("doctor", "--fix").out
    assert [line.split()[1:] for line in answer.splitlines() if line.split()[1] == "fix"] == [
        ["fix", "chmod", "700", str(data_dir)],
        ["fix", "opencode-memory", "serve", "--detach"],
    ]
    assert f"answers at http://127.0.0.1:{os.environ['OPENCODE_MEMORY_PORT']}" in answer
    assert cli.ok("doctor", "--fix", "--json").json["fixes"] == []


def test_failed_fix_is_reported_and_others_are_applied(
    cli: CommandLine, run_doctor: RunDoctor, config_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli.ok("setup")
    (config_folder / "plugin" / "theirs.ts").write_text('import { z } from "zod"')

    def fail(*_: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(apply, "_apply_step", fail)
    answer = cli("doctor", "--fix", "--json").json
    assert [(fix["level"], fix["text"]) for fix in answer["fixes"]] == [
        ("problem", f"setup: cannot remove {config_folder / 'package.json'}: Read-only file system"),
        ("ok", "opencode-memory serve --detach"),
    ]
    assert answer["ok"] is False


def test_fix_with_recall_is_a_usage_error(cli: CommandLine) -> None:
    answer = cli("doctor", "--fix", "--recall")
    assert (answer.code, "--fix is not valid with --recall" in answer.err) == (2, True)


def test_sidebar_without_a_free_file_is_noted(cli: CommandLine, run_doctor: RunDoctor, config_folder: Path) -> None:
    config_folder.mkdir(parents=True)
    for name in ("tui.json", "tui.jsonc"):
        (config_folder / name).write_text('{"theme": "mine"}')
    cli.ok("setup")
    [(level, text, hint)] = run_doctor("sidebar")
    assert (level, "are both yours" in text) == ("note", True)
    assert hint is not None
    assert "tui.tsx" in hint
    (config_folder / "tui.jsonc").unlink()
    cli.ok("setup")
    assert run_doctor("sidebar") == []
