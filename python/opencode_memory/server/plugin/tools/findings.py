"""Tool for the findings of reviews; see ``opencode_memory.reviews``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from opencode_memory.errors import InvalidInputError
from opencode_memory.projects.identity import real
from opencode_memory.reviews import NO_BRANCH, Finding, Findings, Seen, branch_of
from opencode_memory.server.answers import Answer, join_lines
from opencode_memory.server.call import SessionCall
from opencode_memory.server.toolbox import tool
from opencode_memory.text.display import one_line
from opencode_memory.text.formatting import format_count
from opencode_memory.text.json_values import to_json

_MAX_LISTED = 50
_LINE_BYTES = 600
_SAID = {
    Seen.NEW: "Recorded",
    Seen.KNOWN: "Already known, seen again",
    Seen.BACK: "It was resolved and is open again",
}


@tool(name="memory-findings")
def memory_findings(
    call: SessionCall,
    action: Literal["list", "record", "resolve"],
    file: Annotated[str | None, Field(max_length=4096)] = None,
    severity: Literal["bug", "warning", "note"] | None = None,
    text: Annotated[str | None, Field(max_length=4000, description="what is wrong, without line numbers")] = None,
    line: Annotated[int | None, Field(ge=1, le=1_000_000_000)] = None,
    id: Annotated[str | None, Field(max_length=64, description="to resolve, or record one that is still there")] = None,
) -> Answer:
    """Review findings of this branch, kept until resolved: list the open ones, record one, resolve one."""
    findings = get_branch_findings(call)
    if action == "list":
        return _list_open(findings)
    if action == "resolve":
        if id is None:
            raise InvalidInputError("id: name the finding to resolve; action=list lists the ids", field="id")
        resolved = findings.resolve(id, at=call.at)
        return Answer(f"Resolved [{resolved.id}] {one_line(resolved.text, 80)}", {"finding": _to_json(resolved)})
    if (id is None) == (text is None):
        raise InvalidInputError(
            "text: give text for a new finding, or id for a known one that still exists", field="text"
        )
    where: dict[str, Any] = {"at": call.at, "severity": severity, "line": line, "review": call.session}
    if id is not None:
        if file is not None:
            raise InvalidInputError("file: a known finding keeps its file; record a new finding instead", field="file")
        recorded = findings.record_again(id, **where)
    else:
        recorded = findings.record(text or "", file=_relative_to_work_tree(call, file or ""), **where)
    secrets = f" Secrets were left out: {', '.join(recorded.redactions)}." if recorded.redactions else ""
    return Answer(
        f"{_SAID[recorded.seen]}: [{recorded.finding.id}].{secrets}",
        {"finding": _to_json(recorded.finding), "seen": recorded.seen},
    )


def get_branch_findings(call: SessionCall) -> Findings:
    """Return the findings of the branch that is checked out in the client's work tree."""
    branch = branch_of(call.client.folders[0]) if call.client.folders else NO_BRANCH
    return Findings(call.store.kv, call.client.project, branch)


def _list_open(findings: Findings) -> Answer:
    found = findings.open()
    branch = one_line(findings.branch, 80)
    if not found:
        return Answer(f"There are no open findings on branch {branch}.", {"branch": findings.branch, "findings": []})
    shown = found[:_MAX_LISTED]
    lines = [one_line(finding.line_of_text, _LINE_BYTES) for finding in shown]
    head = f"{format_count(len(found), 'open finding')} on branch {branch}, the worst first:"
    more = f"… {len(found) - len(shown)} more; resolve some to see them" if len(found) > len(shown) else None
    return Answer(
        join_lines(head, *lines, more),
        {"branch": findings.branch, "findings": [_to_json(finding) for finding in found]},
    )


def _relative_to_work_tree(call: SessionCall, file: str) -> str:
    """Return a path relative to the work tree, so that an absolute path names the same file as a relative one."""
    given = Path(file)
    if "\0" in file or not given.is_absolute():
        return file
    for path in (given, real(given)):
        for folder in call.client.folders:
            if path.is_relative_to(folder):
                return str(path.relative_to(folder))
    return file


def _to_json(finding: Finding) -> dict[str, Any]:
    data: dict[str, Any] = to_json(finding)
    return data
