"""``opencode-memory embedding``: shows the embedding model of the store, and changes it."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import click

from opencode_memory.cli.command import Group, command
from opencode_memory.cli.context import Invocation
from opencode_memory.cli.errors import DONE, NOTHING_FOUND
from opencode_memory.cli.parameters import confirm, yes_option
from opencode_memory.cli.progress import progress
from opencode_memory.config.embedding import EmbeddingProvider
from opencode_memory.errors import EmbeddingBudgetError
from opencode_memory.text.formatting import format_count, format_duration

if TYPE_CHECKING:
    from opencode_memory.embedding.budget import BudgetStatus
    from opencode_memory.store.embedding_models import ChangeEstimate, ModelStatus
    from opencode_memory.store.memory_store import MemoryStore

_KEY: Final = "embedding.provider"
_SAMPLE: Final = 32
_CONSENT: Final = """
{host} is another machine. It gets the text of each memory, also of later ones, and each text by which memories are
searched: queries, and your messages to agents. Secrets and <private> parts are removed before. Sessions are not sent.
The server may store what it gets, and you may have to pay for it.
"""
_KEPT: Final = "What is embedded is kept. The worker or the same command does the rest; recall uses the former model."


@command("status")
def status(run: Invocation) -> int:
    """Show which model embedded the memories. Exits with 1 if it is not the configured one."""
    with run.open_store() as store:
        found = store.indexes.models.status()
    is_wanted = found.active in (None, found.wanted) and found.next is None
    if run.out.as_json:
        run.out.json({**_as_dict(found), "provider": run.config.embedding.provider})
        return DONE if is_wanted else NOTHING_FOUND
    rows = [("model", "none yet" if found.active is None else f"{found.active}, {found.dimension} dimensions")]
    if found.active not in (None, found.wanted):
        rows.append(("configured", found.wanted))
    if found.next is not None:
        rows.append(
            ("changes to", f"{found.next}, {found.embedded:,} of {format_count(found.memories, 'memory')} done")
        )
    if found.budget is not None:
        rows.append(("budget", _describe_budget(found.budget)))
    if not found.is_usable:
        rows.append(("recall", "by words only, because the model is not configured here"))
    run.out.table(rows)
    if not is_wanted:
        run.out.note(f"To change the model: opencode-memory embedding use {run.config.embedding.provider}")
    return DONE if is_wanted else NOTHING_FOUND


@command("use")
@click.argument("provider", type=click.Choice([str(provider) for provider in EmbeddingProvider]))
@click.option("--dry-run", is_flag=True, help="Show what the change costs, without changing anything.")
@click.option("--background", is_flag=True, help="Let the worker of the server embed the memories.")
@yes_option
def use(run: Invocation, *, provider: str, dry_run: bool, background: bool, yes: bool) -> int:
    """Embed all memories with the model of PROVIDER, and use it from then on.

    Recall goes on with the former model until all memories are embedded. A change that was interrupted goes on where it
    was. The way back is the same command with the former provider.
    """
    wanted = EmbeddingProvider(provider)
    if not _may_send(run, wanted):
        return NOTHING_FOUND
    run.use_provider(wanted)
    with run.open_store(background=False) as store:
        before = store.indexes.models.status()
        if not store.indexes.models.differs():
            return _keep(run, store, before, wanted, dry_run=dry_run)
        cost = store.indexes.models.estimate(sample=_SAMPLE)  # It also shows that the model answers.
        budget = store.indexes.models.budget()
        if not run.out.as_json:
            run.out.line(_describe(before, cost, budget))
        if dry_run:
            if run.out.as_json:
                run.out.json({"dry_run": True, "from": before.active, "to": before.wanted, **_cost(cost, budget)})
            return DONE
        if not confirm(f"Embed {format_count(cost.memories, 'memory')} with {before.wanted}", yes=yes):
            return NOTHING_FOUND
        store.indexes.models.begin_change()
        _configure(run, wanted)
        done, refusal = (None, None) if background else _change(run, store)
    if run.out.as_json:
        state = {"embedded": done, "is_complete": done is not None}
        run.out.json({"from": before.active, "to": before.wanted, **_cost(cost, budget), **state})
    elif done is None:
        if refusal is not None:
            run.out.line(f"{str(refusal)[:1].upper()}{str(refusal)[1:]}. What is embedded is kept.")
        run.out.line("The worker of the server embeds the memories. `opencode-memory embedding status` shows how far.")
    else:
        run.out.line(f"Recall uses {before.wanted} now: {format_count(done, 'memory')} embedded.")
    _tell_server(run)
    return DONE


def _may_send(run: Invocation, wanted: EmbeddingProvider) -> bool:
    """Return whether texts may go to the server; ask once if it is another machine.

    Raises:
        ConfigError: A setting of the server is missing.
        InvalidInputError: A setting is invalid, or no terminal is there to ask the user.
    """
    if wanted in (EmbeddingProvider.LOCAL, EmbeddingProvider.FOLDER):
        return True
    from opencode_memory.config.edit import set_value  # noqa: PLC0415  loads tomlkit
    from opencode_memory.embedding.served.settings import check_allowed, remote_host  # noqa: PLC0415  as above

    changed = replace(run.config.embedding, provider=wanted)
    host = remote_host(changed)
    if host is None or host == changed.allowed_host:
        return True
    if run.out.as_json or not sys.stdin.isatty():
        check_allowed(changed)  # Raises, and tells how to allow it.
    click.echo(_CONSENT.format(host=host), err=True)
    if not confirm(f"Send these texts to {host}", yes=False):
        return False
    set_value(run.config.file, "embedding.allowed_host", host, environment=run.config.environment)
    run.reload()
    return True


def _keep(run: Invocation, store: MemoryStore, before: ModelStatus, wanted: EmbeddingProvider, *, dry_run: bool) -> int:
    """Use the model that the store has already, and give up a change to another one."""
    if not dry_run:
        store.indexes.models.give_up_change()
        _configure(run, wanted)
    if run.out.as_json:
        run.out.json({"from": before.active, "to": before.wanted, "given_up": before.next, "dry_run": dry_run})
    else:
        given_up = "" if before.next is None else f" The change to {before.next} is given up."
        is_empty = before.active is None
        are = "No memory is embedded yet; all will be" if is_empty else "The memories are"
        run.out.line(f"{are} embedded with {before.wanted}{'' if is_empty else ' already'}.{given_up}")
    if not dry_run:
        _tell_server(run)
    return DONE


def _tell_server(run: Invocation) -> None:
    """Tell the user to restart a server that runs, because it reads its settings when it starts."""
    from opencode_memory.service.server_record import find_server  # noqa: PLC0415  not needed for help

    if find_server(run.config.data_dir) is not None:
        run.out.note("Restart the server with `opencode-memory stop`, because it reads its settings when it starts.")


def _change(run: Invocation, store: MemoryStore) -> tuple[int | None, EmbeddingBudgetError | None]:
    """Embed the memories; return how many, or why the rest waits for the next budget of tokens."""
    try:
        with progress("embeddings", quiet=run.out.as_json, kept=_KEPT) as show:
            return store.indexes.models.change(progress=show), None
    except EmbeddingBudgetError as error:
        return None, error


def _configure(run: Invocation, wanted: EmbeddingProvider) -> None:
    from opencode_memory.config.edit import set_value  # noqa: PLC0415  loads tomlkit

    if run.config.embedding.provider is not wanted:
        set_value(run.config.file, _KEY, wanted, environment=run.config.environment)


def _describe(before: ModelStatus, cost: ChangeEstimate, budget: BudgetStatus | None) -> str:
    if cost.seconds is None:
        about = "of unknown time"
    else:
        about = f"about {format_duration(cost.seconds)}" if cost.seconds else "no time"
    text = f"Changes from {before.active} to {before.wanted}: {format_count(cost.memories, 'memory')}, {about}. "
    if cost.tokens is None or budget is None:
        return text + "What a server of others charges is not known here."
    days = _count_days(cost.tokens, budget)
    lasts = "which today's budget allows" if days == 1 else f"so the change takes about {days:,} days"
    return text + (
        f"The server gets about {cost.tokens:,} tokens. embedding.tokens_per_day allows {budget.limit:,}, of which "
        f"{_count_left(budget):,} are left today, {lasts}."
    )


def _count_left(budget: BudgetStatus) -> int:
    return max(0, budget.limit - budget.tokens)


def _count_days(tokens: int, budget: BudgetStatus) -> int:
    """Return on how many days of UTC a change has to send texts, today included."""
    return 1 + max(0, -(-(tokens - _count_left(budget)) // budget.limit))


def _cost(cost: ChangeEstimate, budget: BudgetStatus | None) -> dict[str, object]:
    seconds = None if cost.seconds is None else round(cost.seconds, 1)
    fields: dict[str, object] = {"memories": cost.memories, "seconds": seconds}
    if cost.tokens is not None and budget is not None:
        fields |= {"tokens": cost.tokens, "tokens_left": _count_left(budget), "days": _count_days(cost.tokens, budget)}
    return fields


def _describe_budget(budget: BudgetStatus) -> str:
    text = f"{budget.tokens:,} of {budget.limit:,} tokens used today (UTC)"
    return text if budget.until is None else f"{text}; embedding goes on at {budget.until:%Y-%m-%d %H:%M} UTC"


def _as_dict(found: ModelStatus) -> dict[str, object]:
    names = ("active", "dimension", "wanted", "next", "embedded", "memories", "is_usable")
    fields: dict[str, object] = {name: getattr(found, name) for name in names}
    if (budget := found.budget) is not None:
        until = None if budget.until is None else budget.until.isoformat()
        fields["budget"] = {"tokens_per_day": budget.limit, "tokens_today": budget.tokens, "until": until}
    return fields


embedding: Final = Group("embedding", help="Show and change the embedding model.", commands=[status, use])
