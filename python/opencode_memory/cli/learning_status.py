"""``opencode-memory learning status``: the switches and sources of learning, and the state of the digest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from opencode_memory.cli.command import command
from opencode_memory.cli.context import Invocation
from opencode_memory.cli.digest import HOW_TO_AGREE
from opencode_memory.cli.output import dim
from opencode_memory.config.sections import Digest, LearningConfig
from opencode_memory.hosts.opencode.feed.database import default_database
from opencode_memory.learning import switches
from opencode_memory.learning.digest.budget import StoredUsage
from opencode_memory.learning.digest.queue import DigestQueue
from opencode_memory.learning.digest.settings import uses_opencode, uses_server
from opencode_memory.learning.extraction.languages.cues import ENGLISH, MEASURED, read_cues
from opencode_memory.learning.relearn.offer import OFFER, is_due
from opencode_memory.text import clock
from opencode_memory.text.clock import to_ms
from opencode_memory.text.formatting import format_count

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

_DAYS: Final = 30


@command("status")
def status(run: Invocation) -> None:
    """Show the state and the sources of learning, and the number of candidates."""
    settings = run.config.learning
    database = settings.opencode_db or default_database(run.config.environment)
    with run.open_store() as store:
        off = switches.is_off(store, store.project) or store.project in settings.skip_projects
        waiting = store.count(status="candidate")
        digests = _describe_digest(store, settings)
        project = store.project
        # At a terminal, every command ends with the offer if it can record that it was made.
        if not run.out.as_json and not (run.out.terminal and store.is_writable) and is_due(store):
            run.out.note(OFFER)
    languages = [_describe_language(code, settings) for code in (ENGLISH, *read_cues())]
    state = {
        "enabled": settings.enabled,
        "project": project,
        "project_enabled": settings.enabled and not off,
        "sources": settings.sources,
        "languages": languages,
        "opencode_db": None if database is None else str(database),
        "opencode_db_exists": database is not None and database.exists(),
        "watch": settings.watch,
        "memory_file": run.config.memory_file,
        "digest": digests,
        "waiting": waiting,
    }
    if run.out.as_json:
        run.out.json(state)
        return
    here = "off" if not settings.enabled else f"off for {project}" if off else "on"
    run.out.line(dim("learning  "), f"{here}, from {', '.join(settings.sources) or 'no source'}")
    there = (
        "no file" if database is None else str(database) if database.exists() else f"{database} (does not exist yet)"
    )
    run.out.line(dim("opencode  "), there)
    _print_languages(run, languages)
    if settings.watch:
        run.out.line(dim("watched   "), ", ".join(settings.watch))
    run.out.line(dim("file      "), f".opencode/MEMORY.md: {run.config.memory_file}")
    _print_digest(run, digests)
    run.out.line(dim("pending   "), f"{waiting} for `opencode-memory review`" if waiting else "0")


def _describe_language(code: str, config: LearningConfig) -> dict[str, Any]:
    name = "English" if code == ENGLISH else read_cues()[code].name
    return {"code": code, "name": name, "on": code in config.languages, "tested_on_real_talk": code in MEASURED}


def _print_languages(run: Invocation, languages: Sequence[Mapping[str, Any]]) -> None:
    on = [
        str(one["name"]) + ("" if one["tested_on_real_talk"] else " (not tested on real talk)")
        for one in languages
        if one["on"]
    ]
    off = sorted(str(one["name"]) for one in languages if not one["on"])
    run.out.line(
        dim("languages "), f"{', '.join(on) or 'none'}; of others, only commands and their results are learned"
    )
    if off:
        run.out.line(dim(f"{'':10}off: {', '.join(off)}; `learning.languages` switches them on"))


def _describe_digest(store: MemoryStore, config: LearningConfig) -> dict[str, Any]:
    """Return the state of the digest: its model, what is due, and the ledger of tokens."""
    entries = DigestQueue(store, now_ms=lambda: to_ms(clock.now())).entries()
    today = clock.now().astimezone(UTC).date()
    days = {day: used for day, used in StoredUsage(store).by_day().items() if day > today - timedelta(days=_DAYS)}
    failed = max((entry for entry in entries if entry.error), key=lambda entry: entry.error_ms, default=None)
    last = max(entries, key=lambda entry: entry.digested_ms, default=None)
    return {
        "mode": config.digest,
        "through": _name_model(config),
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


def _print_digest(run: Invocation, state: dict[str, Any]) -> None:
    """Print the state of the digest in a few lines."""
    through = state["through"]
    if through is None:
        is_off = state["mode"] is Digest.OFF or not run.config.learning.enabled
        run.out.line(dim("digest    "), "off" if is_off else "not agreed yet, so nothing is sent")
        for line in () if is_off else HOW_TO_AGREE:
            run.out.line(dim(f"{'':10}{line}"))
    else:
        model = f"{state['model']} at {state['url']}" if through == "server" else f"OpenCode's {state['mode']} model"
        run.out.line(
            dim("digest    "), f"{model}; {format_count(state['due'], 'session')} due, {state['digested']} digested"
        )
    if through is not None or state["calls_30_days"]:
        used = f"{state['tokens_today']:,} of {state['tokens_per_day']:,} today, {state['tokens_30_days']:,} in 30 days"
        run.out.line(dim("tokens    "), f"{used} ({state['calls_30_days']} requests)")
    if state["last_error"] is not None:
        gave_up = (
            f"; {format_count(state['failed'], 'session')} given up: `learning digest --retry`"
            if state["failed"]
            else ""
        )
        run.out.line(dim("problem   "), f"{state['last_error_at']}: {state['last_error']}{gave_up}")


def _name_model(config: LearningConfig) -> str | None:
    if uses_server(config):
        return "server"
    return "opencode" if uses_opencode(config) else None


def _format_time(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC")
