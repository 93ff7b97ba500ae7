"""Faults of earlier systems, one test each, by their number in the list of faults.

Missing numbers belong to parts that have their own tests, such as the command line, the formats and the server.
"""

from __future__ import annotations

import importlib.metadata
import io
import stat
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from opencode_memory import EmbeddingError, MemoryStore, ProjectIdentity, RememberStatus, Status
from opencode_memory.config.distribution import DISTRIBUTION
from opencode_memory.exchange import export_memories, import_memories
from support import processes
from support.embedders import ConstantEmbedder, DownEmbedder, HookedEmbedder, WordEmbedder
from support.stores import DAY_MS, NOW_MS, files_holding, recalled, set_clock, texts

CORRECTIONS = [
    ("Always squash commits before merging.", "Never squash commits before merging."),
    ("The limit is 100 MB", "The limit is 10 MB"),
    ("Deploy on Fridays", "Do not deploy on Fridays"),
    ("The API runs on port 5128", "The API runs on port 5129"),
    ("Tests are required", "Tests are not required"),
    ("Enable the cache", "Disable the cache"),
    ("Merge with rebase", "Merge without rebase"),
    ("Call it before start", "Call it after start"),
    ("x = 1", "x = -1"),
    ("Use tabs for indentation", "Use spaces for indentation"),
    ("The job runs every hour", "The job runs every day"),
    ("Ada owns the release", "Bob owns the release"),
    ("The server is in Frankfurt", "The server is in Dublin"),
    ("Timeout is 30 s", "Timeout is 30 ms"),
    ("Use python3.11", "Use python3.12"),
    ("The flag is --dry-run", "The flag is --no-dry-run"),
    ("Port 80 is open", "Port 80 is closed"),
    ("set RETRIES=3", "set retries=3"),
    ("Do it!", "Do it?"),
]
REPLACED = [CORRECTIONS[number] for number in (0, 1, 2, 3, 9, 11, 13)]
"""A later rule that says the opposite, and another value of what has one value."""
PERHAPS_ONCE = ("Do not deploy on Fridays", "Deploy on Fridays")
"""An order without "always", which may be a task of today. A rule is not lost to it."""
CONTRADICTIONS = [CORRECTIONS[number] for number in (4, 5, 6, 7, 8, 12, 15)]


@pytest.mark.parametrize("pair", CORRECTIONS, ids=lambda pair: pair[1])
@pytest.mark.parametrize("order", [1, -1], ids=["as it is", "the other way round"])
def test_01_a_correction_by_one_word_is_never_taken_for_a_duplicate(
    open_store, pair: tuple[str, str], order: int
) -> None:
    """Even an embedder to which all texts are the same cannot make the newer one disappear."""
    store = open_store(embedder=ConstantEmbedder(1.0))
    is_replaced = pair in REPLACED and pair[::order] != PERHAPS_ONCE
    old, new = (store.remember(text) for text in pair[::order])
    store.indexes.embed_pending()
    assert (old.status, new.status) == (RememberStatus.STORED, RememberStatus.STORED)
    active = [pair[::order][1]] if is_replaced else sorted(pair)
    assert sorted(texts(store.list())) == active
    assert new.replaced == ((old.id,) if is_replaced else ())
    [link] = [found for found in store.related(new.id) if found.kind != "near"]
    assert link.memory.id == old.id
    is_against = pair in CONTRADICTIONS or pair[::order] == PERHAPS_ONCE
    assert link.kind == ("supersedes" if is_replaced else "contradicts" if is_against else "similar")


def test_i9_01_newer_equal_statement_wins_and_the_older_stays_reachable(open_store) -> None:
    store = open_store(embedder=ConstantEmbedder(1.0))
    old = store.remember("don't push to main").id
    new = store.remember("do not push to main").id
    store.indexes.embed_pending()
    assert texts(store.list()) == ["do not push to main"]
    superseded = store.get(old)
    assert (superseded.status, superseded.superseded_by) == (Status.SUPERSEDED, new)
    assert [(found.memory.id, found.kind) for found in store.related(new)] == [(old, "supersedes")]
    assert store.history(old)[-1].kind == "supersede"
    store.undo(old)
    assert len(store.list()) == 2


@pytest.mark.parametrize("trust", ["agent", "extracted", "tool", "imported"])
def test_01_a_statement_of_lower_trust_supersedes_nothing(open_store, trust: str) -> None:
    store = open_store(embedder=ConstantEmbedder(1.0))
    id = store.remember("don't push to main", trust="user").id
    store.remember("do not push to main", trust=trust)
    store.indexes.embed_pending()
    assert store.get(id).status is Status.ACTIVE


def test_02_equal_directives_of_two_projects_stay_two(store: MemoryStore) -> None:
    one = store.remember("Always squash commits", category="directive", project="a")
    two = store.remember("Always squash commits", category="directive", project="b")
    everywhere = store.remember("Always squash commits", category="directive", scope="global")
    assert len({one.id, two.id, everywhere.id}) == 3
    for name in ("a", "b"):
        assert len(store.list(project=name, scope="project", category="directive")) == 1


def test_03_long_texts_with_the_same_beginning_are_two_memories(store: MemoryStore) -> None:
    beginning = "the same five hundred characters " * 20
    one, two = store.remember(beginning + "but this end"), store.remember(beginning + "but that end")
    assert one.id != two.id
    assert recalled(store, "that end")[0].endswith("that end")


def test_03_duplicate_is_merged_with_its_fields_and_reported(store: MemoryStore) -> None:
    first = store.remember("the same text", metadata={"a": 1})
    second = store.remember("the same text", metadata={"b": 2}, tags=["t"], entities=["!12"])
    assert (second.id, second.status) == (first.id, RememberStatus.MERGED)
    memory = store.get(first.id)
    assert (memory.metadata, memory.tags, memory.entities) == ({"a": 1, "b": 2}, ("t",), ("!12",))


def test_04_repeated_entity_is_stored_once(store: MemoryStore) -> None:
    for _ in range(3):
        store.remember("about the merge request", entities=["!12", " !12", "!12"])
    store.remember("also about it", entities=["!12"])
    assert sorted(texts(store.list(entity="!12"))) == ["about the merge request", "also about it"]


def test_05_an_entity_is_not_found_in_a_number(store: MemoryStore) -> None:
    store.remember("Port 5128 is taken", category="blocker")
    store.remember("!12 is merged", entities=["!12"])
    assert texts(store.list(entity="!12")) == ["!12 is merged"]
    assert recalled(store, "!12") == ["!12 is merged"]


def test_06_editing_a_hundred_times_leaves_the_index_sound(open_store) -> None:
    store = open_store()
    id = store.remember("version 0 of the walrus").id
    for number in range(1, 100):
        store.edit(id, content=f"version {number} of the {'walrus' if number % 2 else 'heron'}")
        if number % 10 == 0:
            store.indexes.catch_up()
    assert recalled(store, "walrus") == ["version 99 of the walrus"]
    assert recalled(store, "heron") == []
    store.indexes.catch_up()
    assert store.indexes.verify().ok
    assert store.stats().lexical_documents == 1


def test_07_export_holds_all_memories_with_status_entities_and_dates(open_store, tmp_path: Path) -> None:
    store = open_store(project="app")
    id = store.remember("archived", entities=["!12"], time="2020-01-01T00:00+00:00", expires_at=NOW_MS + 30 * DAY_MS).id
    store.archive(id)
    store.remember_many(({"content": f"memory {number}"} for number in range(10_001)), batch_size=5000)
    out = io.StringIO()
    export_memories(store, out)
    copy = open_store(tmp_path / "copy", project="app", clock_ms=NOW_MS + DAY_MS)
    import_memories(copy, io.StringIO(out.getvalue()))
    moved = copy.get(id)
    assert copy.count(status=["active", "archived"]) == 10_002
    assert (moved.status, moved.entities, moved.time.year) == (Status.ARCHIVED, ("!12",), 2020)
    assert moved.created_at == datetime.fromtimestamp(NOW_MS / 1000, UTC)


def test_08_an_archive_can_be_read_and_restored(store: MemoryStore) -> None:
    id = store.remember("a walrus").id
    store.archive(id)
    assert recalled(store, "walrus", status="archived") == ["a walrus"]
    store.restore(id)
    assert recalled(store, "walrus") == ["a walrus"]


def test_08_deleted_memories_take_no_place_among_the_best(open_store) -> None:
    store = open_store(embedder=WordEmbedder(synonyms={"pinniped": "walrus"}))
    ids = [result.id for result in store.remember_many({"content": f"walrus {number}"} for number in range(300))]
    store.remember("one walrus that is left")
    store.indexes.embed_pending()
    store.indexes.catch_up()
    store.delete(ids)
    for query in ("walrus", "pinniped"):
        assert recalled(store, query, limit=1) == ["one walrus that is left"]
    assert store.stats().vectors == 1


def test_10_memory_that_failed_often_is_embedded_in_the_end(open_store) -> None:
    embedder = DownEmbedder()
    store = open_store(embedder=embedder)
    store.remember("a walrus")
    for _ in range(10):
        with pytest.raises(EmbeddingError):
            store.indexes.embed_pending()
    assert store.stats().pending_embeddings == 1
    embedder.is_down = False
    store.indexes.embed_pending()
    assert store.stats().pending_embeddings == 0


def test_10_memory_edited_while_waiting_is_embedded(open_store) -> None:
    store = open_store(embedder=WordEmbedder(synonyms={"pinniped": "walrus"}))
    id = store.remember("a heron").id
    store.edit(id, content="a walrus")
    store.indexes.embed_pending()
    assert recalled(store, "pinniped") == ["a walrus"]


@pytest.mark.parametrize("end", ["2026-09-21T14:13:20+00:00", "2026-09-21 14:13:20+00:00", "2026-09-21T16:13:20+02:00"])
def test_11_an_end_is_a_moment_however_it_is_written(store: MemoryStore, end: str) -> None:
    set_clock(store, NOW_MS - 1)
    store.remember("a walrus", expires_at=end)
    assert recalled(store, "walrus") == ["a walrus"]
    set_clock(store, NOW_MS)
    assert recalled(store, "walrus") == []


def test_14_cleanup_reaches_only_memories_in_scope(store: MemoryStore) -> None:
    store.remember("of app")
    store.remember("of other", project="other")
    store.remember("of everybody", scope="global")
    store.indexes.embed_pending()
    store.delete([memory.id for memory in store.list(scope="global")])
    assert sorted(texts(store.list(project="*"))) == ["of app", "of other"]
    assert store.stats().vectors == 2


def test_15_reindex_replaces_all_vectors_of_another_model(open_store) -> None:
    old = open_store(project="app", embedder=WordEmbedder("old"))
    for name in ("app", "other"):
        old.remember(f"walrus of {name}", project=name)
    old.indexes.embed_pending()
    new = open_store(project="app", embedder=WordEmbedder("new", dimension=32))
    assert "old" in new.stats().model_mismatch
    assert new.indexes.reindex().embedded == 2
    assert (new.stats().model, new.stats().dimension, new.stats().vectors) == ("new", 32, 2)
    assert new.stats().model_mismatch is None


@pytest.mark.parametrize("value", [0.0, float("nan")])
def test_15_a_failed_embedding_is_not_stored_as_zeros(open_store, value: float) -> None:
    store = open_store(embedder=ConstantEmbedder(value))
    store.remember("a walrus")
    with pytest.raises(ValueError, match="zero or not finite"):
        store.indexes.embed_pending()
    assert (store.stats().vectors, store.stats().pending_embeddings) == (0, 1)


@pytest.mark.parametrize("query", ["walrus", "pinniped"])
def test_16_a_rare_memory_is_found_among_thousands_that_match_better(open_store, query: str) -> None:
    """`test_api_filters` has this for every filter."""
    store = open_store(project="app", embedder=WordEmbedder(dimension=32, synonyms={"pinniped": "walrus"}))
    store.remember_many({"content": f"walrus {number}"} for number in range(3000))
    store.remember("one long text about a walrus in a small project", project="small")
    store.indexes.embed_pending()
    assert recalled(store, query, project="small") == ["one long text about a walrus in a small project"]


def test_17_a_perfect_match_of_long_ago_beats_a_fresh_text_about_something_else(store: MemoryStore) -> None:
    store.remember("the deploy key is kept in the vault", time="2010-01-01T00:00+00:00")
    store.remember("the deploy was fine today", time=NOW_MS)
    assert recalled(store, "where is the deploy key kept")[0] == "the deploy key is kept in the vault"


def test_17_no_answer_is_no_answer(open_store) -> None:
    store = open_store()
    store.remember_many({"content": f"walrus {number}"} for number in range(20))
    store.indexes.embed_pending()
    assert store.recall("quarterly tax declaration") == []


def test_18_words_are_stemmed_and_identifiers_are_split(store: MemoryStore) -> None:
    store.remember("we deployed parseHTTPResponse")
    assert recalled(store, "deploying") == recalled(store, "http response") == ["we deployed parseHTTPResponse"]


def test_18_the_end_of_a_long_text_has_a_vector_too(open_store) -> None:
    store = open_store(embedder=WordEmbedder(synonyms={"pinniped": "walrus"}, window=8))
    store.remember(" ".join(f"filler{number}" for number in range(999)) + " walrus")
    store.indexes.embed_pending()
    assert len(store.recall("pinniped")) == 1


@pytest.mark.parametrize("query", ["", "   ", "?!"])
def test_18_an_empty_query_is_answered(store: MemoryStore, query: str) -> None:
    store.remember("a walrus")
    assert store.recall(query) == []


def test_19_a_program_that_needs_no_vectors_loads_no_model(data_dir: Path) -> None:
    done = processes.run(
        """
    import sys
    import opencode_memory
    heavy = ("numpy", "onnxruntime", "tokenizers", "opencode_memory._core")
    print([name for name in heavy if name in sys.modules])
    with opencode_memory.open(sys.argv[1], background=False) as store:
        store.remember("a walrus")
        print(len(store.recall("walrus")))
    print([name for name in ("onnxruntime", "tokenizers") if name in sys.modules])
    """,
        data_dir,
    )
    assert done.stdout.splitlines() == ["[]", "1", "[]"], done.stderr


def test_20_texts_are_embedded_in_batches(open_store) -> None:
    batches: list[Sequence[str]] = []
    store = open_store(embedder=HookedEmbedder(batches.append))
    store.remember_many({"content": f"walrus {number}"} for number in range(3000))
    store.indexes.embed_pending()
    # The first pages are small, so that an interrupt loses little.
    assert len(batches) <= 7
    assert sum(map(len, batches)) == 3000


def test_22_two_embedding_processes_embed_each_text_once(open_store) -> None:
    embedder = WordEmbedder()
    one, two = open_store(embedder=embedder, background=True), open_store(embedder=embedder, background=True)
    for number in range(50):
        one.remember(f"walrus {number}")
        two.remember(f"heron {number}")
    one.close()
    two.close()
    assert len(embedder.embedded) == len(set(embedder.embedded)) == 100
    assert open_store().stats().pending_embeddings == 0


def test_25_no_file_can_be_read_by_others(store: MemoryStore, data_dir: Path) -> None:
    """`test_api_permissions` has this after every operation."""
    store.remember("a walrus")
    store.backups.create()
    store.indexes.catch_up()
    for path in (data_dir, *data_dir.rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_27_secrets_are_replaced(store: MemoryStore, data_dir: Path) -> None:
    """`test_api_secrets` has this for every path in."""
    token = "ghp" + "_" + "A1b2C3d4" * 4 + "E5f6"
    assert store.remember(f"the token is {token}").redactions
    assert files_holding(data_dir, token) == []


def test_28_merged_memory_is_not_reported_as_stored(store: MemoryStore) -> None:
    store.remember("We use PostgreSQL", topic="database")
    assert store.remember("We use PostgreSQL", topic="database").status is RememberStatus.MERGED
    assert store.remember("We use SQLite", topic="database").status is RememberStatus.UPDATED
    kept = store.remember("We use MongoDB", topic="database", trust="tool")
    assert kept.status is RememberStatus.KEPT
    assert store.get(kept.id).content == "We use MongoDB"


def test_29_a_project_is_that_of_the_caller(open_store) -> None:
    """One store serves callers in different repositories; where its own process runs means nothing."""
    store = open_store()
    names = [store.projects.resolve(ProjectIdentity(remotes=(f"example.org/{name}",))) for name in ("a", "b")]
    for name in names:
        store.remember(f"walrus of {name}", project=name)
    assert recalled(store, "walrus", project=names[0]) == ["walrus of example.org/a"]
    assert recalled(store, "walrus") == []


def test_30_statistics_count_pending_embeddings(store: MemoryStore) -> None:
    store.remember_many([{"content": "one"}, {"content": "two"}])
    assert (store.stats().pending_embeddings, store.stats().lexical_tail) == (2, 2)
    store.indexes.embed_pending()
    store.indexes.catch_up()
    assert (store.stats().pending_embeddings, store.stats().lexical_tail) == (0, 0)


def test_31_every_shown_memory_can_be_changed_by_its_id(store: MemoryStore) -> None:
    store.remember("Port 5128 is taken", category="blocker")
    [blocker] = store.list(category="blocker")
    store.archive(blocker.id[-8:])
    assert store.list(category="blocker") == []


def test_32_every_dependency_has_an_upper_bound() -> None:
    required = importlib.metadata.requires(DISTRIBUTION)
    assert required
    assert [name for name in required if "<" not in name] == []


def test_38_a_long_call_can_be_interrupted(open_store) -> None:
    store = open_store()
    store.remember_many({"content": f"walrus {number}"} for number in range(100))
    with pytest.raises(KeyboardInterrupt):
        store.indexes.reindex(progress=lambda *_: _interrupt())
    assert recalled(store, "walrus 7")[0] == "walrus 7"


def _interrupt() -> None:
    raise KeyboardInterrupt


def test_39_findings_about_one_line_of_two_sessions_are_two_memories(store: MemoryStore) -> None:
    for session in ("loop-1", "loop-2"):
        store.remember(
            "null check is missing", source={"file": "a.py", "line": 3}, topic=f"{session}:a.py:3", session=session
        )
    assert store.count() == 2


def test_40_an_address_in_metadata_is_not_a_comment(store: MemoryStore) -> None:
    metadata = {"url": "http://example.org/a//b", "note": "/* kept */ # kept"}
    id = store.remember("see http://example.org//x", metadata=metadata).id
    assert store.get(id).metadata == metadata
