"""Text of a bullet: rendering on one line, escaping, and reading the bullet back."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencode_memory.memory_file.bullet import bullet_line, has_mark, read_bullet, starts_bullet
from opencode_memory.memory_file.bullet_text import LONGEST, digest, escape, plain_line, render_text, unescape
from opencode_memory.memory_file.headings import BY_LETTER
from support.memory_files import HOSTILE

FACT = BY_LETTER["f"]
PIECES = st.lists(
    st.one_of(
        st.sampled_from(
            ["<!--", "-->", "&lt;", "&", "amp;", "`", "``", "\\", "#", "[x]:", "~~~", "…", "\n", "\r\n", " "]
        ),
        st.sampled_from(
            ["<b>", "</ul>", "<!", "<?", "m:9c1d7b2e", "opencode-memory:end", "- ", "\u202e", "\u200b", "word"]
        ),
        st.text(max_size=8),
    ),
    max_size=60,
).map("".join)


@given(PIECES)
def test_unescape_restores_the_escaped_line_exactly(text: str) -> None:
    line = plain_line(text)
    assert unescape(escape(line)) == line


@given(PIECES)
def test_rendered_text_has_no_comment_marks_and_one_line(text: str) -> None:
    line = render_text(text).text
    assert "<!--" not in line
    assert "-->" not in line
    assert len(line.splitlines()) <= 1


@given(PIECES)
def test_rendered_text_renders_the_same_again(text: str) -> None:
    once = render_text(text)
    if not once.is_shortened:
        assert render_text(unescape(once.text)) == once


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_makes_one_untouched_bullet(text: str) -> None:
    how = render_text(text)
    line = bullet_line(how, "9c1d7b2e", FACT)
    assert line.isprintable()
    assert starts_bullet(line)
    assert has_mark(line)
    bullet = read_bullet([line], FACT)
    assert (bullet.text, bullet.mark.id, bullet.mark.is_shortened) == (how.text, "9c1d7b2e", how.is_shortened)
    assert bullet.is_untouched
    assert bullet.moved_to is None


def test_tag_is_escaped_in_prose_but_not_in_code() -> None:
    assert render_text("`Vec<T>` not <b>bold</b>, a < b").text == "`Vec<T>` not &lt;b>bold&lt;/b>, a < b"


def test_comment_is_escaped_in_code_too() -> None:
    assert render_text("`<!-- x -->`").text == "`&lt;!-- x --&gt;`"


def test_text_that_begins_like_a_block_is_escaped() -> None:
    assert render_text("# Title").text == "\\# Title"
    assert render_text("```sh").text == "\\```sh"
    assert render_text("[a]: b").text == "\\[a]: b"
    assert render_text("#!/bin/sh, C# and [a](b)").text == "\\#!/bin/sh, C# and [a](b)"
    assert render_text("[a](b)").text == "[a](b)"


def test_long_text_is_shortened_at_a_word() -> None:
    how = render_text("Deploys run on Fridays only. " * 20)
    assert how.is_shortened
    assert how.text.endswith(" …")
    assert len(how.text) <= LONGEST
    assert how.text.removesuffix(" …").split()[-1] in {"Deploys", "run", "on", "Fridays", "only."}


def test_text_of_exactly_the_limit_is_whole() -> None:
    assert render_text("x" * LONGEST).text == "x" * LONGEST
    assert render_text("x" * (LONGEST + 1)).is_shortened


def test_text_without_blanks_is_not_cut_within_a_character() -> None:
    text = render_text("e\u0301" * 400).text
    assert text.endswith("e\u0301 …")


def test_several_lines_and_hidden_characters_become_one_plain_line() -> None:
    assert plain_line("a\n\n  b\tc\u202e d\u200b \u200be\x1b") == "a b c d e"


def test_edit_changes_the_digest_and_a_blank_does_not() -> None:
    assert digest("Use  pnpm\n") == digest("Use pnpm")
    assert digest("Use npm") != digest("Use pnpm")
    assert re.fullmatch(r"[0-9a-f]{6}", digest(""))


def test_damaged_mark_is_not_part_of_the_text() -> None:
    bullet = read_bullet(["* Use pnpm <!-- m:9c1d -->"], FACT)
    assert (bullet.text, bullet.mark) == ("Use pnpm", None)


def test_mark_without_a_digest_still_names_its_memory() -> None:
    bullet = read_bullet(["- Use pnpm <!--m:9c1d7b2e-->"], FACT)
    assert (bullet.mark.id, bullet.mark.digest, bullet.is_untouched) == ("9c1d7b2e", "", False)


def test_bullet_that_was_wrapped_is_untouched() -> None:
    line = bullet_line(render_text("Use pnpm, not npm, in every package"), "9c1d7b2e", FACT)
    start, rest = line[:11], line[12:]
    bullet = read_bullet([start, f"  {rest}"], FACT)
    assert bullet.is_untouched
    start, rest = line.split(" <!--")
    assert read_bullet([start, f"  <!--{rest}"], FACT).is_untouched


def test_two_bullets_on_one_line_use_the_last_mark() -> None:
    first = bullet_line(render_text("A"), "11111111", FACT)
    second = bullet_line(render_text("B"), "22222222", FACT)
    bullet = read_bullet([f"{first} {second[2:]}"], FACT)
    assert (bullet.content, bullet.mark.id) == ("A  B", "22222222")


def test_user_bullet_of_several_lines_keeps_its_lines() -> None:
    bullet = read_bullet(["- Run:", "", "  ```sh", "  make all", "  ```"], FACT)
    assert bullet.content == "Run:\n\n```sh\nmake all\n```"


def test_starts_bullet_accepts_only_list_items() -> None:
    for line in ("---", "- - -", "* * *", "-x", "**bold**", "text", "     - deep", "1. x"):
        assert not starts_bullet(line)
    for line in ("- x", "* x", "+ x", "   - x", "-", "-\tx"):
        assert starts_bullet(line)
