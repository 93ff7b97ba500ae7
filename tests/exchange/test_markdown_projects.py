"""Projects in a Markdown export: every memory comes back into its own project, or stays global."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest

from opencode_memory import InvalidInputError, MemoryStore, ProjectIdentity, Scope
from opencode_memory.exchange import export_memories, import_memories

OpenStore = Callable[..., MemoryStore]
PLACES = {"Of all projects.": None, "Of app.": "app", "Of another project.": "other"}


@pytest.fixture
def text(open_store: OpenStore, tmp_path: Path) -> str:
    """A Markdown export with a global memory and memories of two projects."""
    store = open_store(tmp_path / "source")
    for content, project in PLACES.items():
        store.remember(content, project=project, scope="global" if project is None else None)
    out = io.StringIO()
    export_memories(store, out, format="markdown")
    return out.getvalue()


def read_places(store: MemoryStore) -> dict[str, str | None]:
    return {memory.content: memory.project for memory in store.list(project="*")}


@pytest.mark.parametrize("opened_for", [None, "app", "third"])
def test_markdown_import_keeps_global_memories_global(open_store: OpenStore, text: str, opened_for: str | None) -> None:
    store = open_store(project=opened_for)
    import_memories(store, io.StringIO(text))
    assert read_places(store) == PLACES
    import_memories(store, io.StringIO(text))
    assert read_places(store) == PLACES


def test_markdown_import_into_a_named_project_puts_everything_there(open_store: OpenStore, text: str) -> None:
    store = open_store(project="app")
    import_memories(store, io.StringIO(text), project="third")
    assert read_places(store) == dict.fromkeys(PLACES, "third")


def test_markdown_import_does_not_mix_a_project_with_one_of_a_longer_name(open_store: OpenStore, text: str) -> None:
    store = open_store()
    longer = store.projects.resolve(ProjectIdentity(remotes=("example.org/acme/app",), folder="/app"))
    assert longer == "example.org/acme/app"
    import_memories(store, io.StringIO(text))
    assert read_places(store) == PLACES


def test_markdown_import_within_a_project_refuses_memories_of_others(open_store: OpenStore, text: str) -> None:
    store = open_store(project="app")
    with pytest.raises(InvalidInputError, match="'other', outside of 'app'"):
        import_memories(store, io.StringIO(text), within=Scope.seen_from("app"))
    assert store.count(project="*") == 0


def test_markdown_import_within_a_project_keeps_global_memories_global(open_store: OpenStore, tmp_path: Path) -> None:
    source, out = open_store(tmp_path / "source", project="app"), io.StringIO()
    source.remember("Of app.")
    source.remember("Of all projects.", scope="global")
    export_memories(source, out, format="markdown")
    store = open_store(project="app")
    import_memories(store, io.StringIO(out.getvalue()), within=Scope.seen_from("app"))
    assert read_places(store) == {"Of app.": "app", "Of all projects.": None}
