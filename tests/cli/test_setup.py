"""What ``opencode-memory setup`` does and says."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest

from opencode_memory.cli.setup import setup
from opencode_memory.hosts.opencode.setup import apply as carrying
from opencode_memory.hosts.opencode.setup.npm_stub import explain_wait
from support.command_line import CommandLine
from support.services import HEALTH, free_port, health_server
from support.trees import tree


@pytest.fixture
def cli(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    for name in ("OPENCODE_CONFIG_DIR", "OPENCODE_DISABLE_PROJECT_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENCODE_MEMORY_PORT", str(free_port()))
    return cli


@pytest.fixture
def opencode(tmp_path: Path) -> Path:
    """OpenCode's folder of configuration, as it was before."""
    folder = tmp_path / "config" / "opencode"
    folder.mkdir(parents=True)
    (folder / "opencode.jsonc").write_text('// mine\n{\n  "model": "a/b", // this one\n}\n')
    return folder


@pytest.fixture
def shop(cli: CommandLine) -> Path:
    """The folder of the command line as a repository."""
    git = cli.folder / ".git"
    (git / "refs").mkdir(parents=True)
    (git / "objects").mkdir()
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    return cli.folder


def manifest(folder: Path) -> dict:
    read: dict = json.loads((folder / "plugin" / "opencode-memory.json").read_text())
    return read


def test_one_command_installs_and_one_removes_and_nothing_of_the_person_changes(
    cli: CommandLine, opencode: Path, tmp_path: Path
) -> None:
    before = tree(tmp_path / "config")
    said = cli.ok("setup").out
    assert said.startswith(f"Installed the plugin into OpenCode, in {opencode}:\n")
    assert "  create  plugin/opencode-memory.ts\n" in said
    assert "Restart OpenCode" in said.splitlines()[-1]
    assert len(said.splitlines()) < 25
    assert cli.ok("setup").out == f"Nothing to do: the plugin is already installed in {opencode}.\n"
    said = cli.ok("setup", "--undo").out
    assert said.startswith("Removed the plugin from OpenCode; stored memories are kept.")
    assert tree(tmp_path / "config") == before
    again = cli("setup", "--undo")
    assert (again.code, again.out) == (1, f"There is nothing to remove in {opencode}.\n")


def test_a_dry_run_shows_every_file_and_every_line_and_writes_nothing(
    cli: CommandLine, opencode: Path, tmp_path: Path
) -> None:
    before = tree(tmp_path)
    said = cli.ok("setup", "--dry-run", "--agents", "all").out
    assert tree(tmp_path) == before
    cli.ok("setup", "--agents", "all")
    for path, (_, content) in tree(opencode).items():
        if isinstance(content, bytes) and path != "opencode.jsonc":
            assert f"Would create {opencode / path}:\n\n{content.decode()}" in said
    assert f"Would create the folder {opencode / 'node_modules'}\n" in said
    assert "opencode.jsonc" not in said
    before = tree(tmp_path)
    said = cli.ok("setup", "--undo", "--dry-run").out
    assert tree(tmp_path) == before
    assert f"Would remove {opencode / 'plugin' / 'opencode-memory.json'}:\n" in said


def test_the_key_that_lets_the_plugin_in_is_there_before_opencode_first_starts(
    cli: CommandLine, opencode: Path, tmp_path: Path
) -> None:
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


def test_a_key_beside_memories_stays_with_them(cli: CommandLine, opencode: Path, tmp_path: Path) -> None:
    token = tmp_path / "data" / "opencode-memory" / "store" / "server.token"
    cli.ok("setup")
    key = token.read_text()
    cli.ok("remember", "x")
    cli.ok("setup", "--undo")
    assert token.read_text() == key
    assert len(cli.ok("list", "--json").json["memories"]) == 1


def test_what_cannot_be_written_is_named_with_what_to_look_at_and_leaves_nothing_behind(
    cli: CommandLine, opencode: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data").mkdir()
    before = tree(tmp_path)

    def fail(*_: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(carrying, "_apply_step", fail)
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
def test_agents_are_completed_one_after_the_other(begun: str, names: list[str]) -> None:
    [option] = [one for one in setup.params if one.name == "agents"]
    assert [item.value for item in option.shell_complete(click.Context(setup), begun)] == names


def test_a_port_that_somebody_else_holds_is_told_at_once(
    cli: CommandLine, opencode: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with health_server({"status": "ok"}) as port:
        monkeypatch.setenv("OPENCODE_MEMORY_PORT", str(port))
        said = cli.ok("setup")
        assert f"Port {port} of 127.0.0.1 is held by another program" in said.err
        assert "take another port: `opencode-memory config set server.port" in said.err
        assert "is held by another program" in cli.ok("setup", "--json").json["notes"][0]


def test_a_server_of_an_older_version_is_told_after_an_upgrade(
    cli: CommandLine, opencode: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with health_server({**HEALTH, "version": "0.0.1"}) as port:
        monkeypatch.setenv("OPENCODE_MEMORY_PORT", str(port))
        said = cli.ok("setup").err
    assert "has version 0.0.1, but " in said
    assert "&& opencode-memory serve --detach" in said


def test_what_it_says_by_itself_fits_into_80_columns(cli: CommandLine, opencode: Path) -> None:
    said = [line for line in cli.ok("setup").out.splitlines() if str(opencode.parent.parent) not in line]
    assert said
    assert max(map(len, said)) <= 80


def test_choices_are_kept_until_others_are_made(cli: CommandLine, opencode: Path) -> None:
    assert "Agents: code, auditor." in cli.ok("setup", "--agents", "auditor,code").out
    assert manifest(opencode)["chosen"] == {"agents": ["code", "auditor"], "tools": "mcp"}
    cli.ok("setup", "--tools", "plugin")
    assert manifest(opencode)["chosen"] == {"agents": ["code", "auditor"], "tools": "plugin"}
    assert manifest(opencode)["mcp"] is None
    assert "Agents: none;" in cli.ok("setup", "--agents", "none").out
    assert manifest(opencode)["chosen"] == {"agents": [], "tools": "plugin"}
    assert cli.ok("setup", "--undo").code == 0


def test_an_unknown_agent_is_an_error_with_a_suggestion_and_nothing_is_written(
    cli: CommandLine, opencode: Path
) -> None:
    before = tree(opencode)
    answer = cli("setup", "--agents", "libarian")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err == (
        "error: there is no agent 'libarian' to choose with --agents\nhint: did you mean 'librarian'?\n"
    )
    assert tree(opencode) == before


def test_for_one_project_it_lies_in_the_work_tree_and_opencodes_own_folder_only_gets_a_stub(
    cli: CommandLine, shop: Path, tmp_path: Path
) -> None:
    (shop / "deep" / "down").mkdir(parents=True)
    (tmp_path / "data").mkdir()
    before = tree(tmp_path)
    said = cli.ok("setup", "--project", "-C", "deep/down").out
    assert said.startswith(f"Installed the plugin into OpenCode, in {shop / '.opencode'}:\n")
    assert (shop / ".opencode" / "plugin" / "opencode-memory.ts").exists()
    own = tmp_path / "config" / "opencode"
    assert not (own / "plugin").exists()
    assert explain_wait(own) is None
    cli.ok("setup", "--project", "--undo")
    assert tree(tmp_path) == before


def test_the_short_option_still_names_a_project(cli: CommandLine, opencode: Path) -> None:
    cli.ok("setup", "-p", "forge.example/team/shop", "--dry-run")
    answer = cli("setup", "--project", "forge.example/team/shop")
    assert (answer.code, "unexpected extra argument" in answer.err) == (2, True)


def test_a_folder_that_is_named_by_opencodes_variable_is_used(
    cli: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENCODE_CONFIG_DIR", str(tmp_path / "mine"))
    cli.ok("setup")
    assert (tmp_path / "mine" / "plugin" / "opencode-memory.ts").exists()
    # OpenCode reads its own folder nevertheless, and would wait for that.
    assert explain_wait(tmp_path / "config" / "opencode") is None


def test_the_folder_of_the_repository_gets_a_stub_too(cli: CommandLine, opencode: Path, shop: Path) -> None:
    (shop / ".opencode").mkdir()
    (shop / ".opencode" / "MEMORY.md").write_text("kept")
    before = tree(shop)
    cli.ok("setup")
    assert explain_wait(shop / ".opencode") is None
    cli.ok("setup", "--undo")
    assert tree(shop) == before


def test_two_installations_in_one_place_are_refused_or_told(cli: CommandLine, opencode: Path, shop: Path) -> None:
    cli.ok("setup")
    answer = cli("setup", "--project")
    assert answer.code == 2
    assert f"the plugin is also installed in {opencode}, and OpenCode would load both" in answer.err
    assert "`opencode-memory setup --undo` removes the other one; --force" in answer.err
    assert not (shop / ".opencode").exists()
    assert "would load both" in cli.ok("setup", "--project", "--force").err
    assert "`opencode-memory setup --project --undo` removes the other one." in cli.ok("setup", "--agents", "code").err


def test_a_plugin_that_was_edited_is_a_conflict_until_forced(cli: CommandLine, opencode: Path) -> None:
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


def test_without_a_receipt_nothing_is_removed(cli: CommandLine, opencode: Path) -> None:
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


def test_a_wait_for_npm_that_cannot_be_helped_is_told_with_its_reason(cli: CommandLine, opencode: Path) -> None:
    (opencode / "package.json").write_text('{"dependencies": {"zod": "4"}}')
    answer = cli.ok("setup")
    assert f"OpenCode waits for npm at startup because of {opencode} (no packages are installed there)" in answer.err
    assert "To avoid that, run `npm install @opencode-ai/plugin` there." in answer.err
    assert (opencode / "package.json").read_text() == '{"dependencies": {"zod": "4"}}'


def test_everything_is_in_the_json_answer(cli: CommandLine, opencode: Path) -> None:
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
def test_undo_takes_no_choices(cli: CommandLine, option: list[str]) -> None:
    answer = cli("setup", "--undo", *option)
    assert (answer.code, "--undo is valid only with --project and --dry-run" in answer.err) == (2, True)


def test_the_configuration_of_the_seed_is_brought_along_and_stays_with_the_person(
    cli: CommandLine, opencode: Path, tmp_path: Path
) -> None:
    old = tmp_path / "data" / "opencode" / "memory" / "config.json"
    old.parent.mkdir(parents=True)
    old.write_text("{}")
    cli.ok("setup", "--dry-run")
    copy = opencode / "memory-config.jsonc"
    assert not copy.exists()
    assert f"was copied to {copy} and is read from there" in cli.ok("setup").err
    cli.ok("setup", "--undo")
    assert (old.read_text(), copy.read_text()) == ("{}", "{}")
