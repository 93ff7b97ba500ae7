"""Learner with a real store: processing, forks, restarts, concurrent readers and crashes."""

from __future__ import annotations

import itertools
import signal
import subprocess
import threading
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencode_memory import MemoryStore
from opencode_memory.errors import ConflictError
from opencode_memory.learning.extraction.events import Event, Message, ToolCall
from opencode_memory.models import Category, Trust
from support import processes, stores
from support.learning import (
    LEDGER,
    OTHER,
    RUFF,
    SHOP,
    agent,
    bash,
    edit,
    fail,
    interleave,
    learn,
    list_all,
    list_learned,
    message,
    messages,
    process,
    refuse,
    user,
)

# One message for each kind of event; tests use any of them in any order.
HAPPENINGS: list[Event] = [
    user(LEDGER),
    user("scratch that"),
    user("Go on, please."),
    user(RUFF),
    agent("1. Use Redis for the cache\n2. Use Memcached for the cache\nWhich one?"),
    user("2"),
    fail("pytest"),
    edit(),
    bash("pytest"),
    bash("make check"),
    refuse("use pnpm, not npm"),
    ToolCall(tool="memory_recall", input={}, output=RUFF),
]


sessions = st.lists(st.sampled_from(HAPPENINGS), max_size=10)


@settings(max_examples=25)
@given(first=sessions, second=sessions, order=st.lists(st.integers(0, 1), max_size=20))
def test_interleaved_sessions_give_the_same_as_separate_ones(tmp_path_factory, first, second, order):
    told = (messages(*first, of="a"), messages(*second, of="b"))
    infos, projects = (SHOP, OTHER), ("one", "two")
    with (
        stores.open_store(tmp_path_factory.mktemp("alone")) as alone,
        stores.open_store(tmp_path_factory.mktemp("mixed")) as mixed,
    ):
        for number in (0, 1):
            process(alone, infos[number], told[number], project=projects[number])
        for number, one in interleave(told, order):
            process(mixed, infos[number], [one], project=projects[number], is_idle=False)
        for number in (0, 1):
            process(mixed, infos[number], [], project=projects[number])

        for project in projects:
            assert list_all(mixed, project) == list_all(alone, project)


@settings(max_examples=25)
@given(happened=sessions, cuts=st.lists(st.integers(0, 10), max_size=4))
def test_batch_boundaries_do_not_change_the_result(tmp_path_factory, happened, cuts):
    told = messages(*happened)
    borders = [0, *sorted(cut for cut in cuts if cut < len(told)), len(told)]
    with (
        stores.open_store(tmp_path_factory.mktemp("whole")) as whole,
        stores.open_store(tmp_path_factory.mktemp("pieces")) as pieces,
    ):
        process(whole, SHOP, told)
        for start, stop in itertools.pairwise(borders):
            process(pieces, SHOP, told[start:stop], is_idle=False)
        process(pieces, SHOP, [])

        assert list_all(pieces) == list_all(whole)


def test_statement_solution_and_procedure_are_learned_with_their_source(store):
    learn(store, user(LEDGER), fail("pytest"), edit(), bash("pytest"), *[bash("make check")] * 3)

    found = {one.category: one for one in store.list(limit=50)}
    assert found[Category.DECISION].content == LEDGER
    assert found[Category.DECISION].trust is Trust.USER
    assert found[Category.DECISION].verified_at is None
    assert found[Category.SOLUTION].trust is Trust.EXTRACTED
    assert found[Category.DECISION].source.session == "ses_a"
    assert found[Category.DECISION].source.message == "msg_ses_a_0000"
    assert "PostgreSQL" in str(found[Category.DECISION].metadata["evidence"])
    assert found[Category.DECISION].metadata["rule"]
    assert 0 < found[Category.DECISION].confidence <= 1
    assert "ValueError: boom" in found[Category.SOLUTION].content
    assert "`make check`" in found[Category.PROCEDURE].content
    assert found[Category.CONVERSATION].topic == "session:ses_a"


def test_repeated_message_is_processed_once(store):
    told = messages(user(LEDGER), bash("make check"), fail("pytest"))

    first = process(store, SHOP, told)
    again = [process(store, SHOP, part) for part in (told, told[:1], [*reversed(told)], told[1:] + told[:1])]

    assert first.messages == 3
    assert [one.messages for one in again] == [0, 0, 0, 0]
    assert list_learned(store) == [LEDGER]


def test_duplicate_message_in_a_batch_is_processed_once(store):
    one = message("1", bash("make check"))

    assert process(store, SHOP, [one, one, one]).messages == 1
    assert list_learned(store) == []


def test_message_is_processed_once_across_a_restart(open_store):
    told = messages(user(LEDGER), *[bash("make check")] * 2)
    before = open_store()
    process(before, SHOP, told, is_idle=False)
    before.close()

    after = open_store()
    assert process(after, SHOP, told).messages == 0
    assert list_learned(after) == [LEDGER]


def test_session_state_survives_a_restart(open_store):
    before = open_store()
    process(before, SHOP, messages(fail("pytest"), edit()), is_idle=False)
    before.close()

    after = open_store()
    process(after, SHOP, messages(bash("pytest"), of="later"))
    assert any("boom" in text for text in list_learned(after))


def test_same_text_in_another_message_counts_as_a_repetition(store):
    process(store, SHOP, [message("1", bash("make check"), digest="x")])
    process(store, OTHER, [message("2", bash("make check"), digest="y")])

    assert list_learned(store) == ["`make check`"]


@pytest.mark.parametrize(
    "page",
    [1, 2, 3, 200],
)
def test_fork_does_not_count_as_a_repetition(store, page):
    told = messages(user("Check it."), bash("make check"), user("Go on, please."), agent("done"))
    copied = [Message(id=f"copy_{one.id}", at_ms=one.at_ms, events=one.events, digest=one.digest) for one in told]
    process(store, SHOP, told)
    before = list_all(store)

    for start in range(0, len(copied), page):
        process(store, OTHER, copied[start : start + page], is_idle=False)
    process(store, OTHER, [])

    assert list_all(store) == before


def test_fork_inherits_the_open_state_of_its_parent(store):
    told = messages(fail("pytest"), edit())
    process(store, SHOP, told)
    copied = [Message(id=f"copy_{one.id}", at_ms=one.at_ms, events=one.events, digest=one.digest) for one in told]

    process(store, OTHER, [*copied, message("new", bash("pytest"))])

    assert any("boom" in text for text in list_learned(store))


def test_original_and_fork_read_concurrently_count_once(store, monkeypatch):
    told = messages(*[bash("make check")])
    copied = [Message(id=f"copy_{one.id}", at_ms=one.at_ms, events=one.events, digest=one.digest) for one in told]
    between(store, monkeypatch, lambda: process(store, OTHER, copied))

    process(store, SHOP, told)

    # In two sessions this command would be a procedure.
    learn(store, user("hello"), of="ses_c")
    assert list_learned(store) == []
    assert store.learning.seen_elsewhere("app", [seen_as_of("make check")], "ses_x") == [1]


def seen_as_of(command: str) -> str:
    from support.learning import find_candidates

    (one,) = [one for one in find_candidates(bash(command)) if one.category is Category.PROCEDURE]
    return str(one.normal_form)


def between(store: MemoryStore, monkeypatch: pytest.MonkeyPatch, happens: Callable[[], Any]) -> None:
    """Run a callback once, after the learner has read and before it writes."""
    learning = store.learning
    write, left = learning.write, [happens]

    def write_late(batch: Any) -> Any:
        if left:
            left.pop()()
        return write(batch)

    monkeypatch.setattr(type(learning), "write", lambda self, batch: write_late(batch))


def test_loser_of_a_race_retries_without_duplicates(store, monkeypatch):
    told = messages(user(LEDGER), bash("make check"), bash("make check"))
    rivals: list[Any] = []
    between(store, monkeypatch, lambda: rivals.append(process(store, SHOP, told[:2], is_idle=False)))

    late = process(store, SHOP, told)

    assert rivals[0].messages == 2
    assert late.messages == 1
    assert list_learned(store) == [LEDGER]


def test_losing_batch_writes_no_part(store):
    from opencode_memory.models import NewMemory
    from opencode_memory.store.learning_state import Batch

    process(store, SHOP, messages(user("hello")))

    with pytest.raises(ConflictError):
        store.learning.write(
            Batch(session=SHOP.id, version=0, state="{}", processed=["x"], memories=[NewMemory(content="half")])
        )

    assert store.learning.are_processed(["x"]) == [False]
    assert list_learned(store) == []


def test_two_threads_process_each_message_once(open_store):
    told = messages(*[bash(f"make part{number}") for number in range(30)], user(LEDGER), *[bash("make all")] * 2)
    counts: list[int] = []
    own = [open_store(), open_store()]
    start = threading.Barrier(2)

    def read(store: MemoryStore) -> None:
        start.wait()
        counts.extend(
            process(store, SHOP, told[: number + 3], is_idle=False).messages for number in range(0, len(told), 3)
        )

    threads = [threading.Thread(target=read, args=(one,)) for one in own]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    process(own[0], SHOP, [])

    assert sum(counts) == len(told)
    assert list_learned(own[0]) == [LEDGER]


READER = """
    import sys
    from support import stores
    from support.learning import LEDGER, SESSION, bash, messages, user
    from opencode_memory.learning.learner import Learner

    told = messages(*[bash(f"make part{number}") for number in range(20)], user(LEDGER), *[bash("make all")] * 2)
    counted = 0
    with stores.open_store(sys.argv[1]) as store:
        print("ready", flush=True)
        sys.stdin.readline()
        for number in range(0, len(told), 2):
            taken = Learner(store).process(SESSION, told[: number + 2], project="app", at_ms=stores.NOW_MS)
            counted += taken.messages
    print(counted)
"""


def test_two_processes_process_each_message_once(open_store, data_dir):
    open_store().close()
    readers = [processes.start(READER, data_dir) for _ in range(2)]
    for reader in readers:
        assert reader.stdout.readline() == "ready\n"
    for reader in readers:
        reader.stdin.write("go\n")
        reader.stdin.flush()
    said = [reader.communicate()[0] for reader in readers]

    store = open_store()
    process(store, SHOP, [])
    assert sum(map(int, said)) == 23
    assert list_learned(store) == [LEDGER]


KILLED = """
    import os, signal, sys
    from support import stores
    from support.learning import LEDGER, SESSION, bash, messages, user
    from opencode_memory.learning.learner import Learner
    from opencode_memory.store.learning_state import LearningState

    write = LearningState.write

    def die(self, batch):
        if sys.argv[2] == "after":
            write(self, batch)
        os.kill(os.getpid(), signal.SIGKILL)

    LearningState.write = die
    with stores.open_store(sys.argv[1]) as store:
        told = messages(user(LEDGER), *[bash("make check")] * 2)
        Learner(store).process(SESSION, told, project="app", at_ms=stores.NOW_MS, is_idle=True)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
@pytest.mark.parametrize("when", ["before", "after"])
def test_killed_reader_leaves_a_whole_batch_or_none(open_store, data_dir, when):
    open_store(project="app").close()
    ended: subprocess.CompletedProcess[str] = processes.run(KILLED, data_dir, when)
    assert ended.returncode == -signal.SIGKILL

    store = open_store()
    assert list_learned(store) == ([LEDGER] if when == "after" else [])
    told = messages(user(LEDGER), *[bash("make check")] * 2)
    assert process(store, SHOP, told).messages == (0 if when == "after" else 3)
    assert list_learned(store) == [LEDGER]
