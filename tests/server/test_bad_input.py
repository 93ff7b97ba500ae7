"""Invalid arguments: the tool names the argument, writes nothing and does not crash (predecessor 28)."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from opencode_memory import MemoryStore
from opencode_memory.config.sections import Tools
from opencode_memory.server.tool_calls import select_tools
from support.mcp import MODES, World
from support.mcp_http import Wire
from support.mcp_scene import ALWAYS_FAILING, PROJECT, Scene

TOOLS = {tool.name: tool for tool in select_tools(Tools.ALL)}
LEAKS = re.compile(
    r"Traceback|pydantic|https?://errors|object at 0x|<class|Error\(|\[type=|input_value|\.py\b|NoneType|dict\b|"
    r"sys\.|failed because of an internal error"
)
FREE = frozenset({"value"})
"""Arguments that accept any JSON."""


def calls(scene: Scene) -> list[tuple[str, dict[str, Any]]]:
    return [*scene.valid_calls().items(), *ALWAYS_FAILING.items()]


def nest(depth: int) -> Any:
    value: Any = "deep"
    for _ in range(depth):
        value = {"in": [value]}
    return value


def bad_values(schema: dict[str, Any], *, required: bool) -> Iterator[Any]:
    """Yield values that the schema does not allow, and meaningless ones, but not null and "" for optional arguments."""
    kind = schema.get("type", "string")
    yield nest(40)
    if required:
        yield from (None, "") if kind != "string" else (None,)
    if kind == "string":
        yield from (5, 1.5, True, [], ["a", "b"], {}, {"text": "a"}, "a\ud800b")
        if "enum" in schema:
            yield from ("nope", schema["enum"][0].upper())
        if required and (schema.get("minLength") or "enum" in schema):
            yield ""
        if "maxLength" in schema:
            yield "x" * (schema["maxLength"] + 1)
            yield "\N{PILE OF POO}" * (schema["maxLength"] + 1)
    elif kind in ("integer", "number"):
        yield from ("many", [], [1], {}, "0x10", 1e300, "1" * 5000)
        if kind == "integer":
            yield from (1.5, "1.5")
        for bound, step in (("minimum", -1), ("maximum", 1)):
            if bound in schema:
                yield schema[bound] + step
                yield str(schema[bound] + step)
        if "exclusiveMinimum" in schema:
            yield from (schema["exclusiveMinimum"], -1)
        yield from (-1, 10**30)
    elif kind == "boolean":
        yield from ("maybe", 7, -1, [], {})
    elif kind == "array":
        yield from (5, {}, [5], [None], [["a"]], [{"a": 1}], '[{"a": 1}]', "[1, 2]", ["a\ud800b"])
        if "maxItems" in schema:
            yield ["abcdef12"] * (schema["maxItems"] + 1)
            yield json.dumps(["abcdef12"] * (schema["maxItems"] + 1))
        if schema.get("minItems"):
            yield from ([], "[]")
        longest = schema["items"].get("maxLength")
        if longest:
            yield ["x" * (longest + 1)]
    else:
        raise AssertionError(schema)


def is_readable(text: str) -> bool:
    return not LEAKS.search(text) and len(text.encode()) < 2_000


def test_invalid_argument_is_named_and_writes_nothing(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    before = scene.world.dump()
    for name, good in calls(scene):
        schema = TOOLS[name].input
        tried = 0
        for field, kind in schema["properties"].items():
            for value in bad_values(kind, required=field in schema.get("required", [])) if field not in FREE else ():
                text = scene.agent.refused(name, **{**good, field: value})
                tried += 1
                assert field in text, (name, field, value, text)
                assert is_readable(text), (name, field, value, text)
        assert tried >= 5 * len(set(schema["properties"]) - FREE), name
        assert scene.world.dump() == before, name
    assert caplog.records == []
    assert scene.agent.ok("memory_status").data["status"] == "healthy"


def test_missing_argument_is_named(scene: Scene) -> None:
    before = scene.world.dump()
    missing = 0
    for name, good in calls(scene):
        for field in TOOLS[name].input.get("required", []):
            text = scene.agent.refused(name, **{key: value for key, value in good.items() if key != field})
            assert f"{field}: is required" in text
            missing += 1
    assert missing > 25
    assert scene.world.dump() == before


def test_unknown_argument_is_named_with_a_suggestion(scene: Scene) -> None:
    before = scene.world.dump()
    for name, good in calls(scene):
        for unknown in ("contnt", "constructor", "a b", "\ud800", "x" * 5000, "", "__proto__"):
            text = scene.agent.refused(name, **{**good, unknown: 1})
            assert f"{name} has no such argument" in text
            assert is_readable(text), (name, unknown, text)
    assert scene.world.dump() == before


@pytest.mark.parametrize("tool", ["get_active_sessions", "memory_status"])
def test_unknown_argument_of_a_tool_without_arguments_says_that_it_takes_none(scene: Scene, tool: str) -> None:
    refused = scene.agent.refused(tool, project="walrus")
    assert refused == f"project: {tool} has no such argument; it takes none"


def test_many_unknown_arguments_are_not_all_listed(scene: Scene) -> None:
    text = scene.agent.refused("recall", query="x", **{f"unknown{number}": number for number in range(1000)})
    assert "unknown0" in text
    assert is_readable(text)


WRITTEN = [
    ("remember", "content"),
    ("remember", "topic"),
    ("remember", "session"),
    ("edit_memory", "content"),
    ("log_session", "summary"),
    ("session_start", "session_id"),
    ("session_start", "working_on"),
    ("claim_item", "item_ref"),
    ("archive_memory", "reason"),
    ("resolve_blocker", "resolution"),
    ("kv_set", "key"),
    ("link_memories", "kind"),
    ("link_memories", "reason"),
]


@pytest.mark.parametrize(("name", "field"), WRITTEN)
def test_nul_in_text_is_refused_or_removed(scene: Scene, name: str, field: str) -> None:
    before = scene.world.dump()
    reply = scene.agent.call(name, **{**scene.valid_calls()[name], field: "walrus\0bee"})
    after = scene.world.dump()
    assert is_readable(reply.text)
    assert not any("\\u0000" in row for row in after)
    assert "\0" not in reply.text
    if reply.is_error:
        assert after == before


@pytest.mark.parametrize("blank", [" ", "\n\t", "\u3000"])
def test_text_without_a_visible_character_is_refused(scene: Scene, blank: str) -> None:
    before = scene.world.dump()
    refusals = [
        scene.agent.refused("remember", content=blank, category="fact"),
        scene.agent.refused("edit_memory", memory_id=scene.fact, content=blank),
        scene.agent.refused("log_session", summary=blank),
        scene.agent.refused("kv_set", key=blank, value=1),
        scene.agent.refused("session_start", session_id=blank),
        scene.agent.refused("claim_item", session_id="s1", item_ref=blank),
    ]
    assert all(is_readable(text) for text in refusals)
    refused = scene.agent.refused("session_start", session_id="s1", working_on=blank)
    assert refused == "working_on: is empty; leave it out instead"
    assert scene.world.dump() == before


def test_zero_width_text_is_refused(scene: Scene) -> None:
    scene.agent.refused("remember", content="\u200b\u2060\ufeff", category="fact")


IDS = [
    ("get_memory", "memory_id"),
    ("get_linked_memories", "memory_id"),
    ("edit_memory", "memory_id"),
    ("archive_memory", "memory_id"),
    ("restore_memory", "memory_id"),
    ("delete_memory", "memory_id"),
    ("pin_memory", "memory_id"),
    ("set_reminder", "memory_id"),
    ("resolve_blocker", "memory_id"),
    ("unresolve_blocker", "memory_id"),
    ("undo", "memory_ids"),
    ("bulk_archive", "memory_ids"),
    ("link_memories", "source_id"),
    ("link_memories", "target_id"),
]


NO_IDS = ("abcdef12", "%%%%%%", "______", "      ", "'; DROP TABLE memory; --", "0" * 64, "\0" * 8)


@pytest.mark.parametrize(("name", "field"), IDS)
def test_malformed_id_is_refused(scene: Scene, name: str, field: str) -> None:
    good = {"reason": "r"} if name == "bulk_archive" else scene.valid_calls()[name]
    before = scene.world.dump()
    for id in NO_IDS:
        text = scene.agent.refused(name, **{**good, field: [id] if field == "memory_ids" else id})
        assert "was not found" in text or "id" in text
        assert is_readable(text)
    assert scene.world.dump() == before


def test_ambiguous_id_is_refused(scene: Scene) -> None:
    before = scene.world.dump()
    text = scene.agent.refused("delete_memory", memory_id=scene.fact[:6])
    assert "several memories" in text
    assert scene.world.dump() == before


def test_failed_undo_of_one_memory_undoes_none(scene: Scene) -> None:
    agent = scene.agent
    agent.ok("edit_memory", memory_id=scene.fact, content="changed")
    spent = agent.remember("never changed")
    agent.ok("undo", memory_ids=[spent])
    before = scene.world.dump()
    agent.refused("undo", memory_ids=[scene.fact, spent])
    assert scene.world.dump() == before


def test_invalid_summary_does_not_end_the_session(scene: Scene) -> None:
    before = scene.world.dump()
    text = scene.agent.refused("session_end", session_id="s1", summary="  ")
    assert scene.world.dump() == before
    assert "summary" in text


def test_one_unknown_id_archives_nothing(scene: Scene) -> None:
    before = scene.world.dump()
    scene.agent.refused("bulk_archive", reason="r", memory_ids=[scene.fact, "abcdef12"])
    assert scene.world.dump() == before


def test_one_invalid_learning_stores_nothing_of_a_session(scene: Scene) -> None:
    before = scene.world.dump()
    scene.agent.refused("log_session", summary="Moved the port", learnings=["fine", " "])
    assert scene.world.dump() == before


def test_refused_call_in_a_new_folder_creates_no_project(world: World) -> None:
    agent = world.agent(world.repository("new"))
    agent.refused("archive_memory", memory_id="abcdef12")
    agent.refused("remember", content=" ", category="fact")
    assert world.store.projects.list() == []


def test_contradicting_arguments_are_refused(scene: Scene) -> None:
    before = scene.world.dump()
    refusals = [
        scene.agent.refused("bulk_archive", reason="r"),
        scene.agent.refused("bulk_archive", reason="r", memory_ids=[scene.fact], category="fact"),
        scene.agent.refused("edit_memory", memory_id=scene.fact),
        scene.agent.refused("link_memories", source_id=scene.fact, target_id=scene.fact),
        scene.agent.refused("delete_memory", memory_id=scene.fact, also_delete_vector=False),
        scene.agent.refused("import_memories", input_path="import.json", skip_duplicates=False),
        scene.agent.refused("resolve_blocker", memory_id=scene.fact),
        scene.agent.refused("unresolve_blocker", memory_id=scene.blocker),
        scene.agent.refused("search_history", query="x", category="nope"),
        scene.agent.refused("edit_memory", memory_id=scene.fact, category="nope"),
        scene.agent.refused("bulk_archive", reason="r", category="nope"),
        scene.agent.refused("export_memories", categories=["nope"]),
        scene.agent.refused("recall", query="x", since="someday"),
    ]
    assert all(is_readable(text) for text in refusals)
    assert scene.world.dump() == before


# Deviations from the schema that models often make


def test_null_means_an_omitted_argument(scene: Scene) -> None:
    for name, tool in TOOLS.items():
        if name in ALWAYS_FAILING:
            continue
        optional = set(tool.input["properties"]) - set(tool.input.get("required", []))
        given = dict.fromkeys(optional) | scene.valid_calls()[name]
        if name == "bulk_archive":
            given["memory_ids"] = None
        scene.agent.ok(name, **given)


def test_lists_may_be_strings(scene: Scene) -> None:
    id = scene.agent.remember("one", tags='["a", "b"]', entities="!12")
    memory = scene.world.store.get(id)
    assert memory.tags == ("a", "b")
    assert memory.entities == (f"{PROJECT}!12",)
    scene.agent.ok("undo", memory_ids=id)
    scene.agent.ok("bulk_archive", reason="r", memory_ids=json.dumps([scene.fact, scene.other]))
    assert scene.world.store.get(scene.fact).status == "archived"


def test_string_in_brackets_is_a_list_of_one(scene: Scene) -> None:
    id = scene.agent.remember("one", tags="[wip]")
    assert scene.world.store.get(id).tags == ("[wip]",)


def test_numbers_and_flags_may_be_strings(scene: Scene) -> None:
    assert len(scene.agent.ok("recall", query="port", limit="1", compact="true").data["memories"]) == 1
    scene.agent.ok("kv_set", key="a", value="1", ttl_seconds="60")
    assert scene.agent.ok("kv_get", key="a").data["value"] == "1"


def test_empty_string_means_an_omitted_optional_argument(scene: Scene) -> None:
    for field in ("project", "category", "since", "until", "entity"):
        scene.agent.ok("recall", query="port", **{field: ""})
    scene.agent.ok("search_history", query="port", category="", project="")
    scene.agent.ok("export_memories", output_path="")


def test_kv_accepts_null_as_a_value(scene: Scene) -> None:
    scene.agent.ok("kv_set", key="a", value=None)
    assert scene.agent.ok("kv_get", key="a").data["value"] is None


ANY_JSON = [0, False, "", [], {}, 1.5, -(10**15), {"a": [None, {"b": "\u2028"}]}, "x" * 100_000]


def test_kv_returns_any_json_unchanged(scene: Scene) -> None:
    for value in ANY_JSON:
        scene.agent.ok("kv_set", key="a", value=value)
        assert scene.agent.ok("kv_get", key="a").data["value"] == value
        scene.agent.ok("kv_list")


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(60, "60"), (0.5, "0.5"), (1_234_567, "1234567"), (2_592_000, "2592000"), (1e10, "10000000000")],
)
def test_answer_of_kv_set_has_the_exact_seconds(scene: Scene, seconds: float, said: str) -> None:
    assert scene.agent.ok("kv_set", key="a", value=1, ttl_seconds=seconds).text == f"Stored for {said} seconds."


def test_kv_value_that_cannot_be_stored_is_refused(scene: Scene) -> None:
    before = scene.world.dump()
    for value in (nest(100), "x" * 1_100_000, ["x"] * 300_000):
        text = scene.agent.refused("kv_set", key="a", value=value)
        assert "value" in text
        assert is_readable(text)
    assert scene.world.dump() == before


# Over HTTP


@pytest.mark.parametrize("mode", MODES)
def test_call_without_arguments_equals_empty_arguments(world: World, mode: str) -> None:
    agent = world.agent(mode=mode)
    result = agent.run(agent.client.call_tool, "memory_status", None)
    assert not result.is_error


@pytest.mark.parametrize(
    "body",
    [
        "",
        "{",
        "[]",
        "null",
        "[" * 100_000 + "]" * 100_000,
        '{"jsonrpc":"2.0","id":1,"method":"tools/call"}',
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}',
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"recall","arguments":[1]}}',
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5,"arguments":{}}}',
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"kv_set","arguments":{"key":"a","value":'
        + "[" * 5000
        + "]" * 5000
        + "}}}",
        (
            '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"remember","arguments":'
            '{"content":"a\\ud800b","category":"fact"}}}'
        ),
        '{"jsonrpc":"2.0","id":1,"method":"no/such/method","params":{}}',
        '{"jsonrpc":"1.0","id":1,"method":"tools/list"}',
        '{"id":{},"method":"tools/list"}',
        b"\xff\xfe\x00",
    ],
)
def test_invalid_message_is_answered_and_the_server_continues(world: World, body: bytes | str) -> None:
    before = world.dump()
    with Wire(world.app()) as wire:
        answer = wire.post(body)
        assert answer.status in (200, 202, 400)
        assert b"Traceback" not in answer.message
        assert wire.call("memory_status").text.startswith("healthy")
    assert world.dump() == before


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=10,
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_random_arguments_do_not_crash_a_tool(scene: Scene, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(TOOLS)))
    fields = st.sampled_from([*TOOLS[name].input["properties"], "unknown"])
    arguments = data.draw(st.dictionaries(fields, JSON, max_size=6))
    reply = scene.agent.call(name, **arguments)
    assert reply.text
    assert "failed because of an internal error" not in reply.text


class PanicException(BaseException):
    """As PyO3 raises it."""


PanicException.__module__ = "pyo3_runtime"


@pytest.mark.parametrize("tool", ["recall", "remember"])
def test_panic_of_the_engine_ends_only_the_call(world: World, folder: Path, tool: str) -> None:
    arguments = {"recall": {"query": "x"}, "remember": {"content": "The walrus sleeps", "category": "fact"}}[tool]

    def panic(*_: Any, **__: Any) -> Any:
        raise PanicException

    with world.serve() as server:
        agent, other = server.agent(folder), server.agent(folder)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(MemoryStore, tool, panic)
            assert "the server's log" in agent.refused(tool, **arguments)
        assert not world.state.health().problems
        for one in (agent, other):
            one.ok(tool, **arguments)


def test_bug_in_a_tool_is_logged_and_not_shown_to_the_client(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise KeyError("a secret of /home/somebody")

    monkeypatch.setattr(MemoryStore, "recall", broken)
    with caplog.at_level(logging.ERROR, logger="opencode_memory"):
        text = scene.agent.refused("recall", query="x")
    assert "secret" not in text
    assert "the server's log" in text
    assert "a secret of" in caplog.text
    monkeypatch.undo()
    scene.agent.ok("recall", query="x")
