"""Learning from tool calls: solutions and procedures.

A solution is a command that failed, then files were edited, then the same command passed. It is stored if the edit is
short and complete, or if the same complaint is solved again, in this session or in another one. Complaints about code
that was just written are left out. A procedure is a plain command of a project's tool that succeeds repeatedly.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from typing import Final

from opencode_memory.learning.extraction import commands, edits, findings, problems, project_commands
from opencode_memory.learning.extraction.candidate import LONGEST_EVIDENCE, Candidate, shorten
from opencode_memory.learning.extraction.events import SHELLS, ToolCall, ToolStatus
from opencode_memory.learning.extraction.session_state import Failure, SessionState
from opencode_memory.models import Category
from opencode_memory.text.emails import mask_emails

REPETITIONS: Final = 3
"""Number of successes within one session that make a command a procedure; one in a second session is enough as well."""
_MOST_FILES: Final = 5
_MOST_COMMANDS: Final = 3
_SURE: Final = 0.9
_SLIP: Final = re.compile(
    r"(?i)\b(?:unused|(?:imported|declared) (?:and|but) (?:not used|unused|never used)|F401|F841|gofmt|gofumpt|goimports|not properly formatted|would reformat|no-unused-vars|prettier|"
    r"SyntaxError|IndentationError|unexpected token|unexpected indent|unterminated|parse error|expected (?:[;'`)}]|declaration|expression|one of)|missing semicolon|redeclared|"
    r"undefined:|undeclared|is not defined|cannot find (?:name|symbol|value)|unresolved reference|undefined name|not enough arguments|too many arguments|missing return|"
    r"AssertionError|assert|expected|want|Received|wrong type|--- FAIL|errcheck|line too long)"
)
"""Complaints about code that was just written: they say nothing about the next session."""
_TEST_FILE: Final = re.compile(r"(?:^|/)tests?/|_test\.\w+$|\.(?:test|spec)\.\w+$|(?:^|/)test_\w+\.py$")
_PLACE: Final = re.compile(r"\S*:\d+(?::\d+)?:?|\d+|/\S+/")
_SEEN_ONCE: Final = 0.25


def step(state: SessionState, call: ToolCall, *, directory: str) -> tuple[SessionState, tuple[Candidate, ...]]:
    """Process one tool call."""
    if call.status is ToolStatus.COMPLETED and call.tool in edits.EDITING:
        return _record_edit(state, call, directory), ()
    command = call.input.get("command")
    if call.tool not in SHELLS or not isinstance(command, str) or call.status is not ToolStatus.COMPLETED:
        return state, ()
    if commands.reverts_edits(command) and call.exit == 0:
        forgotten = tuple((key, replace(failure, files=(), change="", edits=())) for key, failure in state.failures)
        return replace(state, failures=forgotten, files=(), own_files=()), ()
    if commands.is_trivial(command) or call.exit is None:
        return state, ()
    if call.exit == 0 and commands.hides_exit_code(command) and problems.looks_failed(call.output):
        return state, ()  # The last command of the pipe succeeded, but the first one failed.
    where = call.input.get("workdir")
    command = command.removeprefix(f"cd {directory} && ") if directory else command
    key = commands.normalise_command(
        command if not isinstance(where, str) or where == directory else f"cd {where} && {command}"
    )
    return _record_failure(state, call, key, command, directory) if call.exit else _record_success(state, key, command)


def _record_edit(state: SessionState, call: ToolCall, directory: str) -> SessionState:
    files = edits.list_edited_files(call.tool, call.input, directory=directory)
    change = edits.summarize_change(call.input)
    made = edits.hash_edit(call.input, files)
    failures = tuple((key, _add_edit(failure, files, change, made)) for key, failure in state.failures)
    return replace(
        state,
        failures=failures,
        files=tuple(dict.fromkeys((*files, *state.files))),
        own_files=() if state.copied is None else tuple(dict.fromkeys((*files, *state.own_files))),
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
    state: SessionState, call: ToolCall, key: str, command: str, directory: str
) -> tuple[SessionState, tuple[Candidate, ...]]:
    complaint = problems.find_complaint(call.output.replace(f"{directory}/", "") if directory else call.output)
    before = dict(state.failures).get(key)
    if before is None:
        failure = Failure(command=command, complaints=(complaint,) if complaint else ())
    else:
        failure = replace(
            before, complaints=tuple(dict.fromkeys((*before.complaints[:1], *((complaint,) if complaint else ()))))
        )
    others = tuple((name, one) for name, one in state.failures if name != key)
    return replace(state, failures=(*others, (key, failure))), ()


def _record_success(state: SessionState, key: str, command: str) -> tuple[SessionState, tuple[Candidate, ...]]:
    failure = dict(state.failures).get(key)
    plain = project_commands.list_project_commands(command)[:_MOST_COMMANDS]
    counts = dict(state.passed)
    passed = {name: count for name, count in counts.items() if name not in plain}
    passed.update((name, counts.get(name, 0) + 1) for name in plain)
    after = replace(
        state,
        failures=tuple((name, one) for name, one in state.failures if name != key),
        passed=tuple(passed.items()),
    )
    found: list[Candidate] = []
    if failure is not None and failure.files and failure.complaints:
        solution = _make_solution(failure, key, state.solved)
        if solution is not None:
            found.append(solution)
            after = replace(after, solved=(*state.solved, solution.normal_form or ""))
    found += (_make_procedure(name, passed[name]) for name in plain)
    return after, tuple(found)


def _make_solution(failure: Failure, key: str, solved: tuple[str, ...]) -> Candidate | None:
    """Return the solution of a failure; None if the complaint is a slip of the moment."""
    complaints = " and then ".join(failure.complaints)
    if _SLIP.search(failure.complaints[0]) or all(_TEST_FILE.search(file) for file in failure.files):
        return None
    files = ", ".join(failure.files[:_MOST_FILES])
    more = len(failure.files) - _MOST_FILES
    is_complete = bool(failure.change) and len(failure.edits) == 1 and len(failure.files) == 1
    helped = (
        f"in {files}, {failure.change}" if is_complete else f"{files}{f' and {more} more' if more > 0 else ''} changed"
    )
    form = f"complaint:{_hash(_PLACE.sub('#', failure.complaints[0]).lower())}"
    return Candidate(
        category=Category.SOLUTION,
        content=mask_emails(
            f"`{shorten(failure.command, 160)}` failed: {complaints.rstrip('.')}. What helped: {helped}."
        ),
        confidence=_SURE,
        rule="failed, edited, passed",
        evidence=mask_emails(shorten(f"{failure.command}: {complaints}", LONGEST_EVIDENCE)),
        topic=f"learned:solution:{_hash(key, *failure.complaints[:1])}",
        normal_form=form,
        needs_sessions=0 if is_complete or form in solved else 1,
    )


def _hash(*parts: str) -> str:
    return hashlib.blake2b("\n".join(parts).encode(), digest_size=8).hexdigest()


def _make_procedure(plain: str, times: int) -> Candidate:
    mark = hashlib.blake2b(plain.encode(), digest_size=12).hexdigest()
    is_repeated = times >= REPETITIONS
    return Candidate(
        category=Category.PROCEDURE,
        content=mask_emails(f"`{plain}`"),
        confidence=_SURE if is_repeated else _SEEN_ONCE,
        rule=f"succeeded {times} times" if is_repeated else "succeeded",
        evidence=mask_emails(plain),
        topic=f"learned:procedure:{mark}",
        normal_form=f"command:{mark}",
        may_repeat=True,
        is_observed=True,
        needs_sessions=0 if is_repeated else 1,
    )
