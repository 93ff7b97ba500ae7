"""Loops in the session of an agent: the tools that see and end them, and what the memory does in their sessions."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from opencode_memory.config.load import load
from opencode_memory.errors import ConflictError, InvalidInputError, NotFoundError
from opencode_memory.hosts.opencode.contract import LOOP_TITLE
from opencode_memory.loops.model import Loop, LoopState, Rest, Step, StepKind
from opencode_memory.loops.records import Loops
from opencode_memory.loops.start import Wish, pause_loop, start_loop
from opencode_memory.plans import Plans
from opencode_memory.text import clock
from support.bridge import DIRECTIVE, PROJECT, QUESTION, Plugin, answered, began, idle, known, said
from support.mcp import World
from support.plans import PLAN
from support.session_calls import Session
from support.stores import NOW_MS

RULE = "From now on, always run the linter before committing."


@pytest.fixture
def loop(world: World, folder: Path) -> Loop:
    """A loop of the project, whose server does not run."""
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    subprocess.run(["git", *identity, "commit", "--quiet", "--allow-empty", "-m", "x"], cwd=folder, check=True)
    plans = Plans(world.store, PROJECT)
    submitted = plans.submit(plans.write(PLAN, at=clock.now()).plan)
    config = load(environment={"HOME": str(folder)})
    return start_loop(world.store, submitted, Wish(directory=folder, by="test"), config=config, at=clock.now())


def state(world: World, loop: Loop) -> LoopState:
    return Loops(world.store).get(loop.id).state


def test_status_lists_loops_and_shows_one(session: Session, loop: Loop) -> None:
    listed = session.tool("memory-loop-status")
    assert [found["name"] for found in listed.data["loops"]] == ["say-hello"]
    shown = session.tool("memory-loop-status", name="say-hello")
    assert (shown.data["loop"], shown.data["state"]) == (loop.id, "running")
    assert "used: 0 tokens in" in shown.text


def test_status_of_a_project_without_loops_says_so(session: Session, other_session: Session, loop: Loop) -> None:
    assert other_session.text("memory-loop-status") == "There are no loops in this project."
    with pytest.raises(NotFoundError):
        other_session.tool("memory-loop-status", name=loop.name)
    assert session.tool("memory-loop-status").data["loops"]


@pytest.mark.parametrize(("branch", "said"), [("loop/x", "Its branch loop/x stays."), (None, "It has no branch yet.")])
def test_cancel_ends_the_only_open_loop_and_keeps_its_branch(
    world: World, session: Session, loop: Loop, branch: str | None, said: str
) -> None:
    Loops(world.store).write(replace(loop, branch=branch), at=clock.now())
    assert session.text("memory-loop-cancel") == f"The loop say-hello is cancelled. {said}"
    assert state(world, loop) is LoopState.CANCELLED
    assert Loops(world.store).get(loop.id).reason == "cancelled by an agent"
    with pytest.raises(InvalidInputError, match="there are 0 open loops; name one"):
        session.tool("memory-loop-cancel")


def test_cancel_command_tells_open_loops_apart_from_none(world: World, session: Session, loop: Loop) -> None:
    other = replace(loop, id="0123abcd", name="other", revision=0, steps=1, iteration=2)
    step = Step(loop=other.id, number=1, kind=StepKind.AUDIT, iteration=2, section=1, started_at=clock.now())
    Loops(world.store).write(other, step, at=clock.now())
    assert "- other: auditing 2/15" in session.command("cancel-loop")
    for name in ("other", "say-hello"):
        session.command("cancel-loop", name)
    assert "no loop is open in this project. Tell the user so in one short line" in session.command("cancel-loop")


def test_restart_lets_a_resting_loop_go_on(world: World, session: Session, loop: Loop) -> None:
    waiting = replace(loop, state=LoopState.PAUSED, rest=Rest.PROVIDER, reason="the provider is busy")
    Loops(world.store).write(waiting, at=clock.now())
    assert session.tool("memory-loop-status", restart=True).data["state"] == "running"


def test_agent_does_not_resume_what_the_person_paused(world: World, session: Session, loop: Loop) -> None:
    pause_loop(world.store, loop, at=clock.now())
    with pytest.raises(ConflictError, match="only they resume it: opencode-memory loop resume say-hello"):
        session.tool("memory-loop-status", restart=True)
    assert state(world, loop) is LoopState.PAUSED


def test_session_of_a_loop_gets_the_project_brief(world: World, plugin: Plugin, folder: Path) -> None:
    known(world, DIRECTIVE, "directive")
    plugin.happens(began(folder, title=f"{LOOP_TITLE}say hello"))
    assert DIRECTIVE in plugin.shown("msg_1", QUESTION)
    plugin.flush()
    [decision] = world.store.ledger.decisions("ses_1")
    assert decision.about["subagent"] is True


@pytest.mark.parametrize(("title", "trusted"), [("A title", True), (f"{LOOP_TITLE}say hello", False)])
def test_prompt_of_a_loop_is_not_the_word_of_the_person(
    world: World, plugin: Plugin, folder: Path, title: str, trusted: bool
) -> None:
    plugin.happens(
        began(folder, title=title),
        *said("msg_1", RULE, created=NOW_MS),
        *answered("msg_2", "Fine.", created=NOW_MS + 1),
        idle(),
    )
    plugin.ask("compacting", sessionID="ses_1")
    learned = world.store.list(project=PROJECT, status=["active"])
    assert any(memory.trust == "user" for memory in learned) is trusted
