"""Results of the questions and their file format: one JSON object per line, in the order of the set.

The file contains no times and no ids that change from run to run, so the same engine writes the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .conversations import Conversation, DataError, Question
from .metrics import EMPTY, RankedTurn, measure


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """A question, its answer, and the metrics of the answer.

    Attributes:
        set: Name of the question set.
        conversation: Id of the conversation that was asked.
        question: Id of the question.
        category: Its category.
        text: The question.
        is_answerable: Whether the conversation contains an answer.
        turns: Ids of the turns that contain the answer, sorted.
        sessions: Ids of the sessions that contain it, sorted.
        hits: Hits, best first.
        metrics: Each of ``metrics.METRICS``; only ``metrics.EMPTY`` for a question without an answer; empty if the set
            does not name the place of the answer.
    """

    set: str
    conversation: str
    question: str
    category: str
    text: str
    is_answerable: bool
    turns: tuple[str, ...]
    sessions: tuple[str, ...]
    hits: tuple[RankedTurn, ...]
    metrics: dict[str, float]

    @property
    def key(self) -> tuple[str, str, str]:
        """Key that identifies the same question in another run."""
        return (self.set, self.conversation, self.question)


def judged(set_: str, conversation: Conversation, question: Question, hits: tuple[RankedTurn, ...]) -> QuestionResult:
    """Judge an answer."""
    if not question.is_answerable:
        metrics = {EMPTY: float(not hits)}
    elif question.sessions:
        metrics = measure(hits, question.turns, question.sessions)
    else:
        metrics = {}
    return QuestionResult(
        set=set_,
        conversation=conversation.id,
        question=question.id,
        category=question.category,
        text=question.text,
        is_answerable=question.is_answerable,
        turns=tuple(sorted(question.turns)),
        sessions=tuple(sorted(question.sessions)),
        hits=hits,
        metrics=metrics,
    )


def write_results(path: Path, results: Iterable[QuestionResult]) -> None:
    """Write results, one per line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as lines:
        lines.writelines(json.dumps(_fields(result), ensure_ascii=False) + "\n" for result in results)


def read_results(path: Path) -> list[QuestionResult]:
    """Read results back.

    Raises:
        DataError: The file does not exist, or a line is not a result.
    """
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except FileNotFoundError as error:
        raise DataError(f"{path} is not there") from error
    results = []
    for number, line in enumerate(lines, 1):
        if line:
            try:
                results.append(_result(json.loads(line)))
            except (TypeError, ValueError, KeyError) as error:
                raise DataError(f"{path}, line {number}: not a result of benches.quality.run: {error!r}") from error
    return results


def _fields(result: QuestionResult) -> dict[str, Any]:
    fields = {name: getattr(result, name) for name in QuestionResult.__slots__}
    return fields | {"hits": [[hit.turn, hit.session, hit.score] for hit in result.hits]}


def _result(fields: dict[str, Any]) -> QuestionResult:
    hits = tuple(RankedTurn(turn, session, score) for turn, session, score in fields["hits"])
    lists = {name: tuple(fields[name]) for name in ("turns", "sessions")}
    return QuestionResult(**fields | lists | {"hits": hits})
