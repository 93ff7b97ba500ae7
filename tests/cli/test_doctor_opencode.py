"""What the doctor finds in OpenCode, what it says about it, and what it mends."""

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

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="whose a socket is can be told on Linux only")
START = detach.start
Say = Callable[..., list[tuple[str, str, str | None]]]


@pytest.fixture
def cli(cli: CommandLine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> CommandLine:
    """The command line where no OpenCode is, the server's port is free, and nobody starts one."""
    for name in ("OPENCODE_CONFIG_DIR", "OPENCODE_DISABLE_PROJECT_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("OPENCODE_MEMORY_PORT", str(free_port()))
    monkeypatch.setattr(detach, "start", lambda _: None)
    return cli


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """OpenCode's folder of configuration."""
    return tmp_path / "config" / "opencode"


@pytest.fixture
def say(cli: CommandLine) -> Say:
    """Return what the doctor says of some subjects: level, text, hint."""

    def ask(*subjects: str, options: tuple[str, ...] = ()) -> list[tuple[str, str, str | None]]:
        answer = cli("doctor", "--json", *options).json
        problems = [check for check in answer["checks"] if check["level"] == "problem"]
        assert answer["ok"] is not bool(problems)
        return [(one["level"], one["text"], one["hint"]) for one in answer["checks"] if one["name"] in subjects]

    return ask


def program(folder: Path, says: str, *, then: str = "") -> None:
    """Put an `opencode` on the path that says its version."""
    file = folder / "bin" / "opencode"
    file.write_text(f"#!/bin/sh\n{then}\necho '{says}'\n")
    file.chmod(0o755)


def repository(folder: Path) -> None:
    (folder / ".git" / "refs").mkdir(parents=True)
    (folder / ".git" / "objects").mkdir()
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")


def test_whoever_has_no_opencode_gets_a_note_and_no_more(say: Say) -> None:
    assert say("opencode", "plugin", "npm", "server", "token") == [("note", "`opencode` is not on the PATH", None)]


@pytest.mark.parametrize(
    ("says", "level", "text"),
    [
        ("1.18.33", "ok", "OpenCode 1.18.33, "),
        ("opencode v1.0.2-beta.1", "ok", "OpenCode 1.0.2-beta.1, "),
        ("2.0.1", "note", "OpenCode 2.0.1: the plugin supports 1.x"),
        ("hello", "note", "does not report its version"),
    ],
)
def test_the_version_of_opencode_is_looked_at(say: Say, tmp_path: Path, says: str, level: str, text: str) -> None:
    program(tmp_path, says)
    found, plugin = say("opencode", "plugin")
    assert found[0] == level
    assert text in found[1]
    assert plugin == ("note", "the plugin is not installed", "opencode-memory setup")


def test_asking_for_the_version_leaves_no_folders_where_opencode_has_never_run(say: Say, tmp_path: Path) -> None:
    program(tmp_path, "1.18.33", then="PATH=/usr/bin:/bin; mkdir -p $XDG_CONFIG_HOME/opencode $XDG_DATA_HOME/opencode")
    before = tree(tmp_path)
    assert say("opencode")[0][0] == "ok"
    assert tree(tmp_path) == before


def test_a_program_that_cannot_be_run_is_a_note(say: Say, tmp_path: Path) -> None:
    program(tmp_path, "", then="exit 3")
    assert say("opencode")[0][:1] == ("note",)
    (tmp_path / "bin" / "opencode").write_text("#!/nowhere\n")
    assert "does not report its version" in say("opencode")[0][1]


def test_what_is_as_it_should_be_is_said_to_be(cli: CommandLine, say: Say, own: Path) -> None:
    cli.ok("setup", "--agents", "code")
    version, port = opencode_memory.__version__, os.environ["OPENCODE_MEMORY_PORT"]
    plugin, server = say("plugin", "npm", "server", "token")
    assert plugin == ("ok", f"{own / 'plugin'}, {version}, agents: code, tools: mcp", None)
    assert server == (
        "note",
        f"no server runs at http://127.0.0.1:{port}; the plugin starts it when needed",
        "opencode-memory serve --detach",
    )


def edit(file: Path, **values: Any) -> None:
    """Change a manifest together with its receipt, as another version of this program would have written both."""
    import hashlib

    text = json.dumps({**json.loads(file.read_text()), **values})
    file.write_text(text)
    receipt = file.with_name("opencode-memory.receipt.json")
    said = json.loads(receipt.read_text())
    said["files"]["plugin/opencode-memory.json"] = hashlib.sha256(text.encode()).hexdigest()
    receipt.write_text(json.dumps(said))


def test_a_plugin_of_another_version_is_a_problem_that_setup_mends(cli: CommandLine, say: Say, own: Path) -> None:
    cli.ok("setup")
    edit(own / "plugin" / "opencode-memory.json", version="0.0.1")
    [(level, text, hint)] = say("plugin")
    assert (level, hint) == ("problem", "opencode-memory setup")
    assert text == f"the plugin in {own / 'plugin'} has version 0.0.1, but {opencode_memory.__version__} is installed"
    [(level, *_)] = say("plugin", options=("--fix",))
    assert level == "ok"


def test_other_settings_than_the_plugin_goes_by_are_a_problem(
    cli: CommandLine, say: Say, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli.ok("setup")
    monkeypatch.setenv("OPENCODE_MEMORY_PORT", str(free_port()))
    [(level, text, hint)] = say("plugin")
    assert (level, hint) == ("problem", "opencode-memory setup")
    assert text.endswith("was installed with other settings than the current ones (start, url, mcp)")


def test_a_missing_file_and_a_python_that_is_gone_are_problems(cli: CommandLine, say: Say, own: Path) -> None:
    cli.ok("setup")
    (own / "plugin" / "opencode-memory.ts").unlink()
    [(level, text, _)] = say("plugin")
    assert (level, text) == ("problem", f"{own / 'plugin'} is not complete: opencode-memory.ts is missing")
    cli.ok("setup")
    for start in (["/gone/python", "-P", "-m", "x"], ["/usr/bin/env", "A=b", "/gone/python", "-P"]):
        edit(own / "plugin" / "opencode-memory.json", start=start)
        [(level, text, hint)] = say("plugin")
        assert (level, hint) == ("problem", "opencode-memory setup")
        assert text == "the plugin cannot start the server: /gone/python does not exist"
    cli.ok("doctor", "--fix")
    assert say("plugin")[0][0] == "ok"


def test_an_edited_plugin_is_a_problem_that_nobody_mends_unasked(cli: CommandLine, say: Say, own: Path) -> None:
    cli.ok("setup")
    plugin = own / "plugin" / "opencode-memory.ts"
    plugin.write_text("// mine")
    [(level, text, hint)] = say("plugin", options=("--fix",))
    assert level == "problem"
    assert "was not installed by opencode-memory, or was changed since" in text
    assert hint is not None
    assert hint.endswith("opencode-memory setup --force")
    assert plugin.read_text() == "// mine"


def test_two_installations_that_opencode_loads_at_once_are_a_problem(cli: CommandLine, say: Say, own: Path) -> None:
    repository(cli.folder)
    cli.ok("setup", "--project")
    cli.ok("setup")
    *plugins, twice = say("plugin")
    assert [level for level, *_ in plugins] == ["ok", "ok"]
    assert twice == (
        "problem",
        f"OpenCode loads the plugin twice in this folder: from {own} and from {cli.folder / '.opencode'}",
        "opencode-memory setup --project --undo",
    )


def test_a_folder_that_npm_would_be_waited_for_gets_its_stub_from_the_doctor(
    cli: CommandLine, say: Say, own: Path
) -> None:
    repository(cli.folder)
    cli.ok("setup")
    here = cli.folder / ".opencode"
    here.mkdir()
    [(level, text, hint)] = say("npm")
    assert (level, hint) == ("note", "opencode-memory setup")
    assert text == f"OpenCode waits for npm at startup because of {here}"
    assert say("npm", options=("--fix",)) == []
    assert explain_wait(here) is None
    cli.ok("setup", "--undo")
    assert list(here.iterdir()) == []


def test_no_second_installation_comes_of_a_fix(
    cli: CommandLine, say: Say, own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli.ok("setup")
    mine = tmp_path / "mine"
    mine.mkdir()
    monkeypatch.setenv("OPENCODE_CONFIG_DIR", str(mine))
    assert say("npm", options=("--fix",)) == [("note", f"OpenCode waits for npm at startup because of {mine}", None)]
    assert list(mine.iterdir()) == []


def test_npm_files_of_the_person_are_left_and_the_command_is_told(cli: CommandLine, say: Say, own: Path) -> None:
    own.mkdir(parents=True)
    (own / "package.json").write_text("{}")
    cli.ok("setup")
    [(level, text, hint)] = say("npm", options=("--fix",))
    assert level == "note"
    assert text == f"OpenCode waits for npm at startup because of {own}: no packages are installed there"
    assert hint == f"npm install @opencode-ai/plugin  (in {own})"


def test_a_plugin_that_needs_npm_beside_our_stub_is_a_problem(cli: CommandLine, say: Say, own: Path) -> None:
    cli.ok("setup")
    theirs = own / "plugin" / "theirs.ts"
    theirs.write_text('import { tool } from "@opencode-ai/plugin"')
    [(level, text, hint)] = say("npm")
    assert (level, hint) == ("problem", "opencode-memory setup")
    assert text.startswith(
        f"{theirs} imports @opencode-ai/plugin, but a stub in {own} keeps OpenCode from installing it"
    )
    [(level, text, _)] = say("npm", options=("--fix",))
    assert (level, text) == (
        "note",
        f"OpenCode waits for npm at startup because of {own}: theirs.ts imports @opencode-ai/plugin",
    )


def served(monkeypatch: pytest.MonkeyPatch, port: int, cli: CommandLine) -> None:
    monkeypatch.setenv("OPENCODE_MEMORY_PORT", str(port))
    cli.ok("setup")


def test_a_server_that_answers_is_well_and_its_token_is_looked_at(
    cli: CommandLine, say: Say, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = tmp_path / "data" / "opencode-memory" / "store" / "server.token"
    with health_server({**HEALTH, "version": opencode_memory.__version__}) as port:
        served(monkeypatch, port, cli)
        token.unlink()
        server, missing = say("server", "token")
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
        [(level, text, hint)] = say("token")
        assert (level, text, hint) == ("problem", f"other users may read {token} (644)", f"chmod 600 {token}")
        assert say("token", options=("--fix",)) == []
    assert stat.S_IMODE(token.stat().st_mode) == 0o600


def test_each_check_has_the_same_fields_in_json(cli: CommandLine) -> None:
    cli.ok("setup")
    checks = cli("doctor", "--json").json["checks"]
    assert {tuple(check) for check in checks} == {("name", "level", "text", "hint", "fixable")}
    assert [check["name"] for check in checks if check["fixable"]] == ["server"]


@pytest.mark.usefixtures("ends")
def test_a_key_that_the_server_does_not_take_is_a_problem(cli: CommandLine, say: Say, tmp_path: Path) -> None:
    token = tmp_path / "data" / "opencode-memory" / "store" / "server.token"
    cli.ok("setup")
    cli.ok("doctor", "--fix")
    assert say("token") == []
    token.write_text("another")
    [(level, text, hint)] = say("token")
    assert (level, f"rejects the key in {token}" in text) == ("problem", True)
    assert "&& opencode-memory serve --detach" in str(hint)


def test_a_server_of_the_person_that_has_the_name_of_ours_is_told(cli: CommandLine, say: Say, own: Path) -> None:
    own.mkdir(parents=True)
    file = own / "opencode.jsonc"
    file.write_text('{ // mine\n "mcp": {"memory": {"type": "local", "command": ["npx", "server-memory"]},},\n}')
    cli.ok("setup")
    [(level, text, hint)] = say("mcp")
    assert (level, text) == (
        "note",
        f"{file} has another MCP server named 'memory', so our tools are not available",
    )
    assert "setup --tools plugin" in str(hint)
    cli.ok("setup", "--tools", "plugin")
    assert say("mcp") == []


@pytest.mark.parametrize(
    "server",
    [
        {"type": "local", "command": ["opencode-memory", "serve", "--stdio"]},
        {"type": "remote", "url": "http://127.0.0.1:PORT/mcp"},
    ],
)
def test_a_server_of_the_person_that_is_ours_is_what_they_want(
    cli: CommandLine, say: Say, own: Path, server: dict[str, Any]
) -> None:
    own.mkdir(parents=True)
    text = json.dumps({"mcp": {"memory": server}}).replace("PORT", os.environ["OPENCODE_MEMORY_PORT"])
    (own / "opencode.json").write_text(text)
    cli.ok("setup")
    assert say("mcp") == []


@pytest.mark.parametrize("text", ["{", "[]", '{"mcp": 1}', "", '{"mcp": {"memory": 1}', "\x00"])
def test_a_configuration_of_opencode_that_cannot_be_read_is_not_our_business(
    cli: CommandLine, say: Say, own: Path, text: str
) -> None:
    own.mkdir(parents=True)
    (own / "opencode.json").write_text(text)
    cli.ok("setup")
    assert say("mcp") == []


@pytest.mark.parametrize(
    ("document", "status", "text"),
    [
        ({**HEALTH, "version": "0.0.1"}, 200, "has version 0.0.1, but "),
        ({**HEALTH, "version": opencode_memory.__version__}, 503, "the server reports a problem"),
        ({"status": "ok"}, 200, "is held by another program"),
        ({"status": "ok", "server": "opencode-memory"}, 200, "is held by opencode-semantic-memory"),
    ],
)
def test_a_server_that_is_not_the_right_one_is_a_problem(
    cli: CommandLine, say: Say, monkeypatch: pytest.MonkeyPatch, document: dict, status: int, text: str
) -> None:
    with health_server(document, status=status) as port:
        served(monkeypatch, port, cli)
        [(level, said, hint)] = say("server", options=("--fix",))
    assert (level, text in said) == ("problem", True)
    assert "serve --detach" in str(hint) or "take another port" in str(hint)


@on_linux
def test_a_port_held_by_another_user_is_explained(cli: CommandLine, say: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    with health_server(HEALTH) as port:
        served(monkeypatch, port, cli)
        monkeypatch.setattr(os, "getuid", lambda: 4_000_000_000)
        [(level, text, hint)] = say("server")
    assert level == "problem"
    assert "of the user " in text
    assert "take another port" in (hint or "")


@pytest.fixture
def ends(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let a test start a server in the background, and end it."""
    monkeypatch.setattr(detach, "start", START)
    yield
    from opencode_memory.service.port_holder import find_port_holder

    holder = find_port_holder("127.0.0.1", int(os.environ["OPENCODE_MEMORY_PORT"]))
    assert holder is not None
    with suppress(ProcessLookupError):
        os.killpg(holder.pid, signal.SIGKILL)
    os.waitpid(holder.pid, 0)


@pytest.mark.usefixtures("ends")
def test_fixing_starts_the_server_sets_permissions_and_says_so(cli: CommandLine, tmp_path: Path) -> None:
    cli.ok("setup")
    cli.ok("remember", "x")
    data_dir = tmp_path / "data" / "opencode-memory" / "store"
    data_dir.chmod(0o755)
    assert cli("doctor").code == 1
    said = cli.ok("doctor", "--fix").out
    assert [line.split()[1:] for line in said.splitlines() if line.split()[1] == "fix"] == [
        ["fix", "chmod", "700", str(data_dir)],
        ["fix", "opencode-memory", "serve", "--detach"],
    ]
    assert f"answers at http://127.0.0.1:{os.environ['OPENCODE_MEMORY_PORT']}" in said
    assert cli.ok("doctor", "--fix", "--json").json["fixes"] == []


def test_a_fix_that_fails_is_told_and_the_others_are_done(
    cli: CommandLine, say: Say, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli.ok("setup")
    (own / "plugin" / "theirs.ts").write_text('import { z } from "zod"')

    def fail(*_: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(apply, "_apply_step", fail)
    answer = cli("doctor", "--fix", "--json").json
    assert [(fix["level"], fix["text"]) for fix in answer["fixes"]] == [
        ("problem", f"setup: cannot remove {own / 'package.json'}: Read-only file system"),
        ("ok", "opencode-memory serve --detach"),
    ]
    assert answer["ok"] is False


def test_fixing_does_not_go_with_asking_the_store(cli: CommandLine) -> None:
    answer = cli("doctor", "--fix", "--recall")
    assert (answer.code, "--fix is not valid with --recall" in answer.err) == (2, True)
