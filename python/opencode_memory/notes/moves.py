"""Matching of sections that were moved: their file or a heading was renamed, and their text is the same.

The functions are pure. A text that occurs once on both sides is matched first. The same text in several sections is
matched with the nearest one: in the same file under the same headings, then in the file that most sections of the old
file moved to, and so on. Sections that are far apart are matched only if their text is surely of one section.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Final

from opencode_memory.notes.note_memories import file_of
from opencode_memory.text.section_mark import headings_of, title_of

_ROUNDS: Final = 5
"""Rounds of a match. Each finds the sections whose place was taken by one that the round before has matched."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OldPlace:
    """A place where a section with this text is no more.

    Attributes:
        topic: Topic of the section's memory.
        text: Hash of the section's text.
        is_fresh: Whether the section may have left the place just now, and not before an earlier ingest.
        is_taken: Whether a section with another text is at the place, which may be an edit of this one.
        rank: Order among sections that are equally near, the lowest first.
    """

    topic: str
    text: str
    is_fresh: bool = True
    is_taken: bool = False
    rank: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPlace:
    """A place where a section with this text was found, and was not before.

    Attributes:
        topic: Topic of the section.
        text: Hash of its text.
        is_taken: Whether a memory has the place whose section had another text, so this may be an edit of it.
    """

    topic: str
    text: str
    is_taken: bool = False


@dataclass(frozen=True, slots=True)
class _Step:
    """One step of the match: sections with the same text and equal keys are near each other.

    Attributes:
        old_key: Returns the key of an old topic; None if it has none.
        new_key: Returns the key of a new topic.
        is_near: Whether the key is so specific that short texts may be matched in any case.
        is_repeated: Whether the key is that of repeated headings, which move when one of them is inserted or removed.
        is_unique: Whether the key must occur once on each side.
        needs_long: Whether only long texts are matched.
    """

    old_key: Callable[[str], Hashable]
    new_key: Callable[[str], Hashable]
    is_near: bool = False
    is_repeated: bool = False
    is_unique: bool = False
    needs_long: bool = False

    def accepts_old(self, place: OldPlace, *, is_long: bool) -> bool:
        """Return whether a section that was at a place may be matched in this step."""
        if (place.is_taken and not self.is_repeated) or (self.needs_long and not is_long):
            return False
        return self.is_near or place.is_fresh or is_long

    def accepts_new(self, place: NewPlace, *, is_long: bool) -> bool:
        """Return whether a section that is at a place may be matched in this step."""
        return self.is_near or not place.is_taken or is_long


def match_sections(
    old: Sequence[OldPlace], new: Sequence[NewPlace], *, is_long: Callable[[str], bool]
) -> dict[str, str]:
    """Return the old topic of each section that was moved, by its new topic.

    Args:
        old: Places that sections have left, in the order of the notes.
        new: Places where sections were found, in the order of the notes.
        is_long: Returns from the hash of a text whether it is so long that sections with it are surely the same one.
    """
    matched: dict[str, str] = {}
    for is_fresh in (True, False):
        for _ in range(_ROUNDS):
            before = len(matched)
            _match_round([place for place in old if place.is_fresh or not is_fresh], new, matched, is_long)
            if len(matched) == before:
                break
            # A section that is now at such a place is another one, so the former one may be anywhere.
            old = [replace(place, is_taken=place.is_taken and place.topic not in matched) for place in old]
    return matched


def _match_round(
    old: Iterable[OldPlace], new: Iterable[NewPlace], matched: dict[str, str], is_long: Callable[[str], bool]
) -> None:
    """Add the matches of one round, the nearest first."""
    files = _find_renamed_files(matched)
    for step in _list_steps(files):
        taken = set(matched.values())
        left = [place for place in old if place.topic not in taken]
        found = [place for place in new if place.topic not in matched]
        matched.update(_match_near(left, found, step, is_long))
        files.update(_find_renamed_files(matched) if step.is_unique else {})


def _list_steps(files: Mapping[str, str]) -> Iterator[_Step]:
    """Yield the steps of a round.

    Args:
        files: The new file of each old one that was renamed. A step may add to it.
    """

    def with_headings(topic: str) -> Hashable:
        return file_of(topic), headings_of(topic)

    def with_headings_in_renamed(topic: str) -> Hashable:
        return (files[file_of(topic)], headings_of(topic)) if file_of(topic) in files else None

    def with_name(topic: str) -> Hashable:
        return PurePosixPath(file_of(topic)).name, headings_of(topic)

    def with_title(topic: str) -> Hashable:
        return file_of(topic), title_of(topic)

    yield _Step(with_headings, with_headings, is_near=True, is_repeated=True)
    yield _Step(headings_of, headings_of, is_near=True, is_unique=True)
    yield _Step(with_headings_in_renamed, with_headings, is_near=True)
    yield _Step(with_name, with_name, is_near=True)
    yield _Step(headings_of, headings_of, is_near=True)
    yield _Step(with_title, with_title)
    yield _Step(file_of, file_of)
    yield _Step(lambda topic: files.get(file_of(topic)), file_of)
    yield _Step(title_of, title_of, is_unique=True)
    yield _Step(lambda _: "", lambda _: "", is_unique=True, needs_long=True)


def _match_near(
    old: Iterable[OldPlace], new: Iterable[NewPlace], step: _Step, is_long: Callable[[str], bool]
) -> Iterator[tuple[str, str]]:
    """Yield the new and the old topic of sections that a step matches, in order."""
    left: dict[Hashable, list[OldPlace]] = defaultdict(list)
    for here in old:
        key = step.old_key(here.topic)
        if key is not None and step.accepts_old(here, is_long=is_long(here.text)):
            left[here.text, key].append(here)
    found: dict[Hashable, list[NewPlace]] = defaultdict(list)
    for there in new:
        if step.accepts_new(there, is_long=is_long(there.text)):
            found[there.text, step.new_key(there.topic)].append(there)
    for key, places in found.items():
        if key in left and (not step.is_unique or len(places) == len(left[key]) == 1):
            ranked = sorted(left[key], key=lambda place: place.rank)
            yield from ((there.topic, here.topic) for here, there in zip(ranked, places, strict=False))


def _find_renamed_files(matched: Mapping[str, str]) -> dict[str, str]:
    """Return for each file the one that most of its sections moved to."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for new, old in matched.items():
        counts[file_of(old)][file_of(new)] += 1
    return {file: count.most_common(1)[0][0] for file, count in counts.items()}
