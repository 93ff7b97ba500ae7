"""Approval of a plan by the answer to a question: fixed labels, which the person chooses in any client of OpenCode."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from opencode_memory.errors import OpencodeMemoryError
from opencode_memory.loops.approve import LABELS, approve_plan
from opencode_memory.plans import Mode, Plans, PlanStatus
from opencode_memory.text import clock

if TYPE_CHECKING:
    from opencode_memory.server.plugin.handlers import PluginContext

_log: Final = logging.getLogger(__name__)


def take_answers(context: PluginContext, params: Any) -> bool:
    """Approve the plans that the answers in an ``events`` notification approve. Return whether there was one."""
    is_any = False
    for session, mode in _find_answers(params):
        plans = Plans(context.server.store, context.project)
        plan = plans.newest(PlanStatus.SUBMITTED, session=session)
        if plan is None:
            continue
        try:
            approve_plan(
                context.server.store,
                plan,
                mode,
                directory=Path(plan.directory or context.folder),
                by="question in OpenCode",
                config=context.server.config,
                at=clock.now(),
            )
            is_any = True
        except OpencodeMemoryError as error:
            _log.warning("the plan [%s] is not approved: %s", plan.id, error)
    return is_any


def _find_answers(params: Any) -> Iterator[tuple[str, Mode]]:
    """Yield the session and the mode of each answer that is one of our labels."""
    events = params.get("events") if isinstance(params, Mapping) else None
    for event in events if isinstance(events, list) else ():
        match event:
            case {
                "type": "question.replied",
                "properties": {"sessionID": str(session), "answers": [[str(label)]]},
            } if label in LABELS:
                yield session, LABELS[label]
