"""Diff of the managed part with the memories, from the text alone."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencode_memory.memory_file import Change, Changes, Kind, diff_part
from opencode_memory.memory_file.frame import NEW, read_frame
from opencode_memory.models import Category, Memory, Status, Trust
from support.memory_files import AT, HOSTILE, known, memory, rendered

PNPM = memory("Use pnpm, not npm", 1, category=Category.PREFERENCE)
TABS = memory("Indent with tabs", 2, category=Category.CONVENTION)
PORT = memory("The port is 9824", 3)
LONG = memory("Deploys run on Fridays only, because the team watches them then. " * 10, 4)
ALL = [PNPM, TABS, PORT, LONG]
PIECES = st.lists(
    st.one_of(st.sampled_from([*HOSTILE, "\n", " ", "- ", "…", "<!-- m:00000001 f000000~ -->"]), st.text(max_size=12)),
    max_size=8,
).map("".join)


def lines(memories: list[Memory] = ALL) -> list[str]:
    return list(rendered(memories).lines)


def changed(text: list[str], memories: list[Memory] = ALL, **how: Any) -> Changes:
    return diff_part("\n".join(text), known(memories, **how))


def summarize(found: Changes) -> list[tuple[Any, ...]]:
    return [(one.kind, one.id, one.content, one.category) for one in found.changes]


def the_one(found: Changes) -> Change:
    [one] = found.changes
    return one


def at(text: list[str], part: str) -> int:
    return next(place for place, line in enumerate(text) if part in line)


def replaced(text: list[str], old: str, new: str) -> list[str]:
    assert any(old in line for line in text)
    return [line.replace(old, new) for line in text]


def test_untouched_part_has_no_changes() -> None:
    assert changed(lines()) == Changes((), (), is_mass_deletion=False)


@given(
    st.lists(PIECES, max_size=12),
    st.sampled_from(["", "\ufeff# Mine\r\n", "text\n\n"]),
    st.sampled_from(["", "\n", "\nmine"]),
)
def test_any_memories_round_trip_and_text_outside_the_part_is_kept(
    contents: list[str], before: str, after: str
) -> None:
    memories = [
        memory(content or "x", number, category=list(Category)[number % 12]) for number, content in enumerate(contents)
    ]
    body = rendered(memories)
    file = (before + NEW.with_body(body.lines).decode().removeprefix(NEW.before).removesuffix("\n") + after).encode()
    frame = read_frame(file)
    assert frame.with_body(frame.body) == file
    assert (frame.before, frame.after) == (before, after)
    showed = [one for one in memories if one.id in body.shown]
    assert diff_part(frame.body, known(showed)) == Changes((), (), is_mass_deletion=False)


@pytest.mark.parametrize("content", HOSTILE)
def test_hostile_memory_beside_others_changes_none_of_them(content: str) -> None:
    memories = [*ALL, memory(content, 5)]
    assert changed(lines(memories), memories) == Changes((), (), is_mass_deletion=False)


def test_memory_that_was_changed_meanwhile_is_not_changed_back() -> None:
    newer = [memory("Use bun, not pnpm", 1, category=Category.DECISION), TABS, PORT, LONG]
    assert changed(lines(), newer) == Changes((), (), is_mass_deletion=False)


def test_new_bullet_is_a_memory_of_the_category_that_it_stands_under() -> None:
    text = lines()
    text.insert(at(text, "pnpm") + 1, "- Short answers")
    text += ["## Decisions", "* SQLite, <b>not</b> files", "## Testing", "- Run `make test`"]
    found = changed(text)
    assert summarize(found) == [
        (Kind.ADD, None, "Short answers", Category.PREFERENCE),
        (Kind.ADD, None, "SQLite, <b>not</b> files", Category.DECISION),
        (Kind.ADD, None, "Run `make test`", Category.FACT),
    ]
    assert found.foreign == ("## Testing",)


def test_edited_bullet_is_an_edit_and_its_escapes_are_undone() -> None:
    tag = memory("Use <b> for &lt; in prose", 1)
    text = replaced(lines([tag]), "prose", "code")
    assert summarize(changed(text, [tag])) == [(Kind.EDIT, tag.id, "Use <b> for &lt; in code", None)]


def test_moved_bullet_changes_its_category_and_only_that() -> None:
    text = lines()
    line = text.pop(at(text, "pnpm"))
    text.insert(at(text, "tabs") + 1, line)
    assert summarize(changed(text)) == [(Kind.EDIT, PNPM.id, None, Category.CONVENTION)]


def test_moved_and_edited_bullet_changes_category_and_text() -> None:
    text = lines()
    line = text.pop(at(text, "pnpm")).replace("pnpm", "bun")
    text.insert(at(text, "tabs") + 1, line)
    assert summarize(changed(text)) == [(Kind.EDIT, PNPM.id, "Use bun, not npm", Category.CONVENTION)]


def test_bullet_under_an_unknown_heading_keeps_its_category() -> None:
    text = replaced(lines(), "## Preferences", "## Tools")
    found = changed(text)
    assert (found.changes, found.foreign) == ((), ("## Tools",))


def test_bullet_whose_memory_changed_its_category_meanwhile_was_not_moved() -> None:
    decided = memory(PNPM.content, 1, category=Category.DECISION)
    assert changed(lines([PNPM]), [decided]).changes == ()


def test_bullet_that_was_moved_where_its_memory_is_meanwhile_changes_nothing() -> None:
    decided = memory(PNPM.content, 1, category=Category.DECISION)
    assert changed(replaced(lines([PNPM]), "## Preferences", "## Decisions"), [decided]).changes == ()


def test_directive_that_is_moved_to_the_confirmed_ones_is_confirmed() -> None:
    unconfirmed = memory("Never squash", 1, category=Category.DIRECTIVE, trust=Trust.AGENT)
    text = replaced(lines([unconfirmed]), "## Directives noted by agents, not confirmed", "## Directives")
    assert summarize(changed(text, [unconfirmed])) == [(Kind.EDIT, unconfirmed.id, None, Category.DIRECTIVE)]
    confirmed = memory("Never squash", 1, category=Category.DIRECTIVE, verified_at=AT)
    text = replaced(lines([confirmed]), "## Directives", "## Directives noted by agents, not confirmed")
    assert changed(text, [confirmed]).changes == ()


def test_deleted_bullet_is_a_deletion() -> None:
    text = [line for line in lines() if "tabs" not in line]
    assert summarize(changed(text)) == [(Kind.DELETE, TABS.id, None, None)]


def test_bullet_that_was_emptied_is_a_deletion() -> None:
    text = replaced(lines(), "Indent with tabs ", "")
    assert summarize(changed(text)) == [(Kind.DELETE, TABS.id, None, None)]


def test_memory_that_the_file_never_showed_is_not_deleted() -> None:
    assert changed(lines([PNPM]), [PNPM]).changes == ()
    assert diff_part("", known([PNPM], was_shown=False)).changes == ()


@pytest.mark.parametrize(
    ("gone", "all", "is_mass"), [(3, 3, False), (4, 4, True), (4, 8, False), (5, 9, True), (0, 0, False)]
)
def test_part_without_more_than_half_of_its_bullets_is_another_version(gone: int, all: int, is_mass: bool) -> None:
    memories = [memory(f"fact {number}", number) for number in range(all)]
    text = [line for line in lines(memories) if not any(f"fact {number} " in line for number in range(gone))]
    found = changed(text, memories)
    assert (len(found.changes), found.is_mass_deletion) == (gone, is_mass)


def test_copied_bullet_is_a_new_memory_and_the_untouched_one_is_the_old_one() -> None:
    for first, second in (("pnpm", "bun"), ("bun", "pnpm")):
        text = lines([PNPM])
        line = text.pop(at(text, "pnpm"))
        text += [line.replace("pnpm", first), line.replace("pnpm", second)]
        assert summarize(changed(text, [PNPM])) == [(Kind.ADD, None, "Use bun, not npm", Category.PREFERENCE)]


def test_first_of_two_edited_copies_is_the_memory() -> None:
    text = lines([PNPM])
    line = text.pop(at(text, "pnpm"))
    text += [line.replace("pnpm", "bun"), line.replace("pnpm", "yarn")]
    assert [one[:3] for one in summarize(changed(text, [PNPM]))] == [
        (Kind.EDIT, PNPM.id, "Use bun, not npm"),
        (Kind.ADD, None, "Use yarn, not npm"),
    ]


def test_unchanged_copy_of_a_bullet_is_ignored() -> None:
    text = lines()
    assert changed([*text, *text]).changes == ()


def test_bullet_that_lost_its_mark_is_still_its_memory() -> None:
    text = [line.split(" <!--")[0] for line in lines()]
    assert changed(text).changes == ()


@pytest.mark.parametrize(("old", "new"), [(" …", ""), (" …", " … Ann"), (" …", " Ann …")])
def test_shortened_bullet_is_replaced_only_by_a_whole_text(old: str, new: str) -> None:
    one = the_one(changed(replaced(lines([LONG]), f"{old} <!--", f"{new} <!--"), [LONG]))
    assert (one.kind, one.id) == (Kind.UNCLEAR, LONG.id)
    assert "opencode-memory edit --editor 00000004" in one.reason
    text = lines([LONG])
    place = at(text, "Fridays")
    whole = "- Deploys run on Mondays. " + text[place][text[place].index("<!--") :]
    assert summarize(changed([*text[:place], whole], [LONG])) == [(Kind.EDIT, LONG.id, "Deploys run on Mondays.", None)]


def test_changed_word_of_a_shortened_bullet_keeps_the_hidden_end() -> None:
    text = [line.replace("Fridays", "Mondays", 1) for line in lines([LONG])]
    edited = LONG.content.replace("Fridays", "Mondays", 1)
    assert summarize(changed(text, [LONG])) == [(Kind.EDIT, LONG.id, edited, None)]
    # The file was not written yet, and the new text is cut elsewhere.
    assert changed(text, [memory(edited, 4)]).changes == ()


def test_changed_word_keeps_the_lines_of_its_memory() -> None:
    text = "Release:\n\n- run `make check`\n- tell Ann"
    steps = memory(text, 1)
    found = changed(replaced(lines([steps]), "Ann", "Bob"), [steps])
    assert summarize(found) == [(Kind.EDIT, steps.id, text.replace("Ann", "Bob"), None)]


def test_changed_words_without_a_certain_place_change_nothing() -> None:
    steps = memory("Use pnpm\nDeploy late", 1)
    one = the_one(changed(replaced(lines([steps]), "Deploy", "always Deploy"), [steps]))
    assert (one.kind, one.id, one.content) == (Kind.UNCLEAR, steps.id, None)
    assert "opencode-memory edit --editor 00000001" in one.reason


def test_edit_of_an_older_text_with_several_lines_changes_nothing() -> None:
    newer = memory("Use bun\nDeploy late", 1)
    text = replaced(lines([memory("Use pnpm\nDeploy late", 1)]), "late", "early")
    one = the_one(changed(text, [newer]))
    assert (one.kind, "was changed after this bullet" in one.reason) == (Kind.UNCLEAR, True)


def test_shortened_bullet_may_still_be_moved_and_deleted() -> None:
    text = replaced(lines([LONG]), "## Facts", "## Decisions")
    assert summarize(changed(text, [LONG])) == [(Kind.EDIT, LONG.id, None, Category.DECISION)]
    assert summarize(changed(["## Facts"], [LONG])) == [(Kind.DELETE, LONG.id, None, None)]


def test_damaged_mark_does_not_let_a_shortened_text_pass_for_whole() -> None:
    text = [line.split(" f")[0] + " -->" if "Deploys" in line else line for line in lines([LONG])]
    assert changed(text, [LONG]).changes == ()
    assert the_one(changed(replaced(text, "Fridays", "Mondays"), [LONG])).kind is Kind.UNCLEAR


def test_text_that_ends_with_an_ellipsis_by_itself_may_be_edited() -> None:
    trailing = memory("and so on …", 1)
    text = replaced(lines([trailing]), "so on", "so forth")
    assert summarize(changed(text, [trailing])) == [(Kind.EDIT, trailing.id, "and so forth …", None)]


def test_bullet_of_a_memory_that_went_away_goes_too() -> None:
    gone = memory(PNPM.content, 1, category=Category.PREFERENCE, status=Status.ARCHIVED)
    assert changed(lines([PNPM]), [gone], live=False).changes == ()


def test_edit_of_a_memory_that_went_away_is_a_new_statement() -> None:
    gone = memory(PNPM.content, 1, category=Category.PREFERENCE, status=Status.ARCHIVED)
    text = replaced(lines([PNPM]), "pnpm", "bun")
    assert summarize(changed(text, [gone], live=False)) == [(Kind.ADD, None, "Use bun, not npm", Category.PREFERENCE)]


def test_bullet_that_was_put_back_restores_its_memory() -> None:
    gone = memory(PNPM.content, 1, category=Category.PREFERENCE, status=Status.ARCHIVED)
    found = changed(lines([PNPM]), [gone], live=False, was_shown=False)
    assert summarize(found) == [(Kind.RESTORE, PNPM.id, None, None)]


def test_bullet_with_the_mark_of_another_project_is_new() -> None:
    assert summarize(changed(lines([PNPM]), [])) == [(Kind.ADD, None, PNPM.content, Category.PREFERENCE)]


def test_edit_equal_to_the_current_memory_changes_nothing() -> None:
    newer = memory("Use bun, not npm", 1, category=Category.PREFERENCE)
    assert changed(replaced(lines([PNPM]), "pnpm", "bun"), [newer]).changes == ()


def test_carriage_returns_are_not_edits() -> None:
    assert diff_part("\r\n".join(lines()), known(ALL)).changes == ()
