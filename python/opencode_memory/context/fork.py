"""Gives a fork of a session the blocks of its original, so that it sees the same texts and keeps the prompt cache.

A fork copies messages under new ids, with their times of creation. The ledger knows both for the original session.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from opencode_memory.context.decide import CREATED
from opencode_memory.context.in_sight import IN_COMMAND
from opencode_memory.errors import ConflictError
from opencode_memory.store.ledger import Decision, State

if TYPE_CHECKING:
    from opencode_memory.store.ledger import Ledger


def copy_decisions(ledger: Ledger, session: str, *, project: str | None, created: Mapping[str, int]) -> list[Decision]:
    """Copy the decisions on what the original session was shown to a session without decisions, if it is a fork.

    Args:
        ledger: The ledger of the store.
        session: The session.
        project: Its project.
        created: Time of creation of each copied message of the user, in Unix milliseconds, by the id of the message.

    Returns:
        The decisions of the session, in order of time; empty if it is no fork of a session in the ledger.
    """
    original = ledger.find_original(project=project, created=sorted(set(created.values()))) if created else None
    if original is None or original == session:
        return []
    shown = {
        decision.about[CREATED]: decision
        for decision in ledger.decisions(original)
        if (decision.state is State.SHOWN or IN_COMMAND in decision.about) and CREATED in decision.about
    }
    copied = []
    for message, time in created.items():
        decision = shown.get(time)
        if decision is None:
            continue
        memories = tuple(replace(memory, outcome=None) for memory in decision.shown)
        about = {**decision.about, "copied_from": original}
        copy = replace(decision, session=session, message=message, project=project, shown=memories, about=about)
        try:
            copied.append(ledger.decide(copy))
        except ConflictError:
            continue  # A memory in the block was purged meanwhile, so its text must not be shown again.
    return copied
