"""``opencode-memory doctor``: plans and loops that need the person or a server."""

from __future__ import annotations

import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from opencode_memory import MemoryStore
from opencode_memory.loops import records
from opencode_memory.loops.model import Loop, LoopState, Rest
from opencode_memory.loops.process import ProcessId, identify
from opencode_memory.loops.records import Loops
from opencode_memory.plans import Plans, PlanStatus
from opencode_memory.store.documents import Change
from opencode_memory.text import clock
from opencode_memory.text.clock import to_ms
from support.command_line import CommandLine
from support.plans import PLAN
from support.stores import open_store, set_clock


@pytest.fixture
def store(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> Iterator[MemoryStore]:
    """The store that the commands open, with a loop whose name is ``parser``. No OpenCode is started for it."""
    monkeypatch.setenv("OPENCODE_MEMORY_LOOP_OWN_HOST", "false")
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    subprocess.run(["git", "init", "--quiet"], cwd=cli.folder, check=True)
    subprocess.run(["git", *identity, "commit", "--quiet", "--allow-empty", "-m", "x"], cwd=cli.folder, check=True)
    cli.ok("loop", "start", "Mend the parser", "--check", "true", "--name", "parser")
    with open_store(cli.folder.parent / "data" / "opencode-memory" / "store", project="app") as store:
        set_clock(store, to_ms(clock.now()))
        yield store


def found(cli: CommandLine, name: str = "loops") -> list[tuple[str, str, str | None]]:
    checks = cli("doctor", "--json").json["checks"]
    return [(check["level"], check["text"], check["hint"]) for check in checks if check["name"] == name]


def change(store: MemoryStore, *, days_ago: float = 0, **changes: Any) -> Loop:
    """Change the loop some days ago."""
    loops = Loops(store)
    [loop] = loops.list_all()
    at = clock.now() - timedelta(days=days_ago)
    set_clock(store, to_ms(at))
    return loops.write(replace(loop, **changes), at=at)


def test_store_without_loops_has_no_check(cli: CommandLine) -> None:
    cli.ok("remember", "something else")
    assert found(cli) == found(cli, "plans") == []


def test_loop_that_was_just_started_is_well(cli: CommandLine, store: MemoryStore) -> None:
    assert found(cli) == [("ok", "1 loop at work, 0 ended", None)]


@pytest.mark.parametrize("lease", ["none", "expired", "dead", "held"])
def test_running_loop_needs_a_server(
    cli: CommandLine, store: MemoryStore, monkeypatch: pytest.MonkeyPatch, lease: str
) -> None:
    loop = change(store, days_ago=1)
    if lease == "dead":
        ours = identify(1)
        assert ours is not None
        dead = ProcessId(pid=ours.pid, started=ours.started + 1, machine=ours.machine)
        monkeypatch.setattr(records, "identify", lambda _: dead)
    if lease != "none":
        seconds = -1.0 if lease == "expired" else 60.0
        assert Loops(store).acquire(loop.id, "a server", at=clock.now(), seconds=seconds)
    [(level, text, hint)] = found(cli)
    if lease == "held":
        assert (level, hint) == ("ok", None)
    else:
        assert (level, hint) == ("problem", "opencode-memory serve --detach")
        assert text == f"no server runs the loop parser in {loop.directory}, which is at work"


@pytest.mark.parametrize(
    ("state", "rest", "whom"),
    [
        (LoopState.WAITING, Rest.PROGRESS, "you"),
        (LoopState.PAUSED, Rest.LIMIT, "you"),
        (LoopState.PAUSED, Rest.HOST, "an OpenCode"),
    ],
)
def test_resting_loop_is_named_with_its_reason(
    cli: CommandLine, store: MemoryStore, state: LoopState, rest: Rest, whom: str
) -> None:
    change(store, days_ago=2, state=state, rest=rest, reason="the reason")
    [(level, text, hint)] = found(cli)
    assert level == "note"
    assert f"waits for {whom}, 2 d ago: the reason" in text
    assert ("open OpenCode" in str(hint)) is (rest is Rest.HOST)
    assert "loop cancel parser" in str(hint)


def test_ended_loop_is_well(cli: CommandLine, store: MemoryStore) -> None:
    change(store, days_ago=2, state=LoopState.COMPLETED)
    assert found(cli) == [("ok", "0 loops at work, 1 ended", None)]


def test_folder_without_a_loop_is_named(cli: CommandLine, store: MemoryStore) -> None:
    loop = change(store)
    for name in (loop.id, "0123abcd"):
        (store.data_dir / "loops" / name / "app").mkdir(parents=True)
    [(level, text, _)] = found(cli)
    left = store.data_dir / "loops" / "0123abcd" / "app"
    assert (level, text) == ("note", f"1 folder of loops that are forgotten: {left}")


def test_plan_that_waits_for_more_than_a_day_is_named(cli: CommandLine, store: MemoryStore) -> None:
    plans = Plans(store, "app")
    plans.submit(plans.write(PLAN, at=clock.now()).plan)
    assert found(cli, "plans") == []
    set_clock(store, to_ms(clock.now() - timedelta(days=3)))
    plan = plans.submit(plans.write(PLAN, at=clock.now()).plan)
    [(level, text, _)] = found(cli, "plans")
    assert (level, text) == (
        "note",
        f"1 plan waits for your answer, the oldest of 3 d ago: Say hello ({plan.id}) in app",
    )


def test_damaged_loop_is_named_and_can_be_removed(cli: CommandLine, store: MemoryStore) -> None:
    [loop] = Loops(store).list_all()
    body = {"state": "dreaming"}
    store.documents.write([Change(kind="loop", name="dddddddd", expected=0, body=body, project=loop.project)])
    hint = (
        "`opencode-memory backup restore` brings back the records of a backup; `opencode-memory loop cancel dddddddd -p"
        f" {loop.project}` removes this record, and keeps branch and folder"
    )
    [(level, text, found_hint)] = found(cli)
    assert (level, found_hint) == ("problem", hint)
    assert text.startswith("the loop dddddddd is damaged: ")
    assert text.endswith(f" (in {loop.project})")
    said = cli.ok("loop", "list")
    assert "parser" in said.out
    assert "the loop dddddddd is damaged: " in said.err
    assert cli.ok("loop", "list", "--json").json["damaged"] == ["dddddddd"]
    refused = cli("loop", "show", "dddddddd")
    assert (refused.code, "is damaged" in refused.err, hint in refused.err) == (2, True, True)
    cli.ok("loop", "cancel", "dddddddd", "-p", str(loop.project), "-C", "/", "--yes")
    assert [loop.name for loop in Loops(store).list_all()] == ["parser"]
    assert found(cli) == [("ok", "1 loop at work, 0 ended", None)]


def test_damaged_loop_without_a_project_is_listed_and_removed_in_each(cli: CommandLine, store: MemoryStore) -> None:
    for name, project in (("dddddddd", None), ("eeeeeeee", "another")):
        store.documents.write([Change(kind="loop", name=name, expected=0, body={}, project=project)])
    assert cli.ok("loop", "list", "--json").json["damaged"] == ["dddddddd"]
    assert cli("loop", "cancel", "eeeeeeee", "--yes").code == 1
    cli.ok("loop", "cancel", "dddddddd", "--yes")
    assert [damaged.document.name for damaged in Loops(store).damaged()] == ["eeeeeeee"]


def test_damaged_plan_is_named_and_gets_a_new_record(cli: CommandLine, store: MemoryStore) -> None:
    [loop] = Loops(store).list_all()
    plan = Plans(store, loop.project).write_submitted(PLAN, at=clock.now())
    body = {"status": "dreaming"}
    store.documents.write([Change(kind="plan", name=plan.id, expected=plan.revision, body=body)])
    hint = f"`opencode-memory plan edit {plan.id} -p {loop.project}` makes a new draft of its newest text"
    [(level, text, found_hint)] = found(cli, "plans")
    assert (level, found_hint) == ("problem", hint)
    assert text.startswith(f"the plan {plan.id} is damaged: ")
    assert f"the plan {plan.id} is damaged: " in cli.ok("plan", "list").err
    assert hint in cli("plan", "show", plan.id).err
    text_file = cli.folder / "plan.md"
    text_file.write_text(PLAN, encoding="utf-8")
    cli.ok("plan", "edit", plan.id, "--file", str(text_file), "--submit")
    assert found(cli, "plans") == []
    assert Plans(store, loop.project).get(plan.id).title == plan.title


def test_damaged_plan_without_a_project_gets_a_new_record_in_each(cli: CommandLine, store: MemoryStore) -> None:
    plan, theirs = (Plans(store, project).write_submitted(PLAN, at=clock.now()) for project in (None, "another"))
    for one in (plan, theirs):
        body = {"status": "dreaming"}
        store.documents.write([Change(kind="plan", name=one.id, expected=one.revision, body=body, project=one.project)])
    assert cli.ok("plan", "list", "--json").json["damaged"] == [plan.id]
    again = cli.folder / "again.md"
    again.write_text(PLAN)
    assert cli("plan", "edit", theirs.id, "--file", str(again)).code == 1
    cli.ok("plan", "edit", plan.id, "--file", str(again))
    assert Plans(store, None).get(plan.id).status is PlanStatus.DRAFT


def test_damaged_step_is_named_by_doctor_verify_and_export(cli: CommandLine, store: MemoryStore) -> None:
    step = Change(kind="loop-step", name="dddddddd/000001", expected=0, body={"kind": "dream"}, project="app")
    store.documents.write([step])
    [damaged] = found(cli)
    exported = cli.ok("export", "-o", str(cli.folder / "all.json"))
    problem = "the loop-step dddddddd/000001 is damaged: kind: "
    assert exported.err.startswith(problem)
    assert problem in cli("export", "-o", str(cli.folder / "all.json"), "--json").json["refused"][0]
    refused = cli("import", str(cli.folder / "all.json"), "--data-dir", str(cli.folder / "new"))
    assert "loop-step 'dddddddd/000001': kind: " in refused.err
    cli.ok("remember", "Of another project.", "-p", "another")
    assert cli.ok("export", "-o", str(cli.folder / "app.json"), "-p", "another").err.count("damaged") == 0
    assert damaged[0] == "problem"
    assert damaged[1].startswith("the loop-step dddddddd/000001 is damaged: ")
    store.close()
    with closing(sqlite3.connect(store.data_dir / "store.db")) as database, database:
        database.execute("UPDATE document SET body = '{' WHERE kind = 'loop-step'")
    assert "the loop-step dddddddd/000001 cannot be read; `opencode-memory doctor` says" in cli("verify").out
    refused = cli("export", "-o", str(cli.folder / "all.json"))
    assert f"error: {store.data_dir / 'store.db'}: the loop-step dddddddd/000001 cannot be read" in refused.err
