"""``opencode-memory doctor --recall``: does the store find what it holds, and what in it needs care?

Looks and says, and changes nothing; how it is looked is in ``recall_check``. What to do is said as commands to copy, so
ids are short and nothing of a command is cut.
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
from opencode_memory.maintenance.recall_report import Asked, Glimpse, HitRate, Pair, RecallCheck, WayOfAsking
from opencode_memory.models import ALL_PROJECTS
from opencode_memory.text.clock import age
from opencode_memory.text.formatting import counted, short_id

_MIN_HIT_SHARE: Final = 0.9
"""Share of memories that have to be found by their own rarest words; where less is, something is wrong."""

_MAX_EXAMPLES: Final = 3
_INDENT: Final = " " * 8
_WIDTH: Final = 80
_COMMAND: Final = "opencode-memory"

Row = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Finding:
    """A check with what a person wants to see of it.

    Attributes:
        check: How it went; its hint has a command on each line.
        table: Numbers, with their headings.
        examples: A few of what was found.
        more: How many of them are not shown.
    """

    check: Check
    table: Sequence[Sequence[str]] = ()
    examples: Sequence[Row] = ()
    more: int = 0


def run_recall_check(run: Invocation, *, sample: int) -> int:
    """Check recall and say what was found; 1 when something is wrong."""
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
    """Check the store; None when there is none."""
    if not (run.config.data_dir / "store.db").exists():
        return None
    with run.open_read_only() as store, stages(quiet=run.out.as_json) as show:
        project = run.config.project or ALL_PROJECTS
        return check_recall(store, at=run.started_at, project=project, sample=sample, progress=show)


def _no_store(run: Invocation) -> Check:
    return Check("store", Level.NOTE, f"{run.config.data_dir} holds none yet; the first memory creates it")


def _list_findings(report: RecallCheck, *, at: datetime) -> Iterator[Finding]:
    if report.project != ALL_PROJECTS:
        yield Finding(Check("project", Level.OK, f"{report.project}, and what is global"))
    if not report.memories:
        yield Finding(Check("memories", Level.NOTE, "there are none yet, so there is nothing to ask for"))
        return
    means = "by words and by meaning" if report.by_meaning else "by words only"
    is_part = report.sampled < report.memories
    hint = None
    if is_part:
        place = "" if report.project == ALL_PROJECTS else f"-p {shlex.quote(report.project)} "
        hint = f"{_COMMAND} {place}doctor --recall --sample {report.memories}  # asks for all"
    asked = f"{report.sampled:,} of {report.memories:,} asked for, {means}"
    yield Finding(Check("memories", Level.OK, asked, hint))
    yield from map(Finding, check_embeddings(report.pending_embeddings, report.model_mismatch))
    yield _report_own_words(report, at=at)
    yield _report_topics(report.topics, at=at)
    among = " among those" if is_part else ""
    yield _report_pairs("duplicates", report.similar, f"of near duplicates{among}", sign="~", at=at)
    yield _report_pairs("contrary", report.contradicting, f"of contradicting memories{among}", sign="≠", at=at)
    yield _report_unused(report.never_recalled, at=at)
    yield _report_stale(report.stale, at=at)


def _report_own_words(report: RecallCheck, *, at: datetime) -> Finding:
    way = report.words
    enough = way.overall.hits_at_10 >= _MIN_HIT_SHARE * way.overall.asked
    level = Level.OK if not way.missed else Level.NOTE if enough else Level.PROBLEM
    text = _format_rates(way.overall) if way.overall.asked else "no memory has a word to ask for it by"
    hint = _format_explain_command(way.missed)
    if level is Level.PROBLEM:
        hint = f"{hint}\n{_COMMAND} verify  # whether an index is damaged"
    return _report_way("own words", level, text, hint, way, at=at)


def _report_topics(way: WayOfAsking, *, at: datetime) -> Finding:
    if not way.overall.asked:
        return Finding(Check("topics", Level.OK, "none of them has a topic"))
    hint = None
    if way.missed:
        edit = f"{_COMMAND} edit {short_id(way.missed[0].memory.id)} --topic TOPIC  # one that says more"
        hint = f"{_format_explain_command(way.missed)}\n{edit}"
    return _report_way("topics", Level.NOTE if way.missed else Level.OK, _format_rates(way.overall), hint, way, at=at)


def _report_way(name: str, level: Level, text: str, hint: str | None, way: WayOfAsking, *, at: datetime) -> Finding:
    table = [("", "asked", "first", "in ten")]
    table += [(category, f"{rate.asked:,}", *_format_percents(rate)) for category, rate in way.by_category.items()]
    examples = [
        row
        for missed in way.missed[:_MAX_EXAMPLES]
        for row in (_format_row(missed.memory, missed.memory.created_at, at=at), ("", "asked", missed.query))
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
    text = f"{counted(len(pairs), 'pair')} {about}"
    newer, older = short_id(pairs[0].newer.id), short_id(pairs[0].older.id)
    hint = f"{_COMMAND} show {newer} {older}\n{_COMMAND} archive {older}  # if the other one says it all"
    examples = [
        row
        for pair in pairs[:_MAX_EXAMPLES]
        for row in (
            _format_row(pair.newer, pair.newer.created_at, at=at),
            _format_row(pair.older, pair.older.created_at, at=at, sign=sign),
        )
    ]
    return Finding(Check(name, Level.NOTE, text, hint), (), examples, len(pairs) - _MAX_EXAMPLES)


def _report_unused(memories: Sequence[Glimpse], *, at: datetime) -> Finding:
    if not memories:
        return Finding(Check("unused", Level.OK, f"none for more than {UNUSED_AFTER.days} days"))
    verb = "was" if len(memories) == 1 else "were"
    text = f"{counted(len(memories), 'memory')} older than {UNUSED_AFTER.days} days {verb} never recalled"
    oldest = short_id(memories[0].id)
    hint = f"{_COMMAND} show {oldest}\n{_COMMAND} archive {oldest}  # if nobody will ask for it"
    examples = [_format_row(memory, memory.created_at, at=at) for memory in memories[:_MAX_EXAMPLES]]
    return Finding(Check("unused", Level.NOTE, text, hint), (), examples, len(memories) - _MAX_EXAMPLES)


def _report_stale(memories: Sequence[Glimpse], *, at: datetime) -> Finding:
    if not memories:
        return Finding(Check("stale", Level.OK, f"none for more than {STALE_AFTER.days} days"))
    text = f"{counted(len(memories), 'memory')} not changed, verified or used for {STALE_AFTER.days} days"
    oldest = short_id(memories[0].id)
    hint = (
        f"{_COMMAND} show {oldest}\n"
        f"{_COMMAND} edit {oldest} --editor  # if it has changed\n"
        f"{_COMMAND} archive {oldest}  # if it is over"
    )
    examples = [_format_row(memory, memory.touched_at, at=at) for memory in memories[:_MAX_EXAMPLES]]
    return Finding(Check("stale", Level.NOTE, text, hint), (), examples, len(memories) - _MAX_EXAMPLES)


def _format_row(memory: Glimpse, moment: datetime, *, at: datetime, sign: str = "") -> Row:
    return (f"{sign} {short_id(memory.id)}", age(moment, at=at), memory.excerpt)


def _format_explain_command(missed: Sequence[Asked]) -> str | None:
    """Return the command that shows what is found instead of the first that was missed."""
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
    return f"{rate.asked:,} asked for: {first} came first, {in_ten} among ten"


def _format_percents(rate: HitRate) -> tuple[str, str]:
    # Rounded down: 100 % is said of all alone.
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
