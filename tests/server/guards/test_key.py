"""API key authentication: only requests with the exact key are accepted."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.testclient import TestClient

from opencode_memory.errors import InvalidInputError
from opencode_memory.server.guards import ApiKey
from support.asgi import Echo, ask, body_messages, http_scope, websocket_scope

KEY = "s3cret-key"
BEARER = (b"authorization", b"Bearer s3cret-key")
X_API_KEY = (b"x-api-key", b"s3cret-key")


class Keyed:
    """An echo app behind a key, and the refusals that the guard reported."""

    def __init__(self, key: str = KEY, other: str | None = None) -> None:
        self.refused: list[str] = []
        self.echo = Echo()
        self.app = ApiKey(
            self.echo, key=key, other=other, open_paths=frozenset({"/health"}), on_refused=self.refused.append
        )

    def is_allowed(self, *headers: tuple[bytes, bytes], **scope: Any) -> bool:
        answer = ask(self.app, http_scope(headers, **scope), body_messages(b"hel", b"lo"))
        if answer.status == 401:
            assert answer.headers[b"www-authenticate"].startswith(b"Bearer")
            assert answer.refusal
            assert KEY.encode() not in answer.body
            assert self.refused == ["key"]
            assert self.echo.scopes == []
            return False
        assert answer.body == b"hello"
        assert self.refused == []
        return True


@pytest.mark.parametrize(
    "headers",
    [
        [BEARER],
        [X_API_KEY],
        [BEARER, X_API_KEY],
        [BEARER, BEARER],
        [(b"Authorization", b"bearer   s3cret-key")],
        [(b"X-API-KEY", b"s3cret-key")],
    ],
)
def test_request_with_the_key_is_accepted(headers: list[tuple[bytes, bytes]]) -> None:
    assert Keyed().is_allowed(*headers)


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [(b"authorization", b"")],
        [(b"authorization", b"Bearer")],
        [(b"authorization", b"Bearer ")],
        [(b"authorization", b"s3cret-key")],
        [(b"authorization", b"Basic s3cret-key")],
        [(b"authorization", b"Bearer S3CRET-KEY")],
        [(b"authorization", b"Bearer s3cret-ke")],
        [(b"authorization", b"Bearer s3cret-key2")],
        [(b"authorization", b"Bearer s3cret-key, Bearer s3cret-key")],
        [(b"authorization", b"Bearer Bearer s3cret-key")],
        [(b"authorization", b"Bearer\xa0s3cret-key")],
        [(b"authorization", b"\xff\xfe")],
        [(b"authorization", "Bearer schlüssel".encode())],
        [(b"authorization", b"Bearer schl\xfcssel")],
        [(b"x-api-key", b"")],
        [(b"x-api-key", b"\xff")],
        [(b"x-api-key", b"s3cret-key\x00")],
        [(b"cookie", b"key=s3cret-key")],
    ],
)
def test_request_without_the_exact_key_is_refused(headers: list[tuple[bytes, bytes]]) -> None:
    assert not Keyed().is_allowed(*headers)
    assert not Keyed().is_allowed(*headers, query_string=b"key=s3cret-key&api_key=s3cret-key")


@pytest.mark.parametrize(
    "other",
    [
        (b"authorization", b"Bearer other"),
        (b"authorization", b"Basic dXNlcjpwYXNz"),
        (b"x-api-key", b"other"),
        (b"x-api-key", b""),
        (b"X-Api-Key", b"\xff"),
    ],
)
def test_key_together_with_another_key_is_refused(other: tuple[bytes, bytes]) -> None:
    for right in (BEARER, X_API_KEY):
        assert not Keyed().is_allowed(right, other)
        assert not Keyed().is_allowed(other, right)


def test_second_key_is_accepted_alone_but_not_with_the_first() -> None:
    other = (b"authorization", b"Bearer t0ken")
    assert Keyed(other="t0ken").is_allowed(other)
    assert Keyed(other="t0ken").is_allowed(BEARER)
    assert Keyed(other="t0ken").is_allowed(other, (b"x-api-key", b"t0ken"))
    for headers in ([other, X_API_KEY], [X_API_KEY, other], [(b"x-api-key", b"t0ke")], [(b"authorization", b"Bearer")]):
        assert not Keyed(other="t0ken").is_allowed(*headers)


@pytest.mark.parametrize("other", [None, ""])
def test_missing_second_key_accepts_no_empty_credential(other: str | None) -> None:
    for headers in ([], [(b"authorization", b"Bearer ")], [(b"x-api-key", b"")], [(b"authorization", b"Bearer None")]):
        assert not Keyed(other=other).is_allowed(*headers)


def test_key_may_contain_any_letters_and_spaces() -> None:
    key = "drei süße Wörter"
    assert Keyed(key).is_allowed((b"authorization", f"Bearer {key}".encode()))
    assert Keyed(key).is_allowed((b"x-api-key", key.encode()))
    assert not Keyed(key).is_allowed((b"x-api-key", key.encode("latin-1")))


@pytest.mark.parametrize("key", ["", " ", "key ", " key", "a\nb", "a\x00"])
def test_key_that_no_header_can_carry_is_rejected(key: str) -> None:
    with pytest.raises(InvalidInputError):
        Keyed(key)


def test_only_the_exact_open_path_needs_no_key() -> None:
    assert Keyed().is_allowed(path="/health")
    assert Keyed().is_allowed((b"x-api-key", b"wrong"), path="/health")
    for path in ("/health/", "/health/../mcp", "//health", "/healthz", "/HEALTH", "/mcp/health", "/"):
        assert not Keyed().is_allowed(path=path), path


def test_websocket_needs_the_key_on_every_path() -> None:
    for path in ("/ws", "/health"):
        keyed = Keyed()
        answer = ask(keyed.app, websocket_scope([], path=path, denial=True), [{"type": "websocket.connect"}])
        assert answer.status == 401
        assert keyed.refused == ["key"]
    keyed = Keyed()
    with TestClient(keyed.app).websocket_connect("/ws", headers={"x-api-key": KEY}) as socket:
        socket.send_text("hello")
        assert socket.receive_text() == "hello"


def test_lifespan_scope_needs_no_key() -> None:
    keyed = Keyed()
    with TestClient(keyed.app):
        pass
    assert keyed.echo.scopes == ["lifespan"]
