"""Matching of sections that were edited and moved: each is matched once, and never with one that is no candidate."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from opencode_memory.notes.edits import Files, count_pairs, match_edited

WORDS = [
    "deploy",
    "the",
    "api",
    "with",
    "two",
    "hosts",
    "and",
    "watch",
    "its",
    "error",
    "rate",
    "for",
    "ten",
    "minutes",
]
TEXTS = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)
TOPICS = st.builds("file:{}.md#{}".format, st.sampled_from("abc"), st.sampled_from(["X", "Y", "X/Y", "", "X~2"]))
NOTES = st.dictionaries(TOPICS, TEXTS, max_size=8)


def file_of(topic: str) -> str:
    return topic.removeprefix("file:").partition("#")[0]


@given(NOTES, NOTES)
def test_each_section_is_matched_once_whatever_the_order(old: dict[str, str], new: dict[str, str]) -> None:
    files = Files(before=Counter(map(file_of, old)), after=Counter(map(file_of, new)))
    found = match_edited(list(old), new, read_old=old.__getitem__, moved={}, files=files)
    assert found.keys() <= new.keys()
    assert set(found.values()) <= old.keys()
    assert len(set(found.values())) == len(found)
    assert all(there != here for there, here in found.items())
    back = dict(reversed(new.items()))
    assert found == match_edited(list(old)[::-1], back, read_old=old.__getitem__, moved={}, files=files)


@given(st.lists(TEXTS, min_size=2, max_size=5, unique=True), st.data())
def test_section_with_the_same_text_as_another_new_one_is_not_guessed(texts: list[str], data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(texts))
    new = {"file:b.md#": text, "file:c.md#": text}
    files = Files(before={"a.md": 1}, after={"b.md": 1, "c.md": 1})
    assert match_edited(["file:a.md#"], new, read_old=lambda _: text, moved={}, files=files) == {}


def test_language_without_blanks_is_compared_by_characters() -> None:
    old, new = "数据库每天凌晨两点备份到存储桶", "数据库每天凌晨三点备份到存储桶"
    files = Files(before={"a.md": 1}, after={"b.md": 1})
    found = match_edited(["file:a.md#"], {"file:b.md#": new}, read_old=lambda _: old, moved={}, files=files)
    assert found == {"file:b.md#": "file:a.md#"}
    assert count_pairs("数据库")["数 据"] == 1
