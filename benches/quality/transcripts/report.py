"""Renders the figures of transcripts, judgements and relearning as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from .figures import Fate, Figures, Recall
from .intervals import Share
from .judging import Agreement, Judgement, compare_readers, measure_precision
from .relearning import Relearning
from .stored import SPEAKERS

_RULES: Final = 40


def render_figures(figures: Figures) -> Iterator[str]:
    """Write the figures of a run as lines."""
    volume = figures.volume
    yield (
        f"{figures.projects} projects, {figures.sessions} sessions, {figures.people:,} messages of people"
        + (f"; {figures.cpu_seconds:.1f} CPU s" if figures.cpu_seconds is not None else "")
    )
    yield (
        f"active        {volume.active} = {figures.per_hundred(volume.active):.1f} per 100 messages of people; "
        f"people's {volume.people} = {figures.per_hundred(volume.people):.1f}, "
        f"agents' {volume.agents} = {figures.per_hundred(volume.agents):.1f}"
    )
    yield (
        f"waiting       {volume.waiting} = {figures.per_hundred(volume.waiting):.1f} per 100; "
        f"superseded or archived {volume.replaced}; summaries of sessions {volume.summaries}"
    )
    for sample, recall in figures.recall.items():
        yield from _render_recall(sample, recall)
    yield from _render_fates("memory of an earlier version", figures.memories)
    yield from _render_fates("standing order", figures.standing)
    yield "by rule       active waiting"
    for rule in figures.rules[:_RULES]:
        yield f"  {rule.said_by:<8} {rule.active:9} {rule.waiting:7}  {rule.rule or '(no rule)'}"
    if len(figures.rules) > _RULES:
        yield f"  and {len(figures.rules) - _RULES} more rules"


def render_relearning(found: Relearning) -> Iterator[str]:
    """Write the figures of relearning as lines."""
    yield f"relearn: active {found.before} before, {found.after} after; {found.cpu_seconds:.1f} CPU s"
    yield f"  judged noise that was active and no longer is: {found.noise_removed}"
    yield f"  judged useful that was active and no longer is: {found.useful_removed}"
    yield f"  of these, the new rules store {found.useful_lost} themselves (must be 0)"


def render_judgements(readers: Mapping[str, Mapping[str, Judgement]]) -> Iterator[str]:
    """Write the precision of each reader by speaker, and the agreement of two readers."""
    for name, judgements in readers.items():
        yield f"{name}: {len(judgements)} judged"
        for said_by in (*SPEAKERS, "all"):
            precision = measure_precision(
                judgement for judgement in judgements.values() if said_by in {"all", judgement.said_by}
            )
            yield f"  {said_by:<7} useful           {precision.useful}"
            yield f"  {'':<7} useful or partly {precision.lenient}"
            yield f"  {'':<7} would hinder     {precision.hinders}"
        yield from _render_rules(judgements)
    if len(readers) == 2:
        first, second = readers.values()
        yield _render_agreement(compare_readers(first, second))


def _render_fates(name: str, fates: Mapping[str, Fate]) -> Iterator[str]:
    for label, fate in fates.items():
        yield f"{name}, {label}: active {fate.active}, waiting {fate.waiting}, gone {fate.gone}"


def _render_recall(sample: str, recall: Recall) -> Iterator[str]:
    yield (
        f"{sample:<7} keeps found  active {Share(recall.found, recall.keeps)}, "
        f"with waiting {Share(recall.found_waiting, recall.keeps)}"
    )
    yield (
        f"{'':<7} alarms       active {Share(recall.alarms, recall.nothings)}, "
        f"with waiting {Share(recall.alarms_waiting, recall.nothings)}"
    )


def _render_rules(judgements: Mapping[str, Judgement]) -> Iterator[str]:
    rules = sorted({(judgement.said_by, judgement.rule) for judgement in judgements.values() if judgement.rule})
    for said_by, rule in rules:
        precision = measure_precision(
            judgement for judgement in judgements.values() if (judgement.said_by, judgement.rule) == (said_by, rule)
        )
        useful, lenient = precision.useful.successes, precision.lenient.successes
        yield f"  {said_by:<7} {useful:3} useful, {lenient:3} or partly, of {precision.useful.trials:3}: {rule}"


def _render_agreement(agreement: Agreement) -> str:
    return (
        f"two readers: both judged {agreement.both}, differ on {agreement.differ}, "
        f"Cohen's kappa {agreement.kappa:.2f}; {agreement.only_one} judged by one only"
    )
