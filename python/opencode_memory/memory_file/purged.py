"""Takes purged memories out of the memory files that this store has written, before the next synchronization does.

Only bullets and notes with a purged text are removed. All else stays as it is. The fingerprint of the managed part
stays too, so that pending edits of the user are still found and count as theirs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from opencode_memory.errors import ConflictError, StorageError
from opencode_memory.memory_file import disk
from opencode_memory.memory_file.bullet import Bullet, has_mark
from opencode_memory.memory_file.bullet_text import render_note, render_text
from opencode_memory.memory_file.disk import RELATIVE
from opencode_memory.memory_file.frame import read_frame
from opencode_memory.memory_file.git_state import versions
from opencode_memory.memory_file.last_written import list_written
from opencode_memory.memory_file.part import read_part
from opencode_memory.projects.identity import find_repository, real

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

_END_OF_NOTE: Final = ")*"
_BEFORE: Final = "; before: "
"""What may follow a quotation of what was said later."""


@dataclass(frozen=True, slots=True)
class CleanedFiles:
    """What became of the memory files.

    Attributes:
        changed: The files from which a text was removed.
        problems: What still holds a text, or may hold it, each as a sentence without its period.
    """

    changed: tuple[Path, ...]
    problems: tuple[str, ...]


@dataclass(slots=True)
class _Cleaned:
    """A managed part without the purged texts.

    Attributes:
        lines: Its lines.
        removed: The changed and removed lines.
        edited: Whether a bullet of a purged memory has a text by another author.
    """

    lines: list[str]
    removed: list[str] = field(default_factory=list)
    edited: bool = False


def take_out(
    store: MemoryStore, purged: Mapping[str, Iterable[str]], *, at: datetime, environment: Mapping[str, str]
) -> CleanedFiles:
    """Remove the bullets of purged memories, and the notes behind other bullets that quote them.

    Args:
        store: The store.
        purged: All texts that each purged memory ever had, by its full id.
        at: The current time.
        environment: Environment of the calling process, for git.
    """
    changed: list[Path] = []
    problems: list[str] = []
    for work_tree in dict(list_written(store)):
        path = work_tree / RELATIVE
        try:
            found = disk.read(work_tree)
            frame = None if found is None else read_frame(found.data)
            if frame is None or frame.body is None:
                continue
            cleaned = _clean(frame.body, purged)
            if cleaned.removed:
                disk.write(work_tree, frame.with_edited_body(cleaned.lines), before=found, at=at)
        except (ConflictError, StorageError) as error:
            problems.append(f"{path} may hold the text: {error}")
            continue
        if cleaned.removed:
            changed.append(path)
            if _is_in_git(work_tree, cleaned.removed, environment):
                problems.append(
                    f"git may still have {path}: commit its change; earlier commits and other clones keep the text "
                    "until you rewrite the history"
                )
        if cleaned.edited:
            problems.append(f"{path} has a bullet that belongs to it and has another text; delete the bullet yourself")
    return CleanedFiles(tuple(changed), tuple(problems))


def _clean(body: Sequence[str], purged: Mapping[str, Iterable[str]]) -> _Cleaned:
    texts = {text for ones in purged.values() for text in ones}
    shown = {render_text(text).text for text in texts}
    quotes = [quote for text in texts for quote in _find_quotes(text)]
    cleaned = _Cleaned([])
    at = 0
    for bullet in read_part(body).bullets:
        if not _belongs(bullet, purged):
            continue
        if not bullet.is_untouched and bullet.text not in shown:
            cleaned.edited = True
            continue
        start = _find_lines(body, bullet.lines, at)
        cleaned.lines += body[at:start]
        cleaned.removed += bullet.lines
        at = start + len(bullet.lines)
    cleaned.lines += body[at:]
    for number, line in enumerate(cleaned.lines):
        if has_mark(line) and (plain := _without_quotes(line, quotes)) != line:
            cleaned.lines[number] = plain
            cleaned.removed.append(line)
    return cleaned


def _belongs(bullet: Bullet, purged: Iterable[str]) -> bool:
    """Return whether the mark of a bullet names a purged memory, by the end of its id."""
    mark = bullet.mark
    return mark is not None and any(id_.endswith(mark.id) for id_ in purged)


def _find_lines(body: Sequence[str], lines: Sequence[str], start: int) -> int:
    return next(at for at in range(start, len(body)) if tuple(body[at : at + len(lines)]) == tuple(lines))


def _find_quotes(text: str) -> Iterator[tuple[str, str]]:
    """Yield each way in which a note quotes a text, with what replaces it; none if no part of the text is visible."""
    for note in (render_note(date.min, text), render_note(date.min, later=text)):
        _, separator, said = note.partition("; ")
        if separator:
            quote = separator + said.removesuffix(_END_OF_NOTE)
            yield from ((quote + end, end) for end in (_END_OF_NOTE, _BEFORE))


def _without_quotes(line: str, quotes: Iterable[tuple[str, str]]) -> str:
    for quote, end in quotes:
        line = line.replace(quote, end)
    return line


def _is_in_git(work_tree: Path, lines: Sequence[str], environment: Mapping[str, str]) -> bool:
    """Return whether git has a version with one of the lines, or cannot tell."""
    repository = find_repository(work_tree)
    if repository is None:
        return False
    path = real(work_tree) / RELATIVE
    if not path.is_relative_to(repository.work_tree):
        return True
    known = versions(repository, path.relative_to(repository.work_tree).as_posix(), environment=environment)
    return known is None or any(line.encode() in data for line in lines for data in known)
