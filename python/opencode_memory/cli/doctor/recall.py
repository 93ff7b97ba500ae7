"""``opencode-memory doctor --recall``: reports whether recall finds the stored memories, and which need attention.

The check changes nothing; ``recall_check`` implements it. Hints are commands to copy, so ids are short and commands are
never truncated.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from opencode_memory.cli.context import Invocation
from opencode_memory.cli.doctor.checks import Check, Level, check_embeddings, print_check
from opencode_memory.cli.errors import DONE, NOTHING_FOUND
from opencode_memory.cli.output import Output, dim
from opencode_memory.cli.progress import stages
from opencode_memory.errors import OpencodeMemoryError
from opencode_memory.maintenance.recall_check import STALE_AFTER, UNUSED_AFTER, check_recall
from opencode_memory.maintenance.recall_report import HitRate, MemorySummary, Pair, Question, RecallCheck, RecallScore
from opencode_memory.models import ALL_PROJECTS
from opencode_memory.text.clock import age
from opencode_memory.text.formatting import format_count, short_id

_MIN_HIT_SHARE: Final = 0.9
"""Minimum share of memories that must be found by their own rarest words; a lower share is a problem."""

_MAX_EXAMPLES: Final = 3
_INDENT: Final = " " * 8
_WIDTH: Final = 80
_COMMAND: Final = "opencode-memory"

Row = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Finding:
    """A check with its details.

    Attributes:
        check: The check; its hint has a command on each line.
        table: Numbers with their headings.
        examples: A few of the memories found.
        more: Number of further memories.
    """

    check: Check
    table: Sequence[Sequence[str]] = ()
    examples: Sequence[Row] = ()
    more: int = 0


def run_recall_check(run: Invocation, *, sample: int) -> int:
    """Check recall and print the findings; return 1 if there are problems."""
    findings: list[Finding]
    report: RecallCheck | None = None
    try:
        report = _check_store(run, sample)
        findings = list(_list_findings(report, at=run.started_at)) if report is not None else [Finding(_no_store(run))]
    except (OpencodeMemoryError, OSError) as error:
        findings = [Finding(Check("store", Level.PROBLEM, str(error), getattr(error, "hint", None)))]
    is_well = all(finding.check.level is not Level.PROBLEM for finding in findings)
    if run.out.as_json:
        run.out.json({"ok": is_well, "checks": [finding.check for finding in findings], "recall": report})
    else:
        for finding in findings:
            _print_finding(run.out, finding)
    return DONE if is_well else NOTHING_FOUND


def _check_store(run: Invocation, sample: int) -> RecallCheck | None:
    """Check the store; return None if there is none."""
    if not (run.config.data_dir / "store.db").exists():
        return None
    with run.open_read_only() as store, stages(quiet=run.out.as_json) as show:
        project = run.config.project or ALL_PROJECTS
        return check_recall(store, at=run.started_at, project=project, sample=sample, progress=show)


def _no_store(run: Invocation) -> Check:
    return Check("store", Level.NOTE, f"{run.config.data_dir} has no store yet; the first memory creates it")


def _list_findings(report: RecallCheck, *, at: datetime) -> Iterator[Finding]:
    if report.project != ALL_PROJECTS:
        yield Finding(Check("project", Level.OK, f"{report.project}, and global memories"))
    if not report.memories:
        yield Finding(Check("memories", Level.NOTE, "there are no memories yet"))
        return
    means = "by words and by meaning" if report.by_meaning else "by words only"
    is_part = report.sampled < report.memories
    hint = None
    if is_part:
        place = "" if report.project == ALL_PROJECTS else f"-p {shlex.quote(report.project)} "
        hint = f"{_COMMAND} {place}doctor --recall --sample {report.memories}  # searches for all"
    asked = f"searched for {report.sampled:,} of {report.memories:,}, {means}"
    yield Finding(Check("memories", Level.OK, asked, hint))
    yield from map(Finding, check_embeddings(report.pending_embeddings, report.model_mismatch))
    yield _report_own_words(report, at=at)
    yield _report_topics(report.topics, at=at)
    among = " among these" if is_part else ""
    yield _report_pairs("duplicates", report.similar, f"of near duplicates{among}", sign="~", at=at)
    yield _report_pairs("contrary", report.contradicting, f"of contradicting memories{among}", sign="≠", at=at)
    yield _report_unused(report.never_recalled, at=at)
    yield _report_stale(report.stale, at=at)


def _report_own_words(report: RecallCheck, *, at: datetime) -> Finding:
    way = report.words
    enough = way.overall.hits_at_10 >= _MIN_HIT_SHARE * way.overall.asked
    level = Level.OK if not way.missed else Level.NOTE if enough else Level.PROBLEM
    text = _format_rates(way.overall) if way.overall.asked else "no memory has a word to search for"
    hint = _format_explain_command(way.missed)
    if level is Level.PROBLEM:
        hint = f"{hint}\n{_COMMAND} verify  # checks for damaged indexes"
    return _report_way("own words", level, text, hint, way, at=at)


def _report_topics(way: RecallScore, *, at: datetime) -> Finding:
    if not way.overall.asked:
        return Finding(Check("topics", Level.OK, "no memory has a topic"))
    hint = None
    if way.missed:
        edit = f"{_COMMAND} edit {short_id(way.missed[0].memory.id)} --topic TOPIC  # a more specific one"
        hint = f"{_format_explain_command(way.missed)}\n{edit}"
    return _report_way("topics", Level.NOTE if way.missed else Level.OK, _format_rates(way.overall), hint, way, at=at)


def _report_way(name: str, level: Level, text: str, hint: str | None, way: RecallScore, *, at: datetime) -> Finding:
    table = [("", "count", "first", "in ten")]
    table += [(category, f"{rate.asked:,}", *_format_percents(rate)) for category, rate in way.by_category.items()]
    examples = [
        row
        for missed in way.missed[:_MAX_EXAMPLES]
        for row in (_format_row(missed.memory, missed.memory.created_at, at=at), ("", "query", missed.query))
    ]
    return Finding(
        Check(name, level, text, hint),
        table if len(way.by_category) > 1 else (),
        examples,
        len(way.missed) - _MAX_EXAMPLES,
    )


def _report_pairs(name: str, pairs: Sequence[Pair], about: str, *, sign: str, at: datetime) -> Finding:
    if not pairs:
        return Finding(Check(name, Level.OK, f"no pair {about}"))
    text = f"{format_count(len(pairs), 'pair')} {about}"
    newer, older = short_id(pairs[0].newer.id), short_id(pairs[0].older.id)
    hint = f"{_COMMAND} show {newer} {older}\n{_COMMAND} archive {older}  # if the newer one covers it"
    examples = [
        row
        for pair in pairs[:_MAX_EXAMPLES]
        for row in (
            _format_row(pair.newer, pair.newer.created_at, at=at),
            _format_row(pair.older, pair.older.created_at, at=at, sign=sign),
        )
    ]
    return Finding(Check(name, Level.NOTE, text, hint), (), examples, len(pairs) - _MAX_EXAMPLES)


def _report_unused(memories: Sequence[MemorySummary], *, at: datetime) -> Finding:
    if not memories:
        return Finding(Check("unused", Level.OK, f"none for more than {UNUSED_AFTER.days} days"))
    verb = "was" if len(memories) == 1 else "were"
    text = f"{format_count(len(memories), 'memory')} older than {UNUSED_AFTER.days} days {verb} never recalled"
    oldest = short_id(memories[0].id)
    hint = f"{_COMMAND} show {oldest}\n{_COMMAND} archive {oldest}  # if it is no longer needed"
    examples = [_format_row(memory, memory.created_at, at=at) for memory in memories[:_MAX_EXAMPLES]]
    return Finding(Check("unused", Level.NOTE, text, hint), (), examples, len(memories) - _MAX_EXAMPLES)


def _report_stale(memories: Sequence[MemorySummary], *, at: datetime) -> Finding:
    if not memories:
        return Finding(Check("stale", Level.OK, f"none for more than {STALE_AFTER.days} days"))
    text = f"{format_count(len(memories), 'memory')} not changed, verified or used for {STALE_AFTER.days} days"
    oldest = short_id(memories[0].id)
    hint = (
        f"{_COMMAND} show {oldest}\n"
        f"{_COMMAND} edit {oldest} --editor  # if it needs an update\n"
        f"{_COMMAND} archive {oldest}  # if it is obsolete"
    )
    examples = [_format_row(memory, memory.touched_at, at=at) for memory in memories[:_MAX_EXAMPLES]]
    return Finding(Check("stale", Level.NOTE, text, hint), (), examples, len(memories) - _MAX_EXAMPLES)


def _format_row(memory: MemorySummary, moment: datetime, *, at: datetime, sign: str = "") -> Row:
    return (f"{sign} {short_id(memory.id)}", age(moment, at=at), memory.excerpt)


def _format_explain_command(missed: Sequence[Question]) -> str | None:
    """Return the command that shows the results that were found instead of the first missed memory."""
    if not missed:
        return None
    first = missed[0]
    place = f"-p {shlex.quote(first.project)}" if first.project else "--scope global"
    parts = [f"{_COMMAND} recall", place, "--explain", f"-- {shlex.quote(first.query)}"]
    lines = [parts[0]]
    for part in parts[1:]:
        if len(_INDENT) + len(lines[-1]) + len(part) + len("  \\") <= _WIDTH:
            lines[-1] += f" {part}"
        else:
            lines[-1] += " \\"
            lines.append(f"  {part}")
    return "\n".join(lines)


def _format_rates(rate: HitRate) -> str:
    first, in_ten = _format_percents(rate)
    return f"{rate.asked:,} searches: {first} found first, {in_ten} in the first ten"


def _format_percents(rate: HitRate) -> tuple[str, str]:
    # Round down, so that 100 % means all.
    return f"{100 * rate.hits_at_1 // rate.asked} %", f"{100 * rate.hits_at_10 // rate.asked} %"


def _print_finding(out: Output, finding: Finding) -> None:
    print_check(out, finding.check)
    if finding.table:
        out.table([(_INDENT + row[0], *row[1:]) for row in finding.table], right=(1, 2, 3))
    if finding.examples:
        out.table([(f"{row[0]:>{len(_INDENT) + 8}}", *row[1:]) for row in finding.examples])
    if finding.more > 0:
        out.line(dim(f"{_INDENT}and {finding.more:,} more; --json has them all"))
    for line in (finding.check.hint or "").splitlines():
        out.line(dim(_INDENT + line))
