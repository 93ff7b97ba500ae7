"""Numbers in global memories are those of the project in which they are written."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from opencode_memory import MemoryStore
from support.stores import texts

OpenStore = Callable[..., MemoryStore]
SHOP = "gitlab.com/acme/shop"
OTHER = "gitlab.com/acme/other"
ABOUT = f"{SHOP}!77"


@pytest.fixture
def shop(open_store: OpenStore) -> MemoryStore:
    """A store that is bound to a project with a repository."""
    return open_store(project=SHOP)


def test_number_in_a_global_memory_is_found_in_its_project(shop: MemoryStore) -> None:
    shop.remember("Breaks the login, see !77")
    id_ = shop.remember("Review !77 carefully", scope="global", entities=["#5"]).id
    assert set(shop.get(id_).entities) == {ABOUT, f"{SHOP}#5"}
    assert sorted(texts(shop.list(entity="!77"))) == ["Breaks the login, see !77", "Review !77 carefully"]
    assert texts(shop.for_project(OTHER).list(entity=ABOUT)) == ["Review !77 carefully"]
    assert shop.for_project(OTHER).list(entity="!77") == []


def test_number_without_a_project_belongs_to_no_repository(shop: MemoryStore) -> None:
    id_ = shop.for_project(None).remember("Review !77 carefully", scope="global").id
    assert shop.get(id_).entities == ("!77",)
    assert shop.list(entity="!77") == []


def test_imported_global_memory_keeps_its_entities(shop: MemoryStore) -> None:
    known = "01920000-0000-7000-8000-00000000beef"
    shop.remember_many([{"content": "Review !77", "scope": "global", "id": known, "entities": ["a"]}])
    assert shop.get(known).entities == ("a",)


@pytest.mark.parametrize(
    ("project", "text", "entities"),
    [
        (SHOP, "Review !77 twice", {ABOUT}),
        (OTHER, "Review !77 twice", {ABOUT}),
        (None, "Review !77 twice", {ABOUT}),
        (SHOP, "Review !78", {f"{SHOP}!78"}),
        (OTHER, "Review !77 and !78", {ABOUT, f"{OTHER}!78"}),
    ],
)
def test_edit_of_a_global_memory_names_new_numbers_only(
    shop: MemoryStore, project: str | None, text: str, entities: set[str]
) -> None:
    id_ = shop.remember("Review !77", scope="global").id
    assert set(shop.for_project(project).edit(id_, content=text).entities) == entities


def test_given_entities_of_an_edited_global_memory_are_those_of_the_project(shop: MemoryStore) -> None:
    id_ = shop.remember("Review carefully", scope="global").id
    assert shop.edit(id_, entities=["!77"]).entities == (ABOUT,)


def test_given_entities_of_a_memory_of_another_project_are_those_of_its_own(shop: MemoryStore) -> None:
    id_ = shop.remember("Review carefully", project=OTHER).id
    assert shop.edit(id_, entities=["!77"]).entities == (f"{OTHER}!77",)
