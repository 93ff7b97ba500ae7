"""Sections whose file or heading was renamed: they keep their memory and all that the user attached to it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from notes.ingesting import by_topic, run, states
from opencode_memory import MemoryStore, NewMemory, Status
from opencode_memory.exchange import export_memories, import_memories
from opencode_memory.learning.rejections import rejecting
from opencode_memory.learning.review import accept
from opencode_memory.models import INGEST, Trust
from opencode_memory.notes.folder import IngestReport, ingest
from opencode_memory.store.relocations import Relocation, Relocations

OpenStore = Callable[..., MemoryStore]
LONG = "Deploy with blue-green switching, two hosts at a time, and watch the error rate for ten minutes.\n"
NOTE = f"# Deploy\n\n{LONG}\n# Backup\n\nEvery night at two.\n"


def counts(report: IngestReport) -> tuple[int, int, int, int, int]:
    return report.added, report.updated, len(report.moved), report.unchanged, report.archived


def rename_file(notes: Path) -> str:
    (notes / "a.md").rename(notes / "b.md")
    return "file:b.md#Deploy"


def move_to_folder(notes: Path) -> str:
    (notes / "old").mkdir()
    (notes / "a.md").rename(notes / "old" / "a.md")
    return "file:old/a.md#Deploy"


def rename_heading(notes: Path) -> str:
    (notes / "a.md").write_text(NOTE.replace("# Deploy", "# Roll out"))
    return "file:a.md#Roll out"


def add_outer_heading(notes: Path) -> str:
    (notes / "a.md").write_text("# Runs\n\nabout all\n\n" + NOTE.replace("# ", "## "))
    return "file:a.md#Runs/Deploy"


def move_to_other_file(notes: Path) -> str:
    (notes / "a.md").write_text("# Backup\n\nEvery night at two.\n")
    (notes / "c.md").write_text(f"# About\n\nother\n\n## Deploy\n\n{LONG}")
    return "file:c.md#About/Deploy"


CHANGES = (rename_file, move_to_folder, rename_heading, add_outer_heading, move_to_other_file)
Change = Callable[[Path], str]


@pytest.mark.parametrize("change", CHANGES)
def test_moved_section_keeps_its_memory_with_all_that_is_attached(
    store: MemoryStore, notes: Path, change: Change
) -> None:
    (notes / "a.md").write_text(NOTE)
    run(store, notes)
    before = by_topic(store)["file:a.md#Deploy"]
    other = store.remember("The load balancer drains in ten seconds.").id
    store.link(before.id, other)
    store.edit(before.id, content="Deploy with blue-green, three hosts at a time.", tags=["ops"])
    store.pin(before.id)
    store.reminders.set(before.id, datetime(2030, 1, 1, tzinfo=UTC), every_days=7)
    store.reminders.set(before.id, datetime(2031, 1, 1, tzinfo=UTC), is_review=True)
    edited = store.get(before.id)
    topic = change(notes)
    assert before.id in [one.id for one in run(store, notes, dry_run=True).moved]
    assert store.get(before.id) == edited
    report = run(store, notes)
    assert (before.id, "file:a.md#Deploy", topic) in [(one.id, one.old, one.new) for one in report.moved]
    after = store.get(before.id)
    assert (after.topic, after.source.file) == (topic, topic.removeprefix("file:").partition("#")[0])
    for field in ("content", "tags", "pinned", "remind_at", "review_after", "verified_at", "status", "trust", "time"):
        assert getattr(after, field) == getattr(edited, field), field
    assert other in [found.memory.id for found in store.related(before.id)]
    assert store.history(before.id)[-1].kind == "move"
    assert by_topic(store, "archived") == {}
    assert run(store, notes).moved == ()
    store.undo()
    undone = store.get(before.id)
    assert (undone.topic, undone.source, undone.metadata) == (edited.topic, edited.source, edited.metadata)


@pytest.mark.parametrize("change", CHANGES)
def test_archived_section_stays_archived_where_it_was_moved(store: MemoryStore, notes: Path, change: Change) -> None:
    (notes / "a.md").write_text(NOTE)
    run(store, notes)
    read = by_topic(store)["file:a.md#Deploy"]
    with rejecting(store, [read.id]):
        store.archive(read.id)
    topic = change(notes)
    run(store, notes)
    assert (store.get(read.id).topic, store.get(read.id).status) == (topic, Status.ARCHIVED)
    assert topic not in by_topic(store)
    run(store, notes)
    assert topic not in by_topic(store)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("how", ["delete", "purge"])
def test_deleted_section_is_not_read_where_it_was_moved(
    store: MemoryStore, notes: Path, change: Change, how: str
) -> None:
    (notes / "a.md").write_text(NOTE)
    run(store, notes)
    read = by_topic(store)["file:a.md#Deploy"]
    with rejecting(store, [read.id]):
        getattr(store, how)(read.id)
    topic = change(notes)
    for _ in range(2):
        run(store, notes)
        assert topic not in by_topic(store)
    assert any("Every night" in memory.content for memory in store.list())


@pytest.mark.parametrize("how", ["replaced", "merged"])
def test_superseded_section_stays_superseded_where_it_was_moved(store: MemoryStore, notes: Path, how: str) -> None:
    (notes / "a.md").write_text("The API server listens on port 8080.\n")
    run(store, notes)
    [old] = store.list()
    if how == "replaced":
        store.remember("The API server no longer listens on port 8080, it listens on port 9090 instead.")
    else:
        store.merge([store.remember("The port is high.").id, old.id], "The port of the API is 9090.")
    (notes / "a.md").rename(notes / "b.md")
    for _ in range(2):
        run(store, notes)
        assert (store.get(old.id).topic, store.get(old.id).status) == ("file:b.md#", Status.SUPERSEDED)
        assert len(store.list()) == 1


def test_copied_section_is_a_new_memory(store: MemoryStore, notes: Path) -> None:
    (notes / "a.md").write_text(NOTE)
    run(store, notes)
    before = by_topic(store)
    (notes / "b.md").write_text(NOTE)
    assert counts(run(store, notes)) == (2, 0, 0, 2, 0)
    assert {topic: memory for topic, memory in by_topic(store).items() if topic in before} == before


def test_copy_of_a_deleted_or_archived_section_is_a_new_memory(store: MemoryStore, notes: Path) -> None:
    (notes / "a.md").write_text(NOTE)
    run(store, notes)
    deleted, archived = (by_topic(store)[f"file:a.md#{heading}"].id for heading in ("Deploy", "Backup"))
    with rejecting(store, [deleted, archived]):
        store.delete(deleted)
        store.archive(archived)
    (notes / "b.md").write_text(NOTE)
    assert counts(run(store, notes)) == (2, 0, 0, 2, 0)
    assert set(by_topic(store)) == {"file:b.md#Deploy", "file:b.md#Backup"}


def test_renamed_heading_updates_the_text_of_a_memory_that_nobody_changed(store: MemoryStore, notes: Path) -> None:
    (notes / "a.md").write_text(NOTE)
    run(store, notes)
    before = by_topic(store)["file:a.md#Deploy"]
    (notes / "a.md").write_text(NOTE.replace("# Deploy", "# Roll out `src/app.py`"))
    assert counts(run(store, notes)) == (0, 0, 1, 1, 0)
    after = store.get(before.id)
    assert after.content == f"# Roll out `src/app.py`\n\n{LONG}\n"
    assert "src/app.py" in after.entities


def test_edited_section_in_its_place_keeps_its_memory_although_a_copy_has_the_old_text(
    store: MemoryStore, notes: Path
) -> None:
    (notes / "a.md").write_text(NOTE)
    run(store, notes)
    before = by_topic(store)["file:a.md#Deploy"]
    (notes / "copy.md").write_text(NOTE)
    (notes / "a.md").write_text(NOTE.replace("two hosts", "three hosts"))
    assert counts(run(store, notes)) == (2, 1, 0, 1, 0)
    assert "three hosts" in store.get(before.id).content


def test_repeated_heading_that_is_inserted_or_removed_shifts_no_memory(store: MemoryStore, notes: Path) -> None:
    text = "# Log\n\n## Day\n\nfirst\n\n## Day\n\nsecond\n\n## Day\n\nthird\n"
    (notes / "a.md").write_text(text)
    run(store, notes)
    ids = {memory.content.split()[-1]: memory.id for memory in store.list()}
    (notes / "a.md").write_text(text.replace("## Day\n\nfirst", "## Day\n\nzero\n\n## Day\n\nfirst"))
    assert counts(run(store, notes)) == (1, 0, 3, 0, 0)
    assert {memory.content.split()[-1]: memory.id for memory in store.list()}.items() >= ids.items()
    (notes / "a.md").write_text(text.replace("\n\n## Day\n\nsecond", ""))
    run(store, notes)
    found = {memory.content.split()[-1]: memory.id for memory in store.list()}
    assert found == {name: ids[name] for name in ("first", "third")}


def test_repeated_headings_may_change_places(store: MemoryStore, notes: Path) -> None:
    (notes / "a.md").write_text("## Day\n\nfirst\n\n## Day\n\nsecond\n")
    run(store, notes)
    before = {memory.content.split()[-1]: memory.id for memory in store.list()}
    (notes / "a.md").write_text("## Day\n\nsecond\n\n## Day\n\nfirst\n")
    assert counts(run(store, notes)) == (0, 0, 2, 0, 0)
    assert {memory.content.split()[-1]: memory.id for memory in store.list()} == before
    store.undo()
    assert {memory.content.split()[-1]: memory.id for memory in store.list()} == before
    assert by_topic(store)["file:a.md#Day"].id == before["first"]


def test_file_that_takes_the_name_of_another_one_keeps_its_memories(store: MemoryStore, notes: Path) -> None:
    (notes / "a.md").write_text(NOTE)
    (notes / "b.md").write_text(NOTE.replace("two", "five"))
    run(store, notes)
    ids = {topic: memory.id for topic, memory in by_topic(store).items()}
    (notes / "a.md").rename(notes / "c.md")
    (notes / "b.md").rename(notes / "a.md")
    assert counts(run(store, notes)) == (0, 0, 4, 0, 0)
    now = {topic: memory.id for topic, memory in by_topic(store).items()}
    assert now == {
        "file:c.md#Deploy": ids["file:a.md#Deploy"], "file:c.md#Backup": ids["file:a.md#Backup"],
        "file:a.md#Deploy": ids["file:b.md#Deploy"], "file:a.md#Backup": ids["file:b.md#Backup"],
    }  # fmt: skip


def test_same_text_in_two_renamed_files_goes_where_the_rest_of_its_file_went(store: MemoryStore, notes: Path) -> None:
    for name in ("a", "b"):
        (notes / f"{name}.md").write_text(f"# About\n\nThis is {name}.\n\n# License\n\nMIT\n")
    run(store, notes)
    ids = {topic: memory.id for topic, memory in by_topic(store).items()}
    (notes / "a.md").rename(notes / "z.md")
    (notes / "b.md").rename(notes / "y.md")
    assert counts(run(store, notes)) == (0, 0, 4, 0, 0)
    assert by_topic(store)["file:z.md#License"].id == ids["file:a.md#License"]
    assert by_topic(store)["file:y.md#License"].id == ids["file:b.md#License"]


def test_short_text_under_another_heading_of_another_file_is_another_section(store: MemoryStore, notes: Path) -> None:
    (notes / "a.md").write_text("# Owner\n\nTBD\n")
    run(store, notes)
    (notes / "a.md").unlink()
    (notes / "b.md").write_text("# Deadline\n\nTBD\n")
    assert counts(run(store, notes)) == (1, 0, 0, 0, 1)


def test_projects_exchange_no_sections(open_store: OpenStore, notes: Path) -> None:
    (notes / "a.md").write_text(NOTE)
    store = open_store(project="app")
    run(store, notes)
    (notes / "a.md").rename(notes / "b.md")
    assert counts(ingest(store, notes, top=notes, project="other", zone=UTC)) == (2, 0, 0, 0, 0)
    assert counts(ingest(open_store(), notes, zone=UTC)) == (2, 0, 0, 0, 0)
    assert counts(run(store, notes)) == (0, 0, 2, 0, 0)


@pytest.mark.parametrize("order", [("a.md", "b.md"), ("b.md", "a.md")])
@pytest.mark.parametrize("is_whole", [True, False])
def test_section_is_recognised_if_its_old_and_new_files_are_read_one_after_the_other(
    store: MemoryStore, notes: Path, order: tuple[str, str], is_whole: bool
) -> None:
    (notes / "a.md").write_text(NOTE)
    (notes / "b.md").write_text("# Other\n\ntext\n")
    run(store, notes)
    ids = {memory.content.splitlines()[2]: memory.id for memory in store.list()}
    store.pin(list(ids.values()))
    if is_whole:
        (notes / "a.md").rename(notes / "b.md")
    else:
        (notes / "a.md").write_text("# Backup\n\nEvery night at two.\n")
        (notes / "b.md").write_text(f"# Other\n\ntext\n\n# Deploy\n\n{LONG}")
    for name in order:
        if (notes / name).exists() or any((memory.source.file or "") == name for memory in store.list()):
            run(store, notes / name, top=notes)
    found = {memory.content.splitlines()[2]: memory.id for memory in store.list()}
    assert found == {text: id_ for text, id_ in ids.items() if not is_whole or text != "text"}
    assert all(memory.pinned for memory in store.list())


def test_accepted_directive_of_a_moved_note_stays_accepted(store: MemoryStore, notes: Path) -> None:
    (notes / "a.md").write_text("---\ncategory: directive\n---\nAlways run the tests.\n")
    (notes / "w.md").write_text("---\ncategory: directive\n---\nNever push on Fridays.\n")
    run(store, notes)
    waiting = by_topic(store, "candidate")
    accept(store, waiting["file:a.md#"])
    (notes / "a.md").rename(notes / "b.md")
    (notes / "w.md").rename(notes / "x.md")
    assert counts(run(store, notes)) == (0, 0, 2, 0, 0)
    assert {topic: memory.id for topic, memory in by_topic(store).items()} == {"file:b.md#": waiting["file:a.md#"].id}
    assert list(by_topic(store, "candidate")) == ["file:x.md#"]


def test_moved_text_becomes_no_directive(store: MemoryStore, notes: Path) -> None:
    (notes / "a.md").write_text(LONG)
    run(store, notes)
    (notes / "a.md").unlink()
    (notes / "b.md").write_text(f"---\ncategory: directive\n---\n{LONG}")
    assert counts(run(store, notes)) == (1, 0, 0, 0, 1)
    assert store.list() == []


def test_proposed_text_of_a_moved_section_still_waits(store: MemoryStore, notes: Path) -> None:
    (notes / "a.md").write_text("The queue has ten jobs.\n")
    run(store, notes)
    [read] = store.list()
    store.edit(read.id, content="The queue has twelve jobs.", trust="user")
    (notes / "a.md").write_text("The queue has twenty jobs.\n")
    run(store, notes)
    (notes / "a.md").rename(notes / "b.md")
    for expected in ((0, 0, 1, 0, 0), (0, 0, 0, 1, 0)):
        assert counts(run(store, notes)) == expected
    [waiting] = store.list(status="candidate")
    accept(store, waiting)
    assert [memory.content for memory in store.list()] == ["The queue has twenty jobs.\n"]


def test_category_follows_the_new_place_unless_the_user_chose_one(store: MemoryStore, notes: Path) -> None:
    (notes / "a.md").write_text(NOTE)
    run(store, notes)
    chosen, guessed = (by_topic(store)[f"file:a.md#{heading}"].id for heading in ("Deploy", "Backup"))
    store.edit(chosen, category="idea")
    (notes / "decisions").mkdir()
    (notes / "a.md").rename(notes / "decisions" / "a.md")
    run(store, notes)
    assert [store.get(id_).category for id_ in (chosen, guessed)] == ["idea", "decision"]


def test_section_of_an_earlier_version_is_recognised(store: MemoryStore, notes: Path) -> None:
    (notes / "a.md").write_text(NOTE)
    run(store, notes)
    for memory in store.list():
        mark = {name: value for name, value in memory.metadata[INGEST].items() if name != "body"}
        store.edit(memory.id, metadata={INGEST: mark})
    ids = {memory.id for memory in store.list()}
    (notes / "a.md").rename(notes / "b.md")
    (notes / "b.md").write_text(NOTE.replace("# Deploy", "# Roll out"))
    assert counts(run(store, notes)) == (0, 0, 2, 0, 0)
    assert {memory.id for memory in store.list()} == ids


def test_memory_that_is_no_section_is_never_moved(store: MemoryStore, notes: Path) -> None:
    stored = store.remember(LONG, topic="file:gone.md#Deploy", trust=Trust.IMPORTED).id
    (notes / "a.md").write_text(NOTE)
    assert counts(run(store, notes)) == (2, 0, 0, 0, 0)
    assert store.get(stored).topic == "file:gone.md#Deploy"


def test_secret_in_a_moved_section_stays_redacted(store: MemoryStore, notes: Path) -> None:
    secret = "ghp_" + "aB3dE5fG7h" * 3 + "aB3dE5"
    (notes / "a.md").write_text(f"# Token\n\n{LONG}\n{secret}\n")
    run(store, notes)
    [read] = store.list()
    (notes / "a.md").write_text(f"# Key\n\n{LONG}\n{secret}\n")
    assert counts(run(store, notes)) == (0, 0, 1, 0, 0)
    after = store.get(read.id)
    assert after.content.startswith("# Key")
    assert secret not in after.content


@pytest.mark.parametrize("meanwhile", ["deleted", "moved", "edited", "pinned"])
def test_change_of_another_writer_between_reading_and_moving(
    open_store: OpenStore, notes: Path, meanwhile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, other = open_store(project="app"), open_store(project="app")
    (notes / "a.md").write_text("# Deploy\n\n" + LONG)
    run(store, notes)
    [read] = store.list()
    (notes / "a.md").write_text("# Roll out\n\n" + LONG)
    plain = Relocations.apply

    def apply(self: Relocations, project: str | None, relocations: Sequence[Relocation]) -> list[bool]:
        if meanwhile == "deleted":
            with rejecting(other, [read.id]):
                other.delete(read.id)
        elif meanwhile == "moved":
            monkeypatch.undo()
            run(other, notes)
        elif meanwhile == "edited":
            other.edit(read.id, content="By hand.")
        else:
            other.pin(read.id)
        return plain(self, project, relocations)

    monkeypatch.setattr(Relocations, "apply", apply)
    run(store, notes)
    found = [(memory.id, memory.topic, memory.content, memory.pinned) for memory in store.list()]
    text = "By hand." if meanwhile == "edited" else f"# Roll out\n\n{LONG}"
    assert found == ([] if meanwhile == "deleted" else [(read.id, "file:a.md#Roll out", text, meanwhile == "pinned")])


def test_export_and_import_keep_the_history_of_a_move(open_store: OpenStore, notes: Path, tmp_path: Path) -> None:
    store = open_store(project="app")
    (notes / "a.md").write_text(NOTE)
    run(store, notes)
    (notes / "a.md").rename(notes / "b.md")
    run(store, notes)
    export_memories(store, tmp_path / "all.json", format="json")
    target = open_store(tmp_path / "copy", project="app")
    import_memories(target, tmp_path / "all.json")
    [memory] = [memory for memory in target.list() if memory.topic == "file:b.md#Deploy"]
    assert target.history(memory.id)[-1].kind == "move"
    (notes / "b.md").rename(notes / "c.md")
    assert counts(run(target, notes)) == (0, 0, 2, 0, 0)


def test_many_sections_are_moved_in_one_operation(store: MemoryStore, notes: Path) -> None:
    for number in range(20):
        sections = (f"# Section {n}\n\nText {number} of {n}.\n\n" for n in range(99))
        (notes / f"{number}.md").write_text(f"{''.join(sections)}# License\n\nMIT\n")
    run(store, notes)
    ids = {memory.content: memory.id for memory in store.list(limit=2_000) if "Text" in memory.content}
    (notes / "sub").mkdir()
    for file in list(notes.glob("*.md")):
        file.rename(notes / "sub" / f"x{file.name}")
    assert counts(run(store, notes)) == (0, 0, 2_000, 0, 0)
    assert {memory.content: memory.id for memory in store.list(limit=2_000) if "Text" in memory.content} == ids
    assert len({store.history(id_)[-1].operation for id_ in ids.values()}) == 1


def test_memory_of_a_mirror_or_an_agent_may_not_hold_the_new_topic(store: MemoryStore, notes: Path) -> None:
    (notes / "a.md").write_text("# Deploy\n\n" + LONG)
    run(store, notes)
    held = store.remember_many([NewMemory(content="Held by hand.", topic="file:b.md#Deploy")])[0]
    (notes / "a.md").rename(notes / "b.md")
    run(store, notes)
    assert store.get(held.id).content == "Held by hand."


EDITED = [f"long {LONG.replace('two', number).strip()}" for number in ("two", "three", "four")]
LINES = st.sampled_from(["# A", "# B", "## A", "text", *EDITED, "other text", "", "## C"])
NAMES = st.sampled_from(["a.md", "b.md", "sub/a.md", "c.md"])


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.dictionaries(NAMES, st.lists(LINES, max_size=8), max_size=3), min_size=6, max_size=14))
def test_memories_match_the_files_after_any_renames(
    open_store: OpenStore, tmp_path: Path, versions: list[dict[str, list[str]]]
) -> None:
    folder = tmp_path / str(len(list(tmp_path.iterdir())))
    store = open_store(folder / "data", project="app")
    notes = folder / "notes"
    for files in versions:
        shutil.rmtree(notes, ignore_errors=True)
        (notes / "sub").mkdir(parents=True)
        texts = {name: "".join(f"{line}\n" for line in lines) for name, lines in files.items()}
        for name, text in texts.items():
            (notes / name).write_text(text)
        before = states(store)
        rehearsed = counts(run(store, notes, dry_run=True))
        assert counts(run(store, notes)) == rehearsed
        memories = store.list(limit=1000)
        for name, text in texts.items():
            found = [memory.content for memory in memories if memory.source.file == name]
            assert "".join(sorted("".join(found))) == "".join(sorted(text)) or not text.strip(), name
        assert {memory.source.file for memory in memories} <= set(texts)
        assert counts(run(store, notes))[:3] == (0, 0, 0)
        if any(rehearsed[index] for index in (0, 1, 2, 4)):
            now = by_topic(store)
            store.undo()
            assert states(store) == before
            run(store, notes)
            assert [(topic, one.content) for topic, one in sorted(by_topic(store).items())] == [
                (topic, one.content) for topic, one in sorted(now.items())
            ]
        assert all(memory.topic is not None for memory in store.list(status=("active", "archived"), limit=1000))
