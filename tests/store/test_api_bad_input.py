"""Invalid input: an error that names the field and the limit, no traceback, no half-done write."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import opencode_memory
from opencode_memory import InvalidInputError, MemoryStore, NewMemory
from opencode_memory.exchange import export_memories
from support.stores import NOW_MS, recalled

ACCEPTED: dict[str, Any] = {"content": "a walrus"}


def _refusal(store: MemoryStore, **fields: Any) -> InvalidInputError:
    """The error that a write with these fields meets; nothing may have been written."""
    before = store.stats().seq
    with pytest.raises(InvalidInputError) as error:
        store.remember(**(ACCEPTED | fields))
    assert store.stats().seq == before
    assert (store.count(project="*"), store.projects.list()) == (0, [])
    assert str(error.value).startswith(f"{error.value.field}: ")
    return error.value


@pytest.mark.parametrize("content", ["", " ", "\n\t\r ", "\u00a0\u2003\u3000"], ids=ascii)
def test_an_empty_text_is_refused(store: MemoryStore, content: str) -> None:
    error = _refusal(store, content=content)
    assert error.field == "content"
    assert "empty" in str(error)


LIMITS = {
    "content": 100_000,
    "topic": 512,
    "session": 512,
    "speaker": 512,
    "project": 512,
}


@pytest.mark.parametrize(("field", "limit"), LIMITS.items())
def test_a_text_over_the_limit_is_refused_with_the_limit(store: MemoryStore, field: str, limit: int) -> None:
    error = _refusal(store, **{field: "ä" * (limit + 1)})
    assert (error.field, error.limit) == (field, str(limit))
    assert str(limit) in str(error)
    assert str(limit + 1) in str(error)


@pytest.mark.parametrize(("field", "limit"), LIMITS.items())
def test_a_text_at_the_limit_is_accepted(store: MemoryStore, field: str, limit: int) -> None:
    id = store.remember(**(ACCEPTED | {field: "ä" * limit})).id
    assert getattr(store.get(id), field) == "ä" * limit


@pytest.mark.parametrize("field", ["tags", "entities"])
def test_labels_have_a_limit_in_number_and_length(store: MemoryStore, field: str) -> None:
    assert _refusal(store, **{field: [f"label {number}" for number in range(65)]}).limit == "64"
    assert _refusal(store, **{field: ["x" * 513]}).limit == "512"
    assert _refusal(store, **{field: ["fine", " "]}).field == field
    id = store.remember(**(ACCEPTED | {field: ["x" * 512, *(f"label {number}" for number in range(63))]})).id
    assert len(getattr(store.get(id), field)) == 64


@pytest.mark.parametrize("part", ["tool", "session", "message", "file", "commit"])
def test_each_part_of_a_source_has_a_limit(store: MemoryStore, part: str) -> None:
    error = _refusal(store, source={part: "x" * 513})
    assert (error.field, error.limit) == ("source", "512")


def test_metadata_has_a_limit(store: MemoryStore) -> None:
    error = _refusal(store, metadata={"x": "y" * 65_536})
    assert (error.field, error.limit) == ("metadata", "65536")


def test_metadata_that_is_nested_too_deeply_is_refused(store: MemoryStore) -> None:
    for depth in (200, 5000):
        assert _refusal(store, metadata={"deep": _nested(depth)}).field == "metadata"


def _nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("given", "suggested"),
    [("desicion", "decision"), ("Facts", "fact"), ("preferences", "preference"), ("todo", None), ("", None)],
)
def test_an_unknown_category_suggests_the_nearest(store: MemoryStore, given: str, suggested: str | None) -> None:
    error = _refusal(store, category=given)
    assert error.field == "category"
    assert "decision" in str(error.limit)
    assert (f'did you mean "{suggested}"?' in str(error)) == (suggested is not None)


def test_a_category_is_understood_in_any_case(store: MemoryStore) -> None:
    assert store.get(store.remember("a walrus", category=" Decision ").id).category == "decision"


@pytest.mark.parametrize("field", ["category", "trust", "status", "scope"])
def test_an_unknown_member_of_a_closed_set_is_refused_everywhere(store: MemoryStore, field: str) -> None:
    assert _refusal(store, **{field: "zebra"}).field == field
    questions = {
        "category": lambda: store.recall("x", category=["fact", "zebra"]),
        "status": lambda: store.list(status="zebra"),
        "scope": lambda: store.count(scope="zebra"),
        "trust": lambda: store.edit("0" * 36, trust="zebra"),
    }
    with pytest.raises(InvalidInputError) as error:
        questions[field]()
    assert error.value.field == field


@pytest.mark.parametrize("field", ["time", "expires_at"])
@pytest.mark.parametrize(
    "value",
    [
        "",
        "yesterday-ish",
        "2026-13-01",
        "2026-02-30",
        "2026-01-01T25:00",
        "31.12.2026",
        10**17,
        -(10**17),
        2**70,
        "\ud800",
    ],
    ids=ascii,
)
def test_a_bad_date_is_refused(store: MemoryStore, field: str, value: Any) -> None:
    assert _refusal(store, **{field: value}).field == field


@pytest.mark.parametrize("field", ["since", "until", "as_of", "older_than"])
def test_a_bad_date_in_a_question_is_refused(store: MemoryStore, field: str) -> None:
    values: list[Any] = ["soon", "2026-02-30", 2**70, 1.5, [], True]
    for value in values:
        with pytest.raises(InvalidInputError) as error:
            store.list(**{field: value})
        assert error.value.field == field


@pytest.mark.parametrize(
    "moment",
    [
        "0001-01-01T00:00:00.001+00:00",
        "1969-12-31T23:59:59.999+00:00",
        "2262-04-12T00:00:00.333+00:00",
        "9999-12-31T23:59:59.999+00:00",
    ],
)
def test_every_moment_of_the_calendar_is_kept_to_the_millisecond(store: MemoryStore, moment: str) -> None:
    id = store.remember("a walrus", time=moment).id
    time = store.get(id).time
    assert time == datetime.fromisoformat(moment)
    assert recalled(
        store, "walrus", since=time, until=time + timedelta(milliseconds=1) if time.year < 9999 else None
    ) == ["a walrus"]


def test_a_naive_moment_that_no_zone_can_hold_is_refused(store: MemoryStore) -> None:
    for moment in (datetime.min, datetime.max):
        try:
            store.remember("a walrus", time=moment)
        except InvalidInputError as error:
            assert error.field == "time"


@pytest.mark.parametrize("field", ["content", "topic", "session", "speaker", "project"])
def test_a_nul_is_refused_with_its_place(store: MemoryStore, field: str) -> None:
    error = _refusal(store, **{field: "ab\0c"})
    assert error.field == field
    assert "NUL" in str(error)


@pytest.mark.parametrize(
    "field", ["content", "topic", "session", "speaker", "project", "category", "trust", "status", "scope"]
)
def test_a_lone_surrogate_is_refused(store: MemoryStore, field: str) -> None:
    assert _refusal(store, **{field: "ab\ud800c"}).field == field


def test_a_lone_surrogate_is_refused_inside_of_values(store: MemoryStore) -> None:
    for fields in (
        {"tags": ["\ud800"]},
        {"entities": ["\udfff"]},
        {"metadata": {"a": ["\ud800"]}},
        {"metadata": {"\ud800": 1}},
        {"source": {"file": "\ud800"}},
    ):
        assert _refusal(store, **fields).field == next(iter(fields))


def test_a_nul_inside_of_metadata_is_kept(store: MemoryStore) -> None:
    id = store.remember("a walrus", metadata={"a": "b\0c"}).id
    assert store.get(id).metadata == {"a": "b\0c"}


def test_a_megabyte_of_one_word_is_refused_as_a_memory_and_answered_as_a_query(open_store) -> None:
    store = open_store(project="app", embedder=None)
    word = "x" * 1_000_000
    assert _refusal(store, content=word).limit == "100000"
    store.remember("a walrus")
    store.indexes.embed_pending()
    assert isinstance(store.recall(word), list)
    assert isinstance(store.recall("walrus " * 150_000), list)


def test_a_hundred_thousand_characters_of_one_word_are_a_memory(open_store) -> None:
    store = open_store(embedder=None)
    word = "x" * 100_000
    store.remember(word)
    store.indexes.embed_pending()
    assert recalled(store, word[:100]) in ([], [word])
    assert store.indexes.verify().ok


QUERIES = [
    '"foo AND (', "*", "field:x", "content:walrus", "NOT walrus", "walrus OR", "(((((", "]]>", "'; DROP TABLE memory; --",
    "walrus~2", "walrus^10", "[a TO b]", "{", "\\", '\\\\"', "+walrus -walrus", "/walrus/", "%", "_", "?", "", " ", "\n",
    "\0", "walrus\0", "\ud800", "walrus \ud800", "🦭", "👨‍👩‍👧‍👦", "שלום עולם", "مرحبا", "\u202ewalrus\u202c", "e\u0301" * 50,
    "\u0301\u0301\u0301", "a\u200bb", "ﬃ", "ｗａｌｒｕｓ", "\ufeffwalrus", "\uffff", "\U0010ffff", "x" * 10_000, "walrus " * 2_000,
    "(" * 10_000, '"' * 10_000, "🦭" * 10_000, "a" * 7_999 + " walrus", "--help", "-1", "NaN", "null", "true", "None",
]  # fmt: skip


@pytest.mark.parametrize("is_indexed", [False, True])
@pytest.mark.parametrize("query", QUERIES, ids=lambda query: ascii(query[:30]))
def test_any_query_is_answered(store: MemoryStore, query: str, is_indexed: bool) -> None:
    store.remember_many([{"content": "a walrus"}, {"content": "a heron"}])
    if is_indexed:
        store.indexes.embed_pending()
        store.indexes.catch_up()
    for options in ({}, {"as_of": NOW_MS}, {"explain": True}):
        hits = store.recall(query, **options)
        assert all(hit.memory.content in ("a walrus", "a heron") for hit in hits)


@pytest.mark.parametrize(
    "query",
    ['"walrus AND (', "walrus*", "walrus\0", "walrus \ud800", "\u202ewalrus\u202c", "ｗａｌｒｕｓ", "\ufeffwalrus"],
)
def test_the_words_of_an_odd_query_still_count(store: MemoryStore, query: str) -> None:
    store.remember_many([{"content": "a walrus"}, {"content": "a heron"}])
    assert recalled(store, query) == ["a walrus"]


@pytest.mark.parametrize("query", [None, 5, b"walrus", ["walrus"], 1.5, object()])
def test_query_that_is_not_text_is_refused(store: MemoryStore, query: Any) -> None:
    with pytest.raises(InvalidInputError) as error:
        store.recall(query)
    assert error.value.field == "query"


def test_an_unknown_field_suggests_the_nearest(store: MemoryStore) -> None:
    with pytest.raises(InvalidInputError, match="category") as error:
        store.remember_many([{"content": "x", "catgory": "fact"}])
    assert error.value.field == "catgory"
    with pytest.raises(InvalidInputError, match="file"):
        store.remember_many([{"content": "x", "source": {"fiel": "a.py"}}])
    with pytest.raises(InvalidInputError) as error:
        store.remember_many([{"category": "fact"}])
    assert error.value.field == "content"


def test_a_position_is_a_place_in_a_session(store: MemoryStore) -> None:
    assert _refusal(store, position=1).field == "position"
    assert _refusal(store, position=-1, session="s").field == "position"
    assert _refusal(store, position=2**63, session="s").field == "position"


@pytest.mark.parametrize("confidence", [-0.1, 1.1, float("nan"), float("inf"), 10**400])
def test_a_confidence_lies_between_zero_and_one(store: MemoryStore, confidence: float) -> None:
    assert _refusal(store, confidence=confidence).field == "confidence"


@pytest.mark.parametrize("id", ["", "x", "123", "not-a-uuid", "0" * 36, "\ud800"])
def test_an_id_to_be_kept_must_be_a_uuid(store: MemoryStore, id: str) -> None:
    for field in ("id", "superseded_by"):
        with pytest.raises(InvalidInputError) as error:
            store.remember_many([NewMemory(content="x", **{field: id})])
        assert error.value.field == field
    assert store.count() == 0


def test_an_edit_is_checked_like_a_write(store: MemoryStore) -> None:
    id = store.remember("a walrus", topic="t", tags=["a"]).id
    before = store.get(id)
    bad: list[dict[str, Any]] = [
        {"content": ""},
        {"content": "x" * 100_001},
        {"content": "a\0b"},
        {"content": "\ud800"},
        {"content": 5},
        {"category": "zebra"},
        {"category": 5},
        {"topic": ""},
        {"topic": 5},
        {"tags": "a"},
        {"tags": [5]},
        {"entities": ["x"] * 65},
        {"time": "soon"},
        {"expires_at": "soon"},
        {"metadata": [1]},
        {"metadata": {"a": object()}},
        {"scope": "zebra"},
        {"scope": "global", "project": "app"},
        {"project": "*"},
        {"project": ""},
        {"trust": "zebra"},
        {"verified": "yes"},
    ]
    for fields in bad:
        with pytest.raises(InvalidInputError) as error:
            store.edit(id, **fields)
        assert error.value.field in (*fields, "scope"), fields
    assert store.get(id) == before
    assert len(store.history(id)) == 1


def test_a_moment_before_the_year_one_is_refused(store: MemoryStore) -> None:
    with pytest.raises(InvalidInputError, match="years 1 to 9999"):
        store.remember("a walrus", time=-62_135_596_800_001)
    assert store.get(store.remember("a walrus", time=-62_135_596_800_000).id).time == datetime(1, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    "path", ["", "\0", "a\0b", "\ud800", "~nobody-of-that-name/x", 5, b"bytes", None, []], ids=ascii
)
def test_value_that_is_not_a_path_is_refused(store: MemoryStore, path: Any) -> None:
    uses: dict[str, Callable[[], object]] = {
        "source": lambda: store.backups.restore(path),
        "target": lambda: export_memories(store, path),
        "data_dir": lambda: opencode_memory.open(path if path is not None else b""),
    }
    for field, use in uses.items():
        with pytest.raises(InvalidInputError) as error:
            use()
        assert error.value.field == field
