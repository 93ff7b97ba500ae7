"""Arguments and options that several commands share, and the parsing of their values."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from opencode_memory.errors import InvalidInputError
from opencode_memory.models import Category, ScopeKind
from opencode_memory.text.clock import parse_when
from opencode_memory.text.display import replace_controls
from opencode_memory.text.suggest import did_you_mean

F = TypeVar("F", bound=Callable[..., Any])

STANDARD_INPUT: Final = "-"

if TYPE_CHECKING:
    _ParamType = click.ParamType[Category]
else:
    _ParamType = click.ParamType  # In older versions of click the class takes no parameter.


class CategoryType(_ParamType):
    """Parameter type of categories; the error for an unknown category suggests the nearest one."""

    name = "category"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Category:
        """Parse a category's name."""
        try:
            return Category(str(value).strip().lower())
        except ValueError:
            self.fail(f"unknown category {value!r}; {did_you_mean(str(value), list(Category))}", param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:  # noqa: ARG002
        """Complete the name of a category."""
        from click.shell_completion import CompletionItem  # noqa: PLC0415  only completion needs it

        return [CompletionItem(category.value) for category in Category if category.startswith(incomplete)]


class FiniteRange(click.FloatRange):
    """Parameter type of numbers in a range. click's own type accepts NaN, because NaN is not below or above a limit."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Parse a number."""
        number = float(super().convert(value, param, ctx))
        if isnan(number):
            self.fail(f"{value!r} is not a number", param, ctx)
        return number


class PathType(click.Path):
    """Parameter type of paths.

    click's own type takes an empty text, for example of a variable that is not set, for the current folder.
    """

    def __init__(self, *, exists: bool = False, dir_okay: bool = True) -> None:
        super().__init__(exists=exists, dir_okay=dir_okay, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Parse a path."""
        if value == "":
            self.fail("the path is empty", param, ctx)
        return super().convert(value, param, ctx)


def text_argument(function: F) -> F:
    """Add the argument TEXT: one or more words, or ``-`` for standard input."""
    return click.argument("text", nargs=-1, required=True)(function)


def read_text(words: tuple[str, ...]) -> str:
    """Join the words of an argument TEXT, or read standard input for ``-``.

    Raises:
        InvalidInputError: If standard input is not UTF-8.
    """
    if words != (STANDARD_INPUT,):
        return " ".join(words)
    try:
        return sys.stdin.buffer.read().decode("utf-8").removesuffix("\n")
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"standard input is not UTF-8 (byte {error.start})", field="text") from error


def read_text_file(file: Path, *, field: str) -> str:
    """Read a file with a text; a mark of UTF-8 at its beginning is dropped.

    Raises:
        InvalidInputError: If it is not UTF-8.
    """
    try:
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{field}: {file} is not UTF-8 (byte {error.start})", field=field) from error


def categories_option(function: F) -> F:
    """Add the option that filters by category."""
    return click.option(
        "-c",
        "--category",
        "categories",
        type=CategoryType(),
        multiple=True,
        help="Only memories of this category; may be repeated.",
    )(function)


def period_options(function: F) -> F:
    """Add the options that filter by the time that memories refer to."""
    function = click.option(
        "--until", metavar="WHEN", help="Only memories about a time until then, including that day."
    )(function)
    return click.option(
        "--since", metavar="WHEN", help="Only memories about a time since then: 2026-03-31, 3d, yesterday."
    )(function)


def scope_option(function: F) -> F:
    """Add the option that chooses between the project's and the global memories."""
    return click.option(
        "--scope",
        type=click.Choice([scope.value for scope in ScopeKind]),
        help="Only the project's memories, or only global ones.  [default: both]",
    )(function)


def all_projects_option(function: F) -> F:
    """Add the option that includes every project."""
    return click.option("-a", "--all-projects", is_flag=True, help="Include every project.")(function)


def limit_option(default: int | None, otherwise: str = "") -> Callable[[F], F]:
    """Add the option that limits the number of results; ``otherwise`` describes the default if it is None."""
    return click.option(
        "-n",
        "--limit",
        type=click.IntRange(1, 1000),
        metavar="N",
        default=default,
        show_default=default is not None,
        help=f"Maximum number of results.{otherwise}",
    )


def ids_argument(function: F) -> F:
    """Add the argument for the ids of memories; the unique end of an id is enough."""
    return click.argument("ids", metavar="ID...", nargs=-1, required=True)(function)


def id_argument(function: F) -> F:
    """Add the argument for the id of one memory."""
    return click.argument("id", metavar="ID")(function)


def yes_option(function: F) -> F:
    """Add the option that skips the confirmation."""
    return click.option("-y", "--yes", "--force", "yes", is_flag=True, help="Do not ask for confirmation.")(function)


def confirm(question: str, *, yes: bool) -> bool:
    """Ask the user to confirm an action that cannot be undone, or not easily.

    Args:
        question: The question, without its question mark.
        yes: Whether the user confirmed already with ``--yes``.

    Raises:
        InvalidInputError: If standard input is not a terminal, so that the user cannot be asked.
    """
    if yes:
        return True
    if not sys.stdin.isatty():
        error = InvalidInputError("cannot ask for confirmation: standard input is not a terminal", field="--yes")
        error.hint = "run the command again with --yes"
        raise error
    return click.confirm(f"{replace_controls(' '.join(question.split()))}?", default=False, err=True)


@dataclass(frozen=True, slots=True)
class Period:
    """Period between two times; None for an open end."""

    since: datetime | None
    until: datetime | None


def check_lifetime(span: timedelta, text: str, *, at: datetime) -> None:
    """Refuse a lifetime that was given with ``--ttl`` and ends after the year 9999.

    Raises:
        InvalidInputError: It does.
    """
    try:
        at + span
    except OverflowError as error:
        raise InvalidInputError(f"--ttl: {text!r} ends after the year 9999", field="--ttl") from error


def parse_moment(text: str | None, *, field: str, at: datetime) -> datetime | None:
    """Parse a time in this machine's time zone, unless it names another; None stays None."""
    return None if text is None else parse_when(text, field=field, at=at)


def parse_period(since: str | None, until: str | None, *, at: datetime) -> Period:
    """Parse ``--since`` and ``--until``; a day that is given as the end is part of the period."""
    return Period(
        since=parse_moment(since, field="--since", at=at),
        until=None if until is None else parse_when(until, field="--until", at=at, end_of_day=True),
    )
