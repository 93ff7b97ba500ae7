"""Learning from sessions into a real store: what counts, what it comes to, and who may say so."""

from __future__ import annotations

import itertools
import shutil
import signal
import sqlite3
import subprocess
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencode_memory import MemoryStore
from opencode_memory.cli.review import accept, list_waiting, reject
from opencode_memory.errors import ConflictError
from opencode_memory.hosts.opencode.feed.event_stream import LiveFeed
from opencode_memory.hosts.opencode.feed.history_reader import OpenCodeReading
from opencode_memory.learning.extraction.events import Event, Message, SessionInfo, ToolCall
from opencode_memory.learning.learner import Learner
from opencode_memory.learning.switches import Switches, pause, switch
from opencode_memory.models import Category, Status, Trust
from opencode_memory.projects.resolver import ProjectResolver
from support import processes, stores
from support.command_line import CommandLine
from support.learning import (
    BLOCKED,
    FOLDER,
    LEDGER,
    RUFF,
    SMALL,
    UNBLOCKED,
    agent,
    bash,
    edit,
    fails,
    interleaved,
    message,
    messages,
    refused,
    user,
)
from support.opencode import EVENTS, FIRST_ENGINE, FORKS, LONG_AFTER_MS, SECOND_ENGINE, FakeOpenCode
from support.stores import NOW_MS, files_holding, texts

SHOP = SessionInfo(id="ses_a", directory=FOLDER)
OTHER = SessionInfo(id="ses_b", directory=FOLDER)
TOKEN = "ghp_" + "a1B2c3D4e5F6" * 3


def learn(
    store: MemoryStore, *events: Event, of: str = "ses_a", project: str | None = "app", is_idle: bool = True
) -> Any:
    """Let a session happen in one stretch, with messages of its own."""
    info = SessionInfo(id=of, directory=FOLDER)
    return take(store, info, messages(*events, of=of), project=project, is_idle=is_idle)


def take(store: MemoryStore, info: SessionInfo, told: Sequence[Message], **options: Any) -> Any:
    return Learner(store).process(info, told, **({"project": "app", "at_ms": NOW_MS, "is_idle": True} | options))


def known(store: MemoryStore, *, status: str | list[str] = "active", project: str | None = "app") -> list[str]:
    """What was learned, without summaries of sessions, in the order of the alphabet."""
    listed = store.list(project=project, status=status, limit=1_000)
    return sorted(one.content for one in listed if one.category is not Category.CONVERSATION)


def everything(store: MemoryStore, project: str = "app") -> list[tuple[Any, ...]]:
    """All memories of a project, as far as two stores can agree about them."""
    listed = store.list(project=project, scope="project", status=[*Status], limit=1_000)
    return sorted(
        (one.content, one.category, one.status, one.topic or "", one.source.session or "", one.confidence or 0)
        for one in listed
    )


# A message for each kind of thing; any of them may be missing, and they come in any order.
HAPPENINGS: list[Event] = [
    user(LEDGER),
    user("scratch that"),
    user("Go on, please."),
    user(RUFF),
    agent("1. Use Redis for the cache\n2. Use Memcached for the cache\nWhich one?"),
    user("2"),
    fails("pytest"),
    edit(),
    bash("pytest"),
    bash("make check"),
    refused("use pnpm, not npm"),
    ToolCall(tool="memory_recall", input={}, output=RUFF),
]
sessions = st.lists(st.sampled_from(HAPPENINGS), max_size=10)


@settings(max_examples=25)
@given(first=sessions, second=sessions, order=st.lists(st.integers(0, 1), max_size=20))
def test_two_sessions_that_are_interleaved_give_what_each_alone_gives(tmp_path_factory, first, second, order):
    told = (messages(*first, of="a"), messages(*second, of="b"))
    infos, projects = (SHOP, OTHER), ("one", "two")
    with (
        stores.open_store(tmp_path_factory.mktemp("alone")) as alone,
        stores.open_store(tmp_path_factory.mktemp("mixed")) as mixed,
    ):
        for number in (0, 1):
            take(alone, infos[number], told[number], project=projects[number])
        for number, one in interleaved(told, order):
            take(mixed, infos[number], [one], project=projects[number], is_idle=False)
        for number in (0, 1):
            take(mixed, infos[number], [], project=projects[number])

        for project in projects:
            assert everything(mixed, project) == everything(alone, project)


@settings(max_examples=25)
@given(happened=sessions, cuts=st.lists(st.integers(0, 10), max_size=4))
def test_a_session_read_in_any_stretches_gives_what_it_gives_in_one(tmp_path_factory, happened, cuts):
    told = messages(*happened)
    borders = [0, *sorted(cut for cut in cuts if cut < len(told)), len(told)]
    with (
        stores.open_store(tmp_path_factory.mktemp("whole")) as whole,
        stores.open_store(tmp_path_factory.mktemp("pieces")) as pieces,
    ):
        take(whole, SHOP, told)
        for start, stop in itertools.pairwise(borders):
            take(pieces, SHOP, told[start:stop], is_idle=False)
        take(pieces, SHOP, [])

        assert everything(pieces) == everything(whole)


def test_a_statement_a_solution_and_a_procedure_are_learned_with_their_source(store):
    learn(store, user(LEDGER), fails("pytest"), edit(), bash("pytest"), *[bash("make check")] * 3)

    found = {one.category: one for one in store.list(limit=50)}
    assert found[Category.DECISION].content == LEDGER
    assert found[Category.DECISION].trust is Trust.EXTRACTED
    assert found[Category.DECISION].source.session == "ses_a"
    assert found[Category.DECISION].source.message == "msg_ses_a_0000"
    assert "PostgreSQL" in str(found[Category.DECISION].metadata["evidence"])
    assert found[Category.DECISION].metadata["rule"]
    assert 0 < found[Category.DECISION].confidence <= 1
    assert "ValueError: boom" in found[Category.SOLUTION].content
    assert "`make check`" in found[Category.PROCEDURE].content
    assert found[Category.CONVERSATION].topic == "session:ses_a"


def test_a_message_counts_once_however_often_it_is_brought(store):
    told = messages(user(LEDGER), bash("make check"), fails("pytest"))

    first = take(store, SHOP, told)
    again = [take(store, SHOP, part) for part in (told, told[:1], [*reversed(told)], told[1:] + told[:1])]

    assert first.messages == 3
    assert [one.messages for one in again] == [0, 0, 0, 0]
    assert known(store) == [LEDGER]


def test_a_message_that_is_twice_in_a_stretch_counts_once(store):
    one = message("1", bash("make check"))

    assert take(store, SHOP, [one, one, one]).messages == 1
    assert known(store) == []


def test_a_message_counts_once_after_a_restart(open_store):
    told = messages(user(LEDGER), *[bash("make check")] * 2)
    before = open_store()
    take(before, SHOP, told, is_idle=False)
    before.close()

    after = open_store()
    assert take(after, SHOP, told).messages == 0
    assert known(after) == [LEDGER]


def test_a_session_that_goes_on_after_a_restart_remembers_what_was_open(open_store):
    before = open_store()
    take(before, SHOP, messages(fails("pytest"), edit()), is_idle=False)
    before.close()

    after = open_store()
    take(after, SHOP, messages(bash("pytest"), of="later"))
    assert any("boom" in text for text in known(after))


def test_the_same_words_of_another_message_of_the_same_moment_are_said_again(store):
    take(store, SHOP, [message("1", bash("make check"), digest="x")])
    take(store, OTHER, [message("2", bash("make check"), digest="y")])

    assert known(store) == ["`make check`"]


@pytest.mark.parametrize(
    "page",
    [1, 2, 3, 200],
)
def test_a_fork_is_no_repetition(store, page):
    told = messages(user("Check it."), bash("make check"), user("Go on, please."), agent("done"))
    copied = [Message(id=f"copy_{one.id}", at_ms=one.at_ms, events=one.events, digest=one.digest) for one in told]
    take(store, SHOP, told)
    before = everything(store)

    for start in range(0, len(copied), page):
        take(store, OTHER, copied[start : start + page], is_idle=False)
    take(store, OTHER, [])

    assert everything(store) == before


def test_what_was_open_in_the_original_is_open_in_its_fork(store):
    told = messages(fails("pytest"), edit())
    take(store, SHOP, told)
    copied = [Message(id=f"copy_{one.id}", at_ms=one.at_ms, events=one.events, digest=one.digest) for one in told]

    take(store, OTHER, [*copied, message("new", bash("pytest"))])

    assert any("boom" in text for text in known(store))


def test_of_an_original_and_its_fork_read_at_once_only_one_counts(store, monkeypatch):
    told = messages(*[bash("make check")])
    copied = [Message(id=f"copy_{one.id}", at_ms=one.at_ms, events=one.events, digest=one.digest) for one in told]
    between(store, monkeypatch, lambda: take(store, OTHER, copied))

    take(store, SHOP, told)

    # Seen in two sessions it would be a procedure.
    learn(store, user("hello"), of="ses_c")
    assert known(store) == []
    assert store.learning.seen_elsewhere("app", [seen_as_of("make check")], "ses_x") == [1]


def seen_as_of(command: str) -> str:
    from support.learning import found

    (one,) = [one for one in found(bash(command)) if one.category is Category.PROCEDURE]
    return str(one.normal_form)


def between(store: MemoryStore, monkeypatch: pytest.MonkeyPatch, happens: Callable[[], Any]) -> None:
    """Let something happen once, after a learner has read and before it writes."""
    learning = store.learning
    write, left = learning.write, [happens]

    def write_late(batch: Any) -> Any:
        if left:
            left.pop()()
        return write(batch)

    monkeypatch.setattr(type(learning), "write", lambda self, batch: write_late(batch))


def test_who_lost_a_race_reads_again_and_doubles_nothing(store, monkeypatch):
    told = messages(user(LEDGER), bash("make check"), bash("make check"))
    rivals: list[Any] = []
    between(store, monkeypatch, lambda: rivals.append(take(store, SHOP, told[:2], is_idle=False)))

    late = take(store, SHOP, told)

    assert rivals[0].messages == 2
    assert late.messages == 1
    assert known(store) == [LEDGER]


def test_what_lost_a_race_has_written_nothing(store):
    from opencode_memory.models import NewMemory
    from opencode_memory.store.learning_state import Batch

    take(store, SHOP, messages(user("hello")))

    with pytest.raises(ConflictError):
        store.learning.write(
            Batch(session=SHOP.id, version=0, state="{}", processed=["x"], memories=[NewMemory(content="half")])
        )

    assert store.learning.are_processed(["x"]) == [False]
    assert known(store) == []


def test_two_threads_on_one_session_lose_nothing_and_double_nothing(open_store):
    told = messages(*[bash(f"make part{number}") for number in range(30)], user(LEDGER), *[bash("make all")] * 2)
    counts: list[int] = []
    own = [open_store(), open_store()]
    start = threading.Barrier(2)

    def read(store: MemoryStore) -> None:
        start.wait()
        counts.extend(
            take(store, SHOP, told[: number + 3], is_idle=False).messages for number in range(0, len(told), 3)
        )

    threads = [threading.Thread(target=read, args=(one,)) for one in own]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    take(own[0], SHOP, [])

    assert sum(counts) == len(told)
    assert known(own[0]) == [LEDGER]


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


def test_two_processes_on_one_session_lose_nothing_and_double_nothing(open_store, data_dir):
    open_store().close()
    readers = [processes.start(READER, data_dir) for _ in range(2)]
    for reader in readers:
        assert reader.stdout.readline() == "ready\n"
    for reader in readers:
        reader.stdin.write("go\n")
        reader.stdin.flush()
    said = [reader.communicate()[0] for reader in readers]

    store = open_store()
    take(store, SHOP, [])
    assert sum(map(int, said)) == 23
    assert known(store) == [LEDGER]


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
def test_a_reader_that_is_killed_leaves_all_of_it_or_nothing(open_store, data_dir, when):
    open_store(project="app").close()
    ended: subprocess.CompletedProcess[str] = processes.run(KILLED, data_dir, when)
    assert ended.returncode == -signal.SIGKILL

    store = open_store()
    assert known(store) == ([LEDGER] if when == "after" else [])
    told = messages(user(LEDGER), *[bash("make check")] * 2)
    assert take(store, SHOP, told).messages == (0 if when == "after" else 3)
    assert known(store) == [LEDGER]


def candidate(store: MemoryStore, text: str = "Sort imports by length.", of: str = "ses_a") -> Any:
    """Let something wait, found as the rules would."""
    from dataclasses import replace

    from support.learning import found

    (one,) = [one for one in found(refused("please show the plan of it")) if one.category is Category.PREFERENCE]
    return replace(one, content=text, confidence=0.5, normal_form=f"preference:{text}", topic=None)


@pytest.fixture
def unsure(monkeypatch) -> Callable[..., Any]:
    """Make every rule find one thing that is not sure, in any message of a person."""
    from opencode_memory.learning.extraction import session

    def extract_from_user(text: str, before: Any) -> tuple[Any, ...]:
        return (candidate(None, text),) if text.startswith("Sort") else ()

    monkeypatch.setattr(session, "extract_from_user", extract_from_user)
    return extract_from_user


SORT = "Sort imports by length."


def test_what_is_not_sure_waits_and_is_neither_recalled_nor_listed(store, unsure):
    learned = learn(store, user(SORT))

    assert learned.active == ()
    assert known(store) == []
    assert known(store, status="candidate") == [SORT]
    assert texts(store.recall("sort imports")) == []
    assert [one.content for one in list_waiting(store, everywhere=False)] == [SORT]


def test_what_waits_is_promoted_when_a_second_session_says_it(store, unsure):
    (first,) = learn(store, user(SORT)).waiting
    learned = learn(store, user(SORT), of="ses_b")

    assert learned.active == (first,)
    assert known(store) == [SORT]
    assert known(store, status="candidate") == []


def test_what_waits_is_not_promoted_by_the_same_session_nor_by_another_project(store, unsure):
    learn(store, user(SORT))
    learn(store, user("Go on."), user(SORT))
    learn(store, user(SORT), of="ses_b", project="else")

    assert known(store) == []
    assert known(store, project="else") == []


def test_a_command_seen_in_a_second_session_is_a_procedure(store):
    learn(store, bash("make check"))
    assert known(store, status=["active", "candidate"]) == []

    learn(store, bash("make check"), of="ses_b")
    assert known(store) == ["`make check`"]


def test_what_is_accepted_is_active_and_confirmed(store, unsure):
    (id_,) = learn(store, user(SORT)).waiting

    accepted = accept(store, store.get(id_))

    assert accepted.status is Status.ACTIVE
    assert accepted.verified_at is not None
    assert list(list_waiting(store, everywhere=False)) == []


def test_what_was_accepted_as_edited_keeps_the_words_of_the_person(store, unsure):
    (id_,) = learn(store, user(SORT)).waiting
    accept(store, store.get(id_), "Imports are sorted by length, with isort.")

    learn(store, user(SORT), of="ses_b")

    assert store.get(id_).content == "Imports are sorted by length, with isort."


def test_what_was_accepted_as_edited_does_not_come_back_in_its_old_words(store, unsure):
    (id_,) = learn(store, user(SORT)).waiting
    accept(store, store.get(id_), "Imports are sorted by length, with isort.")

    learn(store, user(SORT), of="ses_b")

    assert known(store, status=["active", "candidate"]) == ["Imports are sorted by length, with isort."]


def test_what_was_rejected_does_not_come_back(store, unsure):
    (id_,) = learn(store, user(SORT)).waiting
    reject(store, store.get(id_))

    for number in range(3):
        learn(store, user(SORT), of=f"ses_{number}")

    assert known(store, status=["active", "candidate"]) == []
    assert store.get(id_).status is Status.ARCHIVED


@pytest.mark.parametrize(
    "again", [[bash("make check")] * 3, [bash("make check", description="Runs every check")] * 3], ids=["same", "told"]
)
def test_a_procedure_that_was_rejected_does_not_come_back(store, again):
    (id_,) = learn(store, *[bash("make check")] * 3).active[:1]
    reject(store, store.get(id_))

    learn(store, *again, of="ses_b")

    assert known(store, status=["active", "candidate"]) == []


def test_a_solution_that_was_rejected_does_not_come_back_with_another_file(store):
    learned = learn(store, fails("pytest"), edit("src/a.py"), bash("pytest"))
    (one,) = [store.get(id_) for id_ in learned.active if store.get(id_).category is Category.SOLUTION]
    reject(store, one)

    learn(store, fails("pytest"), edit("src/b.py"), bash("pytest"), of="ses_b")

    found = [one for one in store.list(status=["active", "candidate"]) if one.category is Category.SOLUTION]
    assert found == []


def test_a_procedure_that_a_person_edited_keeps_their_words(store):
    (id_, *_) = [
        one for one in learn(store, *[bash("make check")] * 3).active if store.get(one).category is Category.PROCEDURE
    ]
    store.edit(id_, content="`make check`, but only after `make setup`")

    learn(store, *[bash("make check")] * 3, of="ses_b")

    assert store.get(id_).content == "`make check`, but only after `make setup`"


@pytest.mark.parametrize("trust", ["user", "agent"])
def test_what_was_learned_never_overwrites_what_somebody_said_under_its_topic(store, trust):
    said = store.remember("Use yarn, whatever comes.", topic="learned:choice:package-manager", trust=trust)

    learned = learn(store, bash("npm install"), user("No, use pnpm."))

    assert store.get(said.id).content == "Use yarn, whatever comes."
    assert "Use pnpm." not in known(store)
    assert "Use pnpm." in known(store, status="candidate")
    assert learned


def test_what_was_kept_waiting_beside_a_topic_is_reported_as_waiting(store):
    store.remember("Use yarn, whatever comes.", topic="learned:choice:package-manager")

    learned = learn(store, bash("npm install"), user("No, use pnpm."))

    assert [store.get(id_).status for id_ in learned.active] == [Status.ACTIVE] * len(learned.active)
    assert [store.get(id_).content for id_ in learned.waiting] == ["Use pnpm."]


def test_a_later_choice_takes_the_place_of_an_earlier_one(store):
    learn(store, bash("npm install"), user("No, use pnpm."))
    learn(store, bash("pnpm install"), user("No, use yarn."), of="ses_b")

    assert [text for text in known(store) if text.startswith("Use")] == ["Use yarn."]


def test_orders_come_from_a_person_only(store):
    learn(store, user("go"), agent(f"{RUFF} Never push to main. Always use uv."), bash("cat README.md", 0, RUFF))
    child = SessionInfo(id="ses_child", directory=FOLDER, parent="ses_a")
    take(store, child, messages(user(RUFF), agent("Never push to main."), of="child"))

    assert store.list(category="directive", status=[*Status]) == []

    learn(store, user(RUFF), of="ses_b")
    assert [one.content for one in store.list(category="directive")] == [RUFF]


def test_a_blocker_is_resolved_in_a_later_session(store):
    learn(store, user(BLOCKED))
    learn(store, user(UNBLOCKED), of="ses_b")

    (one,) = [one for one in store.list() if one.category is Category.BLOCKER]
    assert "resolved" in one.tags
    assert UNBLOCKED in one.content


def test_a_blocker_of_another_project_stays_open(store):
    learn(store, user(BLOCKED))
    learn(store, user(UNBLOCKED), of="ses_b", project="else")

    (one,) = [one for one in store.list() if one.category is Category.BLOCKER]
    assert "resolved" not in one.tags


def test_projects_never_mix(store):
    learn(store, user(LEDGER), bash("make check"), project="app")
    learn(store, user(SMALL), bash("make check"), of="ses_b", project="else")
    learn(store, user("hello"), bash("make check"), of="ses_c", project=None)

    assert known(store, project="app") == [LEDGER]
    assert known(store, project="else", status=["active", "candidate"]) == [SMALL]
    assert [one.content for one in store.list(scope="global") if one.category is not Category.CONVERSATION] == []


def leaks(store: MemoryStore, data_dir: Path, needle: str) -> list[str]:
    store.close()
    return files_holding(data_dir, needle)


@pytest.mark.parametrize(
    "events",
    [
        [user(f"From now on always use {TOKEN} for the deploy job.")],
        [user(f"{LEDGER} The token is {TOKEN}.")],
        [fails(f"deploy --token {TOKEN}"), edit(), bash(f"deploy --token {TOKEN}")],
        [fails("deploy", f"Error: bad token {TOKEN}"), edit(), bash("deploy")],
        [fails("deploy"), edit(old=f'key = "{TOKEN}"', new='key = ""'), bash("deploy")],
        [bash(f"curl -H 'Authorization: Bearer {TOKEN}' https://example.org")] * 3,
        [bash("make", description=f"Uses {TOKEN}")] * 3,
        [refused(f"never use {TOKEN} here, use the other one")],
        [agent(f"1. Use {TOKEN}\n2. Use another\nWhich?"), user("1")],
        [user("go"), ToolCall(tool="edit", input={"filePath": f"/home/ann/shop/{TOKEN}.py"})],
        [user("go"), agent(f"It turns out that {TOKEN} is the token of the release bot.")],
    ],
)
@pytest.mark.parametrize("is_idle", [True, False])
def test_a_secret_is_written_nowhere(store, data_dir, events, is_idle):
    learn(store, *events, is_idle=is_idle)

    assert leaks(store, data_dir, TOKEN) == []


@pytest.mark.parametrize(
    "events",
    [
        [user("go"), agent(TOKEN + " " + "w" * 1_463), bash("make")],
        [user("go"), bash(f"make {'x' * 380} {TOKEN}")],
        [fails("deploy"), edit(old=f'client.authenticate_the_release_bot("{TOKEN}")', new="pass"), bash("deploy")],
    ],
    ids=["the end of what the agent said", "a long command", "a changed line"],
)
def test_a_secret_that_is_cut_is_not_written_in_part(store, data_dir, events):
    learn(store, *events, is_idle=False)

    assert leaks(store, data_dir, TOKEN[8:30]) == []
    assert files_holding(data_dir, TOKEN[-22:]) == []


def test_a_key_of_many_lines_is_not_written_in_part(store, data_dir):
    body = "\n".join(f"MIIEpAIBAAKCAQEA{number:02}" + "q7Zx" * 11 for number in range(20))
    key = f"-----BEGIN RSA PRIVATE KEY-----\n{body}\n-----END RSA PRIVATE KEY-----"

    learn(store, user(f"Deploy with this key:\n{key}"), bash("make deploy"), edit())

    assert leaks(store, data_dir, "MIIEpAIBAAKCAQEA") == []


@pytest.mark.parametrize(
    "text", [f"{LEDGER}\x1b[0m", "x\x1b[31m red", "ﬀ\u202e\ufeff" + LEDGER, "\ud7ff\U0010ffff\x7f"]
)
def test_strange_characters_do_not_stop_a_session(store, text):
    learn(store, user(text), fails(f"make {text}", text), edit(text, text, text), bash(f"make {text}"))

    assert learn(store, user("Go on."), of="ses_a").messages == 0
    assert take(store, SHOP, [message("later", user("Go on."))]).messages == 1


def test_a_very_long_session_with_failures_is_not_refused_by_the_store(store):
    told = messages(
        *[fails(f"runner{number} go") for number in range(12)],
        *[edit(f"src/some/folder/module_{number}.py") for number in range(1_500)],
    )

    assert take(store, SHOP, told).messages == len(told)


# The feeds: OpenCode's database, and what its bus says.


def reading(store: MemoryStore, path: Path, **options: Any) -> OpenCodeReading:
    defaults: dict[str, Any] = {"projects": ProjectResolver(store, {}), "switches": Switches(), "rest_ms": 0}
    return OpenCodeReading(store, path, **(defaults | options))


@pytest.fixture
def opencode(tmp_path):
    with FakeOpenCode(tmp_path / "opencode.db") as fake:
        yield fake


def told_to(fake: FakeOpenCode, session: str, *texts_of_user: str, at: int = 1_000) -> None:
    for number, text in enumerate(texts_of_user):
        fake.user(session, f"msg_{session}_{at + 2 * number:08}", text, at=at + 2 * number)
        fake.agent(session, f"msg_{session}_{at + 2 * number + 1:08}", "Done.", at=at + 2 * number + 1)


def project_of(store: MemoryStore) -> str:
    return ProjectResolver(store, {}).of_session(FOLDER) or ""


def all_known(store: MemoryStore) -> list[str]:
    listed = store.list(project="*", limit=1_000)
    return sorted(one.content for one in listed if one.category is not Category.CONVERSATION)


@pytest.mark.parametrize("page", [1, 2, 3, 7, 200])
@pytest.mark.parametrize("database", [FIRST_ENGINE, SECOND_ENGINE], ids=lambda path: path.stem)
def test_pages_of_any_size_come_to_the_same(open_store, tmp_path, monkeypatch, database, page):
    same_by_pages(open_store, tmp_path, monkeypatch, database, page)


@pytest.mark.parametrize("page", [1, 2, 3, 7, 200])
def test_pages_of_any_size_come_to_the_same_with_forks(open_store, tmp_path, monkeypatch, page):
    same_by_pages(open_store, tmp_path, monkeypatch, FORKS, page)


def same_by_pages(open_store, tmp_path, monkeypatch, database, page):
    from opencode_memory.hosts.opencode.feed import history_reader as module

    whole, pieces = open_store(tmp_path / "whole"), open_store(tmp_path / "pieces")
    expected = reading(whole, database).read(at_ms=LONG_AFTER_MS)
    monkeypatch.setattr(module, "_PAGE", page)
    found = reading(pieces, database).read(at_ms=LONG_AFTER_MS)

    assert found.messages == expected.messages > 0
    assert everything(pieces, project="*") == everything(whole, project="*")


def test_a_second_reading_learns_nothing(open_store, tmp_path):
    path = Path(shutil.copyfile(FORKS, tmp_path / "forks.db"))
    store = open_store()
    first = reading(store, path).read(at_ms=LONG_AFTER_MS)
    before = everything(store, project="*")

    again = reading(store, path).read(at_ms=LONG_AFTER_MS)

    assert first.messages > 0
    assert (again.sessions, again.messages, again.active, again.waiting) == (0, 0, (), ())
    assert everything(store, project="*") == before


def test_a_copy_of_the_database_at_another_place_teaches_nothing_new(open_store, tmp_path):
    store = open_store()
    reading(store, Path(shutil.copyfile(FORKS, tmp_path / "one.db"))).read(at_ms=LONG_AFTER_MS)
    before = everything(store, project="*")

    again = reading(store, Path(shutil.copyfile(FORKS, tmp_path / "two.db"))).read(at_ms=LONG_AFTER_MS)

    assert again.messages == 0
    assert everything(store, project="*") == before


def test_the_live_feed_and_the_database_together_count_each_message_once(open_store):
    import json

    store = open_store()
    feed, live = LiveFeed(), 0
    lines = [json.loads(line) for line in EVENTS.read_text(encoding="utf-8").splitlines()]
    for line in lines:
        for batch in feed.take({"directory": FOLDER, "events": [line]}):
            info = batch.session
            project = ProjectResolver(store, {}).of_session(info.directory)
            live += take(store, info, batch.messages, project=project, is_idle=False).messages
    read = reading(store, FORKS).read(at_ms=LONG_AFTER_MS)

    alone = open_store(store.data_dir.parent / "alone")
    expected = reading(alone, FORKS).read(at_ms=LONG_AFTER_MS)
    assert live > 0
    assert live + read.messages == expected.messages


@pytest.mark.parametrize(
    "text",
    [f"{LEDGER}\x00", f"\x00{RUFF}", f"\ud800{RUFF}", "\udfff"],
)
def test_what_is_no_text_to_a_store_does_not_stop_a_session(store, opencode, text):
    told_to(opencode, opencode.session("ses_1"), text, "Go on.")

    assert reading(store, opencode.path).read(at_ms=LONG_AFTER_MS).messages == 4


def test_messages_added_to_an_old_session_are_learned(store, opencode):
    told_to(opencode, opencode.session("ses_1"), "Hello there.")
    reading(store, opencode.path).read(at_ms=LONG_AFTER_MS)

    told_to(opencode, "ses_1", LEDGER, at=5_000)
    reading(store, opencode.path).read(at_ms=LONG_AFTER_MS)

    assert all_known(store) == [LEDGER]


def test_of_a_project_that_is_off_nothing_is_learned_then_or_later(store, opencode):
    project = project_of(store)
    switch(store, project, on=False)
    told_to(opencode, opencode.session("ses_1"), LEDGER)
    reading(store, opencode.path).read(at_ms=LONG_AFTER_MS)
    assert all_known(store) == []

    switch(store, project, on=True)
    told_to(opencode, "ses_1", RUFF, at=5_000)
    reading(store, opencode.path).read(at_ms=LONG_AFTER_MS)

    assert all_known(store) == [RUFF]


def test_of_a_project_that_the_configuration_skips_nothing_is_learned_then_or_later(store, opencode):
    skips = Switches(skip_projects=[project_of(store)])
    told_to(opencode, opencode.session("ses_1"), LEDGER)

    reading(store, opencode.path, switches=skips).read(at_ms=LONG_AFTER_MS)
    reading(store, opencode.path).read(at_ms=LONG_AFTER_MS)

    assert all_known(store) == []


def test_of_a_paused_session_nothing_is_learned_and_of_others_everything(store, opencode):
    told_to(opencode, opencode.session("ses_1"), LEDGER)
    told_to(opencode, opencode.session("ses_2"), RUFF)
    pause(store, "ses_1", paused=True)
    reading(store, opencode.path).read(at_ms=LONG_AFTER_MS)
    assert all_known(store) == [RUFF]

    pause(store, "ses_1", paused=False)
    told_to(opencode, "ses_1", SMALL, at=5_000)
    reading(store, opencode.path).read(at_ms=LONG_AFTER_MS)
    assert LEDGER not in [one.content for one in store.list(project="*", status=[*Status])]


def test_what_was_said_to_the_subagents_of_a_paused_session_is_not_learned(store, opencode):
    opencode.session("ses_1")
    opencode.session("ses_child", parent="ses_1")
    told_to(opencode, "ses_1", "Do it.")
    told_to(opencode, "ses_child", "Do it.")
    for number in range(3):
        state = {
            "status": "completed",
            "input": {"command": "make secret-launch"},
            "output": "",
            "metadata": {"exit": 0},
            "time": {"start": 1, "end": 2},
        }
        opencode.message(
            "ses_child",
            f"msg_x{number}",
            {
                "role": "assistant",
                "mode": "build",
                "finish": "stop",
                "time": {"created": 6_000 + number, "completed": 6_001},
            },
            [
                {"type": "tool", "tool": "bash", "callID": f"c{number}", "state": state},
                {"type": "step-finish", "reason": "stop"},
            ],
            at=6_000 + number,
        )
    pause(store, "ses_1", paused=True)

    reading(store, opencode.path).read(at_ms=LONG_AFTER_MS)

    assert all_known(store) == []


@pytest.mark.parametrize(
    "switches", [Switches(enabled=False), Switches(sources=frozenset({"live", "markdown"}))], ids=["all", "source"]
)
def test_what_is_off_is_not_read(switches):
    assert not switches.is_enabled("opencode")


@pytest.mark.parametrize(
    ("given", "is_read"),
    [
        ({}, True),
        ({"learning.enabled": "false"}, False),
        ({"learning.sources": "live"}, False),
        ({"learning.sources": "opencode,live"}, True),
    ],
)
def test_the_worker_has_no_duty_to_read_what_is_off(store, tmp_path, given, is_read):
    from opencode_memory.config.load import load
    from opencode_memory.worker.learning_duties import LearningDuties

    loaded = load(environment={"HOME": str(tmp_path)}, options=given)

    assert ("opencode" in [duty.kind for duty in LearningDuties(store, loaded).duties()]) is is_read


# The command line.


@pytest.mark.parametrize("database", [FIRST_ENGINE, SECOND_ENGINE, FORKS], ids=lambda path: path.stem)
def test_ingest_opencode_learns_and_a_second_run_learns_nothing(cli: CommandLine, tmp_path, database):
    path = str(shutil.copyfile(database, tmp_path / "opencode.db"))

    first = cli.ok("ingest", "opencode", "--db", path, "--json").json
    again = cli.ok("ingest", "opencode", "--db", path, "--json").json

    assert first["messages"] > 0
    assert first["active"]
    assert (again["sessions"], again["messages"], again["active"], again["waiting"]) == (0, 0, [], [])


def test_ingest_opencode_leaves_the_database_as_it_is(cli: CommandLine, tmp_path):
    path = Path(shutil.copyfile(FORKS, tmp_path / "opencode.db"))
    before = path.read_bytes()

    cli.ok("ingest", "opencode", "--db", str(path))

    assert path.read_bytes() == before


def test_ingest_opencode_without_json_says_what_was_learned(cli: CommandLine, tmp_path):
    path = str(shutil.copyfile(FIRST_ENGINE, tmp_path / "opencode.db"))

    assert "session" in cli.ok("ingest", "opencode", "--db", path).out
    assert "0 sessions with new messages" in cli.ok("ingest", "opencode", "--db", path).out


def test_ingest_opencode_can_be_tried_out(cli: CommandLine, tmp_path):
    path = str(shutil.copyfile(FIRST_ENGINE, tmp_path / "opencode.db"))

    tried = cli.ok("ingest", "opencode", "--db", path, "--dry-run", "--json").json
    assert cli("list", "--all-projects", "--json").json.get("memories", []) == []
    done = cli.ok("ingest", "opencode", "--db", path, "--json").json

    assert (tried["sessions"], tried["messages"]) == (done["sessions"], done["messages"])
    assert len(tried["active"]) == len(done["active"])
    assert cli.ok("ingest", "opencode", "--db", path, "--dry-run", "--json").json["messages"] == 0


def test_a_trial_after_a_reading_finds_what_came_since(cli: CommandLine, opencode):
    told_to(opencode, opencode.session("ses_1"), "Hello there.")
    cli.ok("ingest", "opencode", "--db", str(opencode.path))
    told_to(opencode, "ses_1", LEDGER, at=5_000)

    assert cli.ok("ingest", "opencode", "--db", str(opencode.path), "--dry-run", "--json").json["messages"] == 2


def test_a_trial_knows_what_is_switched_off(cli: CommandLine, opencode):
    told_to(opencode, opencode.session("ses_1"), LEDGER)
    cli.ok("learning", "pause", "ses_1")

    tried = cli.ok("ingest", "opencode", "--db", str(opencode.path), "--dry-run", "--json").json
    done = cli.ok("ingest", "opencode", "--db", str(opencode.path), "--json").json

    assert done["active"] == []
    assert tried["active"] == []


def test_learning_off_holds_for_the_project_and_on_learns_only_what_comes_later(cli: CommandLine, opencode):
    told_to(opencode, opencode.session("ses_0"), "Hello there.")
    cli.ok("ingest", "opencode", "--db", str(opencode.path))
    (project,) = [one["name"] for one in cli.ok("projects", "list", "--json").json["projects"]]
    cli.ok("learning", "off", "--project", project)
    told_to(opencode, opencode.session("ses_1"), LEDGER)
    cli.ok("ingest", "opencode", "--db", str(opencode.path))
    assert cli.contents("--project", project) == []

    cli.ok("learning", "on", "--project", project)
    told_to(opencode, opencode.session("ses_2"), RUFF)
    cli.ok("ingest", "opencode", "--db", str(opencode.path))
    assert cli.contents("--project", project) == [RUFF]


def test_ingest_opencode_says_that_a_file_is_missing_or_no_database(cli: CommandLine, tmp_path):
    text, other = tmp_path / "text.db", tmp_path / "other.db"
    text.write_text("This is no database, whatever its name says. " * 50)
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE memory (id TEXT)")
    connection.close()
    (tmp_path / "empty.db").write_bytes(b"")

    for name in ("missing.db", "text.db", "other.db", "empty.db"):
        answer = cli("ingest", "opencode", "--db", str(tmp_path / name))
        assert answer.code != 0, name
        assert name in answer.err
    assert not (tmp_path / "missing.db").exists()


def test_db_goes_with_opencode_only(cli: CommandLine, tmp_path):
    assert cli("ingest", str(tmp_path), "--db", str(FORKS)).code != 0


def test_review_lists_accepts_and_rejects_what_waits(cli: CommandLine):
    first = cli.remember("Sort imports by length.", "--category", "preference")
    assert cli("review", "--json").json == {"waiting": []}
    assert cli("review", "--accept", "nothing-like-it").code != 0
    assert cli.ok("list", "--json").json["memories"][0]["id"] == first


def test_review_of_what_was_learned_from_a_session(cli: CommandLine, opencode, unsure):
    told_to(opencode, opencode.session("ses_1"), SORT)
    told_to(opencode, opencode.session("ses_2"), "Sort members by name.")
    cli.ok("ingest", "opencode", "--db", str(opencode.path))
    waiting = cli.ok("review", "--all-projects", "--json").json["waiting"]
    ids = {one["content"]: one["id"] for one in waiting}
    assert set(ids) == {SORT, "Sort members by name."}
    shown = cli.ok("review", "--all-projects", "--list").out
    assert SORT in shown
    assert "refused a tool" in shown

    cli.ok("review", "--accept", ids[SORT], "--reject", ids["Sort members by name."])
    told_to(opencode, opencode.session("ses_3"), SORT, "Sort members by name.")
    told_to(opencode, opencode.session("ses_4"), SORT, "Sort members by name.")
    cli.ok("ingest", "opencode", "--db", str(opencode.path))

    assert cli("review", "--all-projects", "--json").json == {"waiting": []}
    assert cli.contents("--all-projects") == [SORT]
