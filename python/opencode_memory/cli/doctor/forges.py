"""Check of forges: whether the hosts of projects have a token, and which hosts are left alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from opencode_memory.cli.doctor.checks import Check, Level
from opencode_memory.text import clock
from opencode_memory.text.display import one_line

if TYPE_CHECKING:
    from opencode_memory.config.load import Config
    from opencode_memory.store.memory_store import MemoryStore


def check_forges(store: MemoryStore, config: Config) -> Iterator[Check]:
    """Report the token of each host and hosts that are left alone. No request is made."""
    if not config.forge.enabled and not config.forge.hosts:
        return
    from opencode_memory.forges import Enricher  # noqa: PLC0415  not needed for help

    enricher = Enricher(store, config.forge, config.environment, now=clock.now)
    found = {host: enricher.forges.find(host) for host in enricher.forges.hosts()}
    for host, forge in found.items():
        if forge is None:
            continue
        pause = enricher.describe_pause(host)
        if pause is None:
            yield Check("forges", Level.OK, f"{host}: token of {forge.token_source}")
        else:
            yield Check("forges", Level.NOTE, one_line(pause), "the worker tries again by itself")
    for host in enricher.forges.expected():
        if found.get(host) is None:
            text = f"there is no token for {host}, so its issues are not fetched"
            yield Check("forges", Level.NOTE, text, enricher.forges.describe_missing(host))
