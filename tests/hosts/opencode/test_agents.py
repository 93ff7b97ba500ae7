"""The agent definitions: their shape, and that their rules know every tool of the memory by name."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from opencode_memory.hosts.opencode.agents import AGENTS, READ_ONLY, with_reading_shell
from opencode_memory.hosts.opencode.agents.permissions import READING_COMMANDS
from opencode_memory.server.tools import TOOLS

READING_TOOLS = {f"memory_{tool.name}" for tool in TOOLS if tool.reads}
OF_THE_PLUGIN = {
    "reads": {"memory-read", "memory-kv-get", "memory-kv-list"},
    "writes": {"memory-write", "memory-edit", "memory-delete", "memory-kv-set", "memory-kv-delete", "memory-health"},
}
WRITING_TOOLS = {f"memory_{tool.name}" for tool in TOOLS if not tool.reads} | OF_THE_PLUGIN["writes"]
FINDINGS = {"memory-findings", "memory_findings"}
PLANS = {"memory-plan", "memory-plan-execute", "memory-loop", "memory-loop-status", "memory-loop-cancel"}
"""They write no files: a plan waits for the user."""


def decided(permission: dict[str, Any], tool: str) -> Any:
    """Return OpenCode's decision: the last rule that matches."""
    return [said for name, said in permission.items() if name in {tool, "*"}][-1]


def test_there_are_four_agents_and_they_are_json() -> None:
    assert {name: agent["mode"] for name, agent in AGENTS.items()} == {
        "code": "primary",
        "architect": "primary",
        "auditor": "subagent",
        "librarian": "subagent",
    }
    assert json.loads(json.dumps(AGENTS)) == AGENTS
    assert AGENTS["auditor"]["temperature"] == 0.0


@pytest.mark.parametrize("name", AGENTS)
def test_agent_has_only_known_fields(name: str) -> None:
    agent = AGENTS[name]
    assert agent.keys() <= {"description", "mode", "temperature", "prompt", "permission"}
    assert agent["description"].endswith(".")
    assert len(agent["prompt"]) > 1_000


@pytest.mark.parametrize("name", ["architect", "auditor", "librarian"])
def test_unnamed_tools_and_file_writers_are_denied(name: str) -> None:
    permission = AGENTS[name]["permission"]
    assert next(iter(permission.items())) == ("*", "deny")
    for tool in ("edit", "write", "apply_patch", "bash", "task", "execute", "deploy", "forge_create_issue"):
        assert decided(permission, tool) == "deny", tool
    assert decided(permission, "memory_export_memories") == "deny"


@pytest.mark.parametrize("name", READ_ONLY)
def test_read_only_agents_may_read_memories_but_not_write_them(name: str) -> None:
    permission = AGENTS[name]["permission"]
    may = {tool for tool in permission if tool.startswith("memory")}
    assert may - FINDINGS - PLANS == READING_TOOLS | OF_THE_PLUGIN["reads"]
    assert {decided(permission, tool) for tool in may} == {"allow"}
    assert {decided(permission, tool) for tool in WRITING_TOOLS} == {"deny"}
    assert ({decided(permission, tool) for tool in FINDINGS} == {"allow"}) == (name == "auditor")
    assert ({decided(permission, tool) for tool in PLANS} == {"allow"}) == (name == "architect")


def test_the_librarian_may_curate_with_tools_that_exist() -> None:
    permission = AGENTS["librarian"]["permission"]
    may = {tool for tool in permission if tool.startswith("memory")}
    assert READING_TOOLS | {"memory_remember", "memory_edit_memory", "memory-write", "memory-edit"} < may
    assert may <= READING_TOOLS | WRITING_TOOLS | OF_THE_PLUGIN["reads"]


def test_env_files_and_external_folders_are_asked_about() -> None:
    for name in ("architect", "auditor", "librarian"):
        permission = AGENTS[name]["permission"]
        assert permission["read"] == {"*": "allow", "*.env": "ask", "*.env.*": "ask", "*.env.example": "allow"}
        assert permission["external_directory"] == "ask"


def test_reading_shell_changes_only_the_read_only_agents() -> None:
    opened = with_reading_shell()
    for name, agent in AGENTS.items():
        rules = {"bash": READING_COMMANDS} if name in READ_ONLY else {}
        assert opened[name] == {**agent, "permission": {**agent["permission"], **rules}}
    assert next(iter(READING_COMMANDS.items())) == ("*", "deny")
    allowed = [pattern for pattern, said in READING_COMMANDS.items() if said == "allow"]
    assert all(pattern.startswith("git ") and "*" not in pattern.removesuffix(" *") for pattern in allowed)
    # Denied options come after the allowed commands.
    assert list(READING_COMMANDS.values())[len(allowed) + 1 :] == ["deny", "deny"]


@pytest.mark.parametrize("name", AGENTS)
def test_a_prompt_names_only_tools_that_there_are_and_in_both_namings(name: str) -> None:
    named = set(re.findall(r"`(memory[_-][a-z_-]+)`", AGENTS[name]["prompt"]))
    known = READING_TOOLS | WRITING_TOOLS | OF_THE_PLUGIN["reads"] | FINDINGS | PLANS
    assert named <= known, named - known
    assert {tool[6] for tool in named} == {"_", "-"}
