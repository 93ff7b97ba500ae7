"""The model's judgements of the marked statements: read strictly, and each used only if it holds.

What is wrong with one is no reason to give up the others. An answer that is no JSON of the agreed form as a whole is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from opencode_memory.learning.digest.chat_completions import parse_json
from opencode_memory.learning.digest.grounding import find_objection
from opencode_memory.learning.digest.prompt import KEYS, MODEL_CATEGORIES
from opencode_memory.learning.digest.report import MAX_CONTENT, DropReason, Verdict
from opencode_memory.learning.digest.statements import Statement
from opencode_memory.models import Category

_FENCE: Final = re.compile(r"```[a-z]*\n(?P<inside>.*)\n```", re.DOTALL | re.IGNORECASE)


def parse_verdicts(text: str, marked: Sequence[Statement]) -> tuple[tuple[Verdict, ...], Counter[DropReason]]:
    """Read what the model wrote about statements.

    Args:
        text: JSON, or one code fence with JSON in it.
        marked: The statements as they were sent.

    Returns:
        What can be used, in the order of the statements, and how much was dropped for which reason.

    Raises:
        ValueError: The text is not JSON of the agreed form.
    """
    fenced = _FENCE.fullmatch(text.strip())
    answer = parse_json(fenced["inside"] if fenced else text)
    if not isinstance(answer, dict) or answer.keys() != {"notes"} or not isinstance(answer["notes"], list):
        raise ValueError("not an object with the list of notes")
    verdicts: list[Any] = answer["notes"]
    statements = {statement.id: statement for statement in marked}
    times = Counter(_id(verdict) for verdict in verdicts)
    dropped: Counter[DropReason] = Counter()
    usable: dict[str, Verdict] = {}
    for verdict in verdicts:
        statement_id = _id(verdict)
        if statement_id is None:
            judged: Verdict | DropReason = DropReason.MALFORMED
        elif statement_id not in statements:
            judged = DropReason.UNKNOWN_ID
        elif times[statement_id] > 1:
            # Which one is meant cannot be told, so none is used.
            judged = DropReason.DOUBLED_ID
        else:
            judged = _judge(verdict, statements[statement_id])
        if isinstance(judged, Verdict):
            usable[judged.id] = judged
        else:
            dropped[judged] += 1
    if unanswered := len(statements.keys() - times.keys()):
        dropped[DropReason.UNANSWERED] = unanswered
    return tuple(usable[key] for key in statements if key in usable), dropped


def _id(verdict: Any) -> str | None:
    written = verdict.get("id") if isinstance(verdict, dict) else None
    return written if isinstance(written, str) else None


def _judge(verdict: dict[str, Any], statement: Statement) -> Verdict | DropReason:
    if verdict.keys() != set(KEYS):
        return DropReason.MALFORMED
    keep, content, category = verdict["keep"], verdict["content"], verdict["category"]
    if not isinstance(keep, bool) or not isinstance(content, str | None) or not isinstance(category, str | None):
        return DropReason.MALFORMED
    if category is None or category == statement.category:
        category = statement.category
    elif category == Category.DIRECTIVE:
        return DropReason.DIRECTIVE
    elif category not in MODEL_CATEGORIES:
        return DropReason.CATEGORY
    if not keep:
        return Verdict(id=statement.id, keep=False, content=None, category=Category(statement.category))
    if content is not None:
        content = " ".join(content.split())
        # Not printable: control characters, halves of surrogate pairs, and what changes the direction of a text.
        if not content or not content.isprintable():
            return DropReason.MALFORMED
        if len(content) > MAX_CONTENT:
            return DropReason.TOO_LONG
        if (reason := find_objection(content, statement)) is not None:
            return reason
    return Verdict(id=statement.id, keep=True, content=content, category=Category(category))
