"""Ingest of notes: edits, deletions, renames, and changes that the user makes to the memories."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from notes.ingesting import by_topic, run
from opencode_memory import InvalidInputError, Memory, MemoryStore, Status
from opencode_memory.exchange import export_memories
from opencode_memory.learning.rejections import rejecting, undo
from opencode_memory.learning.review import accept, reject
from opencode_memory.notes.folder import IngestReport, ingest

NOTE = "intro\n\n# A\n\nabout a\n\n## X\n\nfirst\n\n## X\n\nsecond\n"
OpenStore = Callable[..., MemoryStore]


def counts(report: IngestReport) -> tuple[int, int, int, int]:
    return report.added, report.updated, report.unchanged, report.archived


def test_section_becomes_a_memory_with_its_source(store: MemoryStore, notes: Path) -> None:
    (notes / "a.md").write_text(NOTE)
    assert counts(run(store, notes)) == (4, 0, 0, 0)
    memories = by_topic(store)
    assert {topic: memory.source.line for topic, memory in memories.items()} == {
        "file:a.md#": 1, "file:a.md#A": 3, "file:a.md#A/X": 7, "file:a.md#A/X~2": 11,
    }  # fmt: skip
    assert "".join(memories[topic].content for topic in sorted(memories, key=str)) == NOTE
    assert {memory.trust for memory in memories.values()} == {"imported"}
    assert {memory.source.file for memory in memories.values()} == {"a.md"}


def test_second_ingest_changes_no_memory(store: MemoryStore, notes: Path) -> None:
    (notes / "a.md").write_text(NOTE)
    run(store, notes)
    before = by_topic(store)
    assert counts(run(store, notes)) == (0, 0, 4, 0)
    assert by_topic(store) == before


def test_edit_updates_and_keeps_the_memory_and_its_history(store: MemoryStore, notes: Path) -> None:
    note = notes / "a.md"
    note.write_text(NOTE)
    run(store, notes)
    before = by_topic(store)["file:a.md#A"]
    note.write_text(NOTE.replace("about a", "about A and more"))
    assert counts(run(store, notes)) == (0, 1, 3, 0)
    after = by_topic(store)["file:a.md#A"]
    assert (after.id, after.content) == (before.id, "# A\n\nabout A and more\n\n")
    assert len(store.history(after.id)) == 2


def test_edit_of_letter_case_is_stored(store: MemoryStore, notes: Path) -> None:
    (notes / "a.md").write_text("# Use postgres\n")
    run(store, notes)
    (notes / "a.md").write_text("# Use Postgres\n")
    run(store, notes)
    assert "# Use Postgres\n" in [memory.content for memory in store.list()]


def test_deleted_section_and_deleted_file_are_archived_and_come_back(store: MemoryStore, notes: Path) -> None:
    note = notes / "a.md"
    note.write_text(NOTE)
    run(store, notes)
    ids = {topic: memory.id for topic, memory in by_topic(store).items()}
    note.write_text(NOTE.replace("## X\n\nsecond\n", ""))
    assert counts(run(store, notes)) == (0, 0, 3, 1)
    note.unlink()
    assert counts(run(store, notes)) == (0, 0, 0, 3)
    assert store.list() == []
    assert counts(run(store, notes)) == (0, 0, 0, 0)
    note.write_text(NOTE.replace("first", "first again"))
    assert counts(run(store, notes)) == (0, 4, 0, 0)
    assert {topic: memory.id for topic, memory in by_topic(store).items()} == ids
    assert counts(run(store, notes)) == (0, 0, 4, 0)


def test_deleted_file_may_be_ingested_by_name(store: MemoryStore, notes: Path) -> None:
    (notes / "a.md").write_text(NOTE)
    (notes / "b.md").write_text("# B\n")
    run(store, notes)
    (notes / "a.md").unlink()
    assert counts(run(store, notes / "a.md", top=notes)) == (0, 0, 0, 4)
    assert list(by_topic(store)) == ["file:b.md#B"]
    with pytest.raises(InvalidInputError, match="no memories were read"):
        run(store, notes / "never.md", top=notes)


def test_renamed_file_and_repeated_sections_lose_no_text(store: MemoryStore, notes: Path) -> None:
    (notes / "a.md").write_text("# License\n\nMIT\n")
    (notes / "b.md").write_text("# License\n\nMIT\n")
    assert counts(run(store, notes)) == (2, 0, 0, 0)
    (notes / "a.md").rename(notes / "c.md")
    assert counts(run(store, notes)) == (0, 0, 1, 0)
    assert set(by_topic(store)) == {"file:b.md#License", "file:c.md#License"}


def test_archived_memory_stays_archived_until_the_note_changes(store: MemoryStore, notes: Path) -> None:
    note = notes / "a.md"
    note.write_text("# A\n\nold\n")
    run(store, notes)
    store.archive(by_topic(store)["file:a.md#A"].id)
    assert counts(run(store, notes)) == (0, 0, 1, 0)
    assert store.list() == []
    note.write_text("# A\n\nnew\n")
    assert counts(run(store, notes)) == (0, 1, 0, 0)
    assert [memory.content for memory in store.list()] == ["# A\n\nnew\n"]


def test_edited_memory_is_not_overwritten(store: MemoryStore, notes: Path) -> None:
    note = notes / "a.md"
    note.write_text("# A\n\nfrom the file\n")
    run(store, notes)
    memory = by_topic(store)["file:a.md#A"]
    store.edit(memory.id, content="by hand", trust="user")
    assert counts(run(store, notes)) == (0, 0, 1, 0)
    note.write_text("# A\n\nfrom the file again\n")
    report = run(store, notes)
    assert store.get(memory.id).content == "by hand"
    assert "higher trust" in report.skipped[0].reason
    assert [waiting.content for waiting in store.list(status=Status.CANDIDATE)] == ["# A\n\nfrom the file again\n"]


def test_secret_in_a_note_is_redacted_and_the_note_counts_as_unchanged(store: MemoryStore, notes: Path) -> None:
    secret = "ghp_" + "aB3dE5fG7h" * 3 + "aB3dE5"
    (notes / "a.md").write_text(f"# Token\n\n{secret}\n")
    run(store, notes)
    assert secret not in store.list()[0].content
    assert counts(run(store, notes)) == (0, 0, 1, 0)


def test_changed_section_keeps_what_the_user_added(store: MemoryStore, notes: Path) -> None:
    (notes / "a.md").write_text("# Deploy\n\nDeploys run on Tuesdays.\n")
    run(store, notes)
    (before,) = store.list()
    at = datetime(2031, 1, 1, tzinfo=UTC)
    store.edit(before.id, tags=["ops"])
    store.reminders.set(before.id, at)
    store.reminders.set(before.id, at, is_review=True)
    store.pin(before.id)
    (notes / "a.md").write_text("# Deploy\n\nDeploys run on Wednesdays.\n")
    assert counts(run(store, notes)) == (0, 1, 0, 0)
    (after,) = store.list()
    assert (after.id, after.content) == (before.id, "# Deploy\n\nDeploys run on Wednesdays.\n")
    assert (after.tags, after.pinned, after.remind_at, after.review_after) == (("ops",), True, at, at)


def test_note_with_long_front_matter_is_read_with_the_others_of_its_folder(store: MemoryStore, notes: Path) -> None:
    (notes / "a.md").write_text(f"---\ntitle: {'x' * 70_000}\n---\n# A\n\nabout a\n")
    (notes / "b.md").write_text("# B\n\nabout b\n")
    assert counts(run(store, notes)) == (2, 0, 0, 0)
    assert by_topic(store)["file:a.md#A"].metadata["title"] == "x" * 400


def test_front_matter_is_redacted_before_it_is_cut(store: MemoryStore, notes: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    block = f"{'# ' + 'x' * 7_975}\nnote: {secret}\n"
    (notes / "a.md").write_text(f"---\n{block}---\n# A\n\nabout a\n")
    run(store, notes)
    front_matter = str(by_topic(store)["file:a.md#A"].metadata["front_matter"])
    assert "[redacted:" in front_matter
    assert secret[:8] not in front_matter


def test_front_matter_sets_category_tags_and_date(store: MemoryStore, notes: Path) -> None:
    block = "---\ntitle: Choice\ntags: [db]\ncategory: decision\ndate: 2025-11-03\nstatus: accepted\n---\n"
    (notes / "a.md").write_text(block + "# A\n\ntext\n\n# B\n\nmore\n")
    run(store, notes)
    first, second = by_topic(store)["file:a.md#A"], by_topic(store)["file:a.md#B"]
    assert (first.category, first.tags, first.time) == ("decision", ("db",), datetime(2025, 11, 3, tzinfo=UTC))
    assert (first.metadata["title"], first.metadata["front_matter"]) == ("Choice", block)
    assert "front_matter" not in second.metadata
    assert first.source.line == 8


def test_note_without_a_date_gets_its_modification_time(store: MemoryStore, notes: Path) -> None:
    (notes / "a.md").write_text("# A\n")
    os.utime(notes / "a.md", (1_700_000_000, 1_700_000_000))
    run(store, notes)
    assert store.list()[0].time == datetime.fromtimestamp(1_700_000_000, UTC)


def test_directive_in_a_note_waits_for_review(store: MemoryStore, notes: Path) -> None:
    note = notes / "a.md"
    note.write_text("---\ncategory: directive\n---\nAlways run the tests.\n")
    assert counts(run(store, notes)) == (1, 0, 0, 0)
    assert store.list() == []
    assert len(store.list(status="candidate")) == 1
    assert counts(run(store, notes)) == (0, 0, 1, 0)
    note.write_text("---\ncategory: directive\n---\nAlways run all the tests.\n")
    assert counts(run(store, notes)) == (1, 0, 0, 1)
    assert [memory.content for memory in store.list(status="candidate")] == ["Always run all the tests.\n"]


def test_unreadable_notes_are_reported_and_keep_their_memories(store: MemoryStore, notes: Path) -> None:
    (notes / "a.md").write_text("# A\n")
    (notes / "b.md").write_text("# B\n")
    (notes / "sub").mkdir()
    (notes / "sub" / "c.md").write_text("# C\n")
    run(store, notes)
    (notes / "a.md").write_bytes(b"# A \xe9\n")
    (notes / "b.md").write_text("---\ncategory: desicion\n---\n# B\n")
    report = run(store, notes)
    assert counts(report) == (0, 0, 1, 0)
    assert [Path(skipped.file).name for skipped in report.skipped] == ["a.md", "b.md"]
    assert "not UTF-8" in report.skipped[0].reason
    assert "did you mean 'decision'" in report.skipped[1].reason


def test_note_replaced_by_a_link_is_reported_and_keeps_its_memory(store: MemoryStore, notes: Path) -> None:
    (notes / "a.md").write_text("# A\n")
    (notes / "b.md").write_text("# B\n")
    run(store, notes)
    (notes / "a.md").unlink()
    (notes / "a.md").symlink_to(notes / "b.md")
    report = run(store, notes)
    assert counts(report) == (0, 0, 1, 0)
    assert report.skipped[0].reason == "symbolic link, not followed"


def test_link_to_the_folder_and_dots_in_a_path_lead_to_the_same_notes(store: MemoryStore, notes: Path) -> None:
    (notes / "sub").mkdir()
    (notes / "a.md").write_text("# A\n")
    (notes.parent / "link").symlink_to(notes)
    run(store, notes)
    assert counts(run(store, notes.parent / "link" / "sub" / "..", top=notes)) == (0, 0, 1, 0)


def test_dry_run_reports_and_writes_no_memory(store: MemoryStore, notes: Path) -> None:
    (notes / "a.md").write_text(NOTE)
    assert counts(run(store, notes, dry_run=True)) == (4, 0, 0, 0)
    assert store.list() == []
    run(store, notes)
    (notes / "a.md").write_text("# A\n\nabout a\n\n# New\n")
    assert counts(run(store, notes, dry_run=True)) == (1, 0, 1, 3)
    assert len(store.list()) == 4


def test_folders_of_one_project_and_files_outside_do_not_touch_each_other(
    store: MemoryStore, notes: Path, tmp_path: Path
) -> None:
    (notes / "docs").mkdir()
    (notes / "docs-2").mkdir()
    (notes / "docs" / "a.md").write_text("# A\n")
    (notes / "docs-2" / "b.md").write_text("# B\n")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "c#%.md").write_text("# C\n")
    run(store, notes)
    run(store, tmp_path / "outside", top=notes)
    (notes / "docs" / "a.md").unlink()
    assert counts(run(store, notes / "docs", top=notes)) == (0, 0, 0, 1)
    assert counts(run(store, notes)) == (0, 0, 1, 0)
    assert set(by_topic(store)) == {"file:docs-2/b.md#B", f"file:{tmp_path}/outside/c%23%25.md#C"}


def test_projects_do_not_touch_each_other(open_store: OpenStore, notes: Path) -> None:
    (notes / "a.md").write_text("# A\n")
    store = open_store(project="app")
    run(store, notes)
    assert counts(ingest(store, notes, top=notes, project="other")) == (1, 0, 0, 0)
    (notes / "a.md").unlink()
    assert counts(ingest(store, notes, top=notes, project="other")) == (0, 0, 0, 1)
    assert set(by_topic(store)) == {"file:a.md#A"}


def test_global_memories_and_those_of_a_project_do_not_touch_each_other(open_store: OpenStore, notes: Path) -> None:
    (notes / "a.md").write_text("# A\n")
    everywhere, app = open_store(), open_store(project="app")
    topic = f"file:{notes}/a.md#A"
    given = app.remember("# A, for everybody", scope="global", topic="file:a.md#A")
    assert counts(run(everywhere, notes)) == (1, 0, 0, 0)
    assert counts(run(app, notes)) == (1, 0, 0, 0)
    (notes / "a.md").unlink()
    assert counts(run(app, notes)) == (0, 0, 0, 1)
    assert {memory.topic for memory in everywhere.list(scope="global")} == {topic, "file:a.md#A"}
    assert counts(run(everywhere, notes)) == (0, 0, 0, 1)
    assert [memory.id for memory in everywhere.list(project="*")] == [given.id]


def test_notes_of_two_work_trees_without_a_project_are_distinguished(open_store: OpenStore, notes: Path) -> None:
    store = open_store()
    for name in ("one", "two"):
        (notes / name).mkdir()
        (notes / name / "README.md").write_text(f"# About\n\n{name}\n")
        assert counts(run(store, notes / name)) == (1, 0, 0, 0)
    assert len(store.list()) == 2


def test_one_undo_brings_back_all_memories_that_an_ingest_archived(store: MemoryStore, notes: Path) -> None:
    (notes / "a.md").write_text(NOTE)
    run(store, notes)
    (notes / "a.md").unlink()
    assert counts(run(store, notes)) == (0, 0, 0, 4)
    store.undo()
    assert len(by_topic(store)) == 4
    assert counts(run(store, notes)) == (0, 0, 0, 4)
    (notes / "a.md").write_text(NOTE)
    assert counts(run(store, notes)) == (0, 4, 0, 0)


@pytest.mark.parametrize("name", ["a.txt", "README", "deep/50% #1.rst"])
@pytest.mark.parametrize("is_project", [True, False])
def test_explicitly_ingested_file_of_another_ending_is_archived_only_when_it_is_gone(
    open_store: OpenStore, notes: Path, name: str, is_project: bool
) -> None:
    store = open_store(project="app" if is_project else None)
    file = notes / name
    file.parent.mkdir(exist_ok=True)
    file.write_text("about a\n")
    (notes / "b.md").write_text("about b\n")
    run(store, file, notes)
    assert counts(run(store, notes)) == (1, 0, 0, 0)
    assert len(by_topic(store)) == 2
    file.write_text("# New\n\nabout another\n")
    assert counts(run(store, file, notes)) == (1, 0, 0, 1)
    file.unlink()
    assert counts(run(store, notes)) == (0, 0, 1, 1)


def test_explicitly_ingested_hidden_note_survives_a_folder_ingest(store: MemoryStore, notes: Path) -> None:
    (notes / ".agent" / "sub").mkdir(parents=True)
    hidden = notes / ".agent" / "sub" / "a.md"
    hidden.write_text("# A\n")
    assert counts(run(store, hidden, top=notes)) == (1, 0, 0, 0)
    assert counts(run(store, notes)) == (0, 0, 0, 0)
    hidden.unlink()
    assert counts(run(store, notes)) == (0, 0, 0, 0)
    assert counts(run(store, notes / ".agent", top=notes)) == (0, 0, 0, 1)


def test_exports_of_the_store_are_refused(store: MemoryStore, notes: Path) -> None:
    exports = store.data_dir / "exports"
    exports.mkdir()
    store.remember("The walrus sleeps")
    export_memories(store, exports / "all.md", format="markdown")
    for path in (exports, exports / "all.md", exports / "gone.md"):
        with pytest.raises(InvalidInputError, match="is not a note") as caught:
            run(store, path)
        assert caught.value.hint == "use import to read exports"
    assert counts(run(store, store.data_dir)) == (0, 0, 0, 0)


@pytest.mark.parametrize("how", ["delete", "purge"])
def test_section_whose_memory_the_user_deleted_is_read_again_only_when_it_changes(
    store: MemoryStore, notes: Path, how: str
) -> None:
    (notes / "a.md").write_text("The queue has ten jobs.\n")
    run(store, notes)
    [read] = store.list()
    with rejecting(store, [read.id]):
        getattr(store, how)(read.id)
    for _ in range(2):
        assert counts(run(store, notes)) == (0, 0, 1, 0)
    assert store.list() == []
    if how == "delete":
        undo(store, read.id)
        assert counts(run(store, notes)) == (0, 0, 1, 0)
        assert [memory.id for memory in store.list()] == [read.id]
    (notes / "a.md").write_text("The queue has twenty jobs.\n")
    run(store, notes)
    assert [memory.content for memory in store.list()] == ["The queue has twenty jobs.\n"]


@pytest.mark.parametrize("decide", [accept, reject, None])
def test_new_text_of_a_section_that_the_user_edited_is_proposed_once(
    store: MemoryStore, notes: Path, decide: Callable[[MemoryStore, Memory], object] | None
) -> None:
    (notes / "a.md").write_text("The queue has ten jobs.\n")
    run(store, notes)
    [read] = store.list()
    store.edit(read.id, content="The queue has twelve jobs.", trust="user")
    (notes / "a.md").write_text("The queue has twenty jobs.\n")
    report = run(store, notes)
    assert (counts(report), len(report.skipped)) == ((0, 0, 0, 0), 1)
    [waiting] = store.list(status="candidate")
    if decide is not None:
        decide(store, waiting)
    for _ in range(2):
        report = run(store, notes)
        assert (counts(report), report.skipped) == ((0, 0, 1, 0), ())
    assert len(store.list(status="candidate")) == (1 if decide is None else 0)
    wanted = "The queue has twenty jobs.\n" if decide is accept else "The queue has twelve jobs."
    assert [memory.content for memory in store.list()] == [wanted]


@pytest.mark.parametrize("how", ["replaced", "merged"])
def test_unchanged_section_that_was_superseded_is_not_read_again(store: MemoryStore, notes: Path, how: str) -> None:
    (notes / "a.md").write_text("The API server listens on port 8080.\n")
    run(store, notes)
    [old] = store.list()
    if how == "replaced":
        store.remember("The API server no longer listens on port 8080, it listens on port 9090 instead.")
    else:
        store.merge([store.remember("The port is high.").id, old.id], "The port of the API is 9090.")
    assert store.get(old.id).status is Status.SUPERSEDED
    assert counts(run(store, notes)) == (0, 0, 1, 0)
    assert len(store.list()) == 1
    (notes / "a.md").write_text("The API server listens on port 7070.\n")
    assert counts(run(store, notes)) == (1, 0, 0, 0)
    (notes / "a.md").unlink()
    assert counts(run(store, notes)) == (0, 0, 0, 1)
    assert store.get(old.id).status is Status.SUPERSEDED


def test_one_undo_takes_an_ingest_back(store: MemoryStore, notes: Path) -> None:
    (notes / "a.md").write_text("# A\n\nabout a\n\n# B\n\nabout b\n\n# C\n\nabout c\n")
    run(store, notes)
    (notes / "a.md").write_text("# C\n\nabout c\n")
    run(store, notes)
    before = by_topic(store)
    (notes / "a.md").write_text("# A\n\nabout a again\n\n# D\n\nabout d\n")
    assert counts(run(store, notes)) == (1, 1, 0, 1)
    store.undo()
    assert by_topic(store) == before
    assert set(by_topic(store, "archived")) == {"file:a.md#A", "file:a.md#B"}


@pytest.mark.parametrize("topic", ["style", "docs/policy", "bootstrap:README.md#x", "file:gone.md#x"])
def test_memory_with_a_topic_of_its_own_is_no_deleted_section(store: MemoryStore, notes: Path, topic: str) -> None:
    stored = store.remember("Always use tabs in Go files.", category="directive", topic=topic).id
    (notes / "docs").mkdir()
    (notes / "docs" / "a.md").write_text(NOTE)
    for path in (notes, notes / "docs"):
        assert run(store, path, top=notes).archived == 0
    assert store.get(stored).status is Status.ACTIVE


def test_long_sections_long_headings_and_hostile_titles_all_get_a_topic(store: MemoryStore, notes: Path) -> None:
    words = "word " * 30_000
    headings = ["x" * 900, "x" * 900, "a/b", "a", "a~2", "a", "#", ""]
    text = f"{words}\n" + "".join(f"\n# {heading}\n\ntext of {number}\n" for number, heading in enumerate(headings))
    (notes / "a.md").write_text(text + "## b\n\nlast\n")
    report = run(store, notes)
    assert report.skipped == ()
    assert "".join(memory.content for memory in reversed(store.list(limit=1000))) == text + "## b\n\nlast\n"
    assert counts(run(store, notes)) == (0, 0, report.added, 0)


LINES = st.sampled_from(["# A", "# B", "## A", "text", "other text", "", "```", "---", "Title", "==="])


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.lists(LINES, max_size=12), min_size=1, max_size=4))
def test_memories_match_the_file_after_any_edits(
    open_store: OpenStore, tmp_path: Path, versions: list[list[str]]
) -> None:
    store = open_store(project="app")
    note = tmp_path / "any.md"
    for lines in versions:
        text = "".join(f"{line}\n" for line in lines)
        note.write_text(text)
        run(store, note, top=tmp_path)
        memories = sorted(store.list(limit=1000), key=lambda memory: memory.source.line or 0)
        found = "".join(memory.content for memory in memories)
        assert "".join(sorted(found)) == "".join(sorted(text)) or text.strip() == ""
        report = run(store, note, top=tmp_path)
        assert (report.added, report.updated, report.archived) == (0, 0, 0)


def test_repeated_headings_are_numbered(store: MemoryStore, notes: Path) -> None:
    (notes / "a.md").write_text("# Day~2\n\nzero\n\n# Day\n\none\n\n# Day\n\ntwo\n\n# Day\n\nthree\n")
    run(store, notes)
    assert [(topic, one.content.split()[-1]) for topic, one in sorted(by_topic(store).items())] == [
        ("file:a.md#Day", "one"), ("file:a.md#Day~2", "zero"), ("file:a.md#Day~3", "two"), ("file:a.md#Day~4", "three"),
    ]  # fmt: skip
