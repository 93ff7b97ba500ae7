"""Options that several commands share, so that they are called and explained the same everywhere."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from opencode_memory.errors import InvalidInputError
from opencode_memory.models import Category, ScopeKind
from opencode_memory.text.clock import parse_when
from opencode_memory.text.suggest import did_you_mean

F = TypeVar("F", bound=Callable[..., Any])

STANDARD_INPUT: Final = "-"

if TYPE_CHECKING:
    _ParamType = click.ParamType[Category]
else:
    _ParamType = click.ParamType  # In older versions of click the class takes no parameter.


class CategoryType(_ParamType):
    """One of the categories; an unknown one is answered with the nearest."""

    name = "category"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Category:
        """Read a category's name."""
        try:
            return Category(str(value).strip().lower())
        except ValueError:
            self.fail(f"unknown category {value!r}; {did_you_mean(str(value), list(Category))}", param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:  # noqa: ARG002
        """Offer the categories."""
        from click.shell_completion import CompletionItem  # noqa: PLC0415  only completion needs it

        return [CompletionItem(category.value) for category in Category if category.startswith(incomplete)]


def text_argument(function: F) -> F:
    """Take a text as one or several arguments, or from standard input."""
    return click.argument("text", nargs=-1, required=True)(function)


def read_text(words: tuple[str, ...]) -> str:
    """Return the text that was typed; ``-`` means standard input.

    Raises:
        InvalidInputError: Standard input is not UTF-8.
    """
    if words != (STANDARD_INPUT,):
        return " ".join(words)
    try:
        return sys.stdin.buffer.read().decode("utf-8").removesuffix("\n")
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"standard input is not UTF-8 (byte {error.start})", field="text") from error


def categories_option(function: F) -> F:
    """Choose categories."""
    return click.option(
        "-c",
        "--category",
        "categories",
        type=CategoryType(),
        multiple=True,
        help="Only this category; may be repeated.",
    )(function)


def period_options(function: F) -> F:
    """Choose the time that memories speak of."""
    function = click.option(
        "--until", metavar="WHEN", help="Only what speaks of a time until then, that day included."
    )(function)
    return click.option(
        "--since", metavar="WHEN", help="Only what speaks of a time since then: 2026-03-31, 3d, yesterday."
    )(function)


def scope_option(function: F) -> F:
    """Choose between the project and the global memories."""
    return click.option(
        "--scope", type=click.Choice([scope.value for scope in ScopeKind]), help="Only these memories."
    )(function)


def all_projects_option(function: F) -> F:
    """Look at every project."""
    return click.option("-a", "--all-projects", is_flag=True, help="Look at every project.")(function)


def limit_option(default: int | None, otherwise: str = "") -> Callable[[F], F]:
    """Bound the number of answers; ``otherwise`` says what holds without a default."""
    return click.option(
        "-n",
        "--limit",
        type=click.IntRange(1, 1000),
        metavar="N",
        default=default,
        show_default=default is not None,
        help=f"Most answers{otherwise}.",
    )


def ids_argument(function: F) -> F:
    """Name memories by id, or by an end of one that is unique."""
    return click.argument("ids", metavar="ID...", nargs=-1, required=True)(function)


def id_argument(function: F) -> F:
    """Name one memory."""
    return click.argument("id", metavar="ID")(function)


def yes_option(function: F) -> F:
    """Skip the question."""
    return click.option("-y", "--yes", "--force", "yes", is_flag=True, help="Do not ask.")(function)


def confirm(question: str, *, yes: bool) -> bool:
    """Ask a question that destroys something when it is answered with yes.

    Args:
        question: Without the question mark.
        yes: Whether the person said so already.

    Raises:
        InvalidInputError: There is nobody to ask.
    """
    if yes:
        return True
    if not sys.stdin.isatty():
        error = InvalidInputError("this needs an answer, and standard input is not a terminal", field="--yes")
        error.hint = "repeat it with --yes"
        raise error
    return click.confirm(f"{question}?", default=False, err=True)


@dataclass(frozen=True, slots=True)
class Period:
    """From a moment, up to a moment; None where it is open."""

    since: datetime | None
    until: datetime | None


def parse_moment(text: str | None, *, field: str, at: datetime) -> datetime | None:
    """Read one moment; None stays None."""
    return None if text is None else parse_when(text, field=field, at=at)


def parse_period(since: str | None, until: str | None, *, at: datetime) -> Period:
    """Read ``--since`` and ``--until``; a day given as the end belongs to the period."""
    return Period(
        since=parse_moment(since, field="--since", at=at),
        until=None if until is None else parse_when(until, field="--until", at=at, end_of_day=True),
    )
