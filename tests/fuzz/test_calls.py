"""Calls of every tool as its schema allows, and beside it: each gets a result or an error of the tool, and in time."""

from __future__ import annotations

import json
import math
from time import monotonic
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from opencode_memory.config.sections import Tools
from opencode_memory.server.tool_calls import select_tools
from support.mcp import Reply, World
from support.mcp_scene import PROJECT, Scene, set_up
from support.mutation import fuzzing, seed_files

TOOLS = {tool.name: tool for tool in select_tools(Tools.ALL)}
SECONDS = 20
WORDS = st.sampled_from(
    ["s1", "s2", "!12", "state", PROJECT, "*", "global", "port", "7d", "2026-02-30", "in 3 weeks", "notes.md", "../x", "/etc/passwd",
     "import.json", "a\0b", "a\ud800", "\u202e\u2028", "%", "'; --", "ghp_" + "a" * 36, "x" * 600, "<!-- opencode-memory:end -->"]
)  # fmt: skip
STRINGS = WORDS | st.text(max_size=40)
NAMES = STRINGS.filter(lambda text: text.isascii())
"""Names inside of objects. The client of these tests cannot send a lone surrogate there; ``test_http`` does."""
NUMBERS = st.integers() | st.sampled_from([0, -1, 1, 2**31, 2**63, -(2**63) - 1, 10**30, 0.5, 1e300, -0.0])
ANYTHING = st.recursive(
    st.none() | st.booleans() | NUMBERS | STRINGS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=8,
)


def fits(schema: dict[str, Any], ids: list[str]) -> st.SearchStrategy[Any]:
    """Return values that a schema allows; ids of real memories are among the texts."""
    match schema.get("type"):
        case _ if "enum" in schema:
            return st.sampled_from(schema["enum"])
        case "string":
            return st.sampled_from(ids) | STRINGS
        case "integer":
            low = schema.get("minimum", schema.get("exclusiveMinimum", -1) + 1)
            return st.integers(low, schema.get("maximum", 10_000))
        case "number":
            return st.floats(schema.get("minimum", 0), schema.get("maximum", 1e9), allow_nan=False)
        case "boolean":
            return st.booleans()
        case "array":
            return st.lists(fits(schema["items"], ids), min_size=schema.get("minItems", 0), max_size=4)
        case "object":
            return st.dictionaries(NAMES, ANYTHING, max_size=3)
        case _:
            return ANYTHING


def kept_calls(scene: Scene) -> dict[str, dict[str, Any]]:
    """Return the kept calls by the names of their files. ``$fact`` stands for the id of a memory, ``$deleted`` for another."""
    texts = {file.stem: file.read_text(encoding="utf-8") for file in seed_files("calls")}
    return {
        name: json.loads(text.replace("$fact", scene.fact).replace("$deleted", scene.deleted))
        for name, text in texts.items()
    }


def draw_call(data: st.DataObject, scene: Scene) -> tuple[str, dict[str, Any]]:
    """Draw a call: one call in five is a kept one, of which one argument is replaced."""
    ids = [scene.fact, scene.other, scene.archived, scene.deleted, scene.blocker, scene.resolved]
    if data.draw(st.integers(0, 4)) == 0:
        kept = data.draw(st.sampled_from(list(kept_calls(scene).values())))
        arguments = dict(kept["arguments"])
        fields = st.sampled_from(sorted(TOOLS[kept["tool"]].input["properties"]) or ["x"])
        arguments[data.draw(fields)] = data.draw(ANYTHING)
        return kept["tool"], arguments
    name = data.draw(st.sampled_from(sorted(TOOLS)))
    schema = TOOLS[name].input
    arguments = {}
    for field, kind in schema["properties"].items():
        if field in schema.get("required", []) or data.draw(st.integers(0, 2)) == 0:
            allowed = data.draw(st.integers(0, 9)) > 0
            arguments[field] = data.draw(fits(kind, ids) if allowed else ANYTHING)
    return name, arguments


@fuzzing(250)
@given(st.data())
def check_call(scene: Scene, seen: dict[str, set[bool]], data: st.DataObject) -> None:
    """Make one call."""
    name, arguments = draw_call(data, scene)
    reply = make_call(scene, name, arguments)
    seen.setdefault(name, set()).add(reply.is_error)


def make_call(scene: Scene, name: str, arguments: dict[str, Any]) -> Reply:
    """Make a call and check what holds for any reply."""
    begin = monotonic()
    reply = scene.agent.call(name, **arguments)
    assert monotonic() - begin < SECONDS, (name, arguments)
    assert reply.text, (name, arguments)
    assert "internal error" not in reply.text, (name, arguments, reply.text)
    assert "Traceback" not in reply.text, (name, arguments, reply.text)
    assert "\0" not in reply.text, (name, arguments, reply.text)
    reply.text.encode()
    assert all(math.isfinite(number) for number in numbers(reply.data))
    return reply


def numbers(value: Any) -> list[float]:
    """Return all fractions inside a JSON value."""
    if isinstance(value, float):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [number for one in inner for number in numbers(one)]


def test_any_call_is_answered_and_the_store_stays_sound(world: World) -> None:
    scene, seen = set_up(world), dict[str, set[bool]]()
    check_call(scene, seen)
    assert len(seen) > len(TOOLS) / 2
    assert any(False in outcomes for outcomes in seen.values())
    assert_sound(world, scene)


def test_kept_calls_are_done_or_refused_with_their_error(world: World) -> None:
    scene = set_up(world)
    for name, kept in kept_calls(scene).items():
        reply = make_call(scene, kept["tool"], kept["arguments"])
        assert reply.is_error == ("error" in kept), (name, reply.text)
        assert kept.get("error", "") in reply.text, (name, reply.text)
    assert_sound(world, scene)


def assert_sound(world: World, scene: Scene) -> None:
    """Assert that the store has no problem, and holds neither the secret nor the file of passwords."""
    report = world.store.indexes.verify()
    assert (report.store_problems, report.index_problems) == ((), ())
    assert scene.agent.ok("memory_status").data["status"] == "healthy"
    assert "ghp_a" not in json.dumps(world.dump())
    assert "root:" not in json.dumps(world.dump())
