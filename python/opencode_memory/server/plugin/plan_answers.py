"""Approval of a plan by the answer to a question: fixed labels, which the user chooses in any client of OpenCode.

An agent writes the question. So an answer counts only if the question offered exactly our labels: another question,
whose answer happens to be one of them, approves nothing.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from opencode_memory.errors import OpencodeMemoryError
from opencode_memory.loops.approve import LABELS, approve_plan
from opencode_memory.plans import Mode, Plans, PlanStatus
from opencode_memory.text import clock

if TYPE_CHECKING:
    from opencode_memory.server.plugin.handlers import PluginContext

_MOST_ASKED: Final = 100
_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """An answer to one of our questions.

    Attributes:
        plan: Id of the plan.
        problem: Why the plan was not approved; None if it was.
    """

    plan: str
    problem: str | None = None


class PlanQuestions:
    """The questions of one connection that offer our labels."""

    def __init__(self) -> None:
        self._asked: OrderedDict[str, str] = OrderedDict()

    def take(self, context: PluginContext, params: Any) -> list[Answered]:
        """Approve the plans that the answers in an ``events`` notification approve."""
        answered = (_approve(context, session, mode) for session, mode in self._find_answers(params))
        return [answer for answer in answered if answer is not None]

    def _find_answers(self, params: Any) -> Iterator[tuple[str, Mode]]:
        """Yield the session and the mode of each answer to one of our questions."""
        events = params.get("events") if isinstance(params, Mapping) else None
        for event in events if isinstance(events, list) else ():
            match event:
                case {
                    "type": "question.asked",
                    "properties": {
                        "id": str(id_),
                        "sessionID": str(session),
                        "questions": [{"options": list(options)}],
                    },
                } if _labels(options) == LABELS.keys():
                    self._asked[id_] = session
                    while len(self._asked) > _MOST_ASKED:
                        self._asked.popitem(last=False)
                case {
                    "type": "question.replied",
                    "properties": {"requestID": str(id_), "sessionID": str(session), "answers": [[str(label)]]},
                } if label in LABELS and self._asked.pop(id_, None) == session:
                    yield session, LABELS[label]


def _labels(options: list[Any]) -> set[str]:
    return {str(option.get("label")) if isinstance(option, Mapping) else "" for option in options}


def _approve(context: PluginContext, session: str, mode: Mode) -> Answered | None:
    """Approve the newest submitted plan of a session; None if there is none."""
    server = context.server
    plan = Plans(server.store, context.project).newest(PlanStatus.SUBMITTED, session=session)
    if plan is None:
        return None
    directory = Path(plan.directory or context.folder)
    by = "question in OpenCode"
    try:
        approve_plan(server.store, plan, mode, directory=directory, by=by, config=server.config, at=clock.now())
    except OpencodeMemoryError as error:
        _log.warning("the plan [%s] is not approved: %s", plan.id, error)
        return Answered(plan=plan.id, problem=str(error))
    return Answered(plan=plan.id)
