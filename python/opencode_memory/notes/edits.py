"""Matching of sections that were edited while their file or a heading of theirs was renamed.

The functions are pure. They follow the rename detection of git. Two files are related if most sections of the smaller
one have the same text in the other one, or the same headings and a similar text. In related files, and within one file,
a section is matched with the one whose text is similar. If no section of a file is left there and most are in another
one, a section with the same headings counts as edited, however different its text is. Two sections are matched only if
each is clearly the most similar one for the other. Otherwise both are left out.

Notes that were made from one template are similar, but each is about another subject. So sections are not matched if
each text has a word of its own file name or headings that the other one lacks. Then their files are not related either.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Final

from opencode_memory.notes.note_memories import file_of
from opencode_memory.text.section_mark import headings_of, title_of

_WORD: Final = re.compile(r"[^\W\u2e80-\u9fff\uac00-\ud7af]+|\w")
"""A word, or one character of a language without blanks between words."""
_SIMILAR: Final = 0.5
"""Least share of equal pairs of words in two similar texts."""
_LEAST_PAIRS: Final = 3
"""Least number of equal pairs of words in two similar texts, because short texts are similar by chance."""
_LEAST_RENAMED: Final = 6
"""The same without headings, if the innermost heading or the name of a file without headings was changed."""
_HEADING_LINE: Final = re.compile(r"^#{1,6}\s.*$", re.MULTILINE)
_HEADINGS: Final = 0.5
_TITLE: Final = 0.25
"""Bonus for sections with the same headings, or with the same innermost one."""
_CLEARLY: Final = 0.1
"""Least distance between the scores of the best match and of the second best one."""
_COMMON: Final = 10
"""Number of texts that share a pair of words, above which the pair finds no candidates."""

_Pair = tuple[str, str]
"""Two topics or two files: the old and the new one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """Numbers of sections, by file.

    Attributes:
        before: Sections that the files had at the last ingest.
        after: Sections that were found in the files.
    """

    before: Mapping[str, int]
    after: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Likeness:
    """How much two sections have in common.

    Attributes:
        is_similar: Whether their texts are similar.
        is_other_subject: Whether each text has a word of its own file name or headings that the other one lacks.
        has_same_title: Whether their innermost headings are equal.
        score: Share of equal pairs of words, with a bonus for equal headings.
    """

    is_similar: bool
    is_other_subject: bool
    has_same_title: bool
    score: float


def match_edited(
    old: Collection[str],
    new: Mapping[str, str],
    *,
    read_old: Callable[[str], str],
    moved: Mapping[str, str],
    files: Files,
) -> dict[str, str]:
    """Return the old topic of each section that was edited and moved, by its new topic.

    Args:
        old: Topics that sections have left.
        new: Texts of the sections whose place is free, by topic. A topic may also be in ``old``: then its section may
            have been edited in its place, and is left out if that is most likely.
        read_old: Returns the text of an old topic.
        moved: Old topics of the sections that were moved without an edit, by the new topic.
        files: The files.
    """
    equal = Counter((file_of(here), file_of(there)) for there, here in moved.items())
    wanted = _select(old, new, equal, files)
    old_words = {topic: _read_words(topic, read_old(topic)) for topic in wanted}
    new_words = {topic: _read_words(topic, text) for topic, text in new.items()}
    found = {
        (here, there): _compare(here, there, old_words[here], new_words[there])
        for here, there in _find_candidates(old_words, new_words)
    }
    votes = equal + _count_similar(found, files)
    for here, there in _pair_headings(wanted, new, _find_renamed(votes, files)):
        found.setdefault((here, there), _compare(here, there, old_words[here], new_words[there]))
    for pair in _find_unrelated(found):
        del votes[pair]
    renamed = _find_renamed(votes, files)
    accepted = {
        pair: likeness for pair, likeness in found.items() if _is_accepted(pair, likeness, votes, files, renamed)
    }
    return {there: here for here, there in _choose(accepted) if here != there}


def find_replaced(moved: Mapping[str, str], files: Files) -> set[str]:
    """Return files that were renamed, and whose name another renamed file has taken.

    Args:
        moved: Old topics of the sections that were moved without an edit, by the new topic.
        files: The files.
    """
    votes = Counter((file_of(here), file_of(there)) for there, here in moved.items())
    most = [
        (here, there) for (here, there), number in votes.items() if here != there and 2 * number >= files.before[here]
    ]
    return {here for here, _ in most} & {there for _, there in most}


def count_pairs(text: str) -> Counter[str]:
    """Count the pairs of successive words of a text."""
    words = _WORD.findall(text.lower())
    return Counter(f"{word} {after}" for word, after in pairwise(words))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Words:
    """The words of a section.

    Attributes:
        pairs: Pairs of successive words of the whole text.
        body: The same without lines of headings.
        words: Words of the text without lines of headings.
        names: Words of the name of the file and of the headings.
    """

    pairs: Counter[str]
    body: Counter[str]
    words: frozenset[str]
    names: frozenset[str]


def _read_words(topic: str, text: str) -> _Words:
    body = _HEADING_LINE.sub("", text)
    names = f"{PurePosixPath(file_of(topic)).stem} {headings_of(topic)}".replace("_", " ")
    return _Words(
        pairs=count_pairs(text),
        body=count_pairs(body),
        words=frozenset(_WORD.findall(body.lower())),
        names=frozenset(_WORD.findall(names.lower())),
    )


def _select(old: Iterable[str], new: Iterable[str], equal: Mapping[_Pair, int], files: Files) -> list[str]:
    """Return the old topics that may be one of the new ones, so that the text of no other is read."""
    there = {file_of(topic) for topic in new}
    headings = {headings_of(topic) for topic in new}
    has_single = any(files.after.get(file) == 1 for file in there)
    near = there | {before for before, after in equal if after in there}
    return [
        topic
        for topic in old
        if file_of(topic) in near
        or headings_of(topic) in headings
        or (has_single and files.before.get(file_of(topic)) == 1)
    ]


def _find_candidates(old: Mapping[str, _Words], new: Mapping[str, _Words]) -> Iterator[_Pair]:
    """Yield pairs of topics whose texts share a pair of words that few texts have."""
    having: dict[str, list[str]] = defaultdict(list)
    for topic, words in old.items():
        for pair in words.pairs:
            having[pair].append(topic)
    for there, words in new.items():
        near = {here for pair in words.pairs if len(having.get(pair, ())) <= _COMMON for here in having.get(pair, ())}
        yield from ((here, there) for here in sorted(near))


def _compare(here: str, there: str, old: _Words, new: _Words) -> _Likeness:
    shared = (old.pairs & new.pairs).total()
    similarity = 2 * shared / max(1, old.pairs.total() + new.pairs.total())
    has_same_headings = headings_of(here) == headings_of(there)
    has_same_title = title_of(here) == title_of(there)
    is_named_alike = has_same_title and (title_of(here) != "" or file_of(here) == file_of(there))
    is_enough = shared >= _LEAST_PAIRS if is_named_alike else (old.body & new.body).total() >= _LEAST_RENAMED
    before, after = old.words - new.words, new.words - old.words
    is_other_subject = not before.isdisjoint(old.names - new.names) and not after.isdisjoint(new.names - old.names)
    return _Likeness(
        is_similar=is_enough and similarity >= _SIMILAR and not is_other_subject,
        is_other_subject=is_other_subject,
        has_same_title=has_same_title,
        score=similarity + (_HEADINGS if has_same_headings else _TITLE if has_same_title else 0),
    )


def _count_similar(found: Mapping[_Pair, _Likeness], files: Files) -> Counter[_Pair]:
    """Count for two files the sections that are similar and have the same title, or are alone in their file."""
    here: dict[_Pair, set[str]] = defaultdict(set)
    there: dict[_Pair, set[str]] = defaultdict(set)
    for (old, new), likeness in found.items():
        pair = file_of(old), file_of(new)
        is_single = files.before.get(pair[0]) == files.after.get(pair[1]) == 1
        if likeness.is_similar and (likeness.has_same_title or is_single):
            here[pair].add(old)
            there[pair].add(new)
    return Counter({pair: min(len(here[pair]), len(there[pair])) for pair in here})


def _find_unrelated(found: Mapping[_Pair, _Likeness]) -> set[_Pair]:
    """Return pairs of files that are about different subjects, because sections with the same headings are."""
    return {
        (file_of(here), file_of(there))
        for (here, there), likeness in found.items()
        if likeness.is_other_subject and headings_of(here) == headings_of(there)
    }


def _find_renamed(votes: Mapping[_Pair, int], files: Files) -> dict[str, str]:
    """Return the new name of each renamed file, by its old name.

    A file was renamed if most of its sections are in one other file, and its old name is free or was taken by another
    renamed file.
    """
    most: dict[str, list[str]] = defaultdict(list)
    for (before, after), number in votes.items():
        if before != after and 2 * number > files.before.get(before, 0):
            most[before].append(after)
    taken = {after for ones in most.values() for after in ones}
    return {
        before: ones[0]
        for before, ones in most.items()
        if len(ones) == 1 and (before in taken or before not in files.after)
    }


def _pair_headings(old: Iterable[str], new: Iterable[str], renamed: Mapping[str, str]) -> Iterator[_Pair]:
    """Yield pairs of topics in renamed files whose headings are equal and occur once on each side."""
    left: dict[_Pair, list[str]] = defaultdict(list)
    for topic in old:
        if (file := renamed.get(file_of(topic))) is not None:
            left[file, headings_of(topic)].append(topic)
    found: dict[_Pair, list[str]] = defaultdict(list)
    for topic in new:
        found[file_of(topic), headings_of(topic)].append(topic)
    yield from ((left[key][0], found[key][0]) for key in left if len(left[key]) == len(found.get(key, ())) == 1)


def _is_accepted(
    pair: _Pair, likeness: _Likeness, votes: Mapping[_Pair, int], files: Files, renamed: Mapping[str, str]
) -> bool:
    before, after = (file_of(topic) for topic in pair)
    if renamed.get(before) == after and headings_of(pair[0]) == headings_of(pair[1]):
        return not likeness.is_other_subject
    smaller = min(files.before.get(before, 0), files.after.get(after, 0))
    return likeness.is_similar and (before == after or 2 * votes.get((before, after), 0) >= smaller)


def _choose(accepted: Mapping[_Pair, _Likeness]) -> list[_Pair]:
    """Return the pairs of which each section is clearly the best match of the other, among those that are left."""
    chosen: list[_Pair] = []
    left = dict(accepted)
    while best := _find_best(left, 0) & _find_best(left, 1):
        chosen += sorted(best)
        old, new = {here for here, _ in best}, {there for _, there in best}
        left = {pair: one for pair, one in left.items() if pair[0] not in old and pair[1] not in new}
    return chosen


def _find_best(pairs: Mapping[_Pair, _Likeness], side: int) -> set[_Pair]:
    """Return for each section of one side its best match, unless another one is about as good."""
    by_section: dict[str, list[_Pair]] = defaultdict(list)
    for pair in pairs:
        by_section[pair[side]].append(pair)
    best = set()
    for ones in by_section.values():
        first, *others = sorted(ones, key=lambda pair: pairs[pair].score, reverse=True)
        if not others or pairs[first].score >= pairs[others[0]].score + _CLEARLY:
            best.add(first)
    return best
