"""The key-value store: any JSON value, a namespace per project."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencode_memory import InvalidInputError, MemoryStore
from support.stores import NOW_MS, open_store, set_clock

NOW = datetime.fromtimestamp(NOW_MS / 1000, UTC)


@pytest.mark.parametrize(
    "value",
    [None, True, False, 0, -1, 2**53 + 1, 2**70 + 1, 0.1, 1e-7, "", "ä\0\n", [], [1, [2]], {}, {"a": {"b": [None]}}],
)
def test_any_json_value_comes_back(store: MemoryStore, value: object) -> None:
    store.kv.set("k", value)
    found = store.kv.entry("k")
    assert found is not None
    assert json.dumps(found.value) == json.dumps(value)


def test_a_stored_null_is_not_the_default(store: MemoryStore) -> None:
    store.kv.set("k", None)
    assert store.kv.get("k", "default") is None
    assert store.kv.get("missing", "default") == "default"
    assert store.kv.get("missing") is None


@pytest.mark.parametrize("seconds", [1e12, 1e300, float("inf")])
def test_endless_time_to_live_is_refused_as_too_long(store: MemoryStore, seconds: float) -> None:
    with pytest.raises(InvalidInputError, match="ends after the year 9999"):
        store.kv.set("k", 1, ttl_seconds=seconds)
    with pytest.raises(InvalidInputError, match="must be more than 0"):
        store.kv.set("k", 1, ttl_seconds=float("nan"))
    assert store.kv.entry("k") is None


def test_setting_again_replaces_value_and_life(store: MemoryStore) -> None:
    store.kv.set("k", 1, ttl_seconds=60)
    set_clock(store, NOW_MS + 1000)
    store.kv.set("k", 2, ttl_seconds=None)
    entry = store.kv.entry("k")
    assert entry is not None
    assert (entry.value, entry.created_at, entry.updated_at, entry.expires_at) == (
        2,
        NOW,
        NOW + timedelta(seconds=1),
        None,
    )


def test_each_project_has_its_own_namespace(open_store) -> None:
    store, everywhere = open_store(project="app"), open_store()
    store.kv.set("k", "app")
    store.kv.set("k", "other", project="other")
    everywhere.kv.set("k", "global")
    assert (store.kv.get("k"), store.kv.get("k", project="other"), everywhere.kv.get("k")) == ("app", "other", "global")
    assert store.kv.delete("k")
    assert (store.kv.get("k"), store.kv.get("k", project="other"), everywhere.kv.get("k")) == (None, "other", "global")


def test_an_unknown_project_is_empty_and_is_not_created_by_a_question(store: MemoryStore) -> None:
    assert (store.kv.get("k", project="nowhere"), store.kv.list(project="nowhere")) == (None, [])
    assert not store.kv.delete("k", project="nowhere")
    assert store.projects.list() == []


def test_a_prefix_is_no_pattern(store: MemoryStore) -> None:
    for key in ("a", "a%", "a_b", "aXb", "ab", "A", "b", "å"):
        store.kv.set(key, 1)
    keys = lambda prefix: [entry.key for entry in store.kv.list(prefix)]  # noqa: E731
    assert keys("a") == ["a", "a%", "aXb", "a_b", "ab"]
    assert keys("a%") == ["a%"]
    assert keys("a_") == ["a_b"]
    assert keys("") == ["A", "a", "a%", "aXb", "a_b", "ab", "b", "å"]
    assert keys("zebra") == []


def test_deleting_says_whether_there_was_something(store: MemoryStore) -> None:
    store.kv.set("k", 1)
    assert store.kv.delete("k")
    assert not store.kv.delete("k")


@pytest.mark.parametrize("key", ["", " ", "a\0b", "a\nb", "x" * 513, "\ud800"])
def test_a_bad_key_is_refused_everywhere(store: MemoryStore, key: str) -> None:
    for use in (lambda: store.kv.set(key, 1), lambda: store.kv.get(key), lambda: store.kv.delete(key)):
        with pytest.raises(InvalidInputError) as error:
            use()
        assert error.value.field == "key"
    assert store.kv.list() == []


def test_a_value_over_the_limit_is_refused_with_the_limit(store: MemoryStore) -> None:
    store.kv.set("fits", "x" * (1024 * 1024 - 2))
    with pytest.raises(InvalidInputError, match="1048576") as error:
        store.kv.set("k", "x" * (1024 * 1024 - 1))
    assert (error.value.field, error.value.limit) == ("value", "1048576")
    assert store.kv.get("k") is None


@pytest.mark.parametrize("value", [object(), {1, 2}, b"bytes", float("nan"), float("inf"), {"a": object()}, "\ud800"])
def test_value_that_is_not_json_is_refused(store: MemoryStore, value: object) -> None:
    with pytest.raises(InvalidInputError) as error:
        store.kv.set("k", value)
    assert error.value.field == "value"
    assert store.kv.list() == []


def test_a_value_that_contains_itself_is_refused(store: MemoryStore) -> None:
    value: list[object] = []
    value.append(value)
    with pytest.raises(InvalidInputError):
        store.kv.set("k", value)


_KEYS = st.sampled_from(["a", "b", "a/b"])
_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)
_OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("set"), _KEYS, _JSON, st.sampled_from([None, 1, 5])),
        st.tuples(st.just("delete"), _KEYS),
        st.tuples(st.just("wait"), st.integers(1, 4)),
    ),
    max_size=15,
)


@given(_OPERATIONS)
def test_the_store_behaves_like_a_dictionary_with_a_clock(tmp_path_factory: pytest.TempPathFactory, operations) -> None:
    with open_store(tmp_path_factory.mktemp("kv")) as store:
        model: dict[str, tuple[object, float]] = {}
        second = 0
        for operation in operations:
            if operation[0] == "set":
                _, key, value, ttl = operation
                store.kv.set(key, value, ttl_seconds=ttl)
                model[key] = (value, float("inf") if ttl is None else second + ttl)
            elif operation[0] == "delete":
                assert store.kv.delete(operation[1]) == (operation[1] in model)
                model.pop(operation[1], None)
            else:
                second += operation[1]
                set_clock(store, NOW_MS + 1000 * second)
            model = {key: held for key, held in model.items() if held[1] > second}
            found = {entry.key: entry.value for entry in store.kv.list()}
            assert json.dumps(found, sort_keys=True) == json.dumps(
                {key: held[0] for key, held in model.items()}, sort_keys=True
            )
