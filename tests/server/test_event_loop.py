"""Blocking calls never run on the event loop, where they would delay every client (predecessor 21)."""

from __future__ import annotations

import asyncio
import builtins
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import anyio.to_thread
import pytest

import opencode_memory
from support.mcp import MODES, Agent, Roots, World
from support.mcp_http import Wire
from support.mcp_scene import ALWAYS_FAILING, set_up

OURS = str(Path(opencode_memory.__file__).parent)
WAITING: list[tuple[Any, str]] = [
    (builtins, "open"),
    (os, "open"),
    (os, "stat"),
    (os, "lstat"),
    (os, "scandir"),
    (os, "listdir"),
    (os, "readlink"),
    (os, "mkdir"),
    (os.path, "realpath"),
    (subprocess, "Popen"),
    (subprocess, "run"),
    (time, "sleep"),
]
"""Functions that wait for the disk, for another process, or for a period of time."""


class Watch:
    """Records blocking calls that the product makes on the thread of an event loop."""

    def __init__(self) -> None:
        self.caught: list[str] = []

    def over(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a function so that its calls are recorded."""

        def watched(*arguments: Any, **named: Any) -> Any:
            if asyncio.events._get_running_loop() is not None and (place := _place()) is not None:
                self.caught.append(f"{name} at {place}")
            return function(*arguments, **named)

        return watched


def _place() -> str | None:
    """Return the place in the product that made the running call; None if the product did not make it."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_filename.startswith(OURS):
            return f"{Path(frame.f_code.co_filename).name}:{frame.f_code.co_name}"
        # Ignore calls of the test itself, even if an event loop runs in its thread.
        if frame.f_code.co_name == "_run_once":
            return None
        frame = frame.f_back
    return None


class WatchedEngine:
    """An engine whose methods are all watched."""

    def __init__(self, engine: Any, watch: Watch) -> None:
        self._engine = engine
        self._watch = watch

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._engine, name)
        return self._watch.over(f"engine.{name}", attribute) if callable(attribute) else attribute


@pytest.fixture
def watch(world: World, monkeypatch: pytest.MonkeyPatch) -> Watch:
    watch = Watch()
    watched = WatchedEngine(world.store._engine, watch)
    parts = ("kv", "sessions", "projects", "indexes", "backups", "rows", "ledger", "jobs", "learning", "reminders")
    for holder in (world.store, *(getattr(world.store, part) for part in parts)):
        monkeypatch.setattr(holder, "_engine", watched)
    for module, name in WAITING:
        monkeypatch.setattr(module, name, watch.over(name, getattr(module, name)))
    return watch


def call_everything(world: World, connect: Callable[[], Agent]) -> int:
    scene = set_up(world)
    agent = connect()
    calls = {**scene.valid_calls(), **ALWAYS_FAILING}
    for name, arguments in calls.items():
        agent.call(name, **arguments)
        agent.call(name, unknown=1)
    agent.call("no_such_tool")
    agent.run(agent.client.list_tools)
    return len(calls)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("way", ["folder", "roots"])
def test_no_tool_runs_on_the_event_loop(world: World, watch: Watch, way: str, mode: str) -> None:
    def connect() -> Agent:
        folder = world.folder / "shop"
        return world.agent(folder, mode=mode) if way == "folder" else world.agent(roots=Roots(folder), mode=mode)

    assert call_everything(world, connect) == 37
    assert watch.caught == []


def test_no_tool_of_a_resident_server_runs_on_its_event_loop(world: World, watch: Watch) -> None:
    with world.serve() as server:

        def connect() -> Agent:
            return server.agent(world.folder / "shop")

        call_everything(world, connect)
        server.agent(roots=Roots(world.folder / "shop")).ok("recall", query="port")
    assert watch.caught == []


@pytest.mark.parametrize(
    "page",
    [
        "/health",
        "/stats",
        "/metrics",
    ],
)
def test_no_route_of_a_resident_server_blocks_its_event_loop(world: World, watch: Watch, page: str) -> None:
    with Wire(world.app()) as wire:
        assert wire.get(page).status == 200
        watch.caught.clear()  # building the app may read files
        assert wire.get(page).status == 200
    assert watch.caught == []


def test_project_of_a_header_is_not_resolved_on_the_event_loop(world: World, watch: Watch) -> None:
    with world.serve() as server:
        server.agent(headers={"x-opencode-directory": f"{world.folder}/100%25"}).ok("memory_status")
    assert watch.caught == []


def test_slow_call_does_not_delay_other_clients(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = world.agent()
    agent.remember("The walrus sleeps")
    entered, leave = threading.Event(), threading.Event()
    find = world.store.recall

    def slow(*arguments: Any, **named: Any) -> Any:
        entered.set()
        assert leave.wait(60)
        return find(*arguments, **named)

    monkeypatch.setattr(world.store, "recall", slow, raising=False)
    results: list[list[str]] = []
    waiting = threading.Thread(target=lambda: results.append(agent.recall("walrus")))
    waiting.start()
    assert entered.wait(60)
    try:
        assert world.agent().ok("memory_status").data["status"] == "healthy"
        agent.remember("The bee flies")
    finally:
        leave.set()
        waiting.join()
    assert results == [["The walrus sleeps"]]


def test_watch_detects_a_tool_on_the_event_loop(world: World, watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    async def inline(function: Callable[[], Any], *arguments: Any, **_: Any) -> Any:
        return function(*arguments)

    agent = world.agent(world.repository("walrus"))
    agent.remember("The walrus")
    assert watch.caught == []
    monkeypatch.setattr(anyio.to_thread, "run_sync", inline)
    agent.recall("walrus")
    assert any(caught.startswith("engine.recall") for caught in watch.caught)
    assert any(caught.startswith(("stat", "realpath")) for caught in watch.caught)
