"""Judgements of memories by readers: the sample to judge, precision with intervals, and the agreement of two readers.

A judgement is a JSON line with the ``id`` or the ``content`` of a memory, a ``label`` (``useful``, ``partly`` or
``noise``) and ``hinders``: whether the memory is a standing order that would hinder other work.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from opencode_memory.models import Status

from ..conversations import DataError
from .data import PERSON, Message, Session, Transcripts
from .figures import JUDGEMENTS
from .intervals import Share
from .matching import norm
from .stored import SPEAKERS, StoredMemory

MOST: Final = 150
"""Maximum number of memories of one speaker in a sample."""
SEED: Final = 1
USEFUL, PARTLY, NOISE = JUDGEMENTS
_MESSAGE: Final = 4000
_CONTEXT: Final = 1200


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a reader thinks of a memory. ``said_by`` is ``people`` or ``agents``."""

    key: str
    said_by: str
    label: str
    hinders: bool
    rule: str = ""


@dataclass(frozen=True, slots=True)
class Precision:
    """Judged memories of one speaker: useful ones, useful or partly useful ones, and those that hinder."""

    useful: Share
    lenient: Share
    hinders: int


@dataclass(frozen=True, slots=True)
class Agreement:
    """Comparison of two readers.

    Attributes:
        both: Number of memories that both judged.
        differ: Share of these with different labels.
        kappa: Cohen's kappa of the three labels: 1 is full agreement, 0 is chance.
        only_one: Number of memories that only one of them judged.
    """

    both: int
    differ: Share
    kappa: float
    only_one: int


def choose(memories: Iterable[StoredMemory], known: Iterable[str], said_by: str) -> list[StoredMemory]:
    """Return the active memories of a speaker to judge: all, or ``MOST`` at random with a fixed seed.

    Args:
        memories: All memories of a run.
        known: Texts that were judged before; they are left out.
        said_by: ``people`` or ``agents``.
    """
    left_out = {norm(text) for text in known}
    # Ids are random, so the order must come from what is said. Otherwise each run would draw another sample.
    found = sorted(
        (
            memory
            for memory in memories
            if memory.status is Status.ACTIVE
            and not memory.is_summary
            and memory.said_by == said_by
            and norm(memory.content) not in left_out
        ),
        key=lambda memory: (memory.session or "", memory.message or "", memory.content),
    )
    random.Random(SEED).shuffle(found)
    return found[:MOST]


def write_sample(path: Path, memories: Iterable[StoredMemory], transcripts: Transcripts) -> None:
    """Write memories with their message and its context, as JSON lines with an empty judgement."""
    sessions = {session.id: session for session in transcripts.sessions}
    with path.open("w", encoding="utf-8") as lines:
        for memory in memories:
            fields = {
                "id": memory.id,
                "said_by": memory.said_by,
                "category": memory.category,
                "rule": memory.rule,
                "content": memory.content,
                "evidence": memory.evidence,
                "session": memory.session,
                "message": memory.message,
                "context": _context(sessions.get(memory.session or ""), memory.message),
                "label": "",
                "hinders": False,
            }
            lines.write(json.dumps(fields, ensure_ascii=False) + "\n")


def read_judgements(path: Path, sampled: Mapping[str, Mapping[str, Any]]) -> dict[str, Judgement]:
    """Read the judgements of one reader, by key: the normal form of the content, or the id.

    Args:
        path: JSON lines.
        sampled: Lines of the sample by id and by content, which complete what a judgement leaves out.

    Raises:
        DataError: A line is not a judgement.
    """
    judgements = {}
    for number, found in read_lines(path):
        content = norm(str(found.get("content", "")))
        given_id = str(found.get("id", ""))
        place = f"{path}, line {number}"
        if not (given_id or content):
            raise DataError(f"{place}: needs `id` or `content`")
        whole = {**sampled.get(content, {}), **sampled.get(given_id, {}), **found}
        if whole.get("label") not in JUDGEMENTS:
            raise DataError(f"{place}: `label` must be one of {', '.join(JUDGEMENTS)}, not {whole.get('label')!r}")
        if whole.get("said_by") not in SPEAKERS:
            raise DataError(f"{place}: `said_by` must be one of {', '.join(SPEAKERS)}; give it, or --work of the run")
        key = norm(str(whole.get("content", ""))) or given_id
        judgements[key] = Judgement(
            key, whole["said_by"], whole["label"], bool(whole.get("hinders", False)), str(whole.get("rule", ""))
        )
    return judgements


def index_sample(lines: Iterable[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Return lines of a sample by id and by normal form of the content, without their empty judgements."""
    index: dict[str, Mapping[str, Any]] = {}
    for line in lines:
        fields = {name: value for name, value in line.items() if name not in {"label", "hinders"}}
        index[str(line["id"])] = index[norm(str(line["content"]))] = fields
    return index


def read_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Read JSON objects, one per line, with the numbers of their lines.

    Raises:
        DataError: The file is missing, or a line is not a JSON object.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise DataError(f"{path} does not exist") from error
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                found = json.loads(line)
            except ValueError as error:
                raise DataError(f"{path}, line {number}: not JSON: {error}") from error
            if not isinstance(found, dict):
                raise DataError(f"{path}, line {number}: not a JSON object")
            yield number, found


def measure_precision(judgements: Iterable[Judgement]) -> Precision:
    """Return the shares of useful memories, strict and lenient."""
    judged = list(judgements)
    labels = Counter(judgement.label for judgement in judged)
    return Precision(
        useful=Share(labels[USEFUL], len(judged)),
        lenient=Share(labels[USEFUL] + labels[PARTLY], len(judged)),
        hinders=sum(judgement.hinders for judgement in judged),
    )


def compare_readers(first: Mapping[str, Judgement], second: Mapping[str, Judgement]) -> Agreement:
    """Compare the labels of two readers."""
    pairs = [(first[key].label, second[key].label) for key in first if key in second]
    return Agreement(
        both=len(pairs),
        differ=Share(sum(one != other for one, other in pairs), len(pairs)),
        kappa=cohens_kappa(pairs),
        only_one=len(first.keys() ^ second.keys()),
    )


def cohens_kappa(pairs: Sequence[tuple[str, str]]) -> float:
    """Return the agreement of two readers beyond chance; 1 if both always give the same single label.

    Raises:
        ValueError: There are no pairs.
    """
    if not pairs:
        raise ValueError("no memory was judged by both readers")
    total = len(pairs)
    observed = sum(one == other for one, other in pairs) / total
    firsts, seconds = Counter(one for one, _ in pairs), Counter(other for _, other in pairs)
    expected = sum(firsts[label] * seconds[label] for label in firsts) / total**2
    return 1.0 if expected == 1 else (observed - expected) / (1 - expected)


def _context(session: Session | None, message: str | None) -> dict[str, str]:
    messages = session.messages if session is not None else ()
    place = next((number for number, found in enumerate(messages) if found.id == message), None)
    if place is None:
        return {}
    earlier, later = messages[:place], messages[place + 1 :]
    return {
        "person_before": _shorten(next((found for found in reversed(earlier) if found.role == PERSON), None)),
        "agent_before": _shorten(
            next((found for found in reversed(earlier) if found.role != PERSON and found.text), None)
        ),
        "text": messages[place].text[:_MESSAGE],
        "person_after": _shorten(next((found for found in later if found.role == PERSON), None)),
    }


def _shorten(message: Message | None) -> str:
    """Return the end of a message, because the question that the next message answers is there."""
    return message.text[-_CONTEXT:] if message is not None else ""
