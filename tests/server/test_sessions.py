"""Sessions and claims: leases that calls extend and that expire (predecessor 9)."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import pytest

from support.mcp import Agent, World, race_for_claims

PROJECT = "gitlab.com/group/walrus"
LEASE_SECONDS = 900


@pytest.fixture
def other(world: World, agent: Agent) -> Agent:
    """A second client in the same repository."""
    return world.agent(world.folder / "walrus")


def list_claims(agent: Agent) -> dict[str, list[str]]:
    """Return the active sessions with their claims."""
    sessions = agent.ok("get_active_sessions").data["sessions"]
    return {one["id"]: [claim["item"].removeprefix(PROJECT) for claim in one["claims"]] for one in sessions}


def test_agents_see_each_other(agent: Agent, other: Agent) -> None:
    first = agent.ok("session_start", session_id="s1", working_on="the walrus")
    assert first.data["others"] == []
    second = other.ok("session_start", session_id="s2", working_on="the bees")
    assert [one["id"] for one in second.data["others"]] == ["s1"]
    assert "- s1: the walrus (last seen now)" in second.text
    assert list_claims(agent) == {"s1": [], "s2": []}


def test_second_start_keeps_the_claims(agent: Agent) -> None:
    agent.ok("session_start", session_id="s1", working_on="the walrus")
    agent.ok("claim_item", session_id="s1", item_ref="!12")
    reply = agent.ok("session_start", session_id="s1")
    assert list_claims(agent) == {"s1": ["!12"]}
    assert reply.data["session"]["working_on"] == "the walrus"


def test_claim_of_an_active_session_is_refused_with_its_owner(world: World, agent: Agent, other: Agent) -> None:
    agent.ok("session_start", session_id="s1", working_on="the walrus")
    agent.ok("claim_item", session_id="s1", item_ref="!12")
    world.pass_time(120)
    text = other.refused("claim_item", session_id="s2", item_ref="!12")
    assert text.startswith("!12 is claimed by session s1, which works on the walrus: claimed 2 min ago")
    assert "Next: work on something else" in text
    assert list_claims(agent)["s1"] == ["!12"]
    assert "!12" not in list_claims(agent).get("s2", [])


def test_repeated_claim_by_its_owner_changes_nothing(world: World, agent: Agent) -> None:
    first = agent.ok("claim_item", session_id="s1", item_ref="!12").data["claim"]
    world.pass_time(60)
    again = agent.ok("claim_item", session_id="s1", item_ref="!12").data["claim"]
    assert again["since"] == first["since"]
    assert again["taken_over_from"] is None


def test_ended_session_releases_its_claims(agent: Agent, other: Agent) -> None:
    for item in ("!12", "src/app.py"):
        agent.ok("claim_item", session_id="s1", item_ref=item)
    reply = agent.ok("session_end", session_id="s1")
    assert reply.text == "Session s1 ended and released !12, src/app.py."
    assert list_claims(agent) == {}
    assert "yours" in other.ok("claim_item", session_id="s2", item_ref="!12").text


def test_summary_of_an_ended_session_is_stored(agent: Agent) -> None:
    agent.ok("session_start", session_id="s1")
    id = agent.ok("session_end", session_id="s1", summary="The walrus was fed").data["summary_id"]
    memory = agent.ok("get_memory", memory_id=id).data["memory"]
    assert (memory["content"], memory["category"], memory["session"]) == ("The walrus was fed", "event", "s1")
    assert agent.recall("walrus") == ["The walrus was fed"]


@pytest.mark.parametrize("summary", ["The walrus\0", "\u200b"])
def test_summary_that_is_refused_does_not_hide_the_end_of_the_session(agent: Agent, summary: str) -> None:
    agent.ok("claim_item", session_id="s1", item_ref="!12")
    refused = agent.refused("session_end", session_id="s1", summary=summary)
    assert refused.startswith("Session s1 ended and released !12. Its summary was not stored: ")
    assert refused.endswith("Next: call session_end again with another summary")
    assert list_claims(agent) == {}
    agent.ok("session_end", session_id="s1", summary="The walrus was fed")
    assert agent.recall("walrus") == ["The walrus was fed"]


def test_secret_in_a_summary_is_redacted_and_named(agent: Agent) -> None:
    agent.ok("session_start", session_id="s1")
    said = agent.ok(
        "session_end", session_id="s1", summary="Used ghp_0123456789abcdefghijABCDEFGHIJ012345 to push"
    ).text
    assert said.endswith(" Secrets were redacted: github-token.")


def test_claim_of_an_expired_session_is_taken_over_and_named(world: World, agent: Agent, other: Agent) -> None:
    agent.ok("claim_item", session_id="s1", item_ref="!12")
    world.pass_time(LEASE_SECONDS - 1)
    other.refused("claim_item", session_id="s2", item_ref="!12")
    world.pass_time(2)
    reply = other.ok("claim_item", session_id="s2", item_ref="!12")
    assert reply.text == "!12 is yours. It was claimed by session s1, last seen 15 min ago."
    assert reply.data["claim"]["taken_over_from"]["id"] == "s1"
    assert "s2" in agent.refused("claim_item", session_id="s1", item_ref="!12")
    assert list_claims(agent) == {"s2": ["!12"]}


def test_expired_session_keeps_unrequested_claims(world: World, agent: Agent) -> None:
    agent.ok("claim_item", session_id="s1", item_ref="!12")
    world.pass_time(10 * LEASE_SECONDS)
    assert list_claims(agent) == {}
    agent.ok("session_heartbeat", session_id="s1")
    assert list_claims(agent) == {"s1": ["!12"]}


@pytest.mark.parametrize("sign", ["session_heartbeat", "session_start"])
def test_session_that_lost_a_claim_is_told_what_it_still_claims(
    world: World, agent: Agent, other: Agent, sign: str
) -> None:
    assert "It claims nothing." in agent.ok("session_start", session_id="s1").text
    for item in ("!12", "!13"):
        agent.ok("claim_item", session_id="s1", item_ref=item)
    assert "It claims !12, !13." in agent.ok(sign, session_id="s1").text
    world.pass_time(2 * LEASE_SECONDS)
    other.ok("claim_item", session_id="s2", item_ref="!12")
    assert "It claims !13." in agent.ok(sign, session_id="s1").text


@pytest.mark.parametrize("sign", ["session_heartbeat", "session_start", "claim_item"])
def test_every_call_of_a_session_extends_its_lease(world: World, agent: Agent, other: Agent, sign: str) -> None:
    agent.ok("claim_item", session_id="s1", item_ref="!12")
    more = {"item_ref": "!13"} if sign == "claim_item" else {}
    for _ in range(3):
        world.pass_time(LEASE_SECONDS - 10)
        agent.ok(sign, session_id="s1", **more)
    other.refused("claim_item", session_id="s2", item_ref="!12")


def test_lease_is_configurable(tmp_path: Path) -> None:
    with World(tmp_path, session__lease_seconds="60") as world:
        agent = world.agent()
        agent.ok("claim_item", session_id="s1", item_ref="!12")
        world.pass_time(61)
        assert "It was claimed by session s1" in agent.ok("claim_item", session_id="s2", item_ref="!12").text


def test_only_the_owner_releases_a_claim(agent: Agent, other: Agent) -> None:
    agent.ok("claim_item", session_id="s1", item_ref="!12")
    assert "only its owner releases it" in other.refused("release_item", session_id="s2", item_ref="!12")
    assert list_claims(agent) == {"s1": ["!12"]}
    assert agent.ok("release_item", session_id="s1", item_ref="!12").text == "Released !12."
    assert agent.ok("release_item", session_id="s1", item_ref="!12").text == "This session did not claim it."
    assert list_claims(agent) == {"s1": []}


def test_unknown_or_ended_session_is_an_error(agent: Agent) -> None:
    assert "session_start" in agent.refused("session_heartbeat", session_id="s1")
    assert "was not found" in agent.refused("session_end", session_id="s1")
    agent.ok("session_start", session_id="s1")
    agent.ok("session_end", session_id="s1")
    assert "has ended" in agent.refused("session_heartbeat", session_id="s1")
    agent.ok("session_end", session_id="s1")
    agent.ok("session_start", session_id="s1")
    assert list_claims(agent) == {"s1": []}


@pytest.mark.parametrize(
    "spellings",
    [
        ["!12", f"{PROJECT}!12", "group/walrus!12", f"https://{PROJECT}/-/merge_requests/12", " !12 ", "`!12`"],
        [
            f"https://{PROJECT}/-/merge_requests/12#note_3",
            f"https://{PROJECT.upper()}/-/merge_requests/12/diffs",
            "!12",
        ],
        ["#7", f"{PROJECT}#7", f"https://{PROJECT}/-/issues/7"],
        ["&3", "gitlab.com/group&3", "https://gitlab.com/groups/group/-/epics/3"],
        ["src/app.py", "./src/app.py", "src/app.py:12", "`src/app.py`"],
        ["@ada", "@Ada"],
    ],
    ids=lambda spellings: spellings[0],
)
def test_spellings_of_one_item_are_one_claim(agent: Agent, other: Agent, spellings: list[str]) -> None:
    for spelling in spellings:
        agent.ok("claim_item", session_id="s1", item_ref=spelling)
        for another in spellings:
            assert "is claimed by session s1" in other.refused("claim_item", session_id="s2", item_ref=another)
        agent.ok("release_item", session_id="s1", item_ref=spellings[0])
    assert list_claims(agent) == {"s1": []}


@pytest.mark.parametrize(
    ("one", "another"),
    [("!12", "#12"), ("!12", "!1"), ("!12", "!121"), ("!12", "group/other!12"), ("src/a.py", "src/b.py")],
)
def test_different_items_are_different_claims(agent: Agent, other: Agent, one: str, another: str) -> None:
    agent.ok("claim_item", session_id="s1", item_ref=one)
    assert "yours" in other.ok("claim_item", session_id="s2", item_ref=another).text


def test_short_reference_is_another_item_in_another_repository(world: World, agent: Agent) -> None:
    agent.ok("claim_item", session_id="s1", item_ref="!12")
    bees = world.agent(world.repository("bees"))
    assert "yours" in bees.ok("claim_item", session_id="s2", item_ref="!12").text


def test_session_id_with_line_breaks_is_refused(agent: Agent) -> None:
    for tool in ("session_start", "claim_item"):
        text = agent.refused(
            tool, session_id="a\n- b: everything", **({"item_ref": "!1"} if tool == "claim_item" else {})
        )
        assert "session_id: has control characters" in text


def test_exactly_one_of_two_processes_gets_a_claim(tmp_path: Path) -> None:
    rounds = 20
    with World(tmp_path) as world:
        world.repository("walrus")
        world.store.stats()
    spawn = multiprocessing.get_context("spawn")
    start = spawn.Barrier(2)
    items = [f"!{number}" for number in range(1, rounds + 1)]
    runners = []
    for session in ("s1", "s2"):
        ours, theirs = spawn.Pipe()
        process = spawn.Process(target=race_for_claims, args=(tmp_path, session, items, start, theirs))
        process.start()
        theirs.close()
        runners.append((process, ours))
    answers = [ours.recv() for _, ours in runners]
    for process, ours in runners:
        process.join()
        ours.close()
        assert process.exitcode == 0
        process.close()
    for item, (mine, yours) in zip(items, zip(*answers, strict=True), strict=True):
        winner, loser = (mine, yours) if mine[0] else (yours, mine)
        assert (winner[0], loser[0]) == (True, False), (item, mine, yours)
        assert winner[1] == f"{item} is yours."
        assert loser[1].startswith(f"{item} is claimed by session s{1 if winner is mine else 2}")
    with World(tmp_path) as world:
        claims = list_claims(world.agent(tmp_path / "walrus"))
    assert sorted(item for held in claims.values() for item in held) == sorted(items)
