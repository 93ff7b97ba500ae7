"""The ledger: decisions are made once, settled once, counted, and erased with the memories that they quote."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from opencode_memory import ConflictError, InvalidInputError, MemoryStore
from opencode_memory.store.ledger import Decision, Outcome, SessionSummary, Shown, State, Usefulness
from support import processes
from support.stores import DAY_MS, NOW_MS, files_holding, set_clock

NOW = datetime.fromtimestamp(NOW_MS / 1000, UTC)
# Put together here, so that no scanner takes this file for a leak.
TOKEN = "ghp" + "_" + "A1b2C3d4" * 4 + "E5f6"
OpenStore = Callable[..., MemoryStore]


def offered(message: str = "msg_1", *memories: str, **changes: Any) -> Decision:
    decision = Decision(
        session="ses_1",
        message=message,
        project="app",
        state=State.OFFERED,
        text=f"<memory>\nDeploys need 東京 🦀 {message}\n</memory>\n",
        tokens=12,
        shown=tuple(
            Shown(memory=id, key=place, score=1 / place, why=f"words: place {place}")
            for place, id in enumerate(memories, start=1)
        ),
        about={"kind": "message", "scores": [0.5, None]},
    )
    return replace(decision, **changes)


def nothing(message: str = "msg_1", **changes: Any) -> Decision:
    return Decision(session="ses_1", message=message, state=State.NOTHING, **changes)


def ids(store: MemoryStore, count: int) -> list[str]:
    return [store.remember(f"walrus number {number}").id for number in range(count)]


def test_the_first_decision_stays_and_is_returned_as_it_was_stored(store: MemoryStore) -> None:
    one, two = ids(store, 2)
    decision = offered("msg_1", two, one)
    stored = store.ledger.decide(decision)
    assert stored == replace(decision, at=NOW)
    assert (type(stored.state), type(stored.shown[0].outcome)) == (State, type(None))
    set_clock(store, NOW_MS + DAY_MS)
    assert store.ledger.decide(offered("msg_1", one, text="something else")) == stored
    assert store.ledger.decide(nothing("msg_1")) == stored
    assert store.ledger.decisions("ses_1") == [stored]


def test_nothing_late_and_unreplayed_texts_are_decisions(store: MemoryStore) -> None:
    first = store.ledger.decide(nothing("msg_1", about={"reason": "nothing relevant"}))
    second = store.ledger.decide(replace(nothing("msg_2"), state=State.LATE))
    assert [first.state, second.state] == [State.NOTHING, State.LATE]
    assert (first.text, first.shown, first.project, first.about) == ("", (), None, {"reason": "nothing relevant"})
    assert store.ledger.decide(offered("msg_1")) == first
    once = store.ledger.decide(offered("msg_3", state=State.SHOWN, text="", tokens=90))
    assert (once.text, once.tokens) == ("", 90)
    assert store.ledger.decisions("ses_1") == [first, second, once]
    assert store.ledger.decisions("ses_2") == []


def test_another_store_on_the_same_folder_replays_the_same_bytes(open_store: OpenStore, store: MemoryStore) -> None:
    stored = [store.ledger.decide(offered(f"msg_{number}", *ids(store, number))) for number in range(4)]
    other = open_store(project="elsewhere", read_only=True)
    assert other.ledger.decisions("ses_1") == stored
    assert [one.text.encode() for one in other.ledger.decisions("ses_1")] == [one.text.encode() for one in stored]


def test_an_offer_is_settled_once(store: MemoryStore) -> None:
    (one,) = ids(store, 1)
    for message in ("msg_1", "msg_2"):
        store.ledger.decide(offered(message, one))
    assert store.ledger.settle("ses_1", "msg_1", State.SHOWN)
    assert store.ledger.settle("ses_1", "msg_2", State.LATE)
    shown, late = store.ledger.decisions("ses_1")
    assert (shown.state, shown.text) == (State.SHOWN, offered("msg_1").text)
    assert (late.state, late.text, late.tokens, late.shown) == (State.LATE, "", 0, offered("msg_2", one).shown)
    assert not store.ledger.settle("ses_1", "msg_1", State.LATE)
    assert not store.ledger.settle("ses_1", "msg_2", State.SHOWN)
    assert not store.ledger.settle("ses_1", "msg_3", State.SHOWN)
    assert store.ledger.decisions("ses_1") == [shown, late]
    with pytest.raises(InvalidInputError, match="state") as caught:
        store.ledger.settle("ses_1", "msg_1", State.NOTHING)
    assert caught.value.limit == "shown, late"


def test_usefulness_counts_each_session_once(store: MemoryStore) -> None:
    one, two, three = ids(store, 3)
    for session in ("ses_1", "ses_2"):
        for message in ("msg_1", "msg_2"):
            store.ledger.decide(offered(message, one, two, session=session, state=State.SHOWN))
    store.ledger.decide(offered("msg_3", three))
    assert store.ledger.note("ses_1", [one, two, three], Outcome.USED) == 2
    assert store.ledger.note("ses_1", [one], Outcome.CONTRADICTED) == 1
    assert store.ledger.note("ses_1", [one, two], Outcome.USED) == 0
    assert store.ledger.note("ses_2", [two], Outcome.USED) == 1
    assert store.ledger.note("ses_2", [], Outcome.USED) == 0
    assert store.ledger.usefulness([one, two, three, "unknown"]) == {
        one: Usefulness(shown=2, used=0, contradicted=1),
        two: Usefulness(shown=2, used=2, contradicted=0),
        three: Usefulness(shown=0, used=0, contradicted=0),
        "unknown": Usefulness(shown=0, used=0, contradicted=0),
    }
    outcomes = [shown.outcome for decision in store.ledger.decisions("ses_1") for shown in decision.shown]
    assert outcomes == [Outcome.CONTRADICTED, Outcome.USED] * 2 + [None]


def test_sessions_are_summed_up_newest_first_and_by_project(store: MemoryStore) -> None:
    memories = ids(store, 2)
    store.ledger.decide(offered("msg_1", *memories, session="ses_web", project="web", state=State.SHOWN))
    set_clock(store, NOW_MS + DAY_MS)
    store.ledger.decide(offered("msg_1", *memories, session="ses_app", state=State.SHOWN))
    store.ledger.decide(offered("msg_2", *memories[:1], session="ses_app", state=State.SHOWN))
    store.ledger.decide(nothing("msg_1", project=None))
    later = NOW + timedelta(days=1)
    loose = SessionSummary(session="ses_1", project=None, messages=1, shown=0, last_at=later)
    app = SessionSummary(session="ses_app", project="app", messages=2, shown=2, last_at=later)
    web = SessionSummary(session="ses_web", project="web", messages=1, shown=2, last_at=NOW)
    assert store.ledger.sessions() == [loose, app, web]
    assert store.ledger.sessions(limit=1) == [loose]
    assert store.ledger.sessions(project="app") == [app]
    assert store.ledger.sessions(project=None) == [loose]
    assert store.ledger.sessions(project="unknown") == []
    store.projects.merge("web", "app")
    assert [one.session for one in store.ledger.sessions(project="app")] == ["ses_app", "ses_web"]
    assert store.ledger.decisions("ses_web")[0].project == "app"


def test_a_session_is_found_by_either_end_of_its_id(store: MemoryStore) -> None:
    for session in ("ses_ab12", "ses_cd12", "ses_ab12x"):
        store.ledger.decide(replace(nothing(), session=session))
    assert store.ledger.find("12") == ["ses_ab12", "ses_cd12"]
    assert store.ledger.find("ses_c") == ["ses_cd12"]
    assert store.ledger.find("ses_ab12") == ["ses_ab12"]
    assert store.ledger.find("b1") == []
    with pytest.raises(InvalidInputError, match="session: is empty"):
        store.ledger.find("")


@pytest.mark.parametrize(
    ("field", "limit", "changes"),
    [
        ("session", "512", {"session": "s" * 513}),
        ("session", None, {"session": ""}),
        ("session", None, {"session": 7}),
        ("message", "512", {"message": "m" * 513}),
        ("message", None, {"message": TOKEN}),
        ("project", None, {"project": "*"}),
        ("state", "offered, shown, nothing, late, erased", {"state": "shwon"}),
        ("state", None, {"state": State.ERASED}),
        ("text", "262144", {"text": "x" * 262_145}),
        ("text", None, {"text": ""}),
        ("text", None, {"text": "\ud800"}),
        ("text", None, {"state": State.LATE}),
        ("tokens", "at least 0", {"tokens": -1}),
        ("tokens", None, {"tokens": 1.5}),
        ("about", None, {"about": {"at": NOW}}),
        ("about", None, {"about": ["kind"]}),
        ("about", "65536", {"about": {"kind": "x" * 65_536}}),
        ("shown", "200", {"shown": (Shown(memory="x", key=1, score=1.0, why=""),) * 201}),
        ("memory", None, {"shown": (Shown(memory="x", key=1, score=1.0, why=""),)}),
        ("key", "at least 0", {"shown": (Shown(memory="x", key=-1, score=1.0, why=""),)}),
        ("score", None, {"shown": (Shown(memory="x", key=1, score=float("nan"), why=""),)}),
        ("why", "4000", {"shown": (Shown(memory="x", key=1, score=1.0, why="y" * 4001),)}),
        ("outcome", None, {"shown": (Shown(memory="x", key=1, score=1.0, why="", outcome=Outcome.USED),)}),
    ],
)
def test_invalid_field_is_refused_by_name_and_writes_nothing(
    store: MemoryStore, field: str, limit: str | None, changes: dict[str, Any]
) -> None:
    with pytest.raises(InvalidInputError) as caught:
        store.ledger.decide(replace(offered(), **changes))
    assert (caught.value.field, caught.value.limit) == (field, limit)
    assert store.ledger.sessions() == []
    assert store.projects.list() == []


def test_values_at_a_limit_are_accepted(store: MemoryStore) -> None:
    memories = ids(store, 200)
    decision = offered("m" * 512, *memories, text="x" * 262_144, session="s" * 512)
    assert store.ledger.decide(decision) == replace(decision, at=NOW)
    (one,) = memories[:1]
    with pytest.raises(InvalidInputError, match=f"shown: memory {one} is in it twice"):
        store.ledger.decide(offered("msg_1", one, one))


def test_secret_is_redacted_in_the_stored_and_replayed_text(store: MemoryStore, data_dir: Path) -> None:
    (one,) = ids(store, 1)
    why = (Shown(memory=one, key=1, score=1.0, why=f"words: {TOKEN}"),)
    decision = offered("msg_1", text=f"the token is {TOKEN}", shown=why, about={"query": [TOKEN], TOKEN: 1})
    decided = store.ledger.decide(decision)
    assert decided.text == "the token is [redacted:github-token]"
    assert TOKEN not in json.dumps([decided.about, decided.shown[0].why])
    assert store.ledger.decisions("ses_1") == [decided]
    assert files_holding(data_dir, TOKEN) == []


def test_a_purge_goes_before_replay(store: MemoryStore, data_dir: Path) -> None:
    gone, stays = store.remember("the narwhal swims").id, store.remember("the walrus sleeps").id
    quoting = offered("msg_1", gone, stays, text="- the narwhal swims\n- the walrus sleeps")
    store.ledger.decide(quoting)
    store.ledger.decide(replace(quoting, message="msg_2", state=State.SHOWN))
    other = store.ledger.decide(offered("msg_3", stays, state=State.SHOWN))
    store.purge(gone)
    *erased, kept = store.ledger.decisions("ses_1")
    assert kept == other
    for decision in erased:
        assert (decision.state, decision.text, decision.tokens, decision.about) == (State.ERASED, "", 0, {})
        assert [shown.memory for shown in decision.shown] == [stays]
    assert not store.ledger.settle("ses_1", "msg_1", State.SHOWN)
    with pytest.raises(ConflictError, match="recall again"):
        store.ledger.decide(offered("msg_4", gone))
    assert files_holding(data_dir, "narwhal") == []


def test_a_backup_brings_its_decisions_back(store: MemoryStore, tmp_path: Path) -> None:
    memories = ids(store, 2)
    before = store.ledger.decide(offered("msg_1", *memories))
    backup = store.backups.create(tmp_path / "backup.db")
    store.ledger.settle("ses_1", "msg_1", State.LATE)
    store.ledger.decide(nothing("msg_2"))
    store.backups.restore(backup)
    assert store.ledger.decisions("ses_1") == [before]
    assert not store.indexes.verify().problems


def test_sessions_are_forgotten_half_a_year_after_their_last_decision(store: MemoryStore) -> None:
    store.ledger.decide(replace(nothing(), session="ses_old"))
    store.ledger.decide(nothing("msg_1"))
    set_clock(store, NOW_MS + DAY_MS)
    store.ledger.decide(nothing("msg_2"))
    set_clock(store, NOW_MS + 180 * DAY_MS + 1)
    store.maintain()
    assert store.ledger.decisions("ses_old") == []
    assert [one.message for one in store.ledger.decisions("ses_1")] == ["msg_1", "msg_2"]


def test_concurrent_processes_agree_on_one_decision(store: MemoryStore, data_dir: Path) -> None:
    code = """
        import sys
        from pathlib import Path
        from opencode_memory.store.ledger import Decision, State
        from support.stores import open_store
        store = open_store(Path(sys.argv[1]))
        print("ready", flush=True)
        sys.stdin.readline()
        for number in range(100):
            decision = Decision(
                session="ses_1", message=f"msg_{number:02}", state=State.OFFERED, text=f"by {sys.argv[2]}"
            )
            print(store.ledger.decide(decision).text)
    """
    children = [processes.start(code, data_dir, name) for name in ("a", "b")]
    ready = [child.stdout.readline() for child in children if child.stdout is not None]
    # Both are told before either is listened to.
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    said = [child.communicate()[0].splitlines() for child in children]
    assert ready == ["ready\n"] * 2
    assert [child.returncode for child in children] == [0, 0]
    decided = [decision.text for decision in store.ledger.decisions("ses_1")]
    assert len(decided) == 100
    assert said == [decided, decided]
