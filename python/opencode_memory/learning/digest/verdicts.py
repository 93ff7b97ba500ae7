"""Parser of the LLM's answer: each verdict is validated on its own.

An invalid verdict does not affect the others. An answer that is not JSON of the agreed form is rejected as a whole.
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


def parse_verdicts(text: str, sent: Sequence[Statement]) -> tuple[tuple[Verdict, ...], Counter[DropReason]]:
    """Parse the verdicts of the LLM.

    Args:
        text: JSON, or one code fence that contains JSON.
        sent: The statements that were sent.

    Returns:
        Usable verdicts in the order of the statements, and the number of dropped parts by reason.

    Raises:
        ValueError: The text is not JSON of the agreed form.
    """
    fenced = _FENCE.fullmatch(text.strip())
    answer = parse_json(fenced["inside"] if fenced else text)
    if not isinstance(answer, dict) or answer.keys() != {"notes"} or not isinstance(answer["notes"], list):
        raise ValueError("not an object with the list of notes")
    verdicts: list[Any] = answer["notes"]
    statements = {statement.id: statement for statement in sent}
    times = Counter(_get_id(verdict) for verdict in verdicts)
    dropped: Counter[DropReason] = Counter()
    usable: dict[str, Verdict] = {}
    for verdict in verdicts:
        statement_id = _get_id(verdict)
        if statement_id is None:
            judged: Verdict | DropReason = DropReason.MALFORMED
        elif statement_id not in statements:
            judged = DropReason.UNKNOWN_ID
        elif times[statement_id] > 1:
            # It is unclear which of the two is meant, so neither is used.
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


def _get_id(verdict: Any) -> str | None:
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
        # Control characters, lone surrogates and marks that change the text direction are not printable.
        if not content or not content.isprintable():
            return DropReason.MALFORMED
        if len(content) > MAX_CONTENT:
            return DropReason.TOO_LONG
        if (reason := find_objection(content, statement)) is not None:
            return reason
    return Verdict(id=statement.id, keep=True, content=content, category=Category(category))
