"""Changed words of a bullet, applied to the text of its memory."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencode_memory.memory_file.bullet_text import render_text, show_line, unescape
from opencode_memory.memory_file.word_edit import apply_words
from support.memory_files import HOSTILE

STEPS = "Release:\n\n1. Run `make check`\n   - sign it\n\n```sh\nmake   ship\n```\nThen tell Ann.\n"
LIST = "- one\n- two\n- three"
LONG = "Deploys run on Fridays only.\n" * 20
WORDS = st.text(st.sampled_from("ab-`1.<&…\u200b"), min_size=1, max_size=3)
TEXTS = st.lists(st.lists(WORDS, min_size=1, max_size=5).map(" ".join), min_size=1, max_size=5).map("\n".join)


def shown(text: str) -> str:
    return unescape(render_text(text).text)


@pytest.mark.parametrize(
    ("text", "old", "new", "in_text"),
    [
        (STEPS, "Ann.", "Bob.", "Bob."),
        (STEPS, "make ship", "make deploy", "make   deploy"),
        (STEPS, "1. Run", "1. Always run", "1. Always run"),
        (STEPS, "ship ```", "ship now ```", "ship now\n```"),
        (STEPS, " - sign it", "", "`make check`\n\n```sh"),
        (STEPS, "Ann.", "Ann. Rest.", "tell Ann. Rest.\n"),
        (LIST, "one -", "one now -", "- one now\n- two"),
        (LIST, " - two", "", "- one\n- three"),
        (LIST, " - three", "", "- one\n- two"),
        (LIST, "- one ", "", "- two\n- three"),
        (LONG, "Fridays", "Mondays", "Deploys run on Mondays only.\nDeploys"),
        ("I prefer pnpm,\nand my tests are fast", "pnpm", "yarn", "I prefer yarn,\nand my tests"),
        ("a\u200bb\n<b> & c", "& c", "& d", "a\u200bb\n<b> & d"),
    ],
)
def test_changed_words_keep_the_rest_of_the_text(text: str, old: str, new: str, in_text: str) -> None:
    bullet = shown(text)
    assert old in bullet
    result = apply_words(text, bullet.replace(old, new, 1))
    assert result is not None
    assert in_text in result
    assert (result.count("\n") - text.count("\n")) in {0, -1}


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ("Use pnpm\nDeploy late", "pnpm Deploy", "pnpm always Deploy"),
        ("Use pnpm\nDeploy late", "pnpm Deploy", "yarn Ship"),
        ("Use pnpm\nDeploy late", "Use pnpm Deploy late", "Nothing"),
        (LIST, "- two", "- new - two"),
        (STEPS, "``` Then", "``` Finally Then"),
        (STEPS, "``` Then", "Then"),
        (STEPS, "```sh make", "```sh first make"),
        (LONG, " …", ""),
        (LONG, " …", " … always"),
        (LONG, " …", " always …"),
        ("I prefer pnpm,\nand my tests are fast", "prefers", "likes"),
        ("word\nword", "word word", "word"),
    ],
)
def test_words_without_a_certain_place_are_not_applied(text: str, old: str, new: str) -> None:
    bullet = shown(text)
    assert old in bullet
    assert apply_words(text, bullet.replace(old, new, 1)) is None


@given(TEXTS, st.data())
def test_new_text_shows_the_edited_bullet(text: str, data: st.DataObject) -> None:
    words = shown(text).split()
    start = data.draw(st.integers(0, len(words)))
    end = data.draw(st.integers(start, len(words)))
    edited = " ".join([*words[:start], *data.draw(st.lists(WORDS, max_size=3)), *words[end:]])
    result = apply_words(text, edited)
    assert result is None or show_line(result) == " ".join(edited.split())


@pytest.mark.parametrize("text", HOSTILE)
def test_unchanged_bullet_changes_no_text(text: str) -> None:
    assert apply_words(text, shown(text)) in {text, None}
