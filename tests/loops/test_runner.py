"""A loop from its start to its end, against a fake OpenCode: each way it can go, and deaths at every write."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import anyio.from_thread
import pytest

import opencode_memory
from loops.fake_opencode import Asked
from loops.loop_world import PROJECT, World, is_audit
from loops.repositories import git, repository
from opencode_memory.config.load import load
from opencode_memory.errors import InvalidInputError, NotFoundError
from opencode_memory.loops.describe import describe_step
from opencode_memory.loops.host import HostError
from opencode_memory.loops.model import LoopState, Rest, StepKind
from opencode_memory.loops.records import Lease
from opencode_memory.loops.session_step import MOST_SENT
from opencode_memory.loops.start import Raised, Wish, cancel_loop, pause_loop, resume_loop, start_loop
from opencode_memory.plans import Plans, PlanStatus
from opencode_memory.store.documents import Change
from opencode_memory.text import clock
from support.plans import PLAN


def test_happy_path(make: Callable[..., World]) -> None:
    world = make()
    loop = world.run()
    assert loop.state is LoopState.COMPLETED, loop.reason
    assert world.kinds() == ["prepare", "code", "check", "audit", "final_check", "finish"]
    assert git(world.shop, "show", f"{loop.branch}:hello.txt") == "hello"
    assert loop.notes == ("1: I wrote it",)
    assert (loop.spent.input, loop.spent.output, loop.spent.cached) == (200, 20, 2000)
    assert Plans(world.store, PROJECT).get(loop.plan).status is PlanStatus.DONE


@pytest.mark.parametrize("removes", [True, False])
def test_worktree_of_a_completed_loop_is_removed_or_kept(make: Callable[..., World], *, removes: bool) -> None:
    world = make(loop_remove_worktree=str(removes).lower())
    loop = world.run()
    assert loop.state is LoopState.COMPLETED
    assert loop.worktree is not None
    assert Path(loop.worktree).is_dir() is not removes
    assert (loop.worktree in loop.reason) is not removes


def test_sessions_get_denials_only(make: Callable[..., World]) -> None:
    world = make()
    world.run()
    for session in world.opencode.sessions:
        rules = session["permission"]
        allowed = [rule for rule in rules if rule["action"] != "deny"]
        assert [rule["pattern"] for rule in allowed] == ["*/opencode/tool-output/*"]
        assert session["title"].startswith("loop: ")


def test_audit_has_its_own_session_agent_and_model(make: Callable[..., World]) -> None:
    world = make(loop_model="forge/small", opencode_auditor_model="forge/large")
    world.run()
    code, audit = world.opencode.asked
    assert code.session != audit.session
    assert (code.body["agent"], code.body["model"]["modelID"]) == ("build", "small")
    assert (audit.body["agent"], audit.body["model"]["modelID"]) == ("opencode-memory-auditor", "large")


def test_unknown_model_falls_back_to_the_default(make: Callable[..., World]) -> None:
    world = make(loop_model="forge/gone")
    assert world.run().state is LoopState.COMPLETED
    assert "model" not in world.opencode.asked[0].body
    said = [event.text for event in world.loops.events(world.loop.id) if "model" in event.text]
    assert said == ["OpenCode has no model forge/gone, so its default is used"]
    steps = [describe_step(step, world.loop) for step in world.loops.steps(world.loop.id)]
    assert [step for step in steps if "forge/gone" in step] == [steps[1]]


def test_sections_follow_each_other(make: Callable[..., World]) -> None:
    second = "### 2. More\nFiles: more.txt\nAcceptance: it is there\n## Verification"
    world = make(PLAN.replace("## Verification", second))
    assert world.run().state is LoopState.COMPLETED
    prompts = [asked.text for asked in world.opencode.asked if not is_audit(asked)]
    assert ["The section to work on: 1." in prompts[0], "The section to work on: 2." in prompts[1]] == [True, True]
    assert "1: I wrote it" in prompts[1]


def test_auditor_without_a_verdict_is_asked_once_more(make: Callable[..., World]) -> None:
    world = make()
    usual = world.opencode.answer

    def answer(asked: Asked) -> dict[str, Any]:
        if is_audit(asked):
            return {"text": "verdict: clean. All is well."}
        if "memory-loop-report" in asked.text and asked.text.startswith("You have not"):
            world.report(asked, "fine", "clean")
            return {}
        return usual(asked)

    world.opencode.answer = answer
    assert world.run().state is LoopState.COMPLETED
    assert len(world.opencode.asked) == 3


def test_auditor_who_never_gives_a_verdict_ends_the_loop(make: Callable[..., World]) -> None:
    world = make()
    usual = world.opencode.answer
    world.opencode.answer = lambda asked: (
        usual(asked) if not is_audit(asked) and not asked.text.startswith("You have not") else {"text": "clean"}
    )
    loop = world.run()
    assert (loop.state, "no verdict" in loop.reason) == (LoopState.FAILED, True)


def test_open_finding_leads_back_to_code_with_its_text(make: Callable[..., World]) -> None:
    world = make()
    usual = world.opencode.answer

    def answer(asked: Asked) -> dict[str, Any]:
        done = len(world.opencode.asked)
        if is_audit(asked) and done == 2:
            world.findings.record("no newline at the end", at=clock.now(), file="hello.txt")
        elif not is_audit(asked) and done == 3:
            [finding] = world.findings.open()
            assert "no newline at the end" in asked.text
            world.findings.resolve(finding.id, at=clock.now())
        return usual(asked)

    world.opencode.answer = answer
    assert world.run().state is LoopState.COMPLETED
    assert world.kinds().count("audit") == 2


def test_next_loop_of_a_plan_learns_what_the_last_one_left(make: Callable[..., World]) -> None:
    first = make()

    def answer(asked: Asked) -> dict[str, Any]:
        first.findings.record("no newline at the end", at=clock.now(), file="hello.txt")
        first.report(asked, "I tried it with printf.")
        cancel_loop(first.store, first.loops.get(first.loop.id), at=clock.now())
        return {}

    first.opencode.answer = answer
    assert first.run().state is LoopState.CANCELLED
    second = make()
    assert second.run().state is LoopState.COMPLETED
    code, audit = second.opencode.asked[:2]
    assert "An earlier loop of this plan did not complete" in code.text
    assert "open finding" in code.text
    assert "no newline at the end" in code.text
    assert "An earlier loop" not in audit.text
    third = make()
    assert third.run().state is LoopState.COMPLETED
    assert "An earlier loop" not in third.opencode.asked[0].text


def test_loop_that_made_no_branch_names_none_to_the_next_one(make: Callable[..., World]) -> None:
    first = make()
    cancel_loop(first.store, first.loop, at=clock.now())
    second = make()
    second.run()
    assert "it ended as cancelled: cancelled by you; it made no branch" in second.opencode.asked[0].text


def test_error_of_the_model_is_tried_again(make: Callable[..., World]) -> None:
    world = make()
    usual, errors = world.opencode.answer, [{"name": "APIError", "data": {"statusCode": 500, "message": "later"}}]
    world.opencode.answer = lambda asked: {"error": errors.pop()} if errors else usual(asked)
    assert world.run().state is LoopState.COMPLETED


def test_model_that_always_fails_ends_the_loop(make: Callable[..., World]) -> None:
    world = make()
    world.opencode.answer = lambda _: {"error": {"name": "APIError", "data": {"statusCode": 400, "message": "bad"}}}
    assert world.run().state is LoopState.FAILED
    assert len(world.opencode.asked) == 8


def test_questions_of_the_loops_sessions_are_rejected_and_no_others(make: Callable[..., World]) -> None:
    world = make()
    usual = world.opencode.answer

    def answer(asked: Asked) -> dict[str, Any]:
        if not world.opencode.questions and not world.opencode.replies:
            world.opencode.questions = [
                {"id": "per_1", "sessionID": asked.session, "permission": "external_directory"},
                {"id": "per_2", "sessionID": "ses_of_somebody_else", "permission": "bash"},
            ]
            return {"time": {}, "finish": None}
        return usual(asked)

    world.opencode.answer = answer
    world.run()
    [(id_, reply)] = world.opencode.replies
    assert (id_, reply["reply"]) == ("per_1", "reject")
    assert "external_directory" in reply["message"]


def test_without_opencode_the_loop_pauses(make: Callable[..., World]) -> None:
    world = make()
    world.opencode.close()
    loop = world.run()
    assert (loop.state, loop.rest) == (LoopState.PAUSED, Rest.HOST)


def test_setup_that_fails_ends_the_loop(make: Callable[..., World]) -> None:
    loop = make(wish={"setup": "seq 1 200; echo missing >&2; exit 3"}).run()
    assert loop.state is LoopState.FAILED
    assert "`seq 1 200; echo missing >&2; exit 3` ended with 3: missing; when it is mended: " in loop.reason


def test_check_on_a_fresh_checkout_sees_only_commits(make: Callable[..., World]) -> None:
    world = make()
    usual = world.opencode.answer

    def answer(asked: Asked) -> dict[str, Any]:
        if not is_audit(asked) and len(world.opencode.asked) == 1:
            (asked.directory / ".gitignore").write_text("hello.txt\n")
        elif not is_audit(asked):
            (asked.directory / ".gitignore").unlink(missing_ok=True)
        return usual(asked)

    world.opencode.answer = answer
    loop = world.run()
    assert loop.state is LoopState.COMPLETED
    assert world.kinds().count("final_check") == 2


def test_changed_configuration_of_opencode_stops_the_loop(make: Callable[..., World]) -> None:
    world = make()

    def answer(asked: Asked) -> dict[str, Any]:
        (asked.directory / ".opencode" / "plugin").mkdir(parents=True)
        (asked.directory / ".opencode" / "plugin" / "evil.ts").write_text("x")
        return {}

    world.opencode.answer = answer
    loop = world.run()
    assert (loop.state, loop.rest) == (LoopState.WAITING, Rest.ERROR)
    assert "OpenCode's configuration" in loop.reason


def test_loop_in_place_commits_nothing(make: Callable[..., World]) -> None:
    world = make(wish={"in_place": True})
    before = git(world.shop, "rev-parse", "HEAD")
    assert world.run().state is LoopState.COMPLETED
    assert git(world.shop, "rev-parse", "HEAD") == before
    assert git(world.shop, "status", "--porcelain") == "?? hello.txt"


@pytest.mark.parametrize("kind", ["submodule", "separate", "linked"])
def test_loop_in_place_works_wherever_the_folder_of_git_is(
    make: Callable[..., World], tmp_path: Path, kind: str
) -> None:
    library = repository(tmp_path / "library", a_py="x\n")
    shop = tmp_path / "app" / "part"
    if kind == "submodule":
        above = repository(tmp_path / "app", a_py="x\n")
        git(above, "-c", "protocol.file.allow=always", "submodule", "add", "--quiet", str(library), "part")
    elif kind == "separate":
        git(library, "clone", "--quiet", "--separate-git-dir", str(tmp_path / "git"), ".", str(shop))
    else:
        git(library, "worktree", "add", "--quiet", str(shop))
    loop = make(shop=shop, wish={"in_place": True}).run()
    assert loop.state is LoopState.COMPLETED, loop.reason
    assert git(shop, "status", "--porcelain") == "?? hello.txt"


def test_lock_in_the_users_own_folder_is_left(make: Callable[..., World], tmp_path: Path) -> None:
    library = repository(tmp_path / "library", a_py="x\n")
    git(library, "worktree", "add", "--quiet", str(tmp_path / "app"))
    lock = library / ".git" / "worktrees" / "app" / "index.lock"
    lock.touch()
    os.utime(lock, (1e9, 1e9))
    assert make(shop=tmp_path / "app", wish={"in_place": True}).run().state is LoopState.COMPLETED
    assert lock.exists()


def test_paused_loop_goes_on_where_it_was(make: Callable[..., World]) -> None:
    world = make()
    usual = world.opencode.answer

    def answer(asked: Asked) -> dict[str, Any]:
        if len(world.opencode.asked) == 1:
            pause_loop(world.store, world.loops.get(world.loop.id), at=clock.now())
            world.opencode.busy[asked.session] = {"type": "busy"}
            return {"time": {}, "finish": None}
        return usual(asked)

    world.opencode.answer = answer
    paused = world.run()
    assert (paused.state, paused.rest) == (LoopState.PAUSED, Rest.PERSON)
    assert world.opencode.aborted == [world.opencode.sessions[0]["id"]]
    assert describe_step(world.loops.steps(paused.id)[-1], paused) == "2. code (iteration 1): not finished"
    resume_loop(world.store, paused, at=clock.now())
    assert world.run().state is LoopState.COMPLETED
    assert len(world.opencode.sessions) == 2


def test_cancelled_loop_stays_cancelled(make: Callable[..., World]) -> None:
    world = make()
    cancelled = cancel_loop(world.store, world.loop, at=clock.now())
    assert world.run() == world.loops.get(cancelled.id)
    assert world.kinds() == []
    with pytest.raises(opencode_memory.ConflictError, match="cannot be resumed"):
        resume_loop(world.store, cancelled, at=clock.now())


def test_limit_must_be_raised_to_go_on(make: Callable[..., World]) -> None:
    world = make(wish={"iterations": 1})
    world.opencode.answer = lambda _: {}
    paused = world.run()
    assert (paused.rest, paused.iteration) == (Rest.LIMIT, 1)
    with pytest.raises(InvalidInputError, match="limit of 1 iteration"):
        resume_loop(world.store, paused, at=clock.now())
    assert resume_loop(world.store, paused, at=clock.now(), raised=Raised(iterations=2)).state is LoopState.RUNNING


def test_deaths_of_opencode_are_no_failures_of_the_model(make: Callable[..., World]) -> None:
    world = make()
    usual = world.opencode.answer
    deaths = MOST_SENT + 1

    def answer(asked: Asked) -> dict[str, Any]:
        if len(world.opencode.asked) > deaths:
            return usual(asked)
        world.opencode.close()
        return {"time": {}, "finish": None}

    world.opencode.answer = answer
    for _ in range(deaths):
        paused = world.run()
        assert paused.rest is Rest.HOST, paused.reason
        world.opencode.open_again()
        resume_loop(world.store, paused, at=clock.now())
    assert world.run().state is LoopState.COMPLETED
    assert {asked.body["messageID"] for asked in world.opencode.asked[: deaths + 1]} == {
        world.opencode.asked[0].body["messageID"]
    }


def test_message_is_not_sent_again_at_each_event(make: Callable[..., World]) -> None:
    """OpenCode tells much before its state says that it works on a message."""
    world = make()
    usual, looks = world.opencode.request, 0

    async def slow(method: str, path: str, **more: Any) -> Any:
        nonlocal looks
        answered = await usual(method, path, **more)
        if len(world.opencode.asked) == 1 and looks < 3 * MOST_SENT:
            looks += path == "/session/status"
            runner.notify()
        return answered

    first = world.opencode.answer
    world.opencode.answer = lambda asked: (
        {"time": {}, "finish": None} if len(world.opencode.asked) == 1 else first(asked)
    )
    world.opencode.request = slow  # type: ignore[method-assign]
    runner = world.runner()
    runner.look_seconds = 1.0
    anyio.run(runner.run)
    assert world.loops.get(world.loop.id).state is LoopState.COMPLETED
    assert looks > MOST_SENT
    code = world.loops.steps(world.loop.id)[1]
    assert code.attempts == 2


def test_two_starts_of_one_plan_are_one_loop(make: Callable[..., World]) -> None:
    world = make()
    plans = Plans(world.store, PROJECT)
    again = start_loop(
        world.store,
        plans.get(world.loop.plan),
        Wish(directory=world.shop, by="test"),
        config=load(environment={"HOME": str(world.shop)}),
        at=clock.now(),
    )
    assert again.id == world.loop.id


class _Death(BaseException):
    """The server dies: no code of ours runs afterwards."""


@pytest.mark.parametrize("seed", range(200 if os.environ.get("SOAK_MINUTES") else 12))
def test_deaths_at_any_write_send_no_prompt_twice_and_lose_no_commit(
    make: Callable[..., World], seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before or after a write the server dies, another takes over at once, and the loop ends as without deaths."""
    world = make()
    chance, write = random.Random(seed), world.store.documents.write
    deaths = 0

    def die_sometimes(changes: Any) -> Any:
        nonlocal deaths
        if changes[0].kind == "loop-report":
            return write(changes)  # The model's call, which has its own answer.
        place = chance.random()
        if place < 0.12:
            deaths += 1
            raise _Death
        written = write(changes)
        if place < 0.24:
            deaths += 1
            raise _Death
        return written

    for life in range(200):
        owner = f"server {life}"
        held = world.store.documents.get("loop-lease", world.loop.id)
        if held is not None:
            world.loops.release(Lease(loop=world.loop.id, owner="dead", version=held.version))
        monkeypatch.setattr(world.store.documents, "write", die_sometimes)
        runner = world.runner(owner)
        with suppress(BaseExceptionGroup, _Death):
            anyio.run(runner.run)
        monkeypatch.setattr(world.store.documents, "write", write)
        if world.loops.get(world.loop.id).state is not LoopState.RUNNING:
            break
    loop = world.loops.get(world.loop.id)
    assert loop.state is LoopState.COMPLETED, (loop.reason, deaths)
    prompts = [asked.body["messageID"] for asked in world.opencode.asked]
    assert len(prompts) == len(set(prompts)) == 2
    assert len(world.opencode.sessions) == 2
    assert git(world.shop, "rev-list", "--count", f"main..{loop.branch}") == "1"
    assert [step.kind for step in world.loops.steps(loop.id)][-1] is StepKind.FINISH


def test_loops_of_one_repository_run_beside_each_other(make: Callable[..., World]) -> None:
    first, second = make(), make(wish={"name": "other"})

    async def main() -> None:
        with anyio.fail_after(30):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(first.runner().run)
                tasks.start_soon(second.runner().run)

    anyio.run(main)
    for world in (first, second):
        loop = world.loops.get(world.loop.id)
        assert loop.state is LoopState.COMPLETED, loop.reason
    assert git(first.shop, "branch", "--list", "loop/*").count("loop/") == 2


def test_conflict_that_never_ends_stops_the_loop(make: Callable[..., World]) -> None:
    """A record that cannot be written must not keep the server busy."""
    world = make()
    world.opencode.session_id = lambda: "ses_taken"
    world.store.documents.write([Change(kind="loop-session", name="ses_taken", expected=0, body={})])
    loop = world.run()
    assert (loop.state, loop.rest) == (LoopState.WAITING, Rest.ERROR)
    assert "ses_taken" in loop.reason


def test_loops_of_another_project_are_not_found(make: Callable[..., World]) -> None:
    world = make()
    for project in (None, "another"):
        assert world.loops.list(project) == []
        for name in (world.loop.name, world.loop.id):
            with pytest.raises(NotFoundError):
                world.loops.find(name, project)
    assert world.loops.find(world.loop.name, PROJECT).id == world.loop.id


def test_secrets_are_in_no_record_of_a_loop(make: Callable[..., World]) -> None:
    """A secret in a changed file, an output or a report is committed by nobody's record of ours."""
    secret = "AKIAIOSFODNN7EXAMPLB"
    world = make(PLAN.replace("grep -q", "echo AKIA''IOSFODNN7EXAMPLB && grep -q"))
    usual = world.opencode.answer

    def answer(asked: Asked) -> dict[str, Any]:
        if not is_audit(asked):
            (asked.directory / "key.txt").write_text(f"{secret}\n")
        return {**usual(asked), "text": f"I used {secret}."}

    world.opencode.answer = answer
    world.run()
    audit = next(asked for asked in world.opencode.asked if is_audit(asked))
    assert "key.txt" in audit.text
    kinds = ("loop", "loop-step", "loop-event", "loop-report", "plan", "plan-text")
    records = [str(document.body) for kind in kinds for document in world.store.documents.list(kind)]
    assert len(records) > 10
    assert not any(secret in record for record in records)


def test_stalled_turn_is_interrupted_and_sent_again(make: Callable[..., World]) -> None:
    world = make()
    usual = world.opencode.answer

    def answer(asked: Asked) -> dict[str, Any]:
        if len(world.opencode.asked) == 1:
            world.opencode.busy[asked.session] = {"type": "busy"}
            return {"time": {}, "finish": None}
        return usual(asked)

    world.opencode.answer = answer
    runner = world.runner()
    runner.stall_seconds = 0.1
    anyio.run(runner.run)
    loop = world.loops.get(world.loop.id)
    assert (loop.state, loop.reason[:4]) == (LoopState.COMPLETED, "done")
    assert world.opencode.aborted == [world.opencode.sessions[0]["id"]]
    assert len(world.opencode.sessions) == 2


def test_person_who_stops_the_session_pauses_the_loop(make: Callable[..., World]) -> None:
    world = make()
    usual, busy = world.opencode.request, [{"type": "busy"}]

    async def seen_at_work_once(method: str, path: str, **more: Any) -> Any:
        if path == "/session/status" and world.opencode.asked and busy:
            return {world.opencode.asked[0].session: busy.pop()}
        return await usual(method, path, **more)

    world.opencode.answer = lambda _: {"error": {"name": "MessageAbortedError"}}
    world.opencode.request = seen_at_work_once  # type: ignore[method-assign]
    loop = world.run()
    assert (loop.state, loop.rest) == (LoopState.PAUSED, Rest.PERSON)
    assert "you stopped the session" in loop.reason


def test_opencode_that_does_not_answer_for_a_while_is_asked_again(make: Callable[..., World]) -> None:
    world = make()
    usual, failures = world.opencode.request, [HostError("slow")] * 3

    async def fail_at_first(*arguments: Any, **more: Any) -> Any:
        if failures:
            raise failures.pop()
        return await usual(*arguments, **more)

    world.opencode.request = fail_at_first  # type: ignore[method-assign]
    assert world.run().state is LoopState.COMPLETED
    failures.extend([HostError("slow")] * 1000)
    other = make(wish={"name": "other"})
    other.opencode.request = fail_at_first  # type: ignore[method-assign]
    loop = other.run()
    assert (loop.state, loop.rest) == (LoopState.WAITING, Rest.ERROR)


def test_changed_configuration_of_git_stops_the_loop_until_the_person_accepts_it(make: Callable[..., World]) -> None:
    world = make()
    usual = world.opencode.answer

    def answer(asked: Asked) -> dict[str, Any]:
        if len(world.opencode.asked) == 1:
            git(world.shop, "config", "core.sshCommand", "/tmp/evil")
        return usual(asked)

    world.opencode.answer = answer
    stopped = world.run()
    assert (stopped.state, stopped.rest) == (LoopState.WAITING, Rest.ERROR)
    assert "configuration of git" in stopped.reason
    # Only a person accepts it: the loop does not go on by itself.
    assert world.run().state is LoopState.WAITING
    resume_loop(world.store, stopped, at=clock.now())
    assert world.run().state is LoopState.COMPLETED


def test_settings_of_the_users_worktree_alone_do_not_stop_a_resumed_loop(make: Callable[..., World]) -> None:
    world = make(wish={"iterations": 1})
    usual = world.opencode.answer
    world.opencode.answer = lambda _: {}
    git(world.shop, "config", "extensions.worktreeConfig", "true")
    paused = world.run()
    assert paused.rest is Rest.LIMIT
    git(world.shop, "config", "--worktree", "core.editor", "ed")
    world.opencode.answer = usual
    resume_loop(world.store, paused, at=clock.now(), raised=Raised(iterations=2))
    loop = world.run()
    assert loop.state is LoopState.COMPLETED, loop.reason
