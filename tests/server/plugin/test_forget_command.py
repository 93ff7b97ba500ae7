"""``/forget``: archives the memories that the user names, and never others."""

from __future__ import annotations

import pytest

from opencode_memory import MemoryStore
from opencode_memory.learning.extraction.candidate import Candidate
from opencode_memory.learning.rejections import is_rejected
from opencode_memory.models import Category
from opencode_memory.text.formatting import short_id
from server.plugin.test_commands import PROJECT, known, status
from support.mcp import World
from support.session_calls import Session


@pytest.mark.parametrize("form", ["{}", "[{}]", "`{}`", " {} ", "{},"])
def test_forget_archives_a_memory_named_by_id(world: World, session: Session, form: str) -> None:
    id, other = known(world, "The walrus sleeps"), known(world, "The bee sleeps")
    for name in (id, short_id(id)):
        told = session.command("forget", form.format(name))
        assert "1 memory archived" in told
        assert f"`opencode-memory undo {short_id(id)}`" in told
        assert (status(world, id), status(world, other)) == ("archived", "active")
        world.store.undo(id)
        assert status(world, id) == "active"


def test_forget_with_an_unknown_id_archives_no_memory(world: World, session: Session) -> None:
    one, two = known(world, "The walrus sleeps"), known(world, "The bee sleeps")
    told = session.command("forget", f"{short_id(one)} 0123456789ab")
    assert "was not found" in told
    assert status(world, one) == "active"
    told = session.command("forget", f"{short_id(one)} {short_id(two)}")
    assert "2 memories archived" in told
    assert "each of the others by its id" in told
    assert (status(world, one), status(world, two)) == ("archived", "archived")


@pytest.mark.parametrize("id", ["deadbeef", "DEADBEEFCAFE", "12345678", "deadbeef-cafe-7abc-8def-abcdefabcdef"])
def test_forget_with_one_unknown_id_offers_no_other_memory(world: World, session: Session, id: str) -> None:
    known(world, "The walrus sleeps")
    told = session.command("forget", id)
    assert "was not found" in told
    assert "walrus" not in told


@pytest.mark.parametrize("name", ["deadbeef", "2026-11-29", "dead-faced"])
def test_forget_by_a_word_like_an_id_lists_the_memory_that_names_it(world: World, session: Session, name: str) -> None:
    id = known(world, f"The walrus sleeps since {name}")
    told = session.command("forget", name)
    assert "Nothing was archived" in told
    assert f"[{short_id(id)}]" in told


def test_id_without_digits_is_an_id(
    world: World, session: Session, other_session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = known(world, "The walrus sleeps")
    get = MemoryStore.get
    monkeypatch.setattr(MemoryStore, "get", lambda store, name: get(store, id if name == "deadbeef" else name))
    assert "was not found" in other_session.command("forget", "deadbeef")
    assert status(world, id) == "active"
    assert "1 memory archived" in session.command("forget", "deadbeef")
    assert status(world, id) == "archived"


def test_forgetting_twice_says_already_archived(world: World, session: Session) -> None:
    id = known(world, "The walrus sleeps")
    session.command("forget", id)
    before = world.dump()
    told = session.command("forget", id)
    assert "0 memories archived" in told
    assert "already archived" in told
    assert world.dump() == before


def test_forget_by_words_lists_candidates_only(world: World, session: Session) -> None:
    id, other = known(world, "The walrus sleeps on ice"), known(world, "The walrus sleeps in water")
    before = world.dump()
    told = session.command("forget", "walrus sleeps")
    assert "Nothing was archived" in told
    assert f"[{short_id(id)}]" in told
    assert f"[{short_id(other)}]" in told
    assert "ask which one" in told
    assert world.dump() == before


def test_forget_by_words_offers_no_memory_that_is_much_less_relevant(world: World, session: Session) -> None:
    near = known(world, "VAT rates: yaml file.")
    far = [known(world, f"{word} file.") for word in ("Log", "Lock", "Change", "Pid", "Swap")]
    world.store.indexes.embed_pending()
    told = session.command("forget", "VAT rates yaml file")
    assert short_id(near) in told
    assert [id_ for id_ in far if short_id(id_) in told] == []


def test_forget_by_exact_text_archives_the_memory(world: World, session: Session) -> None:
    id, other = known(world, "The walrus sleeps"), known(world, "The walrus sleeps on ice")
    assert "1 memory archived" in session.command("forget", " The walrus  sleeps\n")
    assert (status(world, id), status(world, other)) == ("archived", "active")


def test_forget_by_ambiguous_text_archives_no_memory(world: World, session: Session) -> None:
    one = known(world, "The walrus sleeps")
    two = world.store.remember("The walrus sleeps", scope="global").id
    told = session.command("forget", "The walrus sleeps")
    assert "Nothing was archived" in told
    assert short_id(one) in told
    assert short_id(two) in told


@pytest.mark.parametrize(
    "typed",
    [
        "*",
        "all",
        "everything",
        "%",
        ".*",
        "-",
        "--all",
        "--all --force",
        "' OR 1=1",
        "--------",
        "x" * 50_000,
        "\ud800 walrus",
        "facade",
        "defaced",
    ],
)
def test_forget_never_archives_by_wildcards_or_options(world: World, session: Session, typed: str) -> None:
    for text in ("The walrus sleeps", "All is well", "A facade is painted"):
        known(world, text)
    before = world.dump()
    told = session.command("forget", typed)
    assert "Nothing was archived" in told or "not found" in told or "/forget failed: " in told
    assert world.dump() == before


def test_forget_without_arguments_explains_the_usage(world: World, session: Session) -> None:
    known(world, "The walrus sleeps")
    before = world.dump()
    assert "/forget ID, or /forget WORDS" in session.command("forget", " \n")
    assert world.dump() == before


def test_a_memory_of_another_project_cannot_be_forgotten(
    world: World, session: Session, other_session: Session
) -> None:
    id = known(world, "The walrus sleeps")
    before = world.dump()
    for typed in (id, short_id(id), "The walrus sleeps", "walrus"):
        told = other_session.command("forget", typed)
        assert "was not found" in told or "Nothing was archived" in told
        assert "The walrus sleeps" not in told.replace("The user typed: «The walrus sleeps»", "")
    assert world.dump() == before


def test_forgotten_memory_is_not_learned_again(world: World, session: Session) -> None:
    rule = "We use tabs for indentation"
    id = known(world, rule, "convention", trust="extracted")
    again = Candidate(category=Category.CONVENTION, content=f"{rule}.", confidence=1.0, rule="habit", evidence=rule)
    assert not is_rejected(world.store, again, PROJECT)
    session.command("forget", id)
    assert is_rejected(world.store, again, PROJECT)
