"""JSON-RPC over lines: ids that the protocol does not allow get an error, and no character ends a line early."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import IO, Any

import pytest

from opencode_memory.server.malformed import refuse_malformed
from support.mcp import World
from support.mcp_http import LATEST, Wire

SEPARATORS = "a\u2028b\u2029c\x85d"
CALL = {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "memory_status", "arguments": {}}}
BAD_IDS = {
    "NaN": "not an integer",
    "1.5": "not an integer",
    "7.0": "an integer with a decimal point or an exponent",
    "{}": "an object",
    "[1]": "an array",
    "true": "a boolean",
}


def encode_call(id: str) -> str:
    """Encode a call with an id that need not be valid JSON."""
    return json.dumps(CALL)[:-1] + f', "id": {id}}}'


@pytest.mark.parametrize("direct", [False, True])
@pytest.mark.parametrize("id", BAD_IDS)
def test_request_with_an_invalid_id_gets_an_error_over_http(world: World, id: str, direct: bool) -> None:
    headers = {"mcp_protocol_version": LATEST} if direct else {}
    with Wire(world.app()) as wire:
        answer = wire.post(encode_call(id), **headers)
    assert answer.status == 400
    assert (answer.json["id"], answer.json["error"]["code"]) == (None, -32600)
    assert answer.json["error"]["message"] == f"id: must be a string or an integer, not {_describe(id)}"


def _describe(id: str) -> str:
    text = BAD_IDS[id]
    return f"a number that is {text}" if text.startswith("not") else text


@pytest.mark.parametrize("direct", [False, True])
def test_answer_over_http_escapes_line_separators(world: World, direct: bool) -> None:
    with Wire(world.app()) as wire:
        stored = wire.call("remember", {"content": f"The walrus {SEPARATORS}", "category": "fact"})
        id = stored.json["result"]["structuredContent"]["id"]
        headers = {"mcp_protocol_version": LATEST} if direct else {}
        answer = wire.call("get_memory", {"memory_id": id}, **headers)
    assert answer.json["result"]["structuredContent"]["memory"]["content"].endswith(SEPARATORS)
    assert not set(SEPARATORS[1::2]) & set(answer.message.decode())


@pytest.mark.parametrize(
    ("line", "code", "id"),
    [
        ("{", -32700, None),
        ("not JSON", -32700, None),
        ("[" * 5000, -32700, None),
        ("[]", -32600, None),
        ("7", -32600, None),
        ("{}", -32600, None),
        ('{"id": 1, "method": "ping"}', -32600, 1),
        ('{"jsonrpc": "2.0", "id": "a", "method": 5}', -32600, "a"),
        ('{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []}', -32600, 1),
        ('{"jsonrpc": "2.0", "id": {}, "method": "ping"}', -32600, None),
    ],
)
def test_malformed_line_is_refused(line: str, code: int, id: str | int | None) -> None:
    refusal = refuse_malformed(line)
    assert refusal is not None
    assert (refusal["id"], refusal["error"]["code"]) == (id, code)


@pytest.mark.parametrize(
    "line",
    [
        '{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": null}',
        '{"jsonrpc": "2.0", "method": "notifications/initialized"}',
        '{"jsonrpc": "2.0", "method": "notifications/initialized", "params": []}',
        '{"jsonrpc": "2.0", "id": null, "method": "notifications/initialized"}',
        '{"jsonrpc": "2.0", "id": 1, "result": {}}',
        '{"jsonrpc": "2.0", "id": 1, "result": 3}',
        '{"jsonrpc": "2.0", "id": null, "error": {"code": 1, "message": "x"}}',
    ],
)
def test_requests_notifications_and_answers_are_not_refused(line: str) -> None:
    assert refuse_malformed(line) is None


def test_server_over_stdio_answers_invalid_ids_and_escapes_line_separators(tmp_path: Path) -> None:
    program = [sys.executable, "-m", "opencode_memory.cli", "serve", "--stdio", "--data-dir", str(tmp_path / "store")]
    with subprocess.Popen(program, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        hello = {"protocolVersion": LATEST, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        first = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
        assert json.loads(_ask(process.stdin, process.stdout, json.dumps(first)))["id"] == 1
        _say(process.stdin, json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}))
        for id in BAD_IDS:
            refusal = json.loads(_ask(process.stdin, process.stdout, encode_call(id)))
            assert (refusal["id"], refusal["error"]["code"]) == (None, -32600), id
        _say(process.stdin, "")
        broken = json.loads(_ask(process.stdin, process.stdout, '{"jsonrpc": "2.0", "id": 5, "method":'))
        assert (broken["id"], broken["error"]["code"]) == (None, -32700)
        remember: dict[str, Any] = CALL | {"id": "last"}
        remember["params"] = {"name": "remember", "arguments": {"content": SEPARATORS, "category": "fact"}}
        _ask(process.stdin, process.stdout, json.dumps(remember))
        recall = remember | {"params": {"name": "recall", "arguments": {"query": "a b c d"}}}
        line = _ask(process.stdin, process.stdout, json.dumps(recall)).decode()
        assert len(line.splitlines()) == 1
        assert SEPARATORS in json.dumps(json.loads(line), ensure_ascii=False)
        process.stdin.close()
        assert process.wait(30) == 0


def _say(to: IO[bytes], line: str) -> None:
    to.write(line.encode() + b"\n")
    to.flush()


def _ask(to: IO[bytes], answers: IO[bytes], line: str) -> bytes:
    _say(to, line)
    return answers.readline()
