"""Any argument raises only our own errors, and a refused write writes nothing."""

from __future__ import annotations

import contextlib
import functools
import inspect
import io
import operator
import shutil
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import opencode_memory
from opencode_memory import MemoryStore, NewMemory, OpencodeMemoryError, ProjectIdentity, Source
from opencode_memory.exchange import export_memories, import_memories
from opencode_memory.models import MemoryFields
from opencode_memory.store.backups import Backups
from opencode_memory.store.edits import Changes
from opencode_memory.store.indexes import Indexes
from opencode_memory.store.kv import KeyValues
from opencode_memory.store.projects import Projects
from opencode_memory.store.rows import Rows
from opencode_memory.store.selection import Filter
from support.stores import open_store

# Nothing here may be the path of a file that somebody needs.
_TEXTS = st.one_of(
    st.sampled_from(
        ["", " ", "*", "%", "\0", "\ud800", "a" * 513, "fact", "global", "project", "active", "user", "json", "t"]
    ),
    st.text(max_size=8),
)
_NUMBERS = st.one_of(
    st.integers(-3, 3), st.sampled_from([2**31, 2**63 - 1, 2**63, -(2**63), -(2**64), 10**30, 10**400]), st.floats()
)
_SCALARS = st.one_of(
    st.none(), st.booleans(), _NUMBERS, _TEXTS, st.binary(max_size=3), st.complex_numbers(),
    st.sampled_from([object(), int, len, ..., Decimal("NaN"), date(2026, 1, 1), datetime(2026, 1, 1, tzinfo=UTC), datetime.min,
                     datetime.max.replace(tzinfo=UTC), range(3), Source(file="a"), NewMemory(content="x"), ProjectIdentity()]),
)  # fmt: skip
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.tuples(inner) | st.dictionaries(_TEXTS | st.integers(), inner, max_size=3) | st.sets(_TEXTS, max_size=2),
    max_leaves=4,
)  # fmt: skip

# Keyword arguments that methods declare as a `TypedDict`, by the name of the parameter that takes them.
_KEYWORDS = {"changes": Changes, "fields": MemoryFields, "filters": Filter}
_CALLABLES = {"progress", "on_failure"}
# `close` ends the others; `dump` and `load` are the two halves of exports and imports, and fuzzed below as those.
_PARTS = {
    "": MemoryStore,
    "kv.": KeyValues,
    "projects.": Projects,
    "indexes.": Indexes,
    "backups.": Backups,
    "rows.": Rows,
}
_METHODS: dict[str, Callable[..., Any]] = {
    f"{part}{name}": method
    for part, kind in _PARTS.items()
    for name, method in vars(kind).items()
    if inspect.isfunction(method)
    and not name.startswith("_")
    and f"{part}{name}" not in ("close", "rows.load")
    and not _CALLABLES.issuperset(list(inspect.signature(method).parameters)[1:])
}
_METHODS |= {"export_memories": export_memories, "import_memories": import_memories}


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory, monkeypatch_module: pytest.MonkeyPatch):
    folder = tmp_path_factory.mktemp("fuzz")
    monkeypatch_module.chdir(folder)  # a path that is made up lands here
    with open_store(folder / "store", project="app") as store:
        yield store


@pytest.fixture(scope="module")
def monkeypatch_module():
    with pytest.MonkeyPatch.context() as patch:
        yield patch


def _state(store: MemoryStore) -> tuple[Any, ...]:
    return (
        store.count(project="*", status=["active", "candidate", "archived", "superseded"]),
        store.kv.list(),
        store.projects.list(),
    )


def _call(store: MemoryStore, name: str, arguments: dict[str, Any]) -> None:
    """Call a method; an error of ours must have left everything as it was, and no other may come out."""
    if name in ("export_memories", "import_memories"):
        method = functools.partial(_METHODS[name], store)
    else:
        method = operator.attrgetter(name)(store)
    before = _state(store)
    try:
        result = method(**arguments)
        if inspect.isgenerator(result):
            list(result)
    except OpencodeMemoryError:
        assert _state(store) == before


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
@pytest.mark.parametrize("name", _METHODS)
def test_one_wrong_argument_is_refused_or_understood(fuzzed: MemoryStore, name: str, data: st.DataObject) -> None:
    """Every other argument is right, so that the wrong one is what is looked at."""
    parameters = inspect.signature(_METHODS[name]).parameters
    names = [name for name in parameters if name not in ("self", "store", *_KEYWORDS, *_CALLABLES)]
    names += [name for group, keywords in _KEYWORDS.items() if group in parameters for name in keywords.__annotations__]
    id = fuzzed.remember("a walrus that stays", topic="stays").id
    right = {"id": id, "ids": [id], "source": id, "target": id, "content": "x", "query": "x", "key": "k", "value": 1,
             "memories": [], "old": "app", "new": "app", "identity": ProjectIdentity(folder="/x"), "tags": ["t"]}  # fmt: skip
    if name in ("export_memories", "import_memories", "backups.create", "backups.restore"):
        right |= {"target": io.StringIO(), "source": io.StringIO("nothing")}
    arguments = {
        name: right.get(name)
        for name in names
        if name in parameters and parameters[name].default is inspect.Parameter.empty
    }
    wrong = data.draw(st.sampled_from(names), label="argument")
    arguments[wrong] = data.draw(_VALUES, label="value")
    with _only_what_we_said_is_left():
        _call(fuzzed, name, arguments)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    fields=st.fixed_dictionaries(
        {"content": _VALUES | st.just("x")}, optional=dict.fromkeys(MemoryFields.__annotations__, _VALUES)
    )
)
def test_a_mapping_of_anything_is_refused_or_understood(fuzzed: MemoryStore, fields: dict[str, Any]) -> None:
    _call(fuzzed, "remember_many", {"memories": [fields]})


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(memories=_VALUES)
def test_anything_in_place_of_memories_is_refused_or_understood(fuzzed: MemoryStore, memories: Any) -> None:
    _call(fuzzed, "remember_many", {"memories": memories})


@settings(max_examples=100)
@given(data=st.data())
def test_a_store_opened_with_anything_is_refused_or_opened(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("open")
    name = data.draw(st.sampled_from(["project", "read_only", "actor", "zone", "background", "clock_ms"]))
    with contextlib.suppress(OpencodeMemoryError):
        opencode_memory.open(folder, **({"background": False} | {name: data.draw(_VALUES)})).close()


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(max_size=200) | st.binary(max_size=200).map(lambda data: data.decode("latin-1")))
def test_any_text_is_refused_as_an_import_or_read(fuzzed: MemoryStore, text: str) -> None:
    for format in (None, "json", "markdown"):
        _call(fuzzed, "import_memories", {"source": io.StringIO(text), "format": format})


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An export with a row of each kind."""
    with open_store(tmp_path_factory.mktemp("exported"), project="app") as store:
        one = store.remember("one", metadata={"a": 1}, topic="t").id
        store.remember("other", topic="t")
        store.link(one, store.remember("two").id)
        store.kv.set("k", 1)
        out = io.StringIO()
        export_memories(store, out)
    return out.getvalue()


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    place=st.floats(0, 1, exclude_max=True), instead=st.sampled_from(["", "0", '"', "}", "x", "\0", ",", "-", "\ud800"])
)
def test_an_export_with_one_wrong_character_is_refused_or_read(
    fuzzed: MemoryStore, exported: str, place: float, instead: str
) -> None:
    at = int(place * len(exported))
    with contextlib.suppress(OpencodeMemoryError):
        import_memories(fuzzed, io.StringIO(exported[:at] + instead + exported[at + 1 :]))


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    kind=_VALUES | st.sampled_from(["memory", "link", "kv", "history", "project"]),
    rows=_VALUES | st.lists(st.dictionaries(_TEXTS, _VALUES)),
)
def test_any_row_is_refused_or_loaded(fuzzed: MemoryStore, kind: Any, rows: Any) -> None:
    with contextlib.suppress(OpencodeMemoryError):
        fuzzed.rows.load(kind, rows if isinstance(rows, list) else [rows])


@contextlib.contextmanager
def _only_what_we_said_is_left():
    """Remove what a made-up path created in the folder of this module."""
    before = set(Path().iterdir())
    yield
    for path in set(Path().iterdir()) - before:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
