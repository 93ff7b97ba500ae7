"""Exports and imports: nothing is lost on the way out and back, and a damaged file changes nothing."""

from __future__ import annotations

import contextlib
import io
import json
import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from opencode_memory import (
    FormatVersionError,
    InvalidInputError,
    Memory,
    MemoryStore,
    OpencodeMemoryError,
    StorageError,
)
from opencode_memory.exchange import export_memories, import_memories
from opencode_memory.models import ProjectIdentity
from opencode_memory.store.rows import Rows
from support.stores import NOW_MS, set_clock

OpenStore = Callable[..., MemoryStore]
EXPORTS = Path(__file__).parents[1] / "data" / "exports"
FOREIGN = sorted(path.name for path in EXPORTS.iterdir())
TOO_LONG = "1" * 5000
"""A number that Python refuses to read."""


def fill(store: MemoryStore) -> None:
    """Leave one of everything in a store."""
    store.projects.resolve(ProjectIdentity(remotes=("example.org/app",), root_commits=("a" * 40,), folder="/app"))
    first = store.remember("Deploy on Thursdays.", topic="deploy", tags=["ops"], entities=["!12"], pinned=True)
    second = store.remember(
        "Deploys need a review.", scope="global", category="directive", metadata={"n": [1, None, "é"]}
    )
    third = store.remember(
        "Rollback is manual.", project="other", session="s", position=0, speaker="Ada", confidence=0.0
    )
    candidate = store.remember("Maybe use Redis.", status="candidate", expires_at=datetime(2030, 1, 1, tzinfo=UTC))
    store.link(first.id, second.id, "related", "both about deploys")
    set_clock(store, NOW_MS + 1000)
    store.edit(first.id, content="Deploy on Tuesdays.")
    store.archive(third.id)
    store.undo(third.id)
    store.archive(candidate.id)
    store.delete(store.remember("Deleted, and still in the history.").id)
    store.kv.set("plan", {"step": 1}, ttl_seconds=None)
    store.kv.set("note", "x", project="other")


def rows(store: MemoryStore) -> dict[str, list[dict[str, Any]]]:
    """What a dump of a store holds, but for what is the store's own business."""
    found: dict[str, list[dict[str, Any]]] = {}
    for kind, row in store.rows.dump():
        found.setdefault(kind, []).append(
            {name: value for name, value in row.items() if name not in {"key", "stored_at"}}
        )
    return {kind: sorted(members, key=lambda row: json.dumps(row, sort_keys=True)) for kind, members in found.items()}


def exported(store: MemoryStore, format: str = "json") -> str:
    out = io.StringIO()
    export_memories(store, out, format=format)
    return out.getvalue()


@pytest.fixture
def full(open_store: OpenStore, tmp_path: Path) -> MemoryStore:
    store = open_store(tmp_path / "full", project="app")
    fill(store)
    return store


@pytest.fixture
def store(open_store: OpenStore) -> MemoryStore:
    """An empty store, a minute after everything in the full one was written."""
    return open_store(project="app", clock_ms=NOW_MS + 60_000)


def memories(store: MemoryStore) -> list[Memory]:
    return store.list(project="*", status=["active", "candidate", "superseded", "archived"], limit=1000)


def test_json_brings_everything_back(full: MemoryStore, store: MemoryStore) -> None:
    report = import_memories(store, io.StringIO(exported(full)))
    before, after = rows(full), rows(store)
    assert {kind: len(members) for kind, members in after.items()} == {
        kind: len(members) for kind, members in before.items()
    }
    assert after["memory"] == before["memory"]
    assert after["project"] == before["project"]
    assert after["link"] == before["link"]
    assert after["kv"] == before["kv"]
    assert report.total("memory") == len(before["memory"])
    assert [memory.updated_at for memory in memories(store)] == [memory.updated_at for memory in memories(full)]


def test_history_comes_back_as_it_was(full: MemoryStore, store: MemoryStore) -> None:
    import_memories(store, io.StringIO(exported(full)))
    for memory in memories(full):
        told = [
            (entry.kind, entry.at, entry.undone, entry.before and entry.before.content)
            for entry in full.history(memory.id)
        ]
        kept = [
            (entry.kind, entry.at, entry.undone, entry.before and entry.before.content)
            for entry in store.history(memory.id)
        ]
        assert kept == told


def test_importing_again_changes_nothing(full: MemoryStore, store: MemoryStore) -> None:
    text = exported(full)
    import_memories(store, io.StringIO(text))
    before = rows(store)
    report = import_memories(store, io.StringIO(text))
    assert rows(store) == before
    assert report.counts["memory"].keys() <= {"merged"}
    assert report.counts["history"].keys() <= {"merged"}


def test_export_of_an_import_is_the_export(full: MemoryStore, store: MemoryStore) -> None:
    text = exported(full)
    import_memories(store, io.StringIO(text))
    first, second = json.loads(text), json.loads(exported(store))
    assert first["counts"] == second["counts"]


@pytest.mark.parametrize(
    ("array", "field", "value"),
    [
        ("kv", "created_at", 1 << 62),
        ("kv", "expires_at", -(1 << 62)),
        ("kv", "key", "a\nb"),
        ("kv", "project", "*"),
        ("kv", "value", "x" * (1 << 20)),
        ("links", "weight", 1e300),
        ("links", "kind", ""),
        ("links", "created_at", 1 << 62),
        ("history", "at", 1 << 62),
        ("projects", "created_at", -(1 << 62)),
        ("memories", "stored_at", -(1 << 62)),
    ],
)
def test_row_with_a_value_that_no_operation_writes_is_refused(
    full: MemoryStore, store: MemoryStore, array: str, field: str, value: Any
) -> None:
    document = json.loads(exported(full))
    document[array][0][field] = value
    before = rows(store)
    with pytest.raises(InvalidInputError, match=field):
        import_memories(store, io.StringIO(json.dumps(document)))
    assert rows(store) == before


def test_version_in_the_history_with_an_impossible_time_is_refused(full: MemoryStore, store: MemoryStore) -> None:
    document = json.loads(exported(full))
    changed = next(row for row in document["history"] if row["before"] is not None)
    changed["before"]["time"] = 1 << 62
    with pytest.raises(InvalidInputError, match="time"):
        import_memories(store, io.StringIO(json.dumps(document)))


def test_reason_of_a_link_has_no_control_characters(full: MemoryStore, store: MemoryStore) -> None:
    document = json.loads(exported(full))
    document["links"][0]["reason"] = "clears\x1b[2J the\nscreen"
    import_memories(store, io.StringIO(json.dumps(document)))
    assert rows(store)["link"][0]["reason"] == "clears [2J the screen"


def test_interrupted_import_is_finished_by_the_next(
    full: MemoryStore, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = exported(full)
    load = Rows.load

    def interrupted(self: Rows, kind: str, batch: Any) -> list[str]:
        # The rehearsal writes into another store.
        if kind == "link" and self._engine.data_dir == store.data_dir:
            raise KeyboardInterrupt
        return load(self, kind, batch)

    monkeypatch.setattr(Rows, "load", interrupted)
    with pytest.raises(KeyboardInterrupt):
        import_memories(store, io.StringIO(text))
    assert len(rows(store)["memory"]) == len(rows(full)["memory"])
    monkeypatch.undo()
    import_memories(store, io.StringIO(text))
    assert rows(store)["memory"] == rows(full)["memory"]
    assert rows(store)["link"] == rows(full)["link"]


def test_second_import_is_no_use_of_the_memories(full: MemoryStore, store: MemoryStore) -> None:
    text = exported(full)
    import_memories(store, io.StringIO(text))
    before = {memory.id: memory.uses for memory in store.list(project="*")}
    import_memories(store, io.StringIO(text))
    store.maintain()
    assert {memory.id: memory.uses for memory in store.list(project="*")} == before


def test_any_json_parser_reads_an_export(full: MemoryStore, store: MemoryStore) -> None:
    document = json.loads(exported(full))
    assert document["format"] == "opencode-memory"
    assert document["counts"]["memories"] == len(document["memories"])
    anew = json.dumps(dict(sorted(document.items())), indent=4)
    import_memories(store, io.StringIO(anew))
    assert rows(store)["memory"] == rows(full)["memory"]


def test_truncated_export_is_refused_and_changes_nothing(full: MemoryStore, store: MemoryStore) -> None:
    text = exported(full)
    for length in range(0, len(text) - 1, max(1, len(text) // 60)):
        with pytest.raises(InvalidInputError):
            import_memories(store, io.StringIO(text[:length]))
    assert memories(store) == []


def test_lines_that_went_missing_are_noticed(full: MemoryStore, store: MemoryStore) -> None:
    lines = exported(full).splitlines(keepends=True)
    first = next(number for number, line in enumerate(lines) if line == '"memories":[\n') + 1
    with pytest.raises(InvalidInputError, match="memories: the export is incomplete"):
        import_memories(store, io.StringIO("".join(lines[:first] + lines[first + 1 :])))
    assert memories(store) == []


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ('"version":1', '"version":99', "newer version"),
        ('"version":1', '"version":"x"', "no version"),
        ('"memories":[', '"memoirs":[', "unknown part"),
        ('"category":"fact"', '"category":"fiction"', "fiction"),
        ('"links":[\n{', '"links":[\n7,{', "line"),
        ('"category":"fact"', '"category":["fact"]', "category"),
        pytest.param('"confidence":0.0', f'"confidence":{TOO_LONG}', "line", id="number"),
    ],
)
def test_damaged_export_says_where(full: MemoryStore, store: MemoryStore, old: str, new: str, wanted: str) -> None:
    text = exported(full)
    assert old in text
    with pytest.raises((InvalidInputError, FormatVersionError), match=wanted):
        import_memories(store, io.StringIO(text.replace(old, new, 1)))


@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [
        ("memories", "id", "no UUID"),
        ("memories", "content", " "),
        ("memories", "trust", "god"),
        ("memories", "tags", "x"),
        ("links", "weight", "heavy"),
        ("links", "nonsense", 1),
        ("kv", "created_at", "soon"),
        ("history", "actor", "nobody"),
        ("projects", "remotes", None),
    ],
)
def test_one_bad_row_refuses_the_whole_export_also_in_a_dry_run(
    full: MemoryStore, store: MemoryStore, kind: str, field: str, value: Any
) -> None:
    document = json.loads(exported(full))
    document[kind][-1][field] = value
    for dry_run in (True, False):
        with pytest.raises(InvalidInputError, match=kind):
            import_memories(store, io.StringIO(json.dumps(document)), dry_run=dry_run)
        assert rows(store) == {}


@pytest.mark.parametrize(("old", "new"), [('"tags": [', '"tags": 7, "entities": ['), ('"id": "', '"id": "x')])
def test_one_bad_memory_refuses_the_whole_markdown_also_in_a_dry_run(
    full: MemoryStore, store: MemoryStore, old: str, new: str
) -> None:
    text = exported(full, "markdown")
    assert old in text
    for dry_run in (True, False):
        with pytest.raises(InvalidInputError, match="the given text: "):
            import_memories(store, io.StringIO(text.replace(old, new, 1)), dry_run=dry_run)
        assert rows(store) == {}


def test_an_import_leaves_no_rehearsal_behind(full: MemoryStore, store: MemoryStore) -> None:
    before = set(store.data_dir.iterdir())
    import_memories(store, io.StringIO(exported(full)))
    left = {path.name for path in set(store.data_dir.iterdir()) - before}
    assert not [name for name in left if name.startswith("dump-")]


def test_export_of_one_project_leaves_the_others_out(full: MemoryStore) -> None:
    out = io.StringIO()
    export_memories(full, out, project="other")
    document = json.loads(out.getvalue())
    assert {memory["project"] for memory in document["memories"]} == {"other", None}


def test_file_is_replaced_only_when_all_is_written(
    full: MemoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "export.json"
    export_memories(full, target)
    complete = target.read_text(encoding="utf-8")
    assert target.stat().st_mode & 0o077 == 0

    def failing(**_: Any) -> Iterator[tuple[str, dict[str, Any]]]:
        yield "project", {"name": "app"}
        raise StorageError("the disk is full")

    monkeypatch.setattr(full.rows, "dump", failing)
    with pytest.raises(StorageError, match="the disk is full"):
        export_memories(full, target)
    assert target.read_text(encoding="utf-8") == complete
    assert [path.name for path in tmp_path.iterdir() if "export" in path.name] == ["export.json"]
    with pytest.raises(StorageError, match="cannot write"):
        export_memories(full, tmp_path / "no folder" / "export.json")


def test_import_reads_a_pipe(full: MemoryStore, store: MemoryStore) -> None:
    read, write = os.pipe()
    with os.fdopen(write, "w", encoding="utf-8") as into:
        into.write(exported(full))
    with os.fdopen(read, encoding="utf-8") as out:
        import_memories(store, out)
    assert len(memories(store)) == len(memories(full))


def test_dry_run_counts_and_changes_nothing(full: MemoryStore, store: MemoryStore) -> None:
    report = import_memories(store, io.StringIO(exported(full)), dry_run=True)
    assert (report.dry_run, report.total("memory")) == (True, len(memories(full)))
    for name in FOREIGN:
        assert import_memories(store, EXPORTS / name, dry_run=True).total("memory") > 0
    assert memories(store) == []


CONTENTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=60)
TRICKY = st.sampled_from(
    [
        "# heading",
        "```\n# x\n```",
        "<!-- memory {} -->",
        "<!-- end of x -->",
        "-->",
        "a\r\nb",
        "a\r",
        "\n\na\n\n",
        "---",
        "## Global",
    ]
)


@example(texts=["\u00ad", "a"])  # A text without a visible character is no memory.
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.one_of(CONTENTS, TRICKY, st.tuples(TRICKY, CONTENTS).map("\n".join)), min_size=1, max_size=6))
def test_markdown_brings_texts_back_exactly(open_store: OpenStore, tmp_path_factory: Any, texts: list[str]) -> None:
    folder = tmp_path_factory.mktemp("markdown")
    first, second = open_store(folder / "a", project="app"), open_store(folder / "b", project="app")
    for number, text in enumerate(texts):
        if any(character.isprintable() and not character.isspace() for character in text):
            first.remember(text, topic=f"--> {number}", tags=["a--b"], category="decision" if number % 2 else "fact")
    report = import_memories(second, io.StringIO(exported(first, "markdown")))
    assert report.skipped == ()
    kept = {memory.id: (memory.content, memory.topic, memory.tags, memory.category) for memory in memories(second)}
    assert kept == {
        memory.id: (memory.content, memory.topic, memory.tags, memory.category) for memory in memories(first)
    }


def test_markdown_is_for_people(full: MemoryStore) -> None:
    text = exported(full, "markdown")
    assert "\n## app\n\n### Fact\n" in text
    assert "\n## Global\n\n### Directive\n" in text
    assert "-->\nDeploy on Tuesdays.\n<!-- end of" in text
    assert "Maybe use Redis" not in text  # archived


def test_markdown_that_people_changed_is_read_and_what_is_lost_is_named(full: MemoryStore, store: MemoryStore) -> None:
    text = exported(full, "markdown").replace("Deploy on Tuesdays.", "Deploy on Mondays.\n\n# And not on holidays")
    report = import_memories(store, io.StringIO(text.replace("## Global", "## Global\n\nA remark.")))
    assert "Deploy on Mondays.\n\n# And not on holidays" in [memory.content for memory in memories(store)]
    assert len(report.skipped) == 1
    assert "A remark." in report.skipped[0]


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ("<!-- end of", "<!-- finish", "does not end"),
        ('{"end"', '{"endd"', "how it ends"),
        ('<!-- memory {"end"', '<!-- memory {"end" x', "not JSON"),
        ('"topic": "deploy"', '"topik": "deploy"', "unknown field 'topik'"),
        pytest.param('"confidence": 0.0', f'"confidence": {TOO_LONG}', "not JSON", id="number"),
        ("-->\nDeploy on Tuesdays.\n", "-->\n\n", "no text"),
    ],
)
def test_damaged_markdown_says_where(full: MemoryStore, store: MemoryStore, old: str, new: str, wanted: str) -> None:
    text = exported(full, "markdown")
    assert old in text
    with pytest.raises(InvalidInputError, match=wanted):
        import_memories(store, io.StringIO(text.replace(old, new)))
    assert memories(store) == []


def test_export_of_opencode_semantic_memory_is_imported_completely(store: MemoryStore) -> None:
    report = import_memories(store, EXPORTS / "opencode-semantic-memory-0.3.json")
    assert report.format == "opencode-semantic-memory"
    assert report.skipped == ("memories[4]: has no text",)
    found = {memory.content.split()[0]: memory for memory in memories(store)}
    queue, port, always, talked = found["Queue"], found["Port"], found["Always"], found["Talked"]
    assert (queue.category, queue.project, queue.entities) == ("decision", "acme/shop", ("!12", "concept:queue"))
    assert queue.created_at == queue.time == datetime(2025, 11, 3, 8, 15, 30, 500_000, tzinfo=UTC)
    assert (queue.metadata["what"], queue.metadata["why"]) == ("Job queue", "One system less")
    assert queue.metadata["entities"][0]["title"] == "Add the job queue"
    assert (queue.source.file, queue.trust) == ("/notes/queue.md", "imported")
    assert (port.status, port.created_at) == ("archived", datetime(2025, 12, 1, 9, tzinfo=UTC))
    assert (always.category, always.status, always.scope) == ("directive", "candidate", "global")
    assert (talked.category, talked.metadata["original_category"]) == ("conversation", "conversation_summary")
    assert talked.metadata["entities"][0]["title"] == "Add the job queue"
    near = store.related(queue.id)[0]
    assert (near.memory.id, near.kind) == (talked.id, "similar")


def test_ocm_mem_export_comes_over_with_the_project_of_its_root_commit(store: MemoryStore) -> None:
    identity = ProjectIdentity(
        remotes=("example.org/shop",), root_commits=("0123456789abcdef0123456789abcdef01234567",)
    )
    store.projects.resolve(identity)
    assert import_memories(store, EXPORTS / "ocm-mem.json").format == "ocm-mem-json"
    imports, servers = sorted(memories(store), key=lambda memory: memory.created_at)
    assert (imports.category, imports.project) == ("convention", "example.org/shop")
    assert imports.content == "# Imports\n\nUse absolute imports."
    assert imports.created_at == datetime.fromtimestamp(1_760_000_000, UTC)
    assert imports.updated_at == datetime.fromtimestamp(1_765_000_000, UTC)
    assert imports.metadata["uses_before_import"] == 4
    assert (servers.category, servers.source.file) == ("context", None)


def test_ocm_mem_markdown_keeps_headings_within_memories(store: MemoryStore) -> None:
    assert import_memories(store, EXPORTS / "ocm-mem.md").format == "ocm-mem-markdown"
    found = {memory.content: memory for memory in memories(store)}
    assert set(found) == {
        "# Imports\n\nUse absolute imports.\n\n## Decisions (1)\n\nThat heading is part of the text.",
        "Commit messages are imperative.",
        "The shop runs on two servers.",
    }
    servers = found["The shop runs on two servers."]
    assert (servers.category, servers.created_at, servers.project) == (
        "context",
        datetime(2025, 10, 20, tzinfo=UTC),
        "app",
    )


@pytest.mark.parametrize("name", FOREIGN)
def test_importing_a_foreign_export_again_changes_nothing(store: MemoryStore, name: str) -> None:
    import_memories(store, EXPORTS / name)
    before = memories(store)
    store.archive(before[0].id)
    after = memories(store)
    import_memories(store, EXPORTS / name)
    assert memories(store) == after


@pytest.mark.parametrize("name", FOREIGN)
def test_foreign_memories_may_all_go_into_one_project(store: MemoryStore, name: str) -> None:
    import_memories(store, EXPORTS / name, project="mine")
    assert {memory.project for memory in memories(store)} == {"mine"}


def test_foreign_project_without_a_host_is_the_one_that_can_be_meant(store: MemoryStore) -> None:
    store.projects.resolve(ProjectIdentity(remotes=("gitlab.com/acme/shop",)))
    import_memories(store, EXPORTS / "opencode-semantic-memory-0.3.json")
    assert {memory.project for memory in memories(store)} == {"gitlab.com/acme/shop", None}


def test_text_over_the_limit_is_cut_and_nothing_is_lost(store: MemoryStore) -> None:
    content = "".join(f"paragraph {number}\n\n" for number in range(10_000))
    import_memories(
        store, io.StringIO(json.dumps([{"projectId": "p", "scope": "context", "content": content, "createdAt": 1}]))
    )
    parts = memories(store)
    assert len(parts) > 1
    assert sum(len(part.content) for part in parts) == len(content)


@pytest.mark.parametrize(
    ("name", "old", "new", "wanted"),
    [
        (
            "opencode-semantic-memory-0.3.json",
            '"decision"',
            '"desicion"',
            r"memories\[0\].category .* did you mean 'decision'",
        ),
        ("opencode-semantic-memory-0.3.json", "2025-11-03T08", "2025-13-03T08", r"memories\[0\].created_at"),
        ("opencode-semantic-memory-0.3.json", "2025-11-03T08:15:30.500000+00", "0001-01-01T00:00+14", "created_at"),
        ("opencode-semantic-memory-0.3.json", '["!12", "concept:queue"]', '"!12"', r"memories\[0\].entities"),
        ("opencode-semantic-memory-0.3.json", '"links": [', '"links": 7, "x": [', "links is not a list"),
        ("opencode-semantic-memory-0.3.json", '"links": [', '"links": [ , ', "line"),
        ("ocm-mem.json", '"convention"', '"conventions"', r"\[0\].scope"),
        ("ocm-mem.json", '"The shop runs on two servers."', "7", r"\[1\].content"),
        ("ocm-mem.json", "1760000000000", '"soon"', r"\[0\].createdAt"),
        pytest.param("ocm-mem.json", "1760000000000", TOO_LONG, "a number that is too long", id="number"),
        ("ocm-mem.md", "## Contexts (1)", "## Contexts (2)", "1 of 2 contexts"),
        ("ocm-mem.md", "2025-10-20", "2025-13-20", "2025-13-20"),
    ],
)
def test_damaged_foreign_export_names_the_field_and_changes_nothing(
    store: MemoryStore, name: str, old: str, new: str, wanted: str
) -> None:
    text = (EXPORTS / name).read_text(encoding="utf-8")
    assert old in text
    with pytest.raises(InvalidInputError, match=wanted):
        import_memories(store, io.StringIO(text.replace(old, new)))
    assert memories(store) == []


def test_what_is_no_export_points_to_ingest(store: MemoryStore) -> None:
    with pytest.raises(InvalidInputError, match="no format") as caught:
        import_memories(store, io.StringIO("# Notes\n\nof mine\n"))
    assert "ingest" in str(caught.value.hint)
    with pytest.raises(InvalidInputError, match="unknown format"):
        import_memories(store, io.StringIO("{}"), format="xml")
    with pytest.raises(InvalidInputError, match="unknown format"):
        export_memories(store, io.StringIO(), format="xml")


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=st.sampled_from(FOREIGN),
    start=st.integers(0, 3000),
    length=st.integers(0, 80),
    text=st.text('{}[]",:#\n 1x', max_size=8),
)
def test_no_damage_is_worse_than_an_error(store: MemoryStore, name: str, start: int, length: int, text: str) -> None:
    whole = (EXPORTS / name).read_text(encoding="utf-8")
    damaged = whole[:start] + text + whole[start + length :]
    with contextlib.suppress(OpencodeMemoryError):
        import_memories(store, io.StringIO(damaged), dry_run=True)


def test_file_that_is_not_utf8_is_a_clear_error(store: MemoryStore, tmp_path: Path) -> None:
    for data in (b"\xff\xfe[", b'[{"projectId": "p", "content": "' + b"x" * 9000 + b'\xe9"}]'):
        (tmp_path / "export.json").write_bytes(data)
        with pytest.raises(InvalidInputError, match="UTF-8"):
            import_memories(store, tmp_path / "export.json")


def test_byte_order_mark_does_no_harm(full: MemoryStore, store: MemoryStore) -> None:
    import_memories(store, io.StringIO("\ufeff" + exported(full)))
    assert len(memories(store)) == len(memories(full))
