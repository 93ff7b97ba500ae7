"""MEMORY.md reads like a page: dated, in the third person, and with what a memory replaced."""

from __future__ import annotations

from datetime import date

import pytest

from opencode_memory.memory_file.bullet import bullet_line, read_bullet
from opencode_memory.memory_file.bullet_text import render_note, render_text
from opencode_memory.memory_file.headings import BY_LETTER
from opencode_memory.memory_file.third_person import third_person
from support.learning import SESSION, messages, process, user
from support.memory_files import HOSTILE, Scene

FACT = BY_LETTER["f"]
DAY = date(2026, 3, 1)


def bullet_of(scene: Scene, part: str) -> str:
    [line] = [line for line in scene.text().splitlines() if part in line and line.startswith("- ")]
    return line


def test_bullet_shows_the_day_of_its_memory(scene: Scene) -> None:
    [memory] = [memory for memory in scene.store.list(project="app") if "pnpm" in memory.content]
    assert bullet_of(scene, "pnpm").endswith(f"--> *({memory.time.date()})*")


def test_bullet_shows_what_its_memory_replaced(scene: Scene) -> None:
    scene.store.remember("The shop's database is SQLite", category="decision", project="app")
    scene.store.remember("The shop's database is PostgreSQL instead of SQLite", category="decision", project="app")
    scene.sync()
    assert bullet_of(scene, "PostgreSQL").endswith("; before: The shop's database is SQLite)*")
    before = scene.text()
    report = scene.sync()
    assert (report.edited, report.added, scene.text()) == ((), (), before)


def test_bullet_quotes_what_was_said_later_about_its_memory(scene: Scene) -> None:
    for database in ("SQLite", "PostgreSQL instead of SQLite"):
        rule = scene.store.remember(f"The shop's database is {database}", category="decision", project="app")
    scene.store.remember("The fair was in May.", category="event", project="app")
    said = "Forget what I said about the database."
    at = int(scene.store.get(rule.id).time.timestamp() * 1_000) + 1_000
    process(scene.store, SESSION, messages(user(said), user("ok"), at=at))
    scene.sync()
    assert bullet_of(scene, "PostgreSQL").endswith(f"; said later: {said}; before: The shop's database is SQLite)*")
    assert f"- {said}" not in scene.text()
    assert bullet_of(scene, "fair was in May")
    once = scene.text()
    report = scene.sync()
    assert (report.edited, report.added, report.archived, scene.text()) == ((), (), (), once)


def test_edit_keeps_the_note_out_of_the_memory(scene: Scene) -> None:
    scene.change(lambda text: text.replace("Use pnpm, not npm", "Use bun, not npm"))
    [change] = scene.sync().edited
    assert change.content == "Use bun, not npm"


def test_statement_of_the_user_is_shown_in_the_third_person_and_is_not_changed(scene: Scene) -> None:
    id_ = scene.store.remember("I prefer tabs in my code", category="preference", project="app").id
    scene.sync()
    assert bullet_of(scene, "tabs in").startswith("- The user prefers tabs in their code <!--")
    assert scene.sync().edited == ()
    assert scene.store.get(id_).content == "I prefer tabs in my code"
    scene.change(lambda text: text.replace("their code", "their Go code"))
    assert [change.content for change in scene.sync().edited] == ["The user prefers tabs in their Go code"]


def test_note_does_not_count_if_a_tool_removed_the_comments(scene: Scene) -> None:
    import re

    scene.change(lambda text: re.sub(r" <!-- m:[^>]*-->", "", text))
    report = scene.sync()
    assert (report.added, report.edited, report.archived) == ((), (), ())


def test_file_of_the_first_version_gets_notes_and_changes_no_memory(scene: Scene) -> None:
    import re

    scene.change(lambda text: re.sub(r" \*\(.*?\)\*$", "", text, flags=re.MULTILINE).replace("begin v2", "begin v1"))
    report = scene.sync()
    assert (report.added, report.edited, report.archived) == ((), (), ())
    assert "--> *(" in scene.text()


@pytest.mark.parametrize("said", [*HOSTILE, "a)* b", ")*" * 60, "x" * 300, "y (z)* *(2026-01-01)*"])
@pytest.mark.parametrize("is_later", [True, False])
def test_no_other_statement_breaks_out_of_its_note(said: str, is_later: bool) -> None:
    note = render_note(DAY, said, said if is_later else "")
    line = bullet_line(render_text("Use pnpm"), "9c1d7b2e", FACT, note)
    assert "\n" not in line
    bullet = read_bullet([line], FACT)
    assert (bullet.content, bullet.is_untouched) == ("Use pnpm", True)


def test_text_behind_a_note_belongs_to_the_memory() -> None:
    line = bullet_line(render_text("Use pnpm"), "9c1d7b2e", FACT, render_note(DAY))
    assert read_bullet([f"{line} and bun"], FACT).text == "Use pnpm and bun"


@pytest.mark.parametrize("text", ["Written by me *(2026-03-01)*", "A note *(2026-03-01; before: x)*"])
def test_text_that_looks_like_a_note_is_kept(text: str) -> None:
    assert read_bullet([f"- {text}"], FACT).content == text
    line = bullet_line(render_text(text), "9c1d7b2e", FACT, render_note(DAY))
    assert read_bullet([line], FACT).content == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("I prefer pnpm over npm.", "The user prefers pnpm over npm."),
        ("I always run my tests first", "The user always runs their tests first"),
        ("I don't like mocks", "The user does not like mocks"),
        ("I\u2019m the owner of billing", "The user is the owner of billing"),
        ("I have two monitors", "The user has two monitors"),
        ("I rely on ruff", "The user relies on ruff"),
        ("I can review on Fridays", "The user can review on Fridays"),
    ],
)
def test_third_person(text: str, shown: str) -> None:
    assert third_person(text) == shown
    assert third_person(shown) == shown


@pytest.mark.parametrize(
    "text",
    ["Use pnpm", "I decided it", "I think I know", "I use `my`", "I prefer what suits me", "IBM runs", "I run's"],
)
def test_other_statements_stay_as_they_are(text: str) -> None:
    assert third_person(text) == text
