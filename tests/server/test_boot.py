"""The boot context: the project brief through MCP, its order and its token budget (predecessors 17 and 31)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

import pytest

from support.mcp import Agent, World

PROJECT = "gitlab.com/group/walrus"
HEADINGS = {
    "directives": "Directives:",
    "habits": "Conventions and preferences:",
    "blockers": "Open blockers:",
    "decisions": "Newest decisions:",
    "plans": "Plans:",
    "others": "Also known:",
}
SESSIONS = "Sessions at work, and what they claim:"
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
        "habits": remember_as_user(world, "Walruses are named in upper case", "convention"),
        "blockers": agent.remember("Port 5128 is taken", "blocker"),
        "decisions": agent.remember("Ports are above 5000", "decision"),
        "plans": agent.remember("Feed the walrus", "plan"),
        "others": agent.remember("The walrus slept; what helped: a fish", "solution"),
    }


def get_section(text: str, heading: str) -> list[str]:
    """Return the lines of one section."""
    return list(takewhile(lambda line: not line.endswith(":"), text.partition(f"{heading}\n")[2].split("\n")))


def tokens(world: World, text: str) -> int:
    return world.state.count_tokens(text)


def test_empty_store_is_reported(tmp_path: Path) -> None:
    with World(tmp_path) as world:
        text = world.agent().ok("get_boot_context").text
    assert text == "There are no memories here yet."


def test_sections_have_their_order_and_content(world: World, agent: Agent) -> None:
    ids = fill(world, agent)
    reply = agent.ok("get_boot_context", max_tokens=4000)
    assert reply.text.split("\n")[1:] == [
        "user: ada",
        "forge: gitlab.com",
        f"project: {PROJECT}",
        HEADINGS["directives"],
        "- Always ask",
        HEADINGS["habits"],
        "- Walruses are named in upper case",
        HEADINGS["blockers"],
        f"- Port 5128 is taken (now; noted by an agent; id {ids['blockers'][-6:]})",
        HEADINGS["decisions"],
        "- Ports are above 5000 (now; noted by an agent)",
        HEADINGS["plans"],
        "- Feed the walrus (now; noted by an agent)",
        SESSIONS,
        "- s1: the walrus (last seen now; claims !12)",
        HEADINGS["others"],
        "- The walrus slept; what helped: a fish (noted by an agent)",
    ]
    assert reply.data["sections"] == {name: [id_] for name, id_ in ids.items()}
    assert reply.data["tokens"] == tokens(world, reply.text) <= 4000


@pytest.mark.parametrize("max_tokens", [400, 800])
def test_many_sessions_leave_the_rules_their_places(world: World, agent: Agent, max_tokens: int) -> None:
    rule = "Never push on Fridays, because nobody is here at the weekend to repair what broke"
    remember_as_user(world, rule, "directive")
    remember_as_user(world, "Walruses are named in upper case", "convention")
    for number in range(30):
        task = "reworking the import, so that it reports each error with its line and its column"
        agent.ok("session_start", session_id=f"s{number:02}", working_on=task)
        world.pass_time(1)
    for number in range(40):
        agent.ok("claim_item", session_id="s29", item_ref=f"src/folder/file{number}.py")
    reply = agent.ok("get_boot_context", max_tokens=max_tokens)
    assert get_section(reply.text, HEADINGS["directives"]) == [f"- {rule}"]
    assert get_section(reply.text, HEADINGS["habits"]) == ["- Walruses are named in upper case"]
    sessions = get_section(reply.text, SESSIONS)
    assert sessions == sorted(sessions, reverse=True)
    assert sessions[0].startswith("- s29: reworking")
    assert sessions[0].endswith("[…]")
    # What the rules leave is for further sessions.
    assert max_tokens - 80 < reply.data["tokens"] == tokens(world, reply.text) <= max_tokens


def test_configuration_limits_the_total(tmp_path: Path) -> None:
    with World(tmp_path, brief__max_tokens="300") as world:
        agent = connect_agent(world)
        for number in range(30):
            agent.remember(f"The walrus number {number} sleeps under the ice")
        reply = agent.ok("get_boot_context")
        assert tokens(world, reply.text) <= 300
        assert reply.data["omitted"] > 0
        assert agent.ok("get_boot_context", max_tokens=4000).data["omitted"] == 0


def test_rule_that_only_one_session_of_an_agent_noted_is_not_among_the_rules(world: World, agent: Agent) -> None:
    agent.remember("Walruses are named in upper case", "convention")
    text = agent.ok("get_boot_context").text
    assert HEADINGS["habits"] not in text
    assert get_section(text, HEADINGS["others"]) == ["- Walruses are named in upper case (noted by an agent)"]


def test_statement_of_a_file_that_the_agent_loads_is_left_out(world: World) -> None:
    folder = world.repository("walrus")
    (folder / "AGENTS.md").write_text("# Rules\n\n* Walruses are named in upper case.\n* Always ask.\n")
    agent = world.agent(folder)
    agent.ok("kv_delete", key="none")
    remember_as_user(world, "Walruses are named in upper case", "convention")
    remember_as_user(world, "Bees are named in lower case", "convention")
    assert get_section(agent.ok("get_boot_context").text, HEADINGS["habits"]) == ["- Bees are named in lower case"]


def test_no_memory_is_shown_twice(world: World, agent: Agent) -> None:
    id = agent.remember("Ports are above 5000", "decision")
    agent.ok("pin_memory", memory_id=id)
    agent.ok("recall", query="ports")
    text = agent.ok("get_boot_context").text
    assert text.count("Ports are above 5000") == 1


def test_shown_blocker_can_be_resolved_and_reopened(world: World, agent: Agent) -> None:
    agent.remember("Port 5128 is taken", "blocker")
    agent.remember("The walrus is ill", "blocker")
    [shown] = re.findall(r"Port 5128.*id ([0-9a-f]{6})", agent.ok("get_boot_context").text)
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
    assert sorted(get_section(text, HEADINGS["directives"])) == ["- Always ask", "- Always sleep"]
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


def test_directives_within_every_budget_are_shown_or_counted(world: World, agent: Agent) -> None:
    for number in range(300):
        remember_as_user(world, f"Directive {number} wants thing {number} done in a certain way")
        remember_as_user(world, f"Port {number} is taken", "blocker")
    for budget in BUDGETS:
        reply = agent.ok("get_boot_context", max_tokens=budget)
        assert reply.data["tokens"] == tokens(world, reply.text) <= budget
        shown = [id_ for ids in reply.data["sections"].values() for id_ in ids]
        assert len(set(shown)) == len(shown) == 600 - reply.data["omitted"]
        counted = re.findall(r"(\d+) (?:directives?|blockers?)\b", reply.text.rpartition("\n")[2])
        assert sum(map(int, counted)) == reply.data["omitted"], budget
    assert reply.data["omitted"] == 0


def test_directives_come_before_everything_else(world: World, agent: Agent) -> None:
    for number in range(40):
        remember_as_user(world, f"Plan {number} feeds the walrus", "plan")
        remember_as_user(world, f"Fact {number} is about the walrus and the fish that it eats every day", "fact")
    ids = [remember_as_user(world, f"Directive {number} wants it so") for number in range(10)]
    assert sorted(agent.ok("get_boot_context", max_tokens=300).data["sections"]["directives"]) == sorted(ids)


def test_headlines_can_be_opened_together(world: World, agent: Agent) -> None:
    facts = [f"Fact {number} is about the walrus number {number} and the fish that it eats" for number in range(60)]
    for fact in facts:
        agent.remember(fact)
    text = agent.ok("get_boot_context", max_tokens=400).text
    named = re.findall(r"^([0-9a-f]{6}) Fact", text, re.MULTILINE)
    assert len(named) > 5
    opened = agent.ok("get_memory", memory_id=named)
    assert {found["memory"]["content"] for found in opened.data["memories"]} <= set(facts)
    assert len(opened.data["memories"]) == len(named)


def test_larger_budget_shows_no_fewer_memories(world: World, agent: Agent) -> None:
    for number in range(30):
        remember_as_user(world, f"Directive {number} wants thing {number} done in a certain way")
    omitted = [agent.ok("get_boot_context", max_tokens=budget).data["omitted"] for budget in BUDGETS]
    assert omitted == sorted(omitted, reverse=True)
    assert omitted[-1] == 0


def test_client_without_a_project_gets_global_memories(world: World, agent: Agent) -> None:
    fill(world, agent)
    remember_as_user(world, "Always sleep", project=None, scope="global")
    reply = world.agent().ok("get_boot_context")
    assert reply.data["project"] is None
    assert list(reply.data["sections"]) == ["directives"]
    assert "Always sleep" in reply.text


def test_recent_sessions_are_listed_newest_first_and_once(world: World, agent: Agent) -> None:
    for session, summary in (("s1", "Moved the port"), ("s2", "Rewrote the importer"), ("s2", "Rewrote the exporter")):
        agent.ok("session_start", session_id=session)
        agent.ok("session_end", session_id=session, summary=summary)
        world.pass_time(DAY_SECONDS)
    world.store.remember("The port is free again", category="conversation", project=PROJECT, topic="session:s3")
    lines = agent.ok("get_boot_context").text.split("\n")
    first = lines.index("Recent sessions:") + 1
    assert lines[first : first + 3] == [
        "- now: The port is free again",
        "- 1 d ago: Rewrote the exporter",
        "- 3 d ago: Moved the port",
    ]
