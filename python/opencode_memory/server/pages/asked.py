"""A request for a page, and its answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from opencode_memory.errors import InvalidInputError, NotFoundError
from opencode_memory.models import ALL_PROJECTS, Category, Memory, Status, Trust
from opencode_memory.server.pages import ROOT
from opencode_memory.server.pages.access import Said, Visit
from opencode_memory.text.display import clean

if TYPE_CHECKING:
    from opencode_memory.server.server_state import ServerState
    from opencode_memory.store.memory_store import MemoryStore

FILTERS: Final = ("project", "category", "status", "tag", "entity", "since", "until")
"""Parameters of an address that narrow a list. The last two are days; the last is not included."""
LONGEST: Final = 2_000
"""Characters of a parameter of an address."""
_MOST_PAGES: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page to render.

    Attributes:
        template: Its template.
        values: What the template shows.
    """

    template: str
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Redirect:
    """A way to another page, after something was done."""

    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request of a signed-in browser.

    Attributes:
        state: The state of the server.
        visit: The session of the browser.
        at: The current time.
        path: Parameters of the path.
        query: Parameters of the address.
        form: Fields of a form.
    """

    state: ServerState
    visit: Visit
    at: datetime
    path: Mapping[str, str]
    query: Mapping[str, str]
    form: Mapping[str, Sequence[str]]

    @property
    def store(self) -> MemoryStore:
        """The store. The history names the user."""
        return self.state.store.acting_as(Trust.USER)

    @property
    def page(self) -> int:
        """The number of the page of a list, from 0."""
        return read_number(self.query.get("page", "0"), field="page", most=_MOST_PAGES)

    def text(self, name: str) -> str:
        """Return a parameter of the address; empty if it is missing."""
        given = self.query.get(name, "").strip()
        if len(given) > LONGEST:
            raise InvalidInputError(f"{name}: at most {LONGEST:,} characters", field=name)
        return given

    def field(self, name: str) -> str:
        """Return a field of the form; empty if it is missing. Browsers send line breaks as CRLF; they become LF."""
        given = self.form.get(name, ())
        return given[0].replace("\r\n", "\n").replace("\r", "\n") if given else ""

    def changed_field(self, name: str, value: str) -> str | None:
        """Return a field of the form, without blanks around it; None if it is as the form showed it.

        Args:
            name: The name of the field.
            value: What the form showed. A browser changes its line breaks and its first line if that is empty.
        """
        given = self.field(name).strip()
        return None if given == clean(value).strip() else given

    def filters(self) -> dict[str, Any]:
        """Return the filters of a list or search; see ``FILTERS``.

        Raises:
            InvalidInputError: One is unknown.
        """
        found: dict[str, Any] = {"project": self.text("project") or ALL_PROJECTS}
        if (category := self.text("category")) and category not in set(Category):
            raise InvalidInputError(f"category: {category[:40]!r} is unknown", field="category")
        if (status := self.text("status")) and status not in set(Status):
            raise InvalidInputError(f"status: {status[:40]!r} is unknown", field="status")
        given = {name: self.text(name) for name in FILTERS if name != "project"}
        return found | {name: value for name, value in given.items() if value}

    def link(self, **changed: object) -> str:
        """Return this address with other parameters, without its path."""
        merged = {**self.query, **{name: str(value) for name, value in changed.items()}}
        return "?" + urlencode({name: value for name, value in merged.items() if value})

    def memory(self) -> Memory:
        """Return the memory that the path names."""
        return self.store.get(self.path["id"])

    def say(self, text: str) -> None:
        """Say something on the next page."""
        self.visit.said.append(Said(text=text))

    @contextmanager
    def changing(self, text: str) -> Iterator[MemoryStore]:
        """Say on the next page that the body changed memories, with a button that undoes just this.

        The body writes to the given store, so that the changes of another process are not among those of this request.

        Args:
            text: The sentence, if the body changed something.
        """
        store = self.store.in_one_operation()
        yield store
        said = "Nothing changed." if store.operation is None else text
        self.visit.said.append(Said(text=said, operation=store.operation))

    def back(self, default: str) -> Redirect:
        """Return to the page that the form names."""
        wanted = self.field("back")
        is_own = wanted.startswith(f"{ROOT}/") and "\\" not in wanted and "//" not in wanted
        return Redirect(path=wanted if is_own else default)


def read_number(text: str, *, field: str, most: int = 2**62) -> int:
    """Return the number that a text writes.

    Raises:
        InvalidInputError: It writes none from 0 to ``most``.
    """
    if text.isdecimal() and len(text) <= len(str(most)) and int(text) <= most:
        return int(text)
    raise InvalidInputError(f"{field}: must be a number from 0 to {most:,}", field=field)


def project_names(store: MemoryStore) -> list[str]:
    """Return the names of all projects."""
    return sorted(store.projects.names())


def unknown(what: str, name: str) -> NotFoundError:
    """Return the error for a name that does not exist."""
    return NotFoundError(f"there is no {what} {name[:80]!r}", id=name[:80])
