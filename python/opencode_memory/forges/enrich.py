"""Fetches items and stores what they state.

Nothing is requested while a host is paused. The order of a run: ask the forge, store the fact, offer to resolve
blockers, and remember the answer with its ETag last, so that a crash repeats a request and loses nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING, Final

from opencode_memory.entities.forge import home_of
from opencode_memory.errors import InvalidInputError
from opencode_memory.forges.cache import CachedItem, ForgeCache
from opencode_memory.forges.client import fetch
from opencode_memory.forges.errors import ForgeError, NotAskedError
from opencode_memory.forges.facts import find_blockers, offer_to_resolve, read_known_names, store_fact
from opencode_memory.forges.hosts import Forge, Forges
from opencode_memory.forges.item import Item, Reference, parse_reference
from opencode_memory.forges.programs import TokenFinder, ask_program
from opencode_memory.forges.wire import find_path
from opencode_memory.models import Memory, Scope
from opencode_memory.store.pages import list_all
from opencode_memory.text.clock import to_ms
from opencode_memory.text.display import one_line
from opencode_memory.text.formatting import format_duration

if TYPE_CHECKING:
    from opencode_memory.config.forge import ForgeConfig
    from opencode_memory.store.memory_store import MemoryStore

_MOST_LOOKED_AT: Final = 20_000
_SLOWER: Final = 7
"""Closed and missing items are fetched so many times more seldom than open ones."""
_EXAMPLES: Final = "an issue, a merge request or an epic such as #12, !12, group/project#12, or its URL"


class Outcome(StrEnum):
    """What a forge said about an item."""

    FETCHED = "fetched"
    UNCHANGED = "unchanged"
    MISSING = "missing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The result for one item.

    Attributes:
        name: Its canonical name.
        outcome: What the forge said.
        item: The item; None if it is missing.
        memory: The fact about it; None if it is missing, or if the user has archived the fact.
        blockers: Unresolved blockers about it, if it is closed or merged.
    """

    name: str
    outcome: Outcome
    item: Item | None = None
    memory: Memory | None = None
    blockers: tuple[Memory, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """Items that are due.

    Attributes:
        names: Their canonical names.
        without_token: Hosts that are left out, because there is no token for them.
        paused: Why other hosts are left out.
    """

    names: tuple[str, ...]
    without_token: tuple[str, ...] = ()
    paused: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Results for many items.

    Attributes:
        results: The results.
        problems: Why items failed: by host if all of it failed, otherwise by item.
        failed: Number of items that failed.
    """

    results: tuple[Result, ...]
    problems: Mapping[str, str]
    failed: int


class Enricher:
    """Fetches items for the projects of a store.

    Args:
        store: The store.
        config: Settings of forges.
        environment: Environment with the tokens.
        now: Returns the current time.
        find_token: Asks a program for the token of a host.

    Raises:
        InvalidInputError: ``forge.hosts`` has an invalid entry.
    """

    def __init__(
        self,
        store: MemoryStore,
        config: ForgeConfig,
        environment: Mapping[str, str],
        *,
        now: Callable[[], datetime],
        find_token: TokenFinder = ask_program,
    ) -> None:
        self._store = store.acting_as("tool")
        self._cache = ForgeCache(self._store)
        self._refresh = timedelta(hours=config.refresh_hours)
        self._now = now
        self.forges = Forges(config, environment, store.projects.names(), find_token=find_token)

    def enrich(self, name: str, *, project: str | None, is_asked: bool) -> Result:
        """Fetch one item and store what it states.

        Args:
            name: Canonical name of the item.
            project: The project whose memories name it.
            is_asked: Whether someone asked for this item, so that a fact that was archived is restored.

        Raises:
            InvalidInputError: The name is that of no item of a forge.
            ForgeError: The forge was not asked, or gave no usable answer.
        """
        reference, forge = self.check(name, project=project)
        at = self._now()
        try:
            _require_path(forge, reference)
        except InvalidInputError:
            self._keep(reference, None, at)
            raise
        pause = self.describe_pause(forge.host)
        if pause is not None:
            raise NotAskedError(pause, hint="try again later")
        known = self._cache.get(reference.name)
        try:
            response = fetch(forge, reference, etag=None if known is None else known.etag, at=at)
        except ForgeError as error:
            if error.is_of_host:
                self._cache.pause(forge.host, error, token=forge.token, at=at)
            else:
                self._keep(reference, known, at)
            raise
        if response.pause_seconds is not None:
            reason = "the permitted number of requests is used up"
            self._cache.pause_for(forge.host, response.pause_seconds, reason, at=at)
        else:
            self._cache.end_pause(forge.host)
        item = known.item if response.is_unchanged and known is not None else response.item
        if item is None:
            self._cache.put(reference.name, item=None, etag=None, at=at)
            return Result(name=reference.name, outcome=Outcome.MISSING)
        result = self._store_item(reference, item, project, is_asked=is_asked, at=at)
        etag = known.etag if response.is_unchanged and known is not None else response.etag
        self._cache.put(reference.name, item=item, etag=etag, at=at)
        return result if not response.is_unchanged else _as_unchanged(result)

    def check(self, name: str, *, project: str | None) -> tuple[Reference, Forge]:
        """Return an item and its forge, without asking the forge.

        Raises:
            InvalidInputError: The name is that of no item of a forge.
            ForgeError: The forge may not be asked.
        """
        reference = _parse(name, project)
        return reference, self.forges.get(reference.host)

    def plan(self, name: str, *, project: str | None) -> Due:
        """Return what ``enrich`` would request for one item, without asking the forge.

        Raises:
            InvalidInputError: The name is that of no item of a forge.
            ForgeError: The forge may not be asked.
        """
        reference, forge = self.check(name, project=project)
        _require_path(forge, reference)
        pause = self.describe_pause(forge.host)
        return Due(names=(reference.name,)) if pause is None else Due(names=(), paused=(pause,))

    def describe_pause(self, host: str) -> str | None:
        """Say until when and why a host is left alone; None if it may be asked."""
        at = self._now()
        forge = self.forges.find(host)
        pause = self._cache.pause_of(host, token=None if forge is None else forge.token, at=at)
        if pause is None:
            return None
        left = format_duration((pause.until_ms - to_ms(at)) / 1000)
        return f"{host} is left alone for {left}: {pause.reason}"

    def find_due(self, project: str | None, *, limit: int) -> Due:
        """Return the items that memories of a project name and that are due, newest memory first.

        Args:
            project: The project; None for the global memories.
            limit: Maximum number of items.
        """
        names: list[str] = []
        looked_at: set[str] = set()
        without_token: set[str] = set()
        paused: dict[str, str | None] = {}
        at = self._now()
        has_fact = read_known_names(self._store, project)
        for reference in self._find_references(project):
            if reference.name in looked_at:
                continue
            looked_at.add(reference.name)
            if not self._is_due(reference, at, has_fact=reference.name in has_fact):
                continue
            if self.forges.find(reference.host) is None:
                without_token.add(reference.host)
                continue
            if reference.host not in paused:
                paused[reference.host] = self.describe_pause(reference.host)
            if paused[reference.host] is not None:
                continue
            names.append(reference.name)
            if len(names) == limit:
                break
        return Due(
            names=tuple(names),
            without_token=tuple(sorted(without_token)),
            paused=tuple(pause for pause in paused.values() if pause is not None),
        )

    def enrich_all(
        self, names: Iterable[str], *, project: str | None, after_each: Callable[[], None] = lambda: None
    ) -> Batch:
        """Fetch items one after the other. A failure of one item or one host does not stop the others.

        Args:
            names: Canonical names, for example those of ``find_due``.
            project: The project whose memories name them.
            after_each: Called after each item.
        """
        results: list[Result] = []
        problems: dict[str, str] = {}
        failed = 0
        for name in names:
            try:
                results.append(self.enrich(name, project=project, is_asked=False))
            except NotAskedError as error:
                failed += 1
                problems.setdefault(_host(name), str(error))
            except (ForgeError, InvalidInputError) as error:
                failed += 1
                # The cause comes before the pause that follows from it.
                problems[_host(name) if isinstance(error, ForgeError) and error.is_of_host else name] = str(error)
            after_each()
        return Batch(results=tuple(results), problems=problems, failed=failed)

    def _find_references(self, project: str | None) -> Iterator[Reference]:
        for memory in islice(list_all(self._store, scope=Scope.owned_by(project)), _MOST_LOOKED_AT):
            # The title of an issue may name any other. Only what the user's memories name is fetched.
            for name in () if memory.is_from_forge else memory.entities:
                reference = parse_reference(name)
                if reference is not None and self.forges.may_ask(reference.host):
                    yield reference

    def _is_due(self, reference: Reference, at: datetime, *, has_fact: bool) -> bool:
        known = self._cache.get(reference.name)
        # Another project may have asked, whose fact this one does not see.
        if known is None or (known.item is not None and not has_fact):
            return True
        period = self._refresh * (1 if known.item is not None and not known.item.is_done else _SLOWER)
        # After a clock was set back, an answer from the future must not count for ever.
        return not timedelta(0) <= timedelta(milliseconds=to_ms(at) - known.checked_ms) < period

    def _store_item(
        self, reference: Reference, item: Item, project: str | None, *, is_asked: bool, at: datetime
    ) -> Result:
        memory = store_fact(self._store, reference.name, item, project=project, is_asked=is_asked)
        blockers = tuple(find_blockers(self._store, reference.name, project)) if item.is_done else ()
        if memory is not None:
            offer_to_resolve(self._store, memory, blockers, at=at)
        return Result(name=reference.name, outcome=Outcome.FETCHED, item=item, memory=memory, blockers=blockers)

    def _keep(self, reference: Reference, known: CachedItem | None, at: datetime) -> None:
        """Note that an item was asked for in vain, so that it is not asked for again at once."""
        item, etag = (None, None) if known is None else (known.item, known.etag)
        self._cache.put(reference.name, item=item, etag=etag, at=at)


def _parse(name: str, project: str | None) -> Reference:
    reference = parse_reference(name)
    if reference is not None:
        return reference
    shown = one_line(name, 120)
    error = InvalidInputError(f"entity_ref: {shown} is no item of a forge", field="entity_ref", limit=_EXAMPLES)
    error.hint = f"name {_EXAMPLES}"
    if name[:1] in {"#", "!", "&"} and home_of(project) is None:
        place = (
            "no project is known here"
            if project is None
            else f"the name of this project, {one_line(project, 120)}, is not that of a repository on a forge"
        )
        error.hint = f"{place}; name the item with its host, or give its URL"
    raise error


def _require_path(forge: Forge, reference: Reference) -> None:
    """Refuse an item of a sign that this kind of forge does not have, for example an epic of GitHub."""
    if find_path(forge.kind, reference) is None:
        message = f"entity_ref: {forge.host} has no item like {one_line(reference.name, 120)}"
        raise InvalidInputError(message, field="entity_ref")


def _host(name: str) -> str:
    return name.partition("/")[0]


def _as_unchanged(result: Result) -> Result:
    return Result(
        name=result.name,
        outcome=Outcome.UNCHANGED,
        item=result.item,
        memory=result.memory,
        blockers=result.blockers,
    )
