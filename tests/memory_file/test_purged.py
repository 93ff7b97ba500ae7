"""Purged memories leave the memory files at once, and nothing else does."""

from __future__ import annotations

import pytest

from opencode_memory.memory_file import RELATIVE
from opencode_memory.memory_file.bullet_text import render_note
from opencode_memory.memory_file.purged import CleanedFiles, take_out
from support.memory_files import AT, CONVENTION, ENVIRONMENT, FACT, HOSTILE, PREFERENCE, Scene


def purge(scene: Scene, content: str) -> CleanedFiles:
    [memory] = [one for one in scene.store.list(limit=1000) if one.content == content]
    scene.store.purge(memory.id)
    return take_out(scene.store, {memory.id: {content}}, at=AT, environment=ENVIRONMENT)


def read(scene: Scene) -> str:
    return (scene.folder / RELATIVE).read_bytes().decode()


def test_bullet_is_removed_and_all_else_stays(scene: Scene) -> None:
    before = read(scene)
    cleaned = purge(scene, FACT)
    assert (cleaned.changed, cleaned.problems) == ((scene.folder / RELATIVE,), ())
    assert read(scene) == "".join(line for line in before.splitlines(keepends=True) if FACT not in line)
    report = scene.sync()
    assert (report.added, report.archived, report.proposed, report.unclear) == ((), (), (), ())
    assert PREFERENCE in read(scene)


def test_pending_edits_of_the_user_are_still_applied(scene: Scene) -> None:
    path = scene.folder / RELATIVE
    path.write_text(read(scene).replace(PREFERENCE, "Use bun") + "\nmine\n")
    purge(scene, FACT)
    assert "Use bun" in read(scene)
    assert read(scene).endswith("\nmine\n")
    assert [change.content for change in scene.sync().edited] == ["Use bun"]


def test_bullet_that_the_user_changed_is_named_and_stays(scene: Scene) -> None:
    (scene.folder / RELATIVE).write_text(read(scene).replace(FACT, "The port is 1"))
    cleaned = purge(scene, FACT)
    assert cleaned.changed == ()
    assert "delete the bullet yourself" in cleaned.problems[0]
    assert "The port is 1" in read(scene)


@pytest.mark.parametrize("purged", ["later", "before"])
def test_one_of_two_quotes_in_a_note_is_removed(scene: Scene, purged: str) -> None:
    quotes = {"later": "Forget what I said about it.", "before": "The port is 1."}
    notes = {name: render_note(AT.date(), **{name: text}) for name, text in quotes.items()}
    scene.sync()
    line = next(line for line in read(scene).splitlines() if FACT in line)
    bare = line.partition(" *(")[0]
    both = f"{bare} {render_note(AT.date(), **quotes)}"
    (scene.folder / RELATIVE).write_text(read(scene).replace(line, both))
    take_out(scene.store, {"0" * 32: {quotes.pop(purged)}}, at=AT, environment=ENVIRONMENT)
    [left] = quotes
    assert f"{bare} {notes[left]}" in read(scene)


def test_quote_of_a_replaced_memory_is_removed(scene: Scene) -> None:
    scene.store.remember("The database is SQLite.", project="app")
    scene.store.remember("The database is Postgres instead of SQLite.", project="app")
    scene.sync()
    assert "before: The database is SQLite" in read(scene)
    [old] = scene.store.list(status="superseded")
    scene.store.purge(old.id)
    take_out(scene.store, {old.id: {old.content}}, at=AT, environment=ENVIRONMENT)
    assert "before" not in read(scene)
    assert "Postgres instead of SQLite" in read(scene)
    once = read(scene)
    scene.sync()
    assert [line for line in read(scene).splitlines() if "opencode-memory:begin" not in line] == [
        line for line in once.splitlines() if "opencode-memory:begin" not in line
    ]


def test_committed_file_is_named(scene: Scene) -> None:
    scene.commit(RELATIVE)
    [problem] = purge(scene, FACT).problems
    assert "git may still have" in problem


@pytest.mark.parametrize("text", HOSTILE)
def test_any_text_is_removed(scene: Scene, text: str) -> None:
    id_ = scene.store.remember(text, project="app").id
    scene.sync()
    before = read(scene)
    content = scene.store.get(id_).content
    scene.store.purge(id_)
    take_out(scene.store, {id_: {content}}, at=AT, environment=ENVIRONMENT)
    assert id_[-8:] not in read(scene)
    assert {CONVENTION, PREFERENCE, FACT} <= set(before.replace(" <!--", "\n").replace("- ", "").splitlines())
    assert all(one in read(scene) for one in (CONVENTION, PREFERENCE, FACT))


def test_missing_or_damaged_file_ends_no_purge(scene: Scene) -> None:
    path = scene.folder / RELATIVE
    path.write_bytes(b"\xff\xfe" + path.read_bytes())
    assert "may hold the text" in purge(scene, FACT).problems[0]
    path.unlink()
    assert purge(scene, PREFERENCE) == CleanedFiles((), ())
