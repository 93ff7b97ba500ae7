"""``opencode-memory why``: what was put beside the messages of a session, when and why."""

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


def decided(store: MemoryStore, message: str, *ids: str, session: str = SESSION, **more: object) -> Decision:
    shown = tuple(Shown(memory=id_, key=store.get(id_).key, score=0.5, why="meaning 0.61, words 2 of 3") for id_ in ids)
    fields = {"state": State.SHOWN, "text": "<project-memory>\nwhat the model saw\n</project-memory>", "tokens": 1234}
    about = {"kind": "message", "directives": True}
    given = {"project": "app", "about": about, **fields, **more}
    return store.ledger.decide(Decision(session=session, message=message, shown=shown, **given))


@pytest.fixture
def walrus(store: MemoryStore) -> str:
    return store.remember(WALRUS, category="procedure").id


def nothing(store: MemoryStore, message: str, state: State, reason: str) -> None:
    about = {"kind": "message", "reason": reason}
    decided(store, message, state=state, text="", tokens=0, about=about)


def test_where_nothing_was_decided_it_says_so(cli: CommandLine, store: MemoryStore) -> None:
    answer = cli("why")
    assert (answer.code, answer.out) == (1, "")
    assert "No memories were added to messages yet." in answer.err
    listed = cli("why", "--json")
    assert (listed.code, listed.json) == (1, {"sessions": []})


def test_sessions_are_listed_the_newest_first(cli: CommandLine, store: MemoryStore, walrus: str) -> None:
    for number in range(3):
        set_clock(store, NOW_MS + number * 60_000)
        decided(store, "msg_1", walrus, session=f"ses_{number}")
    decided(store, "msg_2", session="ses_2", state=State.NOTHING, text="", tokens=0)
    lines = cli.ok("why").out.splitlines()
    assert [line.split()[0] for line in lines] == ["ses_2", "ses_1", "ses_0"]
    assert all(word in lines[0] for word in ("2 messages", "1 memory", "app"))
    assert len(cli.ok("why", "--limit", "2").out.splitlines()) == 2
    [newest, *_] = cli.ok("why", "--json").json["sessions"]
    assert (newest["session"], newest["project"], newest["messages"], newest["shown"]) == ("ses_2", "app", 2, 1)


def test_each_message_has_what_was_shown_and_why(cli: CommandLine, store: MemoryStore, walrus: str) -> None:
    decided(store, "msg_1", walrus)
    store.ledger.note(SESSION, [walrus], Outcome.USED)
    out = cli.ok("why", SESSION).out
    assert out.splitlines()[0] == f"{SESSION}  app"
    assert "msg_1" in out
    assert "1,234 tokens added to the message" in out
    assert f"{short_id(walrus)}  The walrus build needs make -j1" in out
    assert "meaning 0.61, words 2 of 3; used since" in out
    assert "what the model saw" not in out


@pytest.mark.parametrize("part", ["ses_0a", "4e5f", SESSION])
def test_the_beginning_or_the_end_of_an_id_will_do(
    cli: CommandLine, store: MemoryStore, walrus: str, part: str
) -> None:
    decided(store, "msg_1", walrus)
    assert cli.ok("why", part).out.startswith(SESSION)


def test_a_part_that_fits_two_sessions_names_them(cli: CommandLine, store: MemoryStore, walrus: str) -> None:
    for session in (SESSION, "ses_0a9"):
        decided(store, "msg_1", walrus, session=session)
    answer = cli("why", "ses_0a")
    assert answer.code == 2
    assert "matches 2 sessions" in answer.err
    assert "ses_0a9" in answer.err
    assert SESSION in answer.err


@pytest.mark.parametrize(("part", "code"), [("ses_9", 1), ("%", 1), ("", 2), ("x" * 600, 2)])
def test_a_session_that_is_not_known_is_an_error_with_what_to_do_next(
    cli: CommandLine, store: MemoryStore, walrus: str, part: str, code: int
) -> None:
    decided(store, "msg_1", walrus)
    answer = cli("why", part)
    assert (answer.code, answer.out) == (code, "")
    assert code == 2 or "`opencode-memory why` lists the sessions" in answer.err
    assert answer.err.startswith("error: ")
    assert "Traceback" not in answer.err


def test_the_text_is_shown_word_for_word_when_it_is_asked_for(
    cli: CommandLine, store: MemoryStore, walrus: str
) -> None:
    text = decided(store, "msg_1", walrus).text
    shown = cli.ok("why", SESSION, "--text").out
    assert [line.strip() for line in shown.splitlines()[-3:]] == text.splitlines()
    [decision] = cli.ok("why", SESSION, "--text", "--json").json["decisions"]
    assert decision["text"] == text
    assert "text" not in cli.ok("why", SESSION, "--json").json["decisions"][0]


def test_what_was_not_shown_says_why_not(cli: CommandLine, store: MemoryStore, walrus: str) -> None:
    nothing(store, "msg_1", State.NOTHING, "nothing known is relevant")
    nothing(store, "msg_2", State.LATE, "no answer in time")
    decided(store, "msg_3", walrus, state=State.OFFERED)
    out = cli.ok("why", SESSION).out
    assert "nothing added: nothing known is relevant" in out
    assert "nothing added: the server answered too late" in out
    assert "receipt not confirmed" in out


def test_messages_in_a_row_that_got_nothing_are_one_line(cli: CommandLine, store: MemoryStore, walrus: str) -> None:
    for number in range(12):
        nothing(store, f"msg_{number:02}", State.NOTHING, "nothing known is relevant")
    decided(store, "msg_12", walrus)
    out = cli.ok("why", SESSION).out
    assert out.count("nothing known is relevant") == 1
    assert "12 messages" in out
    assert "msg_12" in out


def test_what_was_purged_is_erased_here_too(cli: CommandLine, store: MemoryStore, walrus: str) -> None:
    decided(store, "msg_1", walrus, text=f"<project-memory>\n{WALRUS}\n</project-memory>")
    decided(store, "msg_2", state=State.SHOWN, text="", about={"kind": "compaction", "memories": [walrus]})
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


def test_a_compaction_lists_its_memories(cli: CommandLine, store: MemoryStore, walrus: str) -> None:
    about = {"kind": "compaction", "memories": [walrus]}
    decided(store, "compaction:1", text="", about=about)
    out = cli.ok("why", SESSION).out
    assert "1,234 tokens added to the compaction" in out
    assert f"{short_id(walrus)}  The walrus build" in out
    [decision] = cli.ok("why", SESSION, "--json").json["decisions"]
    assert [(one["id"], one["content"], one["why"]) for one in decision["memories"]] == [(walrus, WALRUS, None)]


def test_json_says_everything_that_is_noted(cli: CommandLine, store: MemoryStore, walrus: str) -> None:
    decided(store, "msg_1", walrus)
    told = cli.ok("why", SESSION, "--json").json
    assert (told["session"], told["project"]) == (SESSION, "app")
    [decision] = told["decisions"]
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
