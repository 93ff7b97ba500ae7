"""Answers of the tools that recall: hits with the earlier statements folded into them, or the nearest misses."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from opencode_memory.context.folding import format_before, format_later
from opencode_memory.context.results import NOTHING_NEAR, Result, describe_relevance
from opencode_memory.context.session_results import turn_data
from opencode_memory.models import Hit, SessionHit, Turn
from opencode_memory.server.answers import EXCERPT_BYTES, Answer, format_list, indent, join_lines, memory_data
from opencode_memory.text.clock import age
from opencode_memory.text.display import cut, one_line
from opencode_memory.text.formatting import format_count
from opencode_memory.text.json_values import to_json

_TITLE: Final = 60


def format_results(
    results: Sequence[Result], *, heading: str, at: datetime, project: str | None, compact: bool = False
) -> Answer:
    """Render the results of a recall as an answer.

    Args:
        results: The results, best first.
        heading: The first line.
        at: The current time.
        project: The project of the reader.
        compact: Whether to render one line for each memory.
    """
    remarks = {result.memory.id: _list_remarks(result, at=at) for result in results}
    memories = [result.memory for result in results]
    listed = format_list(memories, at=at, project=project, compact=compact, more=remarks)
    return Answer(join_lines(heading, listed), {"memories": [_result_data(result) for result in results]})


def add_turns(answer: Answer, hits: Sequence[SessionHit], *, at: datetime) -> Answer:
    """Append the turns of sessions that answer the same question, each with its rank in the whole answer."""
    if not hits:
        return answer
    turns = [turn_data(hit.turn) | {"rank": hit.rank} for hit in hits]
    lines = [f"{format_turn(hit.turn, at=at)} (rank {hit.rank})" for hit in hits]
    heading = f"{format_count(len(hits), 'turn')} of sessions, word for word; not checked, get_session opens one:"
    return Answer(join_lines(answer.text, heading, *lines), {**answer.data, "sessions": to_json(turns)})


def format_turn(turn: Turn, *, at: datetime, most_bytes: int = EXCERPT_BYTES) -> str:
    """Describe a turn: who said it, when, in which session, and the text."""
    who = "the user" if turn.speaker == "user" else "the agent"
    facts = f"{who} {age(turn.time, at=at)} in session “{one_line(turn.title, _TITLE)}”, {turn.message}"
    return f"- [{facts}]\n{indent(turn.text, most_bytes)}"


def format_near_misses(hits: Sequence[Hit], *, text: str, at: datetime, project: str | None) -> Answer:
    """Render the nearest memories of a recall that found none, each with the relevance that it has and would need.

    Args:
        hits: The nearest memories; empty if there is none to search.
        text: The sentence that nothing was found.
        at: The current time.
        project: The project of the reader.
    """
    remarks = {hit.memory.id: [describe_relevance(hit)] for hit in hits}
    listed = format_list([hit.memory for hit in hits], at=at, project=project, compact=True, more=remarks)
    data = [
        memory_data(hit.memory) | {"relevance": round(hit.relevance or 0.0, 4), "floor": round(hit.floor or 0.0, 4)}
        for hit in hits
    ]
    lead = "The nearest are not relevant enough:" if hits else NOTHING_NEAR
    return Answer(join_lines(text, lead, listed), {"memories": [], "nearest": data})


def _list_remarks(result: Result, *, at: datetime) -> list[str]:
    """Return what stands below a memory: the earlier statement, the later words, and why it was found."""
    explanation = str(result.hit.explanation) if result.hit.explanation else ""
    remarks = format_before(result.memory, result.before, at=at), format_later(result.later, at=at), explanation
    return [remark for remark in remarks if remark]


def _result_data(result: Result) -> dict[str, Any]:
    data = memory_data(result.memory) | {"score": round(result.hit.score, 4)}
    before = [{"id": one.id, "content": cut(one.content, EXCERPT_BYTES)[0], "time": one.time} for one in result.before]
    later = result.later
    said = (
        None if later is None else {"id": later.id, "content": cut(later.content, EXCERPT_BYTES)[0], "time": later.time}
    )
    more: dict[str, Any] = to_json({name: value for name, value in (("before", before), ("later", said)) if value})
    return data | more
