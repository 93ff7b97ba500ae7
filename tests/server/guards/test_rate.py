"""The rate limit: the buckets of clients, and the bound on their memory."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from starlette.testclient import TestClient

from opencode_memory.errors import InvalidInputError
from opencode_memory.server.guards import RateLimit
from opencode_memory.server.guards.buckets import MOST_BUCKETS, Buckets
from support.asgi import Answer, Echo, ask, body_messages, http_scope, websocket_scope


class Limited:
    """An echo app behind a limit of three requests a minute, with a manual clock."""

    def __init__(self, per_minute: int = 3, *, exempt: frozenset[str] = frozenset()) -> None:
        self.now = 1e6
        self.refused: list[str] = []
        self.sessions = {"one", "two"}
        self.echo = Echo()
        self.app = RateLimit(
            self.echo,
            per_minute=per_minute,
            known_session=self.sessions.__contains__,
            clock=lambda: self.now,
            on_refused=self.refused.append,
            exempt=exempt,
        )

    def ask(self, client=("127.0.0.1", 50000), *headers: tuple[bytes, bytes], **scope: Any) -> Answer:
        answer = ask(self.app, http_scope(headers, client=client, **scope), body_messages(b"hel", b"lo"))
        assert answer.refusal if answer.status == 429 else answer.body == b"hello"
        return answer

    def exhaust(self, client, *headers: tuple[bytes, bytes]) -> None:
        """Send requests until the fourth, which is refused."""
        assert [self.ask(client, *headers).status for _ in range(4)] == [200, 200, 200, 429]


def session(name: bytes) -> tuple[bytes, bytes]:
    return (b"mcp-session-id", name)


def test_burst_passes_and_then_requests_at_the_refill_rate() -> None:
    limited = Limited()
    limited.exhaust(("127.0.0.1", 1))
    assert limited.refused == ["rate"]
    limited.now += 19.9
    assert limited.ask(("127.0.0.1", 1)).status == 429
    limited.now += 0.1
    assert [limited.ask(("127.0.0.1", 1)).status for _ in range(2)] == [200, 429]
    limited.now += 60
    limited.exhaust(("127.0.0.1", 1))
    limited.now += 6000
    limited.exhaust(("127.0.0.1", 1))


@pytest.mark.parametrize("per_minute", [1, 7, 59, 60, 61, 6000, 100_000])
def test_limit_is_exact(per_minute: int) -> None:
    buckets = Buckets(per_minute=per_minute, clock=lambda: 1e6)
    assert not any(buckets.take("") for _ in range(per_minute))
    assert buckets.take("") == pytest.approx(60 / per_minute, rel=0.05)


@pytest.mark.parametrize("per_minute", [1, 3, 7, 60, 200])
def test_request_after_retry_after_is_accepted(per_minute: int) -> None:
    limited = Limited(per_minute)
    while (answer := limited.ask()).status == 200:
        pass
    seconds = answer.headers[b"retry-after"]
    assert seconds.isdigit()
    assert int(seconds) == max(1, 60 // per_minute + (60 % per_minute > 0))
    limited.now += int(seconds)
    assert limited.ask().status == 200


def test_two_busy_local_agents_do_not_block_each_other() -> None:
    limited = Limited()
    limited.exhaust(("127.0.0.1", 1), session(b"one"))
    limited.exhaust(("127.0.0.1", 1), session(b"two"))
    limited.exhaust(("127.0.0.1", 1))
    limited.exhaust(("127.0.0.1", 2))
    limited.exhaust(("::1", 1))


def test_session_has_one_bucket_for_all_its_connections() -> None:
    limited = Limited()
    limited.exhaust(("127.0.0.1", 1), session(b"one"))
    for client in (("127.0.0.1", 2), ("127.0.0.2", 3), ("::1", 4), ("::ffff:127.0.0.1", 5), None):
        assert limited.ask(client, session(b"one")).status == 429
    assert limited.ask(("127.0.0.1", 2), (b"MCP-Session-ID", b"one")).status == 429


@pytest.mark.parametrize(
    "headers",
    [
        [session(b"made-up")], [session(b"")], [session(b"\xff")], [session(b"one"), session(b"two")],
        [session(b"one"), session(b"one")], [session(b"one ")], [(b"x-session-id", b"one")],
        [(b"x-forwarded-for", b"10.0.0.1")], [(b"forwarded", b"for=10.0.0.1")], [(b"x-real-ip", b"10.0.0.1")],
        [(b"x-api-key", b"another")],
    ],
)  # fmt: skip
def test_invented_headers_do_not_change_the_bucket(headers: list[tuple[bytes, bytes]]) -> None:
    limited = Limited()
    limited.exhaust(("127.0.0.1", 1))
    assert limited.ask(("127.0.0.1", 1), *headers).status == 429
    assert limited.ask(("127.0.0.1", 2), session(b"one")).status == 200


def test_remote_address_has_one_bucket() -> None:
    limited = Limited()
    limited.exhaust(("192.0.2.1", 1))
    for port, headers in ((2, []), (3, [session(b"one")]), (4, [session(b"made-up")])):
        assert limited.ask(("192.0.2.1", port), *headers).status == 429
    assert limited.ask(("::ffff:192.0.2.1", 5)).status == 429
    limited.exhaust(("192.0.2.2", 1))
    assert limited.ask(("127.0.0.1", 1), session(b"one")).status == 200


def test_ipv6_network_is_one_client() -> None:
    limited = Limited()
    limited.exhaust(("2001:db8:0:1::1", 1))
    assert limited.ask(("2001:db8:0:1:ffff:ffff:ffff:ffff", 2)).status == 429
    assert limited.ask(("2001:db8:0:2::1", 2)).status == 200
    limited.exhaust(("fe80::1%eth0", 1))
    assert limited.ask(("fe80::2%eth0", 1)).status == 429


def test_clients_without_an_address_are_distinguished_by_session() -> None:
    limited = Limited()
    limited.exhaust(None)
    limited.exhaust(None, session(b"one"))
    assert limited.ask(None, session(b"two")).status == 200


def test_bucket_names_of_different_kinds_do_not_collide() -> None:
    limited = Limited()
    limited.sessions |= {"127.0.0.1", "192.0.2.1"}
    limited.exhaust(("127.0.0.1", 1), session(b"127.0.0.1"))
    limited.exhaust(("127.0.0.1", 1), session(b"192.0.2.1"))
    limited.exhaust(("192.0.2.1", 1))
    limited.exhaust(("127.0.0.1", 1))


def test_refused_and_exempt_requests_take_no_token() -> None:
    limited = Limited(exempt=frozenset({"/health"}))
    for _ in range(10):
        assert limited.ask(path="/health").status == 200
    limited.exhaust(("127.0.0.1", 50000))
    for _ in range(100):
        assert limited.ask().status == 429
    assert limited.ask(path="/health").status == 200
    assert limited.ask(path="/health/").status == 429
    limited.now += 20
    assert limited.ask().status == 200


def test_zero_means_no_limit() -> None:
    limited = Limited(0)
    assert {limited.ask().status for _ in range(100)} == {200}
    with pytest.raises(InvalidInputError):
        Limited(-1)


def test_websocket_counts_as_a_request() -> None:
    limited = Limited()
    client = TestClient(limited.app, client=("192.0.2.1", 1))
    for _ in range(3):
        with client.websocket_connect("/ws") as socket:
            socket.send_text("hello")
            assert socket.receive_text() == "hello"
    scope = websocket_scope(client=("192.0.2.1", 2), denial=True)
    assert ask(limited.app, scope, [{"type": "websocket.connect"}]).status == 429


def test_lifespan_scope_is_not_counted() -> None:
    limited = Limited(1)
    for _ in range(5):
        with TestClient(limited.app):
            pass
    assert limited.refused == []


def test_many_invented_peers_use_bounded_memory_and_reset_no_limit() -> None:
    now = 0.0
    buckets = Buckets(per_minute=3, clock=lambda: now)
    while buckets.take("glutton") == 0:
        pass
    for number in range(100_000):
        assert buckets.take(("address", number)) == 0
        assert len(buckets) <= MOST_BUCKETS
    assert buckets.take("glutton") > 0
    assert sys.getsizeof(buckets._full_at) < 1_000_000


def test_full_bucket_is_dropped() -> None:
    now = 0.0
    buckets = Buckets(per_minute=3, clock=lambda: now)
    for number in range(1000):
        buckets.take(number)
    assert len(buckets) == 1000
    now += 60
    buckets.take("another")
    assert len(buckets) == 1


def test_bucket_that_is_not_full_survives_the_sweep() -> None:
    now = 0.0
    buckets = Buckets(per_minute=3, clock=lambda: now)
    now = 59.0
    for _ in range(3):
        assert buckets.take("busy") == 0
    now = 60.0
    buckets.take("another")
    assert len(buckets) == 2
    assert buckets.take("busy") > 0
