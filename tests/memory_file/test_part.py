"""Parser of the managed part: bullets under headings, and other lines."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from opencode_memory.memory_file.headings import HEADINGS, heading_named, heading_of
from opencode_memory.memory_file.part import read_part
from opencode_memory.models import Category, Trust
from support.memory_files import AT, memory

MARK = "<!-- m:9c1d7b2e f000000 -->"
OTHER = "<!-- m:8c1d7b2e f000000 -->"


def read(text: str) -> tuple[list[str], list[str]]:
    part = read_part(text.split("\n"))
    return [bullet.content for bullet in part.bullets], list(part.foreign)


def test_bullets_stand_under_the_heading_above_them() -> None:
    part = read_part(["- none", "## Decisions", "", "* one", "### preference", "+ two", "# Testing", "- three"])
    found = [(bullet.content, bullet.heading and bullet.heading.category.value) for bullet in part.bullets]
    assert found == [("none", None), ("one", "decision"), ("two", "preference"), ("three", None)]
    assert part.foreign == ("# Testing",)


def test_every_heading_is_recognised_by_its_own_line_and_by_its_category() -> None:
    for heading in HEADINGS:
        assert heading_named(heading.title) is heading
        assert heading_named(f"{heading.title.upper()}:") is heading
        assert heading_named(heading.category.value).category is heading.category
    assert len({heading.letter for heading in HEADINGS}) == len(HEADINGS)


def test_every_category_but_conversation_has_a_heading() -> None:
    assert {category for category in Category if heading_of(memory("x", category=category)) is None} == {
        Category.CONVERSATION
    }


def test_directives_of_agents_stand_apart_until_they_are_confirmed() -> None:
    by_agent = {"category": Category.DIRECTIVE, "trust": Trust.AGENT}
    assert not heading_of(memory("x", **by_agent)).is_confirmed
    assert heading_of(memory("x", **by_agent, verified_at=AT)).is_confirmed
    assert heading_of(memory("x", category=Category.DIRECTIVE)).is_confirmed


def test_resolved_blocker_is_not_shown() -> None:
    assert heading_of(memory("x", category=Category.BLOCKER, tags=("resolved",))) is None


def test_indented_lines_belong_to_the_bullet_above() -> None:
    assert read("- one\n  more\n\n  still\n- two\n\ntext") == (["one\nmore\n\nstill", "two"], ["text"])


def test_line_that_is_not_indented_is_no_part_of_a_bullet() -> None:
    assert read(f"- one {MARK}\na note below") == (["one"], ["a note below"])


def test_bullet_with_a_mark_is_a_memory_of_its_own_however_deep_it_stands() -> None:
    assert read(f"- parent {MARK}\n  - child\n      - moved here {OTHER}") == (["parent\n- child", "moved here"], [])


def test_fenced_block_holds_no_bullets() -> None:
    assert read("text\n```\n- code\n# Decisions\n```\n- bullet") == (
        ["bullet"],
        ["text", "```", "- code", "# Decisions", "```"],
    )


def test_fence_that_would_swallow_a_memory_is_only_a_line() -> None:
    assert read(f"```\n- ours {MARK}\n```") == (["ours"], ["```", "", "```"])


def test_paragraphs_stay_apart() -> None:
    assert read("first\nsecond\n\nthird\n- bullet\nfourth") == (
        ["bullet"],
        ["first", "second", "", "third", "", "fourth"],
    )


def test_empty_bullets_are_ignored_and_an_emptied_one_keeps_its_mark() -> None:
    part = read_part(["-", "- ", f"- {MARK}"])
    assert [(bullet.text, bullet.mark.id) for bullet in part.bullets] == [("", "9c1d7b2e")]


@given(
    st.lists(
        st.sampled_from(["- a", "  b", "", "## Facts", "# X", "```", "text", f"- c {MARK}", "    - d"]), max_size=12
    )
)
def test_every_line_with_text_is_kept(lines: list[str]) -> None:
    part = read_part(lines)
    kept = [line for bullet in part.bullets for line in bullet.lines] + list(part.foreign)
    said = [line for line in lines if line.strip() and line != "## Facts"]
    assert sorted(line for line in kept if line.strip() and line != "## Facts") == sorted(said)
