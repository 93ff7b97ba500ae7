"""``opencode-memory learning relearn``: judges learned memories again by the present rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from opencode_memory.cli.command import command
from opencode_memory.cli.context import Invocation
from opencode_memory.cli.errors import DONE, NOTHING_FOUND
from opencode_memory.cli.output import dim
from opencode_memory.cli.parameters import PathType, confirm, yes_option
from opencode_memory.cli.progress import progress
from opencode_memory.errors import OpencodeMemoryError
from opencode_memory.text.clock import to_ms
from opencode_memory.text.formatting import format_count, short_id

if TYPE_CHECKING:
    from opencode_memory.hosts.opencode.feed.session_pages import SessionPages
    from opencode_memory.learning.relearn.judge import Verdict
    from opencode_memory.learning.relearn.run import Proposal
    from opencode_memory.store.memory_store import MemoryStore

_EXAMPLES: Final = 8
_RULES: Final = 12


@command("relearn")
@click.option(
    "--db",
    type=PathType(dir_okay=False),
    help="OpenCode's database, to read the sessions again.  [default: its default location]",
)
@click.option("--dry-run", is_flag=True, help="Show which memories would be archived, without changing any.")
@click.option("--undo", "takes_back", is_flag=True, help="Take back what relearning has changed.")
@yes_option
def relearn(run: Invocation, *, db: Path | None, dry_run: bool, takes_back: bool, yes: bool) -> int:
    """Judge memories that earlier rules learned by the present rules, and archive those that no longer qualify.

    Memories that you wrote, confirmed, edited, pinned or accepted, and memories that were used, always stay. Sessions
    are read again from OpenCode's database; if a session is gone, its memories are judged by their quoted sentence.
    Nothing is deleted: `--undo` takes everything back.
    """
    if takes_back:
        if dry_run:
            raise click.UsageError("--undo and --dry-run exclude each other", click.get_current_context())
        return _undo(run)
    return _judge(run, db, dry_run=dry_run, yes=yes)


def _undo(run: Invocation) -> int:
    from opencode_memory.learning.relearn.run import undo_run  # noqa: PLC0415  only here

    with run.open_unbound_store(actor="user", background=False) as store:
        ids = undo_run(store)
    if run.out.as_json:
        run.out.json({"undone": ids})
    elif ids:
        run.out.line(f"{format_count(len(ids), 'memory')} as before relearning.")
    else:
        run.out.note("Relearning has changed no memory.")
    return DONE if ids else NOTHING_FOUND


def _judge(run: Invocation, db: Path | None, *, dry_run: bool, yes: bool) -> int:
    from opencode_memory.learning.relearn.run import apply, propose  # noqa: PLC0415  only here

    with run.open_unbound_store(actor="extracted", background=False) as store:
        with ExitStack() as stack, progress("judging memories", quiet=run.out.as_json) as show:
            proposal = propose(store, _open_transcripts(run, db, stack), progress=show)
        if not run.out.as_json:
            _print_proposal(run, store, proposal)
        archived: tuple[str, ...] = ()
        question = f"Archive {format_count(len(proposal.archive), 'memory')}"
        is_refused = not dry_run and bool(proposal.archive) and not confirm(question, yes=yes)
        if not (dry_run or is_refused):
            archived = apply(store, proposal)
    if run.out.as_json:
        run.out.json(_describe(proposal, archived, dry_run=dry_run))
    elif archived:
        run.out.line(
            f"Archived {format_count(len(archived), 'memory')}. "
            "`opencode-memory learning relearn --undo` brings them back."
        )
    return DONE if (proposal.archive or proposal.keep) and not is_refused else NOTHING_FOUND


def _open_transcripts(run: Invocation, db: Path | None, stack: ExitStack) -> SessionPages | None:
    from opencode_memory.hosts.opencode.feed.database import (  # noqa: PLC0415  only here
        OpenCodeDatabase,
        default_database,
    )
    from opencode_memory.hosts.opencode.feed.session_pages import SessionPages  # noqa: PLC0415  only here

    path = db or run.config.learning.opencode_db or default_database(run.config.environment)
    if path is None or (db is None and not path.exists()):
        return None
    try:
        database = stack.enter_context(OpenCodeDatabase(path))
    except OpencodeMemoryError as error:
        if db is not None:
            raise
        run.out.note(f"OpenCode's sessions cannot be read ({error}); memories are judged by their quoted sentence.")
        return None
    return SessionPages(database, now_ms=to_ms(run.started_at))


def _print_proposal(run: Invocation, store: MemoryStore, proposal: Proposal) -> None:
    out = run.out
    if not proposal.archive and not proposal.keep:
        out.note("No memory of earlier rules is left to judge.")
        return
    total = len(proposal.archive) + len(proposal.keep)
    out.line(
        f"{format_count(total, 'memory')} of earlier rules: {len(proposal.archive)} to archive, "
        f"{len(proposal.keep)} to keep."
    )
    if proposal.unread:
        out.line(dim(f"Judged by the quoted sentence alone in {format_count(proposal.unread, 'session')}."))
    if typed := sum(verdict.is_typed for verdict in proposal.keep):
        out.line(dim(f"{format_count(typed, 'memory')} to keep in the words that you typed will count as yours."))
    _print_counts(run, "to archive, by category", [verdict.category for verdict in proposal.archive])
    _print_counts(run, "to archive, by earlier rule", [verdict.rule for verdict in proposal.archive])
    _print_counts(run, "kept, because", [verdict.reason for verdict in proposal.keep])
    _print_examples(run, store, "for example, to archive", proposal.archive)
    _print_examples(run, store, "for example, to keep", proposal.keep)


def _print_counts(run: Invocation, title: str, names: Sequence[str]) -> None:
    if names:
        run.out.line(dim(title))
    for name, count in Counter(names).most_common(_RULES):
        run.out.line(f"  {count:>5}  {name}")


def _print_examples(run: Invocation, store: MemoryStore, title: str, verdicts: Sequence[Verdict]) -> None:
    if verdicts:
        run.out.line(dim(title))
    step = max(1, len(verdicts) // _EXAMPLES)
    for verdict in verdicts[::step][:_EXAMPLES]:
        run.out.line(dim(f"  {short_id(verdict.id)} {verdict.category}: {verdict.reason}"))
        run.out.excerpt(store.get(verdict.id).content, indent="    ", lines=2)


def _describe(proposal: Proposal, archived: Sequence[str], *, dry_run: bool) -> dict[str, Any]:
    return {
        "dry_run": dry_run,
        "archive": proposal.archive,
        "keep": proposal.keep,
        "unread_sessions": proposal.unread,
        "archived": archived,
    }
