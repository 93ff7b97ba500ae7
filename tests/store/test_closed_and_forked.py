"""A store that was closed, or whose process forked, refuses every use with a clear error (I1, I2)."""

from __future__ import annotations

import io
import os
import signal
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from opencode_memory import ClosedError, MemoryStore, ProjectIdentity
from opencode_memory.exchange import export_memories
from opencode_memory.models import HistoryEntry, Trust, Turn
from opencode_memory.store.embedding_queue import embedding_turn
from opencode_memory.store.jobs import Job, Jobs
from opencode_memory.store.learning_state import Batch, LearningState, Progress
from opencode_memory.store.ledger import Decision, Ledger, Outcome, State
from opencode_memory.store.selection import select
from support import processes
from support.embedders import HookedEmbedder
from support.stores import open_store, recalled, texts

PRELUDE = """
    import sys
    from support.stores import *
    data_dir, arguments = Path(sys.argv[1]), sys.argv[2:]
"""
_NOW = datetime(2026, 9, 21, tzinfo=UTC)
_JOB = Job(
    id=1,
    kind="embed",
    subject="",
    payload={},
    attempts=1,
    run_at=_NOW,
    lease_until=_NOW,
    worker="w",
    dead_at=None,
    error=None,
    created_at=_NOW,
)
_TURN = Turn(
    database="/agent.db",
    session="ses",
    message="msg",
    project=None,
    speaker="user",
    time=datetime(2026, 3, 1, tzinfo=UTC),
    position=0,
    digest=b"",
)


class _NoTexts:
    """Reads no text of any turn."""

    def read(self, turns: Sequence[Turn]) -> list[Turn | None]:
        return [None for _ in turns]


def _recall_turns(store: MemoryStore, _: str) -> object:
    store.turns.texts = _NoTexts()
    return store.turns.recall("x", select(default=None, zone=None), limit=1)


_CHANGES = (
    HistoryEntry(
        operation=1,
        id="x",
        at=_NOW,
        kind="edit",
        actor=Trust.USER,
        undone=True,
        before=None,
        after=None,
    ),
)

_USES: dict[str, Callable[[MemoryStore, str], object]] = {
    "remember": lambda store, id: store.remember("x"),
    "search": lambda store, id: store.search("x"),
    "remember_many": lambda store, id: store.remember_many([{"content": "x"}]),
    "edit": lambda store, id: store.edit(id, content="x"),
    "merge": lambda store, id: store.merge([id, id], "both"),
    "archive": lambda store, id: store.archive(id),
    "restore": lambda store, id: store.restore(id),
    "delete": lambda store, id: store.delete(id),
    "purge": lambda store, id: store.purge(id),
    "pin": lambda store, id: store.pin(id),
    "unpin": lambda store, id: store.unpin(id),
    "link": lambda store, id: store.link(id, id),
    "undo": lambda store, id: store.undo(),
    "recall": lambda store, id: store.recall("walrus"),
    "get": lambda store, id: store.get(id),
    "list_page": lambda store, id: store.list_page(limit=1),
    "list": lambda store, id: store.list(),
    "count": lambda store, id: store.count(),
    "check_place": lambda store, id: store.check_place(),
    "history": lambda store, id: store.history(id),
    "related": lambda store, id: store.related(id),
    "earlier": lambda store, id: store.earlier([id]),
    "later": lambda store, id: store.later([id]),
    "projects.names": lambda store, id: store.projects.names(),
    "projects.list": lambda store, id: store.projects.list(),
    "projects.resolve": lambda store, id: store.projects.resolve(ProjectIdentity(folder="/x")),
    "projects.name_for": lambda store, id: store.projects.name_for(ProjectIdentity(folder="/x")),
    "projects.needs_root_commits": lambda store, id: store.projects.needs_root_commits(ProjectIdentity(folder="/x")),
    "projects.rename": lambda store, id: store.projects.rename("app", "x"),
    "projects.merge": lambda store, id: store.projects.merge("app", "x"),
    "export_memories": lambda store, id: export_memories(store, io.StringIO()),
    "rows.dump": lambda store, id: list(store.rows.dump()),
    "rows.load": lambda store, id: store.rows.load("memory", [{"content": "x"}]),
    "indexes.spread": lambda store, id: store.indexes.spread("walrus", []),
    "indexes.vectors_of": lambda store, id: store.indexes.vectors_of([id]),
    "turns.add": lambda store, id: store.turns.add([]),
    "turns.drop": lambda store, id: store.turns.drop("/agent.db", ["ses"]),
    "turns.clear": lambda store, id: store.turns.clear(),
    "turns.progress": lambda store, id: store.turns.progress("/agent.db"),
    "turns.message_ids": lambda store, id: store.turns.message_ids("/agent.db", "ses"),
    "turns.counts": lambda store, id: store.turns.counts(),
    "turns.recall": _recall_turns,
    "turns.recall_with_memories": lambda store, id: store.turns.recall_with_memories(
        "x", select(default=None, zone=None), limit=1, explain=False, nearest=False
    ),
    "turns.around": lambda store, id: store.turns.around(_TURN, before=1, after=1),
    "turns.find": lambda store, id: store.turns.find("msg"),
    "turns.of_session": lambda store, id: store.turns.of_session("ses"),
    "reminders.set": lambda store, id: store.reminders.set(id, "2026-01-01"),
    "reminders.clear": lambda store, id: store.reminders.clear(id),
    "reminders.advance": lambda store, id: store.reminders.advance(id),
    "reminders.due": lambda store, id: store.reminders.due(),
    "reminders.planned": lambda store, id: store.reminders.planned(),
    "indexes.count_pending": lambda store, id: store.indexes.count_pending(),
    "indexes.finish": lambda store, id: store.indexes.finish(seconds=0),
    "indexes.mismatch": lambda store, id: store.indexes.mismatch(),
    "indexes.embed_pending": lambda store, id: store.indexes.embed_pending(),
    "indexes.embed_some": lambda store, id: store.indexes.embed_some(limit=1, on_failure=lambda key, error: None),
    "indexes.waits_for_vectors": lambda store, id: store.indexes.waits_for_vectors(),
    "indexes.link_new": lambda store, id: store.indexes.link_new(),
    "indexes.catch_up": lambda store, id: store.indexes.catch_up(),
    "indexes.reindex": lambda store, id: store.indexes.reindex(),
    "indexes.verify": lambda store, id: store.indexes.verify(),
    "indexes.repair": lambda store, id: store.indexes.repair(),
    "backups.create": lambda store, id: store.backups.create(),
    "backups.restore": lambda store, id: store.backups.restore(store.data_dir / "store.db"),
    "backups.list": lambda store, id: store.backups.list(),
    "backups.leftovers": lambda store, id: store.backups.leftovers(),
    "maintain": lambda store, id: store.maintain(),
    "stats": lambda store, id: store.stats(),
    "for_project": lambda store, id: store.for_project("app").list(),
    "acting_as": lambda store, id: store.acting_as("agent").list(),
    "in_one_operation": lambda store, id: store.in_one_operation().list(),
    "in_work_trees": lambda store, id: store.in_work_trees("app", ["/work/app"]).list(),
    "operations.archive_in_upkeep": lambda store, id: store.operations.archive_in_upkeep([id], "old"),
    "operations.list": lambda store, id: store.operations.list(),
    "operations.count_rest": lambda store, id: store.operations.count_rest(_CHANGES),
    "operations.undo": lambda store, id: store.operations.undo(1),
    "operations.preview_undo": lambda store, id: store.operations.preview_undo(id),
    "operations.redo": lambda store, id: store.operations.redo(1),
    "most_used": lambda store, id: store.most_used(since="2026-01-01"),
    "note_uses": lambda store, id: store.note_uses([id]),
    "links": lambda store, id: store.links(["similar"]),
    "links_to": lambda store, id: store.links_to([id], ["similar"]),
    "sessions.start": lambda store, id: store.sessions.start("s"),
    "sessions.heartbeat": lambda store, id: store.sessions.heartbeat("s"),
    "sessions.active": lambda store, id: store.sessions.active(),
    "sessions.claim": lambda store, id: store.sessions.claim("s", "!1"),
    "sessions.release": lambda store, id: store.sessions.release("s", "!1"),
    "sessions.end": lambda store, id: store.sessions.end("s"),
    "kv.set": lambda store, id: store.kv.set("k", 1),
    "kv.get": lambda store, id: store.kv.get("k"),
    "kv.entry": lambda store, id: store.kv.entry("k"),
    "kv.list": lambda store, id: store.kv.list(),
    "kv.delete": lambda store, id: store.kv.delete("k"),
    "jobs.enqueue": lambda store, id: store.jobs.enqueue("embed"),
    "jobs.claim": lambda store, id: store.jobs.claim("w"),
    "jobs.renew": lambda store, id: store.jobs.renew(_JOB),
    "jobs.done": lambda store, id: store.jobs.done(_JOB),
    "jobs.failed": lambda store, id: store.jobs.failed(_JOB, "x"),
    "jobs.drop": lambda store, id: store.jobs.drop(_JOB.id),
    "jobs.has": lambda store, id: store.jobs.has("embed"),
    "jobs.revive": lambda store, id: store.jobs.revive(),
    "jobs.revive_once": lambda store, id: store.jobs.revive_once(_JOB),
    "jobs.subjects": lambda store, id: store.jobs.subjects("task"),
    "jobs.list": lambda store, id: store.jobs.list(),
    "jobs.counts": lambda store, id: store.jobs.counts(),
    "jobs.next_at": lambda store, id: store.jobs.next_at(),
    "relocations.apply": lambda store, id: store.relocations.apply(None, []),
    "learning.open": lambda store, id: store.learning.open("s"),
    "learning.are_processed": lambda store, id: store.learning.are_processed(["m"]),
    "learning.seen_elsewhere": lambda store, id: store.learning.seen_elsewhere("app", ["x"], "s"),
    "learning.find_same_subject": lambda store, id: store.learning.find_same_subject("Use npm", "app"),
    "learning.find_from_messages": lambda store, id: store.learning.find_from_messages("ses_1", ["msg_1"]),
    "learning.progress": lambda store, id: store.learning.progress("f"),
    "learning.set_progress": lambda store, id: store.learning.set_progress("f", "s", Progress(mark="m", cursor=None)),
    "learning.write": lambda store, id: store.learning.write(Batch(session="s", version=0, state="{}")),
    "ledger.decide": lambda store, id: store.ledger.decide(Decision(session="s", message="m", state=State.NOTHING)),
    "ledger.settle": lambda store, id: store.ledger.settle("s", "m", State.SHOWN),
    "ledger.decisions": lambda store, id: store.ledger.decisions("s"),
    "ledger.sessions": lambda store, id: store.ledger.sessions(),
    "ledger.find_original": lambda store, id: store.ledger.find_original(project=None, created=[1]),
    "ledger.find": lambda store, id: store.ledger.find("s"),
    "ledger.note": lambda store, id: store.ledger.note("s", [id], Outcome.USED),
    "ledger.usefulness": lambda store, id: store.ledger.usefulness([id]),
}


def test_every_method_is_tried_on_a_closed_and_on_a_forked_store() -> None:
    from opencode_memory.store.backups import Backups
    from opencode_memory.store.indexes import Indexes
    from opencode_memory.store.kv import KeyValues
    from opencode_memory.store.operations import Operations
    from opencode_memory.store.projects import Projects
    from opencode_memory.store.relocations import Relocations
    from opencode_memory.store.reminders import Reminders
    from opencode_memory.store.rows import Rows
    from opencode_memory.store.sessions import Sessions
    from opencode_memory.store.turns import Turns

    parts = {"": MemoryStore, "kv.": KeyValues, "sessions.": Sessions, "jobs.": Jobs, "learning.": LearningState}
    parts |= {
        "ledger.": Ledger,
        "projects.": Projects,
        "indexes.": Indexes,
        "backups.": Backups,
        "rows.": Rows,
        "turns.": Turns,
        "reminders.": Reminders,
        "operations.": Operations,
        "relocations.": Relocations,
    }
    methods = {f"{part}{name}" for part, kind in parts.items() for name in vars(kind) if not name.startswith("_")}
    assert methods - _USES.keys() == {"close", "data_dir", "is_writable", "operation", "project", "zone"}


def _uses_that_are_not_refused(store: MemoryStore, id: str) -> list[str]:
    allowed = []
    for name, use in _USES.items():
        try:
            use(store, id)
        except ClosedError:
            continue
        except BaseException as error:  # noqa: BLE001  whatever it is, it is not what was promised
            allowed.append(f"{name} raised {error!r}")
        else:
            allowed.append(name)
    return allowed


def test_a_closed_store_refuses_every_use(open_store) -> None:
    store = open_store(project="app")
    id = store.remember("a walrus").id
    store.close()
    assert _uses_that_are_not_refused(store, id) == []


def _in_a_fork(work: Callable[[], Any]) -> str:
    """Run ``work`` in a forked child that ends like any program; returns what it gave, or how it failed."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            # A child that hangs is a failure, and must not outlive the test.
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(60)
            os.close(read_end)
            os.write(write_end, repr(work()).encode())
            status = 0
        except BaseException as error:  # noqa: BLE001  a child never goes on as a second test run
            os.write(write_end, f"raised {error!r}".encode())
            status = 1
        os._exit(status)
    os.close(write_end)
    with os.fdopen(read_end) as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    return said if status == 0 else f"{said} (status {status})"


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
@pytest.mark.parametrize("background", [False, True])
def test_forked_child_gets_an_error_and_the_parent_continues(open_store, background: bool) -> None:
    store = open_store(project="app", background=background)
    id = store.remember("a walrus").id
    store.recall("walrus")
    assert _in_a_fork(lambda: _uses_that_are_not_refused(store, id)) == "[]"

    def close_and_leave() -> str:
        store.close()
        with store:
            pass
        return "closed"

    assert _in_a_fork(close_and_leave) == "'closed'"
    assert recalled(store, "walrus") == ["a walrus"]
    store.remember("a heron")
    store.close()
    again = open_store(project="app")
    assert sorted(texts(again.list())) == ["a heron", "a walrus"]
    assert again.indexes.verify().ok


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_child_may_open_the_store_again(open_store, data_dir: Path) -> None:
    parent = open_store(project="app")
    parent.remember("of the parent")

    def child() -> list[str]:
        with _open(data_dir) as own:
            own.remember("of the child")
            return sorted(texts(own.list()))

    assert _in_a_fork(child) == "['of the child', 'of the parent']"
    assert sorted(texts(parent.list())) == ["of the child", "of the parent"]


def _open(data_dir: Path) -> MemoryStore:
    return open_store(data_dir, project="app")


def test_a_forked_program_ends_cleanly(data_dir: Path) -> None:
    done = processes.run(
        PRELUDE
        + """
    import os
    store = open_store(data_dir, project="app", background=True)
    store.remember("a walrus")
    child = os.fork()
    if child == 0:
        sys.exit()  # through every exit handler, with the store that belongs to the parent
    _, status = os.waitpid(child, 0)
    store.remember("a heron")
    print(status, len(store.list()))
    """,
        data_dir,
    )
    assert (done.returncode, done.stdout) == (0, "0 2\n"), done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_child_that_was_forked_during_embedding_does_not_keep_the_lock(open_store, data_dir: Path) -> None:
    children: list[int] = []
    read_end, write_end = os.pipe()

    def fork_a_child_that_stays(_batch: object) -> None:
        child = os.fork()
        if child == 0:
            os.close(write_end)
            os.read(read_end, 1)  # until the parent closes its end
            os._exit(0)
        children.append(child)

    store = open_store(embedder=HookedEmbedder(fork_a_child_that_stays))
    store.remember("a walrus")
    try:
        store.indexes.embed_pending()
        with embedding_turn(data_dir, give_up=lambda: True) as mine:
            assert mine
    finally:
        os.close(write_end)
        for child in children:
            os.waitpid(child, 0)
        os.close(read_end)
