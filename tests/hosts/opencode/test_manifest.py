"""Content of the manifest, which the plugin reads when OpenCode starts."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

import opencode_memory
from opencode_memory.config.load import load
from opencode_memory.errors import ConfigError, InvalidInputError
from opencode_memory.hosts.opencode import manifest
from opencode_memory.hosts.opencode.agents import AGENTS
from opencode_memory.hosts.opencode.contract import AUDIT_AGENT, DIGEST_AGENT, PROTOCOL, TOKEN_FILE
from opencode_memory.hosts.opencode.manifest import Choices, Offer, parse_agents, read_choices, render_manifest
from opencode_memory.hosts.opencode.setup.npm_stub import imported_packages
from opencode_memory.server.plugin.commands import COMMANDS
from opencode_memory.server.plugin.tools import TOOLS
from opencode_memory.server.web import PLUGGED_MCP

PYTHON = "/opt/memory/bin/python"


def rendered(home: Path, choices: Choices | None = None, **environment: str) -> dict[str, Any]:
    config = load(environment={"HOME": str(home), **environment})
    text = render_manifest(
        config, choices or Choices(), python=PYTHON, plugin={"b.ts": "two", "a.ts": "one"}, tools=TOOLS
    )
    assert text.endswith("}\n")
    read: dict[str, Any] = json.loads(text)
    return read


def test_manifest_has_server_address_and_start_command(tmp_path: Path) -> None:
    found = rendered(tmp_path)
    data_dir = tmp_path / ".local" / "share" / "opencode-memory" / "store"
    assert found["version"] == opencode_memory.__version__
    assert found["protocol"] == PROTOCOL
    assert found["plugin_sha256"] == hashlib.sha256(b"a.ts\0one\0b.ts\0two\0").hexdigest()
    assert found["url"] == "http://127.0.0.1:9824"
    assert found["token_file"] == str(data_dir / TOKEN_FILE)
    assert (found["deadline_ms"], found["first_deadline_ms"]) == (400, 2000)
    address = ["--data-dir", str(data_dir), "--host", "127.0.0.1", "--port", "9824"]
    assert found["start"] == [PYTHON, "-P", "-m", "opencode_memory.cli", "serve", "--detach", *address]
    assert manifest.TOKEN_FILE == TOKEN_FILE


def test_configured_values_reach_plugin_and_started_server(tmp_path: Path) -> None:
    found = rendered(
        tmp_path,
        OPENCODE_MEMORY_PORT="4711",
        OPENCODE_MEMORY_DATA_DIR=str(tmp_path / "elsewhere"),
        OPENCODE_MEMORY_CONFIG=str(tmp_path / "my.toml"),
        OPENCODE_MEMORY_OPENCODE_DEADLINE_MS="250",
        OPENCODE_MEMORY_OPENCODE_FIRST_DEADLINE_MS="3000",
    )
    assert (found["url"], found["deadline_ms"]) == ("http://127.0.0.1:4711", 250)
    assert found["first_deadline_ms"] == 3000
    assert found["token_file"] == str(tmp_path / "elsewhere" / TOKEN_FILE)
    assert found["start"][:3] == ["/usr/bin/env", f"OPENCODE_MEMORY_CONFIG={tmp_path}/my.toml", PYTHON]
    assert found["start"][-6:] == ["--data-dir", f"{tmp_path}/elsewhere", "--host", "127.0.0.1", "--port", "4711"]


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("0.0.0.0", "http://127.0.0.1:9824"),
        ("::", "http://[::1]:9824"),
        ("::1", "http://[::1]:9824"),
        ("localhost", "http://localhost:9824"),
    ],
)
def test_wildcard_address_becomes_loopback(tmp_path: Path, host: str, url: str) -> None:
    assert rendered(tmp_path, OPENCODE_MEMORY_HOST=host)["url"] == url


def test_port_zero_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"server\.port is 0") as refused:
        rendered(tmp_path, OPENCODE_MEMORY_PORT="0")
    assert "config set server.port" in (refused.value.hint or "")


def test_unknown_interpreter_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="its own program"):
        render_manifest(load(environment={"HOME": str(tmp_path)}), Choices(), python="", plugin={}, tools=TOOLS)


def test_no_secret_is_in_the_manifest(tmp_path: Path) -> None:
    assert "s3cret" not in json.dumps(rendered(tmp_path, OPENCODE_MEMORY_API_KEY="s3cret"))


OF_LOOPS = (
    "memory-plan",
    "memory-plan-execute",
    "memory-loop",
    "memory-loop-status",
    "memory-loop-cancel",
    "memory-loop-report",
)


def test_each_tool_is_offered_by_one_side_only(tmp_path: Path) -> None:
    by_mcp = rendered(tmp_path)
    assert by_mcp["mcp"] == {
        "name": "memory",
        "config": {
            "type": "remote",
            "url": f"http://127.0.0.1:9824{PLUGGED_MCP}",
            "oauth": False,
            "timeout": 10_000,
        },
    }
    assert list(by_mcp["tool"]) == ["memory-findings", *OF_LOOPS]
    assert list(rendered(tmp_path, OPENCODE_MEMORY_LOOP_ENABLED="false")["tool"]) == ["memory-findings"]
    by_plugin = rendered(tmp_path, Choices(tools=Offer.PLUGIN))
    assert by_plugin["mcp"] is None
    assert list(by_plugin["tool"]) == [tool.name for tool in TOOLS]
    assert {"memory-read", "memory-write", "memory-edit", "memory-delete", "memory-health"} < set(by_plugin["tool"])
    for tool in TOOLS:
        assert by_plugin["tool"][tool.name] == {"description": tool.about, "args": tool.input}
        assert by_plugin["tool"][tool.name]["args"]["type"] == "object"


def test_commands_are_all_there_and_agents_only_when_they_are_chosen(tmp_path: Path) -> None:
    none = rendered(tmp_path)
    assert {name: dict(command) for name, command in COMMANDS.items()} == none["command"]
    assert (none["agent"], none["chosen"]) == ({}, {"agents": [], "tools": "mcp"})
    two = rendered(tmp_path, Choices(agents=("code", "auditor")))
    assert list(two["agent"]) == ["code", "auditor"]
    assert "agent" not in none["command"]["review"]
    assert two["command"]["review"]["agent"] == "auditor"
    assert two["agent"]["auditor"]["permission"]["bash"]["*"] == "deny"
    assert two["agent"]["auditor"]["prompt"] == AGENTS["auditor"]["prompt"]
    assert "model" not in two["agent"]["auditor"]


def test_hidden_agents_are_always_there_and_write_nothing(tmp_path: Path) -> None:
    hidden = rendered(tmp_path)["hidden_agent"]
    assert list(hidden) == [DIGEST_AGENT, AUDIT_AGENT]
    agent, auditor = hidden.values()
    assert (auditor["mode"], auditor["hidden"]) == ("primary", True)
    assert {auditor["permission"][tool] for tool in ("*", "edit", "write", "bash", "task")} == {"deny"}
    assert "ask" not in {rule for rule in auditor["permission"].values() if isinstance(rule, str)}
    # A hidden agent of the mode "subagent" would be offered to every model by the tool "task".
    assert (agent["mode"], agent["hidden"], agent["permission"]) == ("primary", True, {"*": "deny"})
    assert "JSON only" in agent["prompt"]


def test_the_model_of_the_auditor_is_the_configured_one(tmp_path: Path) -> None:
    choices = Choices(agents=("code", "auditor"))
    agents = rendered(tmp_path, choices, OPENCODE_MEMORY_OPENCODE_AUDITOR_MODEL="forge/large")["agent"]
    assert agents["auditor"]["model"] == "forge/large"
    assert "model" not in agents["code"]
    assert "model" not in AGENTS["auditor"]
    assert rendered(tmp_path, OPENCODE_MEMORY_OPENCODE_AUDITOR_MODEL="forge/large")["agent"] == {}


@pytest.mark.parametrize(
    ("written", "agents"),
    [
        ("auditor,code", ("code", "auditor")),
        (" Code , code ,", ("code",)),
        ("all", tuple(AGENTS)),
        ("none", ()),
    ],
)
def test_agents_are_chosen_by_name(written: str, agents: tuple[str, ...]) -> None:
    assert parse_agents(written) == agents


@pytest.mark.parametrize(
    ("written", "said", "hint"),
    [
        ("audtor", "there is no agent 'audtor'", "'auditor'"),
        ("code,everything", "there is no agent 'everything'", "known are"),
        ("all,code", "there is no agent 'all'", "'all'"),
        (" , ", "--agents is empty", None),
    ],
)
def test_an_agent_that_is_not_there_is_refused_with_a_suggestion(written: str, said: str, hint: str | None) -> None:
    with pytest.raises(InvalidInputError, match=said) as refused:
        parse_agents(written)
    assert refused.value.field == "--agents"
    assert hint is None or hint in str(refused.value.hint)


def test_plugin_imports_no_package_and_has_one_entry_file(tmp_path: Path) -> None:
    files = manifest.plugin_files()
    assert next(iter(files)) == manifest.PLUGIN
    assert [name for name in files if "/" not in name] == [manifest.PLUGIN]
    for name, text in files.items():
        # All side by side, where it would be seen.
        (tmp_path / "plugin").mkdir(exist_ok=True)
        (tmp_path / "plugin" / name.replace("/", "-")).write_text(text)
    assert list(imported_packages(tmp_path)) == []


def test_choices_are_read_back(tmp_path: Path) -> None:
    choices = Choices(agents=("architect", "librarian"), tools=Offer.PLUGIN)
    assert read_choices(json.dumps(rendered(tmp_path, choices))) == choices


@pytest.mark.parametrize(
    "written",
    [
        None,
        "",
        "{",
        "[]",
        "[" * 100_000,
        '{"chosen": 1}',
        '{"chosen": {"agents": "code", "tools": 3}}',
        '{"chosen": {"agents": ["gone", 1], "tools": ["mcp"]}}',
    ],
)
def test_damaged_manifest_gives_default_choices(written: str | None) -> None:
    assert read_choices(written) == Choices()
