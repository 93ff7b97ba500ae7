"""Absolute paths below the client's work tree are the same items and entities as relative ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.mcp import Agent, Roots, World


@pytest.fixture
def spellings(folder: Path) -> list[str]:
    """Ways to write one file of the repository."""
    return ["src/app.py", f"{folder}/src/app.py", f"{(folder / 'src' / 'app.py').as_uri()}", "./src/app.py:3"]


def test_one_file_is_one_claim_however_it_is_written(agent: Agent, spellings: list[str]) -> None:
    for first in spellings:
        assert "src/app.py is yours" in agent.ok("claim_item", session_id="a", item_ref=first).text
        for second in spellings:
            refused = agent.refused("claim_item", session_id="b", item_ref=second)
            assert "src/app.py is claimed by session a" in refused, (first, second)
        assert agent.ok("release_item", session_id="a", item_ref=spellings[1]).text == "Released src/app.py."


def test_worktrees_of_one_repository_share_a_claim(world: World) -> None:
    main = world.repository("walrus")
    side = world.worktree(main, "walrus-side")
    world.agent(main).ok("claim_item", session_id="a", item_ref=f"{main}/src/app.py")
    assert "is claimed by session a" in world.agent(side).refused(
        "claim_item", session_id="b", item_ref=f"{side}/src/app.py"
    )


def test_memory_is_found_by_any_spelling_of_its_file(agent: Agent, spellings: list[str]) -> None:
    ids = {agent.remember(f"Walrus number {number}, see {file}") for number, file in enumerate(spellings)}
    for file in spellings:
        reply = agent.ok("get_context", entity_ref=file)
        assert {memory["id"] for memory in reply.data["memories"]} == ids, file
        assert reply.data["entity"] == "src/app.py"
        assert len(agent.recall("walrus", entity=file)) == len(ids)


def test_memory_that_was_stored_with_an_absolute_path_is_found(
    world: World, agent: Agent, spellings: list[str]
) -> None:
    # This store knows no work trees, as an earlier version.
    old = world.store.remember(f"The walrus sleeps, see {spellings[1]}", project="gitlab.com/group/walrus")
    assert world.store.get(old.id).entities == (spellings[1],)
    for file in spellings:
        reply = agent.ok("get_context", entity_ref=file)
        assert ([memory["id"] for memory in reply.data["memories"]], reply.data["total"]) == ([old.id], 1), file


def test_given_and_edited_entities_are_relative(world: World, agent: Agent, folder: Path) -> None:
    id_ = agent.remember("The walrus sleeps", entities=[f"{folder}/src/app.py"])
    assert world.store.get(id_).entities == ("src/app.py",)
    agent.ok("edit_memory", memory_id=id_, content=f"The walrus swims, see {folder}/lib/b.py")
    assert set(world.store.get(id_).entities) == {"src/app.py", "lib/b.py"}


def test_paths_of_other_places_stay_absolute(world: World, agent: Agent, folder: Path) -> None:
    id_ = agent.remember(f"The walrus of {folder}-side/src/app.py and /etc/walrus/app.conf")
    assert world.store.get(id_).entities == (f"{folder}-side/src/app.py", "/etc/walrus/app.conf")
    everywhere = agent.remember(f"The user likes {folder}/src/app.py", scope="global")
    assert world.store.get(everywhere).entities == (f"{folder}/src/app.py",)


def test_file_of_another_repository_among_the_roots_stays_absolute(world: World) -> None:
    walrus, bees = world.repository("walrus"), world.repository("bees")
    side = world.worktree(walrus, "walrus-side")
    agent = world.agent(roots=Roots(walrus, bees, side))
    theirs = f"{bees}/src/app.py"
    assert f"{theirs} is yours" in agent.ok("claim_item", session_id="a", item_ref=theirs).text
    for own in ("src/app.py", f"{walrus}/src/app.py", f"{side}/src/app.py"):
        assert agent.ok("claim_item", session_id="b", item_ref=own).text == "src/app.py is yours."
    id_ = agent.remember(f"The bee is in {theirs}, the walrus in {side}/src/walrus.py")
    assert set(world.store.get(id_).entities) == {theirs, "src/walrus.py"}
    assert agent.ok("get_context", entity_ref="src/app.py").data["memories"] == []
    # Both may still be read and written.
    for folder in (walrus, bees, side):
        agent.ok("export_memories", output_path=f"{folder}/all.json")
