"""Compares a store of an earlier version before and after ``learning relearn`` with judgements of its memories."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from opencode_memory.models import Status

from .data import JudgedText
from .figures import Places, count_volume, find_state
from .intervals import Share
from .judging import NOISE, USEFUL
from .stored import StoredMemory


@dataclass(frozen=True, slots=True)
class Relearning:
    """Figures of relearning.

    Attributes:
        before: Number of active memories in the old store.
        after: The same after relearning.
        noise_removed: Judged noise that was active before and is not active after.
        useful_removed: The same of useful memories.
        useful_lost: Number of removed useful memories that the new rules store from the same session.
        cpu_seconds: CPU time of the command.
    """

    before: int
    after: int
    noise_removed: Share
    useful_removed: Share
    useful_lost: int
    cpu_seconds: float


def measure_relearning(
    judged: Iterable[JudgedText],
    *,
    old: Sequence[StoredMemory],
    relearned: Sequence[StoredMemory],
    new: Iterable[StoredMemory],
    cpu_seconds: float,
) -> Relearning:
    """Compare stores.

    Args:
        judged: Judged memories of the old version.
        old: Memories of the old store.
        relearned: Memories of the same store after relearning.
        new: Memories that the new rules store from the same sessions.
        cpu_seconds: CPU time of the command.
    """
    before, after, fresh = Places(old), Places(relearned), Places(new)
    active = [text for text in judged if _is_active(text, before)]
    noise = [text for text in active if text.label == NOISE]
    useful = [text for text in active if text.label == USEFUL]
    removed = [text for text in useful if not _is_active(text, after)]
    return Relearning(
        before=count_volume(old).active,
        after=count_volume(relearned).active,
        noise_removed=Share(sum(not _is_active(text, after) for text in noise), len(noise)),
        useful_removed=Share(len(removed), len(useful)),
        useful_lost=sum(_is_active(text, fresh) for text in removed),
        cpu_seconds=cpu_seconds,
    )


def _is_active(text: JudgedText, places: Places) -> bool:
    return find_state(text.text, places.of_session(text.session)) is Status.ACTIVE
