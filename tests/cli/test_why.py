"""``opencode-memory why``: the decisions about the messages of a session."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from opencode_memory import MemoryStore
from opencode_memory.store.ledger import Decision, Outcome, Shown, State
from opencode_memory.text.formatting import short_id
from support.command_line import CommandLine
from support.stores import NOW_MS, open_store, set_clock

WALRUS = "The walrus build needs make -j1: parallel builds corrupt the archive."
SESSION = "ses_0a1b2c3d4e5f"


@pytest.fixture
def store(cli: CommandLine) -> Iterator[MemoryStore]:
    """The store that the commands open."""
    cli.ok("remember", "something else")
    folder = cli.folder.parent / "data" / "opencode-memory" / "store"
    with open_store(folder, project="app") as store:
        yield store


def decide(store: MemoryStore, message: str, *ids: str, session: str = SESSION, **more: object) -> Decision:
    shown = tuple(Shown(memory=id_, key=store.get(id_).key, score=0.5, why="meaning 0.61, words 2 of 3") for id_ in ids)
    fields = {"state": State.SHOWN, "text": "<project-memory>\nwhat the model saw\n</project-memory>", "tokens": 1234}
    about = {"kind": "message", "directives": True}
    given = {"project": "app", "about": about, **fields, **more}
    return store.ledger.decide(Decision(session=session, message=message, shown=shown, **given))


@pytest.fixture
def walrus(store: MemoryStore) -> str:
    return store.remember(WALRUS, category="procedure").id


def decide_nothing(store: MemoryStore, message: str, state: State, reason: str) -> None:
    about = {"kind": "message", "reason": reason}
    decide(store, message, state=state, text="", tokens=0, about=about)


def test_no_decisions_are_an_empty_list(cli: CommandLine, store: MemoryStore) -> None:
    answer = cli("why")
    assert (answer.code, answer.out) == (0, "")
    assert "No memories were added to messages yet." in answer.err
    listed = cli("why", "--json")
    assert (listed.code, listed.json) == (0, {"sessions": []})


def test_sessions_are_listed_newest_first(cli: CommandLine, store: MemoryStore, walrus: str) -> None:
    for number in range(3):
        set_clock(store, NOW_MS + number * 60_000)
        decide(store, "msg_1", walrus, session=f"ses_{number}")
    decide(store, "msg_2", session="ses_2", state=State.NOTHING, text="", tokens=0)
    lines = cli.ok("why").out.splitlines()
    assert [line.split()[0] for line in lines] == ["ses_2", "ses_1", "ses_0"]
    assert all(word in lines[0] for word in ("2 messages", "1 memory", "app"))
    assert len(cli.ok("why", "--limit", "2").out.splitlines()) == 2
    [newest, *_] = cli.ok("why", "--json").json["sessions"]
    assert (newest["session"], newest["project"], newest["messages"], newest["shown"]) == ("ses_2", "app", 2, 1)


def test_decision_lists_memories_with_reasons(cli: CommandLine, store: MemoryStore, walrus: str) -> None:
    decide(store, "msg_1", walrus)
    store.ledger.note(SESSION, [walrus], Outcome.USED)
    out = cli.ok("why", SESSION).out
    assert out.splitlines()[0] == f"{SESSION}  app"
    assert "msg_1" in out
    assert "1,234 tokens added to the message" in out
    assert f"{short_id(walrus)}  The walrus build needs make -j1" in out
    assert "meaning 0.61, words 2 of 3; used since" in out
    assert "what the model saw" not in out


@pytest.mark.parametrize("part", ["ses_0a", "4e5f", SESSION])
def test_session_is_found_by_part_of_id(cli: CommandLine, store: MemoryStore, walrus: str, part: str) -> None:
    decide(store, "msg_1", walrus)
    assert cli.ok("why", part).out.startswith(SESSION)


def test_ambiguous_part_names_matching_sessions(cli: CommandLine, store: MemoryStore, walrus: str) -> None:
    for session in (SESSION, "ses_0a9"):
        decide(store, "msg_1", walrus, session=session)
    answer = cli("why", "ses_0a")
    assert answer.code == 2
    assert "matches 2 sessions" in answer.err
    assert "ses_0a9" in answer.err
    assert SESSION in answer.err


@pytest.mark.parametrize(("part", "code"), [("ses_9", 1), ("%", 1), ("", 2), ("x" * 600, 2)])
def test_unknown_session_is_an_error_with_hint(
    cli: CommandLine, store: MemoryStore, walrus: str, part: str, code: int
) -> None:
    decide(store, "msg_1", walrus)
    answer = cli("why", part)
    assert (answer.code, answer.out) == (code, "")
    assert code == 2 or "`opencode-memory why` lists the sessions" in answer.err
    assert answer.err.startswith("error: ")
    assert "Traceback" not in answer.err


def test_text_option_prints_exact_text(cli: CommandLine, store: MemoryStore, walrus: str) -> None:
    text = decide(store, "msg_1", walrus).text
    shown = cli.ok("why", SESSION, "--text").out
    assert [line.strip() for line in shown.splitlines()[-3:]] == text.splitlines()
    [decision] = cli.ok("why", SESSION, "--text", "--json").json["decisions"]
    assert decision["text"] == text
    assert "text" not in cli.ok("why", SESSION, "--json").json["decisions"][0]


def test_decision_without_memories_gives_reason(cli: CommandLine, store: MemoryStore, walrus: str) -> None:
    decide_nothing(store, "msg_1", State.NOTHING, "nothing known is relevant")
    decide_nothing(store, "msg_2", State.LATE, "no answer in time")
    decide(store, "msg_3", walrus, state=State.OFFERED)
    out = cli.ok("why", SESSION).out
    assert "nothing added: nothing known is relevant" in out
    assert "nothing added: the server answered too late" in out
    decide(store, "msg_8", state=State.LATE, text="", tokens=0, about={"kind": "message", "cause": "starting"})
    decide(store, "msg_9", state=State.LATE, text="", tokens=0, about={"kind": "message", "cause": "lost"})
    answer = cli.ok("why", SESSION)
    out = answer.out
    assert answer.err.count("raise opencode.first_deadline_ms") == answer.err.count("raise opencode.deadline_ms") == 1
    assert "nothing added: the server was not ready yet" in out
    assert "nothing added: the connection to the server was lost" in out
    assert "receipt not confirmed" in out


def test_consecutive_empty_decisions_are_one_line(cli: CommandLine, store: MemoryStore, walrus: str) -> None:
    for number in range(12):
        decide_nothing(store, f"msg_{number:02}", State.NOTHING, "nothing known is relevant")
    decide(store, "msg_12", walrus)
    out = cli.ok("why", SESSION).out
    assert out.count("nothing known is relevant") == 1
    assert "12 messages" in out
    assert "msg_12" in out


def test_purged_memory_is_erased_from_decisions(cli: CommandLine, store: MemoryStore, walrus: str) -> None:
    decide(store, "msg_1", walrus, text=f"<project-memory>\n{WALRUS}\n</project-memory>")
    decide(store, "msg_2", state=State.SHOWN, text="", about={"kind": "compaction", "memories": [walrus]})
    store.purge([walrus])
    for answer in (
        cli.ok("why", SESSION),
        cli.ok("why", SESSION, "--text"),
        cli.ok("why", SESSION, "--json", "--text"),
    ):
        assert "walrus build" not in answer.out
    out = cli.ok("why", SESSION).out
    assert "erased, because it contained a purged memory" in out
    assert f"{short_id(walrus)}  erased" in out


def test_compaction_lists_its_memories(cli: CommandLine, store: MemoryStore, walrus: str) -> None:
    about = {"kind": "compaction", "memories": [walrus]}
    decide(store, "compaction:1", text="", about=about)
    out = cli.ok("why", SESSION).out
    assert "1,234 tokens added to the compaction" in out
    assert f"{short_id(walrus)}  The walrus build" in out
    [decision] = cli.ok("why", SESSION, "--json").json["decisions"]
    assert [(memory["id"], memory["content"], memory["why"]) for memory in decision["memories"]] == [
        (walrus, WALRUS, None)
    ]


def test_json_contains_the_whole_decision(cli: CommandLine, store: MemoryStore, walrus: str) -> None:
    decide(store, "msg_1", walrus)
    answer = cli.ok("why", SESSION, "--json").json
    assert (answer["session"], answer["project"]) == (SESSION, "app")
    [decision] = answer["decisions"]
    assert decision.pop("at")
    assert decision == {
        "message": "msg_1",
        "state": "shown",
        "tokens": 1234,
        "about": {"kind": "message", "directives": True},
        "memories": [
            {
                "id": walrus,
                "content": WALRUS,
                "category": "procedure",
                "score": 0.5,
                "why": "meaning 0.61, words 2 of 3",
                "outcome": None,
            }
        ],
    }


def test_quotation_of_an_earlier_session_is_named(cli: CommandLine, store: MemoryStore) -> None:
    about = {"kind": "message", "quoted": {"session": "ses_earlier", "message": "msg_earlier"}}
    decide(store, "msg_1", about=about)
    assert "msg_earlier  quoted from session ses_earlier" in cli.ok("why", SESSION).out
