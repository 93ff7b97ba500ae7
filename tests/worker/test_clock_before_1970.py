"""A clock before 1970, for example of a machine whose battery is empty: memories are stored, and the worker goes on."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from opencode_memory.text import clock
from support.shifted_clock import ShiftedClock
from support.stores import open_store

pytestmark = pytest.mark.skipif(not ShiftedClock.is_possible(), reason="this machine cannot shift clocks")

PATIENCE_SECONDS = 60
MARGIN_SECONDS = 10 * 365 * 86_400


@pytest.fixture
def environment(tmp_path: Path) -> Mapping[str, str]:
    shifted = ShiftedClock(tmp_path)
    shifted.shift(-int(clock.now().timestamp()) - MARGIN_SECONDS)
    return {**os.environ, **shifted.settings, "OPENCODE_MEMORY_DATA_DIR": str(tmp_path / "store")}


def run(environment: Mapping[str, str], *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "opencode_memory.cli", *arguments],
        env=environment,
        check=False,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_memory_is_stored_and_the_worker_runs_its_jobs(environment: Mapping[str, str]) -> None:
    run(environment, "remember", "The staging port is 8081.", "--global")
    # Its standard input has ended, so the worker ends after its first round.
    assert "failed" not in run(environment, "worker", "--supervised")
    assert "staging port" in run(environment, "list", "--all-projects")
    with open_store(Path(environment["OPENCODE_MEMORY_DATA_DIR"])) as store:
        [memory] = store.list(limit=10)
        assert memory.created_at == datetime(1970, 1, 1, tzinfo=UTC)
