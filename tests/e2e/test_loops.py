"""Loops in the real OpenCode: a scripted model codes and audits, and facts decide when it is done."""

from __future__ import annotations

import json
import os
import shutil
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from e2e.loop_world import CHECK, PATIENCE_SECONDS, RIGHT, WRONG, World, audit, code, git, report, write
from e2e.plugged import Instance, until
from e2e.screen import Screen, screen
from e2e.scripted_model import ScriptedModel

PLAN = (
    "# Add numbers\n## Objective\nadd adds.\n## Steps\n### 1. add\nFiles: calc.py\nAcceptance: it adds\n"
    f"## Verification\n```sh\n{CHECK}\n```\n"
)


@pytest.fixture
def world(opencode_binary: Path, tmp_path: Path) -> Iterator[World]:
    with World.served(opencode_binary, tmp_path) as made:
        yield made


@pytest.fixture
def opencode(world: World) -> Iterator[Instance]:
    with world.plugged.running(world.shop) as instance:
        world.server.until_warm()
        yield instance


def test_loop_ends_by_facts_on_a_branch_of_its_own(world: World, opencode: Instance) -> None:
    before = world.git("rev-parse", "HEAD")
    world.model.script(*code(WRONG), *code(RIGHT, "add adds"), *audit("clean"))
    name = world.start_loop()
    found = world.until_state(name, "completed", "failed", "waiting")
    loop = found["loop"]
    assert (loop["state"], loop["iteration"]) == ("completed", 2), found
    kinds = ["prepare", "code", "check", "code", "check", "audit", "final_check", "finish"]
    assert [step["kind"] for step in found["steps"]] == kinds
    # The user's folder and branch are untouched; the work is on the loop's branch, and its folder is removed.
    assert world.git("rev-parse", "HEAD") == before
    assert world.git("status", "--porcelain") == ""
    assert (world.shop / "calc.py").read_text() == ""
    assert git(world.shop, "show", f"{loop['branch']}:calc.py") + "\n" == RIGHT
    assert not Path(loop["worktree"]).exists()
    # Each prompt was answered once, in a session of its own.
    sessions = [step["session"] for step in found["steps"] if step["session"]]
    assert len(set(sessions)) == 3
    assert loop["spent"]["output"] > 0
    assert "ended with exit code 1" in found["steps"][3]["prompt"]
    # The sessions are kept, out of the way.
    archived = [opencode.get(f"/session/{session}")["time"].get("archived") for session in sessions]
    until(lambda: all(opencode.get(f"/session/{id}")["time"].get("archived") for id in sessions), f"{archived}")


def test_audit_that_finds_something_leads_to_another_step(world: World, opencode: Instance) -> None:
    finding = ("memory-findings", {"action": "record", "file": "calc.py", "severity": "bug", "text": "no docstring"})

    def resolve() -> tuple[str, dict[str, Any]]:
        said = "\n".join(world.model.requests[-1].users)
        id_ = said.partition("- [")[2].partition("]")[0]
        return ("memory-findings", {"action": "resolve", "id": id_})

    world.model.script(
        *code(RIGHT),
        finding,
        *audit("clean"),  # An open finding outweighs the verdict.
        write(RIGHT + "# Adds.\n"),
        resolve,
        report("I added a comment."),
        "Done.",
        *audit("clean"),
    )
    found = world.until_state(world.start_loop(), "completed", "failed", "waiting")
    assert found["loop"]["state"] == "completed", found
    assert [step["kind"] for step in found["steps"]].count("audit") == 2
    assert "no docstring" in found["steps"][4]["prompt"]


def test_model_that_changes_nothing_waits_for_the_person(world: World, opencode: Instance) -> None:
    world.model.script(*["DONE! Everything is complete."] * 20)
    name = world.start_loop()
    found = world.until_state(name, "completed", "failed", "waiting")
    assert found["loop"]["state"] == "waiting", found
    assert "no progress" in found["loop"]["reason"]
    # The person helps, and the loop goes on.
    world.model.script(*code(RIGHT), *audit("clean"))
    world.plugged.memory("loop", "resume", name, folder=world.shop)
    assert world.until_state(name, "completed", "failed")["loop"]["state"] == "completed"


def test_finding_that_comes_back_three_times_waits_for_the_person(world: World, opencode: Instance) -> None:
    finding = ("memory-findings", {"action": "record", "file": "calc.py", "severity": "bug", "text": "no docstring"})
    turns = [(*code(f"{RIGHT}# {number}\n"), finding, *audit("dirty")) for number in range(3)]
    world.model.script(*(call for turn in turns for call in turn))
    found = world.until_state(world.start_loop(), "completed", "failed", "waiting")
    assert found["loop"]["state"] == "waiting", found
    assert "was reported 3 times" in found["loop"]["reason"]


def test_reached_limit_pauses_and_a_higher_one_goes_on(world: World, opencode: Instance) -> None:
    world.model.script(*code(WRONG))
    name = world.start_loop("--iterations", "1")
    found = world.until_state(name, "paused", "completed", "failed")
    assert "limit of 1 iteration" in found["loop"]["reason"]
    world.model.script(*code(RIGHT), *audit("clean"))
    world.plugged.memory("loop", "resume", name, "--iterations", "3", folder=world.shop)
    assert world.until_state(name, "completed", "failed", "waiting")["loop"]["state"] == "completed"


def test_killed_server_goes_on_and_sends_no_prompt_twice(world: World, opencode: Instance) -> None:
    asked, leave = threading.Event(), threading.Event()

    def wait() -> tuple[str, dict[str, Any]]:
        asked.set()
        leave.wait(60)
        return write(RIGHT)

    world.model.script(wait, report("I wrote it."), "Done.", *audit("clean"))
    name = world.start_loop()
    assert asked.wait(60)
    world.server.kill()
    world.server.start()
    leave.set()
    found = world.until_state(name, "completed", "failed", "waiting")
    assert found["loop"]["state"] == "completed", found
    prompts = [request.users[-1] for request in world.model.requests if len(request.tool_results) == 0]
    assert len(prompts) == len(set(prompts)) == 2


def test_closed_opencode_pauses_the_loop_and_the_next_one_goes_on(world: World) -> None:
    asked, leave = threading.Event(), threading.Event()

    def wait() -> tuple[str, dict[str, Any]]:
        asked.set()
        leave.wait(60)
        return write(RIGHT)

    with world.plugged.running(world.shop):
        world.server.until_warm()
        world.model.script(wait)
        name = world.start_loop()
        assert asked.wait(60)
    leave.set()
    found = world.until_state(name, "paused")
    assert "OpenCode" in found["loop"]["reason"]
    world.model.script(*code(RIGHT), *audit("clean"))
    with world.plugged.running(world.shop):
        assert world.until_state(name, "completed", "failed", "waiting")["loop"]["state"] == "completed"


def test_cancelled_loop_stops_its_session_and_keeps_its_branch(world: World, opencode: Instance) -> None:
    asked, leave = threading.Event(), threading.Event()

    def wait() -> str:
        asked.set()
        leave.wait(60)
        return "Done."

    world.model.script(write(RIGHT), wait)
    name = world.start_loop()
    assert asked.wait(60)
    world.plugged.memory("loop", "cancel", name, "--yes", folder=world.shop)
    session = world.loop(name)["steps"][-1]["session"]
    worktree = opencode.at(Path(world.loop(name)["loop"]["worktree"]))
    until(lambda: session not in worktree.get("/session/status"), "the session goes on")
    leave.set()
    assert world.loop(name)["loop"]["state"] == "cancelled"
    assert (worktree.folder / "calc.py").read_text() == RIGHT


def test_plan_of_the_architect_is_approved_by_the_answer_to_a_question(world: World, opencode: Instance) -> None:
    plan = (
        "# Add numbers\n## Objective\nadd adds.\n## Steps\n### 1. add\nFiles: calc.py\nAcceptance: the test succeeds\n"
        f"## Verification\n```sh\n{CHECK}\n```\n"
    )
    options = [
        {"label": label, "description": label} for label in ("Execute here", "New session", "Loop (worktree)", "Loop")
    ]
    question = {"questions": [{"question": "How?", "header": "Plan", "options": options}]}
    world.model.script(
        ("memory-plan", {"action": "write", "text": plan}),
        ("memory-plan", {"action": "submit"}),
        ("question", question),
        "I have asked.",
        *code(RIGHT),
        *audit("clean"),
    )
    session = opencode.session()
    opencode.post(f"/session/{session}/prompt_async", {"parts": [{"type": "text", "text": "Plan it."}]})
    until(lambda: opencode.get("/question"), "nothing was asked")
    [asked] = opencode.get("/question")
    opencode.post(f"/question/{asked['id']}/reply", {"answers": [["Loop (worktree)"]]})
    until(lambda: world.listed(), "no loop was started")
    [loop] = world.listed()
    assert world.until_state(loop["name"], "completed", "failed", "waiting")["loop"]["state"] == "completed"
    listed = json.loads(world.plugged.memory("plan", "list", "--all", "--json", folder=world.shop))
    assert [plan["status"] for plan in listed["plans"]] == ["done"]


def test_users_own_denial_survives_and_pushes_do_not_leave(world: World, tmp_path: Path) -> None:
    file = next((world.plugged.opencode.home / "config" / "opencode").glob("opencode.json*"))
    config = json.loads(file.read_text())
    file.write_text(json.dumps(config | {"permission": {"bash": {"rm *": "deny"}}}))
    git(tmp_path, "init", "--quiet", "--bare", "away.git")
    world.git("remote", "set-url", "origin", str(tmp_path / "away.git"))
    world.model.script(
        ("bash", {"command": "rm test.py", "description": "remove"}),
        ("bash", {"command": "git push origin HEAD", "description": "push"}),
        ("bash", {"command": "sh -c 'git  push origin HEAD:refs/heads/out'", "description": "push"}),
        ("read", {"filePath": "/etc/hostname"}),
        *code(RIGHT),
        *audit("clean"),
    )
    with world.plugged.running(world.shop):
        world.server.until_warm()
        found = world.until_state(world.start_loop(), "completed", "failed", "waiting")
    assert found["loop"]["state"] == "completed", found
    assert "test.py" in git(world.shop, "ls-tree", "--name-only", found["loop"]["branch"])
    results = world.model.requests[4].tool_results
    assert len(results) == 4
    assert git(tmp_path / "away.git", "for-each-ref") == "", results
    assert "root" not in results[3].lower() or "rule" in results[3], results[3]


@pytest.mark.parametrize("engine", ["bwrap", "podman"])
def test_sandboxed_loop_changes_nothing_outside(opencode_binary: Path, tmp_path: Path, engine: str) -> None:
    image = os.environ.get("SANDBOX_IMAGE", "")
    if shutil.which(engine) is None or (engine == "podman" and not image):
        pytest.skip(f"{engine} is not installed, or SANDBOX_IMAGE names no image for it")
    more = {"sandbox_image": image} if engine == "podman" else {}
    secret = tmp_path / "secret"
    secret.write_text("s3cret")
    with ScriptedModel() as model:
        made = World.make(opencode_binary, tmp_path, model, sandbox_mode=engine, learning_sources="live", **more)
        with made.plugged.served() as server, made.plugged.running(made.shop):
            server.until_warm()
            model.script(
                (
                    "bash",
                    {"command": f"ln -s {tmp_path} out; cat {secret}; touch {tmp_path}/canary", "description": "x"},
                ),
                ("bash", {"command": "ln -s .. up; echo $PWD; pwd; python3 -c 'print(40 + 2)'", "description": "x"}),
                ("write", {"filePath": "out/canary", "content": "x"}),
                ("write", {"filePath": ".git/hooks/post-commit", "content": "x"}),
                ("read", {"filePath": "out/secret"}),
                ("bash", {"command": "rm out up", "description": "x"}),
                *code(RIGHT),
                *audit("clean"),
            )
            found = made.until_state(made.start_loop(), "completed", "failed", "waiting")
    assert found["loop"]["state"] == "completed", found
    assert not (tmp_path / "canary").exists()
    results = model.requests[6].tool_results
    assert not any("s3cret" in result for result in results), results
    assert any("42" in result for result in results), results
    # OpenCode itself was started by the same shell before, and sessions without a sandbox keep the user's own.
    assert found["loop"]["sandbox"] == engine


@contextmanager
def working_loop(world: World) -> Iterator[tuple[Screen, str]]:
    """Open OpenCode's terminal, and start a loop there whose model answers at the end of the block."""
    asked, leave = threading.Event(), threading.Event()

    def wait() -> str:
        asked.set()
        leave.wait(60)
        return "Done."

    try:
        with screen(world.plugged, world.shop) as terminal:
            world.server.until_warm()
            # OpenCode's terminal loads its plugins with the first message.
            world.model.script("Hello.")
            terminal.press("Hello", "Enter")
            terminal.until_shows("Hello.")
            world.model.script(wait)
            loop = world.start_loop()
            assert asked.wait(60)
            yield terminal, loop
    finally:
        leave.set()


@pytest.mark.skipif(shutil.which("tmux") is None, reason="there is no tmux")
def test_terminal_shows_the_loop_and_cancels_it(world: World) -> None:
    with working_loop(world) as (terminal, loop):
        terminal.until_shows("Loops", f"{loop[:12]}", "coding 1/15")
        terminal.click("coding 1/15")
        terminal.until_shows("Status: coding", "Open its session", "Cancel")
        terminal.press("Escape")
        terminal.until_hides("Open its session")
        terminal.run("Memory: Show loops")
        terminal.until_shows("Search")
        terminal.press("Enter")
        terminal.until_shows("Open its session", "Cancel")
        terminal.pick("Cancel", hides="Open its session")
        until(lambda: world.loop(loop)["loop"]["state"] == "cancelled", "the loop goes on")


@pytest.mark.skipif(shutil.which("tmux") is None, reason="there is no tmux")
def test_loop_goes_on_when_the_terminal_is_opened_again(world: World) -> None:
    with working_loop(world) as (_, loop):
        pass
    assert "OpenCode" in world.until_state(loop, "paused")["loop"]["reason"]
    world.model.script(*code(RIGHT), *audit("clean"))
    with screen(world.plugged, world.shop):
        found = world.until_state(loop, "completed", "failed", "waiting")
    assert found["loop"]["state"] == "completed", found


@pytest.mark.skipif(shutil.which("tmux") is None, reason="there is no tmux")
def test_terminal_shows_a_plan_sends_it_back_and_approves_it(world: World) -> None:
    world.model.script(
        ("memory-plan", {"action": "write", "text": PLAN}), ("memory-plan", {"action": "submit"}), "Submitted."
    )

    def plans() -> list[dict[str, Any]]:
        said = world.plugged.memory("plan", "list", "--all", "--json", folder=world.shop, may_be_nothing=True)
        found: list[dict[str, Any]] = json.loads(said)["plans"]
        return found

    with screen(world.plugged, world.shop) as terminal:
        world.server.until_warm()
        terminal.press("Plan it.", "Enter")
        terminal.until_shows("Submitted.", "plan waits: Add numbers")
        terminal.click("plan waits: Add numbers")
        terminal.until_shows("New session", "Execute here", "Loop (worktree)", "Loop here")
        terminal.pick("Show", hides="New session")
        terminal.until_shows("Actions", "Text", "# Add numbers")
        terminal.pick("Back", hides="Text")
        terminal.until_shows("Send back with a remark")
        terminal.pick("Send back", hides="New session")
        terminal.until_shows("What should change?")
        terminal.press("Smaller steps", "Enter")
        until(lambda: plans()[0]["remark"] == "Smaller steps", "the plan was not sent back")
        assert plans()[0]["status"] == "draft"

        world.plugged.memory("plan", "edit", plans()[0]["id"], "--file", again(world), "--submit", folder=world.shop)
        world.model.script(*code(RIGHT), *audit("clean"))
        terminal.run("Memory: Show plans")
        terminal.until_shows("Plans that wait for you", "Add small numbers")
        terminal.press("Enter")
        terminal.until_shows("Loop (worktree)")
        terminal.pick("worktree", hides="New session")
        until(lambda: plans()[0]["status"] == "done", "the loop did not end", seconds=120)
        [loop] = world.listed()
        assert (loop["name"], loop["state"]) == ("add-small-numbers", "completed")


def again(world: World) -> str:
    """A file with the second text of the plan."""
    file = world.shop.parent / "again.md"
    file.write_text(PLAN.replace("Add numbers", "Add small numbers"))
    return str(file)


@pytest.mark.parametrize("mode", ["new", "here"])
def test_plan_is_carried_out_in_a_session_once(world: World, opencode: Instance, mode: str) -> None:
    world.model.script(
        ("memory-plan", {"action": "write", "text": PLAN}), ("memory-plan", {"action": "submit"}), "Submitted."
    )
    session = opencode.session()
    opencode.prompt(session, "Plan it.")
    listed = json.loads(world.plugged.memory("plan", "list", "--json", folder=world.shop))
    [id_] = [found["id"] for found in listed["plans"]]
    world.model.script(write(RIGHT), "It is done.")
    for _ in range(2):
        world.plugged.memory("plan", "approve", id_, "--in", mode, folder=world.shop)
    until(lambda: (world.shop / "calc.py").read_text() == RIGHT, "the plan is not carried out")

    def is_running() -> bool:
        shown = json.loads(world.plugged.memory("plan", "show", id_, "--json", folder=world.shop))
        return bool(shown["plan"]["status"] == "running")

    until(is_running, "the plan is not noted as running")
    prompts = [request.users[-1] for request in world.model.requests if not request.tool_results[2:]]
    assert "The plan below was approved" in prompts[-1]
    titles = [found["title"] for found in opencode.get("/session")]
    assert ("Add numbers" in titles) == (mode == "new")


@pytest.fixture
def alone(opencode_binary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """A home in which `opencode` is on the PATH, and nobody has it open."""
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "opencode").symlink_to(opencode_binary)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    with World.served(opencode_binary, tmp_path) as made:
        try:
            yield made
        finally:
            # The server is killed at the end of the test, so it cannot end OpenCode.
            if (record := own_host(made)) is not None:
                os.kill(record["pid"], signal.SIGKILL)


def own_host(world: World) -> dict[str, Any] | None:
    """The record of the OpenCode that the server has started; None if it has ended."""
    try:
        record: dict[str, Any] = json.loads((world.plugged.data_dir / "opencode-of-loops.json").read_text())
    except FileNotFoundError:
        return None
    return record if Path(f"/proc/{record['pid']}").exists() else None


def test_loop_without_an_open_opencode_starts_its_own_and_ends_it(alone: World) -> None:
    asked, leave = threading.Event(), threading.Event()

    def wait() -> tuple[str, dict[str, Any]]:
        asked.set()
        leave.wait(60)
        return write(RIGHT)

    alone.model.script(wait, report("I wrote it."), "Done.", *audit("clean"))
    name = alone.start_loop()
    assert asked.wait(60)
    record = own_host(alone)
    assert record is not None
    url = f"http://127.0.0.1:{record['port']}/path"
    statuses = [httpx2.get(url, auth=auth).status_code for auth in (None, ("opencode", record["password"]))]
    assert statuses == [401, 200]
    leave.set()
    assert alone.until_state(name, "completed", "failed", "waiting")["loop"]["state"] == "completed"
    until(lambda: own_host(alone) is None, "OpenCode was not ended", seconds=PATIENCE_SECONDS)


def test_own_opencode_survives_a_killed_server_and_ends_with_the_next(alone: World) -> None:
    asked, leave = threading.Event(), threading.Event()

    def wait() -> tuple[str, dict[str, Any]]:
        asked.set()
        leave.wait(60)
        return write(RIGHT)

    alone.model.script(wait, report("I wrote it."), "Done.", *audit("clean"))
    name = alone.start_loop()
    assert asked.wait(60)
    before = own_host(alone)
    alone.server.kill()
    alone.server.start()
    leave.set()
    assert alone.until_state(name, "completed", "failed", "waiting")["loop"]["state"] == "completed"
    assert before is not None
    prompts = [request.users[-1] for request in alone.model.requests if len(request.tool_results) == 0]
    assert len(prompts) == len(set(prompts)) == 2
    alone.server.signal(signal.SIGTERM)
    until(lambda: own_host(alone) is None, "OpenCode outlives the server")


def test_killed_own_opencode_is_started_again(alone: World) -> None:
    asked = threading.Event()

    def wait() -> str:
        asked.set()
        threading.Event().wait(3)
        return "too late"

    alone.model.script(wait)
    name = alone.start_loop()
    assert asked.wait(60)
    record = own_host(alone)
    assert record is not None
    os.kill(record["pid"], signal.SIGKILL)
    alone.model.script(*code(RIGHT), *audit("clean"))
    assert alone.until_state(name, "completed", "failed", "waiting")["loop"]["state"] == "completed"
