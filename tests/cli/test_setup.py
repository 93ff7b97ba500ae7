"""``opencode-memory setup``: its files, its output and its undo."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest

from opencode_memory.cli.setup import setup
from opencode_memory.hosts.opencode.setup import apply
from opencode_memory.hosts.opencode.setup.npm_stub import explain_wait
from support.command_line import CommandLine
from support.services import HEALTH, health_server
from support.trees import tree


@pytest.fixture
def cli(opencode_cli: CommandLine) -> CommandLine:
    return opencode_cli


@pytest.fixture
def opencode(tmp_path: Path) -> Path:
    """OpenCode's configuration folder with a file of the user."""
    folder = tmp_path / "config" / "opencode"
    folder.mkdir(parents=True)
    (folder / "opencode.jsonc").write_text('// mine\n{\n  "model": "a/b", // this one\n}\n')
    return folder


def read_manifest(folder: Path) -> dict:
    read: dict = json.loads((folder / "plugin" / "opencode-memory.json").read_text())
    return read


def test_setup_and_undo_restore_the_original_files(cli: CommandLine, opencode: Path, tmp_path: Path) -> None:
    before = tree(tmp_path / "config")
    output = cli.ok("setup").out
    assert output.startswith(f"Installed the plugin into OpenCode, in {opencode}:\n")
    assert "  create  plugin/opencode-memory.ts\n" in output
    assert "Restart OpenCode" in output.splitlines()[-1]
    assert len(output.splitlines()) < 25
    assert cli.ok("setup").out == f"Nothing to do: the plugin is already installed in {opencode}.\n"
    output = cli.ok("setup", "--undo").out
    assert output.startswith("Removed the plugin from OpenCode; stored memories are kept.")
    assert tree(tmp_path / "config") == before
    again = cli("setup", "--undo")
    assert (again.code, again.out) == (1, f"There is nothing to remove in {opencode}.\n")


def test_dry_run_shows_all_content_and_writes_no_files(cli: CommandLine, opencode: Path, tmp_path: Path) -> None:
    before = tree(tmp_path)
    output = cli.ok("setup", "--dry-run", "--verbose", "--agents", "all").out
    assert tree(tmp_path) == before
    cli.ok("setup", "--agents", "all")
    for path, (_, content) in tree(opencode).items():
        if isinstance(content, bytes) and path != "opencode.jsonc":
            assert f"Would create {opencode / path}\n\n{content.decode()}" in output
    assert f"Would create the folder {opencode / 'node_modules'}\n" in output
    assert "opencode.jsonc" not in output
    before = tree(tmp_path)
    output = cli.ok("setup", "--undo", "--dry-run").out
    assert tree(tmp_path) == before
    assert f"Would remove {opencode / 'plugin' / 'opencode-memory.json'}\n" in output


def test_setup_creates_private_token(cli: CommandLine, opencode: Path, tmp_path: Path) -> None:
    token = tmp_path / "data" / "opencode-memory" / "store" / "server.token"
    assert f"Would create {token}: a random key, which is never displayed\n" in cli.ok("setup", "--dry-run").out
    assert not token.exists()
    assert f"  create  {token}\n" in cli.ok("setup").out
    key = token.read_text()
    assert len(key) > 40
    assert (token.stat().st_mode & 0o777, token.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert not [path for path, (_, content) in tree(opencode).items() if key.encode() in (content or b"")]
    assert cli.ok("setup").out.startswith("Nothing to do")
    assert token.read_text() == key
    cli.ok("setup", "--undo")
    assert not token.parent.parent.exists()


def test_undo_keeps_token_of_store_with_memories(cli: CommandLine, opencode: Path, tmp_path: Path) -> None:
    token = tmp_path / "data" / "opencode-memory" / "store" / "server.token"
    cli.ok("setup")
    key = token.read_text()
    cli.ok("remember", "x")
    cli.ok("setup", "--undo")
    assert token.read_text() == key
    assert len(cli.ok("list", "--json").json["memories"]) == 1


def test_failed_write_is_reported_and_rolled_back(
    cli: CommandLine, opencode: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data").mkdir()
    before = tree(tmp_path)

    def fail(*_: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(apply, "_apply_step", fail)
    answer = cli("setup")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err == (
        f"error: cannot create {opencode / 'plugin'}: Read-only file system\n"
        f"hint: no file was changed; check that {opencode} is writable and has free space\n"
    )
    assert tree(tmp_path) == before


@pytest.mark.parametrize(
    ("begun", "names"),
    [
        ("a", ["architect", "auditor", "all"]),
        ("code,li", ["code,librarian"]),
        ("code,co", []),
    ],
)
def test_agents_option_completes_last_name(begun: str, names: list[str]) -> None:
    [option] = [option for option in setup.params if option.name == "agents"]
    assert [item.value for item in option.shell_complete(click.Context(setup), begun)] == names


def test_port_of_other_program_is_reported(cli: CommandLine, opencode: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with health_server({"status": "ok"}) as port:
        monkeypatch.setenv("OPENCODE_MEMORY_PORT", str(port))
        output = cli.ok("setup")
        assert f"Port {port} of 127.0.0.1 is held by another program" in output.err
        assert "take another port: `opencode-memory config set server.port" in output.err
        assert "is held by another program" in cli.ok("setup", "--json").json["notes"][0]


def test_server_of_older_version_is_reported(cli: CommandLine, opencode: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with health_server({**HEALTH, "version": "0.0.1"}) as port:
        monkeypatch.setenv("OPENCODE_MEMORY_PORT", str(port))
        output = cli.ok("setup").err
    assert "has version 0.0.1, but " in output
    assert "is installed: opencode-memory serve --detach" in output


def test_output_fits_80_columns(cli: CommandLine, opencode: Path) -> None:
    output = [line for line in cli.ok("setup").out.splitlines() if str(opencode.parent.parent) not in line]
    assert output
    assert max(map(len, output)) <= 80


def test_choices_persist_until_changed(cli: CommandLine, opencode: Path) -> None:
    assert "Agents: code, auditor." in cli.ok("setup", "--agents", "auditor,code").out
    assert read_manifest(opencode)["chosen"] == {"agents": ["code", "auditor"], "tools": "mcp"}
    cli.ok("setup", "--tools", "plugin")
    assert read_manifest(opencode)["chosen"] == {"agents": ["code", "auditor"], "tools": "plugin"}
    assert read_manifest(opencode)["mcp"] is None
    assert "Agents: none;" in cli.ok("setup", "--agents", "none").out
    assert read_manifest(opencode)["chosen"] == {"agents": [], "tools": "plugin"}
    assert cli.ok("setup", "--undo").code == 0


def test_unknown_agent_is_an_error_with_suggestion(cli: CommandLine, opencode: Path) -> None:
    before = tree(opencode)
    answer = cli("setup", "--agents", "libarian")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err == (
        "error: there is no agent 'libarian' to choose with --agents\nhint: did you mean 'librarian'?\n"
    )
    assert tree(opencode) == before


def test_project_setup_adds_only_stub_to_global_folder(cli: CommandLine, repository: Path, tmp_path: Path) -> None:
    (repository / "deep" / "down").mkdir(parents=True)
    (tmp_path / "data").mkdir()
    before = tree(tmp_path)
    output = cli.ok("setup", "--project", "-C", "deep/down").out
    assert output.startswith(f"Installed the plugin into OpenCode, in {repository / '.opencode'}:\n")
    assert (repository / ".opencode" / "plugin" / "opencode-memory.ts").exists()
    own = tmp_path / "config" / "opencode"
    assert not (own / "plugin").exists()
    assert explain_wait(own) is None
    cli.ok("setup", "--project", "--undo")
    assert tree(tmp_path) == before


def test_short_option_p_names_a_project(cli: CommandLine, opencode: Path) -> None:
    cli.ok("setup", "-p", "forge.example/team/shop", "--dry-run")
    answer = cli("setup", "--project", "forge.example/team/shop")
    assert (answer.code, "unexpected extra argument" in answer.err) == (2, True)


def test_setup_uses_opencode_config_dir(cli: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENCODE_CONFIG_DIR", str(tmp_path / "mine"))
    cli.ok("setup")
    assert (tmp_path / "mine" / "plugin" / "opencode-memory.ts").exists()
    # OpenCode also reads its default folder, and would wait for npm there.
    assert explain_wait(tmp_path / "config" / "opencode") is None


def test_setup_adds_stub_to_repository_folder(cli: CommandLine, opencode: Path, repository: Path) -> None:
    (repository / ".opencode").mkdir()
    (repository / ".opencode" / "MEMORY.md").write_text("kept")
    before = tree(repository)
    cli.ok("setup")
    assert explain_wait(repository / ".opencode") is None
    cli.ok("setup", "--undo")
    assert tree(repository) == before


def test_second_installation_is_refused_or_reported(cli: CommandLine, opencode: Path, repository: Path) -> None:
    cli.ok("setup")
    answer = cli("setup", "--project")
    assert answer.code == 2
    assert f"the plugin is also installed in {opencode}, and OpenCode would load both" in answer.err
    assert "`opencode-memory setup --undo` removes the other one; --force" in answer.err
    assert not (repository / ".opencode").exists()
    assert "would load both" in cli.ok("setup", "--project", "--force").err
    assert "`opencode-memory setup --project --undo` removes the other one." in cli.ok("setup", "--agents", "code").err


def test_edited_plugin_is_a_conflict_unless_forced(cli: CommandLine, opencode: Path) -> None:
    cli.ok("setup")
    plugin = opencode / "plugin" / "opencode-memory.ts"
    ours = plugin.read_text()
    plugin.write_text(ours + "// mine\n")
    answer = cli("setup")
    assert answer.code == 2
    assert "was not installed by opencode-memory, or was changed since" in answer.err
    assert "command with --force" in answer.err
    undone = cli("setup", "--undo", "--dry-run")
    assert (undone.code, f"{plugin} was kept, because it was changed after its installation.\n" in undone.err) == (
        1,
        True,
    )
    cli.ok("setup", "--force")
    assert plugin.read_text() == ours


def test_undo_without_receipt_removes_no_files(cli: CommandLine, opencode: Path) -> None:
    cli.ok("setup")
    (opencode / "plugin" / "opencode-memory.receipt.json").unlink()
    before = tree(opencode)
    answer = cli("setup", "--undo")
    assert answer.code == 2
    assert "has no receipt that lists its files" in answer.err
    assert tree(opencode) == before
    cli.ok("setup")
    cli.ok("setup", "--undo")
    assert not [content for _, content in tree(opencode / "plugin").values() if content is not None]


def test_unavoidable_npm_wait_is_reported_with_reason(cli: CommandLine, opencode: Path) -> None:
    (opencode / "package.json").write_text('{"dependencies": {"zod": "4"}}')
    answer = cli.ok("setup")
    assert f"OpenCode waits for npm at startup because of {opencode} (no packages are installed there)" in answer.err
    assert "To avoid that, run `npm install @opencode-ai/plugin` there." in answer.err
    assert (opencode / "package.json").read_text() == '{"dependencies": {"zod": "4"}}'


def test_json_contains_all_steps(cli: CommandLine, opencode: Path) -> None:
    shown = cli.ok("setup", "--dry-run", "--json").json
    assert (shown["folder"], shown["dry_run"], shown["changed"]) == (str(opencode), True, True)
    done = cli.ok("setup", "--json").json
    assert (done["dry_run"], done["agents"], done["tools"], done["waits"]) == (False, [], "mcp", {})
    assert done["steps"] == shown["steps"]
    assert {"action": "create", "path": str(opencode / "node_modules"), "text": None} in done["steps"]
    assert cli.ok("setup", "--json").json["changed"] is False
    assert cli.ok("setup", "--undo", "--json").json["left"] == []
    nothing = cli("setup", "--undo", "--json")
    assert (nothing.code, nothing.json["changed"]) == (1, False)


@pytest.mark.parametrize("option", [["--force"], ["--agents", "all"], ["--tools", "mcp"]])
def test_undo_with_choices_is_a_usage_error(cli: CommandLine, option: list[str]) -> None:
    answer = cli("setup", "--undo", *option)
    assert (answer.code, "--undo is valid only with --project and --dry-run" in answer.err) == (2, True)


def test_opencode_manager_configuration_is_copied_and_kept(cli: CommandLine, opencode: Path, tmp_path: Path) -> None:
    old = tmp_path / "data" / "opencode" / "memory" / "config.json"
    old.parent.mkdir(parents=True)
    old.write_text("{}")
    cli.ok("setup", "--dry-run")
    copy = opencode / "memory-config.jsonc"
    assert not copy.exists()
    assert f"was copied to {copy} and is read from there" in cli.ok("setup").err
    cli.ok("setup", "--undo")
    assert (old.read_text(), copy.read_text()) == ("{}", "{}")
