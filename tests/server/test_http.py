"""The resident server over HTTP: health, metrics, access, limits and sessions (predecessors 25 and 30)."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from opencode_memory.errors import ConflictError, InvalidInputError
from opencode_memory.hosts.opencode.contract import TOKEN_FILE
from opencode_memory.http_client.address import names_loopback
from opencode_memory.resident.peer_owner import supports_owner_check
from opencode_memory.server.listening import Access, bind, decide_access
from opencode_memory.server.server_state import Background
from opencode_memory.server.web import BODY_LIMIT
from support import processes
from support.mcp import HANDSHAKE, MODERN, World
from support.mcp_http import Answer, Wire
from support.services import free_port

PAGES = ("/mcp", "/health", "/stats", "/metrics", "/", "/no/such", "/../etc/passwd", "/mcp/")


@pytest.fixture
def wire(world: World) -> Iterator[Wire]:
    with Wire(world.app()) as wire:
        yield wire


def read_metric(wire: Wire, name: str, **headers: str) -> float:
    """Return the value of a metric; 0 if it was never counted."""
    text = wire.get("/metrics", **headers).message.decode()
    match = re.search(rf"^opencode_memory_{re.escape(name)} (\S+)$", text, re.MULTILINE)
    return float(match[1]) if match else 0.0


# Health, statistics, metrics


def test_healthy_server_reports_healthy(wire: Wire) -> None:
    answer = wire.get("/health")
    assert answer.status == 200
    assert answer.json["server"] == "opencode-memory"
    assert (answer.json["status"], answer.json["problems"]) == ("healthy", [])


def test_health_reports_an_unreadable_store(world: World, wire: Wire) -> None:
    world.store.close()
    answer = wire.get("/health")
    assert answer.status == 503
    assert answer.json["status"] == "degraded"
    assert "the store is closed" in answer.json["problems"][0]
    assert "the store is closed" in wire.call("memory_status").text


def test_health_reports_a_dead_worker_and_its_recovery(tmp_path: Path) -> None:
    problems = ["the worker died 3 times in a row"]
    with (
        World(tmp_path, background=Background(problems=lambda: tuple(problems))) as world,
        Wire(world.app()) as wire,
    ):
        answer = wire.get("/health")
        assert (answer.status, answer.json["problems"]) == (503, problems)
        assert read_metric(wire, "healthy") == 0
        assert wire.get("/stats").json["problems"] == problems
        problems.clear()
        assert wire.get("/health").status == 200
        assert read_metric(wire, "healthy") == 1


@pytest.mark.parametrize("page", ["/metrics", "/stats"])
def test_metrics_and_stats_work_with_an_unreadable_store(world: World, wire: Wire, page: str) -> None:
    world.store.close()
    answer = wire.get(page)
    assert answer.status in (200, 503)
    assert b"closed" in answer.message or b"opencode_memory_healthy 0" in answer.message


def test_stats_match_the_store(world: World, wire: Wire) -> None:
    wire.call("remember", {"content": "The walrus sleeps", "category": "fact"})
    stats = wire.get("/stats").json
    assert stats["store"]["memories"] == 1
    assert stats["store"]["pending_embeddings"] == 1
    assert stats["background"] == "this process"


def test_every_metric_changes_with_its_event(world: World, wire: Wire) -> None:
    def numbers() -> dict[str, float]:
        names = (
            'tool_calls_total{outcome="ok",tool="remember"}',
            'tool_calls_total{outcome="refused",tool="remember"}',
            'tool_seconds_count{tool="remember"}',
            'recalls_total{result="hit"}',
            'recalls_total{result="miss"}',
            'http_requests_total{path="/mcp",status="200"}',
            'http_requests_total{path="other",status="404"}',
            'http_refused_total{reason="host"}',
            'memories{status="active"}',
            "pending_embeddings",
            "index_lag",
            "mcp_sessions",
        )
        return {name: read_metric(wire, name) for name in names}

    before = numbers()
    assert set(before.values()) == {0.0}
    wire.call("remember", {"content": "The walrus sleeps", "category": "fact"})
    wire.call("remember", {"content": "The walrus sleeps"})
    wire.call("recall", {"query": "walrus"})
    wire.call("recall", {"query": "bee"})
    wire.get("/no/such")
    wire.get("/health", host="evil.example")
    wire.begin()
    after = numbers()
    assert after == dict(zip(before, (1, 1, 2, 1, 1, 5, 1, 1, 1, 1, 1, 1), strict=True))
    world.store.indexes.embed_pending()
    world.store.indexes.catch_up()
    assert numbers() == after | {"pending_embeddings": 0, "index_lag": 0}
    assert read_metric(wire, "vectors") == 1
    assert read_metric(wire, 'bytes{part="store"}') > 4096


def test_metrics_are_valid_prometheus_text(wire: Wire) -> None:
    answer = wire.get("/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    samples = [line for line in answer.message.decode().splitlines() if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[a-z_]+(\{[^}]*\})? [-+0-9.eInf]+", line) for line in samples), samples


def test_unknown_paths_are_counted_as_one(wire: Wire) -> None:
    for number in range(20):
        wire.get(f"/made/up/{number}")
    text = wire.get("/metrics").message.decode()
    assert "made" not in text
    assert read_metric(wire, 'http_requests_total{path="other",status="404"}') == 20


# Access


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "192.168.1.5:9824", "", "localhost:9824@evil"]
)
def test_request_with_another_host_reaches_no_tool(world: World, wire: Wire, host: str) -> None:
    before = world.dump()
    answer = wire.call("remember", {"content": "The walrus", "category": "fact"}, host=host)
    assert answer.status == 403
    assert [wire.get(page, host=host).status for page in ("/health", "/stats", "/metrics")] == [403] * 3
    assert world.dump() == before
    assert read_metric(wire, 'http_refused_total{reason="host"}') == 4


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://127.0.0.1.evil.example", "file://", "http://localhost@evil"]
)
def test_request_from_another_origin_reaches_no_tool(world: World, wire: Wire, origin: str) -> None:
    before = world.dump()
    answer = wire.call("remember", {"content": "The walrus", "category": "fact"}, origin=origin)
    assert answer.status == 403
    assert wire.get("/metrics", origin=origin).status == 403
    assert world.dump() == before


def test_local_and_configured_hosts_are_allowed(tmp_path: Path) -> None:
    settings = {"server__allowed_hosts": "memory.lan", "server__allowed_origins": "https://pages.lan"}
    with World(tmp_path, **settings) as world, Wire(world.app()) as wire:
        for host in ("localhost:9824", "127.0.0.1", "[::1]:9824", "memory.lan:80", "MEMORY.LAN"):
            assert wire.get("/health", host=host).status == 200, host
        for origin in ("http://localhost:3000", "http://127.0.0.1:9824", "https://pages.lan"):
            assert wire.get("/health", origin=origin).status == 200, origin
        assert wire.get("/health", origin="http://pages.lan").status == 403


def test_no_response_has_a_cors_header(wire: Wire) -> None:
    session = wire.begin(origin="http://localhost:3000")
    answers: list[Answer] = []
    for origin in ("http://localhost:3000", "https://evil.example"):
        for page in PAGES:
            answers += [
                wire.request(method, page, origin=origin, access_control_request_method="POST")
                for method in ("GET", "POST", "OPTIONS", "PUT", "HEAD")
            ]
        answers.append(wire.ask("tools/list", origin=origin, mcp_session_id=session))
        answers.append(wire.call("memory_status", origin=origin))
    for answer in answers:
        assert not [name for name in answer.headers if name.lower().startswith("access-control")], answer
        assert "access-control" not in answer.headers.get("vary", "")
    assert {answer.status for answer in answers} == {200, 400, 403, 404, 405}


@contextmanager
def connect_with_key(world: World, key: str = "s3cret-key") -> Iterator[Wire]:
    with Wire(world.app(key=key)) as wire:
        yield wire


def test_key_is_required_except_for_health(world: World) -> None:
    before = world.dump()
    with connect_with_key(world) as wire:
        for page in ("/stats", "/metrics", "/mcp", "/no/such"):
            answer = wire.get(page)
            assert answer.status == 401, page
            assert answer.headers["www-authenticate"].startswith("Bearer")
        wrong: list[dict[str, str]] = [
            {},
            {"authorization": "Bearer wrong"},
            {"authorization": "Bearer "},
            {"authorization": "Basic s3cret-key"},
            {"authorization": "s3cret-key"},
            {"x_api_key": "s3cret-ke"},
            {"x_api_key": "s3cret-key "[:-2]},
            {"authorization": "Bearer s3cret-key", "x_api_key": "other"},
        ]
        for headers in wrong:
            answer = wire.call("remember", {"content": "The walrus", "category": "fact"}, **headers)
            assert answer.status == 401, headers
            assert b"s3cret" not in answer.message
        assert wire.get("/health").status == 200
        right: list[dict[str, str]] = [{"authorization": "Bearer s3cret-key"}, {"x_api_key": "s3cret-key"}]
        for headers in right:
            assert wire.call("memory_status", **headers).text.startswith("healthy")
        assert read_metric(wire, 'http_refused_total{reason="key"}', x_api_key="s3cret-key") == 12
    assert world.dump() == before


def test_non_ascii_key_is_compared_without_error(world: World) -> None:
    with connect_with_key(world) as wire:
        assert wire.get_raw("/stats", {"x-api-key": "schlüssel".encode()}) == 401


def test_session_of_a_key_needs_the_key(world: World) -> None:
    with connect_with_key(world) as wire:
        session = wire.begin(x_api_key="s3cret-key")
        assert wire.ask("tools/list", mcp_session_id=session).status == 401


# Limits


def test_body_over_the_limit_is_refused(world: World, wire: Wire) -> None:
    before = world.dump()
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    body = json.dumps(message | {"params": {"name": "remember", "arguments": {"content": "x" * BODY_LIMIT}}})
    assert wire.post(body).status == 413
    assert read_metric(wire, 'http_refused_total{reason="body"}') == 1
    assert world.dump() == before
    padded = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    assert wire.post(padded + " " * (BODY_LIMIT - len(padded))).status == 200
    assert wire.post(padded + " " * (BODY_LIMIT - len(padded) + 1)).status == 413


def test_two_busy_local_sessions_do_not_block_each_other(tmp_path: Path) -> None:
    with World(tmp_path, server__rate_limit="20") as world, Wire(world.app()) as wire:
        busy, other = wire.begin(), wire.begin()
        answers = [wire.ask("tools/list", mcp_session_id=busy).status for _ in range(25)]
        assert answers.count(429) >= 4
        refusal = wire.ask("tools/list", mcp_session_id=busy)
        assert int(refusal.headers["retry-after"]) >= 1
        assert [wire.ask("tools/list", mcp_session_id=other).status for _ in range(15)] == [200] * 15
        assert {wire.get("/health").status for _ in range(50)} == {200}


def test_invented_session_does_not_bypass_the_rate_limit(tmp_path: Path) -> None:
    with World(tmp_path, server__rate_limit="20") as world, Wire(world.app()) as wire:
        answers = [wire.ask("tools/list", mcp_session_id=f"made-up-{number}").status for number in range(40)]
    assert answers.count(404) == 20
    assert answers.count(429) == 20


def test_ended_session_does_not_bypass_the_rate_limit(tmp_path: Path) -> None:
    with World(tmp_path, server__rate_limit="8") as world, Wire(world.app()) as wire:
        session = wire.begin()
        wire.request("DELETE", "/mcp", mcp_session_id=session)
        answers = [wire.ask("tools/list", mcp_session_id=session).status for _ in range(20)]
        assert 404 in answers
        assert answers[-1] == 429


def test_rate_limit_of_zero_means_no_limit(tmp_path: Path) -> None:
    with World(tmp_path, server__rate_limit="0") as world, Wire(world.app()) as wire:
        assert {wire.ask("ping").status for _ in range(700)} == {200}


# With and without sessions


def test_clients_with_and_without_sessions_are_served_together(world: World, wire: Wire) -> None:
    walrus, bees = str(world.repository("walrus")), str(world.repository("bees"))
    session = wire.begin(x_opencode_directory=walrus)
    for number in range(3):
        wire.call(
            "remember",
            {"content": f"The walrus {number}", "category": "fact"},
            mcp_session_id=session,
            x_opencode_directory=walrus,
        )
        wire.call("remember", {"content": f"The bee {number}", "category": "fact"}, x_opencode_directory=bees)
    with_session = wire.call("recall", {"query": "the"}, mcp_session_id=session, x_opencode_directory=walrus)
    assert "bee" not in json.dumps(with_session.json)
    assert (
        len(wire.call("recall", {"query": "bee"}, x_opencode_directory=bees).result["structuredContent"]["memories"])
        == 3
    )
    assert (
        len(
            wire.call("recall", {"query": "walrus"}, mcp_session_id=session, x_opencode_directory=walrus).result[
                "structuredContent"
            ]["memories"]
        )
        == 3
    )


def test_stateless_request_starts_no_session(wire: Wire) -> None:
    for answer in (wire.ask("tools/list"), wire.call("memory_status"), wire.ask("ping")):
        assert answer.status == 200
        assert answer.session is None
    assert wire.get("/stats").json["mcp_sessions"] == 0


def test_word_initialize_elsewhere_starts_no_session(world: World, wire: Wire) -> None:
    answer = wire.call("remember", {"content": 'to initialize, send {"method":"initialize"}', "category": "fact"})
    assert "Stored" in answer.text
    assert answer.session is None
    assert wire.get("/stats").json["mcp_sessions"] == 0


def test_session_is_known_until_it_ends(wire: Wire) -> None:
    first, second = wire.begin(), wire.begin()
    assert first != second
    assert len(first) >= 32
    assert wire.get("/stats").json["mcp_sessions"] == 2
    assert wire.request("DELETE", "/mcp", mcp_session_id=first).status == 200
    assert wire.get("/stats").json["mcp_sessions"] == 1
    assert wire.ask("tools/list", mcp_session_id=first).status == 404
    assert wire.ask("tools/list", mcp_session_id=second).status == 200


@pytest.mark.parametrize("session", ["no-such-session", "x" * 5000, "../../etc/passwd", "%00"])
def test_unknown_session_gets_404(wire: Wire, session: str) -> None:
    assert wire.ask("tools/list", mcp_session_id=session).status == 404
    assert wire.call("remember", {"content": "x", "category": "fact"}, mcp_session_id=session).status == 404
    assert wire.request("DELETE", "/mcp", mcp_session_id=session).status == 404


def test_failed_requests_leave_no_session(wire: Wire) -> None:
    for _ in range(20):
        wire.request("GET", "/mcp", accept="text/event-stream")
        wire.request("DELETE", "/mcp")
        wire.post('{"jsonrpc":"2.0","id":1,"method":"initialize"', accept="application/json")
        wire.request(
            "POST", "/mcp", '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}', content_type="text/plain"
        )
    assert wire.get("/stats").json["mcp_sessions"] == 0


def test_refused_initialize_starts_no_session(wire: Wire) -> None:
    answer = wire.ask("initialize", {})
    assert "error" in answer.json
    assert wire.get("/stats").json["mcp_sessions"] == 0


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_every_handshake_version_is_supported(wire: Wire, version: str) -> None:
    who = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    answer = wire.ask("initialize", who)
    assert answer.result["protocolVersion"] == version
    assert answer.result["capabilities"] == {"tools": {"listChanged": False}}
    listed = wire.ask("tools/list", mcp_session_id=answer.session or "", mcp_protocol_version=version)
    assert len(listed.result["tools"]) == 37


def test_sdk_client_works_with_both_protocols(world: World) -> None:
    with world.serve() as server:
        for mode in (HANDSHAKE, MODERN, "auto"):
            agent = server.agent(world.folder, mode=mode)
            agent.remember(f"The walrus of {mode}", scope="global")
            assert len(agent.recall("walrus")) >= 1
        assert len(server.agent().recall("walrus")) == 3


# Shutdown


def test_shutdown_answers_running_calls_and_refuses_new_ones(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    entered, leave = threading.Event(), threading.Event()
    find = world.store.recall

    def slow(*arguments: Any, **named: Any) -> Any:
        entered.set()
        assert leave.wait(60)
        return find(*arguments, **named)

    monkeypatch.setattr(world.store, "recall", slow, raising=False)
    app = world.app()
    with Wire(app) as wire, ThreadPoolExecutor(1) as pool:
        wire.call("remember", {"content": "The walrus sleeps", "category": "fact"})
        waiting = pool.submit(wire.call, "recall", {"query": "walrus"})
        try:
            assert entered.wait(60)
            drained = wire.begin_task(app.drain)
            late = wire.call("remember", {"content": "The bee flies", "category": "fact"})
            assert (late.status, late.headers["retry-after"]) == (503, "1")
            assert not drained.done()
        finally:
            leave.set()
        assert "The walrus sleeps" in waiting.result(60).text
        drained.result(60)
    assert world.store.count(scope="global") == 1


# Start of the process


def test_non_loopback_host_without_a_key_is_refused(tmp_path: Path) -> None:
    for host in ("0.0.0.0", "::", "192.168.1.5", "memory.lan"):
        with pytest.raises(InvalidInputError, match="no API key is configured") as raised:
            decide_access(host, None, tmp_path)
        assert "OPENCODE_MEMORY_API_KEY" in (raised.value.hint or "")
        assert decide_access(host, "k", tmp_path).key == "k"
    beyond = ("0.0.0.0", "::", "127.0.0.1.evil.example", "localhost.evil.example", "")
    assert not [host for host in beyond if names_loopback(host)]
    assert all(names_loopback(host) for host in ("127.0.0.1", "127.8.8.8", "::1", "[::1]", "localhost"))


def test_no_key_is_needed_with_the_owner_check(tmp_path: Path) -> None:
    if not supports_owner_check():
        pytest.skip("this system does not tell")
    token = decide_access("127.0.0.1", None, tmp_path).token
    assert decide_access("127.0.0.1", None, tmp_path) == Access(None, os.geteuid(), token)
    assert decide_access("127.0.0.1", "k", tmp_path) == Access("k", os.geteuid(), token)


def test_plugin_token_is_kept_and_readable_by_its_owner_only(tmp_path: Path) -> None:
    first = decide_access("127.0.0.1", None, tmp_path)
    assert len(first.token) >= 32
    assert {decide_access("127.0.0.1", None, tmp_path), decide_access("0.0.0.0", "k", tmp_path)} == {
        first,
        Access("k", first.uid, first.token),
    }
    [file] = tmp_path.iterdir()
    assert (file.name, file.stat().st_mode & 0o777) == (TOKEN_FILE, 0o600)
    assert file.read_text() == first.token


def test_token_is_the_key_without_the_owner_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("opencode_memory.server.listening.supports_owner_check", lambda: False)
    first = decide_access("127.0.0.1", None, tmp_path)
    assert first == Access(first.token, None, first.token)
    assert decide_access("127.0.0.1", None, tmp_path) == first


def test_empty_token_file_is_rewritten(tmp_path: Path) -> None:
    (tmp_path / TOKEN_FILE).touch(0o600)
    assert len(decide_access("127.0.0.1", None, tmp_path).token) >= 32


def test_refused_host_leaves_no_token_file(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError):
        decide_access("0.0.0.0", None, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_port_in_use_is_refused_with_a_hint() -> None:
    with bind("127.0.0.1", 0) as listening:
        port = listening.getsockname()[1]
        with pytest.raises(ConflictError, match=str(port)) as raised:
            bind("127.0.0.1", port)
    assert raised.value.hint
    with bind("127.0.0.1", port) as again:
        assert again.getsockname()[1] == port


@pytest.mark.parametrize("host", ["no.such.host.invalid", "300.1.1.1", "192.0.2.1"])
def test_foreign_address_is_refused(host: str) -> None:
    with pytest.raises(InvalidInputError, match=r"server\.host"):
        bind(host, 0)


@contextmanager
def run_server(folder: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    """Run a server in a separate process with its own home."""
    home = {"HOME": str(folder), "XDG_DATA_HOME": str(folder / "data"), "XDG_CONFIG_HOME": str(folder / "config")}
    process = subprocess.Popen(
        [sys.executable, "-m", "opencode_memory.cli", "serve", "--no-worker", *options],
        env=processes.environment(PYTHONWARNINGS="default", **home),
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def test_second_server_names_the_holder_of_the_port(tmp_path: Path) -> None:
    port = str(free_port())
    with run_server(tmp_path / "one", "--port", port) as first:
        assert f"http://127.0.0.1:{port}/mcp" in first.stderr.readline()
        with run_server(tmp_path / "two", "--port", port) as second:
            _, output = second.communicate(timeout=60)
        assert second.returncode not in (0, None)
        assert all(word in output for word in (port, "opencode-memory", str(first.pid))), output
        assert "Traceback" not in output
        assert not (tmp_path / "two" / "data" / "opencode-memory" / "store" / "store.db").exists()
        assert first.poll() is None


def test_real_server_refuses_a_non_loopback_host_without_a_key(tmp_path: Path) -> None:
    with run_server(tmp_path, "--host", "0.0.0.0", "--port", "0") as server:
        _, output = server.communicate(timeout=60)
    assert server.returncode not in (0, None)
    assert "no API key is configured" in output
    assert "Traceback" not in output
