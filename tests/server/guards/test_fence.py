"""The fence against DNS rebinding: allowed hosts and origins."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.testclient import TestClient, WebSocketDenialResponse

from opencode_memory.errors import InvalidInputError
from opencode_memory.server.guards import Fence, default_hosts, default_origins
from support.asgi import OUR_HOST, Echo, ask, body_messages, http_scope, websocket_scope

HOSTS = default_hosts("127.0.0.1")
ORIGINS = default_origins("127.0.0.1")


class Fenced:
    """An echo app behind a fence, and the refusals that the fence reported."""

    def __init__(self, *, hosts=HOSTS, origins=ORIGINS) -> None:
        self.refused: list[str] = []
        self.echo = Echo()
        self.app = Fence(self.echo, hosts=hosts, origins=origins, on_refused=self.refused.append)

    def is_allowed(self, *headers: tuple[bytes, bytes], **scope: Any) -> bool:
        answer = ask(self.app, http_scope(headers, **scope), body_messages(b"hello"))
        assert not any(name.startswith(b"access-control") for name in answer.headers)
        if answer.status == 403:
            assert answer.refusal["hint"]
            assert self.echo.scopes == []
            assert len(self.refused) == 1
            return False
        assert answer.body == b"hello"
        assert self.refused == []
        return True


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1", "127.0.0.1:9824", "localhost", "LocalHost:1", "localhost.", "localhost.:9824", "[::1]",
        "[::1]:9824", "[0:0:0:0:0:0:0:1]:9824",
    ],
)  # fmt: skip
def test_every_spelling_of_loopback_is_allowed(host: str) -> None:
    assert Fenced().is_allowed((b"host", host.encode()))


def test_header_names_are_case_insensitive() -> None:
    assert Fenced().is_allowed((b"HOST", b"localhost"))
    assert not Fenced().is_allowed((b"Host", b"localhost"), (b"hOsT", b"evil.com"))
    assert not Fenced().is_allowed(OUR_HOST, (b"ORIGIN", b"http://evil.com"))


@pytest.mark.parametrize(
    "host",
    [
        b"", b" ", b"evil.com", b"evil.com:9824", b"127.0.0.1.evil.com", b"localhost.evil.com", b"evil.com.localhost",
        b"localhost:9824@evil.com", b"localhost@evil.com", b"evil@localhost", b"localhost:", b"localhost:9824:1",
        b"localhost:-1", b"localhost:*", b"localhost:evil", b"localhost:999999", b"localhost..", b".localhost", b".",
        b"localhost,evil.com", b"localhost evil.com", b" localhost", b"localhost ", b"localhost\t", b"localhost\n",
        b"localhost/", b"localhost#", b"localhost?", b"localhost\\.evil.com", b"localhost\x00", b"localhost%00.evil.com",
        b"loc\xc3\xa4lhost", b"localhost\xff", b"\xe2\x84\xaa", b"::1", b"[::1", b"::1]", b"[::1]evil.com",
        b"[::1].evil.com", b"[::1%lo]", b"[::g]", b"[1:2]", b"[]", b"[127.0.0.1]", b"[::ffff:127.0.0.1]", b"[localhost]",
        b"127.1", b"0x7f.0.0.1", b"2130706433", b"0.0.0.0", b"[::]", b"127.0.0.2", b"http://localhost", b"*",
        b"localhost:\xd9\xa1",
    ],
)  # fmt: skip
def test_other_host_names_are_refused(host: bytes) -> None:
    fenced = Fenced()
    assert not fenced.is_allowed((b"host", host))
    assert fenced.refused == ["host"]


def test_request_without_exactly_one_host_is_refused() -> None:
    assert not Fenced().is_allowed()
    assert not Fenced().is_allowed(http_version="1.0")
    assert not Fenced().is_allowed(OUR_HOST, (b"host", b"evil.com"))
    assert not Fenced().is_allowed((b"host", b"evil.com"), OUR_HOST)
    assert not Fenced().is_allowed(OUR_HOST, OUR_HOST)


@pytest.mark.parametrize("header", [b"x-forwarded-host", b"forwarded", b"x-host", b":authority"])
def test_forwarded_host_headers_are_ignored(header: bytes) -> None:
    assert not Fenced().is_allowed((header, b"localhost"))
    assert not Fenced().is_allowed((b"host", b"evil.com"), (header, b"localhost"))


@pytest.mark.parametrize("target", ["http://evil.com/mcp", "http://127.0.0.1:9824/mcp", "evil.com:443", "*", ""])
def test_absolute_request_target_is_refused(target: str) -> None:
    assert not Fenced().is_allowed(OUR_HOST, path=target)
    assert not Fenced().is_allowed(OUR_HOST, path=target, raw_path=None)


def test_raw_request_target_is_checked() -> None:
    assert not Fenced().is_allowed(OUR_HOST, path="/mcp", raw_path=b"http://evil.com/mcp")
    assert Fenced().is_allowed(OUR_HOST, path="/mcp", raw_path=None)


@pytest.mark.parametrize(
    "origin",
    ["http://localhost", "http://localhost:3000", "HTTP://LOCALHOST:80", "http://127.0.0.1:1", "http://[::1]:9824"],
)
def test_local_origins_are_allowed(origin: str) -> None:
    assert Fenced().is_allowed(OUR_HOST, (b"origin", origin.encode()))


@pytest.mark.parametrize(
    "origin",
    [
        b"null", b"", b" ", b"*", b"http://evil.com", b"https://localhost", b"http://localhost.evil.com",
        b"http://localhost:3000.evil.com", b"http://localhost:3000@evil.com", b"http://evil.com:9824", b"http://localhost:*",
        b"http://localhost/", b"http://localhost:80/x", b"localhost", b"//localhost", b"://localhost", b"http:localhost",
        b"http://", b"http://localhost http://evil.com", b"http://localhost,http://evil.com", b"file://", b"file:///",
        b"http://localhost\xff", b"\xff://localhost", b" http://localhost", b"http://http://localhost", b"data:localhost",
    ],
)  # fmt: skip
def test_other_origins_are_refused(origin: bytes) -> None:
    fenced = Fenced()
    assert not fenced.is_allowed(OUR_HOST, (b"origin", origin))
    assert fenced.refused == ["origin"]


def test_multiple_origins_are_refused() -> None:
    friend = (b"origin", b"http://localhost")
    assert not Fenced().is_allowed(OUR_HOST, friend, (b"origin", b"http://evil.com"))
    assert not Fenced().is_allowed(OUR_HOST, friend, friend)


def test_configured_origin_matches_its_port_or_any_port() -> None:
    origins = ["https://app.example", "http://dev.example:3000", "vscode-webview://0ab", "http://any.example:*"]
    for origin, allowed in [
        (b"https://app.example", True),
        (b"https://app.example:443", True),
        (b"https://app.example:8443", False),
        (b"http://app.example", False),
        (b"http://dev.example:3000", True),
        (b"http://dev.example:03000", True),
        (b"http://dev.example", False),
        (b"http://dev.example:30000", False),
        (b"vscode-webview://0ab", True),
        (b"vscode-webview://0ac", False),
        (b"http://any.example", True),
        (b"http://any.example:7", True),
        (b"http://localhost", False),
    ]:
        assert Fenced(origins=origins).is_allowed(OUR_HOST, (b"origin", origin)) is allowed, origin


def test_preflight_requests_are_checked_like_others() -> None:
    preflight = (b"access-control-request-method", b"POST")
    assert Fenced().is_allowed(OUR_HOST, preflight, method="OPTIONS")
    assert not Fenced().is_allowed(OUR_HOST, preflight, (b"origin", b"http://evil.com"), method="OPTIONS")
    assert not Fenced().is_allowed(OUR_HOST, path="*", method="OPTIONS")


def test_configured_hosts_are_allowed_besides_loopback() -> None:
    hosts = default_hosts("Memory.lan.") | {"::2", "[fd00:0::3]"}
    assert hosts >= {"127.0.0.1", "localhost", "[::1]", "memory.lan"}
    for host in (b"memory.lan:9824", b"MEMORY.LAN.", b"[::2]", b"[fd00::3]:1", b"localhost"):
        assert Fenced(hosts=hosts).is_allowed((b"host", host)), host
    assert not Fenced(hosts=hosts).is_allowed((b"host", b"lan"))


def test_unspecified_address_is_not_an_allowed_host() -> None:
    for everywhere in ("0.0.0.0", "::", "[::]"):
        assert default_hosts(everywhere) == default_hosts("127.0.0.1")
    assert default_hosts("192.168.1.5") == default_hosts("127.0.0.1") | {"192.168.1.5"}
    assert default_hosts("::2") == default_hosts("127.0.0.1") | {"[::2]"}
    assert default_origins("::2") >= {"http://[::2]:*", "http://localhost:*"}


@pytest.mark.parametrize("host", ["", "*", "localhost:9824", "localhost:*", "http://localhost", "a b", "ä", "[::g]"])
def test_malformed_allowed_host_is_rejected(host: str) -> None:
    with pytest.raises(InvalidInputError, match="not a valid host name") as raised:
        Fenced(hosts=[host])
    assert raised.value.field == "hosts"


@pytest.mark.parametrize("origin", ["", "*", "null", "localhost", "http://*", "http://localhost/", "http://a,http://b"])
def test_malformed_allowed_origin_is_rejected(origin: str) -> None:
    with pytest.raises(InvalidInputError, match="not a valid origin") as raised:
        Fenced(origins=[origin])
    assert raised.value.field == "origins"


@pytest.mark.parametrize("denial", [True, False])
def test_websocket_from_a_foreign_host_or_origin_is_refused(denial: bool) -> None:
    for headers in ([(b"host", b"evil.com")], [OUR_HOST, (b"origin", b"http://evil.com")], [OUR_HOST, OUR_HOST], []):
        fenced = Fenced()
        answer = ask(fenced.app, websocket_scope(headers, denial=denial), [{"type": "websocket.connect"}])
        if denial:
            assert answer.messages[0]["type"] == "websocket.http.response.start"
            assert answer.status == 403
            assert answer.refusal
        else:
            assert [message["type"] for message in answer.messages] == ["websocket.close"]
        assert fenced.echo.scopes == []


def test_websocket_from_an_allowed_origin_works() -> None:
    fenced = Fenced()
    client = TestClient(fenced.app)
    friend = {"host": "localhost:9824", "origin": "http://localhost:3000"}
    with client.websocket_connect("/ws", headers=friend) as socket:
        socket.send_text("hello")
        assert socket.receive_text() == "hello"
    assert fenced.refused == []
    with (
        pytest.raises(WebSocketDenialResponse) as raised,
        client.websocket_connect("/ws", headers={"host": "evil.com"}),
    ):
        pass
    assert raised.value.status_code == 403
    assert fenced.refused == ["host"]


def test_lifespan_scope_is_not_checked() -> None:
    fenced = Fenced()
    with TestClient(fenced.app, base_url="http://evil.com") as client:
        assert client.post("/mcp").status_code == 403
    assert fenced.echo.scopes == ["lifespan"]
