"""``opencode-memory learning test`` and ``digest``: try the digest of sessions, and run it now."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import click

from opencode_memory.cli.command import command
from opencode_memory.cli.context import Invocation
from opencode_memory.cli.errors import DONE, NOTHING_FOUND
from opencode_memory.cli.output import dim
from opencode_memory.config.settings import Digest, LearningConfig
from opencode_memory.errors import InvalidInputError
from opencode_memory.text import clock
from opencode_memory.text.clock import to_ms

if TYPE_CHECKING:
    from opencode_memory.learning.digest import DigestReport
    from opencode_memory.learning.digest.candidates import Judged
    from opencode_memory.store.memory_store import MemoryStore

_DAYS: Final = 30
_MOST_AT_ONCE: Final = 1_000
_HOW: Final = (
    "for OpenCode's own small model: `opencode-memory config set learning.digest small`; for a server, for example"
    " Ollama: `config set learning.digest_url http://127.0.0.1:11434/v1` and `config set learning.digest_model NAME`"
)


def describe_digest(store: MemoryStore, config: LearningConfig) -> dict[str, Any]:
    """Return the state of the digest: its model, what is due, and the ledger of tokens."""
    from opencode_memory.learning.digest import DigestQueue, StoredUsage  # noqa: PLC0415  not needed for help

    entries = DigestQueue(store, now_ms=lambda: to_ms(clock.now())).entries()
    today = clock.now().astimezone(UTC).date()
    days = {day: used for day, used in StoredUsage(store).by_day().items() if day > today - timedelta(days=_DAYS)}
    failed = max((entry for entry in entries if entry.error), key=lambda entry: entry.error_ms, default=None)
    last = max(entries, key=lambda entry: entry.digested_ms, default=None)
    return {
        "mode": config.digest,
        "through": _name_way(config),
        "url": config.digest_url,
        "model": config.digest_model or (last.model if last is not None and last.model else None),
        "due": sum(entry.is_due for entry in entries),
        "failed": sum(entry.is_dead for entry in entries),
        "digested": sum(entry.digested_ms > 0 for entry in entries),
        "tokens_today": sum(used.tokens for day, used in days.items() if day == today),
        "calls_today": sum(used.calls for day, used in days.items() if day == today),
        "tokens_30_days": sum(used.tokens for used in days.values()),
        "calls_30_days": sum(used.calls for used in days.values()),
        "tokens_per_day": config.digest_tokens_per_day,
        "last_digest_at": None if last is None or not last.digested_ms else _format_time(last.digested_ms),
        "last_error": None if failed is None else failed.error,
        "last_error_at": None if failed is None else _format_time(failed.error_ms),
        "days": [{"day": str(day), "calls": used.calls, "tokens": used.tokens} for day, used in days.items()],
        "sessions": [
            {
                "session": entry.session,
                "is_due": entry.is_due,
                "is_dead": entry.is_dead,
                "requests": entry.requests,
                "tokens": entry.tokens,
                "model": entry.model or None,
                "error": entry.error or None,
            }
            for entry in entries
        ],
    }


def print_digest(run: Invocation, state: dict[str, Any]) -> None:
    """Print the state of the digest in a few lines."""
    through = state["through"]
    if through is None:
        why = "off" if state["mode"] is Digest.OFF else "not agreed yet, so nothing is sent"
        run.out.line(dim("digest    "), f"{why}; {_HOW}" if state["mode"] is not Digest.OFF else why)
    else:
        model = f"{state['model']} at {state['url']}" if through == "server" else f"OpenCode's {state['mode']} model"
        run.out.line(dim("digest    "), f"{model}; {state['due']} sessions due, {state['digested']} digested")
    if through is not None or state["calls_30_days"]:
        used = f"{state['tokens_today']:,} of {state['tokens_per_day']:,} today, {state['tokens_30_days']:,} in 30 days"
        run.out.line(dim("tokens    "), f"{used} ({state['calls_30_days']} requests)")
    if state["last_error"] is not None:
        gave_up = f"; {state['failed']} sessions were given up: `learning digest --retry`" if state["failed"] else ""
        run.out.line(dim("problem   "), f"{state['last_error_at']}: {state['last_error']}{gave_up}")


@command("test")
@click.option("--show-prompt", is_flag=True, help="Also print what is sent.")
def test(run: Invocation, *, show_prompt: bool) -> int:
    """Send a small example session to the configured model, and show what would be kept of its answer.

    Nothing is stored, and nothing of your sessions is sent. The request counts for the budget of the day. Returns 1 if
    nothing of the answer would be kept, and 2 if the model gives no usable answer.
    """
    from opencode_memory.learning.digest import (  # noqa: PLC0415  loads an HTTP client
        BudgetExceeded,
        DigestError,
        ServerModel,
        StoredUsage,
        judge,
    )
    from opencode_memory.learning.digest.example import EXPECTED, build_example  # noqa: PLC0415  as above
    from opencode_memory.learning.digest.settings import read_settings, uses_server  # noqa: PLC0415  as above

    config = run.config.learning
    request = build_example()
    if show_prompt and not run.out.as_json:
        run.out.line(dim("system    "), f"\n{request.system}")
        run.out.line(dim("message   "), f"\n{request.text}\n")
    if not uses_server(config):
        raise _explain_missing_server(config)
    settings = read_settings(config)
    with run.open_store() as store:
        answer = ServerModel(settings, StoredUsage(store), clock=clock.now).ask(request.system, request.text)
    if isinstance(answer, BudgetExceeded):
        hint = f"try again after {answer.until:%Y-%m-%d %H:%M} UTC, or raise learning.digest_{answer.budget}_per_day"
        raise DigestError(f"the {answer.budget} of today are used up", is_final=False, hint=hint)
    if not run.out.as_json:
        run.out.line(dim("answer    "), f"{settings.model}, {answer.tokens:,} tokens\n{answer.text.strip()}\n")
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
    """Digest the sessions that are due now, with the configured server."""
    from opencode_memory.hosts.opencode.feed.database import default_database  # noqa: PLC0415  only here
    from opencode_memory.hosts.opencode.feed.transcripts import DatabaseTranscripts  # noqa: PLC0415  only here
    from opencode_memory.learning.digest import DigestQueue, DigestReport  # noqa: PLC0415  not needed for help
    from opencode_memory.learning.digest.settings import uses_server  # noqa: PLC0415  as above
    from opencode_memory.projects.resolver import ProjectResolver  # noqa: PLC0415  as above
    from opencode_memory.worker.digest_duty import ServerDigests  # noqa: PLC0415  loads an HTTP client

    config = run.config.learning
    path = config.opencode_db or default_database(run.config.environment)
    if path is None or not path.exists():
        raise InvalidInputError("there is no database of OpenCode to read sessions from", field="learning.opencode_db")
    with run.open_store() as store:
        queue = DigestQueue(store, now_ms=lambda: to_ms(clock.now()))
        source = DatabaseTranscripts(path, now_ms=lambda: to_ms(clock.now()))
        due = [entry.session for entry in queue.entries() if entry.is_due or (retry and entry.is_dead)]
        if dry_run:
            run.out.json({"due": due}) if run.out.as_json else run.out.line("\n".join(due) or "No session is due.")
            return DONE
        if not uses_server(config):
            raise _explain_missing_server(config)
        if retry:
            queue.revive()
        if session is not None:
            found = source.read_session(session)
            if found is None:
                raise InvalidInputError(f"there is no session {session} with messages", field="--session")
            queue.add(found[0], active_ms=found[2], rest_seconds=0, at_once=True)
        projects = ProjectResolver(store, run.config.environment)
        server = ServerDigests(store, config, source, project_of=projects.of_session, clock=clock.now)
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


def _name_way(config: LearningConfig) -> str | None:
    from opencode_memory.learning.digest.settings import uses_opencode, uses_server  # noqa: PLC0415  as above

    if uses_server(config):
        return "server"
    return "opencode" if uses_opencode(config) else None


def _explain_missing_server(config: LearningConfig) -> InvalidInputError:
    if config.digest in {Digest.SMALL, Digest.SESSION}:
        error = InvalidInputError(
            "the digest uses OpenCode's model, which only a running OpenCode can ask", field="learning.digest"
        )
        error.hint = "leave a session of OpenCode at rest; `opencode-memory learning status` then shows its digest"
        return error
    error = InvalidInputError("no model digests sessions", field="learning.digest")
    error.hint = _HOW
    return error


def _format_time(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _print_test(run: Invocation, judged: Judged, summary: dict[str, str], expected: tuple[str, ...]) -> None:
    for statement in judged.statements:
        candidate = statement.candidate
        run.out.line(dim("kept      "), f"{candidate.category}: {candidate.content}")
    for item in judged.dropped:
        run.out.line(dim("dropped   "), f"{item.text} ({item.reason.replace('_', ' ')})")
    for name, line in summary.items():
        run.out.line(dim(f"{name:<10}"), line)
    run.out.line("\nA good answer keeps:")
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
    result = {
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
    told = f"{result['active']} memories, {result['waiting']} wait, {result['dropped']} items were dropped"
    run.out.line(f"Digested {result['sessions']} sessions with {result['tokens']:,} tokens: {told}.")
    for problem in problems:
        run.out.note(problem)
