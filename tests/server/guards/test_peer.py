"""The owner check of connections, against a real server over real sockets."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from uvicorn.protocols.http.h11_impl import H11Protocol

from opencode_memory.resident.peer_owner import (
    SocketEntry,
    find_by_netlink,
    find_in_proc,
    find_owner,
    supports_owner_check,
)
from opencode_memory.server.guards import guarded_protocol
from support.asgi import Echo
from support.http_server import PROTOCOLS, HttpServer, read_response

needs_owners = pytest.mark.skipif(
    not supports_owner_check(), reason="this system does not reveal the owner of a socket"
)
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")

US = os.geteuid()
OTHER_USER = 65534
REQUEST = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"
# Change the user after all modules are loaded, also those for host names, because the other user may not be able to
# read the interpreter.
AS_OTHER_USER = f"""
import os, socket, struct, sys
"localhost".encode("idna")
os.setgroups([])
os.setgid({OTHER_USER})
os.setuid({OTHER_USER})
client = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
client.sendall({REQUEST!r})
"""


class Server(HttpServer):
    """An echo app behind ``guarded_protocol``."""

    def __init__(self, base: type[asyncio.Protocol] = H11Protocol, *, uid: int = US, **options: Any) -> None:
        self.refused: list[str] = []
        self.echo = Echo()
        self._was_refused = threading.Event()
        super().__init__(self.echo, guarded_protocol(base, uid=uid, on_refused=self._refuse, **options))

    def _refuse(self, reason: str) -> None:
        self.refused.append(reason)
        self._was_refused.set()

    def wait_for_refusal(self) -> None:
        assert self._was_refused.wait(60)


def assert_refusal(head: bytes, body: bytes) -> None:
    lines = head.lower().split(b"\r\n")
    assert lines[0] == b"http/1.1 403 forbidden"
    assert b"connection: close" in lines
    assert b"content-type: application/json" in lines
    assert b"content-length: %d" % len(body) in lines
    assert set(json.loads(body)) == {"error", "hint"}


def no_owner(local: object, peer: object) -> None:
    return None


@needs_owners
@pytest.mark.parametrize("base", PROTOCOLS)
def test_process_of_the_same_user_is_served(base: type[asyncio.Protocol]) -> None:
    with Server(base) as server, server.connect() as client:
        client.sendall(REQUEST)
        head, body = read_response(client)
    assert head.startswith(b"HTTP/1.1 200 OK")
    assert b"x-echo: yes" in head
    assert b"hello"[1:] in body
    assert server.echo.bodies == [b"hello"]
    assert server.refused == []


@pytest.mark.parametrize("base", PROTOCOLS)
@pytest.mark.parametrize("owner", [None, US + 1])
def test_another_user_gets_one_refusal_and_no_request_is_read(base: type[asyncio.Protocol], owner: int | None) -> None:
    with Server(base, find_owner=lambda local, peer: owner) as server, server.connect() as client:
        client.sendall(REQUEST * 3)
        assert_refusal(*read_response(client))
    assert server.echo.scopes == []
    assert server.refused == ["owner"]


def test_other_user_without_a_request_gets_a_refusal() -> None:
    with Server(find_owner=no_owner) as server, server.connect() as client:
        assert_refusal(*read_response(client))


def test_other_user_gets_the_refusal_despite_a_large_request() -> None:
    with Server(find_owner=no_owner) as server, server.connect() as client:
        client.sendall(b"POST / HTTP/1.1\r\n" + b"x" * 4_000_000)
        client.shutdown(socket.SHUT_WR)
        assert_refusal(*read_response(client))


def test_refused_connections_that_stay_open_are_closed() -> None:
    with Server(find_owner=no_owner) as server, contextlib.ExitStack() as clients:
        crowd = [clients.enter_context(server.connect()) for _ in range(40)]
        ends = []
        for client in crowd:
            with contextlib.suppress(ConnectionError):
                ends.append(read_response(client)[0])
                # The response has arrived, and the client stays open. Sending fails when the server closes the connection.
                while True:
                    client.sendall(b"x")
        assert any(end.startswith(b"HTTP/1.1 403") for end in ends)
    assert server.refused == ["owner"] * 40


def test_root_is_served_by_any_users_server() -> None:
    with Server(uid=US + 1, find_owner=lambda local, peer: 0) as server, server.connect() as client:
        client.sendall(REQUEST)
        assert read_response(client)[0].startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("error", [OSError("too many open files"), ValueError("a table of another form")])
def test_failed_owner_lookup_refuses_the_connection(caplog: pytest.LogCaptureFixture, error: Exception) -> None:
    def fail(local: object, peer: object) -> int:
        raise error

    with Server(find_owner=fail) as server, server.connect() as client:
        client.sendall(REQUEST)
        assert_refusal(*read_response(client))
    assert server.echo.scopes == []
    assert server.refused == ["owner"]
    assert str(error) in caplog.text


def test_owner_is_looked_up_once_per_connection() -> None:
    lookups = []

    def us(local: tuple[str, int], peer: tuple[str, int]) -> int:
        lookups.append((local, peer))
        return US

    keep = REQUEST.replace(b"Connection: close\r\n", b"")
    with Server(find_owner=us) as server, server.connect() as client:
        client.sendall(keep + keep + REQUEST)
        read_response(client)
        assert lookups == [(server.address, client.getsockname())]
    assert server.echo.bodies == [b"hello"] * 3


def test_reset_connection_is_not_read(caplog: pytest.LogCaptureFixture) -> None:
    server = Server()
    with server.connect() as client:
        client.sendall(REQUEST)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    # The request waits in the socket of the server, but its owner cannot be determined any more.
    with server:
        server.wait_for_refusal()
    assert server.echo.scopes == []
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


@needs_owners
def test_closed_peer_has_no_owner() -> None:
    server = Server()
    with server.connect() as client:
        client.sendall(REQUEST)
    with server:
        server.wait_for_refusal()
    assert server.echo.scopes == []


@needs_owners
@needs_root
def test_real_process_of_another_user_is_refused() -> None:
    script = AS_OTHER_USER + "while piece := client.recv(65536):\n    sys.stdout.buffer.write(piece)\n"
    with Server() as server:
        response = run(script, server.address[1])
    head, _, body = response.partition(b"\r\n\r\n")
    assert_refusal(head, body)
    assert server.echo.scopes == []
    assert server.refused == ["owner"]


@needs_owners
@needs_root
@pytest.mark.parametrize(
    "last",
    [
        "client.close()",
        "client.shutdown(socket.SHUT_WR)\nclient.close()",
        "client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))\nclient.close()",
    ],
)
def test_other_user_who_closes_before_the_lookup_is_refused(last: str) -> None:
    server = Server()
    run(AS_OTHER_USER + last, server.address[1])
    with server:
        server.wait_for_refusal()
    assert server.echo.scopes == []


@needs_owners
@needs_root
def test_server_of_another_user_serves_that_user_and_root() -> None:
    script = AS_OTHER_USER + "while piece := client.recv(65536):\n    sys.stdout.buffer.write(piece)\n"
    with Server(uid=OTHER_USER) as server, server.connect() as client:
        assert run(script, server.address[1]).startswith(b"HTTP/1.1 200")
        client.sendall(REQUEST)
        assert read_response(client)[0].startswith(b"HTTP/1.1 200")
    with Server(uid=OTHER_USER - 1) as server:
        assert run(script, server.address[1]).startswith(b"HTTP/1.1 403")


def run(script: str, port: int) -> bytes:
    return subprocess.run([sys.executable, "-c", script, str(port)], check=True, stdout=subprocess.PIPE).stdout


class Transport(asyncio.Transport):
    """A transport with two given addresses and no connection."""

    def __init__(self, local: Any, peer: Any) -> None:
        super().__init__({"sockname": local, "peername": peer})
        self.written = b""
        self.protocol: Any = None

    def set_protocol(self, protocol: Any) -> None:
        self.protocol = protocol

    def write(self, data: Any) -> None:
        self.written += data

    def can_write_eof(self) -> bool:
        return False

    def abort(self) -> None:
        self.protocol.connection_lost(None)


def is_admitted(local: Any, peer: Any, owner: int | None = None) -> bool:
    made = []

    class Base(asyncio.Protocol):
        def connection_made(self, transport: Any) -> None:
            made.append(transport)

    async def connect() -> bool:
        transport = Transport(local, peer)
        refused: list[str] = []
        protocol = guarded_protocol(Base, uid=1000, on_refused=refused.append, find_owner=lambda local, peer: owner)
        protocol().connection_made(transport)
        assert bool(made) is not bool(refused)
        if refused:
            assert transport.written.startswith(b"HTTP/1.1 403")
            transport.abort()
        return bool(made)

    return asyncio.run(connect())


@pytest.mark.parametrize(
    ("local", "peer"),
    [
        (("127.0.0.1", 9824), ("127.0.0.1", 1)),
        (("127.0.0.1", 9824), ("127.9.9.9", 1)),
        (("::1", 9824, 0, 0), ("::1", 1, 0, 0)),
        (("::ffff:127.0.0.1", 9824, 0, 0), ("::ffff:127.0.0.1", 1, 0, 0)),
        # A client may bind to the address of a network card and still connect to 127.0.0.1.
        (("127.0.0.1", 9824), ("192.0.2.1", 1)),
        (("192.0.2.1", 9824), ("192.0.2.1", 1)),
        (("::ffff:192.0.2.1", 9824, 0, 0), ("192.0.2.1", 1)),
    ],
)
def test_local_peer_is_checked_by_its_owner(local: Any, peer: Any) -> None:
    assert is_admitted(local, peer, owner=1000)
    assert is_admitted(local, peer, owner=0)
    assert not is_admitted(local, peer, owner=1001)
    assert not is_admitted(local, peer, owner=None)


def test_remote_peer_is_not_checked() -> None:
    assert is_admitted(("192.0.2.1", 9824), ("192.0.2.2", 1))
    assert is_admitted(("fd00::1", 9824, 0, 0), ("fd00::2", 1, 0, 0))
    assert is_admitted(("fe80::1%eth0", 9824, 0, 2), ("fe80::2%eth0", 1, 0, 2))


@pytest.mark.parametrize("nowhere", [None, "", "/run/socket", b"", ("", 0), ("name", 1)])
def test_peer_without_an_address_is_refused(nowhere: Any) -> None:
    assert not is_admitted(("127.0.0.1", 9824), nowhere, owner=1000)
    assert not is_admitted(nowhere, ("192.0.2.1", 1), owner=1000)


def test_only_a_few_refused_peers_at_a_time_get_a_response() -> None:
    class Gone(Transport):
        def abort(self) -> None:
            gone.append(self)
            super().abort()

    gone: list[Gone] = []

    async def crowd() -> list[Gone]:
        protocol = guarded_protocol(asyncio.Protocol, uid=1000, on_refused=lambda _: None, find_owner=no_owner)
        transports = [Gone(("127.0.0.1", 9824), ("127.0.0.1", port)) for port in range(100)]
        for transport in transports:
            protocol().connection_made(transport)
        answered = [transport for transport in transports if transport.written]
        assert set(gone) == set(transports) - set(answered)
        transports[0].abort()
        late = Gone(("127.0.0.1", 9824), ("127.0.0.1", 100))
        protocol().connection_made(late)
        assert late.written
        for transport in (*answered[1:], late):
            transport.abort()
        return answered

    assert 1 < len(asyncio.run(crowd())) < 50


Ask = Callable[..., Any]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux does")
def test_linux_supports_the_owner_check() -> None:
    assert supports_owner_check()


@pytest.fixture(params=[find_by_netlink, find_in_proc], ids=["netlink", "proc"])
def ask(request: pytest.FixtureRequest) -> Ask:
    if not supports_owner_check(finders=[request.param]):
        pytest.skip("this system does not support this lookup")
    return request.param


@contextlib.contextmanager
def connect_pair(listener: socket.socket, client: socket.socket, host: str) -> Iterator[tuple[Any, Any]]:
    """Connect two sockets, and return their addresses as the accepting end has them."""
    with listener, client:
        try:
            if listener.family == socket.AF_INET6:
                listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
                listener.bind(("::", 0))
            else:
                listener.bind(("127.0.0.1", 0))
            listener.listen()
            client.connect((host, listener.getsockname()[1]))
        except OSError:
            pytest.skip("this system has no IPv6")
        accepted, peer = listener.accept()
        with accepted:
            yield accepted.getsockname(), peer


@pytest.mark.parametrize(
    ("server", "client", "host"),
    [
        (socket.AF_INET, socket.AF_INET, "127.0.0.1"),
        (socket.AF_INET, socket.AF_INET6, "::ffff:127.0.0.1"),
        (socket.AF_INET6, socket.AF_INET6, "::1"),
        (socket.AF_INET6, socket.AF_INET, "127.0.0.1"),
        (socket.AF_INET6, socket.AF_INET6, "::ffff:127.0.0.1"),
    ],
)
def test_owner_is_found_for_live_sockets_only(
    ask: Ask, server: socket.AddressFamily, client: socket.AddressFamily, host: str
) -> None:
    end = socket.socket(client)
    with connect_pair(socket.socket(server), end, host) as (local, peer):
        assert find_owner(local[:2], peer[:2], finders=[ask]) == US
        assert find_owner(local[:2], (peer[0], peer[1] ^ 1), finders=[ask]) is None
        assert find_owner((local[0], local[1] ^ 1), peer[:2], finders=[ask]) is None
        end.shutdown(socket.SHUT_WR)
        assert find_owner(local[:2], peer[:2], finders=[ask]) == US
        end.close()
        assert find_owner(local[:2], peer[:2], finders=[ask]) is None


def test_listener_on_the_peers_port_is_not_the_peer(ask: Ask) -> None:
    with socket.create_server(("127.0.0.1", 0)) as waiting, socket.create_server(("127.0.0.1", 0)) as server:
        assert find_owner(server.getsockname(), waiting.getsockname(), finders=[ask]) is None


def test_owner_of_a_socket_bound_to_the_loopback_device_is_found(ask: Ask) -> None:
    end = socket.socket()
    try:
        end.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"lo")
    except (AttributeError, OSError):
        pytest.skip("this system does not let us bind to a device")
    with connect_pair(socket.socket(), end, "127.0.0.1") as (local, peer):
        assert find_owner(local, peer, finders=[ask]) == US


def test_unknown_ends_are_not_found(ask: Ask) -> None:
    for host in ("192.0.2.77", "2001:db8::77"):
        address = ip_address(host)
        assert ask((address, 1), (address, 2)) == []


def test_incompatible_addresses_have_no_owner() -> None:
    for local, peer in [("127.0.0.1", "::1"), ("::1", "127.0.0.1"), ("name", "127.0.0.1"), ("127.0.0.1", "")]:
        assert find_owner((local, 1), (peer, 2)) is None


def format_word(text: str) -> str:
    """Format a 32-bit word of an address as this machine's kernel does."""
    return text if sys.byteorder == "big" else "".join(text[at : at + 2] for at in (6, 4, 2, 0))


OURS, THEIRS = f"{format_word('7F000001')}:2660", f"{format_word('7F000001')}:C350"
ZEROS = "00000000"
MAPPED = f"{ZEROS}{ZEROS}{format_word('0000FFFF')}"
HEADER = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"


def format_row(local: str, remote: str, *, state: str = "01", uid: int = 1000, inode: int = 77) -> str:
    return f"   0: {local} {remote} {state} 00000000:00000000 00:00000000 00000000  {uid}        0 {inode} 2 0 20 0 0 10 -1\n"


def find_owner_in(folder: Path, *, tcp: str = "", tcp6: str | None = None) -> int | None:
    (folder / "tcp").write_text(HEADER + tcp)
    if tcp6 is not None:
        (folder / "tcp6").write_text(HEADER + tcp6)
    find = partial(find_in_proc, net=folder)
    return find_owner(("127.0.0.1", 9824), ("127.0.0.1", 50000), finders=[find, find])


def test_only_the_row_of_the_peer_counts(tmp_path: Path) -> None:
    ours = format_row(OURS, THEIRS, uid=1)
    waiting = format_row(THEIRS, f"{ZEROS}:0000", state="0A", uid=2)
    longer = format_row(f"1{THEIRS}", OURS, uid=3) + format_row(THEIRS, f"{OURS}1", uid=4)
    assert find_owner_in(tmp_path, tcp=ours + waiting + longer) is None
    assert find_owner_in(tmp_path, tcp=ours + waiting + longer + format_row(THEIRS, OURS)) == 1000


def test_ipv4_socket_is_found_in_the_ipv6_table(tmp_path: Path) -> None:
    assert find_owner_in(tmp_path, tcp6=format_row(f"{MAPPED}{THEIRS}", f"{MAPPED}{OURS}")) == 1000
    assert find_owner_in(tmp_path, tcp6=format_row(f"{ZEROS * 3}{THEIRS}", f"{ZEROS * 3}{OURS}")) is None


@pytest.mark.parametrize("state", ["02", "03", "06", "07", "08", "09", "0A", "0B", "0C"])
def test_socket_in_another_state_has_no_owner(tmp_path: Path, state: str) -> None:
    assert find_owner_in(tmp_path, tcp=format_row(THEIRS, OURS, state=state)) is None


def test_socket_without_a_process_does_not_belong_to_root(tmp_path: Path) -> None:
    for state in ("01", "04", "05"):
        assert find_owner_in(tmp_path, tcp=format_row(THEIRS, OURS, state=state, uid=0, inode=0)) is None


def test_contradicting_rows_have_no_owner(tmp_path: Path) -> None:
    peer = format_row(THEIRS, OURS)
    assert find_owner_in(tmp_path, tcp=peer + format_row(THEIRS, OURS, uid=1001)) is None
    assert find_owner_in(tmp_path, tcp=peer + peer) == 1000
    assert find_owner_in(tmp_path, tcp=format_row(THEIRS, OURS, state="06", uid=0, inode=0) + peer) == 1000


def test_missed_row_is_searched_again() -> None:
    answers = [[], [SocketEntry(state=1, uid=1000, inode=7)]]
    find = lambda theirs, ours: answers.pop(0)  # noqa: E731
    assert find_owner(("127.0.0.1", 1), ("127.0.0.1", 2), finders=[find, find]) == 1000


def test_owner_check_is_unsupported_without_filled_tables(tmp_path: Path) -> None:
    assert not supports_owner_check(finders=[partial(find_in_proc, net=tmp_path)])
    (tmp_path / "tcp").write_text(HEADER)
    assert not supports_owner_check(finders=[partial(find_in_proc, net=tmp_path)])
    (tmp_path / "tcp").unlink()
    (tmp_path / "tcp").mkdir()
    assert not supports_owner_check(finders=[partial(find_in_proc, net=tmp_path)])
