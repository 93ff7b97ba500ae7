"""A server with few file descriptors, to which a process opens many connections."""

from __future__ import annotations

import socket
import subprocess
import sys
from contextlib import ExitStack

import pytest

from opencode_memory.config.load import Config
from opencode_memory.server import LOG_FILE
from support.background import PATIENCE_SECONDS, Background, health_of

FILES = 96
LIMITED = f'ulimit -n {FILES}; exec "$0" "$@"'


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")
def test_idle_connections_leave_the_server_its_file_descriptors(background: Background, config: Config) -> None:
    command = [sys.executable, "-m", "opencode_memory.cli", "serve", "--detach", "--no-worker"]
    subprocess.run(
        ["/bin/sh", "-c", LIMITED, *command], env=dict(config.environment), check=True, timeout=PATIENCE_SECONDS
    )
    with ExitStack() as clients:
        for _ in range(3 * FILES):
            clients.enter_context(socket.create_connection(("127.0.0.1", config.server.port)))
        assert health_of(config)["problems"] == []
    assert background.run("stop")[0] == 0
    assert "Too many open files" not in (config.data_dir / LOG_FILE).read_text()
