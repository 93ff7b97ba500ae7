"""Errors that no rule of a loop expects: each stops the loop, with a reason in plain words."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loops.fake_opencode import Asked
from loops.loop_world import World
from loops.repositories import repository
from opencode_memory.errors import StorageError
from opencode_memory.loops import runner as runner_module
from opencode_memory.loops.command import Ran
from opencode_memory.loops.model import Loop, LoopState, Rest
from opencode_memory.loops.records import Loops
from opencode_memory.loops.start import resume_loop
from opencode_memory.loops.unexpected import describe_error
from opencode_memory.text import clock


def test_file_in_the_place_of_a_folder_stops_the_preparation(make: Callable[..., World], tmp_path: Path) -> None:
    """The user has replaced a committed file by a folder, which cannot be copied into the worktree."""
    shop = repository(tmp_path / "app", conf="x\n", _gitignore=".env\n")
    (shop / "conf").unlink()
    (shop / "conf").mkdir()
    (shop / "conf" / ".env").write_text("KEY=value\n")
    world = make(shop=shop, loop_copy=".env")
    loop = world.run()
    assert (loop.state, loop.rest) == (LoopState.WAITING, Rest.ERROR)
    assert loop.reason.startswith("step 1 (prepare) failed: File exists: ")
    assert f"opencode-memory loop resume {loop.name}" in loop.reason
    assert world.kinds() == ["prepare"]


def test_full_disk_during_a_check_stops_the_loop_until_the_person_resumes_it(
    make: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object, **__: object) -> Ran:
        raise OSError(errno.ENOSPC, "No space left on device", "/tmp/x")

    world = make()
    with monkeypatch.context() as patch:
        patch.setattr(runner_module, "run_all", fail)
        loop = world.run()
    assert loop.reason.startswith("step 3 (check) failed: No space left on device: /tmp/x")
    resume_loop(world.store, loop, at=clock.now())
    assert world.run().state is LoopState.COMPLETED


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(errno.EROFS, "Read-only file system"), "Read-only file system"),
        (
            OSError(errno.ENOSPC, "No space left on device", "from", None, b"to\xff"),
            "No space left on device: to\udcff",
        ),
        (OSError("odd"), "an internal error (OSError: odd); see the server log"),
        (StorageError("the store is full"), "the store is full"),
    ],
)
def test_error_is_described_for_a_person(error: Exception, said: str) -> None:
    assert describe_error(error) == said


def test_bug_in_a_step_is_recorded_once(
    make: Callable[..., World], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise KeyError("kind")

    monkeypatch.setattr(runner_module, "code_prompt", fail)
    loop = make().run()
    assert loop.reason.startswith("the work after step 1 (prepare) failed: an internal error (KeyError: 'kind')")
    assert "see the server log" in loop.reason
    assert [record.exc_info is not None for record in caplog.records if record.levelname == "ERROR"] == [True]


def test_store_that_cannot_be_read_while_a_model_works_stops_the_session(
    make: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    world, usual = make(), Loops.get
    looks = 0

    def get(loops: Loops, id: str) -> Loop:
        nonlocal looks
        looks += bool(world.opencode.busy)
        if looks == 1:
            looks += 1
            raise StorageError("the store cannot be read: Input/output error")
        return usual(loops, id)

    def answer(asked: Asked) -> dict[str, Any]:
        world.opencode.busy[asked.session] = {"type": "busy"}
        return {"time": {}, "finish": None}

    monkeypatch.setattr(Loops, "get", get)
    world.opencode.answer = answer
    loop = world.run()
    assert (loop.state, loop.rest) == (LoopState.WAITING, Rest.ERROR)
    assert loop.reason == "the store cannot be read: Input/output error"
    assert world.opencode.aborted == [world.opencode.sessions[0]["id"]]
