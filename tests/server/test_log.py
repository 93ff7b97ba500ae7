"""The log of a server, which clients can write to by malformed requests."""

from __future__ import annotations

import logging
import socket

from opencode_memory.cli.log import Sparse
from opencode_memory.cli.warning_lines import TextLines
from opencode_memory.config.load import Config
from opencode_memory.server import LOG_FILE
from support.background import Background

CLIENT_HELLO = bytes.fromhex("16030100a5010000a10303") + bytes(150)
"""What a browser sends to an address with ``https``."""


def test_malformed_requests_do_not_fill_the_log(background: Background, config: Config) -> None:
    background.start()
    for _ in range(20):
        with socket.create_connection(("127.0.0.1", config.server.port)) as client:
            client.sendall(CLIENT_HELLO)
            assert client.recv(65_536).startswith(b"HTTP/1.1 400 ")
    assert background.run("stop")[0] == 0
    assert (config.data_dir / LOG_FILE).read_text().count("Invalid HTTP request") == 1


def test_warning_passes_once_a_minute_and_an_error_always() -> None:
    now = 0.0
    sparse = Sparse(lambda: now)

    def passes(level: int, text: str, *values: object, error: Exception | None = None) -> bool:
        trace = None if error is None else (type(error), error, None)
        return bool(sparse.filter(logging.LogRecord("uvicorn.error", level, "", 0, text, values, trace)))

    warned = [passes(logging.WARNING, "%s is invalid", number) for number in range(3)]
    assert warned == [True, False, False]
    assert passes(logging.WARNING, "another warning")
    assert all(passes(logging.ERROR, "broken") for _ in range(2))
    assert all(passes(logging.WARNING, "odd", error=ValueError()) for _ in range(2))
    now = 60.0
    assert passes(logging.WARNING, "%s is invalid", 4)


def test_log_for_people_does_not_rewrite_the_terminal() -> None:
    record = logging.makeLogRecord({"msg": "the folder %s is\nmissing", "args": ("a\x1b[2Jb",)})
    assert TextLines("%(message)s").format(record) == "the folder a\ufffd[2Jb is\nmissing"
