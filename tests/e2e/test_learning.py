"""Learning in the real OpenCode: the next session knows the work of the last, without a request to remember."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import opencode_memory
from e2e.opencode import MCP_NAME, OpenCode
from e2e.repositories import SHOP
from e2e.scripted_model import ScriptedModel
from e2e.served import Served, command, environment

BROKEN = "def add(a, b):\n    return a - b\n"
TEST = "from adder import add\nassert add(2, 3) == 5, f'add(2, 3) = {add(2, 3)}'\nprint('ok')\n"
RUN = {"command": "python3 test_adder.py", "description": "Run the tests"}
PREFERENCE = "No, please never use tabs for indentation, I prefer four spaces everywhere."
DECISION = "We decided to keep the amounts in cents, as integers."
_PATIENCE_SECONDS = 120.0


@pytest.fixture
def broken(shop: Path) -> Path:
    """The shop with a failing test."""
    (shop / "adder.py").write_text(BROKEN)
    (shop / "test_adder.py").write_text(TEST)
    return shop


@pytest.fixture
def learning(opencode: OpenCode, tmp_path: Path) -> Iterator[Served]:
    """A resident server that looks at OpenCode's sessions every second."""
    wanted = f'[learning]\nopencode_db = "{opencode.database}"\npoll_seconds = 1\nrest_seconds = 1\n'
    with Served(tmp_path / "server", configuration=wanted) as server:
        yield server


def work(opencode: OpenCode, model: ScriptedModel, shop: Path) -> None:
    """A session as it happens every day: a failing test, its fix, a correction, a decision; no tool of a memory."""
    edit = {"filePath": str(shop / "adder.py"), "oldString": "a - b", "newString": "a + b"}
    model.script(("bash", RUN), ("edit", edit), ("bash", RUN), "The test passes now.")
    opencode.session(shop, "The test fails. Please fix it.")
    model.script("Spaces from now on.")
    opencode.session(shop, PREFERENCE, goes_on=True)
    model.script("Cents it is.")
    opencode.session(shop, DECISION, goes_on=True)


def recalled(served: Served, shop: Path, query: str) -> list[dict[str, Any]]:
    """Return the results of the command line in the repository."""
    ran = subprocess.run(
        command("recall", "--json", "--data-dir", str(served.data_dir), query),
        cwd=shop,
        env=environment(served.home),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode in (0, 1), ran.stderr
    return [hit["memory"] for hit in json.loads(ran.stdout)["hits"] if "memory" in hit]


def until(what: Callable[[], bool]) -> None:
    """Look until something is so."""
    pause, end = threading.Event(), time.monotonic() + _PATIENCE_SECONDS
    while not what():
        assert time.monotonic() < end, "it did not come"
        pause.wait(0.2)


def test_session_is_learned_from_and_shown_in_the_next(
    learning: Served, model: ScriptedModel, opencode: OpenCode, broken: Path
) -> None:
    opencode.configure(model.url, {"type": "remote", "url": learning.url, "oauth": False})
    work(opencode, model, broken)
    assert (broken / "adder.py").read_text() == BROKEN.replace("-", "+")

    def is_learned() -> bool:
        with opencode_memory.open(learning.data_dir, read_only=True) as store:
            return {"preference", "decision", "conversation"} <= {memory.category for memory in store.list(project="*")}

    until(is_learned)
    assert "four spaces" in recalled(learning, broken, "how do we indent?")[0]["content"]
    [decision, *_] = recalled(learning, broken, "in which unit are amounts kept?")
    assert "cents" in decision["content"]
    assert (decision["project"], decision["trust"]) == (SHOP, "user")

    model.script((f"{MCP_NAME}_get_boot_context", {}), "I see.")
    opencode.session(broken, "Good morning.")
    [shown] = model.requests[-1].tool_results
    for words in ("four spaces", "cents"):
        assert words in shown, shown


def test_ingest_learns_the_same_once_and_only_of_its_project(
    model: ScriptedModel, opencode: OpenCode, broken: Path, tmp_path: Path
) -> None:
    opencode.configure(model.url, {"type": "remote", "url": "http://127.0.0.1:9/mcp", "enabled": False})
    work(opencode, model, broken)
    home = tmp_path / "person"
    home.mkdir()
    line = command(
        "ingest", "opencode", "--json", "--db", str(opencode.database), "--data-dir", str(tmp_path / "store")
    )

    def ingested() -> dict[str, Any]:
        ran = subprocess.run(line, cwd=home, env=environment(home), capture_output=True, text=True, check=True)
        return dict(json.loads(ran.stdout))

    first, second = ingested(), ingested()
    assert first["sessions"] == 1
    assert first["messages"] > 6
    assert (second["sessions"], second["active"]) == (0, [])
    with opencode_memory.open(tmp_path / "store", read_only=True) as store:
        found = store.list(project="*")
        assert {memory.project for memory in found} == {SHOP}
        # A complaint that was met once makes no solution.
        assert {"preference", "decision", "conversation"} <= {memory.category for memory in found}
        assert store.list(project="forge.example/team/bakery") == []
