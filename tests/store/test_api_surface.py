"""The public API: its names, its imports, and the examples of its docstrings."""

from __future__ import annotations

import dataclasses
import inspect
import pickle
import re
from importlib import resources
from pathlib import Path
from typing import get_type_hints

import pytest

import opencode_memory
from opencode_memory import MemoryStore, NewMemory, errors
from opencode_memory.models import Category, Explanation, Hit, Memory, MemoryFields, Status, Trust
from opencode_memory.store.kv import KeyValues
from opencode_memory.store.sessions import Sessions
from support import processes


def test_all_is_exact() -> None:
    public = {name for name in opencode_memory.__all__ if not name.startswith("__")}
    star: dict[str, object] = {}
    exec("from opencode_memory import *", star)
    assert set(star) - {"__builtins__"} == set(opencode_memory.__all__)
    assert list(opencode_memory.__all__) == sorted(opencode_memory.__all__)
    # Everything else that can be seen is a module of the package or has to do with importing late.
    seen = {name for name in vars(opencode_memory) if not name.startswith("_")}
    others = {name for name in seen - public if not inspect.ismodule(getattr(opencode_memory, name))}
    assert others == {"Any", "TYPE_CHECKING", "annotations"}


def test_every_error_is_public_and_stands_where_the_tree_shows_it() -> None:
    assert errors.__doc__ is not None
    line = r"^    (?P<branch>[│ ]*[├└]── )?(?P<name>\w+Error)(?: +\((?P<builtin>\w+)\))?"
    drawn = re.findall(line, errors.__doc__, re.MULTILINE)
    parents: list[str] = []
    for branch, name, builtin in drawn:
        depth = len(branch) // 4
        parents[depth:] = [name]
        cls = getattr(opencode_memory, name)
        if depth:
            assert getattr(opencode_memory, parents[depth - 1]) in cls.__bases__, name
        if builtin:
            assert builtin in {base.__name__ for base in cls.__bases__}
    defined = {name for name, value in vars(errors).items() if inspect.isclass(value)}
    assert {name for _, name, _ in drawn} == defined


@pytest.mark.parametrize("cls", [MemoryStore, KeyValues, Sessions])
def test_every_public_method_has_a_docstring(cls: type) -> None:
    for name, method in inspect.getmembers(cls, inspect.isfunction):
        if not name.startswith("_"):
            assert inspect.getdoc(method), name


def test_the_example_of_the_package_runs(data_dir: Path) -> None:
    assert opencode_memory.__doc__ is not None
    lines = opencode_memory.__doc__.splitlines()
    example = "\n".join(line[4:] for line in lines if line.startswith("    "))
    assert "remember" in example
    done = processes.run(example)
    assert done.returncode == 0, done.stderr
    assert "Deploys go through ./scripts/deploy.sh, never by hand." in done.stdout


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'opne'"):
        _ = opencode_memory.opne


def test_the_package_is_typed_and_knows_its_version() -> None:
    assert resources.files(opencode_memory).joinpath("py.typed").is_file()
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", opencode_memory.__version__)


def test_fields_of_remember_are_those_of_a_new_memory() -> None:
    only_for_imports = {"id", "created_at", "updated_at", "verified_at", "superseded_by"}
    fields = get_type_hints(NewMemory)
    expected = {name: kind for name, kind in fields.items() if name not in only_for_imports | {"content"}}
    assert get_type_hints(MemoryFields) == expected


@pytest.mark.parametrize("field", ["topik", "id", "stored_at"])
def test_remember_refuses_an_unknown_keyword_argument(store: MemoryStore, field: str) -> None:
    with pytest.raises(TypeError, match=f"'{field}'; (did you mean '(topic|remind_at)'|known are: )"):
        store.remember("a walrus", **{field: "x"})
    assert store.count() == 0


def test_edit_refuses_an_unknown_keyword_argument(store: MemoryStore) -> None:
    id = store.remember("a walrus").id
    with pytest.raises(TypeError, match=r"edit\(\) .* 'topik'; did you mean 'topic'"):
        store.edit(id, topik="x")  # type: ignore[call-arg]
    assert store.get(id).topic is None


def test_values_are_frozen(store: MemoryStore) -> None:
    memory = store.get(store.remember("a walrus").id)
    with pytest.raises(AttributeError):
        setattr(memory, "content", "changed")  # noqa: B010  the type checker knows already
    with pytest.raises(AttributeError):
        setattr(store.stats(), "memories", 5)  # noqa: B010


@pytest.mark.parametrize("trust", Trust)
@pytest.mark.parametrize("category", Category)
def test_memories_and_hits_are_as_their_constructors_build_them(
    store: MemoryStore, category: Category, trust: Trust
) -> None:
    """The engine fills their slots without the constructors."""
    written = store.remember("a walrus", category=category, trust=trust, source={"line": 3})
    memory = store.get(written.id)
    [hit] = store.recall("walrus", status=[Status.ACTIVE, Status.CANDIDATE], explain=True)
    assert (type(memory), type(hit), type(hit.explanation)) == (Memory, Hit, Explanation)
    assert memory.category is category
    assert memory.trust is trust
    assert memory.status is Status(memory.status.value)
    for built in (memory, hit):
        assert type(built)(**{field.name: getattr(built, field.name) for field in dataclasses.fields(built)}) == built
        assert pickle.loads(pickle.dumps(built)) == built
        assert repr(built).startswith(f"{type(built).__name__}(")
