"""The boot context: its sections, their order and its token budget (predecessors 17 and 31)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from opencode_memory.text.formatting import short_id
from support.mcp import Agent, World

PROJECT = "gitlab.com/group/walrus"
HEADINGS = {
    "identity": "Who and where",
    "directives": "Directives",
    "habits": "How things are done here",
    "unresolved_blockers": "Unresolved blockers",
    "active_sessions": "Sessions at work, and what they claim",
    "hot_items": "Pinned, and used most these days",
    "recent_decisions": "Recent decisions",
    "recent_solutions": "What failed lately, and what helped",
    "plans": "Plans",
}
BUDGETS = (200, 201, 250, 300, 400, 600, 1000, 1500, 3000, 10_000, 100_000)
DAY_SECONDS = 86_400


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with World(tmp_path, identity__user="ada", identity__instance="gitlab.com") as world:
        yield world


@pytest.fixture
def agent(world: World) -> Agent:
    return connect_agent(world)


def connect_agent(world: World) -> Agent:
    agent = world.agent(world.repository("walrus"))
    agent.ok("kv_delete", key="none")  # a first write registers the project
    return agent


def remember_as_user(world: World, content: str, category: str = "directive", **more: object) -> str:
    """Store a memory as the user."""
    fields = {"project": PROJECT} | more
    return world.store.remember(content, category=category, **fields).id


def fill(world: World, agent: Agent) -> dict[str, str]:
    """Store one memory for each section."""
    agent.ok("session_start", session_id="s1", working_on="the walrus")
    agent.ok("claim_item", session_id="s1", item_ref="!12")
    return {
        "directives": remember_as_user(world, "Always ask"),
        "habits": agent.remember("Walruses are named in upper case", "convention"),
        "unresolved_blockers": agent.remember("Port 5128 is taken", "blocker"),
        "hot_items": remember_as_user(world, "The walrus is pinned", "fact", pinned=True),
        "recent_decisions": agent.remember("Ports are above 5000", "decision"),
        "recent_solutions": agent.remember("The walrus slept; what helped: a fish", "solution"),
        "plans": agent.remember("Feed the walrus", "plan"),
    }


def find_headings(text: str) -> list[str]:
    return re.findall(r"^## (.*)$", text, re.MULTILINE)


def get_section(text: str, name: str) -> str:
    """Return the text of one section."""
    return text.partition(f"## {HEADINGS[name]}\n")[2].partition("\n## ")[0]


def tokens(world: World, text: str) -> int:
    return world.state.count_tokens(text)


def test_empty_store_is_reported(tmp_path: Path) -> None:
    with World(tmp_path) as world:
        text = world.agent().ok("get_boot_context").text
    assert text == "There are no memories here yet."


def test_sections_have_their_order_and_content(world: World, agent: Agent) -> None:
    ids = fill(world, agent)
    reply = agent.ok("get_boot_context", max_tokens=4000)
    assert find_headings(reply.text) == list(HEADINGS.values())
    assert list(reply.data["sections"]) == list(HEADINGS)
    for name, id in ids.items():
        assert f"[{short_id(id)}]" in get_section(reply.text, name), name
        assert reply.data["sections"][name] == {"shown": [id]}
    assert get_section(reply.text, "identity") == f"user: ada\nforge: gitlab.com\nproject: {PROJECT}"
    assert get_section(reply.text, "active_sessions").startswith("- s1: the walrus (last seen now; claims !12)")
    assert reply.data["tokens"] <= tokens(world, reply.text) <= 4000


@pytest.mark.parametrize(
    "flag",
    [
        "identity",
        "directives",
        "habits",
        "unresolved_blockers",
        "active_sessions",
        "hot_items",
        "recent_decisions",
        "recent_solutions",
        "plans",
    ],
)
def test_configuration_disables_a_section(tmp_path: Path, flag: str) -> None:
    with World(tmp_path, identity__user="ada", **{f"boot__{flag}": "false"}) as world:
        agent = connect_agent(world)
        fill(world, agent)
        text = agent.ok("get_boot_context", max_tokens=4000).text
    assert find_headings(text) == [heading for name, heading in HEADINGS.items() if name != flag]


def test_configuration_limits_the_total_and_the_hot_items(tmp_path: Path) -> None:
    with World(tmp_path, boot__max_tokens="300", boot__max_hot_items="2") as world:
        agent = connect_agent(world)
        for number in range(30):
            agent.remember(f"The walrus number {number} sleeps under the ice")
        agent.ok("recall", query="walrus", limit=30)
        reply = agent.ok("get_boot_context")
        assert tokens(world, reply.text) <= 300
        assert len(agent.ok("get_boot_context", max_tokens=4000).data["sections"]["hot_items"]["shown"]) == 2


def test_most_used_memories_of_recent_days_are_hot(world: World, agent: Agent) -> None:
    cold, hot = agent.remember("The bee sleeps"), agent.remember("The walrus sleeps")
    for _ in range(3):
        agent.ok("recall", query="walrus")
    assert agent.ok("get_boot_context").data["sections"]["hot_items"]["shown"] == [hot]
    world.pass_time(9 * DAY_SECONDS)
    assert "hot_items" not in agent.ok("get_boot_context").data["sections"]
    assert cold not in agent.ok("get_boot_context").text


def test_no_memory_is_shown_twice(world: World, agent: Agent) -> None:
    id = agent.remember("Ports are above 5000", "decision")
    agent.ok("pin_memory", memory_id=id)
    agent.ok("recall", query="ports")
    text = agent.ok("get_boot_context").text
    assert text.count("Ports are above 5000") == 1


def test_old_decisions_are_not_recent(world: World, agent: Agent) -> None:
    agent.remember("Ports are above 5000", "decision")
    assert "Ports" in agent.ok("get_boot_context").text
    world.pass_time(31 * DAY_SECONDS)
    assert "Ports" not in agent.ok("get_boot_context").text


def test_shown_blocker_can_be_resolved_and_reopened(world: World, agent: Agent) -> None:
    agent.remember("Port 5128 is taken", "blocker")
    agent.remember("The walrus is ill", "blocker")
    [shown] = re.findall(r"\[([0-9a-f]{8})\][^\n]*\n   Port 5128", agent.ok("get_boot_context").text)
    agent.ok("resolve_blocker", memory_id=shown, resolution="Another port")
    text = agent.ok("get_boot_context").text
    assert "Port 5128" not in text
    assert "The walrus is ill" in text
    agent.ok("unresolve_blocker", memory_id=shown)
    assert "Port 5128 is taken" in agent.ok("get_boot_context").text
    assert "Another port" not in agent.ok("get_memory", memory_id=shown).text


def test_old_blocker_is_shown_despite_many_resolved_ones(world: World, agent: Agent) -> None:
    remember_as_user(world, "Port 5128 is taken", "blocker")
    for number in range(205):
        remember_as_user(world, f"Solved {number}", "blocker", tags=["resolved"])
    assert "Port 5128 is taken" in agent.ok("get_boot_context").text


def test_archived_expired_and_candidate_memories_are_not_shown(world: World, agent: Agent) -> None:
    remember_as_user(world, "Always eat candy", status="candidate")
    remember_as_user(world, "Always expire", ttl_seconds=60)
    agent.ok("archive_memory", memory_id=remember_as_user(world, "Always be archived"))
    remember_as_user(world, "Always be a tool", trust="tool")
    world.pass_time(61)
    assert "Always" not in agent.ok("get_boot_context").text


def test_only_directives_of_the_user_are_shown(world: World, agent: Agent) -> None:
    agent.remember("Never ask", "directive")
    remember_as_user(world, "Always ask")
    agent.remember("Never sleep", "directive", scope="global")
    remember_as_user(world, "Always sleep", project=None, scope="global")
    text = agent.ok("get_boot_context").text
    assert "Always ask" in get_section(text, "directives")
    assert "Always sleep" in get_section(text, "directives")
    assert "Never" not in text


def test_directive_that_an_earlier_version_kept_active_for_an_agent_is_not_shown(world: World, agent: Agent) -> None:
    ids = [remember_as_user(world, f"Never ask {number}", pinned=number == 0) for number in range(2)]
    for id in ids:
        world.store.edit(id, trust="agent")
    agent.ok("recall", query="never ask")
    assert {world.store.get(id).status for id in ids} == {"active"}
    assert "Never ask" not in agent.ok("get_boot_context").text


def test_expired_session_is_not_shown(world: World, agent: Agent) -> None:
    agent.ok("session_start", session_id="s1", working_on="the walrus")
    world.pass_time(901)
    assert "s1" not in agent.ok("get_boot_context").text


def test_budget_is_kept_for_any_memories(world: World, agent: Agent) -> None:
    remember_as_user(world, "中文" * 200)
    remember_as_user(world, "\N{GRINNING FACE}" * 300, "decision")
    remember_as_user(world, "z" * 5000, "plan")
    remember_as_user(world, "\n\n\n".join("line of text" for _ in range(500)), "fact", pinned=True)
    remember_as_user(world, "a,b;c.d!" * 200, "blocker")
    agent.ok("session_start", session_id="s" * 500, working_on="w" * 500)
    for budget in BUDGETS:
        assert tokens(world, agent.ok("get_boot_context", max_tokens=budget).text) <= budget, budget


def test_few_directives_are_all_shown_or_listed(world: World, agent: Agent) -> None:
    ids = [
        remember_as_user(world, f"Directive {number} wants thing {number} done in a certain way")
        for number in range(18)
    ]
    for budget in BUDGETS:
        reply = agent.ok("get_boot_context", max_tokens=budget)
        assert not [id for id in ids if short_id(id) not in reply.text], budget
        listed = reply.data["sections"]["directives"]
        assert sorted((*listed["shown"], *listed.get("omitted", []))) == sorted(ids)


def test_many_directives_stay_within_the_budget(world: World, agent: Agent) -> None:
    for number in range(300):
        remember_as_user(world, f"Directive {number} wants thing {number} done in a certain way")
    for budget in BUDGETS:
        assert tokens(world, agent.ok("get_boot_context", max_tokens=budget).text) <= budget, budget


def test_no_directive_is_dropped_silently(world: World, agent: Agent) -> None:
    ids = [
        remember_as_user(world, f"Directive {number} wants thing {number} done in a certain way")
        for number in range(300)
    ]
    reply = agent.ok("get_boot_context", max_tokens=100_000)
    assert not [id for id in ids if short_id(id) not in reply.text]


@pytest.mark.parametrize("budget", [300, 500, 1000])
def test_blockers_are_listed_by_id_despite_many_directives(world: World, agent: Agent, budget: int) -> None:
    for number in range(40):
        remember_as_user(world, f"Directive {number} wants thing {number} done in a certain way")
    ids = [agent.remember(f"Port {number} is taken", "blocker") for number in range(3)]
    text = agent.ok("get_boot_context", max_tokens=budget).text
    assert not [id for id in ids if short_id(id) not in text]


def test_omitted_memories_are_listed_with_the_tool_that_reads_them(world: World, agent: Agent) -> None:
    ids = [
        remember_as_user(world, f"Directive {number} wants thing {number} done in a certain way")
        for number in range(12)
    ]
    named = set()
    for budget in BUDGETS:
        _, _, rest = agent.ok("get_boot_context", max_tokens=budget).text.partition("## Not shown for lack of room: ")
        for short in re.findall(r"\b[0-9a-f]{8}\b", rest):
            named.add(short)
            assert agent.ok("get_memory", memory_id=short).data["memory"]["id"] in ids
    assert len(named) > 3


def test_omitted_memories_are_listed_by_title(world: World, agent: Agent) -> None:
    for number in range(12):
        remember_as_user(world, f"Directive {number} wants thing {number} done in a certain way")
    text = agent.ok("get_boot_context", max_tokens=300).text
    assert "Not shown for lack of room" in text
    assert not [number for number in range(12) if f"Directive {number} " not in text]


def test_dozen_directives_stay_within_the_budget(world: World, agent: Agent) -> None:
    for number in range(12):
        remember_as_user(world, f"Directive {number} wants thing {number} done in a certain way")
    for budget in BUDGETS:
        assert tokens(world, agent.ok("get_boot_context", max_tokens=budget).text) <= budget, budget


def test_directives_and_blockers_are_listed_within_every_budget(world: World, agent: Agent) -> None:
    ids = [remember_as_user(world, f"Directive {number}" + " never asks 中文" * number) for number in range(8)]
    ids += [agent.remember(f"Port {number}" + " is taken" * number, "blocker") for number in range(3)]
    for number in range(10):
        remember_as_user(world, f"Plan {number} feeds the walrus", "plan")
        remember_as_user(world, f"Fact {number} is pinned", "fact", pinned=True)
    for budget in range(200, 1600, 23):
        reply = agent.ok("get_boot_context", max_tokens=budget)
        assert reply.data["tokens"] == tokens(world, reply.text) <= budget
        assert not [id for id in ids if short_id(id) not in reply.text], budget


@pytest.mark.parametrize("budget", [200, 600, 1500])
def test_omitted_memories_without_room_for_ids_are_counted(world: World, agent: Agent, budget: int) -> None:
    for number in range(300):
        remember_as_user(world, f"Directive {number} wants thing {number} done in a certain way")
        remember_as_user(world, f"Port {number} is taken", "blocker")
    text = agent.ok("get_boot_context", max_tokens=budget).text
    assert tokens(world, text) <= budget
    for category in ("directive", "blocker"):
        assert f"more: recall with category {category}" in text
    known = len(set(re.findall(r"\b[0-9a-f]{8}\b", text)))
    assert known + sum(map(int, re.findall(r"and (\d+) more: recall", text))) == 600


def test_larger_budget_shows_no_fewer_memories(world: World, agent: Agent) -> None:
    for number in range(30):
        remember_as_user(world, f"Directive {number} wants thing {number} done in a certain way")
    shown = [
        len(agent.ok("get_boot_context", max_tokens=budget).data["sections"]["directives"]["shown"])
        for budget in BUDGETS
    ]
    assert shown == sorted(shown)
    assert shown[-1] == 30


def test_client_without_a_project_gets_global_memories(world: World, agent: Agent) -> None:
    fill(world, agent)
    remember_as_user(world, "Always sleep", project=None, scope="global")
    reply = world.agent().ok("get_boot_context")
    assert reply.data["project"] is None
    assert list(reply.data["sections"]) == ["identity", "directives"]
    assert "Always sleep" in reply.text
