"""Isolation of projects, and finding the project of a repository."""

from __future__ import annotations

import gc
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from opencode_memory import (
    ALL_PROJECTS,
    ClosedError,
    ConflictError,
    InvalidInputError,
    KeptValue,
    MemoryStore,
    NotFoundError,
    ProjectIdentity,
)
from opencode_memory.store.learning_state import Batch
from support.stores import NOW_MS, open_store, recalled, rename_unchecked, set_clock, texts

ROOT_A, ROOT_B = "a" * 40, "b" * 40


@pytest.fixture
def shared(open_store) -> MemoryStore:
    """A store with a walrus in each of two projects and a global one, indexed and embedded."""
    store = open_store(project="app")
    store.remember("walrus of app")
    store.remember("walrus of other", project="other")
    store.remember("walrus of everybody", scope="global")
    store.indexes.embed_pending()
    store.indexes.catch_up()
    return store


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({}, {"app", "everybody"}),
        ({"project": "other"}, {"other", "everybody"}),
        ({"project": "unknown"}, {"everybody"}),
        ({"scope": "project"}, {"app"}),
        ({"scope": "global"}, {"everybody"}),
        ({"project": "other", "scope": "project"}, {"other"}),
        ({"project": "other", "scope": "global"}, {"everybody"}),
        ({"project": ALL_PROJECTS}, {"app", "other", "everybody"}),
        ({"project": ALL_PROJECTS, "scope": "project"}, {"app", "other"}),
        ({"project": ALL_PROJECTS, "scope": "global"}, {"everybody"}),
    ],
)
def test_every_question_keeps_to_its_scope(shared: MemoryStore, options: dict[str, str], wanted: set[str]) -> None:
    answers = {
        "recall": recalled(shared, "walrus", **options),
        "recall as of": recalled(shared, "walrus", as_of=NOW_MS, **options),
        "list": texts(shared.list(**options)),
        "list as of": texts(shared.list(as_of=NOW_MS, **options)),
    }
    expected = {f"walrus of {name}" for name in wanted}
    assert {name: set(found) for name, found in answers.items()} == dict.fromkeys(answers, expected)
    assert shared.count(**options) == len(expected)


def test_without_a_project_only_global_memories_are_found(shared: MemoryStore, open_store) -> None:
    assert recalled(open_store(), "walrus") == ["walrus of everybody"]


def test_the_scope_project_needs_a_project(open_store) -> None:
    store = open_store()
    for question in (lambda: store.recall("walrus", scope="project"), lambda: store.remember("x", scope="project")):
        with pytest.raises(InvalidInputError) as error:
            question()
        assert error.value.field == "project"


def test_a_global_memory_cannot_name_a_project(store: MemoryStore) -> None:
    with pytest.raises(InvalidInputError, match="global"):
        store.remember("x", scope="global", project="app")


def test_a_name_like_a_pattern_is_only_a_name(store: MemoryStore) -> None:
    for name in ("app%", "app_", "ap?", "APP", "app/sub"):
        store.remember(f"walrus of {name}", project=name)
    assert store.list() == []
    assert texts(store.list(project="app%")) == ["walrus of app%"]


@pytest.mark.parametrize("name", ["", " ", "*", "a\0b", "x" * 513, "\ud800"])
def test_a_bad_project_name_is_refused(store: MemoryStore, name: str) -> None:
    store.remember("a walrus")
    for use in (
        lambda: store.remember("x", project=name),
        lambda: store.kv.set("k", 1, project=name),
        lambda: store.projects.rename("app", name),
    ):
        with pytest.raises(InvalidInputError) as error:
            use()
        assert error.value.field == "project"
    assert [project.name for project in store.projects.list()] == ["app"]


def test_a_bad_project_name_is_refused_when_a_store_is_opened(open_store) -> None:
    for name in ("", " ", "*", "\ud800"):
        with pytest.raises(InvalidInputError) as error:
            open_store(project=name)
        assert error.value.field == "project"


def test_the_work_trees_of_a_repository_share_a_project(store: MemoryStore) -> None:
    """``identify`` gives the main work tree's folder for each of them."""
    identity = ProjectIdentity(root_commits=(ROOT_A,), folder="/home/ada/shop")
    name = store.projects.resolve(identity)
    assert store.projects.resolve(ProjectIdentity(folder="/home/ada/shop")) == name
    assert store.projects.resolve(identity) == name
    assert len(store.projects.list()) == 1


def test_remote_decides_the_project_before_the_folder(store: MemoryStore) -> None:
    first = ProjectIdentity(remotes=("github.com/acme/shop",), root_commits=(ROOT_A,), folder="/home/ada/shop")
    clone = ProjectIdentity(remotes=("github.com/acme/shop",), root_commits=(ROOT_A,), folder="/tmp/elsewhere")
    assert store.projects.resolve(first) == store.projects.resolve(clone) == "github.com/acme/shop"
    [project] = store.projects.list()
    assert project.folders == ("/home/ada/shop", "/tmp/elsewhere")


def test_a_remote_that_is_added_later_keeps_the_project(store: MemoryStore) -> None:
    alone = ProjectIdentity(root_commits=(ROOT_A,), folder="/home/ada/shop")
    name = store.projects.resolve(alone)
    store.remember("a walrus", project=name)
    pushed = ProjectIdentity(remotes=("github.com/acme/shop",), root_commits=(ROOT_A,), folder="/home/ada/shop")
    assert store.projects.resolve(pushed) == name
    clone = ProjectIdentity(remotes=("github.com/acme/shop",), root_commits=(ROOT_A,), folder="/home/bob/shop")
    assert store.projects.resolve(clone) == name
    assert store.projects.list()[0].remotes == ("github.com/acme/shop",)


def test_one_root_commit_never_merges_two_remotes(store: MemoryStore) -> None:
    """Forks and repositories made from one template share their first commit."""
    names = {
        store.projects.resolve(
            ProjectIdentity(remotes=(f"github.com/{owner}/shop",), root_commits=(ROOT_A,), folder=f"/home/{owner}/shop")
        )
        for owner in ("acme", "bob")
    }
    assert names == {"github.com/acme/shop", "github.com/bob/shop"}


def test_a_repository_without_a_remote_is_found_by_its_root_commit_after_it_moved(store: MemoryStore) -> None:
    name = store.projects.resolve(ProjectIdentity(root_commits=(ROOT_A,), folder="/home/ada/shop"))
    assert store.projects.resolve(ProjectIdentity(root_commits=(ROOT_A,), folder="/home/ada/moved")) == name


def test_a_repository_without_a_remote_does_not_join_one_with_a_remote(store: MemoryStore) -> None:
    store.projects.resolve(
        ProjectIdentity(remotes=("github.com/acme/template",), root_commits=(ROOT_A,), folder="/home/ada/template")
    )
    name = store.projects.resolve(ProjectIdentity(root_commits=(ROOT_A,), folder="/home/ada/mine"))
    assert name != "github.com/acme/template"


def test_a_folder_that_holds_another_repository_now_is_another_project(store: MemoryStore) -> None:
    old = store.projects.resolve(ProjectIdentity(root_commits=(ROOT_A,), folder="/tmp/work"))
    new = store.projects.resolve(ProjectIdentity(root_commits=(ROOT_B,), folder="/tmp/work"))
    assert old != new
    assert store.projects.resolve(ProjectIdentity(root_commits=(ROOT_B,), folder="/tmp/work")) == new


def test_a_folder_that_holds_another_remotes_repository_now_is_another_project(store: MemoryStore) -> None:
    old = store.projects.resolve(
        ProjectIdentity(remotes=("github.com/acme/old",), root_commits=(ROOT_A,), folder="/tmp/work")
    )
    new = ProjectIdentity(remotes=("github.com/acme/new",), root_commits=(ROOT_B,), folder="/tmp/work")
    assert old == "github.com/acme/old"
    assert store.projects.resolve(new) == "github.com/acme/new"


def test_folder_with_a_repository_of_another_remote_is_another_project(
    store: MemoryStore,
) -> None:
    """The root commits cost a walk through the history; without them two remotes still tell two projects apart."""
    store.projects.resolve(
        ProjectIdentity(remotes=("github.com/acme/old",), root_commits=(ROOT_A,), folder="/tmp/work")
    )
    new = ProjectIdentity(remotes=("github.com/acme/new",), folder="/tmp/work")
    assert store.projects.resolve(new) != "github.com/acme/old"


def test_a_question_does_not_create_a_project(store: MemoryStore) -> None:
    identity = ProjectIdentity(folder="/home/ada/shop")
    assert store.projects.resolve(identity, create=False) is None
    assert store.projects.list() == []
    name = store.projects.resolve(identity)
    assert store.projects.resolve(identity, create=False) == name


def test_a_folder_outside_git_is_named_by_its_path(store: MemoryStore) -> None:
    assert store.projects.resolve(ProjectIdentity(folder="/home/ada/notes")) == "/home/ada/notes"


def test_empty_identity_is_refused(store: MemoryStore) -> None:
    with pytest.raises(InvalidInputError):
        store.projects.resolve(ProjectIdentity())


def test_a_renamed_project_keeps_its_memories_values_and_marks(store: MemoryStore) -> None:
    identity = ProjectIdentity(remotes=("github.com/acme/shop",))
    name = store.projects.resolve(identity)
    store.remember("a walrus", project=name)
    store.kv.set("k", 1, project=name)
    store.projects.rename(name, "shop")
    assert recalled(store, "walrus", project="shop") == ["a walrus"]
    assert store.kv.get("k", project="shop") == 1
    assert store.projects.resolve(identity) == "shop"
    assert store.list(project=name, scope="project") == []


def test_a_name_that_is_taken_is_not_given_again(store: MemoryStore) -> None:
    store.remember("one")
    store.remember("two", project="other")
    with pytest.raises(ConflictError, match="merge"):
        store.projects.rename("app", "other")
    with pytest.raises(NotFoundError):
        store.projects.rename("nowhere", "new")


def test_a_merged_project_brings_its_memories_values_and_marks(store: MemoryStore) -> None:
    identity = ProjectIdentity(remotes=("github.com/acme/shop",), folder="/home/ada/shop")
    source = store.projects.resolve(identity)
    store.remember("a walrus", project=source)
    store.archive(store.remember("an old walrus", project=source).id)
    store.kv.set("moves", 1, project=source)
    store.kv.set("both", "ours")
    set_clock(store, NOW_MS + 1000)
    store.kv.set("both", "theirs", project=source)
    store.remember("already here")
    merge = store.projects.merge(source, "app")
    assert (merge.moved, merge.is_undoable) == (2, True)
    assert merge.clashes == (KeptValue(key="both", kept="ours", dropped="theirs"),)
    assert recalled(store, "walrus") == ["a walrus"]
    assert texts(store.list(status="archived")) == ["an old walrus"]
    assert (store.kv.get("moves"), store.kv.get("both")) == (1, "ours")
    assert store.projects.resolve(identity) == "app"
    assert [(project.name, project.memories) for project in store.projects.list()] == [("app", 3)]
    assert store.projects.names() == ["app"]


def test_undo_of_a_merge_brings_the_whole_project_back(store: MemoryStore) -> None:
    identity = ProjectIdentity(remotes=("github.com/acme/shop",), root_commits=("ab" * 20,), folder="/home/ada/shop")
    source = store.projects.resolve(identity)
    store.projects.resolve(ProjectIdentity(remotes=("github.com/acme/app",), root_commits=("ab" * 20,)))
    store.remember("a walrus", project=source, topic="t")
    store.kv.set("moves", 1, project=source)
    store.kv.set("both", "theirs", project=source)
    store.kv.set("changed", "old", project=source)
    store.sessions.start("monday", working_on="the cart", project=source)
    store.sessions.claim("monday", "!12", project=source)
    store.remember("already here", topic="t")
    store.kv.set("both", "ours")
    before = [
        store.projects.list(),
        {name: store.kv.get(name, project=source) for name in ("moves", "both", "changed")},
    ]
    store.projects.merge(source, "app")
    store.kv.set("changed", "new")
    assert store.sessions.active(project=source) == []
    store.undo()
    after = [store.projects.list(), {name: store.kv.get(name, project=source) for name in ("moves", "both", "changed")}]
    assert after == before
    assert store.projects.resolve(identity) == source
    assert (store.kv.get("moves"), store.kv.get("both"), store.kv.get("changed")) == (None, "ours", "new")
    [session] = store.sessions.active(project=source)
    assert (session.working_on, [claim.item for claim in session.claims]) == ("the cart", [f"{source}!12"])
    assert store.sessions.active() == []


def test_undo_of_a_merge_does_not_bring_back_what_was_withdrawn_since(store: MemoryStore) -> None:
    def note(project: str, times: int, *marks: str) -> None:
        version, state = store.learning.open("s")
        sightings = [(project, mark, times) for mark in marks]
        store.learning.write(Batch(session="s", version=version, state=state, sightings=sightings))

    def seen(project: str) -> list[int]:
        return store.learning.seen_elsewhere(project, ["kept", "withdrawn", "in both", "withdrawn from both"], "")

    store.remember("a walrus", project="other")
    note("other", 1, "kept", "withdrawn", "in both", "withdrawn from both")
    note("app", 1, "in both", "withdrawn from both")
    store.projects.merge("other", "app")
    assert seen("app") == [1, 1, 1, 1]
    note("app", -1, "withdrawn", "withdrawn from both")
    store.undo()
    assert seen("other") == [1, 0, 1, 0]
    assert seen("app") == [0, 0, 1, 0]


def test_single_memory_of_a_merge_is_not_taken_back_alone(store: MemoryStore) -> None:
    id = store.remember("a walrus", project="other").id
    store.remember("already here")
    store.projects.merge("other", "app")
    with pytest.raises(ConflictError, match="was merged into another"):
        store.undo(id)
    assert store.get(id).project == "app"


def test_merge_is_not_redone_by_halves(store: MemoryStore) -> None:
    store.remember("a walrus", project="other")
    store.remember("already here")
    store.kv.set("n", 1, project="other")
    store.projects.merge("other", "app")
    [merge, *_] = store.operations.list(project=None, actor=None)
    store.operations.undo(merge.operation)
    with pytest.raises(ConflictError, match="merge the projects again"):
        store.operations.redo(merge.operation)
    assert texts(store.list(project="other")) == ["a walrus"]
    store.projects.merge("other", "app")
    assert (recalled(store, "walrus"), store.kv.get("n")) == (["a walrus"], 1)


def test_merge_is_not_undone_while_another_project_has_the_name(store: MemoryStore) -> None:
    store.remember("a walrus", project="other")
    store.remember("already here")
    store.projects.merge("other", "app")
    store.kv.set("n", 1, project="other")
    with pytest.raises(ConflictError, match="exists again"):
        store.undo()
    assert texts(store.list(project="other", scope="project")) == []
    store.projects.rename("other", "newer")
    store.undo()
    assert texts(store.list(project="other")) == ["a walrus"]


def test_merge_without_memories_says_that_it_cannot_be_undone(store: MemoryStore) -> None:
    store.remember("already here")
    store.kv.set("n", 1, project="other")
    assert not store.projects.merge("other", "app").is_undoable
    assert store.kv.get("n") == 1


def test_of_two_equal_topics_the_one_changed_last_stays(store: MemoryStore) -> None:
    old = store.remember("old", topic="t").id
    set_clock(store, NOW_MS + 1000)
    new = store.remember("new", topic="t", project="other").id
    store.projects.merge("app", "other")
    assert texts(store.list(project="other")) == ["new"]
    superseded = store.get(old)
    assert (superseded.status, superseded.superseded_by) == ("superseded", new)


def test_a_project_cannot_be_merged_into_itself_or_from_nowhere(store: MemoryStore) -> None:
    store.remember("a walrus")
    with pytest.raises(InvalidInputError):
        store.projects.merge("app", "app")
    for pair in (("app", "nowhere"), ("nowhere", "app")):
        with pytest.raises(NotFoundError, match="nowhere"):
            store.projects.merge(*pair)
    assert texts(store.list()) == ["a walrus"]


def test_store_bound_to_a_project_shares_its_files_with_the_first(store) -> None:
    shop = store.for_project("shop")
    shop.remember("walrus")

    assert shop.project == "shop"
    assert [memory.project for memory in store.list(project="shop")] == ["shop"]
    shop.close()
    with pytest.raises(ClosedError):
        store.list()


def test_bound_store_outlives_the_variable_of_the_first(data_dir) -> None:
    shop = open_store(data_dir).for_project("shop")
    gc.collect()
    shop.remember("walrus")
    assert shop.count() == 1
    shop.close()


@pytest.mark.parametrize("name", ["shop\n9. [abcdef12] directive", "shop\x1b[2J", "shop\u202e", "shop\u2028"])
def test_new_project_with_control_characters_is_refused(store: MemoryStore, name: str) -> None:
    for write in (
        lambda: store.remember("walrus", project=name),
        lambda: store.remember_many([{"content": "walrus", "project": name}]),
        lambda: store.for_project(name).remember("walrus"),
        lambda: store.kv.set("a", 1, project=name),
        lambda: store.edit(store.remember("seal").id, project=name),
        lambda: store.projects.rename("app", name),
    ):
        with pytest.raises(InvalidInputError, match="has control characters"):
            write()
    assert name not in store.projects.names()
    assert store.for_project(name).list(scope="project") == []


def test_project_of_a_folder_with_a_line_break_in_its_name_has_another_character_there(store: MemoryStore) -> None:
    identity = ProjectIdentity(folder="/work/a\nb")
    assert store.projects.resolve(identity) == store.projects.resolve(identity) == "/work/a\N{REPLACEMENT CHARACTER}b"


def test_project_of_an_earlier_version_with_control_characters_can_be_used_and_renamed(
    open_store: Callable[..., MemoryStore], data_dir: Path
) -> None:
    with open_store(project="app") as store:
        id_ = store.remember("walrus").id
    rename_unchecked(data_dir, "app", "a\npp")
    with open_store(project="a\npp") as store:
        assert [memory.id for memory in store.list()] == [id_]
        store.remember("seal")
        store.projects.rename("a\npp", "app")
        assert len(store.for_project("app").list()) == 2


def test_deleted_value_does_not_come_back_with_the_undo_of_merges(store: MemoryStore, tmp_path: Path) -> None:
    store.remember("a walrus", project="first")
    store.for_project("first").kv.set("gone", "a secret word", ttl_seconds=None)
    store.for_project("first").kv.set("both", "of the first", ttl_seconds=None)
    set_clock(store, NOW_MS + 1)
    store.remember("a heron", project="second")
    store.for_project("second").kv.set("both", "of the second", ttl_seconds=None)
    merges = []
    for source, target in (("first", "second"), ("second", "app")):
        store.remember("here", project=target)
        store.projects.merge(source, target)
        merges.append(store.operations.list(limit=1)[0].operation)
    store.kv.set("gone", "another secret word", ttl_seconds=None)
    assert store.kv.delete("gone")
    assert store.kv.delete("both")
    for operation in reversed(merges):
        store.operations.undo(operation)
    for project in ("first", "second", "app"):
        assert store.for_project(project).kv.get("gone") is None
    # Only the value of the second project was in the merged project, so only that one was deleted.
    assert store.for_project("second").kv.get("both") is None
    assert store.for_project("first").kv.get("both") == "of the first"


def test_expired_value_is_removed_from_the_record_of_a_merge(store: MemoryStore) -> None:
    store.remember("a walrus", project="other")
    store.for_project("other").kv.set("short", "a secret word", ttl_seconds=1)
    store.for_project("other").kv.set("long", "a word", ttl_seconds=None)
    store.remember("here")
    store.projects.merge("other", "app")
    set_clock(store, NOW_MS + 2_000)
    store.maintain()
    store.close()
    with closing(sqlite3.connect(store.data_dir / "store.db")) as connection:
        [(rows,)] = connection.execute("SELECT rows FROM project_merge")
    assert "a secret word" not in rows
    assert "a word" in rows
