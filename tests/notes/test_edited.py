"""Sections that were edited while their file or heading was renamed: they keep their memory, and get the new text."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from notes.ingesting import by_topic, run, states
from opencode_memory import MemoryStore, Status
from opencode_memory.learning.rejections import rejecting
from opencode_memory.learning.review import REPLACES, accept
from opencode_memory.notes import folder
from opencode_memory.notes.folder import IngestReport
from opencode_memory.store.relocations import Relocation, Relocations

OpenStore = Callable[..., MemoryStore]
TEXTS = {
    "Deploy": "Deploy with blue-green switching, two hosts at a time, and watch the error rate.",
    "Backup": "Every night at two the database is dumped to the bucket, and tried on a test host.",
    "Ports": "The API listens on 8080.",
    "Access": "Ask the platform team for a token; it expires after ninety days.",
}
THREE = TEXTS["Deploy"].replace("two", "three")
TWELVE = TEXTS["Backup"].replace("at two", "at twelve")


def note(**texts: str) -> str:
    """A note with the texts, and some given ones; an empty one is left out."""
    return "".join(f"# {title}\n\n{text}\n\n" for title, text in {**TEXTS, **texts}.items() if text)


def write(notes: Path, files: Mapping[str, str]) -> None:
    shutil.rmtree(notes)
    for name, text in files.items():
        (notes / name).parent.mkdir(parents=True, exist_ok=True)
        (notes / name).write_text(text)


def counts(report: IngestReport) -> tuple[int, int, int, int, int]:
    return report.added, report.updated, len(report.moved), report.unchanged, report.archived


def ids(store: MemoryStore, status: str = "active") -> dict[str, str]:
    return {(topic or "").removeprefix("file:"): memory.id for topic, memory in by_topic(store, status).items()}


def moves(store: MemoryStore, before: Mapping[str, str]) -> dict[str, str]:
    """The old place of each active memory that was there before, by its place now."""
    old = {id_: place for place, id_ in before.items()}
    return {place: old[id_] for place, id_ in ids(store).items() if id_ in old}


def test_edited_section_of_a_renamed_file_keeps_its_memory_with_all_that_is_attached(
    store: MemoryStore, notes: Path
) -> None:
    write(notes, {"a.md": note()})
    run(store, notes)
    before = by_topic(store)
    deploy, ports = (before[f"file:a.md#{title}"].id for title in ("Deploy", "Ports"))
    store.edit(deploy, tags=["ops"])
    store.pin(deploy)
    state = states(store)
    write(notes, {"b.md": note(Deploy=THREE, Ports="Everything speaks over 9090 now, encrypted.")})
    assert counts(run(store, notes, dry_run=True)) == (0, 2, 4, 0, 0)
    assert states(store) == state
    report = run(store, notes)
    assert counts(report) == (0, 2, 4, 0, 0)
    assert {one.id for one in report.moved if one.edited} == {deploy, ports}
    after = store.get(deploy)
    assert (after.topic, after.tags, after.pinned, after.source.file) == ("file:b.md#Deploy", ("ops",), True, "b.md")
    assert after.content == f"# Deploy\n\n{THREE}\n\n"
    assert [entry.kind for entry in store.history(deploy)][-2:] == ["move", "update"]
    assert store.get(ports).content.endswith("encrypted.\n\n")
    assert counts(run(store, notes)) == (0, 0, 0, 4, 0)
    store.undo()
    assert states(store) == state


NEW_TITLES = note(Deploy=THREE).replace("# ", "## ")
CASES = {
    "every section edited": (
        {"a.md": note()},
        {"b.md": note(Deploy=THREE, Backup=TWELVE, Access=TEXTS["Access"] + " Renew it by hand.", Ports="9090")},
        {f"b.md#{title}": f"a.md#{title}" for title in TEXTS},
    ),
    "one section": ({"a.md": TEXTS["Deploy"]}, {"b.md": THREE}, {"b.md#": "a.md#"}),
    "one section with another title": (
        {"a.md": f"# Deploy\n\n{TEXTS['Deploy']}"},
        {"b.md": f"# Roll out\n\n{THREE}"},
        {"b.md#Roll out": "a.md#Deploy"},
    ),
    "heading": (
        {"a.md": note()},
        {"a.md": note(Deploy="") + f"# Roll out\n\n{THREE}\n"},
        {"a.md#Roll out": "a.md#Deploy", **{f"a.md#{title}": f"a.md#{title}" for title in TEXTS if title != "Deploy"}},
    ),
    "outer heading": (
        {"a.md": "# Ops\n\nabout all\n\n" + note().replace("# ", "## ")},
        {"b.md": "# Running it\n\nabout all\n\n" + NEW_TITLES},
        {"b.md#Running it": "a.md#Ops"} | {f"b.md#Running it/{title}": f"a.md#Ops/{title}" for title in TEXTS},
    ),
    "name taken by another file": (
        {"a.md": note(), "b.md": note(Deploy="Ship it.", Backup="Tapes.", Access="Free.", Ports="A dozen.")},
        {"c.md": note(Deploy=THREE), "a.md": note(Deploy="Never.", Backup="Tapes.", Access="Free.", Ports="A dozen.")},
        {f"c.md#{title}": f"a.md#{title}" for title in TEXTS} | {f"a.md#{title}": f"b.md#{title}" for title in TEXTS},
    ),
    "split": (
        {"a.md": note()},
        {"b.md": note(Deploy=THREE, Ports="", Access=""), "c.md": note(Deploy="", Backup="")},
        {"b.md#Deploy": "a.md#Deploy", "b.md#Backup": "a.md#Backup"}
        | {"c.md#Ports": "a.md#Ports", "c.md#Access": "a.md#Access"},
    ),
    "merged": (
        {"a.md": note(Ports="", Access=""), "b.md": note(Deploy="", Backup="")},
        {"b.md": note(Deploy=THREE)},
        {"b.md#Deploy": "a.md#Deploy", "b.md#Backup": "a.md#Backup"}
        | {"b.md#Ports": "b.md#Ports", "b.md#Access": "b.md#Access"},
    ),
    "copied": (
        {"a.md": note()},
        {"a.md": note(), "b.md": note(Deploy=THREE)},
        {f"a.md#{t}": f"a.md#{t}" for t in TEXTS},
    ),
    "two new ones are as similar": (
        {"a.md": TEXTS["Deploy"]},
        {"b.md": THREE, "c.md": TEXTS["Deploy"].replace("two", "five")},
        {},
    ),
    "two old ones are as similar": (
        {"a.md": TEXTS["Deploy"], "b.md": THREE},
        {"c.md": TEXTS["Deploy"].replace("two", "five")},
        {},
    ),
    "another text under the same heading": (
        {"a.md": note()},
        {"b.md": "# Deploy\n\nFly it to the moon with a big balloon and a lot of luck.\n"},
        {},
    ),
    "half of a template": (
        {"a.md": "# Agenda\n\nLook back, look ahead.\n\n# Done\n\nReviewed the pull request of Anna.\n"},
        {"b.md": "# Agenda\n\nLook back, look ahead.\n\n# Done\n\nUpgraded the database in staging.\n"},
        {"b.md#Agenda": "a.md#Agenda"},
    ),
    "short text": ({"a.md": "# Port\n\nIt is 8080."}, {"b.md": "# Port\n\nIt is 9090."}, {}),
}


def of_template(name: str, team: str, port: int) -> str:
    """A note about a service, of which all have the same sections."""
    return (
        f"# Service\n\nThe service {name} is deployed with helm to the cluster, and its logs are in Grafana.\n\n"
        f"## Owner\n\nTeam {team} owns it, and answers within a day. It listens on port {port}.\n\n"
        "## Restart\n\nRun `make restart`, and watch the error rate for ten minutes.\n\n## License\n\nMIT, see the file.\n"
    )


OTHER_SUBJECTS = {
    "file of one section": (
        {"billing.md": "Restart billing with `make restart` and watch its error rate for ten minutes."},
        {"search.md": "Restart search with `make restart` and watch its error rate for ten minutes."},
    ),
    "daily note": (
        {
            "2026-01-05.md": "# Log\n\nOn 2026-01-05 the standup was at nine; all tests were green, nothing was deployed."
        },
        {"2026-01-06.md": "# Log\n\nOn 2026-01-06 the standup was at nine; all tests were red, nothing was deployed."},
    ),
    "heading": (
        {"a.md": "# Billing\n\nRestart billing with `make restart` and watch its rate of errors.\n\n# Z\n\nrest"},
        {"a.md": "# Search\n\nRestart search with `make restart` and watch its rate of errors.\n\n# Z\n\nrest"},
    ),
    "short text under another heading": (
        {"a.md": "# Port of billing\n\nIt listens on port 8080.\n\n# Z\n\nrest"},
        {"a.md": "# Port of search\n\nIt listens on port 9090.\n\n# Z\n\nrest"},
    ),
}


@pytest.mark.parametrize("name", OTHER_SUBJECTS)
def test_note_of_the_same_template_about_another_subject_is_a_new_one(
    store: MemoryStore, notes: Path, name: str
) -> None:
    old, new = OTHER_SUBJECTS[name]
    write(notes, old)
    run(store, notes)
    before = ids(store)
    write(notes, new)
    run(store, notes)
    assert moves(store, before) == {place: place for place in before if place.endswith("#Z")}


def test_sections_of_a_template_go_to_no_note_about_another_subject(store: MemoryStore, notes: Path) -> None:
    write(notes, {"billing.md": of_template("billing", "red", 8080)})
    run(store, notes)
    before = ids(store)
    write(notes, {"search.md": of_template("search", "blue", 9090)})
    run(store, notes)
    assert "search.md#Service" not in moves(store, before)
    assert "search.md#Service/Owner" not in moves(store, before)


@pytest.mark.parametrize("name", CASES)
def test_edited_section_is_recognised_only_where_it_surely_is_the_same(
    store: MemoryStore, notes: Path, name: str
) -> None:
    old, new, expected = CASES[name]
    write(notes, old)
    run(store, notes)
    before = ids(store)
    write(notes, new)
    rehearsed = run(store, notes, dry_run=True)
    assert run(store, notes) == rehearsed
    assert moves(store, before) == expected
    assert counts(run(store, notes))[:3] == (0, 0, 0)
    store.undo()
    assert ids(store) == before


@pytest.mark.parametrize("order", [("b.md", "a.md"), ("",)])
def test_edited_section_is_recognised_if_the_new_file_is_read_before_the_removal_of_the_old_one(
    store: MemoryStore, notes: Path, order: tuple[str, ...]
) -> None:
    write(notes, {"a.md": note(), "z.md": "other"})
    run(store, notes)
    before = ids(store)
    write(notes, {"b.md": note(Deploy=THREE), "z.md": "other"})
    for name in order:
        if name != "a.md" or any(memory.source.file == "a.md" for memory in store.list()):
            run(store, notes / name, top=notes)
    assert moves(store, before) == {f"b.md#{title}": f"a.md#{title}" for title in TEXTS} | {"z.md#": "z.md#"}


def test_memory_that_the_user_archived_stays_archived_although_its_section_was_edited_and_moved(
    store: MemoryStore, notes: Path
) -> None:
    write(notes, {"a.md": note()})
    run(store, notes)
    read = by_topic(store)["file:a.md#Deploy"]
    store.archive(read.id)
    write(notes, {"b.md": note(Deploy=THREE)})
    for expected in ((0, 0, 4, 0, 0), (0, 0, 0, 4, 0)):
        assert counts(run(store, notes)) == expected
        now = store.get(read.id)
        assert (now.topic, now.status, now.content) == ("file:b.md#Deploy", Status.ARCHIVED, read.content)


@pytest.mark.parametrize("how", ["delete", "purge", "replace"])
def test_deleted_or_replaced_memory_does_not_come_back_with_an_edit(store: MemoryStore, notes: Path, how: str) -> None:
    write(notes, {"a.md": note()})
    run(store, notes)
    read = ids(store)["a.md#Deploy"]
    if how == "replace":
        store.merge([store.remember("Deployments are green.").id, read], "Deployments are automatic.")
    else:
        with rejecting(store, [read]):
            getattr(store, how)(read)
    write(notes, {"b.md": note(Deploy=THREE)})
    assert counts(run(store, notes)) == (1, 0, 3, 0, 0)
    assert ids(store)["b.md#Deploy"] != read
    assert how != "replace" or store.get(read).status is Status.SUPERSEDED


def test_text_that_the_user_wrote_stays_and_the_edit_waits(store: MemoryStore, notes: Path) -> None:
    write(notes, {"a.md": note()})
    run(store, notes)
    read = ids(store)["a.md#Deploy"]
    store.edit(read, content="Deploy at noon.", trust="user")
    write(notes, {"b.md": note(Deploy=THREE)})
    rehearsed, report = run(store, notes, dry_run=True), run(store, notes)
    assert rehearsed == report
    assert (counts(report), any(one.edited for one in report.moved)) == ((0, 0, 4, 0, 0), False)
    assert (store.get(read).content, store.get(read).topic) == ("Deploy at noon.", "file:b.md#Deploy")
    [waiting] = store.list(status="candidate")
    assert counts(run(store, notes)) == (0, 0, 0, 4, 0)
    accept(store, waiting)
    assert "three hosts" in "".join(memory.content for memory in store.list())


def test_directive_that_the_user_accepted_stays_in_force_while_its_edit_waits(store: MemoryStore, notes: Path) -> None:
    text = "---\ncategory: directive\n---\nAlways run the tests before you push to the main branch.\n"
    write(notes, {"a.md": text})
    run(store, notes)
    [waiting] = store.list(status="candidate")
    accept(store, waiting)
    write(notes, {"b.md": text.replace("main", "release")})
    run(store, notes)
    assert [(memory.id, memory.topic) for memory in store.list()] == [(waiting.id, "file:b.md#")]
    assert ["release" in memory.content for memory in store.list(status="candidate")] == [True]


def test_edited_text_becomes_no_directive(store: MemoryStore, notes: Path) -> None:
    write(notes, {"a.md": TEXTS["Deploy"]})
    run(store, notes)
    write(notes, {"b.md": f"---\ncategory: directive\n---\n{THREE}"})
    assert counts(run(store, notes)) == (1, 0, 0, 0, 1)
    assert store.list() == []


def test_ingest_that_ends_after_the_move_leaves_the_edit_to_the_next_one(
    store: MemoryStore, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(notes, {"a.md": note()})
    run(store, notes)
    before = ids(store)
    write(notes, {"b.md": note(Deploy=THREE)})

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(folder._Ingest, "write", stop)
        with pytest.raises(KeyboardInterrupt):
            run(store, notes)
    run(store, notes)
    assert moves(store, before) == {f"b.md#{title}": f"a.md#{title}" for title in TEXTS}
    assert "three hosts" in store.get(before["a.md#Deploy"]).content


@pytest.mark.parametrize("meanwhile", ["deleted", "edited"])
def test_change_of_another_writer_between_reading_and_moving(
    open_store: OpenStore, notes: Path, meanwhile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, other = open_store(project="app"), open_store(project="app")
    write(notes, {"a.md": note()})
    run(store, notes)
    read = ids(store)["a.md#Deploy"]
    write(notes, {"b.md": note(Deploy=THREE)})
    plain = Relocations.apply

    def apply(self: Relocations, project: str | None, relocations: Sequence[Relocation]) -> list[bool]:
        if meanwhile == "deleted":
            other.delete(read)
        else:
            other.edit(read, content="By hand.", trust="user")
        monkeypatch.undo()
        return plain(self, project, relocations)

    monkeypatch.setattr(Relocations, "apply", apply)
    report = run(store, notes)
    assert counts(report) == ((1, 0, 3, 0, 0) if meanwhile == "deleted" else (0, 0, 4, 0, 0))
    now = by_topic(store)["file:b.md#Deploy"]
    assert (now.id == read, now.content) == (
        (False, f"# Deploy\n\n{THREE}\n\n") if meanwhile == "deleted" else (True, "By hand.")
    )


def test_renamed_folder_with_some_edited_notes_moves_all_memories(store: MemoryStore, notes: Path) -> None:
    texts = {
        f"{number}.md": f"# Runbook {number}\n\nRestart service s{number} on host h{number} and look at its log.\n\n"
        f"## Owner\n\nTeam t{number}.\n\n## License\n\nMIT\n"
        for number in range(60)
    }
    write(notes, {f"old/{name}": text for name, text in texts.items()})
    run(store, notes)
    before = ids(store)
    edited = {name: text.replace("look at", "read") if name.startswith("1") else text for name, text in texts.items()}
    write(notes, {f"new/{name}": text for name, text in edited.items()})
    assert counts(run(store, notes)) == (0, 11, 180, 0, 0)
    assert moves(store, before) == {place.replace("old/", "new/"): place for place in before}
    assert counts(run(store, notes)) == (0, 0, 0, 180, 0)
    store.undo()
    assert ids(store) == before


def test_many_renamed_headings_with_edits_in_one_file_are_compared_in_time(store: MemoryStore, notes: Path) -> None:
    def build(word: str, title: str) -> str:
        return "".join(f"# {title} {n}\n\nService s{n} {word} on host h{n} with key k{n}.\n\n" for n in range(1000))

    write(notes, {"a.md": build("runs", "Service")})
    run(store, notes)
    write(notes, {"a.md": build("lives", "About")})
    assert counts(run(store, notes)) == (0, 1000, 1000, 0, 0)


@pytest.mark.parametrize("proposes", ["note", "agent"])
def test_accepted_text_of_a_section_is_still_moved_and_updated_by_its_note(
    store: MemoryStore, notes: Path, proposes: str
) -> None:
    write(notes, {"a.md": note()})
    run(store, notes)
    read = ids(store)["a.md#Deploy"]
    if proposes == "note":
        store.edit(read, content="Deploy at noon.", trust="user")
        write(notes, {"a.md": note(Deploy=THREE)})
        run(store, notes)
        [waiting] = store.list(status="candidate")
    else:
        waiting = store.get(store.remember("Deploy at noon.", status="candidate", metadata={REPLACES: read}).id)
    accepted = accept(store, waiting)
    assert accepted.topic == "file:a.md#Deploy"
    assert counts(run(store, notes)) == (0, 0, 0, 4, 0)
    (notes / "a.md").rename(notes / "b.md")
    assert counts(run(store, notes)) == (0, 0, 4, 0, 0)
    assert ids(store)["b.md#Deploy"] == accepted.id
    write(notes, {"b.md": note(Deploy=THREE.replace("three", "nine"))})
    run(store, notes)
    [again] = store.list(status="candidate")
    assert (accept(store, again).topic, len(store.list())) == ("file:b.md#Deploy", 4)


def test_edit_of_an_accepted_directive_is_proposed_once_and_takes_its_place(store: MemoryStore, notes: Path) -> None:
    text = "---\ncategory: directive\n---\nAlways run the tests before you push.\n"
    write(notes, {"a.md": text})
    run(store, notes)
    accept(store, store.list(status="candidate")[0])
    write(notes, {"a.md": text.replace("push", "merge")})
    rehearsed, report = run(store, notes, dry_run=True), run(store, notes)
    assert rehearsed == report
    assert (counts(report), len(report.skipped)) == ((0, 0, 0, 0, 0), 1)
    assert counts(run(store, notes)) == (0, 0, 0, 1, 0)
    [waiting] = store.list(status="candidate")
    accepted = accept(store, waiting)
    assert [(memory.id, memory.topic) for memory in store.list()] == [(accepted.id, "file:a.md#")]
    assert counts(run(store, notes)) == (0, 0, 0, 1, 0)


def test_section_that_is_gone_takes_its_proposed_text_along(store: MemoryStore, notes: Path) -> None:
    write(notes, {"a.md": note()})
    run(store, notes)
    store.edit(ids(store)["a.md#Deploy"], content="Deploy at noon.", trust="user")
    write(notes, {"a.md": note(Deploy=THREE)})
    run(store, notes)
    write(notes, {"a.md": note(Deploy="")})
    rehearsed = run(store, notes, dry_run=True)
    assert run(store, notes) == rehearsed
    assert rehearsed.archived == 2
    assert counts(run(store, notes)) == (0, 0, 0, 3, 0)


@pytest.mark.parametrize("how", ["archived", "gone"])
@pytest.mark.parametrize("is_older", [True, False])
def test_archived_section_that_moved_to_the_place_of_another_archived_one_stays_archived(
    store: MemoryStore, notes: Path, how: str, is_older: bool
) -> None:
    texts = {"a.md": TEXTS["Deploy"], "b.md": TEXTS["Backup"]}
    for name in sorted(texts, reverse=is_older):
        (notes / name).write_text(texts[name])
        run(store, notes)
    before = ids(store)
    if how == "archived":
        store.archive(before["a.md#"])
    else:
        (notes / "a.md").unlink()
        run(store, notes)
    store.archive(before["b.md#"])
    (notes / "b.md").rename(notes / "a.md")
    assert [one.id for one in run(store, notes).moved] == [before["b.md#"]]
    assert counts(run(store, notes)) == (0, 0, 0, 1, 0)
    assert store.list() == []
