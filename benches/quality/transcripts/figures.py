"""Figures of a run over transcripts: volume, recall of labelled messages, alarms, and the fate of judged memories.

Summaries of sessions are counted apart and never as memories.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from opencode_memory.models import Status

from .data import JudgedText, LabelledMessage, Transcripts
from .matching import holds, like
from .stored import AGENTS, PEOPLE, StoredMemory

KEEP: Final = "keep"
NOTHING: Final = "nothing"
SAMPLES: Final = ("random", "typed")
BOTH: Final = "both"
JUDGEMENTS: Final = ("useful", "partly", "noise")
_SHOWN_STATES: Final = (Status.ACTIVE, Status.CANDIDATE)


@dataclass(frozen=True, slots=True)
class Volume:
    """Numbers of memories.

    Attributes:
        people: Active ones that people said.
        agents: Active ones that agents said.
        waiting: Those that wait for review.
        replaced: Superseded and archived ones.
        summaries: Summaries of sessions in any state.
    """

    people: int
    agents: int
    waiting: int
    replaced: int
    summaries: int

    @property
    def active(self) -> int:
        """All active ones."""
        return self.people + self.agents


@dataclass(frozen=True, slots=True)
class Recall:
    """Labelled messages of one sample, and what was stored of them.

    Attributes:
        keeps: Messages worth keeping.
        found: Of these, the ones with a right active memory.
        found_waiting: The same if waiting memories count.
        nothings: Messages of which nothing should be stored.
        alarms: Of these, the ones with an active memory.
        alarms_waiting: The same if waiting memories count.
    """

    keeps: int
    found: int
    found_waiting: int
    nothings: int
    alarms: int
    alarms_waiting: int


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of judged texts: how many are active, waiting, or neither."""

    active: int
    waiting: int
    gone: int


@dataclass(frozen=True, slots=True)
class RuleVolume:
    """Memories of one rule and one speaker."""

    rule: str
    said_by: str
    active: int
    waiting: int


@dataclass(frozen=True, slots=True)
class Figures:
    """All figures of a run.

    Attributes:
        projects: Number of projects.
        sessions: Number of sessions.
        people: Number of messages of people.
        volume: Numbers of memories.
        recall: By sample, and ``both``.
        memories: Fate of the memories that an earlier version stored, by judgement.
        standing: Fate of the sentences with words of standing orders, by judgement.
        rules: Volume by rule, largest first.
        cpu_seconds: CPU time of the run, or None if an existing store was measured.
    """

    projects: int
    sessions: int
    people: int
    volume: Volume
    recall: dict[str, Recall]
    memories: dict[str, Fate]
    standing: dict[str, Fate]
    rules: tuple[RuleVolume, ...]
    cpu_seconds: float | None = None

    def per_hundred(self, memories: int) -> float:
        """Return a number of memories per 100 messages of people."""
        return 100 * memories / self.people if self.people else 0.0


class Places:
    """Finds the memories of a message or of a session."""

    def __init__(self, memories: Iterable[StoredMemory]) -> None:
        self._by_message: dict[str, list[StoredMemory]] = {}
        self._by_session: dict[str, list[StoredMemory]] = {}
        for memory in memories:
            if memory.is_summary:
                continue
            if memory.message is not None:
                self._by_message.setdefault(memory.message, []).append(memory)
            if memory.session is not None:
                self._by_session.setdefault(memory.session, []).append(memory)

    def of_message(self, id: str | None) -> list[StoredMemory]:
        return self._by_message.get(id, []) if id is not None else []

    def of_session(self, id: str) -> list[StoredMemory]:
        return self._by_session.get(id, [])


def measure(transcripts: Transcripts, memories: Sequence[StoredMemory], *, cpu_seconds: float | None = None) -> Figures:
    """Compare the memories of a store with the labels of the transcripts that it learned from."""
    places = Places(memories)
    samples = {name: [label for label in transcripts.messages if label.sample == name] for name in SAMPLES}
    return Figures(
        projects=len(transcripts.projects),
        sessions=len(transcripts.sessions),
        people=transcripts.people,
        volume=count_volume(memories),
        recall={
            name: measure_recall(labels, places) for name, labels in (samples | {BOTH: transcripts.messages}).items()
        },
        memories=_fates(transcripts.memories, lambda judged: places.of_session(judged.session)),
        standing=_fates(transcripts.standing, lambda judged: places.of_message(judged.message)),
        rules=tuple(count_rules(memories)),
        cpu_seconds=cpu_seconds,
    )


def count_volume(memories: Iterable[StoredMemory]) -> Volume:
    """Count memories by state, and active ones by speaker."""
    kept = list(memories)
    stated = [memory for memory in kept if not memory.is_summary]
    active = Counter(memory.said_by for memory in stated if memory.status is Status.ACTIVE)
    return Volume(
        people=active[PEOPLE],
        agents=active[AGENTS],
        waiting=sum(memory.status is Status.CANDIDATE for memory in stated),
        replaced=sum(memory.status not in _SHOWN_STATES for memory in stated),
        summaries=len(kept) - len(stated),
    )


def measure_recall(labels: Sequence[LabelledMessage], places: Places) -> Recall:
    """Count right memories of messages worth keeping, and memories of messages with nothing."""
    keeps = [label for label in labels if label.label == KEEP]
    nothings = [label for label in labels if label.label == NOTHING]
    return Recall(
        keeps=len(keeps),
        found=sum(is_found(label, places, (Status.ACTIVE,)) for label in keeps),
        found_waiting=sum(is_found(label, places, _SHOWN_STATES) for label in keeps),
        nothings=len(nothings),
        alarms=sum(is_alarm(label, places, (Status.ACTIVE,)) for label in nothings),
        alarms_waiting=sum(is_alarm(label, places, _SHOWN_STATES) for label in nothings),
    )


def is_found(label: LabelledMessage, places: Places, states: Sequence[Status]) -> bool:
    """Return whether a memory of the message, or of its session, holds one of the phrases of the label."""
    return any(
        memory.status in states and holds(memory.content, label.phrases)
        for memory in (*places.of_message(label.id), *places.of_session(label.session))
    )


def is_alarm(label: LabelledMessage, places: Places, states: Sequence[Status]) -> bool:
    """Return whether anything was stored of the message."""
    return any(memory.status in states for memory in places.of_message(label.id))


def count_rules(memories: Iterable[StoredMemory]) -> Iterator[RuleVolume]:
    """Count active and waiting memories by rule and speaker, the largest rule first."""
    counts = Counter(
        (memory.rule, memory.said_by, memory.status)
        for memory in memories
        if not memory.is_summary and memory.status in _SHOWN_STATES
    )
    volumes = [
        RuleVolume(rule, said_by, counts[rule, said_by, Status.ACTIVE], counts[rule, said_by, Status.CANDIDATE])
        for rule, said_by in {(rule, said_by) for rule, said_by, _ in counts}
    ]
    yield from sorted(volumes, key=lambda volume: (-volume.active, -volume.waiting, volume.rule, volume.said_by))


def find_state(text: str, memories: Iterable[StoredMemory]) -> Status | None:
    """Return the best state of the memories that are like a text: active, waiting, or None for neither."""
    states = {memory.status for memory in memories if like(memory.content, text)}
    return next((state for state in _SHOWN_STATES if state in states), None)


def _fates(judged: Iterable[JudgedText], memories_of: Callable[[JudgedText], list[StoredMemory]]) -> dict[str, Fate]:
    states = Counter((text.label, find_state(text.text, memories_of(text))) for text in judged)
    return {
        label: Fate(states[label, Status.ACTIVE], states[label, Status.CANDIDATE], states[label, None])
        for label in JUDGEMENTS
    }
