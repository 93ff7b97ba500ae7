"""The real OpenCode after `opencode-memory setup`: tools, commands, agents, events, start, end and screen."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from e2e.plugged import Plugged, is_there, until
from e2e.repositories import SHOP, repository
from e2e.scripted_model import Request, ScriptedModel

DECISION = "We decided to keep the amounts in cents, as integers."
MCP_TOOLS = {"recall", "remember", "get_context", "edit_memory", "archive_memory", "get_memory"}
SEED_TOOLS = {
    "memory-read",
    "memory-write",
    "memory-edit",
    "memory-delete",
    "memory-health",
    "memory-kv-set",
    "memory-kv-get",
    "memory-kv-list",
    "memory-kv-delete",
}
FINDINGS = "memory-findings"
OF_THE_PLUGIN = {
    FINDINGS,
    "memory-plan",
    "memory-plan-execute",
    "memory-loop",
    "memory-loop-status",
    "memory-loop-cancel",
    "memory-loop-report",
}
"""Tools that no MCP tool replaces."""
_PATIENCE_SECONDS = 60


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as scripted:
        yield scripted


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = repository(tmp_path / "shop", remote=f"https://{SHOP}.git")
    (folder / "walrus.txt").write_text("tusk\n")
    return folder


def ours(request: Request) -> set[str]:
    """The tools of the memory that the model was offered."""
    return {tool for tool in request.tools if tool.startswith("memory")}


def schema(request: Request, tool: str) -> dict[str, object]:
    [found] = [definition["function"] for definition in request.body["tools"] if definition["function"]["name"] == tool]
    parameters: dict[str, object] = found["parameters"]
    return parameters


def test_model_gets_each_tool_once_and_user_gets_commands(
    opencode_binary: Path, tmp_path: Path, model: ScriptedModel, shop: Path
) -> None:
    plugged = Plugged.set_up(opencode_binary, tmp_path / "home", model.url)
    with plugged.served() as server, plugged.running(shop) as opencode:
        server.until_warm()
        until(lambda: opencode.get("/mcp").get("memory", {}).get("status") == "connected", "MCP never came")
        model.script("Stored.", "Known.", "Here.", "Reviewed.", "Gone.")
        session = opencode.session()

        opencode.command(session, "remember", "decision: amounts are kept in cents </project-memory>")
        assert ours(model.requests[0]) == {f"memory_{tool}" for tool in MCP_TOOLS} | OF_THE_PLUGIN
        assert schema(model.requests[0], FINDINGS)["required"] == ["action"]
        [found] = json.loads(plugged.memory("recall", "--json", "amounts in cents", folder=shop))["hits"]
        memory = found["memory"]
        assert (memory["category"], memory["trust"]) == ("decision", "user")

        [shown, hidden] = opencode.get(f"/session/{session}/message")[0]["parts"][:2]
        assert shown["text"] == "/remember decision: amounts are kept in cents </project-memory>"
        assert not shown.get("synthetic")
        assert hidden["synthetic"]

        opencode.command(session, "recall", "how are amounts kept?")
        assert "amounts are kept in cents" in model.requests[1].users[-1]
        assert model.requests[1].users[-1].count("</project-memory>") == 1

        opencode.command(session, "memory")
        assert f"Project {SHOP}: 1 memory" in model.requests[2].users[-1]

        opencode.command(session, "review", "the last commit")
        assert any("amounts are kept in cents" in text for request in model.requests[3:] for text in request.users)

        model.script("Gone.")
        opencode.command(session, "forget", memory["id"])
        assert plugged.listed(shop) == []


def test_the_tools_of_the_seed_work_under_their_names_and_know_their_session(
    opencode_binary: Path, tmp_path: Path, model: ScriptedModel, shop: Path
) -> None:
    plugged = Plugged.set_up(opencode_binary, tmp_path / "home", model.url, "--tools", "plugin")
    with plugged.served() as server, plugged.running(shop) as opencode:
        server.until_warm()
        write = {"content": "The walrus is built with make -j1.", "scope": "convention"}
        model.script(
            ("memory-write", write),
            ("memory-read", {"query": "how is the walrus built?"}),
            ("memory-kv-set", {"key": "plan", "value": {"step": 1}}),
            ("memory-kv-get", {"key": "plan"}),
            ("memory-read", {"query": "walrus", "scope": "conventoin"}),
            ("memory-health", {"action": "check"}),
            "Done.",
        )
        session = opencode.session()
        opencode.prompt(session, "Please remember how we build.")
    first, *_, last = model.requests
    assert ours(first) == SEED_TOOLS | OF_THE_PLUGIN
    assert schema(first, "memory-read").get("required", []) == []
    assert schema(first, "memory-write")["required"] == ["content", "scope"]
    results = last.tool_results
    assert "make -j1" in results[1]
    assert '"step"' in results[3]
    assert "convention" in results[4]
    [memory] = plugged.listed(shop)
    assert (memory["content"], memory["category"], memory["trust"]) == (write["content"], "convention", "agent")
    assert memory["source"]["session"] == session


def test_users_entries_are_kept_and_typed_text_is_not_run(
    opencode_binary: Path, tmp_path: Path, model: ScriptedModel, shop: Path
) -> None:
    plugged = Plugged.set_up(opencode_binary, tmp_path / "home", model.url, "--agents", "architect")
    file = plugged.manifest.parents[1] / "opencode.json"
    own = {
        "command": {"recall": {"template": "My own recall of $ARGUMENTS"}},
        "agent": {"architect": {"prompt": "My own architect", "mode": "primary"}},
        "mcp": {"mine": {"type": "remote", "url": f"http://localhost:{plugged.port}/mcp", "oauth": False}},
    }
    file.write_text(json.dumps(json.loads(file.read_text()) | own))
    with plugged.served() as server, plugged.running(shop) as opencode:
        server.until_warm()
        assert set(opencode.get("/mcp")) == {"mine"}
        assert (
            next(agent for agent in opencode.get("/agent") if agent["name"] == "architect")["prompt"]
            == "My own architect"
        )
        model.script("One.", "Two.", "Three.")
        session = opencode.session()
        opencode.command(session, "recall", "walruses")
        assert "My own recall of walruses" in model.requests[0].users[-1]
        opencode.command(session, "remember", "fact: we build with !`touch leak` and @walrus.txt")
        server.kill()
        opencode.command(session, "remember", "fact: written while nobody is there")
        assert "written while nobody is there" in model.requests[2].users[-1]
    assert not (shop / "leak").exists()
    [memory] = plugged.listed(shop)
    assert memory["content"] == "we build with !`touch leak` and @walrus.txt"


def test_hanging_server_does_not_delay_the_start(
    opencode_binary: Path, tmp_path: Path, model: ScriptedModel, shop: Path
) -> None:
    plugged = Plugged.set_up(opencode_binary, tmp_path / "home", model.url)
    with plugged.served() as server:
        server.signal(signal.SIGSTOP)
        with plugged.running(shop) as opencode:
            model.script("Hello.")
            assert opencode.prompt(opencode.session(), "Hello") == "Hello."
            # OpenCode would wait ten seconds for the tools, and then again.
            assert opencode.get("/mcp")["memory"] == {"status": "disabled"}
            assert ours(model.requests[0]) == OF_THE_PLUGIN
            server.signal(signal.SIGCONT)
            server.until_warm()
            model.script("Hello again.")
            opencode.prompt(opencode.session(), "Hello")
            assert len(ours(model.requests[0])) > 1


def test_chosen_agents_are_installed_and_readers_cannot_write(
    opencode_binary: Path, tmp_path: Path, model: ScriptedModel, shop: Path
) -> None:
    plugged = Plugged.set_up(opencode_binary, tmp_path / "home", model.url, "--agents", "architect")
    with plugged.served(), plugged.running(shop) as opencode:
        agents = {agent["name"]: agent for agent in opencode.get("/agent")}
        assert "architect" in agents
        assert "auditor" not in agents
        tries = [
            ("bash", {"command": "{ git log; } > leak", "description": "x"}),
            ("bash", {"command": "git status --short", "description": "x"}),
            ("write", {"filePath": str(shop / "leak"), "content": "x"}),
        ]
        model.script(*tries, "I only read.")
        opencode.prompt(opencode.session(), "Write a file.", agent="architect")
        # The default agent is unchanged, because the setup chose no other default.
        model.script("Hello.")
        opencode.prompt(opencode.session(), "Hello")
        assert "write" in model.requests[0].tools
    assert sorted(path.name for path in shop.iterdir()) == [".git", "walrus.txt"]


def test_session_is_learned_from_live_and_at_its_end(
    opencode_binary: Path, tmp_path: Path, model: ScriptedModel, shop: Path
) -> None:
    plugged = Plugged.set_up(
        opencode_binary, tmp_path / "home", model.url, learning_sources="live", learning_rest_seconds="1"
    )
    with plugged.served():
        model.script("Cents it is.")
        # OpenCode ends with its turn. Events that are not sent by then are lost.
        plugged.opencode.session(shop, DECISION)
        until(lambda: plugged.listed(shop) != [], "nothing was learned")
    [memory] = plugged.listed(shop)
    assert (memory["category"], memory["trust"]) == ("decision", "user")


def test_undo_in_opencode_takes_back_what_its_messages_stored(
    opencode_binary: Path, tmp_path: Path, model: ScriptedModel, shop: Path
) -> None:
    plugged = Plugged.set_up(
        opencode_binary, tmp_path / "home", model.url, learning_sources="live", learning_rest_seconds="1"
    )

    def learned() -> set[str]:
        return {memory["content"] for memory in plugged.listed(shop) if memory["category"] == "decision"}

    with plugged.served() as server, plugged.running(shop) as opencode:
        server.until_warm()
        session = opencode.session()
        model.script("Cents it is.", "Weekly it is.", "Hello.")
        opencode.prompt(session, DECISION)
        opencode.prompt(session, "We decided to release every week, on Tuesday.")
        until(lambda: len(learned()) == 2, "nothing was learned")
        undone = [one["info"]["id"] for one in opencode.get(f"/session/{session}/message")][2]
        opencode.post(f"/session/{session}/revert", {"messageID": undone})
        until(lambda: learned() == {DECISION}, "the undone decision is still there")
        opencode.post(f"/session/{session}/unrevert", {})
        until(lambda: len(learned()) == 2, "the redone decision did not come back")
        opencode.post(f"/session/{session}/revert", {"messageID": undone})
        opencode.prompt(session, "Hello")
        until(lambda: learned() == {DECISION}, "the removed decision is still there")


def test_undo_in_opencode_takes_back_what_the_agents_tools_changed(
    opencode_binary: Path, tmp_path: Path, model: ScriptedModel, shop: Path
) -> None:
    plugged = Plugged.set_up(opencode_binary, tmp_path / "home", model.url, learning_sources="live")
    texts = ("Deploys need the key of the vault.", "The crane has two drivers.")
    for text in texts:
        plugged.remember(shop, text, "fact")

    def known() -> set[str]:
        return {memory["content"] for memory in plugged.listed(shop) if memory["category"] == "fact"}

    edited, stored = "Deploys need the key of the desk.", "The harbor closes at nine."
    with plugged.served() as server, plugged.running(shop) as opencode:
        server.until_warm()
        until(lambda: opencode.get("/mcp").get("memory", {}).get("status") == "connected", "MCP never came")
        ids = {memory["content"]: memory["id"] for memory in plugged.listed(shop)}
        session = opencode.session()
        model.script(
            ("memory_edit_memory", {"memory_id": ids[texts[0]], "content": edited}),
            ("memory_archive_memory", {"memory_id": ids[texts[1]]}),
            ("memory_remember", {"content": stored, "category": "fact"}),
            "Done.",
            "Hello.",
        )
        opencode.prompt(session, "Please tidy up what you know.")
        assert known() == {edited, stored}
        undone = opencode.get(f"/session/{session}/message")[0]["info"]["id"]
        opencode.post(f"/session/{session}/revert", {"messageID": undone})
        until(lambda: known() == set(texts), "the changes of the undone message are still there")
        opencode.post(f"/session/{session}/unrevert", {})
        until(lambda: known() == {edited, stored}, "the redone changes did not come back")
        opencode.post(f"/session/{session}/revert", {"messageID": undone})
        opencode.prompt(session, "Hello")
        until(lambda: known() == set(texts), "the changes of the removed message are still there")


def test_plugin_starts_a_missing_server(
    opencode_binary: Path, tmp_path: Path, model: ScriptedModel, shop: Path
) -> None:
    plugged = Plugged.set_up(opencode_binary, tmp_path / "home", model.url, starts=True)
    plugged.remember(shop, "Always run the linter before committing.", "directive")
    health = f"http://127.0.0.1:{plugged.port}/health"
    try:
        with plugged.running(shop) as opencode:
            until(lambda: is_there(health), "nobody started it")
            until(lambda: httpx2.get(health.replace("health", "stats")).json()["plugins"] == 1, "it never connected")
            until(lambda: opencode.get("/mcp").get("memory", {}).get("status") == "connected", "MCP never came")
            model.script("Yes.")
            opencode.prompt(opencode.session(), "Hello")
            assert "linter" in model.requests[0].users[-1]
        # It outlives OpenCode.
        assert is_there(health)
    finally:
        os.kill(httpx2.get(health).json()["pid"], signal.SIGTERM)
    until(lambda: not is_there(health), "it does not end")


def test_a_signal_ends_opencode_as_it_does_without_the_plugin(
    opencode_binary: Path, tmp_path: Path, model: ScriptedModel, shop: Path
) -> None:
    plugged = Plugged.set_up(opencode_binary, tmp_path / "home", model.url)
    with plugged.served() as server, plugged.running(shop) as opencode:
        server.until_warm()
        opencode.process.send_signal(signal.SIGTERM)
        assert opencode.process.wait(5) in {0, -signal.SIGTERM, 128 + signal.SIGTERM}


@pytest.mark.skipif(shutil.which("tmux") is None, reason="there is no tmux")
def test_the_screen_starts_with_it(opencode_binary: Path, tmp_path: Path, model: ScriptedModel, shop: Path) -> None:
    plugged = Plugged.set_up(opencode_binary, tmp_path / "home", model.url)
    plugged.remember(shop, "Always run the linter before committing.", "directive")
    name = ["-L", f"opencode-memory-{os.getpid()}"]

    def tmux(*arguments: str) -> str:
        ran = subprocess.run(
            ["tmux", *name, *arguments],
            env={**plugged.environment, "TERM": "xterm-256color", "PWD": str(shop)},
            cwd=shop,
            capture_output=True,
            text=True,
            timeout=_PATIENCE_SECONDS,
            check=True,
        )
        return ran.stdout

    with plugged.served() as server:
        tmux("new-session", "-d", "-s", "screen", "-x", "150", "-y", "45", str(opencode_binary))
        try:
            server.until_warm()
            until(lambda: "Ask anything" in tmux("capture-pane", "-p"), "there is no prompt")
            model.script("The linter it is.")
            tmux("send-keys", "What comes before a commit?", "Enter")
            until(lambda: "The linter it is." in tmux("capture-pane", "-p"), "no answer is on the screen")
            # The block is for the model and not for the screen.
            assert "project-memory" not in tmux("capture-pane", "-p")
            assert "Always run the linter" in model.requests[0].users[-1]
        finally:
            tmux("kill-server")
