"""Plans and loops in exports and backups: nothing is lost, and an import begins no work."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import opencode_memory
from loops.loop_world import PROJECT, World
from opencode_memory.errors import InvalidInputError
from opencode_memory.exchange import export_memories, import_memories
from opencode_memory.exchange.plans_and_loops import EXPORTED
from opencode_memory.loops import documents
from opencode_memory.loops.model import LoopState
from opencode_memory.loops.records import Loops
from opencode_memory.plans import Approval, Mode, Plans, PlanStatus
from opencode_memory.plans import plans as plan_records
from opencode_memory.store.memory_store import MemoryStore
from opencode_memory.text import clock
from support.plans import PLAN


def exported(store: MemoryStore, **options: Any) -> str:
    out = io.StringIO()
    export_memories(store, out, **options)
    return out.getvalue()


def imported(text: str, folder: Path, **options: Any) -> MemoryStore:
    store = opencode_memory.open(folder, background=False)
    import_memories(store, io.StringIO(text), **options)
    return store


def without_versions(text: str) -> list[str]:
    return sorted(json.dumps(row, sort_keys=True) for row in json.loads(text)["documents"])


def test_all_records_but_those_of_the_machine_are_exported() -> None:
    kept = {documents.LEASE, documents.RUN}
    known = {getattr(documents, name) for name in ("LOOP", "STEP", "EVENT", "REPORT", "SESSION", "LEASE", "RUN")}
    assert (known - kept) | {plan_records.KIND, plan_records.TEXT_KIND} == EXPORTED


def test_ended_loop_comes_back_as_it_was(make: Callable[..., World], tmp_path: Path) -> None:
    world = make()
    loop = world.run()
    assert loop.state is LoopState.COMPLETED
    text = exported(world.store)
    with imported(text, tmp_path / "copy") as copy:
        loops = Loops(copy)
        again = loops.get(loop.id)
        assert (again.created_at, again.notes, again.spent) == (loop.created_at, loop.notes, loop.spent)
        assert len(loops.steps(loop.id)) == len(world.loops.steps(loop.id)) == 6
        assert [event.text for event in loops.events(loop.id)] == [e.text for e in world.loops.events(loop.id)]
        plans = Plans(copy, PROJECT)
        assert plans.text(plans.get(loop.plan)) == PLAN
        assert copy.documents.get(documents.RUN, loop.id) is None
        # A second import changes nothing.
        before = exported(copy)
        import_memories(copy, io.StringIO(text))
        assert without_versions(exported(copy)) == without_versions(before)


def test_running_loop_is_cancelled_by_an_import(make: Callable[..., World], tmp_path: Path) -> None:
    world = make()
    assert world.loops.get(world.loop.id).state is LoopState.RUNNING
    with imported(exported(world.store), tmp_path / "copy") as copy:
        loop = Loops(copy).get(world.loop.id)
        assert (loop.state, loop.program, "imported" in loop.reason) == (LoopState.CANCELLED, None, True)


def test_approved_plan_has_to_be_approved_again(make: Callable[..., World], tmp_path: Path) -> None:
    world = make()
    plans = Plans(world.store, PROJECT)
    approval = Approval(mode=Mode.NEW, by="test", at=clock.now(), message="msg_1", part="prt_1")
    approved = plans.approve(plans.submit(plans.write(PLAN, at=clock.now()).plan), approval)
    with imported(exported(world.store), tmp_path / "copy") as copy:
        plan = Plans(copy, PROJECT).get(approved.id)
        assert (plan.status, plan.approval) == (PlanStatus.SUBMITTED, None)


def test_file_of_somebody_else_brings_no_plans(make: Callable[..., World], tmp_path: Path) -> None:
    text = exported(make().store)
    with opencode_memory.open(tmp_path / "other", background=False) as other:
        other.remember("The other store has a memory.")
        report = import_memories(other, io.StringIO(text))
        assert report.counts["document"]["left out"] > 2
        assert not any(other.documents.list(kind) for kind in EXPORTED)


def test_export_of_a_project_has_its_loops_only(make: Callable[..., World]) -> None:
    world = make()
    assert json.loads(exported(world.store, project=PROJECT))["documents"] != []
    for other in ({"project": "another"}, {"categories": ["fact"]}):
        assert "documents" not in json.loads(exported(world.store, **other))


def test_document_of_an_unknown_kind_is_refused(make: Callable[..., World], tmp_path: Path) -> None:
    text = exported(make().store).replace('"kind":"plan-text"', '"kind":"loop-lease"')
    with pytest.raises(InvalidInputError, match="loop-lease"):
        imported(text, tmp_path / "copy")


@pytest.mark.parametrize(("kind", "field"), [("plan", "status"), ("loop", "state")])
@pytest.mark.parametrize("given", [{}, None])
def test_document_without_a_usable_state_is_refused(
    make: Callable[..., World], tmp_path: Path, kind: str, field: str, given: Any
) -> None:
    whole = json.loads(exported(make().store))
    for row in whole["documents"]:
        if row["kind"] == kind:
            row["body"][field] = given
    with pytest.raises(InvalidInputError, match=rf"{kind}\.{field}: expected a text"):
        imported(json.dumps(whole), tmp_path / "copy")


@pytest.mark.parametrize("kind", [{}, None, 5])
def test_document_whose_kind_is_no_text_is_refused(make: Callable[..., World], tmp_path: Path, kind: Any) -> None:
    whole = json.loads(exported(make().store))
    whole["documents"][0]["kind"] = kind
    with pytest.raises(InvalidInputError, match="unknown kind"):
        imported(json.dumps(whole), tmp_path / "copy")


UNREADABLE = {
    "plan title": ("plan", {"title": 5}, "plan.title"),
    "plan approval": ("plan", {"approval": {"mode": "here"}}, "plan.at"),
    "text of a plan": ("plan-text", {"text": None}, "plan-text.text"),
    "time of a text": ("plan-text", {"at": "yesterday"}, "plan-text.at"),
    "folder of a loop": ("loop", {"directory": {}}, "loop.directory"),
    "limit of a loop": ("loop", {"limits": {"iterations": "many"}}, "loop.iterations"),
    "findings of a loop": ("loop", {"complaints": [1]}, "loop.complaints"),
    "state of a loop": ("loop", {"state": "dancing", "place": "moon"}, "loop.place"),
    "kind of a step": ("loop-step", {"kind": "dance"}, "loop-step.kind"),
    "line of a log": ("loop-event", {"text": ["a"]}, "loop-event.text"),
    "step of a session": ("loop-session", {"step": "first"}, "loop-session.step"),
}


@pytest.mark.parametrize(("kind", "wrong", "field"), UNREADABLE.values(), ids=UNREADABLE)
def test_document_that_nobody_could_read_is_refused_and_nothing_is_imported(
    make: Callable[..., World], tmp_path: Path, kind: str, wrong: dict[str, Any], field: str
) -> None:
    world = make()
    world.store.remember("Tests run with pytest.")
    world.run()
    whole = json.loads(exported(world.store))
    edited = [row for row in whole["documents"] if row["kind"] == kind]
    edited[-1]["body"] |= wrong
    with opencode_memory.open(tmp_path / "copy", background=False) as copy:
        for dry_run in (True, False):
            with pytest.raises(InvalidInputError, match=f"{kind} {edited[-1]['name']!r}: ") as refused:
                import_memories(copy, io.StringIO(json.dumps(whole)), dry_run=dry_run)
            assert refused.value.field == field
        assert copy.list() == []
        assert not any(copy.documents.list(one) for one in EXPORTED)


@pytest.mark.parametrize(
    ("kind", "change", "problem"),
    [
        ("loop-step", {"name": "ab12/last"}, "is not the number of a step"),
        ("loop-step", {"name": "ab12/000099", "body": []}, "expected an object"),
        ("loop-report", {"body": "clean"}, "expected an object"),
    ],
)
def test_document_with_another_name_or_body_is_refused(
    make: Callable[..., World], tmp_path: Path, kind: str, change: dict[str, Any], problem: str
) -> None:
    world = make()
    world.run()
    whole = json.loads(exported(world.store))
    template = next(row for row in whole["documents"] if row["kind"] == "loop-step")
    whole["documents"].append({**template, "kind": kind, **change})
    whole["counts"]["documents"] += 1
    with pytest.raises(InvalidInputError, match=problem):
        imported(json.dumps(whole), tmp_path / "copy")
