"""Learning from tool calls: solutions and procedures.

A solution is a command that failed, then files were edited, then the same command passed. A procedure is a command
that succeeds repeatedly.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Final

from opencode_memory.learning.extraction import commands, edits, findings, problems
from opencode_memory.learning.extraction.candidate import LONGEST_EVIDENCE, Candidate, shorten
from opencode_memory.learning.extraction.events import ToolCall, ToolStatus
from opencode_memory.learning.extraction.session_state import Failure, SessionState
from opencode_memory.models import Category

REPETITIONS: Final = 3
"""Number of successes within one session that make a command a procedure; one in a second session is enough as well."""
_MOST_FILES: Final = 5
_SURE: Final = 0.9
_SEEN_ONCE: Final = 0.25


def step(state: SessionState, call: ToolCall, *, directory: str) -> tuple[SessionState, tuple[Candidate, ...]]:
    """Process one tool call."""
    if call.status is ToolStatus.COMPLETED and call.tool in edits.EDITING:
        return _record_edit(state, call, directory), ()
    command = call.input.get("command")
    if call.tool not in {"bash", "shell"} or not isinstance(command, str) or call.status is not ToolStatus.COMPLETED:
        return state, ()
    if commands.reverts_edits(command) and call.exit == 0:
        forgotten = tuple((key, replace(failure, files=(), change="", edits=())) for key, failure in state.failures)
        return replace(state, failures=forgotten, files=()), ()
    if commands.is_trivial(command) or call.exit is None:
        return state, ()
    if call.exit == 0 and commands.hides_exit_code(command) and problems.looks_failed(call.output):
        return state, ()  # The last command of the pipe succeeded, but the first one failed.
    where = call.input.get("workdir")
    command = command.removeprefix(f"cd {directory} && ") if directory else command
    key = commands.normalise_command(
        command if not isinstance(where, str) or where == directory else f"cd {where} && {command}"
    )
    return _record_failure(state, call, key, command) if call.exit else _record_success(state, call, key, command)


def _record_edit(state: SessionState, call: ToolCall, directory: str) -> SessionState:
    files = edits.list_edited_files(call.tool, call.input, directory=directory)
    change = edits.summarize_change(call.input)
    made = edits.hash_edit(call.input, files)
    failures = tuple((key, _add_edit(failure, files, change, made)) for key, failure in state.failures)
    return replace(
        state,
        failures=failures,
        files=tuple(dict.fromkeys((*files, *state.files))),
        pending=findings.drop_outdated(state.pending, files),
    )


def _add_edit(failure: Failure, files: tuple[str, ...], change: str, made: tuple[tuple[str, int, int], ...]) -> Failure:
    """Record an edit; if it undoes an earlier edit, both are removed."""
    kept = failure.edits
    for file, was, becomes in made:
        inverse = (file, becomes, was)
        kept = tuple(edit for edit in kept if edit != inverse) if inverse in kept else (*kept, (file, was, becomes))
    changed = {file for file, _, _ in kept}
    known = tuple(dict.fromkeys((*failure.files, *files)))
    touched_otherwise = {file for file in known if all(file != edited for edited, _, _ in (*failure.edits, *made))}
    left = tuple(file for file in known if file in changed or file in touched_otherwise)
    return replace(failure, files=left, change=(change or failure.change) if left else "", edits=kept)


def _record_failure(
    state: SessionState, call: ToolCall, key: str, command: str
) -> tuple[SessionState, tuple[Candidate, ...]]:
    complaint = problems.find_complaint(call.output)
    before = dict(state.failures).get(key)
    if before is None:
        failure = Failure(command=command, complaints=(complaint,) if complaint else ())
    else:
        failure = replace(
            before, complaints=tuple(dict.fromkeys((*before.complaints[:1], *((complaint,) if complaint else ()))))
        )
    others = tuple((name, one) for name, one in state.failures if name != key)
    return replace(state, failures=(*others, (key, failure))), ()


def _record_success(
    state: SessionState, call: ToolCall, key: str, command: str
) -> tuple[SessionState, tuple[Candidate, ...]]:
    failure = dict(state.failures).get(key)
    times = dict(state.passed).get(key, 0) + 1
    after = replace(
        state,
        failures=tuple((name, one) for name, one in state.failures if name != key),
        passed=(*((name, count) for name, count in state.passed if name != key), (key, times)),
    )
    found = []
    if failure is not None and failure.files and failure.complaints:
        found.append(_make_solution(failure, key))
    if not commands.is_volatile(command):
        found.append(_make_procedure(call, key, command, times))
    return after, tuple(found)


def _make_solution(failure: Failure, key: str) -> Candidate:
    complaints = " and then ".join(failure.complaints)
    files = ", ".join(failure.files[:_MOST_FILES])
    more = len(failure.files) - _MOST_FILES
    summary = f"`{shorten(failure.command, 160)}` failed: {complaints.rstrip('.')}. What helped: {files}{f' and {more} more' if more > 0 else ''} changed"
    mark = hashlib.blake2b("\n".join((key, *failure.complaints[:1])).encode(), digest_size=8).hexdigest()
    return Candidate(
        category=Category.SOLUTION,
        content=f"{summary} ({failure.change})." if failure.change else f"{summary}.",
        confidence=_SURE,
        rule="failed, edited, passed",
        evidence=shorten(f"{failure.command}: {complaints}", LONGEST_EVIDENCE),
        topic=f"learned:solution:{mark}",
    )


def _make_procedure(call: ToolCall, key: str, command: str, times: int) -> Candidate:
    about = call.input.get("description")
    line = " ".join(command.split())
    mark = hashlib.blake2b(key.encode(), digest_size=12).hexdigest()
    return Candidate(
        category=Category.PROCEDURE,
        content=f"{shorten(about, 80).rstrip('.')}: `{line}`"
        if isinstance(about, str) and about.strip()
        else f"`{line}`",
        confidence=_SURE if times >= REPETITIONS else _SEEN_ONCE,
        rule=f"succeeded {times} times" if times >= REPETITIONS else "succeeded",
        evidence=shorten(line, LONGEST_EVIDENCE),
        topic=f"learned:procedure:{mark}",
        normal_form=f"command:{mark}",
        may_repeat=True,
    )
