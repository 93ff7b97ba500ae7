"""Approves a plan: the one function behind the question, the commands and the dialogs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from opencode_memory.loops.message_ids import message_id, part_id
from opencode_memory.loops.start import Wish, start_loop
from opencode_memory.plans import Approval, Mode, Plan, Plans

if TYPE_CHECKING:
    from opencode_memory.config.load import Config
    from opencode_memory.store.memory_store import MemoryStore


LABELS: Final[Mapping[str, Mode]] = MappingProxyType(
    {
        "Execute here": Mode.HERE,
        "New session": Mode.NEW,
        "Loop (worktree)": Mode.LOOP,
        "Loop": Mode.LOOP_HERE,
    }
)
"""The labels of the answers, and what each approves."""


def approve_plan(
    store: MemoryStore, plan: Plan, mode: Mode, *, directory: Path, by: str, config: Config, at: datetime
) -> Plan:
    """Approve a submitted plan; the server carries it out. A second approval of the same kind changes nothing.

    Args:
        store: The store.
        plan: The plan.
        mode: How it is carried out.
        directory: A folder of the repository.
        by: Where the user decided.
        config: The configuration.
        at: The current time.

    Raises:
        ConflictError: The plan is not submitted, or was approved in another way.
        InvalidInputError: A loop is not possible here.
    """
    plans = Plans(store, plan.project)
    if mode in {Mode.LOOP, Mode.LOOP_HERE}:
        wish = Wish(directory=directory, by=by, in_place=mode is Mode.LOOP_HERE)
        start_loop(store, plan, wish, config=config, at=at)
        return plans.get(plan.id)
    return plans.approve(plan, Approval(mode=mode, at=at, by=by, message=message_id(at), part=part_id(at)))
