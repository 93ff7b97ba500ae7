"""Rejections: a learned statement that the user deleted, archived, rejected or reworded is not learned again.

A rejection is kept as marks, which are hashes, so it survives a purge without keeping the text. The marks cover the
statement and the sentence that it was learned from, also if a later wording has one word more or less. A negation and a
number are never the word that may differ, and another word in its place makes another statement: after "Use npm" was
rejected, "Use pnpm" and "Do not use npm" are still learned. ``undo`` and a restoration withdraw the marks.

The section of a note whose memory the user deleted is not read again either, until its text changes. If the file or a
heading was renamed, the section is recognised by its text.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from opencode_memory._core import terms
from opencode_memory.errors import ConflictError, NotFoundError, OpencodeMemoryError
from opencode_memory.learning.extraction.candidate import Candidate
from opencode_memory.learning.session_writes import retry
from opencode_memory.models import INGEST, HistoryEntry, Memory, Operation, Trust
from opencode_memory.store.learning_state import Batch
from opencode_memory.text.section_mark import hash_parts, headings_of, is_long, read_mark

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

_SETTLED: Final = "settled by a person"
_MARK: Final = "settled:"
_DIGITS: Final = 24
_NEGATION: Final = re.compile(r"\b(?:not|never|no|without|nor|avoid|stop|dont|cannot|\w+n['\u2019]t)\b", re.IGNORECASE)
_FIXED: Final = re.compile(r"never|without|avoid|stop|only|.*\d.*")
_SMALL: Final = re.compile(r"alway|pleas|every|each|user|project|repo|repositori|codebas|want|prefer|should|must|now")
"""Terms that a rewording adds or leaves out without changing what is said."""
_PUTS_AWAY: Final = ("archive", "delete")
"""Kinds of changes with which the user rejects a memory."""
_LEAST_TERMS: Final = 2
_LEAST_OF_SHORTENED: Final = 3
_MOST_TERMS: Final = 24
_ONE_STATEMENT: Final = ("session:", "learned:blocker", "learned:solution:", "learned:procedure:")
"""Beginnings of topics that name one statement. Other topics name a subject, of which something else may be said."""


def is_rejected(store: MemoryStore, candidate: Candidate, project: str | None) -> bool:
    """Return whether the user has rejected a statement, in a project or globally.

    Args:
        store: The store with the rejections.
        candidate: The statement.
        project: The project of the session; None if it has none.
    """
    marks = [
        *_old_marks(candidate.topic, candidate.normal_form),
        *_marks_to_find((candidate.content, candidate.evidence)),
    ]
    places = dict.fromkeys((project, None))
    return bool(marks) and any(any(store.learning.seen_elsewhere(place, marks, "")) for place in places)


def are_sections_rejected(store: MemoryStore, sections: Sequence[tuple[str, str]], project: str | None) -> list[bool]:
    """Return for each section of notes whether the user has deleted its memory.

    Args:
        store: The store with the rejections.
        sections: Topic and fingerprint of each section.
        project: The project of the notes; None for global ones.
    """
    return [
        bool(seen) for seen in store.learning.seen_elsewhere(project, [_name_section(*one) for one in sections], "")
    ]


def are_texts_rejected(
    store: MemoryStore, sections: Sequence[tuple[str, Mapping[str, Any]]], project: str | None
) -> list[bool]:
    """Return for each section of notes whether the user has deleted the memory of a section with the same text.

    Args:
        store: The store with the rejections.
        sections: Topic of each section, and the metadata with its mark.
        project: The project of the notes; None for global ones.
    """
    marks = [name_texts(topic, metadata) for topic, metadata in sections]
    names = list(dict.fromkeys(chain.from_iterable(marks)))
    seen = {name for name, times in zip(names, store.learning.seen_elsewhere(project, names, ""), strict=True) if times}
    return [not seen.isdisjoint(names) for names in marks]


def name_texts(topic: str, metadata: Mapping[str, Any]) -> list[str]:
    """Return the marks of a section's text, which stay the same if its file is renamed.

    A short text is the same only under the same headings, because other sections may well have it too.
    """
    mark = read_mark(metadata)
    texts: list[tuple[str, ...]] = [("text", mark.fingerprint)] if mark.fingerprint else []
    if mark.body:
        texts.append(("body", headings_of(topic), mark.body))
    if is_long(mark.body):
        texts.append(("body", mark.body))
    return [f"{_MARK}moved:{hash_parts(*text)[:_DIGITS]}" for text in texts]


def record_rejection(store: MemoryStore, *memories: Memory) -> None:
    """Record that the user rejected memories. Only those matter that were learned, or read from a note.

    Raises:
        BusyError: Other processes record rejections all the time.
    """
    _note(store, memories, times=1)


def withdraw_rejection(store: MemoryStore, *memories: Memory) -> None:
    """Withdraw the rejection of memories that the user brings back, so that the same statement may be learned again.

    Another rejection of the same statement stays. Memories without a rejection are left as they are.

    Raises:
        BusyError: Other processes record rejections all the time.
    """
    _note(store, memories, times=-1)


def undo(
    store: MemoryStore, ids: str | Sequence[str] | None = None, *, operation: int | None = None
) -> list[HistoryEntry]:
    """Undo a change of memories, and withdraw the rejection if the change put a learned memory away.

    Arguments, result and errors are those of ``MemoryStore.undo``.
    """
    undone = store.undo(ids, operation=operation)
    _withdraw_undone(store, undone)
    return undone


def undo_operation(store: MemoryStore, operation: int) -> list[HistoryEntry]:
    """Undo an operation, and withdraw the rejections of learned memories that it put away.

    Arguments, result and errors are those of ``Operations.undo``.
    """
    undone = store.operations.undo(operation)
    _withdraw_undone(store, undone)
    return undone


def redo_operation(store: MemoryStore, operation: Operation) -> list[HistoryEntry]:
    """Bring an undone operation back, and reject again what it puts away.

    Result and errors are those of ``Operations.redo``.
    """
    redone = store.operations.redo(operation.operation)
    if operation.actor is not Trust.EXTRACTED and any(_puts_away(kind) for kind, _ in operation.kinds):
        _reject_redone(store, redone)
    return redone


def redo_of_memory(store: MemoryStore, id: str, operation: int) -> list[HistoryEntry]:
    """Redo the change that an operation made to one memory. If it puts the memory away, reject its statement again.

    Result and errors are those of ``Operations.redo``.
    """
    changes = [change for change in store.history(id) if change.operation == operation]
    redone = store.operations.redo(operation, id=id)
    if any(change.actor is not Trust.EXTRACTED and _puts_away(change.kind) for change in changes):
        _reject_redone(store, redone)
    return redone


def _puts_away(kind: str) -> bool:
    return kind.split(":", maxsplit=1)[0] in _PUTS_AWAY


def _reject_redone(store: MemoryStore, redone: Iterable[HistoryEntry]) -> None:
    # The last change of each is the redo itself, which knows the memory that it put away.
    before = (store.history(change.id)[-1].before for change in redone)
    record_rejection(store, *(memory for memory in before if memory is not None))


def _withdraw_undone(store: MemoryStore, undone: Iterable[HistoryEntry]) -> None:
    withdraw_rejection(
        store,
        *(
            change.before
            for change in undone
            if change.before is not None and _puts_away(change.kind) and change.actor is not Trust.EXTRACTED
        ),
    )


def _note(store: MemoryStore, memories: Iterable[Memory], *, times: int) -> None:
    sightings = [(memory.project, mark, times) for memory in memories for mark in _marks_of(memory)]
    if not sightings:
        return

    def write() -> None:
        version, state = store.learning.open(_SETTLED)
        store.learning.write(Batch(session=_SETTLED, version=version, state=state, sightings=sightings))

    retry(write, busy="the rejection could not be recorded, because other processes record rejections; try again")


@contextmanager
def rejecting(store: MemoryStore, ids: Iterable[str]) -> Iterator[None]:
    """Record rejections of memories that the block archives, deletes or purges; unknown ids are left out.

    They are recorded before the block. If the process dies in between, the memory is still there and can be put away
    again; in the other order, its statement would be learned again. If the block fails, the rejections of memories that
    it left as they were are withdrawn. Otherwise an ``undo`` of the next attempt would leave one.

    Raises:
        BusyError: Other processes record rejections all the time.
    """
    found = list(_get_known(store, ids))
    record_rejection(store, *found)
    try:
        yield
    except BaseException as error:
        try:
            same = {memory.id: memory.status for memory in _get_known(store, [memory.id for memory in found])}
            withdraw_rejection(store, *(memory for memory in found if same.get(memory.id) is memory.status))
        except OpencodeMemoryError as second:
            error.add_note(f"a rejection stays, because it could not be withdrawn: {second}")
        raise


def _get_known(store: MemoryStore, ids: Iterable[str]) -> Iterator[Memory]:
    for id_ in ids:
        with suppress(NotFoundError, ConflictError):  # The operation itself reports an unknown or ambiguous id.
            yield store.get(id_)


def _marks_of(memory: Memory) -> list[str]:
    marks = _marks_of_statement(memory) if memory.is_learned else []
    if isinstance(memory.metadata.get(INGEST), dict) and memory.topic is not None:
        marks.append(_name_section(memory.topic, read_mark(memory.metadata).fingerprint))
        marks += name_texts(memory.topic, memory.metadata)
    return marks


def _marks_of_statement(memory: Memory) -> list[str]:
    evidence = memory.metadata.get("evidence")
    texts = [memory.content, *([evidence] if isinstance(evidence, str) else [])]
    # The normal form ignores negations, so it is only looked for, in the rejections of earlier versions.
    marks = _old_marks(memory.topic, None)
    for words in map(_split, texts):
        if len(words) >= _LEAST_TERMS:
            marks.append(_name("whole", words))
            marks += [_name("part", part) for part in _shorten(words)]
    return list(dict.fromkeys(marks))


def _marks_to_find(texts: Iterable[str]) -> Iterator[str]:
    for words in map(_split, texts):
        if len(words) >= _LEAST_TERMS:
            yield _name("whole", words)
            yield _name("part", words)
            for part in _shorten(words):
                yield _name("whole", part)


def _old_marks(topic: str | None, normal_form: str | None) -> list[str]:
    """Return the marks of a topic that names one statement, and of the normal form."""
    named = topic if topic is not None and topic.startswith(_ONE_STATEMENT) else None
    return [f"{_MARK}{form}" for form in (named, normal_form) if form is not None]


def _split(text: str) -> frozenset[str]:
    """Return the terms of a text, and a sign for its negation. Their order does not count."""
    found = {term for term in terms(text)[0][:_MOST_TERMS] if not _SMALL.fullmatch(term)}
    return frozenset(found | ({"!"} if _NEGATION.search(text) else set()))


def _shorten(words: frozenset[str]) -> Iterator[frozenset[str]]:
    """Yield the terms without each one that may be left out."""
    if len(words) > _LEAST_OF_SHORTENED:
        for word in words:
            if word != "!" and not _FIXED.fullmatch(word):
                yield words - {word}


def _name_section(topic: str, fingerprint: str) -> str:
    section = f"{topic}\0{fingerprint}".encode(errors="surrogatepass")
    return f"{_MARK}section:{hashlib.blake2b(section, digest_size=12).hexdigest()}"


def _name(kind: str, words: frozenset[str]) -> str:
    digest = hashlib.blake2b(" ".join(sorted(words)).encode(), digest_size=12).hexdigest()
    return f"{_MARK}{kind}:{digest}"
