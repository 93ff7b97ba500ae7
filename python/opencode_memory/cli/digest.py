"""``opencode-memory learning test`` and ``digest``: try the digest of sessions, and run it now."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import click

from opencode_memory.cli.command import command
from opencode_memory.cli.context import Invocation
from opencode_memory.cli.errors import DONE, NOTHING_FOUND
from opencode_memory.cli.output import dim
from opencode_memory.config.sections import Digest, LearningConfig
from opencode_memory.errors import InvalidInputError
from opencode_memory.hosts.opencode.feed.database import default_database
from opencode_memory.hosts.opencode.feed.transcripts import DatabaseTranscripts
from opencode_memory.learning.digest.budget import BudgetExceeded, StoredUsage
from opencode_memory.learning.digest.candidates import Judged
from opencode_memory.learning.digest.digester import judge
from opencode_memory.learning.digest.errors import DigestError
from opencode_memory.learning.digest.example import EXPECTED, build_example
from opencode_memory.learning.digest.queue import DigestQueue
from opencode_memory.learning.digest.report import DigestReport
from opencode_memory.learning.digest.server_model import ServerModel
from opencode_memory.learning.digest.settings import read_settings, uses_server
from opencode_memory.projects.resolver import ProjectResolver
from opencode_memory.text import clock
from opencode_memory.text.clock import to_ms
from opencode_memory.text.formatting import format_count
from opencode_memory.worker.digest_duty import ServerDigests

HOW_TO_AGREE: Final = (
    "OpenCode's small model:  opencode-memory config set learning.digest small",
    "a server, e.g. Ollama:   opencode-memory config set learning.digest_url http://127.0.0.1:11434/v1",
    "                         opencode-memory config set learning.digest_model NAME",
)
"""Commands with which the user chooses a model, one in a line."""
_MOST_AT_ONCE: Final = 1_000


@command("test")
@click.option("--show-prompt", is_flag=True, help="Also print the instructions and the example session that are sent.")
def test(run: Invocation, *, show_prompt: bool) -> int:
    """Send a small example session to the configured server, and show what would be kept of its answer.

    Nothing is stored, and nothing of your sessions is sent. The request counts for the budget of the day. Returns 1 if
    nothing of the answer would be kept, and 2 if the model gives no usable answer.

    Only a server (`learning.digest_url`) can be tested. A model of OpenCode (`learning.digest` is small or session) can
    only be asked from inside OpenCode; `--show-prompt` prints what it would be sent.
    """
    config = run.config.learning
    request = build_example()
    if show_prompt and not run.out.as_json:
        run.out.line(dim("system    "))
        run.out.text(request.system)
        run.out.line(dim("message   "))
        run.out.text(f"{request.text}\n")
    if not uses_server(config):
        raise _explain_missing_server(config, "test")
    settings = read_settings(config)
    with run.open_store() as store:
        answer = ServerModel(settings, StoredUsage(store), clock=clock.now).ask(request.system, request.text)
    if isinstance(answer, BudgetExceeded):
        hint = f"try again after {answer.until:%Y-%m-%d %H:%M} UTC, or raise learning.digest_{answer.budget}_per_day"
        raise DigestError(f"the {answer.budget} of today are used up", is_final=False, hint=hint)
    if not run.out.as_json:
        run.out.line(dim("answer    "), f"{settings.model}, {answer.tokens:,} tokens")
        run.out.text(f"{answer.text.strip()}\n")
    judged, summary = judge(request, answer.text, model=settings.model)
    if run.out.as_json:
        run.out.json(_render_test(judged, summary, answer.text, answer.tokens, settings.model))
    else:
        _print_test(run, judged, summary, EXPECTED)
    return DONE if judged.statements else NOTHING_FOUND


@command("digest")
@click.option("--session", metavar="ID", help="Digest this session, however old it is.")
@click.option("--retry", is_flag=True, help="Also try the sessions that were given up.")
@click.option("--dry-run", is_flag=True, help="Only show which sessions are due.")
def digest(run: Invocation, *, session: str | None, retry: bool, dry_run: bool) -> int:
    """Digest the sessions that are due now, with the configured server.

    Sessions that OpenCode's own model digests are left to OpenCode. `--dry-run` lists them as well.
    """
    config = run.config.learning
    with run.open_store() as store:
        queue = DigestQueue(store, now_ms=lambda: to_ms(clock.now()))
        due = [entry.session for entry in queue.entries() if entry.is_due or (retry and entry.is_dead)]
        if dry_run:
            run.out.json({"due": due}) if run.out.as_json else run.out.text("\n".join(due) or "No session is due.")
            return DONE
        if not uses_server(config):
            raise _explain_missing_server(config, "digest")
        source = DatabaseTranscripts(_find_database(run), now_ms=lambda: to_ms(clock.now()))
        if retry:
            queue.revive()
        if session is not None:
            found = source.read_session(session)
            if found is None:
                raise InvalidInputError(f"there is no session {session} with messages", field="--session")
            queue.add(found[0], active_ms=found[2], rest_seconds=0, at_once=True)
        projects = ProjectResolver(store, run.config.environment)
        server = ServerDigests(
            store,
            config,
            source,
            project_of=projects.of_session,
            work_tree_of=projects.work_tree_of_session,
            clock=clock.now,
        )
        reports: list[DigestReport] = []
        for _ in range(_MOST_AT_ONCE):
            result = server.digest_next(f"command line {clock.now().timestamp()}", only=session)
            if result is None:
                break
            if isinstance(result, DigestReport):
                reports.append(result)
        problems = [entry.error for entry in queue.entries() if entry.error and entry.session in {*due, session}]
    _print_reports(run, reports, problems)
    return NOTHING_FOUND if problems else DONE


def _find_database(run: Invocation) -> Path:
    path = run.config.learning.opencode_db or default_database(run.config.environment)
    if path is not None and path.exists():
        return path
    place = "OpenCode has no known folder of data" if path is None else f"there is no database of OpenCode at {path}"
    error = InvalidInputError(f"{place}, so there are no sessions to digest", field="learning.opencode_db")
    error.hint = "run OpenCode once, or set learning.opencode_db to the file that `opencode db path` prints"
    raise error


def _explain_missing_server(config: LearningConfig, name: str) -> InvalidInputError:
    """Return the error of a command that needs a server: what it cannot do, and what to do instead."""
    if not config.enabled or config.digest is Digest.OFF:
        key = "learning.digest" if config.enabled else "learning.enabled"
        return InvalidInputError(f"sessions are not digested, because {key} is off", field=key)
    if (config.digest_url is None) != (config.digest_model is None):
        missing = "learning.digest_model" if config.digest_model is None else "learning.digest_url"
        error = InvalidInputError(f"{missing} is not set, so the server of the digest is unknown", field=missing)
        error.hint = f"opencode-memory config set {missing} {'NAME' if missing.endswith('model') else 'URL'}"
        return error
    if config.digest in {Digest.SMALL, Digest.SESSION}:
        error = InvalidInputError(
            f"`learning {name}` can only ask a server (learning.digest_url), but learning.digest is {config.digest}: "
            "this model is asked by OpenCode itself while it runs",
            field="learning.digest",
        )
        error.hint = (
            f"keep OpenCode open until a session of three messages has rested for {config.digest_rest_seconds} s; "
            "`opencode-memory learning status` then shows the tokens of its digest, or why it failed"
        )
        return error
    error = InvalidInputError("no model digests sessions", field="learning.digest")
    error.hint = "choose one:\n  " + "\n  ".join(HOW_TO_AGREE)
    return error


def _print_test(run: Invocation, judged: Judged, summary: dict[str, str], expected: tuple[str, ...]) -> None:
    for statement in judged.statements:
        candidate = statement.candidate
        run.out.line(dim("kept      "), f"{candidate.category}: {candidate.content}")
    for item in judged.dropped:
        run.out.line(dim("dropped   "), f"{item.text} ({item.reason.replace('_', ' ')})")
    for name, line in summary.items():
        run.out.line(dim(f"{name:<10}"), line)
    run.out.line()
    run.out.line("A good answer keeps:")
    for line in expected:
        run.out.line(dim("          "), line)


def _render_test(judged: Judged, summary: dict[str, str], answer: str, tokens: int, model: str) -> dict[str, Any]:
    return {
        "model": model,
        "tokens": tokens,
        "answer": answer,
        "kept": [
            {"category": one.candidate.category, "content": one.candidate.content, "quote": one.quote}
            for one in judged.statements
        ],
        "dropped": [{"text": item.text, "reason": item.reason} for item in judged.dropped],
        "summary": summary,
    }


def _print_reports(run: Invocation, reports: list[DigestReport], problems: list[str]) -> None:
    result: dict[str, Any] = {
        "sessions": len(reports),
        "active": sum(len(report.active) for report in reports),
        "waiting": sum(len(report.waiting) for report in reports),
        "dropped": sum(len(report.dropped) for report in reports),
        "tokens": sum(report.tokens for report in reports),
        "problems": problems,
    }
    if run.out.as_json:
        run.out.json(result)
        return
    told = f"{format_count(result['active'], 'memory')}; {result['waiting']} for review, {result['dropped']} dropped"
    sessions = format_count(result["sessions"], "session")
    run.out.line(f"Digested {sessions} with {result['tokens']:,} tokens: {told}.")
    for problem in problems:
        run.out.note(problem)
