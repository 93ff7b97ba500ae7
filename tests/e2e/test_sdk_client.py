"""The official SDK's client over both transports and both versions of the protocol, and plain HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from mcp.client.stdio import StdioServerParameters

from e2e.agents import connected, started_in
from e2e.messages import ACCEPT, VERSION, call, greeting, message
from e2e.repositories import repository
from e2e.served import Served
from opencode_memory.server.app import INSTRUCTIONS
from opencode_memory.server.tools import TOOLS
from support.mcp import HANDSHAKE, MODERN, Roots

FACT = "The walrus build needs make -j1."
SESSION = "mcp-session-id"
MODES = {HANDSHAKE: VERSION, "auto": MODERN}
"""Ways to connect, and the version of the protocol that each leads to."""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return repository(tmp_path / "shop", remote="https://forge.example/team/shop.git")


@pytest.fixture(params=["stdio", "http"])
def server(request: pytest.FixtureRequest, tmp_path: Path, shop: Path) -> StdioServerParameters | str:
    if request.param == "stdio":
        return started_in(shop, tmp_path / "server")
    served: Served = request.getfixturevalue("served")
    return served.url


@pytest.fixture
def http() -> Iterator[httpx2.Client]:
    with httpx2.Client(headers=ACCEPT, timeout=60) as client:
        yield client


@pytest.mark.parametrize("mode", MODES)
def test_client_initializes_and_works_in_its_project(
    server: StdioServerParameters | str, mode: str, shop: Path
) -> None:
    with connected(server, mode=mode, list_roots_callback=Roots(shop)) as agent:
        client = agent.client
        assert client.protocol_version == MODES[mode]
        assert client.server_info is not None
        assert client.server_info.name == "opencode-memory"
        assert client.instructions == INSTRUCTIONS
        capabilities = client.server_capabilities
        assert capabilities.tools is not None
        assert [capabilities.resources, capabilities.prompts, capabilities.logging, capabilities.completions] == [
            None
        ] * 4

        listed = agent.run(client.list_tools)
        assert [tool.name for tool in listed.tools] == [tool.name for tool in TOOLS]

        id = agent.remember(FACT, "fact")
        assert agent.recall("how is the walrus built?") == [FACT]
        assert agent.ok("memory_status").data["project"] == "forge.example/team/shop"
        assert agent.ok("get_memory", memory_id=id).data["memory"]["project"] == "forge.example/team/shop"
        assert "contents" in agent.refused("remember", contents=FACT, category="fact")


@pytest.mark.parametrize("mode", MODES)
def test_memory_of_one_client_is_recalled_by_the_next(
    server: StdioServerParameters | str, mode: str, shop: Path
) -> None:
    with connected(server, mode=mode, list_roots_callback=Roots(shop)) as first:
        assert first.recall("walrus") == []
        first.remember(FACT, "fact")
    with connected(server, mode=mode, list_roots_callback=Roots(shop)) as second:
        assert second.recall("walrus") == [FACT]


def test_a_session_lives_from_its_greeting_to_its_delete(served: Served, http: httpx2.Client) -> None:
    begun = http.post(served.url, json=greeting())
    assert begun.status_code == 200
    session = {SESSION: begun.headers[SESSION]}
    assert http.post(served.url, json=message("tools/list"), headers=session).status_code == 200
    assert http.delete(served.url, headers=session).status_code == 200
    ended = http.post(served.url, json=message("tools/list"), headers=session)
    assert ended.status_code == 404
    assert http.post(served.url, json=message("ping"), headers={SESSION: "made-up"}).status_code == 404


def test_the_sdk_ends_its_session_when_it_leaves(served: Served, http: httpx2.Client) -> None:
    with connected(served.url, mode=HANDSHAKE):
        assert http.get(served.route("/stats")).json()["mcp_sessions"] == 1
    assert http.get(served.route("/stats")).json()["mcp_sessions"] == 0


def test_a_client_without_a_session_is_answered_by_itself_each_time(
    served: Served, http: httpx2.Client, shop: Path
) -> None:
    folder = {"x-opencode-directory": str(shop)}
    asked = call("recall", query="walrus")
    calls = (call("remember", content=FACT, category="fact"), asked)
    answers = [http.post(served.url, json=body, headers=folder) for body in calls]
    assert [answer.status_code for answer in answers] == [200, 200]
    assert all(SESSION not in answer.headers for answer in answers)
    assert FACT in answers[1].text
    elsewhere = http.post(served.url, json=asked, headers={"x-opencode-directory": str(shop.parent)})
    assert FACT not in elsewhere.text
    assert http.get(served.route("/stats")).json()["mcp_sessions"] == 0
