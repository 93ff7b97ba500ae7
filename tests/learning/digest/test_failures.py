"""Failures of the LLM server; errors and logs contain neither the key nor texts of memories."""

from __future__ import annotations

import gzip
import logging
import socket
import sys
import traceback

import pytest

from opencode_memory.learning.digest.budget import Usage
from opencode_memory.learning.digest.errors import DigestError, UnreachableError
from opencode_memory.learning.digest.server_model import ModelAnswer
from support.digesting import KEY, TEXT, TODAY, Scene, ask
from support.model_server import Reply, digests, refuses, says


def test_truncated_answer_is_final(scene: Scene) -> None:
    reply = says('{"notes": [{"id": "1"', finish_reason="length")
    with pytest.raises(DigestError, match="did not finish within 4,096 tokens") as failure:
        ask(scene.make(scene.serve(reply)))
    assert failure.value.is_final


@pytest.mark.parametrize(
    "reply",
    [
        Reply(body=b"<html>It works!</html>"),
        Reply(body=b'{"choices": ['),
        Reply(body=b"\xff\xfe"),
        Reply(body=b"["),
        Reply(status=204),
    ],
)
def test_response_without_json_is_no_chat_completion(reply: Reply, scene: Scene) -> None:
    with pytest.raises(DigestError, match="not a chat-completions server"):
        ask(scene.make(scene.serve(reply)))


def test_huge_response_is_not_read_to_its_end(scene: Scene) -> None:
    with pytest.raises(DigestError, match="more than 256 KB") as failure:
        ask(scene.make(scene.serve(says("x" * 300_000))))
    assert not failure.value.is_final


def test_compressed_response_is_refused(scene: Scene) -> None:
    packed = gzip.compress(b" " * 10_000_000)
    server = scene.serve(Reply(headers={"Content-Encoding": "gzip"}, body=packed))
    with pytest.raises(DigestError, match="compressed"):
        ask(scene.make(server))
    assert server.received[0].headers["Accept-Encoding"] == "identity"


def test_silent_server_times_out(scene: Scene) -> None:
    with pytest.raises(DigestError, match=r"did not answer within 0\.2 s") as failure:
        ask(scene.make(scene.serve(Reply(hangs=True)), timeout_seconds=0.2))
    assert not failure.value.is_final
    assert not isinstance(failure.value, UnreachableError)
    # The server may have used tokens, so the estimate stays charged.
    assert scene.ledger.days[TODAY].calls == 1
    assert scene.ledger.days[TODAY].tokens > 4_096


def test_slowly_dripping_server_times_out(scene: Scene) -> None:
    with pytest.raises(DigestError, match=r"did not answer within 0\.3 s"):
        ask(scene.make(scene.serve(Reply(drips=True)), timeout_seconds=0.3))


@pytest.mark.parametrize(
    "raw",
    [b"", b"SSH-2.0-OpenSSH_9.9\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{"],
    ids=["nothing", "another protocol", "half an answer"],
)
def test_interrupted_connection_may_be_retried(raw: bytes, scene: Scene) -> None:
    with pytest.raises(DigestError, match="failed") as failure:
        ask(scene.make(scene.serve(Reply(raw=raw))))
    assert not failure.value.is_final


def test_refused_connection_is_not_charged(scene: Scene) -> None:
    with pytest.raises(UnreachableError, match=f"cannot connect .* http://127.0.0.1:{scene.closed_port}") as failure:
        ask(scene.make(f"http://127.0.0.1:{scene.closed_port}/v1"))
    assert not failure.value.is_final
    assert scene.ledger.days == {TODAY: Usage()}


@pytest.mark.skipif(sys.platform != "linux", reason="a full queue of connections is refused elsewhere")
def test_connect_timeout_is_not_charged(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("opencode_memory.http_client.request.CONNECT_SECONDS", 0.1)
    # The listener never accepts, so its queue is full after one connection. The system does not answer the next one.
    with (
        socket.create_server(("127.0.0.1", 0), backlog=0) as listener,
        socket.create_connection(listener.getsockname()),
        pytest.raises(UnreachableError, match="cannot connect"),
    ):
        ask(scene.make(f"http://127.0.0.1:{listener.getsockname()[1]}/v1"))
    assert scene.ledger.days == {TODAY: Usage()}


@pytest.mark.parametrize(
    ("status", "is_final"),
    [(status, True) for status in (401, 403, 404, 413, 418)]
    + [(status, False) for status in (408, 409, 425, 429, 500, 502, 503, 504, 599)],
)
def test_status_decides_whether_to_retry(status: int, is_final: bool, scene: Scene) -> None:
    server = scene.serve(refuses(status))
    with pytest.raises(DigestError, match=f"status {status}") as failure:
        ask(scene.make(server))
    assert failure.value.is_final is is_final
    assert len(server.received) == 1
    assert scene.ledger.days == {TODAY: Usage(calls=1, tokens=0)}


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("17", 17.0),
        ("0", 0.0),
        ("Sat, 03 Oct 2026 21:31:30 GMT", 90.0),
        ("Sat, 03 Oct 2026 21:31:30 -0000", 90.0),
        ("Sat, 03 Oct 2026 21:00:00 GMT", 0.0),
        ("99999999", 86_400.0),
        ("soon", None),
        ("-5", None),
        ("Sat, 03 Oct 99999999999999999999 21:00:00 GMT", None),
    ],
)
@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_header_is_parsed(status: int, written: str, seconds: float | None, scene: Scene) -> None:
    with pytest.raises(DigestError) as failure:
        ask(scene.make(scene.serve(refuses(status, retry_after=written))))
    assert failure.value.retry_after_seconds == seconds


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_redirect_is_not_followed(status: int, scene: Scene) -> None:
    elsewhere = scene.serve(digests())
    server = scene.serve(Reply(status=status, headers={"Location": f"{elsewhere.url}/chat/completions"}))
    with pytest.raises(DigestError, match="redirects") as failure:
        ask(scene.make(server, key=KEY))
    assert failure.value.is_final
    assert not elsewhere.received


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
def test_environment_proxy_is_not_used_for_loopback(
    variable: str, monkeypatch: pytest.MonkeyPatch, scene: Scene
) -> None:
    proxy, server = scene.serve(digests()), scene.serve(digests())
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, proxy.url.removesuffix("/v1"))
    assert isinstance(ask(scene.make(server)), ModelAnswer)
    assert not proxy.received


def test_key_is_neither_logged_nor_in_errors(caplog: pytest.LogCaptureFixture, scene: Scene) -> None:
    caplog.set_level(logging.DEBUG)
    quoted = f"Incorrect API key provided: {KEY}"
    scripts = [[digests()], [refuses(400, quoted), refuses(401, quoted)], [says(KEY)], [Reply(hangs=True)]]
    addresses = [scene.serve(*script).url for script in scripts] + [f"http://127.0.0.1:{scene.closed_port}/v1"]
    hanging = addresses[len(scripts) - 1]
    told = []
    for address in addresses:
        # Only the server that hangs needs a short time. A busy machine may need more for the others.
        model = scene.make(address, key=KEY, timeout_seconds=0.2 if address == hanging else 60)
        told.append(repr(model))
        try:
            told.append(repr(ask(model)))
        except DigestError as error:
            told += [repr(error), str(error.hint), *traceback.format_exception(error)]
    assert len(told) > len(addresses) * 2
    assert "[key]" in caplog.text
    assert KEY not in caplog.text
    assert KEY not in "".join(told)


def test_texts_are_logged_at_debug_only(caplog: pytest.LogCaptureFixture, scene: Scene) -> None:
    caplog.set_level(logging.INFO)
    with pytest.raises(DigestError) as failure:
        ask(scene.make(scene.serve(refuses(400, TEXT), refuses(500, TEXT))))
    assert TEXT not in caplog.text
    assert TEXT not in str(failure.value)
