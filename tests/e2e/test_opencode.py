"""The real OpenCode remembers in one session and recalls in the next, only in its own project."""

from __future__ import annotations

from pathlib import Path

import opencode_memory
from e2e.opencode import MCP_NAME, OpenCode
from e2e.repositories import SHOP, repository, worktree
from e2e.scripted_model import Request, ScriptedModel
from e2e.served import Served, command
from opencode_memory import Memory
from opencode_memory.server.app import INSTRUCTIONS
from opencode_memory.server.tools import TOOLS

FACT = "The walrus build needs make -j1, since the linker runs out of memory otherwise."
QUERY = "how is the walrus built?"


def remember(opencode: OpenCode, model: ScriptedModel, folder: Path) -> list[Request]:
    model.script((f"{MCP_NAME}_remember", {"content": FACT, "category": "fact"}), "I shall remember.")
    assert "I shall remember." in opencode.session(folder, "Remember how the walrus is built.")
    _, after = model.requests
    assert after.tool_results[-1].startswith("Stored as [")
    return model.requests


def recalled(opencode: OpenCode, model: ScriptedModel, folder: Path) -> str:
    """Return the result of a recall in a new session, as the model gets it."""
    model.script((f"{MCP_NAME}_recall", {"query": QUERY}), "I see.")
    assert "I see." in opencode.session(folder, "How is the walrus built?")
    before, after = model.requests
    assert not before.tool_results
    [result] = after.tool_results
    return result


def memories(data_dir: Path) -> list[Memory]:
    with opencode_memory.open(data_dir, read_only=True) as store:
        return store.list(project="*")


def test_memory_is_shared_by_sessions_of_one_repository_only(
    served: Served, model: ScriptedModel, opencode: OpenCode, shop: Path, tmp_path: Path
) -> None:
    opencode.configure(model.url, {"type": "remote", "url": served.url, "oauth": False})
    bakery = repository(tmp_path / "bakery", remote="https://forge.example/team/bakery.git")

    remember(opencode, model, shop)
    # The server knows the folder only from OpenCode's roots: there is no header, and it was started elsewhere.
    [memory] = memories(served.data_dir)
    assert (memory.content, memory.project, memory.trust) == (FACT, SHOP, "agent")

    assert FACT in recalled(opencode, model, shop)
    in_bakery = recalled(opencode, model, bakery)
    assert FACT not in in_bakery
    assert "No memory in forge.example/team/bakery" in in_bakery
    assert FACT in recalled(opencode, model, worktree(shop, tmp_path / "shop-side"))
    assert memories(served.data_dir) == [memory]


def test_the_same_through_a_server_that_opencode_starts_for_itself(
    model: ScriptedModel, opencode: OpenCode, shop: Path, tmp_path: Path
) -> None:
    data_dir = tmp_path / "store"
    local = command("serve", "--stdio", "--data-dir", str(data_dir))
    opencode.configure(model.url, {"type": "local", "command": local})

    remember(opencode, model, shop)
    [memory] = memories(data_dir)
    assert (memory.content, memory.project) == (FACT, SHOP)
    assert FACT in recalled(opencode, model, shop)


def test_the_model_is_shown_our_instructions_and_our_tools_and_no_others_of_mcp(
    served: Served, model: ScriptedModel, opencode: OpenCode, shop: Path
) -> None:
    opencode.configure(model.url, {"type": "remote", "url": served.url, "oauth": False})
    opencode.session(shop, "Good morning.")
    [request] = model.requests
    shown = [line.strip() for line in request.system.splitlines()]
    begin = shown.index(f'<server name="{MCP_NAME}">') + 1
    assert shown[begin : shown.index("</server>")] == INSTRUCTIONS.splitlines()

    ours = {name for name in request.tools if name.startswith(f"{MCP_NAME}_")}
    assert ours == {f"{MCP_NAME}_{tool.name}" for tool in TOOLS}
    # It adds its own for servers that declare resources: list_mcp_resources and others.
    assert not [name for name in request.tools if "mcp" in name or "resource" in name]
    assert {"bash", "read"} < set(request.tools)
