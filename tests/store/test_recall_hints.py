"""Hints beside words and meaning: form, speaker and time of a turn, and the frame of a request.

Hints apply to conversations. Only the date also applies to notes, decisions and code.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from opencode_memory import MemoryStore
from support.stores import NOW_MS, recalled, set_clock

HINTS = {"short", "question", "speaker", "time", "assistant"}
SAME = 1e-9


def given(store: MemoryStore, query: str, **options: Any) -> dict[str, dict[str, float]]:
    """What each signal gave to each hit, by its text."""
    return {
        hit.memory.content: {signal.name: signal.contribution for signal in hit.explanation.signals}
        for hit in store.recall(query, limit=100, explain=True, **options)
    }


def moment(text: str) -> int:
    """UTC milliseconds of a moment in ISO 8601."""
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


# Hints are for turns

TURN = {"session": "s", "position": 3}
_KINDS: dict[str, dict[str, Any]] = {
    "a note": {},
    "a decision": {"category": "decision"},
    "a decision of a session": {"category": "decision", "session": "s"},
    "code": {"category": "solution", "source": {"file": "walrus.py", "line": 3}},
    "a topic": {"topic": "walrus"},
    "a global memory": {"scope": "global"},
    "a pinned memory": {"pinned": True},
}
_HINTED: dict[str, tuple[str, dict[str, Any], str]] = {
    "short": ("walrus", {}, "walrus"),
    "question": ("Is it a walrus?", {}, "walrus"),
    "question in Arabic": ("walrus؟", {}, "walrus"),
    "question in Chinese": ("walrus？", {}, "walrus"),
    "speaker": ("Ada is a walrus", {"speaker": "Ben"}, "Did Ada see a walrus"),
    "time": ("walrus since Monday", {}, "When was the walrus there"),
    "assistant": ("a walrus, I would say", {"speaker": "assistant"}, "walrus"),
}


@pytest.mark.parametrize("kind", _KINDS)
@pytest.mark.parametrize("hint", _HINTED)
def test_hints_apply_to_turns_only(store: MemoryStore, hint: str, kind: str) -> None:
    text, how, query = _HINTED[hint]
    id = store.remember(text, **how, **_KINDS[kind]).id
    store.remember("Ada and a heron", speaker="Ada", session="t", position=0)  # so that the speaker asked for is there
    store.indexes.embed_pending()
    assert not HINTS & set(given(store, query)[text])
    store.delete(id)
    store.remember(text, **how, **(_KINDS[kind] | TURN))
    store.indexes.embed_pending()
    assert hint.split(maxsplit=1)[0] in given(store, query)[text]


@pytest.mark.parametrize(("text", "asked"), [("The walrus sleeps.", "The walrus sleeps?")])
@pytest.mark.parametrize("place", [{}, {"session": "s"}, TURN], ids=["a note", "of a session", "a turn"])
def test_a_question_mark_costs_a_turn_and_no_note(open_store, tmp_path, text: str, asked: str, place: Any) -> None:
    scores = []
    for number, content in enumerate((text, asked)):
        store = open_store(tmp_path / str(number))
        store.remember(content, **place)
        store.remember("The heron sleeps too", session="t", position=0)
        store.indexes.embed_pending()
        scores.append({hit.memory.content[:6]: hit.score for hit in store.recall("walrus sleeps")}["The wa"])
    if place == TURN:
        assert scores[1] < scores[0] - 0.1
    else:
        assert scores[1] == pytest.approx(scores[0], abs=SAME)


def test_note_with_a_session_scores_like_a_note_without(store: MemoryStore) -> None:
    store.remember("The walrus needs alpha", category="decision", session="ses_1")
    store.remember("The walrus needs bravo", category="decision")
    hits = store.recall("walrus needs")
    assert len(hits) == 2
    assert hits[0].score == pytest.approx(hits[1].score, abs=SAME)


@pytest.mark.parametrize(
    ("text", "is_short"),
    [
        ("Where is the walrus " + "and what does it eat in winter " * 8 + "?", False),
        ("海象は冬になると北の湾で何を食べているのかを、" * 12 + "飼育係に聞いてもよいですか？", False),
        ("海象在冬天的北方海湾里究竟吃些什么东西，" * 12 + "我们可以问饲养员吗？", False),
        ("Where is the walrus?", True),
        ("海象はどこですか？", True),
    ],
    ids=["long", "long in Japanese", "long in Chinese", "short", "short in Japanese"],
)
def test_a_long_text_is_long_in_every_script(store: MemoryStore, text: str, *, is_short: bool) -> None:
    store.remember(text, **TURN)
    found = given(store, text)[text]
    assert ({"short", "question"} & set(found) != set()) == is_short


# Who said it


def test_assistant_turn_scores_lower_in_any_spelling(store: MemoryStore) -> None:
    store.remember("alpha walrus colony", session="s", position=0, speaker="user")
    for position, speaker in enumerate(("assistant", "Assistant", "AI", "agent"), 10):
        store.remember(f"walrus colony {position}", session="s", position=position * 10, speaker=speaker)
    store.indexes.embed_pending()
    plain = given(store, "the walrus colony")
    assert recalled(store, "the walrus colony")[0] == "alpha walrus colony"
    assert "assistant" not in plain["alpha walrus colony"]
    for position in range(10, 14):
        text = f"walrus colony {position}"
        assert plain[text]["assistant"] < 0


@pytest.mark.parametrize(
    ("names", "query"),
    [
        (("Ada", "Ben"), "What did Ada see of the walrus?"),
        (("ada", "ben"), "what did ADA see of the walrus?"),
        (("Ada Lovelace", "Ada Byron"), "what did Ada Lovelace see of the walrus?"),
        (("Zoë", "Ben"), "Zoë's walrus"),
        (("Ярослав", "Ben"), "Видел ли ярослав walrus?"),
        (("دينا", "Ben"), "هل رأت دينا walrus؟"),
        (("田中", "鈴木"), "田中さんは walrus を見ましたか？"),
    ],
)
def test_a_named_speaker_comes_first(store: MemoryStore, names: tuple[str, str], query: str) -> None:
    for position, name in enumerate(names):
        store.remember(f"walrus {position}", session="s", position=10 * position, speaker=name)
    store.indexes.embed_pending()
    found = given(store, query)
    assert list(found) == ["walrus 0", "walrus 1"]
    assert "speaker" not in found["walrus 0"]
    assert found["walrus 1"]["speaker"] < 0
    assert not any("speaker" in signals for signals in given(store, "walrus").values())


def test_unknown_names_and_the_role_user_are_not_speakers(store: MemoryStore) -> None:
    for position, speaker in enumerate(("user", "Ben", "assistant")):
        store.remember(f"walrus {position}", session="s", position=10 * position, speaker=speaker)
    store.indexes.embed_pending()
    for query, is_named in (
        ("the walrus of Carla", False),
        ("the user's walrus", False),
        ("the assistant's walrus", False),
        ("the walrus of Ben", True),
    ):
        found = given(store, query)
        assert len(found) == 3
        assert any("speaker" in signals for signals in found.values()) == is_named


def test_turn_of_an_unknown_speaker_is_not_attributed_to_another(store: MemoryStore) -> None:
    store.remember("walrus one", session="s", position=0, speaker="Ada")
    store.remember("walrus two", session="s", position=10)
    store.indexes.embed_pending()
    assert "speaker" not in given(store, "What did Ada say of the walrus")["walrus two"]


def test_a_turn_that_names_a_time_answers_when(store: MemoryStore) -> None:
    store.remember("the walrus came on Monday", session="s", position=0)
    store.remember("the walrus came on foot", session="s", position=10)
    store.indexes.embed_pending()
    assert recalled(store, "When did the walrus come?")[0] == "the walrus came on Monday"
    assert recalled(store, "How did the walrus come?")[0] == "the walrus came on foot"


# When it was

# The clock of test stores stands at Monday, 2026-09-21.
_NEARER = [
    ("last March", None, "2026-03-14", "2026-06-14"),
    ("last March", "2026-02-10", "2025-03-14", "2026-01-14"),
    ("since Tuesday", None, "2026-09-17", "2026-08-01"),
    ("since Tuesday", "2026-07-01", "2026-06-30", "2026-09-17"),
    ("that was here on Tuesday", None, "2026-09-15", "2026-09-19"),
    ("yesterday", None, "2026-09-20", "2026-09-10"),
    ("last week", None, "2026-09-16", "2026-09-02"),
    ("last month", None, "2026-08-02", "2026-07-20"),
    ("last year", None, "2025-01-02", "2024-12-01"),
    ("three days ago", None, "2026-09-18", "2026-09-21"),
    ("two months ago", None, "2026-07-23", "2026-09-01"),
    ("in May", None, "2024-05-20", "2026-07-20"),
    ("on 7 July 2023", None, "2023-07-07", "2023-07-15"),
    ("2024-02-29", None, "2024-02-29", "2024-03-09"),
    ("since April", None, "2026-08-01", "2026-03-01"),
    ("since March 2024", None, "2025-08-01", "2024-01-01"),
    ("since 25 September", None, "2026-03-01", "2025-08-01"),
    ("last 25 September", None, "2025-09-24", "2025-12-24"),
    ("this weekend", "2026-09-20", "2026-09-19", "2026-09-11"),
]


@pytest.mark.parametrize(("time", "now", "near", "far"), _NEARER)
def test_a_day_in_the_question_draws_memories_of_that_day_nearer(
    store: MemoryStore, time: str, now: str | None, near: str, far: str
) -> None:
    if now is not None:
        set_clock(store, moment(now) + 12 * 3_600_000)
    store.remember("walrus at dawn", time=moment(near))
    store.remember("walrus at dusk", time=moment(far))
    store.indexes.embed_pending()
    assert all("date" not in signals for signals in given(store, "the walrus").values())
    found = given(store, f"the walrus {time}")
    assert list(found) == ["walrus at dawn", "walrus at dusk"]
    assert found["walrus at dawn"]["date"] > 0.1 + found["walrus at dusk"].get("date", 0.0)


@pytest.mark.parametrize("is_embedded", [False, True])
@pytest.mark.parametrize("time", ["last March", "on 7 July 2023", "since Tuesday", "in 2020-01"])
def test_day_in_a_question_does_not_filter(store: MemoryStore, time: str, *, is_embedded: bool) -> None:
    store.remember_many({"content": f"walrus number {number}", "time": NOW_MS - number * 10**9} for number in range(40))
    store.remember_many({"content": f"heron number {number}"} for number in range(40))
    if is_embedded:
        store.indexes.embed_pending()
    assert set(recalled(store, f"walrus {time}", limit=100)) >= set(recalled(store, "walrus", limit=100))


@pytest.mark.parametrize("now", ["0001-01-02", "1970-01-01", "9999-12-30"])
def test_days_at_the_ends_of_time_are_no_trouble(open_store, now: str) -> None:
    store = open_store(clock_ms=moment(now))
    store.remember("walrus", time=moment("9999-12-31"))
    store.remember("walrus colony", time=moment("0001-01-01"))
    store.indexes.embed_pending()
    for query in (
        "walrus 999 years ago",
        "walrus since Tuesday",
        "walrus last year",
        "walrus in May",
        "walrus 2000-13",
    ):
        assert len(store.recall(query)) == 2


def test_verbs_and_numbers_are_no_days(store: MemoryStore) -> None:
    store.remember("the walrus may march")
    store.indexes.embed_pending()
    for query in (
        "the walrus may march",
        "March on, walrus",
        "May the walrus swim on Friday",
        "walrus 2024",
        "walrus of 99 July",
        "walrus 2024-13-01",
    ):
        assert "date" not in given(store, query)["the walrus may march"]


# The frame of a request

_FRAMES = [
    "Can you remind me in which order I brought up {}?",
    "Can you list the order in which I brought up {}?",
    "Could you please remind me of {}",
    "Can you tell me about {}?",
    "How I've discussed {} throughout our conversations",
    "Can you walk me through the order in which I mentioned {} throughout all of our conversations, in order?",
    "Could you give me a summary of how I talked about {} across all of our chats? Mention ONLY five items.",
]


@pytest.mark.parametrize("subject", ["the walrus colony", "heron feeding times in the northern bay", "otter"])
@pytest.mark.parametrize("frame", _FRAMES)
def test_frame_of_a_request_matches_no_memory(store: MemoryStore, frame: str, subject: str) -> None:
    store.remember("The walrus colony rests on the northern ice")
    store.remember("Heron feeding times: six and eight in the northern bay")
    store.remember("The otter bay is closed")
    # These talk about talking.
    store.remember("Can you remind me to list the order of items? I brought up the conversations and chats.")
    store.remember("I asked you to summarise in which order we mentioned and discussed five topics.")
    store.indexes.embed_pending()
    found = recalled(store, subject)
    assert found
    assert recalled(store, frame.format(subject)) == found


@pytest.mark.parametrize(
    "request_",
    [
        "Can you remind me?",
        "Can you list the order in which I brought up?",
        "in which order?",
        "Mention ONLY five items.",
        "Can you summarize our conversations?",
        "Remind me",
    ],
)
def test_request_without_a_subject_is_searched_as_it_is(store: MemoryStore, request_: str) -> None:
    store.remember("Remind me: the order of items is five conversations that I brought up to summarize")
    store.remember("an otter")
    store.indexes.embed_pending()
    assert recalled(store, request_)[0].startswith("Remind me")


@pytest.mark.parametrize("request_", ["", " ", "?", ",", "in order", "\u2067", "of the"])
def test_a_request_without_a_subject_has_no_answer(store: MemoryStore, request_: str) -> None:
    store.remember("a walrus")
    store.indexes.embed_pending()
    assert store.recall(request_) == []


@pytest.mark.parametrize(
    ("wanted", "other", "query"),
    [
        (
            "The sessions table keeps refresh tokens",
            "The users table keeps refresh tokens",
            "Which tokens are kept in the sessions table?",
        ),
        (
            "Retries are logged with the messages of the broker",
            "Retries are logged with the metrics of the broker",
            "Are retries logged in the messages of the broker?",
        ),
        (
            "The order of middlewares is cors, auth, routes",
            "The list of middlewares is cors, auth, routes",
            "the order of middlewares",
        ),
    ],
    ids=["sessions", "messages", "order"],
)
def test_words_of_the_subject_are_not_taken_for_its_frame(
    store: MemoryStore, wanted: str, other: str, query: str
) -> None:
    store.remember(wanted)
    store.remember(other)
    store.indexes.embed_pending()
    assert recalled(store, query)[0] == wanted
