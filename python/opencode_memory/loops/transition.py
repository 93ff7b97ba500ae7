"""The rules of a loop: what follows from the outcome of a step. Pure functions, without a clock and without effects.

A loop is completed by facts only: the commands succeed on a fresh checkout, an auditor called the last change clean,
and no finding is open. No word in a model's text ends it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from opencode_memory.loops.model import Loop, LoopState, Rest, Step, StepKind, Trouble
from opencode_memory.text.formatting import format_count

MOST_STALLS: Final = 3
"""Steps without any progress after which the user is asked."""
MOST_COMPLAINTS: Final = 3
"""Reports of one finding after which the user is asked."""
_CANNOT_RUN: Final = frozenset({126, 127})
"""Exit codes of a shell for a program that it may not run or does not find."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is known besides the step.

    Attributes:
        open_findings: Ids of the open findings on the loop's branch.
    """

    open_findings: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """The consequence of a step.

    Attributes:
        loop: The loop afterwards.
        kind: The next step; None if the loop rests or has ended.
        why: The reason, for the log.
    """

    loop: Loop
    kind: StepKind | None
    why: str


def advance(loop: Loop, step: Step | None, facts: Facts) -> Move:
    """Return what follows from the last step of a running loop; ``step`` is None at the beginning."""
    if loop.state is not LoopState.RUNNING:
        return Move(loop=loop, kind=None, why=loop.reason)
    if step is None:
        return Move(loop=loop, kind=StepKind.PREPARE, why="the loop begins")
    outcome = step.outcome
    match step.kind:
        case StepKind.PREPARE:
            return _after_prepare(loop, outcome)
        case StepKind.CODE:
            return _after_code(loop, outcome)
        case StepKind.CHECK:
            return _after_check(loop, outcome)
        case StepKind.AUDIT:
            return _after_audit(loop, outcome, facts)
        case StepKind.FINAL_CHECK:
            if outcome.get("exit") == 0:
                return Move(loop=loop, kind=StepKind.FINISH, why="the commands succeed on a fresh checkout")
            return _code_again(loop, _trouble(loop, step.kind, outcome), "a command fails on a fresh checkout")
        case StepKind.FINISH:
            return _end(loop, LoopState.COMPLETED, str(outcome.get("said", "")))


def _after_prepare(loop: Loop, outcome: Mapping[str, Any]) -> Move:
    if outcome.get("exit") != 0:
        todo = f"when it is mended: opencode-memory loop restart {loop.name}"
        return _end(loop, LoopState.FAILED, f"the preparation failed: {outcome.get('said', '')}; {todo}")
    return _code(loop, "the worktree is ready")


def _after_code(loop: Loop, outcome: Mapping[str, Any]) -> Move:
    if outcome.get("result") == "done":
        return Move(loop=loop, kind=StepKind.CHECK, why="the turn has ended")
    return _end(loop, LoopState.FAILED, f"the coding step failed: {outcome.get('said', '')}")


def _after_check(loop: Loop, outcome: Mapping[str, Any]) -> Move:
    if loop.tree != outcome.get("tree"):
        # A changed tree needs an audit of its own.
        loop = replace(loop, tree=outcome.get("tree"), clean_audits=0, stalls=0)
    if (code := outcome.get("exit")) != 0:
        trouble = _trouble(loop, StepKind.CHECK, outcome)
        if code in _CANNOT_RUN and trouble.is_about_the_same(loop.trouble):
            # Once, the model may have to write the program. Twice, the user has to look, whatever the model changed.
            said = f"the command {outcome.get('command', '')} cannot be run (exit {code})"
            return _rest(
                loop, Rest.PROGRESS, f"{said}: does the server find its program? It has no shell's environment"
            )
        return _code_again(loop, trouble, "a verification command fails")
    if loop.audits:
        return Move(loop=loop, kind=StepKind.AUDIT, why="the verification commands succeed")
    return _after_clean(loop, "the verification commands succeed")


def _after_audit(loop: Loop, outcome: Mapping[str, Any], facts: Facts) -> Move:
    if outcome.get("result") != "done":
        return _end(loop, LoopState.FAILED, f"the audit failed: {outcome.get('said', '')}")
    verdict = outcome.get("verdict")
    if verdict is None:
        return _end(loop, LoopState.FAILED, "the auditor gave no verdict, although it was asked twice")
    if outcome.get("tree") != loop.tree:
        return _check_again(loop)
    loop = replace(loop, changing_audits=0)
    if facts.open_findings or verdict != "clean":
        complaints = {id_: loop.complaints.get(id_, 0) + 1 for id_ in facts.open_findings}
        loop = replace(loop, complaints=complaints, clean_audits=0)
        often = [id_ for id_, times in complaints.items() if times >= MOST_COMPLAINTS]
        if often:
            said = f"the finding [{often[0]}] was reported {complaints[often[0]]} times"
            return _rest(loop, Rest.PROGRESS, said)
        number = format_count(len(facts.open_findings), "open finding")
        trouble = _trouble(loop, StepKind.AUDIT, {"open": sorted(facts.open_findings)})
        return _code_again(loop, trouble, f"the audit has {number}")
    return _after_clean(replace(loop, clean_audits=loop.clean_audits + 1, complaints={}), "the audit is clean")


def _check_again(loop: Loop) -> Move:
    """Check what was changed during an audit, unless each audit changes files. No limit would end that."""
    loop = replace(loop, changing_audits=loop.changing_audits + 1)
    if loop.changing_audits >= MOST_STALLS:
        return _rest(loop, Rest.PROGRESS, f"files were changed during {loop.changing_audits} audits in a row")
    return Move(loop=loop, kind=StepKind.CHECK, why="files were changed during the audit")


def _after_clean(loop: Loop, why: str) -> Move:
    """Go on after a clean audit: to the next section, to another audit, or to the final check."""
    if loop.trouble is None or loop.trouble.kind is not StepKind.FINAL_CHECK:
        # A complaint of the final check stays, because the checks and audits before it succeed each time.
        loop = replace(loop, trouble=None, stalls=0)
    if loop.section < loop.sections:
        return _code(loop, f"{why}; the next section follows", section=loop.section + 1)
    if loop.audits and loop.clean_audits < loop.min_audits:
        return Move(loop=loop, kind=StepKind.AUDIT, why=f"{why}; {loop.min_audits} audits are required")
    return Move(loop=loop, kind=StepKind.FINAL_CHECK, why=why)


def _code_again(loop: Loop, trouble: Trouble, why: str) -> Move:
    """Code again, unless the files and the complaint have been the same too often."""
    stalls = loop.stalls + 1 if trouble == loop.trouble else 0
    loop = replace(loop, trouble=trouble, stalls=stalls)
    if stalls >= MOST_STALLS:
        return _rest(loop, Rest.PROGRESS, f"no progress: {why}, and {stalls} coding steps changed nothing")
    return _code(loop, why)


def _code(loop: Loop, why: str, *, section: int | None = None) -> Move:
    """Begin a coding step, for the next section if one is given, unless a limit is reached."""
    limit = reached_limit(loop)
    if limit is not None:
        # The loop stays in its section, because the same step leads here again when the loop is resumed.
        return _rest(loop, Rest.LIMIT, f"{limit} ({why})")
    if section is not None:
        loop = replace(loop, section=section, clean_audits=0)
    return Move(loop=replace(loop, iteration=loop.iteration + 1), kind=StepKind.CODE, why=why)


def reached_limit(loop: Loop) -> str | None:
    """Return which limit prevents another coding step; None if none does."""
    limits, spent = loop.limits, loop.spent
    if loop.iteration >= limits.iterations:
        return f"the limit of {format_count(limits.iterations, 'iteration')} is reached"
    if spent.seconds >= limits.seconds:
        return f"the limit of {limits.seconds / 3600:g} h is reached"
    if limits.tokens is not None and spent.tokens >= limits.tokens:
        return f"the limit of {limits.tokens:,} tokens is reached"
    if limits.cost is not None and spent.cost >= limits.cost:
        return f"the limit of ${limits.cost:g} is reached"
    return None


def resume(loop: Loop) -> Loop:
    """Return a resting loop as running. The counts that led to the user begin anew."""
    anew = replace(loop, stalls=0, trouble=None, complaints={}, changing_audits=0)
    return replace(anew, state=LoopState.RUNNING, rest=None, reason="")


def rest(loop: Loop, kind: Rest, reason: str) -> Loop:
    """Return a loop as resting. It waits for the user if the user has to find out what is wrong."""
    state = LoopState.PAUSED if kind in {Rest.HOST, Rest.LIMIT, Rest.PERSON} else LoopState.WAITING
    return replace(loop, state=state, rest=kind, reason=reason)


def _rest(loop: Loop, kind: Rest, reason: str) -> Move:
    return Move(loop=rest(loop, kind, reason), kind=None, why=reason)


def _end(loop: Loop, state: LoopState, reason: str) -> Move:
    return Move(loop=replace(loop, state=state, rest=None, reason=reason), kind=None, why=reason)


def _trouble(loop: Loop, kind: StepKind, outcome: Mapping[str, Any]) -> Trouble:
    """Return a complaint without what differs from run to run: the order is kept, numbers are not."""
    said = str(outcome.get("open", outcome.get("output", "")))
    kept = "".join(" " if character.isdigit() else character for character in said)
    return Trouble(kind=kind, said=hashlib.sha256(kept.encode("utf-8", "replace")).hexdigest()[:16], tree=loop.tree)
